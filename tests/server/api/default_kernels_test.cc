// What a request that names no kernels, or kernels without a width, is kept as.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/learners/registry.h"
#include "server/api/model_handlers.h"
#include "server/translation/kernel_translator.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/request_paths.h"
#include "server/translation/resource_names.h"
#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

KernelGrid Gaussians(BandwidthRule rule, std::vector<double> bandwidths) {
  KernelGrid grid;
  grid.rule = rule;
  grid.bandwidths = std::move(bandwidths);
  return grid;
}

KernelGrid ReadBack(const KernelGrid& grid) {
  FieldViolations violations;
  const KernelGrid read = ReadKernelGrid(WriteKernelGrid(grid), "kernels[0]", violations);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  return read;
}

void ExpectSameAfterReading(const KernelGrid& grid) {
  const KernelGrid read = ReadBack(grid);
  EXPECT_EQ(read.prototype, grid.prototype);
  EXPECT_EQ(read.rule, grid.rule);
  EXPECT_EQ(read.bandwidths, grid.bandwidths);
  EXPECT_EQ(read.min_bandwidth, grid.min_bandwidth);
  EXPECT_EQ(read.max_bandwidth, grid.max_bandwidth);
  EXPECT_EQ(read.count, grid.count);
  EXPECT_EQ(read.per_column, grid.per_column);
}

TEST(KernelGridMessageTest, IsReadAsTheGridThatItWasWrittenFrom) {
  ExpectSameAfterReading(Gaussians(BandwidthRule::kList, {0.5, 2}));
  ExpectSameAfterReading(Gaussians(BandwidthRule::kMedianMultiples, {0.4, 1}));
  KernelGrid grid = Gaussians(BandwidthRule::kList, {});
  grid.prototype.bandwidth = 3;
  grid.prototype.block = "block";
  grid.prototype.columns = {"a", "b"};
  grid.per_column = true;
  ExpectSameAfterReading(grid);
  for (const BandwidthRule rule : {BandwidthRule::kLogSpaced, BandwidthRule::kMedianMultiples}) {
    KernelGrid range = Gaussians(rule, {});
    range.min_bandwidth = 0.1;
    range.max_bandwidth = 10;
    range.count = 20;
    ExpectSameAfterReading(range);
  }
  KernelGrid polynomial;
  polynomial.prototype.type = KernelType::kPolynomial;
  polynomial.prototype.degree = 2;
  polynomial.prototype.scale = 0.5;
  polynomial.prototype.offset = 0;
  polynomial.prototype.normalization = {true, KernelScaling::kTrace};
  ExpectSameAfterReading(polynomial);
}

TEST(KernelGridMessageTest, MultiplesAreAListOrARange) {
  v1::KernelGrid grid;
  grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
  grid.set_rule(v1::BANDWIDTH_RULE_MEDIAN_MULTIPLES);
  grid.set_count(3);
  grid.add_bandwidths(2);
  FieldViolations violations;
  ReadKernelGrid(grid, "kernels[0]", violations);
  ASSERT_EQ(violations.violations().size(), 1U);
  EXPECT_EQ(violations.violations()[0].field, "kernels[0].bandwidths");
}

TEST(KernelGridMessageTest, OnlyAFamilyThatNeedsAWidthAndHasNoneGetsTheMedian) {
  v1::KernelGrid bare;
  bare.set_type(v1::KERNEL_TYPE_GAUSSIAN);
  CompleteKernelGrid(bare);
  EXPECT_EQ(bare.rule(), v1::BANDWIDTH_RULE_MEDIAN_MULTIPLES);
  EXPECT_THAT(bare.bandwidths(), ElementsAre(1.0));
  v1::KernelGrid linear;
  linear.set_type(v1::KERNEL_TYPE_LINEAR);
  v1::KernelGrid wide;
  wide.set_type(v1::KERNEL_TYPE_GAUSSIAN);
  wide.set_bandwidth(1);
  for (const v1::KernelGrid& grid : {linear, wide}) {
    v1::KernelGrid completed = grid;
    CompleteKernelGrid(completed);
    EXPECT_EQ(completed.SerializeAsString(), grid.SerializeAsString());
  }
}

class DefaultKernelsApiTest : public ApiTest {
 protected:
  // The kernels that a stored request names.
  static std::vector<v1::KernelGrid> StoredKernels(const v1::TrainRequest& stored) {
    const v1::Learner& learner = stored.learner();
    const google::protobuf::Message& options =
        learner.GetReflection()->GetMessage(learner, ChosenField(learner));
    const google::protobuf::Reflection& reflection = *options.GetReflection();
    const auto* field = options.GetDescriptor()->FindFieldByName("kernels");
    std::vector<v1::KernelGrid> kernels;
    for (int i = 0; i < reflection.FieldSize(options, field); ++i) {
      kernels.push_back(
          static_cast<const v1::KernelGrid&>(reflection.GetRepeatedMessage(options, field, i)));
    }
    return kernels;
  }
};

