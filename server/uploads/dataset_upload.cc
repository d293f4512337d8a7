#include "server/uploads/dataset_upload.h"

#include <numeric>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/io/quality/quality_scan.h"
#include "server/access/ownership.h"
#include "server/jobs/data/checked_sink.h"
#include "server/storage/new_id.h"
#include "server/storage/refusals.h"
#include "server/translation/answer_size.h"
#include "server/translation/dataset_translator.h"
#include "server/translation/quality_translator.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/resource_names.h"
#include "server/translation/unknown_fields.h"
#include "server/uploads/upload_files.h"

namespace mercer::server {
namespace {

// The header of every upload that can be resumed is kept in memory until that has ended.
constexpr size_t kMaxResumableHeaderBytes = size_t{4} << 20;

// From the files of all parts.
absl::StatusOr<WrittenDataset> ReadAndWrite(
    const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts, const UploadFiles& files,
    const DatasetContext& context, const std::function<bool()>& is_cancelled) {
  const int64_t limit = context.limits.dataset_bytes;
  WrittenDataset written;
  MERCER_ASSIGN_OR_RETURN(const int64_t bytes, ParseBytes(parts, files, limit));
  MERCER_ASSIGN_OR_RETURN(written.memory, context.parse_budget.Take(bytes, limit, is_cancelled));
  MERCER_ASSIGN_OR_RETURN(written.dataset, ReadUploadedParts(parts, files, limit, is_cancelled));
  MERCER_ASSIGN_OR_RETURN(written.blob, context.blobs->NewBlob());
  // A text or a compressed file says nothing of how large its table is: the disk is asked again while that is written.
  CheckedSink sink([&](std::string_view piece) { return written.blob->Append(piece); },
                   [&]() -> absl::Status {
                     MERCER_RETURN_IF_ERROR(CheckWanted(is_cancelled));
                     return CheckDiskRoom(context);
                   });
  MERCER_RETURN_IF_ERROR(EncodeDataset(written.dataset, sink));
  MERCER_RETURN_IF_ERROR(quality::ScanDataset(written.dataset, is_cancelled, written.scan));
  return written;
}

absl::Status BadOrder(const std::string& message) {
  return WithReason(absl::InvalidArgumentError(message), "BAD_UPLOAD_ORDER");
}

absl::Status Exists(const std::string& dataset_id, bool hidden) {
  const absl::Status status =
      hidden ? absl::AlreadyExistsError(
                   absl::StrCat("the data set '", dataset_id,
                                "' is deleted as soon as the last job that needs it has ended; "
                                "take another id until then"))
             : DatasetExists(dataset_id);
  return WithReason(status, "DATASET_EXISTS",
                    {{"resource_type", "data set"}, {"resource_name", DatasetName(dataset_id)}});
}

// Whether the same bytes would be refused again, whatever happens meanwhile.
bool IsAboutContent(const absl::Status& status) {
  const std::string reason = GetReason(status);
  return absl::IsInvalidArgument(status) || reason == "DATASET_TOO_LARGE" ||
         reason == "RESPONSE_TOO_LARGE";
}

// Whether the row may be there after a crash: a commit that could not be synced is taken back, but its bytes are in the log
// of the database, where the next start finds them if nothing was written since.
bool MayComeBack(const absl::Status& status) {
  return absl::IsInternal(status) || absl::IsUnavailable(status) ||
         GetReason(status) == "DISK_FULL";
}

void CheckSizeAndDigest(const v1::UploadHeader& header, FieldViolations& violations) {
  const bool resumable = !header.upload_id().empty();
  const bool is_digest =
      header.sha256().size() == 64 &&
      header.sha256().find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  violations.Check(header.sha256().empty() || is_digest, "header.sha256",
                   "must be 64 hexadecimal digits");
  violations.Check(!resumable || !header.sha256().empty(), "header.sha256",
                   "is missing; an upload with an upload_id needs it");
  violations.Check(!resumable || IsResourceId(header.upload_id()), "header.upload_id",
                   kResourceIdRule);
  violations.Check(header.total_bytes() >= 0, "header.total_bytes", "must be >= 0");
  violations.Check(!resumable || header.total_bytes() != 0, "header.total_bytes",
                   "is missing; an upload with an upload_id needs it");
}

}  // namespace

DatasetUpload::DatasetUpload(const DatasetContext& context, std::string caller)
    : context_(context), caller_(std::move(caller)) {}

DatasetUpload::~DatasetUpload() {
  const ScopedAllocations scope(Allocations::kNeeded);
  if (session_ != nullptr) {
    session_->Detach(ticket_);
  }
}

absl::Status DatasetUpload::Add(const v1::UploadDatasetRequest& message) {
  FieldViolations violations;
  CheckUnknownFields(message, violations);
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  if (message.has_header()) {
    return has_header_ ? BadOrder("only the first message may hold the header")
                       : Begin(message.header());
  }
  if (!has_header_) {
    return BadOrder("the first message must hold the header");
  }
  if (!message.has_chunk()) {
    return BadOrder("a message holds neither header nor chunk");
  }
  if (finished_.has_value()) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(CheckDiskRoom(context_));
  const auto receive = [&] { return session_->Append(ticket_, message.chunk()); };
  return intake_ != nullptr ? intake_->AddWhile(message.chunk(), receive) : receive();
}

absl::Status DatasetUpload::Begin(const v1::UploadHeader& header) {
  FieldViolations violations;
  violations.Check(header.dataset_id().empty() || IsResourceId(header.dataset_id()),
                   "header.dataset_id", kResourceIdRule);
  FieldViolations shared;
  CheckDisplayName(header.display_name(), shared);
  CheckLabels(header.labels(), shared);
  CheckRequestId(header.request_id(), shared);
  violations.AddAll("header", shared.ToStatus());
  CheckUploadParts(header.parts(), violations);
  CheckSizeAndDigest(header, violations);
  violations.Check(header.upload_id().empty() || header.ByteSizeLong() <= kMaxResumableHeaderBytes,
                   "header",
                   absl::StrCat("must have at most ", kMaxResumableHeaderBytes,
                                " bytes with an upload_id, has ", header.ByteSizeLong()));
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  MERCER_RETURN_IF_ERROR(CheckAnnouncedSize(header.parts(), context_.limits.dataset_bytes));
  if (header.total_bytes() > context_.limits.dataset_bytes) {
    return DatasetTooLarge("the upload", context_.limits.dataset_bytes);
  }
  header_ = header;
  has_header_ = true;
  // The id follows from caller and request_id, so that the same upload sent again finds the first one.
  const std::string request =
      IsNobody(caller_) ? header.request_id() : absl::StrCat(caller_, "\n", header.request_id());
  dataset_id_ = !header.dataset_id().empty()   ? header.dataset_id()
                : !header.request_id().empty() ? "d-" + Sha256Hex(request).substr(0, 16)
                                               : "d-" + NewId();
  if (!header.upload_id().empty()) {
    return BeginResumable();
  }
  MERCER_RETURN_IF_ERROR(CheckDiskRoom(context_));
  session_ = context_.uploads->NewPlain(header, caller_, PolicyOfUploads(context_));
  MERCER_ASSIGN_OR_RETURN(ticket_, session_->Attach());
  intake_ = TableIntake::Begin(header, context_);
  return absl::OkStatus();
}

absl::Status DatasetUpload::BeginResumable() {
  MERCER_RETURN_IF_ERROR(FindFinished());
  if (finished_.has_value()) {
    // Its files may still be there, when they could not be removed.
    session_ = context_.uploads->Find(caller_, header_.upload_id());
    RemoveFinished();
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(CheckIdIsFree());
  // One that finds no room at its end would keep what it has taken from everybody until it expires.
  const bool is_new = context_.uploads->Find(caller_, header_.upload_id()) == nullptr;
  MERCER_RETURN_IF_ERROR(CheckDiskRoom(context_, is_new ? header_.total_bytes() : 0));
  MERCER_ASSIGN_OR_RETURN(session_,
                          context_.uploads->Resume(header_, caller_, PolicyOfUploads(context_)));
  MERCER_ASSIGN_OR_RETURN(ticket_, session_->Attach());
  // Another stream may have finished it just before this one took it over.
  MERCER_RETURN_IF_ERROR(FindFinished());
  if (finished_.has_value()) {
    RemoveFinished();
  } else {
    intake_ = TableIntake::Begin(header_, context_);
  }
  return absl::OkStatus();
}

// Better now than after all its bytes. One of the same request_id may be this upload, which its content will tell.
absl::Status DatasetUpload::CheckIdIsFree() const {
  if (header_.dataset_id().empty()) {
    return absl::OkStatus();
  }
  const absl::StatusOr<DatasetRecord> record =
      context_.storage->datasets().GetDataset(header_.dataset_id());
  if (!record.ok()) {
    return absl::IsNotFound(record.status()) ? absl::OkStatus() : record.status();
  }
  if (record->hidden) {
    return Exists(header_.dataset_id(), true);
  }
  MERCER_ASSIGN_OR_RETURN(const DatasetInfo info, DecodeDatasetInfo(record->info));
  const bool same = !info.request_id.empty() && info.request_id == header_.request_id() &&
                    (IsNobody(record->owner) || record->owner == caller_);
  return same ? absl::OkStatus() : Exists(header_.dataset_id(), false);
}

absl::Status DatasetUpload::FindFinished() {
  MERCER_ASSIGN_OR_RETURN(const std::optional<DatasetRecord> record,
                          FindUpload(context_.storage->datasets(), caller_, header_.upload_id()));
  if (!record.has_value()) {
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(const DatasetInfo info, DecodeDatasetInfo(record->info));
  if (info.upload_digest != UploadDigest(header_, absl::AsciiStrToLower(header_.sha256()))) {
    return UploadIdReused(header_.upload_id());
  }
  MERCER_ASSIGN_OR_RETURN(finished_, WriteDataset(*record, v1::DATASET_VIEW_FULL));
  return absl::OkStatus();
}

absl::StatusOr<v1::Dataset> DatasetUpload::Finish(const std::function<bool()>& is_cancelled) {
  if (!has_header_) {
    return BadOrder("the upload ended before its header came");
  }
  if (finished_.has_value()) {
    return *finished_;
  }
  MERCER_RETURN_IF_ERROR(session_->BeginFinish(ticket_));
  // Whatever happens while the bytes are read: the upload must be there for others afterwards.
  const absl::StatusOr<v1::Dataset> dataset =
      RunSafely("reading an upload", [&] { return Read(is_cancelled); });
  session_->EndFinish();
  if (dataset.ok() || IsAboutContent(dataset.status())) {
    RemoveFinished();
  }
  return dataset;
}

// What cannot be removed now is found by the next stream or start, or expires.
void DatasetUpload::RemoveFinished() {
  if (session_ != nullptr) {
    context_.uploads->Remove(session_).IgnoreError();
  }
}

absl::StatusOr<v1::Dataset> DatasetUpload::Read(const std::function<bool()>& is_cancelled) {
  MERCER_ASSIGN_OR_RETURN(const std::string content_digest, session_->ContentDigest(is_cancelled));
  if (!header_.sha256().empty() && absl::AsciiStrToLower(header_.sha256()) != content_digest) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat("the bytes that came have SHA-256 ", content_digest,
                                                ", announced was ", header_.sha256())),
        "CHECKSUM_MISMATCH", {{"sha256", content_digest}});
  }
  return Store(UploadDigest(header_, content_digest), is_cancelled);
}

