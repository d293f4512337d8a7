// Calls that wait for a job: what becomes of call and job when either ends, and what waiting costs.
#include "server/api/job_call.h"

#include <atomic>
#include <filesystem>
#include <future>
#include <iterator>
#include <limits>
#include <thread>
#include <vector>

#include "absl/synchronization/barrier.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/job_planner.h"
#include "server/jobs/record/job_event.h"
#include "tests/server/api/registry_fixture.h"
#include "tests/support/server/forwarding_jobs.h"

namespace mercer::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Cancels no job while the disk is full, and a reserve of it, if there is one, is there.
class FullJobStore final : public ForwardingJobStore {
 public:
  using ForwardingJobStore::ForwardingJobStore;
  void CancelJob(CancelRequest request, Done<EndedAttempt> done) override {
    if (full && (reserve.empty() || std::filesystem::exists(reserve))) {
      ++refused;
      done(WithReason(absl::ResourceExhaustedError("the disk is full"), "DISK_FULL"));
    } else {
      jobs_->CancelJob(std::move(request), std::move(done));
    }
  }
  using JobStore::CancelJob;

  std::atomic<bool> full{false};
  std::filesystem::path reserve;
  std::atomic<int> refused{0};
};

class FullStorage final : public ForwardingStorage {
 public:
  explicit FullStorage(Storage& inner) : ForwardingStorage(&inner), full_jobs(&inner.jobs()) {}
  JobStore& jobs() override { return full_jobs; }

  FullJobStore full_jobs;
};

class JobCallTest : public RegistryTest {
 protected:
  ~JobCallTest() override {
    let_go_ = true;
    held_calls_.clear();
    EndJobs();  // which look at held_
  }
  // Serves a model whose verification lasts until let_go_, or until it is cancelled if it minds that; then it fails with failure_.
  void ServeHeldVerifications(bool minds_cancellation = true) {
    ServeClouds(1);
    held_ = *FindLearner("lp_mkl");
    held_.verify = [this, minds_cancellation, verify = held_.verify](
                       const OptionValues& options, const TrainingProblem& problem,
                       const Witness& witness,
                       RunContext& context) -> absl::StatusOr<Verification> {
      verifying_ = true;
      while (!let_go_ && !(minds_cancellation && context.cancelled())) {
        absl::SleepFor(absl::Milliseconds(1));
      }
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      MERCER_RETURN_IF_ERROR(failure_);
      return verify(options, problem, witness, context);
    };
    find_learner_ = [this](std::string_view name) { return name == held_.name ? &held_ : nullptr; };
    RestartJobs(true);
  }
  void RestartJobs(bool workers) {
    EndJobs();
    StartJobs(workers);
  }
  // After what calls have left for them on the pool.
  void EndJobs() {
    EXPECT_TRUE(environment_.calls->WaitForCalls(absl::InfiniteDuration()));
    WaitForPool();
    jobs_.reset();
  }
  // Until what the pool's threads had begun has ended: they are all here at one moment.
  void WaitForPool() {
    constexpr int kIoThreads = 4;
    auto* const here = new absl::Barrier(kIoThreads + 1);
    const auto meet = [here] {
      if (here->Block()) {
        delete here;
      }
    };
    for (int i = 0; i < kIoThreads; ++i) {
      io_.Post(meet);
    }
    meet();
  }
  // A call that waits while the test goes on.
  struct HeldCall {
    grpc::ClientContext context;
    v1::VerifyModelRequest request;
    v1::VerifyModelResponse response;
    std::future<grpc::Status> status;
  };
  HeldCall& BeginVerifying(absl::Duration deadline = absl::InfiniteDuration()) {
    HeldCall& call = *held_calls_.emplace_back(std::make_unique<HeldCall>());
    if (deadline < absl::InfiniteDuration()) {
      call.context.set_deadline(absl::ToChronoTime(absl::Now() + deadline));
    }
    call.request.set_name("models/clouds");
    call.status = std::async(std::launch::async, [this, &call] {
      return models_->VerifyModel(&call.context, call.request, &call.response);
    });
    return call;
  }
  std::vector<JobRecord> JobsOfCalls() {
    JobFilter filter;
    filter.labels = {{kCallLabel, kCallLabelValue}};
    const auto page = real_storage_->jobs().ListJobs(filter, {1000, ""});
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() ? page->items : std::vector<JobRecord>();
  }
  void WaitForJobsOfCalls(size_t count) {
    while (JobsOfCalls().size() != count) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  void WaitUntilVerifying() {
    while (!verifying_) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

  std::atomic<bool> verifying_{false};
  std::atomic<bool> let_go_{false};
  absl::Status failure_;
  LearnerEntry held_;
  std::vector<std::unique_ptr<HeldCall>> held_calls_;
  Ticker fast_ticker_{absl::Milliseconds(5)};
  ProgressHub deaf_hub_{&storage_, &hub_io_};  // which nobody tells of anything
  FullStorage full_storage_{*real_storage_};
};

TEST_F(JobCallTest, JobIsThereWhileTheCallWaitsAndGoesWithIt) {
  ServeHeldVerifications();
  HeldCall& call = BeginVerifying();
  WaitUntilVerifying();
  const std::vector<JobRecord> jobs = JobsOfCalls();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].kind, JobKind::kVerification);
  EXPECT_EQ(jobs[0].state, JobState::kRunning);
  let_go_ = true;
  const grpc::Status status = call.status.get();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(call.response.matches());
  EXPECT_TRUE(absl::IsNotFound(real_storage_->jobs().GetJob(jobs[0].id).status()));
}

