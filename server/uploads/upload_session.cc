#include "server/uploads/upload_session.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/encoding/crc32c.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/translation/resource_names.h"
#include "server/translation/times.h"
#include "server/translation/whole_message.h"
#include "server/uploads/upload_files.h"

namespace mercer::server {
namespace {

constexpr size_t kMaxChunkBytes = size_t{4} << 20;
// How much of an upload a crash can take back, at most: whichever comes first.
constexpr int64_t kVouchBytes = int64_t{16} << 20;
constexpr absl::Duration kVouchInterval = absl::Seconds(2);

std::string JournalPath(const std::string& stem) { return stem + ".journal"; }

absl::Status BadPartOrder(const std::string& message) {
  return WithReason(absl::InvalidArgumentError(message), "BAD_UPLOAD_ORDER");
}

absl::Status BadTotal(int64_t came, int64_t total) {
  return WithReason(absl::InvalidArgumentError(
                        absl::StrCat(came, " bytes have come, the header announces ", total)),
                    "BAD_SIZE",
                    {{"received_bytes", absl::StrCat(came)}, {"total_bytes", absl::StrCat(total)}});
}

absl::Status TakenOver() {
  return WithReason(absl::AbortedError("another stream goes on with the upload, or it was deleted"),
                    "UPLOAD_TAKEN_OVER");
}

absl::Status UploadFinishing() {
  return WithReason(absl::UnavailableError("all bytes of the upload are there and being read"),
                    "UPLOAD_FINISHING");
}

absl::Status SpaceExceeded(const std::string& whose, const std::string& flag, int64_t limit_bytes,
                           ErrorMetadata metadata) {
  metadata.emplace_back("limit_bytes", absl::StrCat(limit_bytes));
  return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                        "all unfinished uploads ", whose, "together may take ", limit_bytes,
                        " bytes (mercer-server ", flag, "); finish, delete or await the others")),
                    "UPLOAD_SPACE_EXCEEDED", metadata);
}

// Nothing changes when a limit forbids it. Errors: kResourceExhausted (UPLOAD_SPACE_EXCEEDED).
absl::Status TakeSpace(int64_t bytes, const UploadSessionOptions& options, Budget::Share& space) {
  const BudgetLimits limits = {options.policy.space_bytes, options.policy.caller_space_bytes};
  const std::optional<BudgetLimit> exceeded = space.Grow(bytes, limits);
  if (!exceeded.has_value()) {
    return absl::OkStatus();
  }
  return *exceeded == BudgetLimit::kAll
             ? SpaceExceeded("", "--upload-space", limits.all, {})
             : SpaceExceeded(absl::StrCat("of ", options.caller, " "), "--upload-space-per-caller",
                             limits.of_key, {{"caller", options.caller}});
}

// Of all parts, one after the other.
absl::StatusOr<std::string> HashFiles(const UploadFiles& files,
                                      const std::function<bool()>& is_cancelled) {
  std::string piece(size_t{1} << 20, '\0');
  Sha256 hash;
  for (int part = 0; part < files.parts(); ++part) {
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> file,
                            OpenFileSource(files.path(part)));
    size_t size = 0;
    do {
      MERCER_RETURN_IF_ERROR(CheckWanted(is_cancelled));
      MERCER_ASSIGN_OR_RETURN(size, file->Read(piece.data(), piece.size()));
      hash.Update(std::string_view(piece).substr(0, size));
    } while (size > 0);
  }
  return hash.FinishHex();
}

}  // namespace

UploadSession::UploadSession(const v1::UploadHeader& header, UploadSessionOptions options)
    : UploadSession(header, options, options.space.NewShare(options.caller), nullptr,
                    JournalContent()) {}

UploadSession::UploadSession(v1::UploadHeader header, UploadSessionOptions options,
                             Budget::Share space, std::unique_ptr<UploadJournal> journal,
                             JournalContent content)
    : header_(std::move(header)),
      options_(std::move(options)),
      space_(std::move(space)),
      files_(options_.stem, content.sizes, *options_.policy.files),
      journal_(std::move(journal)),
      vouched_(content.sizes),
      last_time_(content.last_time),
      vouched_at_(options_.policy.clock->Monotonic()) {
  last_bytes_at_ = vouched_at_ -
                   std::max(options_.policy.clock->Now() - content.last_time, absl::ZeroDuration());
  files_.set_kept(resumable());
  if (content.sizes.empty()) {
    hash_.emplace();
  }
}