absl::StatusOr<WrittenDataset> DatasetUpload::WriteContent(
    const std::function<bool()>& is_cancelled) {
  if (intake_ != nullptr) {
    MERCER_ASSIGN_OR_RETURN(std::optional<WrittenDataset> written, intake_->Finish(is_cancelled));
    intake_.reset();
    if (written.has_value()) {
      return *std::move(written);
    }
  }
  // A table that is too large for the memory is split into a second file, and all is written once more as the content that is
  // kept.
  const std::vector<int64_t>& sizes = session_->files().sizes();
  const int64_t received = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  MERCER_RETURN_IF_ERROR(CheckDiskRoom(context_, 2 * received));
  return ReadAndWrite(header_.parts(), session_->files(), context_, is_cancelled);
}

void DatasetUpload::DescribeIgnored(v1::Dataset& description) const {
  std::set<std::string> names;
  for (const v1::UploadPart& part : header_.parts()) {
    for (const auto& [name, role] : part.csv().roles()) {
      if (role == v1::COLUMN_ROLE_IGNORED) {
        names.insert(name);
      }
    }
    for (const v1::DenseColumn& column : part.dense().columns()) {
      if (column.role() == v1::COLUMN_ROLE_IGNORED) {
        names.insert(column.name());
      }
    }
  }
  description.mutable_ignored_columns()->Assign(names.begin(), names.end());
}