TEST_F(JobCallTest, LabelsAreThoseOfTheJobAndItHasNeitherIdNorPriority) {
  ServeClouds(1);
  RestartJobs(false);
  v1::EvaluateModelRequest request;
  request.set_name("models/clouds");
  request.set_dataset("datasets/clouds");
  request.set_priority(7);
  request.set_request_id("mine");
  EXPECT_THAT(Call(&v1::ModelService::Stub::EvaluateModel, request, &evaluation_).error_message(),
              AllOf(HasSubstr("request_id"), HasSubstr("priority")));
  request.clear_priority();
  request.clear_request_id();
  (*request.mutable_labels())["night"] = "8";
  std::thread client([&] {
    const grpc::Status status = Call(&v1::ModelService::Stub::EvaluateModel, request, &evaluation_);
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
  WaitForJobsOfCalls(1);
  EXPECT_EQ(JobsOfCalls().front().labels.at("night"), "8");
  EXPECT_TRUE(jobs_->StartWorkers().ok());
  client.join();
  EXPECT_EQ(evaluation_.rows(), 40);
  (*request.mutable_labels())[kCallLabel] = kCallLabelValue;
  v1::Job made;
  EXPECT_THAT(Call(&v1::ModelService::Stub::StartEvaluation, request, &made).error_message(),
              HasSubstr(kCallLabel));
}

// By it the next start after a kill finds the job.
TEST_F(JobCallTest, UpdatesKeepTheLabelOfTheServer) {
  ServeHeldVerifications();
  HeldCall& call = BeginVerifying();
  WaitUntilVerifying();
  const std::string id = JobsOfCalls().at(0).id;
  v1::Job job;
  const auto update = [&](const Labels& labels) {
    v1::UpdateJobRequest request;
    request.mutable_job()->set_name("jobs/" + id);
    request.mutable_job()->set_display_name("tonight");
    request.mutable_job()->mutable_labels()->insert(labels.begin(), labels.end());
    grpc::ClientContext context;
    return training_->UpdateJob(&context, request, &job);
  };
  ASSERT_TRUE(update({}).ok());
  EXPECT_EQ(job.display_name(), "tonight");
  ASSERT_EQ(JobsOfCalls().size(), 1u);
  Labels many;
  for (int i = 0; i < 63; ++i) {
    many[absl::StrCat("night", i)] = "8";
  }
  ASSERT_TRUE(update(many).ok());
  EXPECT_EQ(job.labels_size(), 64);
  const std::string etag = job.etag();
  const Labels read(job.labels().begin(), job.labels().end());
  const grpc::Status given_back = update(read);
  EXPECT_TRUE(given_back.ok()) << given_back.error_message();
  EXPECT_EQ(job.etag(), etag) << "nothing has changed";
  EXPECT_THAT(update({{kCallLabel, "false"}}).error_message(), HasSubstr(kCallLabel));
  EXPECT_EQ(JobsOfCalls().size(), 1u);
  let_go_ = true;
  EXPECT_TRUE(call.status.get().ok());
}

TEST_F(JobCallTest, JobOfAClientThatGoesAwayIsCancelled) {
  ServeHeldVerifications();
  HeldCall& call = BeginVerifying();
  WaitUntilVerifying();
  call.context.TryCancel();
  EXPECT_EQ(call.status.get().error_code(), StatusCode::CANCELLED);
  WaitForJobsOfCalls(0);
  jobs_->WaitUntilIdle();
}

TEST_F(JobCallTest, JobWhoseCallHasPassedItsDeadlineIsCancelled) {
  ServeHeldVerifications();
  HeldCall& call = BeginVerifying(absl::Milliseconds(500));
  EXPECT_EQ(call.status.get().error_code(), StatusCode::DEADLINE_EXCEEDED);
  WaitForJobsOfCalls(0);
  jobs_->WaitUntilIdle();
}

TEST_F(JobCallTest, QueuedJobOfAClientThatGoesAwayNeverBegins) {
  ServeHeldVerifications();
  RestartJobs(false);
  HeldCall& call = BeginVerifying();
  WaitForJobsOfCalls(1);
  call.context.TryCancel();
  EXPECT_EQ(call.status.get().error_code(), StatusCode::CANCELLED);
  WaitForJobsOfCalls(0);
  EXPECT_TRUE(jobs_->StartWorkers().ok());
  jobs_->WaitUntilIdle();
  EXPECT_FALSE(verifying_);
}

TEST_F(JobCallTest, ReadsThatFailEndNoCall) {
  environment_.ticker = &fast_ticker_;
  context_.call_hub = &deaf_hub_;
  ServeHeldVerifications();
  HeldCall& call = BeginVerifying();
  WaitUntilVerifying();
  storage_.no_jobs = true;
  EXPECT_EQ(call.status.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  EXPECT_EQ(JobsOfCalls().front().state, JobState::kRunning);
  storage_.no_jobs = false;
  let_go_ = true;
  const grpc::Status status = call.status.get();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(call.response.matches());
}

TEST_F(JobCallTest, JobOfAClientThatGoesAwayIsCancelledWhenTheDiskIsFullNoMore) {
  environment_.ticker = &fast_ticker_;
  jobs_storage_ = &full_storage_;
  ServeHeldVerifications();
  full_storage_.full_jobs.full = true;
  HeldCall& call = BeginVerifying();
  WaitUntilVerifying();
  call.context.TryCancel();
  while (full_storage_.full_jobs.refused < 2) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  full_storage_.full_jobs.full = false;
  EXPECT_EQ(call.status.get().error_code(), StatusCode::CANCELLED);
  WaitForJobsOfCalls(0);
}

TEST_F(JobCallTest, FullDiskIsGivenItsReserveToCancelAJob) {
  jobs_storage_ = &full_storage_;
  full_storage_.full_jobs.reserve = folder_ / "reserve";
  DiskReserve reserve(full_storage_.full_jobs.reserve.string());
  ASSERT_TRUE(reserve.Refill().ok());
  context_.reserve = &reserve;
  ServeHeldVerifications();
  full_storage_.full_jobs.full = true;
  HeldCall& call = BeginVerifying();
  WaitUntilVerifying();
  call.context.TryCancel();
  call.status.get();
  WaitForJobsOfCalls(0);
  EXPECT_EQ(full_storage_.full_jobs.refused, 1);
  EndJobs();
  context_.reserve = nullptr;
}

TEST_F(JobCallTest, CallWhoseJobIsDeletedBeforeTheAnswerSaysThatSomebodyHasDoneAwayWithIt) {
  environment_.ticker = &fast_ticker_;
  context_.call_hub = &deaf_hub_;
  ServeHeldVerifications();
  HeldCall& call = BeginVerifying();
  WaitUntilVerifying();
  storage_.no_jobs = true;  // the call does not hear of the end
  WaitForPool();
  let_go_ = true;
  jobs_->WaitUntilIdle();
  EXPECT_TRUE(real_storage_->jobs().DeleteJob(JobsOfCalls().front().id).ok());
  storage_.no_jobs = false;
  EXPECT_EQ(ReasonOf(call.status.get()), "JOB_CANCELLED");
}

TEST_F(JobCallTest, CallHearsThatSomebodyHasCancelledOrStoppedItsJob) {
  ServeHeldVerifications();
  HeldCall& cancelled = BeginVerifying();
  WaitUntilVerifying();
  ASSERT_TRUE(jobs_->Cancel(JobsOfCalls().front().id).ok());
  const grpc::Status of_cancelled = cancelled.status.get();
  EXPECT_EQ(of_cancelled.error_code(), StatusCode::ABORTED);
  EXPECT_EQ(ReasonOf(of_cancelled), "JOB_CANCELLED");
  WaitForJobsOfCalls(0);
  verifying_ = false;
  HeldCall& stopped = BeginVerifying();
  WaitUntilVerifying();
  ASSERT_TRUE(jobs_->Stop(JobsOfCalls().front().id).ok());
  EXPECT_EQ(ReasonOf(stopped.status.get()), "NO_MODEL");
  WaitForJobsOfCalls(0);
}

TEST_F(JobCallTest, CallHearsThatTheWorkerOfItsJobIsLost) {
  ServeHeldVerifications();
  RestartJobs(false);
  HeldCall& call = BeginVerifying();
  WaitForJobsOfCalls(1);
  ClaimRequest claim;  // by a worker that is never heard of again
  claim.worker = "dead/1/0";
  claim.now = absl::Now();
  claim.free_memory_bytes = std::numeric_limits<int64_t>::max();
  claim.event = StateEvent(JobState::kRunning);
  const auto claimed = real_storage_->jobs().ClaimJob(claim);
  EXPECT_TRUE(claimed.ok() && claimed->has_value()) << claimed.status();
  jobs_->RunHousekeeping();  // finds its lease expired
  const grpc::Status status = call.status.get();
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "WORKER_LOST");
  WaitForJobsOfCalls(0);
}

TEST_F(JobCallTest, WhatTheServerWouldTryAgainIsToldAtOnce) {
  ServeHeldVerifications();
  failure_ = WithReason(absl::UnavailableError("the database is busy"), "DATABASE_BUSY");
  let_go_ = true;
  const grpc::Status status = Verify("models/clouds");
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "DATABASE_BUSY");
  WaitForJobsOfCalls(0);
}

TEST_F(JobCallTest, FullQueueRefusesTheCall) {
  ServeHeldVerifications();
  RestartJobs(false);
  JobManagerOptions limits;
  limits.queue_limits = QueueLimits{1, 0};
  jobs_->SetLimits(limits);
  BeginVerifying();
  WaitForJobsOfCalls(1);
  const grpc::Status status = Evaluate("models/clouds", "datasets/clouds");
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "QUOTA_EXCEEDED");
  EXPECT_TRUE(jobs_->StartWorkers().ok());
}