absl::StatusOr<std::shared_ptr<UploadSession>> UploadSession::Create(const v1::UploadHeader& header,
                                                                     UploadSessionOptions options) {
  Budget::Share space = options.space.NewShare(options.caller);
  MERCER_RETURN_IF_ERROR(TakeSpace(header.total_bytes(), options, space));
  JournalContent content;
  content.last_time = options.policy.clock->Now();
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<UploadJournal> journal,
                          UploadJournal::Create(JournalPath(options.stem), options.caller,
                                                header.SerializeAsString(), *options.policy.files));
  return std::shared_ptr<UploadSession>(new UploadSession(
      header, std::move(options), std::move(space), std::move(journal), std::move(content)));
}

absl::StatusOr<std::shared_ptr<UploadSession>> UploadSession::Load(UploadSessionOptions options) {
  JournalContent content;
  MERCER_RETURN_IF_ERROR(
      UploadJournal::Open(JournalPath(options.stem), *options.policy.files, &content).status());
  v1::UploadHeader header;
  if (!ParseWhole(content.header, header) || header.upload_id().empty()) {
    return absl::DataLossError("the header of an unfinished upload cannot be read");
  }
  for (size_t part = 0; part < content.sizes.size(); ++part) {
    // What a part has besides is not vouched for, and would be read as if it were.
    const absl::StatusOr<std::unique_ptr<WritableFile>> file =
        options.policy.files->Reopen(absl::StrCat(options.stem, ".", part), content.sizes[part]);
    // The record of its beginning was taken back with its file, but has reached the disk all the same.
    const bool taken_back = absl::IsNotFound(file.status()) && part + 1 == content.sizes.size() &&
                            content.sizes[part] == 0;
    if (taken_back) {
      content.sizes.pop_back();
    } else {
      MERCER_RETURN_IF_ERROR(file.status());
    }
  }
  if (content.last_time == absl::InfinitePast()) {
    content.last_time = options.policy.clock->Now();  // it was begun in its last moment
  }
  options.caller = content.caller;
  Budget::Share space = options.space.NewShare(options.caller);
  space.Grow(header.total_bytes(), BudgetLimits());
  return std::shared_ptr<UploadSession>(new UploadSession(
      std::move(header), std::move(options), std::move(space), nullptr, std::move(content)));
}

int64_t UploadSession::bytes() const {
  return std::accumulate(files_.sizes().begin(), files_.sizes().end(), int64_t{0});
}

absl::Status UploadSession::CheckOwner(int64_t ticket) const {
  return removed_ || ticket != owner_ ? TakenOver() : absl::OkStatus();
}

absl::StatusOr<int64_t> UploadSession::Attach() {
  absl::MutexLock lock(&mutex_);
  if (removed_) {
    return TakenOver();
  }
  if (finishing_) {
    return UploadFinishing();
  }
  MERCER_RETURN_IF_ERROR(OpenJournal());
  if (files_.parts() == 0) {
    MERCER_RETURN_IF_ERROR(Rewind(BeginPart()));
  }
  return ++owner_;
}

absl::Status UploadSession::OpenJournal() {
  if (!resumable() || journal_ != nullptr) {
    return absl::OkStatus();
  }
  JournalContent content;
  MERCER_ASSIGN_OR_RETURN(
      journal_, UploadJournal::Open(JournalPath(options_.stem), *options_.policy.files, &content));
  if (vouched_.empty() || content.sizes == vouched_) {
    return absl::OkStatus();
  }
  // A record whose sync failed may be there all the same; its bytes were taken back.
  for (size_t part = std::min(content.sizes.size(), vouched_.size() - 1); part < vouched_.size();
       ++part) {
    const absl::Status recorded =
        journal_->Record(static_cast<int>(part), vouched_[part], last_time_);
    if (!recorded.ok()) {
      journal_.reset();
      return recorded;
    }
  }
  return absl::OkStatus();
}

absl::Status UploadSession::BadOffset(const v1::UploadChunk& chunk) const {
  const int part = files_.parts() - 1;
  const int64_t offset = files_.sizes().back();
  return WithReason(
      absl::InvalidArgumentError(
          absl::StrCat("a chunk at part ", chunk.part(), ", offset ", chunk.offset(),
                       " does not continue the upload, which is at part ", part, ", offset ",
                       offset, ", or its bytes differ from those that are there")),
      "BAD_UPLOAD_OFFSET",
      {{"expected_part", absl::StrCat(part)}, {"expected_offset", absl::StrCat(offset)}});
}

