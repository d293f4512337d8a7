// Predictions of a whole data set into a new one.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/data/checked_sink.h"
#include "server/jobs/job_manager.h"
#include "server/jobs/upkeep/blob_collector.h"
#include "server/prediction/dataset_prediction.h"
#include "server/prediction/model_lookup.h"
#include "server/prediction/row_work.h"
#include "server/storage/new_id.h"
#include "server/storage/refusals.h"
#include "server/translation/answer_size.h"
#include "server/translation/dataset_translator.h"
#include "server/translation/prediction_translator.h"
#include "server/translation/quality_translator.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

constexpr char kPhase[] = "predict";

absl::StatusOr<DatasetPrediction> ReadPrediction(const v1::PredictDatasetRequest& request) {
  DatasetPrediction asked;
  asked.options.task = request.task();
  MERCER_ASSIGN_OR_RETURN(asked.options.task_rule, ReadTaskRule(request.task_rule()));
  if (request.unseen() != v1::UNSEEN_ROWS_UNSPECIFIED) {
    asked.options.unseen_category = UnseenCategory::kAllZeros;
  }
  asked.skips_unseen = request.unseen() == v1::UNSEEN_ROWS_ROW_ERROR;
  asked.kept_columns = {request.keep_columns().begin(), request.keep_columns().end()};
  return asked;
}

class PredictionWork final : public RowWork {
 public:
  using RowWork::RowWork;

  absl::StatusOr<WorkOutcome> Work() override {
    MERCER_RETURN_IF_ERROR(ReadRequest(request_));
    MERCER_ASSIGN_OR_RETURN(const auto model, Load(request_.model()));
    MERCER_ASSIGN_OR_RETURN(const OpenedDataset source, OpenDataset());
    absl::StatusOr<PinnedBlob> blob = Write(*model, source);
    absl::StatusOr<DatasetRecord> record = blob.ok() ? Describe(*blob) : blob.status();
    if (!record.ok()) {
      KeepAfter(record.status());
      blob = absl::CancelledError();  // a pinned blob is not deleted
      if (!written_.empty()) {
        DeleteReleasedBlobs(*context_.storage, *context_.blobs, {written_}).IgnoreError();
      }
      return record.status();
    }
    v1::PredictDatasetResult result;
    result.set_model(model->name);
    result.set_rows(source.dataset->rows);
    result.set_unpredicted_rows(done_.unpredicted);
    result.set_rows_by_mean(done_.by_mean);
    result.set_dataset(DatasetName(record->id));
    WorkOutcome outcome;
    outcome.dataset = *std::move(record);
    outcome.max_stored_bytes = context_.max_stored_bytes();
    outcome.result = EncodeWhole(result);
    outcome.blobs.push_back(*std::move(blob));
    return outcome;
  }

 private:
  absl::StatusOr<PinnedBlob> Write(const LoadedModel& model, const OpenedDataset& source) {
    const Dataset& rows = *source.dataset;
    MERCER_ASSIGN_OR_RETURN(const DatasetPrediction asked, ReadPrediction(request_));
    const int64_t bytes = PredictedBytes(model.predictor->model(), rows, asked);
    MERCER_RETURN_IF_ERROR(CheckRoom(bytes));
    MERCER_RETURN_IF_ERROR(CheckQuota(bytes));
    whole_bytes_ = bytes;
    MERCER_ASSIGN_OR_RETURN(
        writer_, KeepTrying("cannot begin a file", [&] { return context_.blobs->NewBlob(); }));
    CheckedSink sink(
        [&](std::string_view piece) { return frame_.BlameServer(writer_->Append(piece)); },
        [this] { return CheckRoom(0); });
    const auto restore = [&](std::string_view saved) -> absl::StatusOr<bool> {
      const absl::Status written = sink.Write(saved);
      saved_bytes_ = writer_->size();
      return written.ok() ? absl::StatusOr<bool>(true) : written;
    };
    MERCER_RETURN_IF_ERROR(Resume(model, source, restore));
    RunContext context(token(), context_.threads, nullptr);
    const auto on_block = [&](Index) {
      saved_bytes_ = writer_->size();
      return OnBlock(kPhase);
    };
    MERCER_RETURN_IF_ERROR(
        WritePredictions(*model.predictor, rows, asked, context, on_block, sink, done_));
    absl::StatusOr<PinnedBlob> blob = std::exchange(writer_, nullptr)->Commit();
    MERCER_RETURN_IF_ERROR(frame_.BlameServer(blob.status()));
    written_ = blob->digest();
    return blob;
  }

