// What Train decides where a request is silent, what it refuses before anything is queued, and what it warns of.
#include <functional>

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/server/api/api_fixture.h"
#include "tests/support/field_violation.h"

namespace mercer::server {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class DecisionsTest : public ApiTest {
 protected:
  // A data set "table" of columns x1, x2 and the target y.
  void Store(
      int rows, const std::function<std::string(int)>& y,
      const std::function<std::string(int)>& x2 = [](int r) {
        return std::to_string(r * r % 11);
      }) {
    std::string csv = "x1,x2,y\n";
    for (int r = 0; r < rows; ++r) {
      csv += std::to_string(r % 7) + "," + x2(r) + "," + y(r) + "\n";
    }
    v1::UploadDatasetRequest header;
    header.mutable_header()->set_dataset_id("table");
    v1::CsvFormat& format = *header.mutable_header()->add_parts()->mutable_csv();
    (*format.mutable_roles())["y"] = v1::COLUMN_ROLE_TARGET;
    format.set_allow_missing(true);
    v1::UploadDatasetRequest chunk;
    chunk.mutable_chunk()->set_data(csv);
    DatasetUpload upload(context_);
    ASSERT_TRUE(upload.Add(header).ok());
    ASSERT_TRUE(upload.Add(chunk).ok());
    const auto dataset = upload.Finish([] { return false; });
    ASSERT_TRUE(dataset.ok()) << dataset.status();
  }
  static v1::TrainRequest Request() {
    v1::TrainRequest request;
    request.add_data()->set_dataset("datasets/table");
    request.set_model("models/table");
    request.mutable_learner()->mutable_kernel_ridge();
    return request;
  }
  absl::StatusOr<v1::Job> Train(const v1::TrainRequest& request) {
    return TrainingHandlers(context_).Train(request, {});
  }
  absl::StatusOr<v1::EstimateCostResponse> Estimate(const v1::TrainRequest& training) {
    v1::EstimateCostRequest request;
    *request.mutable_training() = training;
    return TrainingHandlers(context_).EstimateCost(request);
  }
  v1::ModelVersion TrainedModel() {
    jobs_->WaitUntilIdle();
    const auto record = real_storage_->models().GetVersion("table", 1);
    EXPECT_TRUE(record.ok()) << record.status();
    v1::ModelVersion model;
    EXPECT_TRUE(record.ok() && model.ParseFromString(record->summary));
    return model;
  }
  // Refused by both calls with that reason, before there is a job.
  void ExpectRefused(const v1::TrainRequest& request, const std::string& reason) {
    const absl::Status status = Train(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(GetReason(status), reason) << status;
    EXPECT_EQ(GetReason(Estimate(request).status()), reason);
    EXPECT_THAT(real_storage_->jobs().ListJobs({}, {})->items, IsEmpty());
  }
};

std::string Rings(int row) { return std::to_string(row % 28 + 1); }
std::string TwoClasses(int row) { return row % 7 < 3 ? "no" : "yes"; }

TEST_F(DecisionsTest, ManyNumbersArePredictedAsNumbersAndTheModelSaysSo) {
  Store(60, Rings);
  const auto job = Train(Request());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->request().target_kind(), v1::TARGET_KIND_REGRESSION);
  ASSERT_EQ(job->request().decisions_size(), 1);
  const v1::Warning& decision = job->request().decisions(0);
  EXPECT_EQ(decision.code(), v1::WARNING_CODE_NUMERIC_TARGET);
  EXPECT_THAT(decision.message(), HasSubstr("'y' holds 28 different numbers"));
  EXPECT_EQ(decision.values().at("different_values"), "28");
  const v1::ModelVersion model = TrainedModel();
  EXPECT_EQ(model.coding().kind(), v1::CODING_KIND_REGRESSION);
  ASSERT_GE(model.warnings_size(), 1);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(model.warnings(0), decision));
}

TEST_F(DecisionsTest, WhoAsksForClassesGetsClasses) {
  Store(60, Rings);
  v1::TrainRequest request = Request();
  request.set_target_kind(v1::TARGET_KIND_CLASSIFICATION);
  const auto job = Train(request);
  ASSERT_TRUE(job.ok()) << job.status();
  // Nothing had to be decided; what is to be known of the data is told.
  ASSERT_EQ(job->request().decisions_size(), 1);
  EXPECT_EQ(job->request().decisions(0).code(), v1::WARNING_CODE_RARE_CLASSES);
  EXPECT_EQ(TrainedModel().coding().classes_size(), 28);
}