absl::StatusOr<int64_t> UploadSession::Overlap(const v1::UploadChunk& chunk) {
  const int last = files_.parts() - 1;
  const bool is_old_part = chunk.part() < last;
  const int64_t size = chunk.part() > last ? 0 : files_.sizes()[static_cast<size_t>(chunk.part())];
  if (!chunk.has_offset()) {
    return 0;
  }
  const auto chunk_bytes = static_cast<int64_t>(chunk.data().size());
  if (chunk.offset() < 0 || chunk.offset() > size ||
      (is_old_part && chunk_bytes > size - chunk.offset())) {
    return BadOffset(chunk);
  }
  const int64_t overlap = std::min(size - chunk.offset(), chunk_bytes);
  if (overlap > 0) {
    const std::string_view again(chunk.data().data(), static_cast<size_t>(overlap));
    MERCER_ASSIGN_OR_RETURN(const bool equal, files_.Holds(chunk.part(), chunk.offset(), again));
    if (!equal) {
      return BadOffset(chunk);
    }
  }
  return overlap;
}

absl::Status UploadSession::CheckRoom(int64_t more) {
  const int64_t total = bytes() + more;
  if (total > options_.policy.upload_bytes) {
    return DatasetTooLarge("the upload", options_.policy.upload_bytes);
  }
  if (header_.total_bytes() > 0 && total > header_.total_bytes()) {
    return BadTotal(total, header_.total_bytes());
  }
  // One that can be resumed has taken its space at the beginning.
  return resumable() ? absl::OkStatus() : TakeSpace(more, options_, space_);
}

absl::Status UploadSession::Append(int64_t ticket, const v1::UploadChunk& chunk) {
  absl::MutexLock lock(&mutex_);
  MERCER_RETURN_IF_ERROR(CheckOwner(ticket));
  FieldViolations violations;
  violations.Check(
      chunk.data().size() <= kMaxChunkBytes, "chunk.data",
      absl::StrCat("must be at most ", kMaxChunkBytes, " bytes, are ", chunk.data().size()));
  violations.Check(!resumable() || chunk.has_offset(), "chunk.offset",
                   "is missing; an upload with an upload_id needs it");
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  const int last = files_.parts() - 1;
  if (chunk.part() < (resumable() ? 0 : last) || chunk.part() >= header_.parts_size()) {
    return BadPartOrder(absl::StrCat("a chunk of part ", chunk.part(), " does not come after part ",
                                     last, " of ", header_.parts_size()));
  }
  if (chunk.has_crc32c() && Crc32c(chunk.data()) != chunk.crc32c()) {
    return WithReason(
        absl::DataLossError(absl::StrCat("the chunk at part ", chunk.part(), ", offset ",
                                         chunk.offset(), " was damaged on its way")),
        "CHUNK_CHECKSUM",
        {{"part", absl::StrCat(chunk.part())}, {"offset", absl::StrCat(chunk.offset())}});
  }
  MERCER_ASSIGN_OR_RETURN(const int64_t overlap, Overlap(chunk));
  const std::string_view fresh =
      std::string_view(chunk.data()).substr(static_cast<size_t>(overlap));
  if (fresh.empty()) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(CheckRoom(static_cast<int64_t>(fresh.size())));
  return Rewind(Write(chunk.part(), fresh));
}

absl::Status UploadSession::Write(int part, std::string_view bytes) {
  while (files_.parts() - 1 < part) {
    MERCER_RETURN_IF_ERROR(BeginPart());
  }
  MERCER_RETURN_IF_ERROR(files_.Append(bytes));
  if (hash_.has_value()) {
    hash_->Update(bytes);
  }
  if (!resumable()) {
    return absl::OkStatus();
  }
  last_time_ = options_.policy.clock->Now();
  last_bytes_at_ = options_.policy.clock->Monotonic();
  const int64_t fresh = files_.sizes().back() - vouched_.back();
  const bool late = last_bytes_at_ - vouched_at_ >= kVouchInterval;
  return fresh >= kVouchBytes || late ? Vouch() : absl::OkStatus();
}

absl::Status UploadSession::BeginPart() {
  if (!resumable()) {
    return files_.BeginPart();
  }
  if (files_.parts() > 0) {
    MERCER_RETURN_IF_ERROR(Vouch());
  }
  MERCER_RETURN_IF_ERROR(files_.BeginPart());
  MERCER_RETURN_IF_ERROR(options_.policy.files->SyncFolder(FolderOf(options_.stem)));
  MERCER_RETURN_IF_ERROR(journal_->Record(files_.parts() - 1, 0, options_.policy.clock->Now()));
  vouched_ = files_.sizes();
  return absl::OkStatus();
}

