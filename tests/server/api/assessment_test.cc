// EvaluateModel and VerifyModel: against the core, on bad data, when something is gone or damaged.
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/training/model/predictor.h"
#include "server/prediction/dataset_evaluation.h"
#include "tests/server/api/registry_fixture.h"

namespace mercer::server {
namespace {

using testing::HasSubstr;

class AssessmentTest : public RegistryTest {
 protected:
  std::map<std::string, double> Metrics() const {
    std::map<std::string, double> metrics;
    for (const v1::Metric& metric : evaluation_.metrics()) {
      metrics[metric.name()] = metric.value();
    }
    return metrics;
  }
};

TEST_F(AssessmentTest, MetricsAreThoseOfThePredictionOfAllRowsAtOnce) {
  ServeClouds(1);
  StoreCsv("large", CloudsCsv(9000), "");  // several blocks
  const grpc::Status status = Evaluate("models/clouds", "datasets/large");
  ASSERT_TRUE(status.ok()) << status.error_message();
  const auto loaded = cache_->Load("clouds", 1);
  const auto dataset = jobs_->OpenDataset("large", CancellationToken());
  ASSERT_TRUE(loaded.ok() && dataset.ok());
  RunContext context;
  const auto prediction = (*loaded)->predictor->Predict(**dataset, {}, context);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  const std::vector<Metric> expected =
      EvaluatePrediction((*loaded)->predictor->model().coding, *prediction,
                         *(*dataset)->FindColumn(ColumnRole::kTarget, "label"), RunContext())
          .value();
  ASSERT_EQ(evaluation_.metrics_size(), 3);
  for (const Metric& metric : expected) {
    EXPECT_EQ(Metrics().at(metric.name), metric.value) << metric.name;
  }
  EXPECT_EQ(evaluation_.model(), "models/clouds/versions/1");
  EXPECT_EQ(evaluation_.rows(), 9000);
  EXPECT_EQ(evaluation_.skipped_rows(), 0);
  EXPECT_EQ(evaluation_.weight_column(), "");
}

TEST_F(AssessmentTest, WeightsCountRowsAndUnknownLabelsAreWrong) {
  ServeClouds(1);
  StoreCsv("weighted", "x1,x2,label,often\n3,1,1,2\n3,1,0,1\n0,0,0,0\n0,0,7,1\n0,0,,4\n", "often");
  StoreCsv("repeated", "x1,x2,label\n3,1,1\n3,1,1\n3,1,0\n0,0,7\n", "");
  ASSERT_TRUE(Evaluate("models/clouds", "datasets/repeated").ok());
  const auto expected = Metrics();
  ASSERT_TRUE(Evaluate("models/clouds", "datasets/weighted").ok());
  EXPECT_EQ(Metrics(), expected);
  EXPECT_EQ(evaluation_.weight_column(), "often");
  EXPECT_EQ(evaluation_.rows(), 3);
  EXPECT_EQ(evaluation_.skipped_rows(), 2);
  EXPECT_EQ(evaluation_.unknown_label_rows(), 1);
}

TEST_F(AssessmentTest, BadDataAreRefusedNamingTheColumn) {
  ServeClouds(1);
  StoreCsv("negative", "x1,x2,label,often\n3,1,1,2\n3,1,0,-1\n", "often");
  grpc::Status refused = Evaluate("models/clouds", "datasets/negative");
  EXPECT_EQ(refused.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(refused), "BAD_WEIGHT");
  EXPECT_EQ(MetadataOf(refused, "row"), "2");
  StoreCsv("narrow", "x1,label\n3,1\n3,0\n", "");
  refused = Evaluate("models/clouds", "datasets/narrow");
  EXPECT_EQ(refused.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("x2"));
  StoreCsv("unlabelled", "x1,x2,label\n3,1,\n3,0,\n", "");
  refused = Evaluate("models/clouds", "datasets/unlabelled");
  EXPECT_EQ(ReasonOf(refused), "NO_ROWS");
  EXPECT_EQ(MetadataOf(refused, "column"), "label");
  std::string gap = CloudsCsv(9000);
  gap.replace(gap.rfind('\n', gap.size() - 2) + 1, std::string::npos, ",1,0\n");  // no x1
  StoreCsv("gap", gap, "");
  refused = Evaluate("models/clouds", "datasets/gap");
  EXPECT_EQ(refused.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(MetadataOf(refused, "row"), "9000");
  EXPECT_THAT(refused.error_message(), HasSubstr("row 9000"));
  EXPECT_EQ(Evaluate("models/clouds", "datasets/none").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Evaluate("models/none", "datasets/clouds").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Evaluate("models/clouds", "clouds").error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(AssessmentTest, TargetOfAnotherNameIsNoTarget) {
  ServeClouds(1);
  const auto loaded = cache_->Load("clouds", 1);
  const auto dataset = jobs_->OpenDataset("clouds", CancellationToken());
  Dataset renamed = **dataset;
  renamed.role_columns[0].schema.name = "class";
  RunContext context;
  RowsToEvaluate rows;
  const auto refused = EvaluateDataset(*(*loaded)->predictor, renamed, {}, context, nullptr, rows);
  EXPECT_EQ(GetReason(refused.status()), "MISSING_TARGET");
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("'label'"));
}

TEST_F(AssessmentTest, CancelledEvaluationEnds) {
  ServeClouds(1);
  const auto loaded = cache_->Load("clouds", 1);
  const auto dataset = jobs_->OpenDataset("clouds", CancellationToken());
  RunContext context;
  context.cancellation().Cancel();
  RowsToEvaluate rows;
  EXPECT_TRUE(absl::IsCancelled(
      EvaluateDataset(*(*loaded)->predictor, **dataset, {}, context, nullptr, rows).status()));
}

TEST_F(AssessmentTest, VerifiedCertificateIsTheStoredOne) {
  ServeClouds(1);
  const grpc::Status status = Verify("models/clouds");
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(verification_.matches());
  EXPECT_EQ(verification_.model(), "models/clouds/versions/1");
  EXPECT_EQ(verification_.certificate().primal(), verification_.stored_certificate().primal());
  EXPECT_EQ(verification_.certificate().dual(), verification_.stored_certificate().dual());
  ASSERT_TRUE(GetVersion("models/clouds").ok());
  EXPECT_EQ(verification_.stored_certificate().SerializeAsString(),
            model_.certificate().SerializeAsString());
}

TEST_F(AssessmentTest, DataThatAreGoneMayComeBackUnderAnotherName) {
  ServeClouds(1);
  ASSERT_TRUE(Verify("models/clouds").ok());
  grpc::ClientContext context;
  v1::DeleteDatasetRequest request;
  request.set_name("datasets/clouds");
  google::protobuf::Empty nothing;
  ASSERT_TRUE(datasets_->DeleteDataset(&context, request, &nothing).ok());
  const grpc::Status refused = Verify("models/clouds");
  EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(refused), "DATASET_GONE");
  EXPECT_EQ(MetadataOf(refused, "resource_name"), "models/clouds/versions/1");
  StoreCsv("again", CloudsCsv(40), "");
  ASSERT_TRUE(Verify("models/clouds").ok());
  EXPECT_TRUE(verification_.matches());
}

TEST_F(AssessmentTest, WitnessThatIsGoneOrDamagedIsTold) {
  ServeClouds(1);
  const VersionRecord version = Version(1);
  Damage(version.witness_blob);
  EXPECT_EQ(Verify("models/clouds").error_code(), StatusCode::DATA_LOSS);
  std::filesystem::remove(BlobPath(version.witness_blob));
  const grpc::Status gone = Verify("models/clouds");
  EXPECT_EQ(gone.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(gone), "WITNESS_GONE");
  EXPECT_TRUE(GetVersion("models/clouds").ok());
}

TEST_F(AssessmentTest, LostFilesAreDataLoss) {
  ServeClouds(1);
  const std::string blob = real_storage_->datasets().GetDataset("clouds")->blob;
  std::filesystem::remove(BlobPath(blob));
  const grpc::Status lost = Verify("models/clouds");
  EXPECT_EQ(lost.error_code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(ReasonOf(lost), "BLOB_MISSING");
  std::filesystem::remove(BlobPath(Version(1).model_blob));
  EXPECT_EQ(ReasonOf(Verify("models/clouds")), "BLOB_MISSING");
}

}  // namespace
}  // namespace mercer::server
