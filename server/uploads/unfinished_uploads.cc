#include "server/uploads/unfinished_uploads.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/access/ownership.h"
#include "server/storage/new_id.h"
#include "server/translation/resource_names.h"

namespace mercer::server {
namespace {

constexpr std::string_view kPrefix = "r-";
constexpr std::string_view kJournal = ".journal";
// Each has files of its own, however few bytes it announces.
constexpr size_t kMaxUploads = 1000;

// When one id was one upload for all callers.
std::string FormerStemOf(const std::string& id) { return absl::StrCat(std::string(kPrefix), id); }

// An id has no '@'.
std::string StemOf(const std::string& caller, const std::string& id) {
  return absl::StrCat(FormerStemOf(id), "@", IsNobody(caller) ? "" : caller);
}

// In the order of the ids. Neither ids nor names have a line end in them.
std::string KeyOfSession(const std::string& caller, const std::string& id) {
  return absl::StrCat(id, "\n", IsNobody(caller) ? "" : caller);
}

std::string KeyOfSession(const UploadSession& upload) {
  return KeyOfSession(upload.caller(), upload.header().upload_id());
}

// As large a part of all as the caller may have of the space.
size_t MaxUploadsOfCaller(const UploadPolicy& policy) {
  const double part = static_cast<double>(policy.caller_space_bytes) /
                      static_cast<double>(std::max<int64_t>(policy.space_bytes, 1));
  return static_cast<size_t>(std::clamp(part * kMaxUploads, 1.0, static_cast<double>(kMaxUploads)));
}

absl::Status TooManyUploads(const std::string& whose, size_t limit, ErrorMetadata metadata) {
  metadata.emplace_back("limit_uploads", absl::StrCat(limit));
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat("there are ", limit, " unfinished uploads ", whose,
                                                "that can be resumed, and there may be no more; "
                                                "finish, delete or await the others")),
      "UPLOAD_SPACE_EXCEEDED", metadata);
}

bool IsSameUpload(const v1::UploadHeader& a, const v1::UploadHeader& b) {
  return UploadDigest(a, absl::AsciiStrToLower(a.sha256())) ==
         UploadDigest(b, absl::AsciiStrToLower(b.sha256()));
}

}  // namespace