absl::Status UploadSession::Vouch() {
  if (vouched_ != files_.sizes()) {
    MERCER_RETURN_IF_ERROR(files_.Sync());
    MERCER_RETURN_IF_ERROR(
        journal_->Record(files_.parts() - 1, files_.sizes().back(), options_.policy.clock->Now()));
    vouched_ = files_.sizes();
  }
  vouched_at_ = options_.policy.clock->Monotonic();
  return absl::OkStatus();
}

// After a failed sync nobody knows what is on the disk behind the last one that succeeded.
absl::Status UploadSession::Rewind(const absl::Status& why) {
  if (!why.ok() && resumable()) {
    journal_.reset();
    files_.Rewind(vouched_);
    hash_.reset();
    ++owner_;  // the stream must begin anew
  }
  return why;
}

void UploadSession::Detach(int64_t ticket) {
  absl::MutexLock lock(&mutex_);
  if (CheckOwner(ticket).ok() && resumable() && !finishing_ && journal_ != nullptr) {
    Rewind(Vouch()).IgnoreError();  // the next stream asks where to begin
    files_.Close().IgnoreError();   // what is vouched for is on the disk
    journal_.reset();
    ++owner_;
  }
}

absl::Status UploadSession::BeginFinish(int64_t ticket) {
  absl::MutexLock lock(&mutex_);
  MERCER_RETURN_IF_ERROR(CheckOwner(ticket));
  if (header_.total_bytes() > 0 && bytes() != header_.total_bytes()) {
    return BadTotal(bytes(), header_.total_bytes());
  }
  while (files_.parts() < header_.parts_size()) {
    MERCER_RETURN_IF_ERROR(Rewind(BeginPart()));
  }
  if (resumable()) {
    MERCER_RETURN_IF_ERROR(Rewind(Vouch()));
  }
  MERCER_RETURN_IF_ERROR(files_.Close());
  finishing_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::string> UploadSession::ContentDigest(
    const std::function<bool()>& is_cancelled) {
  {
    absl::MutexLock lock(&mutex_);
    if (digest_.empty() && hash_.has_value()) {
      digest_ = hash_->FinishHex();
      hash_.reset();
    }
    if (!digest_.empty()) {
      return digest_;
    }
  }
  // Nothing is written while the upload is being finished.
  MERCER_ASSIGN_OR_RETURN(const std::string digest, HashFiles(files(), is_cancelled));
  absl::MutexLock lock(&mutex_);
  digest_ = digest;
  return digest;
}

void UploadSession::EndFinish() {
  absl::MutexLock lock(&mutex_);
  finishing_ = false;
}

absl::Status UploadSession::RemoveFiles() {
  absl::Status durable = absl::OkStatus();
  // The journal first, and for good: parts without one are removed at the next start.
  if (resumable()) {
    const absl::Status gone = options_.policy.files->Remove(JournalPath(options_.stem));
    if (!gone.ok() && !absl::IsNotFound(gone)) {
      return gone;
    }
    durable = options_.policy.files->SyncFolder(FolderOf(options_.stem));
  }
  removed_ = true;
  journal_.reset();
  files_.Rewind({});
  space_.Release();
  return durable;
}

absl::Status UploadSession::Remove() {
  absl::MutexLock lock(&mutex_);
  if (finishing_) {
    return UploadFinishing();
  }
  return removed_ ? absl::OkStatus() : RemoveFiles();
}

bool UploadSession::removed() const {
  absl::MutexLock lock(&mutex_);
  return removed_;
}

bool UploadSession::RemoveIfIdleFor(absl::Duration time) {
  absl::MutexLock lock(&mutex_);
  if (!finishing_ && !removed_ && options_.policy.clock->Monotonic() - last_bytes_at_ >= time) {
    RemoveFiles().IgnoreError();  // what could not be removed is tried again
  }
  return removed_;
}

void UploadSession::Describe(absl::Duration expiry, v1::Upload& upload) const {
  absl::MutexLock lock(&mutex_);
  upload.set_caller(options_.caller);
  upload.set_display_name(header_.display_name());
  upload.set_total_bytes(header_.total_bytes());
  upload.set_sha256(header_.sha256());
  upload.set_received_bytes(std::accumulate(vouched_.begin(), vouched_.end(), int64_t{0}));
  if (!vouched_.empty()) {
    upload.set_part(static_cast<int>(vouched_.size()) - 1);
    upload.set_offset(vouched_.back());
  }
  SetTimestamp(last_time_ + expiry, upload.mutable_expire_time());
}

}  // namespace mercer::server
