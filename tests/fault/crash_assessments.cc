// Jobs of a client of the crash suite that are no trainings: predictions of whole data sets, evaluations and verifications. What
// comes of one is what an uninterrupted server makes of the same model and data.
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include "client/cpp/errors.h"
#include "tests/fault/crash_client.h"

namespace mercer::server {
namespace {

constexpr absl::Duration kLongestWork =
    absl::Minutes(2);  // of a job of milliseconds on a busy machine

template <typename Request>
void Name(Request& request, const std::string& operation) {
  (*request.mutable_labels())["op"] = operation;
  request.set_request_id("work-" + operation);
}

}  // namespace

std::string MetricsOf(const v1::EvaluateModelResponse& evaluation) {
  v1::EvaluateModelResponse metrics = evaluation;
  metrics.clear_model();
  return metrics.SerializeAsString();
}

absl::StatusOr<v1::Job> CrashClient::SendWork(const Work& work, const std::string& operation) {
  switch (work.kind) {
    case v1::JOB_KIND_PREDICTION: {
      v1::PredictDatasetRequest request;
      Name(request, operation);
      request.set_model(work.version);
      request.set_dataset(work.dataset);
      return connection_->client.StartPrediction(request);
    }
    case v1::JOB_KIND_EVALUATION: {
      v1::EvaluateModelRequest request;
      Name(request, operation);
      request.set_name(work.version);
      request.set_dataset(work.dataset);
      return connection_->client.StartEvaluation(request);
    }
    default: {
      v1::VerifyModelRequest request;
      Name(request, operation);
      request.set_name(work.version);
      return connection_->client.StartVerification(request);
    }
  }
}

void CrashClient::StartWork() {
  const std::string training = AnyJob([this](const KnownJob& known) {
    return known.final_state == v1::JOB_STATE_SUCCEEDED && known.prospects.same_bits &&
           deleted_.count(known.created.name()) == 0;
  });
  const Slot& slot = AnySlot();
  if (training.empty() || !slot.dataset.has_value()) {
    return;
  }
  const KnownJob known = ledger_.Get(training);
  constexpr std::array kKinds = {v1::JOB_KIND_PREDICTION, v1::JOB_KIND_EVALUATION,
                                 v1::JOB_KIND_VERIFICATION};
  const std::string operation = absl::StrCat(name_, "-", ++last_operation_);
  const Work work{kKinds[Draw(random_, kKinds.size())], training, known.model, slot.dataset->name(),
                  PredictionKey(known.combination, slot.content)};
  on_moment_(Moment::kWork);
  const absl::StatusOr<v1::Job> job = SendWork(work, operation);
  if (Lost(job.status())) {
    doubt_ = [this, work, operation] { FindWork(work, operation); };
  } else if (job.ok()) {
    NoteWork(work, operation, *job);
  } else {
    // Only a verification needs the data that the model was trained on.
    EXPECT_TRUE(work.kind == v1::JOB_KIND_VERIFICATION &&
                client::ReadErrorReport(job.status()).reason == "DATASET_GONE")
        << job.status();
  }
}

void CrashClient::FindWork(const Work& work, const std::string& operation) {
  v1::ListJobsRequest filter;
  (*filter.mutable_labels())["op"] = operation;
  const absl::StatusOr<std::vector<v1::Job>> found = connection_->client.ListJobs(filter, 10);
  if (Lost(found.status())) {
    return;
  }
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_LE(found->size(), 1U) << "several jobs of operation " << operation;
  if (!found->empty()) {
    NoteWork(work, operation, found->at(0));
  }
}

void CrashClient::NoteWork(const Work& work, const std::string& operation, const v1::Job& job) {
  EXPECT_EQ(job.kind(), work.kind) << job.ShortDebugString();
  EXPECT_EQ(job.labels().at("op"), operation);
  Work& added = works_[job.name()];
  added = work;
  added.job.set_name(job.name());  // the rest is read, since lists do not tell all
  *added.job.mutable_create_time() = job.create_time();
  job_operations_.insert(operation);
}

// The state of a job that has ended never changes; one that has just ended must hold what it ought to.
void CrashClient::CheckWork(Work& work) {
  const std::string name = work.job.name();
  const absl::StatusOr<v1::Job> job = connection_->client.GetJob(name);
  if (Lost(job.status())) {
    return;
  }
  ASSERT_TRUE(job.ok()) << name << ": " << job.status();
  EXPECT_EQ(job->kind(), work.kind) << name;
  EXPECT_EQ(Difference(work.job.create_time(), job->create_time()), "") << name;
  if (work.has_ended()) {
    EXPECT_EQ(Difference(work.job, *job), "") << name;
    return;
  }
  work.job = *job;
  if (work.has_ended()) {
    CheckResult(work);
  }
}

void CrashClient::CheckResult(const Work& work) {
  const v1::Job& job = work.job;
  if (job.state() == v1::JOB_STATE_FAILED) {
    const bool lacks_data =
        work.kind == v1::JOB_KIND_VERIFICATION;  // the training's, which may be deleted
    EXPECT_TRUE(lacks_data || deleted_.count(work.training) != 0) << job.ShortDebugString();
    return;
  }
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.ShortDebugString();
  if (work.kind == v1::JOB_KIND_VERIFICATION) {
    EXPECT_TRUE(job.verification().matches()) << job.ShortDebugString();
  } else if (work.kind == v1::JOB_KIND_EVALUATION) {
    EXPECT_EQ(job.evaluation().model(), work.version);
    EXPECT_TRUE(MetricsOf(job.evaluation()) == reference_.evaluations.at(work.key))
        << job.ShortDebugString();
  } else {
    const absl::StatusOr<v1::Dataset> dataset =
        connection_->client.GetDataset(job.prediction().dataset(), v1::DATASET_VIEW_BASIC);
    if (!Lost(dataset.status())) {
      ASSERT_TRUE(dataset.ok()) << job.name() << ": " << dataset.status();
      EXPECT_EQ(dataset->digest(), reference_.predicted_digests.at(work.key)) << job.name();
    }
  }
}

void CrashClient::CheckWorks() {
  if (!works_.empty()) {
    const auto chosen =
        std::next(works_.begin(), static_cast<std::ptrdiff_t>(Draw(random_, works_.size())));
    CheckWork(chosen->second);
  }
}

void CrashClient::AwaitWorks() {
  for (auto& [name, work] : works_) {
    const absl::Time deadline = absl::Now() + kLongestWork;
    CheckWork(work);
    while (!work.has_ended() && absl::Now() < deadline && !testing::Test::HasFailure()) {
      absl::SleepFor(absl::Milliseconds(10));
      CheckWork(work);
    }
    ASSERT_TRUE(work.has_ended()) << name << " does not end";
  }
}

int64_t CrashClient::num_lost_works() const {
  int64_t lost = 0;
  for (const auto& [name, work] : works_) {
    lost += std::max(0, work.job.attempts_size() - 1);
  }
  return lost;
}

void CrashClient::AddPredictedBlobs(std::set<std::string>& datasets) const {
  for (const auto& [name, work] : works_) {
    if (work.job.has_prediction()) {
      datasets.insert(reference_.predicted_digests.at(work.key));
    }
  }
}

}  // namespace mercer::server