absl::StatusOr<v1::Dataset> DatasetUpload::Store(const std::string& upload_digest,
                                                 const std::function<bool()>& is_cancelled) {
  MERCER_ASSIGN_OR_RETURN(WrittenDataset written, WriteContent(is_cancelled));
  const Dataset& dataset = written.dataset;
  MERCER_RETURN_IF_ERROR(CheckNameLengths(dataset));
  MERCER_ASSIGN_OR_RETURN(v1::Dataset description,
                          DescribeWithQuality(dataset, written.scan, is_cancelled));
  DescribeIgnored(description);
  MERCER_ASSIGN_OR_RETURN(PinnedBlob blob, written.blob->Commit());
  DatasetRecord record;
  record.id = dataset_id_;
  record.display_name = header_.display_name();
  record.blob = blob.digest();
  record.size_bytes = blob.size();
  record.rows = dataset.rows;
  record.info = EncodeDatasetInfo(
      {std::move(description), header_.request_id(), upload_digest, header_.upload_id()});
  record.labels = {header_.labels().begin(), header_.labels().end()};
  record.owner = caller_;
  record.create_time = absl::Now();
  const absl::StatusOr<CreatedDataset> created = Create(std::move(record), is_cancelled);
  if (MayComeBack(created.status())) {
    return created.status();  // the blob stays until a collection
  }
  if (!created.ok() || !created->created) {
    const std::string digest = blob.digest();
    blob = PinnedBlob();  // a pinned blob is not deleted
    ReleaseBlobs(context_, {digest});
  }
  return Answer(created, upload_digest);
}

