// Predictions of data sets, evaluations and verifications as jobs: what they give, what they refuse, what may go meanwhile.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/status_macros.h"
#include "core/training/model/predictor.h"
#include "server/jobs/attempt_frame.h"
#include "server/jobs/record/job_event.h"
#include "server/prediction/dataset_prediction.h"
#include "server/translation/dataset_translator.h"
#include "tests/server/api/registry_fixture.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ModelJobsTest : public RegistryTest {
 protected:
  static v1::PredictDatasetRequest Request(const std::string& dataset = "datasets/clouds") {
    v1::PredictDatasetRequest request;
    request.set_model("models/clouds");
    request.set_dataset(dataset);
    return request;
  }
  grpc::Status Start(const v1::PredictDatasetRequest& request) {
    grpc::ClientContext context;
    job_.Clear();
    return prediction_->PredictDataset(&context, request, &job_);
  }
  // Waits for the end of the job; job_ is as it is then.
  void Finish() {
    jobs_->WaitUntilIdle();
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_name(job_.name());
    ASSERT_TRUE(training_->GetJob(&context, request, &job_).ok());
  }
  // Expects success; the new data set.
  std::shared_ptr<const Dataset> Predict(const v1::PredictDatasetRequest& request) {
    const grpc::Status status = Start(request);
    EXPECT_TRUE(status.ok()) << status.error_message();
    Finish();
    EXPECT_EQ(job_.state(), v1::JOB_STATE_SUCCEEDED) << job_.error().message();
    return Open(job_.prediction().dataset());
  }
  std::shared_ptr<const Dataset> Open(const std::string& name) {
    const auto dataset =
        jobs_->OpenDataset(name.substr(std::string("datasets/").size()), CancellationToken());
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return dataset.ok() ? *dataset : std::make_shared<Dataset>();
  }
  DatasetRecord Record() {
    const std::string& name = job_.prediction().dataset();
    const auto record =
        real_storage_->datasets().GetDataset(name.substr(std::string("datasets/").size()));
    EXPECT_TRUE(record.ok()) << record.status();
    return record.value_or(DatasetRecord());
  }
  void DeleteDataset(const std::string& name) {
    grpc::ClientContext context;
    v1::DeleteDatasetRequest request;
    request.set_name(name);
    request.set_when_unused(true);
    google::protobuf::Empty nothing;
    const grpc::Status status = datasets_->DeleteDataset(&context, request, &nothing);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  v1::Job job_;
};

TEST_F(ModelJobsTest, ValuesAreTheBitsOfThePredictionOfAllRowsAtOnce) {
  ServeClouds(1);
  StoreCsv("large", CloudsCsv(9000), "");  // several blocks
  v1::PredictDatasetRequest request = Request("datasets/large");
  request.add_keep_columns("label_");
  request.set_display_name("predicted clouds");
  (*request.mutable_dataset_labels())["team"] = "blue";
  (*request.mutable_labels())["night"] = "7";
  EXPECT_THAT(Start(request).error_message(), HasSubstr("label_"));
  request.set_keep_columns(0, "x2");
  const auto predicted = Predict(request);
  const auto loaded = cache_->Load("clouds", 1);
  const auto source = Open("datasets/large");
  ASSERT_TRUE(loaded.ok());
  RunContext context;
  const auto expected = (*loaded)->predictor->Predict(*source, {}, context);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_EQ(predicted->rows, 9000);
  ASSERT_EQ(predicted->blocks.size(), 1u);
  const FeatureBlock& block = predicted->blocks[0];
  EXPECT_EQ(block.name, kPredictionBlock);
  ASSERT_EQ(block.columns.size(), 3u);
  const OutputCoding& coding = (*loaded)->predictor->model().coding;
  EXPECT_EQ(block.columns[0].name, coding.OutputName(0));
  EXPECT_EQ(block.columns[1].name, kLabelColumn);
  EXPECT_EQ(block.columns[1].categories, coding.classes());
  EXPECT_EQ(block.columns[2].name, "x2");
  for (Index row = 0; row < predicted->rows; ++row) {
    ASSERT_EQ(block.values.view()(row, 0), expected->decision_values(row, 0)) << row;
    ASSERT_EQ(block.values.view()(row, 1), expected->classes[static_cast<size_t>(row)]) << row;
    ASSERT_EQ(block.values.view()(row, 2), source->blocks[0].values.view()(row, 1)) << row;
  }
  EXPECT_EQ(job_.kind(), v1::JOB_KIND_PREDICTION);
  EXPECT_EQ(job_.display_name(), "predicted clouds");
  EXPECT_EQ(job_.labels().at("night"), "7");
  EXPECT_EQ(job_.prediction_request().model(), "models/clouds/versions/1");
  EXPECT_EQ(job_.prediction().model(), "models/clouds/versions/1");
  EXPECT_EQ(job_.prediction().rows(), 9000);
  EXPECT_FALSE(job_.has_request());
  EXPECT_EQ(job_.model(), "");
  const DatasetRecord record = Record();
  EXPECT_EQ(record.display_name, "predicted clouds");
  EXPECT_EQ(record.labels, (Labels{{"team", "blue"}}));
  const auto info = DecodeDatasetInfo(record.info);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->description.num_columns(), 3);
  EXPECT_TRUE(info->description.has_quality());
}

