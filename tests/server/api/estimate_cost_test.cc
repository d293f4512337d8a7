// EstimateCost says what Train would, and makes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

using testing::IsEmpty;

class EstimateCostTest : public ApiTest {
 protected:
  absl::StatusOr<v1::EstimateCostResponse> Estimate(const v1::TrainRequest& training) {
    v1::EstimateCostRequest request;
    *request.mutable_training() = training;
    return TrainingHandlers(context_).EstimateCost(request);
  }
  // The same error, about fields of the request within the request.
  void ExpectSameError(const v1::TrainRequest& training) {
    const absl::Status trained = TrainingHandlers(context_).Train(training).status();
    const absl::Status estimated = Estimate(training).status();
    EXPECT_FALSE(trained.ok());
    EXPECT_EQ(estimated.code(), trained.code()) << estimated;
    EXPECT_EQ(GetReason(estimated), GetReason(trained));
    EXPECT_EQ(GetErrorMetadata(estimated), GetErrorMetadata(trained));
    const auto violations = GetFieldViolations(trained);
    const auto within = GetFieldViolations(estimated);
    ASSERT_EQ(within.size(), violations.size());
    for (size_t i = 0; i < within.size(); ++i) {
      EXPECT_EQ(within[i].field, "training." + violations[i].field);
      EXPECT_EQ(within[i].description, violations[i].description);
    }
  }
};

TEST_F(EstimateCostTest, EstimatesAndMakesNoJob) {
  StoreClouds(200);
  v1::TrainRequest request = CloudsRequest();
  request.set_request_id("r1");
  const auto cost = Estimate(request);
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_GT(cost->time().seconds() + cost->time().nanos(), 0);
  EXPECT_TRUE(cost->fits());
  EXPECT_EQ(cost->memory_budget_bytes(), JobManagerOptions().memory_budget_bytes);
  EXPECT_THAT(real_storage_->jobs().ListJobs({}, {})->items, IsEmpty());
  const auto job = TrainingHandlers(context_).Train(request);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(cost->memory_bytes(), job->memory_estimate_bytes());
}

// The rows of the data are looked at, which the end of the call ends.
TEST_F(EstimateCostTest, CancelledCallsSaySoAndMakeNoJob) {
  StoreClouds(200);
  v1::TrainRequest request = CloudsRequest();
  request.mutable_validation()->mutable_folds()->set_count(3);
  v1::EstimateCostRequest estimate;
  *estimate.mutable_training() = request;
  const CancellationToken cancellation;
  cancellation.Cancel();
  const TrainingHandlers handlers(context_);
  EXPECT_TRUE(absl::IsCancelled(handlers.EstimateCost(estimate, cancellation).status()));
  EXPECT_TRUE(absl::IsCancelled(handlers.Train(request, {}, cancellation).status()));
  EXPECT_THAT(real_storage_->jobs().ListJobs({}, {})->items, IsEmpty());
}

TEST_F(EstimateCostTest, RefusesWhatTrainRefuses) {
  ExpectSameError({});
  ExpectSameError(CloudsRequest());  // there is no such data set
  StoreClouds(40);
  v1::TrainRequest request = CloudsRequest();
  request.mutable_learner()->mutable_lp_mkl()->set_c(-1);
  request.mutable_learner()->mutable_lp_mkl()->mutable_kernels(0)->set_bandwidths(1, -2);
  ExpectSameError(request);
  request = CloudsRequest();
  request.set_model("clouds");
  ExpectSameError(request);
  request = CloudsRequest();
  request.set_target("nothing");
  ExpectSameError(request);
  request = CloudsRequest();
  request.mutable_validation()->mutable_folds()->set_count(1000);
  ExpectSameError(request);
}

TEST_F(EstimateCostTest, AnswersWhileTheServerDrains) {
  StoreClouds(40);
  jobs_->Drain();
  EXPECT_TRUE(Estimate(CloudsRequest()).ok());
}

}  // namespace
}  // namespace mercer::server