TEST_F(DecisionsTest, AnOptionOfNumbersSaysWhatTheTargetIs) {
  Store(60, [](int r) { return std::to_string(r % 4); });
  v1::TrainRequest request = Request();
  request.mutable_learner()->mutable_svm()->set_epsilon(0.2);
  const auto job = Train(request);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->request().target_kind(), v1::TARGET_KIND_REGRESSION);
}

TEST_F(DecisionsTest, TheSameRequestIsTheSameJobWhateverWasDecided) {
  Store(60, Rings);
  v1::TrainRequest request = Request();
  request.set_request_id("r1");
  const auto first = Train(request);
  ASSERT_TRUE(first.ok()) << first.status();
  request.add_decisions()->set_message("of a client, which is ignored");
  const auto again = Train(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->name(), first->name());
}

TEST_F(DecisionsTest, InfiniteFeaturesChooseLambdaByAPath) {
  Store(60, TwoClasses);
  v1::TrainRequest request = Request();
  request.mutable_learner()->mutable_infinite_features();
  const auto cost = Estimate(request);
  ASSERT_TRUE(cost.ok()) << cost.status();
  ASSERT_EQ(cost->decisions_size(), 1);
  EXPECT_EQ(cost->decisions(0).code(), v1::WARNING_CODE_OPTION_CHOSEN);
  const auto job = Train(request);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->request().path().option(), "lambda");
  EXPECT_EQ(job->request().validation().folds().count(), 3);
  const v1::ModelVersion model = TrainedModel();
  EXPECT_EQ(model.num_training_rows(), 60);
  EXPECT_EQ(model.lineage().request().path().option(), "lambda");
  bool has_best = false;
  for (const v1::Metric& metric : model.metrics()) {
    has_best = has_best || metric.name() == "path.best";
  }
  EXPECT_TRUE(has_best);
}

TEST_F(DecisionsTest, AGivenLambdaIsTaken) {
  Store(60, TwoClasses);
  v1::TrainRequest request = Request();
  request.mutable_learner()->mutable_infinite_features()->set_lambda(0.1);
  const auto job = Train(request);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_FALSE(job->request().has_path());
  EXPECT_FALSE(job->request().has_validation());
}

TEST_F(DecisionsTest, MissingValuesAreRefusedBeforeTheQueue) {
  Store(60, TwoClasses, [](int r) { return r == 9 ? "" : std::to_string(r); });
  ExpectRefused(Request(), "BAD_CELL");
  const absl::Status status = Train(Request()).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("row 10, column 'x2'"));
  EXPECT_THAT(GetErrorMetadata(status),
              testing::Contains(testing::Pair("remedy", "preprocessing.imputation")));
  v1::TrainRequest mended = Request();
  mended.mutable_preprocessing()->set_imputation(v1::IMPUTATION_MEAN_OR_MOST_FREQUENT);
  EXPECT_TRUE(Train(mended).ok());
}

TEST_F(DecisionsTest, UnknownColumnsAreRefusedBeforeTheQueue) {
  Store(60, TwoClasses);
  v1::TrainRequest request = Request();
  request.mutable_learner()->mutable_kernel_ridge()->add_kernels()->add_columns("x3");
  request.mutable_learner()->mutable_kernel_ridge()->mutable_kernels(0)->set_type(
      v1::KERNEL_TYPE_LINEAR);
  ExpectRefused(request, "BAD_FIELDS");
  EXPECT_THAT(Violation(Train(request).status(), "learner.kernel_ridge.kernels[0].columns[0]"),
              HasSubstr("x3"));
  request = Request();
  request.mutable_preprocessing()->add_blocks("nothing");
  ExpectRefused(request, "BAD_FIELDS");
}

TEST_F(DecisionsTest, ClassesThatCannotBeTrainedAreRefusedBeforeTheQueue) {
  Store(1200, [](int r) { return "name" + std::to_string(r); });
  ExpectRefused(Request(), "TOO_MANY_CLASSES");
}

TEST_F(DecisionsTest, IdentifiersAreWarnedOf) {
  Store(60, TwoClasses, [](int r) { return std::to_string(5000 + r); });
  ASSERT_TRUE(Train(Request()).ok());
  const v1::ModelVersion model = TrainedModel();
  ASSERT_EQ(model.warnings_size(), 1);
  EXPECT_EQ(model.warnings(0).code(), v1::WARNING_CODE_IDENTIFIER_COLUMN);
  EXPECT_EQ(model.warnings(0).values().at("column"), "x2");
}

}  // namespace
}  // namespace mercer::server