TEST_F(ModelJobsTest, BytesAreTheSameForAnyNumberOfThreadsAndBlocks) {
  ServeClouds(1);
  StoreCsv("large", CloudsCsv(9000), "");
  Predict(Request("datasets/large"));
  const DatasetRecord one = Record();
  model_jobs_.threads = 4;
  Predict(Request("datasets/large"));
  const DatasetRecord four = Record();
  EXPECT_NE(one.id, four.id);
  EXPECT_EQ(one.blob, four.blob);
}

TEST_F(ModelJobsTest, KeptColumnsHaveTheirRoles) {
  ServeClouds(1);
  StoreCsv("weighted", "x1,x2,label_of,label\n3,1,5,1\n0,0,6,0\n", "label_of");
  v1::PredictDatasetRequest request = Request("datasets/weighted");
  request.add_keep_columns("label_of");
  const auto predicted = Predict(request);
  const RoleColumn* weight = predicted->FindColumn(ColumnRole::kWeight, "label_of");
  ASSERT_NE(weight, nullptr);
  EXPECT_THAT(weight->values, ElementsAre(5, 6));
  EXPECT_EQ(predicted->role_columns.size(), 1u);
}

TEST_F(ModelJobsTest, WhatCannotBePredictedIsRefusedBeforeThereIsAJob) {
  ServeClouds(1);
  v1::PredictDatasetRequest request = Request();
  request.set_probabilities(true);
  EXPECT_EQ(ReasonOf(Start(request)), "NOT_CALIBRATED");
  request = Request("datasets/none");
  EXPECT_EQ(Start(request).error_code(), StatusCode::NOT_FOUND);
  request = Request();
  request.set_model("models/none");
  EXPECT_EQ(Start(request).error_code(), StatusCode::NOT_FOUND);
  request = Request();
  request.add_keep_columns("label");  // is a column of predictions
  EXPECT_EQ(Start(request).error_code(), StatusCode::INVALID_ARGUMENT);
  StoreCsv("others", "y1,label\n3,1\n", "");
  EXPECT_EQ(Start(Request("datasets/others")).error_code(), StatusCode::INVALID_ARGUMENT);
  request = Request();
  request.set_priority(101);
  (*request.mutable_dataset_labels())["No"] = "upper case";
  EXPECT_THAT(Start(request).error_message(), HasSubstr("dataset_labels"));
  const auto jobs = real_storage_->jobs().CountJobs();
  ASSERT_TRUE(jobs.ok());
  EXPECT_EQ(jobs->size(), 1u);  // the training alone
}

TEST_F(ModelJobsTest, ClassesThatAreNoNamesOfColumnsAreRefused) {
  Serve();
  for (const std::string& name : {std::string("label"), std::string(2000, 'z')}) {
    const std::string id = name.substr(0, 5);
    StoreCsv(id, "x1,x2,label\n1,2,a\n5,1," + name + "\n2,1,a\n6,2," + name + "\n", "");
    TrainOn(id);
    v1::PredictDatasetRequest request = Request("datasets/" + id);
    const grpc::Status status = Start(request);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << id;
    EXPECT_THAT(status.error_message(), HasSubstr("model")) << id;
  }
}