absl::Status UnfinishedUploads::Recover(const UploadPolicy& policy) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> names, policy.files->List(policy.folder));
  absl::MutexLock lock(&mutex_);
  std::set<std::string> wanted;
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix) || !name.ends_with(kJournal)) {
      continue;
    }
    const std::string stem = name.substr(0, name.size() - kJournal.size());
    const absl::StatusOr<std::shared_ptr<UploadSession>> upload = Load(stem, policy);
    if (absl::IsNotFound(upload.status()) || absl::IsDataLoss(upload.status())) {
      continue;
    }
    // What cannot be read now may be whole all the same, and must not be removed below.
    MERCER_RETURN_IF_ERROR(upload.status());
    wanted.insert(name);
    for (int part = 0; part < (*upload)->files().parts(); ++part) {
      wanted.insert(absl::StrCat(stem, ".", part));
    }
  }
  for (const std::string& name : names) {
    if (wanted.count(name) == 0) {
      policy.files->Remove(absl::StrCat(policy.folder, "/", name)).IgnoreError();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<UploadSession>> UnfinishedUploads::Load(const std::string& stem,
                                                                       const UploadPolicy& policy) {
  MERCER_ASSIGN_OR_RETURN(
      std::shared_ptr<UploadSession> upload,
      UploadSession::Load({absl::StrCat(policy.folder, "/", stem), "", policy, space_}));
  const std::string& id = upload->header().upload_id();
  const std::string key = KeyOfSession(*upload);
  const bool is_named = stem == StemOf(upload->caller(), id) || stem == FormerStemOf(id);
  if (!is_named || uploads_.count(key) > 0) {
    return absl::DataLossError("the journal of an upload has the name of another one");
  }
  if (upload->RemoveIfIdleFor(policy.expiry)) {
    return absl::NotFoundError("too old");
  }
  uploads_[key] = upload;
  return upload;
}

std::shared_ptr<UploadSession> UnfinishedUploads::NewPlain(const v1::UploadHeader& header,
                                                           const std::string& caller,
                                                           const UploadPolicy& policy) {
  return std::make_shared<UploadSession>(
      header,
      UploadSessionOptions{absl::StrCat(policy.folder, "/", NewId()), caller, policy, space_});
}

absl::StatusOr<std::shared_ptr<UploadSession>> UnfinishedUploads::Resume(
    const v1::UploadHeader& header, const std::string& caller, const UploadPolicy& policy) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<UploadSession> found = FindLocked(caller, header.upload_id());
  if (found != nullptr) {
    return IsSameUpload(found->header(), header)
               ? absl::StatusOr<std::shared_ptr<UploadSession>>(std::move(found))
               : UploadIdReused(header.upload_id());
  }
  MERCER_RETURN_IF_ERROR(CheckNumber(caller, policy));
  const std::string stem = StemOf(caller, header.upload_id());
  MERCER_ASSIGN_OR_RETURN(std::shared_ptr<UploadSession> upload,
                          UploadSession::Create(header, {absl::StrCat(policy.folder, "/", stem),
                                                         caller, policy, space_}));
  uploads_[KeyOfSession(*upload)] = upload;
  return upload;
}

absl::Status UnfinishedUploads::CheckNumber(const std::string& caller,
                                            const UploadPolicy& policy) const {
  if (uploads_.size() >= kMaxUploads) {
    return TooManyUploads("", kMaxUploads, {});
  }
  const size_t most = MaxUploadsOfCaller(policy);
  const auto has =
      static_cast<size_t>(std::count_if(uploads_.begin(), uploads_.end(), [&](const auto& entry) {
        return entry.second->caller() == caller;
      }));
  return has < most ? absl::OkStatus()
                    : TooManyUploads(absl::StrCat("of ", caller, " "), most, {{"caller", caller}});
}

Page<std::shared_ptr<UploadSession>> UnfinishedUploads::List(const std::string& after,
                                                             int count) const {
  absl::MutexLock lock(&mutex_);
  Page<std::shared_ptr<UploadSession>> page;
  auto entry = uploads_.upper_bound(after);
  for (; entry != uploads_.end() && static_cast<int>(page.items.size()) < count; ++entry) {
    page.items.push_back(entry->second);
  }
  if (entry != uploads_.end() && !page.items.empty()) {
    page.next_token = KeyOfSession(*page.items.back());
  }
  return page;
}

std::shared_ptr<UploadSession> UnfinishedUploads::Find(const std::string& caller,
                                                       const std::string& id) const {
  absl::MutexLock lock(&mutex_);
  return FindLocked(caller, id);
}

std::shared_ptr<UploadSession> UnfinishedUploads::FindLocked(const std::string& caller,
                                                             const std::string& id) const {
  for (const std::string& key : {KeyOfSession(caller, id), KeyOfSession("", id)}) {
    if (const auto found = uploads_.find(key); found != uploads_.end()) {
      return found->second;
    }
  }
  return nullptr;
}

absl::Status UnfinishedUploads::Remove(const std::shared_ptr<UploadSession>& upload) {
  const ScopedAllocations scope(Allocations::kNeeded);  // nothing is removed by halves
  // Under the lock: a new upload of this id has files of the same names.
  absl::MutexLock lock(&mutex_);
  const absl::Status status = upload->Remove();
  const auto found = uploads_.find(KeyOfSession(*upload));
  if (upload->removed() && found != uploads_.end() && found->second == upload) {
    uploads_.erase(found);
  }
  return status;
}

void UnfinishedUploads::RemoveExpired(const UploadPolicy& policy) {
  absl::MutexLock lock(&mutex_);
  for (auto entry = uploads_.begin(); entry != uploads_.end();) {
    const bool removed = entry->second->RemoveIfIdleFor(policy.expiry);
    entry = removed ? uploads_.erase(entry) : std::next(entry);
  }
}

absl::Status UploadIdReused(const std::string& upload_id) {
  return WithReason(
      absl::AlreadyExistsError("the upload_id is that of an upload with another header"),
      "UPLOAD_ID_REUSED", {{"resource_type", "upload"}, {"resource_name", UploadName(upload_id)}});
}

std::string UploadDigest(const v1::UploadHeader& header, const std::string& content_digest) {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  v1::UploadHeader meaning = header;
  meaning.clear_request_id();
  meaning.clear_sha256();
  meaning.clear_upload_id();
  meaning.clear_total_bytes();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    meaning.SerializeToCodedStream(&coded);
  }
  return Sha256Hex(absl::StrCat(content_digest, bytes));
}

}  // namespace mercer::server