absl::StatusOr<CreatedDataset> DatasetUpload::Create(
    DatasetRecord record, const std::function<bool()>& is_cancelled) const {
  // A data set that no answer can hold must not be there after the refusal.
  MERCER_ASSIGN_OR_RETURN(const v1::Dataset answer, WriteDataset(record, v1::DATASET_VIEW_FULL));
  MERCER_RETURN_IF_ERROR(CheckMessageSize(answer, context_.limits.message_bytes));
  MERCER_RETURN_IF_ERROR(CheckWanted(is_cancelled));
  return CreateOnce(context_.storage->datasets(), std::move(record), header_.request_id(),
                    header_.upload_id(), context_.limits.stored_bytes);
}

absl::StatusOr<v1::Dataset> DatasetUpload::Answer(const absl::StatusOr<CreatedDataset>& created,
                                                  const std::string& upload_digest) const {
  if (created.status().code() == absl::StatusCode::kAlreadyExists) {
    const absl::StatusOr<DatasetRecord> record =
        context_.storage->datasets().GetDataset(dataset_id_);
    return Exists(dataset_id_, record.ok() && record->hidden);
  }
  MERCER_RETURN_IF_ERROR(created.status());
  if (!created->created) {
    MERCER_ASSIGN_OR_RETURN(const DatasetInfo info, DecodeDatasetInfo(created->record.info));
    if (info.upload_digest != upload_digest && info.request_id != header_.request_id()) {
      return UploadIdReused(header_.upload_id());
    }
    if (info.upload_digest != upload_digest) {
      return WithReason(
          absl::AlreadyExistsError("the request_id was used for another upload"),
          "REQUEST_ID_REUSED",
          {{"resource_type", "data set"}, {"resource_name", DatasetName(created->record.id)}});
    }
  }
  return WriteDataset(created->record, v1::DATASET_VIEW_FULL);
}

}  // namespace mercer::server