TEST_F(DefaultKernelsApiTest, EveryLearnerThatTakesKernelsTrainsWithoutThem) {
  StoreClouds(40);
  for (const LearnerEntry* entry : context_.learners) {
    if (!entry->uses_kernels) {
      continue;
    }
    SCOPED_TRACE(entry->name);
    v1::TrainRequest request;
    request.add_data()->set_dataset("datasets/clouds");
    request.set_model("models/" + entry->name);
    v1::Learner& learner = *request.mutable_learner();
    learner.GetReflection()->MutableMessage(
        &learner, v1::Learner::descriptor()->FindFieldByName(entry->name));
    const auto job = TrainingHandlers(context_).Train(request);
    ASSERT_TRUE(job.ok()) << job.status();
    const auto kernels = StoredKernels(job->request());
    ASSERT_EQ(kernels.size(), 1U);
    EXPECT_EQ(kernels[0].per_column(), entry->selects_columns);
    if (entry->selects_columns) {
      EXPECT_EQ(kernels[0].type(), v1::KERNEL_TYPE_LINEAR);
    } else {
      EXPECT_EQ(kernels[0].rule(), v1::BANDWIDTH_RULE_MEDIAN_MULTIPLES);
      const std::vector<double> multiples =
          entry->one_kernel ? std::vector<double>{1.0} : std::vector<double>{0.4, 1.0, 2.5};
      EXPECT_THAT(kernels[0].bandwidths(), ElementsAreArray(multiples));
    }
    jobs_->WaitUntilIdle();
    v1::GetModelVersionRequest get;
    get.set_name(request.model());
    const auto model = ModelHandlers(context_, *cache_).GetModelVersion(get);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->kernel_weights().kernels_size(), entry->one_kernel        ? 1
                                                      : entry->selects_columns ? 2
                                                                               : 3);
    EXPECT_EQ(StoredKernels(model->lineage().request()).size(), 1U);
  }
}

TEST_F(DefaultKernelsApiTest, ARequestIsTheSameWhenItIsSentAgain) {
  StoreClouds(40);
  v1::TrainRequest request;
  request.add_data()->set_dataset("datasets/clouds");
  request.mutable_learner()->mutable_svm();
  request.set_request_id("once");
  const auto first = TrainingHandlers(context_).Train(request);
  const auto second = TrainingHandlers(context_).Train(request);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(first->name(), second->name());
}

// A retry may meet a server that completes requests otherwise than the one that has made the job.
TEST_F(DefaultKernelsApiTest, WhatIsSentSaysWhetherARequestIsTheSame) {
  StoreClouds(40);
  v1::TrainRequest request;
  request.add_data()->set_dataset("datasets/clouds");
  request.mutable_learner()->mutable_svm();
  request.set_request_id("once");
  const auto job = TrainingHandlers(context_).Train(request);
  ASSERT_TRUE(job.ok()) << job.status();
  JobSubmission same;
  same.request = EncodeTrainRequest(request);
  same.request_id = "once";
  const auto again = jobs_->Submit(same);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->created);
  EXPECT_EQ(JobName(again->job.id), job->name());
}

// A server that did not complete requests took one Gaussian at the median for no kernels, and the
// width 1 for none: its models are verified with these.
TEST_F(DefaultKernelsApiTest, StoredRequestsKeepWhatTheyMeant) {
  v1::TrainRequest request;
  request.add_data()->set_dataset("datasets/clouds");
  request.mutable_learner()->mutable_svm();
  auto plan = planner_->Plan(EncodeTrainRequest(request));
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->recipe.kernels.size(), 1U);
  EXPECT_EQ(plan->recipe.kernels[0].rule, BandwidthRule::kMedianMultiples);
  EXPECT_EQ(plan->recipe.kernels[0].bandwidths, std::vector<double>{1.0});
  request.mutable_learner()->mutable_svm()->add_kernels()->set_type(v1::KERNEL_TYPE_GAUSSIAN);
  plan = planner_->Plan(EncodeTrainRequest(request));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->recipe.kernels[0].rule, BandwidthRule::kList);
  EXPECT_EQ(plan->recipe.kernels[0].prototype.bandwidth, 1.0);
}

TEST_F(DefaultKernelsApiTest, LearnersSayWhatTheirDefaultIs) {
  const auto learners = TrainingHandlers(context_).ListLearners({});
  ASSERT_TRUE(learners.ok()) << learners.status();
  for (const v1::LearnerDescription& learner : learners->learners()) {
    EXPECT_EQ(learner.kernels_optional(), learner.uses_kernels()) << learner.name();
    EXPECT_EQ(learner.default_kernels().empty(), !learner.uses_kernels()) << learner.name();
  }
}

}  // namespace
}  // namespace mercer::server