TEST_F(ModelJobsTest, RowsWithUnseenCategoriesAreMissingAndCounted) {
  Serve();
  StoreCsv("clouds", "colour,x1,label\nred,1,a\nblue,5,b\nred,2,a\nblue,6,b\nred,1,a\nblue,7,b\n",
           "");
  TrainOn("clouds");
  StoreCsv("new", "colour,x1,label\nred,1,a\nteal,5,b\nblue,6,b\n", "");
  v1::PredictDatasetRequest request = Request("datasets/new");
  request.set_unseen(v1::UNSEEN_ROWS_ROW_ERROR);
  const auto predicted = Predict(request);
  ASSERT_EQ(predicted->rows, 3);
  EXPECT_EQ(job_.prediction().unpredicted_rows(), 1);
  for (Index column = 0; column < 2; ++column) {
    EXPECT_FALSE(std::isnan(predicted->blocks[0].values.view()(0, column)));
    EXPECT_TRUE(std::isnan(predicted->blocks[0].values.view()(1, column)));
    EXPECT_FALSE(std::isnan(predicted->blocks[0].values.view()(2, column)));
  }
  // Without it the job fails, and names the row of the data set.
  ASSERT_TRUE(Start(Request("datasets/new")).ok());
  Finish();
  EXPECT_EQ(job_.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(job_.error().message(), HasSubstr("row 2"));
}

TEST_F(ModelJobsTest, ADataSetThatIsDeletedMeanwhileStaysUntilTheEnd) {
  ServeClouds(1);
  jobs_.reset();
  StartJobs(false);
  ASSERT_TRUE(Start(Request()).ok());
  DeleteDataset("datasets/clouds");
  ASSERT_TRUE(jobs_->StartWorkers().ok());
  Finish();
  EXPECT_EQ(job_.state(), v1::JOB_STATE_SUCCEEDED) << job_.error().message();
}

TEST_F(ModelJobsTest, AModelThatIsDeletedMeanwhileFailsTheJob) {
  ServeClouds(1);
  jobs_.reset();
  StartJobs(false);
  ASSERT_TRUE(Start(Request()).ok());
  ASSERT_TRUE(Delete("models/clouds").ok());
  ASSERT_TRUE(jobs_->StartWorkers().ok());
  Finish();
  EXPECT_EQ(job_.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job_.reason(), "NOT_FOUND");
  EXPECT_THAT(job_.error().message(), HasSubstr("models/clouds/versions/1"));
}

TEST_F(ModelJobsTest, EvaluationsAndVerificationsAreThoseOfTheCalls) {
  ServeClouds(1);
  ASSERT_TRUE(Evaluate("models/clouds", "datasets/clouds").ok());
  v1::EvaluateModelRequest evaluate;
  evaluate.set_name("models/clouds");
  evaluate.set_dataset("datasets/clouds");
  evaluate.set_request_id("e-1");
  evaluate.set_display_name("night");
  ASSERT_TRUE(Call(&v1::ModelService::Stub::StartEvaluation, evaluate, &job_).ok());
  const std::string name = job_.name();
  Finish();
  EXPECT_EQ(job_.kind(), v1::JOB_KIND_EVALUATION);
  EXPECT_EQ(job_.state(), v1::JOB_STATE_SUCCEEDED) << job_.error().message();
  EXPECT_EQ(job_.evaluation().SerializeAsString(), evaluation_.SerializeAsString());
  EXPECT_EQ(job_.evaluation_request().request_id(), "e-1");
  EXPECT_EQ(job_.display_name(), "night");
  ASSERT_TRUE(Call(&v1::ModelService::Stub::StartEvaluation, evaluate, &job_).ok());
  EXPECT_EQ(job_.name(), name);
  EXPECT_EQ(Call(&v1::ModelService::Stub::EvaluateModel, evaluate, &evaluation_).error_code(),
            StatusCode::INVALID_ARGUMENT);

  ASSERT_TRUE(Verify("models/clouds").ok());
  v1::VerifyModelRequest verify;
  verify.set_name("models/clouds");
  verify.set_display_name(std::string(201, 'x'));
  EXPECT_THAT(Call(&v1::ModelService::Stub::StartVerification, verify, &job_).error_message(),
              HasSubstr("display_name"));
  verify.set_display_name("proof");
  ASSERT_TRUE(Call(&v1::ModelService::Stub::StartVerification, verify, &job_).ok());
  Finish();
  EXPECT_EQ(job_.kind(), v1::JOB_KIND_VERIFICATION);
  EXPECT_EQ(job_.state(), v1::JOB_STATE_SUCCEEDED) << job_.error().message();
  EXPECT_TRUE(job_.verification().matches());
  EXPECT_EQ(job_.display_name(), "proof");
  EXPECT_EQ(job_.verification().SerializeAsString(), verification_.SerializeAsString());
  const auto events =
      storage_.events().Read(job_.name().substr(std::string("jobs/").size()), 0, 100);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_TRUE(std::any_of(events->begin(), events->end(), [](const EventRecord& event) {
    return DecodeJobEvent(event)->phase == "verify";
  }));

  v1::ListJobsRequest list;
  list.add_kinds(v1::JOB_KIND_VERIFICATION);
  grpc::ClientContext context;
  v1::ListJobsResponse jobs;
  ASSERT_TRUE(training_->ListJobs(&context, list, &jobs).ok());
  ASSERT_EQ(jobs.jobs_size(), 1);
  EXPECT_EQ(jobs.jobs(0).name(), job_.name());
  list.clear_kinds();
  list.set_filter("model = models/clouds/versions/1 AND -kind = TRAINING AND -labels:mercer_call");
  EXPECT_EQ(TrainingHandlers(context_).ListJobs(list)->jobs_size(), 2);
  list.set_filter("model = models/clouds/versions/2");
  EXPECT_EQ(TrainingHandlers(context_).ListJobs(list)->jobs_size(), 0);
}

TEST_F(ModelJobsTest, AStopEndsAVerificationInTheMidstOfItsWork) {
  ServeClouds(1);
  LearnerEntry held = *FindLearner("lp_mkl");
  std::atomic<bool> verifying{false};
  held.verify = [&](const OptionValues&, const TrainingProblem&, const Witness&,
                    RunContext& context) -> absl::StatusOr<Verification> {
    verifying = true;
    for (int i = 0; i < 20'000 && !context.cancelled(); ++i) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    return absl::InternalError("it was not stopped");
  };
  jobs_.reset();
  find_learner_ = [&](std::string_view name) { return name == held.name ? &held : nullptr; };
  StartJobs();
  v1::VerifyModelRequest verify;
  verify.set_name("models/clouds");
  ASSERT_TRUE(Call(&v1::ModelService::Stub::StartVerification, verify, &job_).ok());
  while (!verifying) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  ASSERT_TRUE(jobs_->Stop(job_.name().substr(std::string("jobs/").size())).ok());
  Finish();
  EXPECT_EQ(job_.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(job_.reason(), "NO_MODEL");
  jobs_.reset();  // which looks at `held`
}

TEST_F(ModelJobsTest, AFullDiskDelaysThePrediction) {
  ServeClouds(1);
  std::atomic<int> refusals{kReadTries};
  blobs_->before_new_blob = [&]() -> absl::Status {
    return refusals-- > 0 ? WithReason(absl::ResourceExhaustedError("no space"), "DISK_FULL")
                          : absl::OkStatus();
  };
  ASSERT_TRUE(Start(Request()).ok());
  Finish();
  EXPECT_EQ(job_.state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job_.reason(), "DISK_FULL");
  while (job_.state() != v1::JOB_STATE_SUCCEEDED) {  // two seconds later
    absl::SleepFor(absl::Milliseconds(10));
    Finish();
    ASSERT_NE(job_.state(), v1::JOB_STATE_FAILED) << job_.error().message();
  }
  ASSERT_EQ(job_.attempts_size(), 2);
  EXPECT_EQ(job_.attempts(0).end_reason(), "RETRY");
}

// Its Commit fails so many times, all together.
class FailingWriter final : public BlobWriter {
 public:
  FailingWriter(std::unique_ptr<BlobWriter> inner, std::atomic<int>& failures)
      : inner_(std::move(inner)), failures_(failures) {}

  absl::Status Append(std::string_view bytes) override { return inner_->Append(bytes); }
  int64_t size() const override { return inner_->size(); }
  absl::StatusOr<std::unique_ptr<MappedFile>> Map() const override { return inner_->Map(); }
  absl::StatusOr<PinnedBlob> Commit() override {
    return failures_-- > 0 ? absl::InternalError("cannot sync") : inner_->Commit();
  }

 private:
  const std::unique_ptr<BlobWriter> inner_;
  std::atomic<int>& failures_;
};

TEST_F(ModelJobsTest, AFileThatCannotBeEndedDelaysThePrediction) {
  ServeClouds(1);
  std::atomic<int> failures{1};
  blobs_->hook_writer = [&](std::unique_ptr<BlobWriter> writer) {
    return std::make_unique<FailingWriter>(std::move(writer), failures);
  };
  ASSERT_TRUE(Start(Request()).ok());
  Finish();
  EXPECT_EQ(job_.state(), v1::JOB_STATE_QUEUED);
  ASSERT_EQ(job_.attempts_size(), 1);
  EXPECT_EQ(job_.attempts(0).end_reason(), "RETRY");
}

TEST_F(ModelJobsTest, ADiskThatFailsForAMomentDoesNotCostThePrediction) {
  ServeClouds(1);
  std::atomic<int> failures{1};
  blobs_->before_new_blob = [&]() -> absl::Status {
    return failures-- > 0 ? absl::InternalError("Too many open files") : absl::OkStatus();
  };
  Predict(Request());
  EXPECT_EQ(job_.attempts_size(), 1);
}

TEST_F(ModelJobsTest, MoreBytesThanAllMayTakeAreRefusedBeforeTheWorkOrLeaveNoFile) {
  ServeClouds(1);
  const auto before = real_blobs_->List();
  const auto stored = real_storage_->datasets().StoredBytes("");
  ASSERT_TRUE(before.ok() && stored.ok());
  const int64_t columns = 40 * 2 * static_cast<int64_t>(sizeof(double));
  std::atomic<int64_t> limit{*stored + columns - 1};
  model_jobs_.max_stored_bytes = [&] { return limit.load(); };
  std::atomic<int> files{0};
  blobs_->before_new_blob = [&] {
    ++files;
    return absl::OkStatus();
  };
  EXPECT_EQ(ReasonOf(Start(Request())), "STORAGE_QUOTA_EXCEEDED");
  for (const int64_t in_the_end : {columns - 1, columns}) {  // without its head
    SCOPED_TRACE(in_the_end);
    jobs_.reset();
    StartJobs(false);
    limit = 0;
    ASSERT_TRUE(Start(Request()).ok());
    limit = *stored + in_the_end;
    ASSERT_TRUE(jobs_->StartWorkers().ok());
    Finish();
    EXPECT_EQ(job_.state(), v1::JOB_STATE_FAILED);
    EXPECT_EQ(job_.reason(), "STORAGE_QUOTA_EXCEEDED");
    EXPECT_EQ(*real_blobs_->List(), *before);
    EXPECT_EQ(files, in_the_end < columns ? 0 : 1);
  }
}

TEST_F(ModelJobsTest, PredictionsThatTheDiskHasNoRoomForAreRefused) {
  ServeClouds(1);
  const DiskGuard disk(folder_, std::numeric_limits<int64_t>::max() / 2);
  model_jobs_.disk = &disk;
  EXPECT_EQ(ReasonOf(Start(Request())), "DISK_NEARLY_FULL");
}

TEST_F(ModelJobsTest, EstimatesGrowWithTheRowsOfColumnsWithARoleAlone) {
  ServeClouds(1);
  const auto loaded = cache_->Load("clouds", 1);
  ASSERT_TRUE(loaded.ok());
  const Model& model = (*loaded)->predictor->model();
  Dataset huge;
  huge.rows = Index{1} << 40;
  huge.role_columns.emplace_back().schema.name = "a";
  DatasetPrediction asked;
  EXPECT_LT(PredictionBytes(model, huge, asked), int64_t{1} << 30);  // the new block is mapped
  asked.kept_columns = {"a"};
  EXPECT_GT(PredictionBytes(model, huge, asked), int64_t{1} << 44);
}

}  // namespace
}  // namespace mercer::server
