#include "server/api/dataset_upload.h"

#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "core/data/dataset_file.h"
#include "server/api/answer_size.h"
#include "server/api/dataset_translator.h"
#include "server/api/recipe_translator.h"
#include "server/api/resource_names.h"
#include "server/api/unknown_fields.h"

namespace mercer::server {
namespace {

constexpr size_t kMaxChunkBytes = size_t{4} << 20;

class BlobSink final : public ByteSink {
 public:
  BlobSink(BlobWriter& writer, const std::function<bool()>& is_cancelled)
      : writer_(writer), is_cancelled_(is_cancelled) {}
  absl::Status Write(std::string_view bytes) override {
    return is_cancelled_() ? absl::CancelledError("the client has gone") : writer_.Append(bytes);
  }

 private:
  BlobWriter& writer_;
  const std::function<bool()>& is_cancelled_;
};

absl::StatusOr<PinnedBlob> StoreContent(const Dataset& dataset, BlobStore& blobs,
                                        const std::function<bool()>& is_cancelled) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<BlobWriter> writer, blobs.NewBlob());
  BlobSink sink(*writer, is_cancelled);
  MERCER_RETURN_IF_ERROR(EncodeDataset(dataset, sink));
  return writer->Commit();
}

// Of what the upload means: the header without what only identifies the call, and the content.
std::string UploadDigest(const v1::UploadHeader& header, const std::string& content_digest) {
  v1::UploadHeader meaning = header;
  meaning.clear_request_id();
  meaning.clear_sha256();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    meaning.SerializeToCodedStream(&coded);
  }
  return Sha256Hex(absl::StrCat(content_digest, bytes));
}

absl::Status BadOrder(const std::string& message) {
  return WithReason(absl::InvalidArgumentError(message), "BAD_UPLOAD_ORDER");
}

}  // namespace

std::string RandomId(int bytes) {
  std::random_device device;
  std::string id;
  for (int i = 0; i < bytes; ++i) {
    absl::StrAppendFormat(&id, "%02x", device() & 0xffu);
  }
  return id;
}

DatasetUpload::DatasetUpload(const ApiContext& context) : context_(context) {}

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
  return message.has_chunk() ? AddChunk(message.chunk())
                             : BadOrder("a message holds neither header nor chunk");
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
  const bool is_digest =
      header.sha256().size() == 64 &&
      header.sha256().find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  violations.Check(header.sha256().empty() || is_digest, "header.sha256",
                   "must be 64 hexadecimal digits");
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  MERCER_RETURN_IF_ERROR(CheckAnnouncedSize(header.parts(), context_.limits.dataset_bytes));
  MERCER_RETURN_IF_ERROR(CheckDiskRoom(context_));
  header_ = header;
  has_header_ = true;
  // The id follows from the request_id, so that the same upload sent again finds the first one.
  dataset_id_ = !header.dataset_id().empty()   ? header.dataset_id()
                : !header.request_id().empty() ? "d-" + Sha256Hex(header.request_id()).substr(0, 16)
                                               : "d-" + RandomId(8);
  files_ = std::make_unique<UploadFiles>(absl::StrCat(context_.upload_folder, "/", RandomId(16)));
  return files_->BeginPart();
}

absl::Status DatasetUpload::AddChunk(const v1::UploadChunk& chunk) {
  if (chunk.part() < files_->parts() - 1 || chunk.part() >= header_.parts_size()) {
    return BadOrder(absl::StrCat("a chunk of part ", chunk.part(), " does not come after part ",
                                 files_->parts() - 1, " of ", header_.parts_size()));
  }
  if (chunk.data().size() > kMaxChunkBytes) {
    FieldViolations violations;
    violations.Add("chunk.data", absl::StrCat("must be at most ", kMaxChunkBytes, " bytes, are ",
                                              chunk.data().size()));
    return violations.ToStatus();
  }
  MERCER_RETURN_IF_ERROR(CheckDiskRoom(context_));
  bytes_ += static_cast<int64_t>(chunk.data().size());
  if (bytes_ > context_.limits.dataset_bytes) {
    return DatasetTooLarge("the upload", context_.limits.dataset_bytes);
  }
  while (files_->parts() - 1 < chunk.part()) {
    MERCER_RETURN_IF_ERROR(files_->BeginPart());
  }
  content_hash_.Update(chunk.data());
  return files_->Append(chunk.data());
}

absl::StatusOr<v1::Dataset> DatasetUpload::Finish(const std::function<bool()>& is_cancelled) {
  if (!has_header_) {
    return BadOrder("the upload ended before its header came");
  }
  while (files_->parts() < header_.parts_size()) {
    MERCER_RETURN_IF_ERROR(files_->BeginPart());
  }
  MERCER_RETURN_IF_ERROR(files_->Close());
  const std::string content_digest = content_hash_.FinishHex();
  if (!header_.sha256().empty() && absl::AsciiStrToLower(header_.sha256()) != content_digest) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat("the bytes that came have SHA-256 ", content_digest,
                                                ", announced was ", header_.sha256())),
        "CHECKSUM_MISMATCH", {{"sha256", content_digest}});
  }
  return Store(UploadDigest(header_, content_digest), is_cancelled);
}

absl::StatusOr<v1::Dataset> DatasetUpload::Store(const std::string& upload_digest,
                                                 const std::function<bool()>& is_cancelled) {
  const int64_t limit = context_.limits.dataset_bytes;
  MERCER_ASSIGN_OR_RETURN(const int64_t bytes, ParseBytes(header_.parts(), *files_, limit));
  MERCER_ASSIGN_OR_RETURN(const ParseBudget::Share share,
                          context_.parse_budget->Take(bytes, limit, is_cancelled));
  MERCER_ASSIGN_OR_RETURN(const Dataset dataset,
                          ReadUploadedParts(header_.parts(), *files_, limit, is_cancelled));
  MERCER_ASSIGN_OR_RETURN(PinnedBlob blob, StoreContent(dataset, *context_.blobs, is_cancelled));
  DatasetRecord record;
  record.id = dataset_id_;
  record.display_name = header_.display_name();
  record.blob = blob.digest();
  record.size_bytes = blob.size();
  record.rows = dataset.rows;
  record.info = EncodeDatasetInfo({DescribeDataset(dataset), header_.request_id(), upload_digest});
  record.labels = {header_.labels().begin(), header_.labels().end()};
  record.create_time = absl::Now();
  const absl::StatusOr<CreatedDataset> created = Create(std::move(record), is_cancelled);
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
  if (is_cancelled()) {
    return absl::CancelledError("the client has gone");
  }
  return context_.upload_requests->CreateOnce(context_.storage->datasets(), header_.request_id(),
                                              std::move(record));
}

absl::StatusOr<v1::Dataset> DatasetUpload::Answer(const absl::StatusOr<CreatedDataset>& created,
                                                  const std::string& upload_digest) const {
  if (created.status().code() == absl::StatusCode::kAlreadyExists) {
    return WithReason(created.status(), "DATASET_EXISTS",
                      {{"resource_type", "data set"}, {"resource_name", DatasetName(dataset_id_)}});
  }
  MERCER_RETURN_IF_ERROR(created.status());
  if (!created->created) {
    MERCER_ASSIGN_OR_RETURN(const DatasetInfo info, DecodeDatasetInfo(created->record.info));
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
