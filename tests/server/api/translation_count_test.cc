// A request is translated once: for its answer, for its place in the queue and for its run.
#include <gtest/gtest.h>

#include "server/translation/recipe_translator.h"
#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

class TranslationCountTest : public ApiTest {
 protected:
  // What completing a request makes of its plan is what its stored form means.
  void ExpectCompletePlan(const v1::TrainRequest& request) {
    const auto asked = planner_->Translate(request);
    ASSERT_TRUE(asked.ok()) << asked.status();
    const auto dataset = jobs_->OpenShape(asked->dataset_ids[0]);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    const auto complete = planner_->Complete(EncodeTrainRequest(request), *asked, **dataset,
                                             RunContext(CancellationToken(), 1, nullptr));
    ASSERT_TRUE(complete.ok()) << complete.status();
    const auto stored = planner_->Plan(complete->request);
    ASSERT_TRUE(stored.ok()) << stored.status();
    const TrainingRecipe& kept = complete->plan.recipe;
    const TrainingRecipe& read = stored->recipe;
    EXPECT_EQ(kept.learner, read.learner);
    EXPECT_EQ(kept.options, read.options);
    EXPECT_EQ(kept.kind, read.kind);
    EXPECT_EQ(kept.target_scaling, read.target_scaling);
    EXPECT_EQ(kept.validation.kind, read.validation.kind);
    EXPECT_EQ(kept.validation.fraction, read.validation.fraction);
    EXPECT_EQ(kept.validation.folds, read.validation.folds);
    ASSERT_EQ(kept.path.has_value(), read.path.has_value());
    if (kept.path.has_value()) {
      EXPECT_EQ(kept.path->option, read.path->option);
      EXPECT_EQ(kept.path->values, read.path->values);
      EXPECT_EQ(kept.path->keep_all, read.path->keep_all);
    }
    ASSERT_EQ(kept.kernels.size(), read.kernels.size());
    for (size_t i = 0; i < kept.kernels.size(); ++i) {
      EXPECT_EQ(kept.kernels[i].prototype, read.kernels[i].prototype) << i;
      EXPECT_EQ(kept.kernels[i].rule, read.kernels[i].rule) << i;
      EXPECT_EQ(kept.kernels[i].bandwidths, read.kernels[i].bandwidths) << i;
      EXPECT_EQ(kept.kernels[i].per_column, read.kernels[i].per_column) << i;
    }
    EXPECT_EQ(complete->plan.dataset_ids, stored->dataset_ids);
    EXPECT_EQ(complete->plan.num_threads, stored->num_threads);
  }
};

TEST_F(TranslationCountTest, OnceUpToTheQueueAndNotAgainAtTheStart) {
  StoreClouds(40);
  jobs_.reset();
  StartJobs(/*workers=*/false);
  const auto job = TrainingHandlers(context_).Train(CloudsRequest());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(planner_->translations(), 1);
  ASSERT_TRUE(jobs_->StartWorkers().ok());
  jobs_->WaitUntilIdle();
  v1::GetJobRequest get;
  get.set_name(job->name());
  EXPECT_EQ(TrainingHandlers(context_).GetJob(get)->state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(planner_->translations(), 1);
}

TEST_F(TranslationCountTest, OnceMoreByTheProcessThatFindsItStored) {
  StoreClouds(40);
  jobs_.reset();
  StartJobs(/*workers=*/false);
  ASSERT_TRUE(TrainingHandlers(context_).Train(CloudsRequest()).ok());
  jobs_.reset();
  StartJobs();
  jobs_->WaitUntilIdle();
  EXPECT_EQ(real_storage_->jobs().CountJobs()->at(JobState::kSucceeded), 1);
  EXPECT_EQ(planner_->translations(), 1);
}

TEST_F(TranslationCountTest, OnceForAnEstimate) {
  StoreClouds(40);
  const int64_t before = planner_->translations();
  v1::EstimateCostRequest request;
  *request.mutable_training() = CloudsRequest();
  ASSERT_TRUE(TrainingHandlers(context_).EstimateCost(request).ok());
  EXPECT_EQ(planner_->translations(), before + 1);
}

TEST_F(TranslationCountTest, CompletePlanIsThatOfTheStoredRequest) {
  StoreClouds(60);
  for (const LearnerEntry* entry : context_.learners) {
    SCOPED_TRACE(entry->name);
    v1::TrainRequest request;
    request.add_data()->set_dataset("datasets/clouds");
    v1::Learner& learner = *request.mutable_learner();
    learner.GetReflection()->MutableMessage(
        &learner, v1::Learner::descriptor()->FindFieldByName(entry->name));
    if (!planner_->Translate(request).ok()) {
      continue;  // it needs an option
    }
    ExpectCompletePlan(request);
    if (entry->regression) {
      request.set_target_kind(v1::TARGET_KIND_REGRESSION);
      ExpectCompletePlan(request);
    }
  }
  v1::TrainRequest request;
  request.add_data()->set_dataset("datasets/clouds");
  v1::Svm& svm = *request.mutable_learner()->mutable_svm();
  svm.add_kernels()->set_type(v1::KERNEL_TYPE_GAUSSIAN);  // without a bandwidth
  ExpectCompletePlan(request);
}

}  // namespace
}  // namespace mercer::server