TEST_F(JobCallTest, DrainEndsCallAndJob) {
  ServeHeldVerifications();
  HeldCall& call = BeginVerifying();
  WaitUntilVerifying();
  environment_.calls->Drain();
  const grpc::Status status = call.status.get();
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "DRAINING");
  WaitForJobsOfCalls(0);
  EXPECT_EQ(ReasonOf(Verify("models/clouds")), "DRAINING");
}

TEST_F(JobCallTest, DrainDoesNotWaitForAJobThatDoesNotEnd) {
  ServeHeldVerifications(/*minds_cancellation=*/false);
  HeldCall& call = BeginVerifying();
  WaitUntilVerifying();
  environment_.calls->Drain();
  EXPECT_FALSE(environment_.calls->WaitForCalls(absl::Milliseconds(50)));
  environment_.calls->Cancel();
  EXPECT_EQ(ReasonOf(call.status.get()), "DRAINING");
  EXPECT_EQ(JobsOfCalls().front().state, JobState::kCancelling);
  let_go_ = true;
  jobs_->Drain();
  RestartJobs(true);  // as the next start
  EXPECT_TRUE(JobsOfCalls().empty());
}

TEST_F(JobCallTest, ClosedHubEndsTheCall) {
  ServeHeldVerifications(/*minds_cancellation=*/false);
  HeldCall& call = BeginVerifying();
  WaitUntilVerifying();
  hub_->Close();
  EXPECT_EQ(ReasonOf(call.status.get()), "DRAINING");
  WaitForJobsOfCalls(1);  // it was cancelled while a worker had it
  let_go_ = true;
  jobs_->WaitUntilIdle();
  RestartJobs(true);
  EXPECT_TRUE(JobsOfCalls().empty());
}