  // The bytes of the new file as far as the rows go: all are there, and none is in memory. Not where the disk would have no room for the
  // whole file beside them, which a later attempt needs.
  absl::Status SaveRows(BlobWriter& writer) override {
    if (context_.disk != nullptr) {
      MERCER_RETURN_IF_ERROR(context_.disk->CheckRoom(std::max(saved_bytes_, whole_bytes_)));
    }
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file,
                            writer_ != nullptr ? writer_->Map() : context_.blobs->Read(written_));
    return Append(file->contents().substr(0, static_cast<size_t>(saved_bytes_)), writer);
  }

  // Whether the job goes on and the disk has room for so many bytes more.
  absl::Status CheckRoom(int64_t more) const {
    MERCER_RETURN_IF_ERROR(CheckGoesOn());
    const absl::Status room =
        context_.disk == nullptr ? absl::OkStatus() : context_.disk->CheckRoom(more);
    return room.ok() ? room : WithReason(room, "DISK_FULL");  // which a later attempt may not meet
  }

  // What is kept of the data set beside its rows, as of an upload.
  absl::StatusOr<DatasetRecord> Describe(const PinnedBlob& blob) {
    MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                            KeepTrying("cannot open the new data set", [&] {
                              return frame_.environment().datasets->OpenContent(blob.digest(),
                                                                                token());
                            }));
    const auto is_over = [this] { return !CheckGoesOn().ok(); };
    const auto describe = [&]() -> absl::StatusOr<v1::Dataset> {
      quality::Scan scan;
      MERCER_RETURN_IF_ERROR(quality::ScanDataset(*dataset, is_over, scan));
      return DescribeWithQuality(*dataset, scan, is_over);
    };
    absl::StatusOr<v1::Dataset> description = describe();
    MERCER_RETURN_IF_ERROR(CheckGoesOn());
    MERCER_RETURN_IF_ERROR(description.status());
    DatasetRecord record;
    record.id = absl::StrCat("d-", NewId());
    record.display_name = frame_.job().display_name;
    record.blob = blob.digest();
    record.size_bytes = blob.size();
    record.rows = dataset->rows;
    record.info = EncodeDatasetInfo({*std::move(description), "", "", ""});
    record.labels = {request_.dataset_labels().begin(), request_.dataset_labels().end()};
    record.create_time = frame_.dependencies().clock->Now();
    MERCER_ASSIGN_OR_RETURN(const v1::Dataset answer, WriteDataset(record, v1::DATASET_VIEW_FULL));
    MERCER_RETURN_IF_ERROR(CheckMessageSize(answer, context_.message_bytes));
    return record;
  }

  // Before anything is written; the end of the attempt counts again.
  absl::Status CheckQuota(int64_t bytes) {
    const int64_t limit = context_.max_stored_bytes();
    if (limit == 0) {
      return absl::OkStatus();
    }
    MERCER_ASSIGN_OR_RETURN(const int64_t stored, KeepTrying("cannot count stored bytes", [&] {
                              return context_.storage->datasets().StoredBytes("");
                            }));
    return CheckStoredBytes(bytes, stored, limit);
  }

  v1::PredictDatasetRequest request_;
  std::unique_ptr<BlobWriter> writer_;  // of the new file, until it is written
  BlobDigest written_;                  // from then on
  int64_t saved_bytes_ = 0;             // of it, for the rows that are done
  int64_t whole_bytes_ = 0;             // of it, as estimated
};

// As far as it is known before it is written. Errors: kResourceExhausted (reasons DISK_NEARLY_FULL, STORAGE_QUOTA_EXCEEDED).
absl::Status CheckSize(const ModelJobContext& context, int64_t bytes) {
  if (context.disk != nullptr) {
    MERCER_RETURN_IF_ERROR(context.disk->CheckRoom(bytes));
  }
  const int64_t limit = context.max_stored_bytes();
  if (limit == 0) {
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(const int64_t stored, context.storage->datasets().StoredBytes(""));
  return CheckStoredBytes(bytes, stored, limit);
}

}  // namespace

absl::StatusOr<AdmittedJob> AdmitPrediction(const ModelJobContext& context,
                                            const v1::PredictDatasetRequest& request,
                                            const CancellationToken& cancellation) {
  MERCER_ASSIGN_OR_RETURN(
      const std::shared_ptr<const LoadedModel> loaded,
      LoadNamed(*context.models, context.storage->models(), request.model(), "model"));
  MERCER_RETURN_IF_ERROR(RefuseProbabilities(request.probabilities(), loaded->name));
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseDatasetName(request.dataset(), "dataset"));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> source,
                          OpenNamedShape(*context.jobs, request.dataset()));
  MERCER_ASSIGN_OR_RETURN(const DatasetPrediction asked, ReadPrediction(request));
  RunContext run(cancellation, 1, nullptr);
  MERCER_RETURN_IF_ERROR(CheckPrediction(*loaded->predictor, *source, asked, run));
  const Model& model = loaded->predictor->model();
  MERCER_RETURN_IF_ERROR(CheckSize(context, PredictedBytes(model, *source, asked)));
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  v1::PredictDatasetRequest resolved = request;
  resolved.set_model(loaded->name);
  resolved.clear_request_id();
  const auto held = static_cast<int64_t>(loaded->predictor->MemoryBytes() + source->MemoryBytes());
  return AdmittedJob{EncodeWhole(resolved),
                     {id},
                     held + PredictionBytes(model, *source, asked),
                     loaded->model,
                     loaded->version};
}

JobWorkMaker MakerOfPredictions(const ModelJobContext* context) {
  return MakerOf<PredictionWork>(context);
}

}  // namespace mercer::server