int64_t Threads() {
  using Tasks = std::filesystem::directory_iterator;
  return std::distance(Tasks("/proc/self/task"), Tasks());
}

TEST_F(JobCallTest, CallsThatWaitHoldNoThread) {
  constexpr int kCalls = 300;
  ServeClouds(1);
  RestartJobs(false);
  struct Waiting {
    grpc::ClientContext context;
    v1::EvaluateModelResponse response;
  };
  v1::EvaluateModelRequest request;
  request.set_name("models/clouds");
  request.set_dataset("datasets/clouds");
  std::vector<Waiting> calls(kCalls);
  std::atomic<int> succeeded{0};
  std::atomic<int> ended{0};
  const int64_t before = Threads();
  for (Waiting& call : calls) {
    models_->async()->EvaluateModel(&call.context, &request, &call.response,
                                    [&](const grpc::Status& status) {
                                      succeeded += status.ok() ? 1 : 0;
                                      ++ended;
                                    });
  }
  WaitForJobsOfCalls(kCalls);
  EXPECT_EQ(environment_.calls->running(), kCalls);
  EXPECT_LT(Threads() - before, 20);  // gRPC's own come and go
  EXPECT_TRUE(jobs_->StartWorkers().ok());
  while (ended < kCalls) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_EQ(succeeded, kCalls);
  WaitForJobsOfCalls(0);
}

}  // namespace
}  // namespace mercer::server
