#include "tests/fault/ledger.h"

#include "absl/strings/str_cat.h"
#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include "client/cpp/errors.h"

namespace mercer::server {
namespace {

// Hands the events after a number to `on_event` until it answers false.
template <typename OnEvent>
absl::Status Stream(Connection& connection, const std::string& job, size_t after_sequence,
                    OnEvent on_event) {
  grpc::ClientContext context;
  v1::StreamProgressRequest request;
  request.set_job(job);
  request.set_after_sequence(static_cast<int64_t>(after_sequence));
  const auto reader = connection.training->StreamProgress(&context, request);
  v1::StreamProgressResponse response;
  bool more = true;
  while (more && reader->Read(&response)) {
    more = !response.has_event() || on_event(response.event());
  }
  if (!more) {
    context.TryCancel();
    reader->Finish();
    return absl::OkStatus();
  }
  return client::ToAbslStatus(reader->Finish());
}

void CheckAttempts(const v1::Job& job) {
  for (int i = 0; i + 1 < job.attempts_size(); ++i) {
    const std::string& reason = job.attempts(i).end_reason();
    EXPECT_EQ(job.attempts(i).number(), i + 1) << job.name();
    EXPECT_TRUE(reason == "WORKER_LOST" || reason == "DRAINED") << job.name() << ": " << reason;
  }
}

void CheckFinalState(const KnownJob& known, v1::JobState state) {
  const Prospects& prospects = known.prospects;
  EXPECT_TRUE((state == v1::JOB_STATE_SUCCEEDED && prospects.may_succeed) ||
              (state == v1::JOB_STATE_CANCELLED &&
               (prospects.may_be_cancelled || prospects.may_be_stopped)))
      << known.created.name() << " ended as " << v1::JobState_Name(state);
}

void CheckStop(const KnownJob& known, const v1::Job& job) {
  const Prospects& prospects = known.prospects;
  EXPECT_TRUE(job.stop_requested() || !prospects.stop_requested) << job.name() << " forgot a stop";
  EXPECT_TRUE(prospects.may_be_stopped || !job.stop_requested()) << job.name() << " made up a stop";
  if (job.state() == v1::JOB_STATE_CANCELLED && !prospects.may_be_cancelled) {
    EXPECT_EQ(job.reason(), "NO_MODEL") << job.name();
  }
}

}  // namespace

size_t Draw(Random& random, size_t count) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(random);
}

std::string Difference(const google::protobuf::Message& before,
                       const google::protobuf::Message& now) {
  google::protobuf::util::MessageDifferencer differencer;
  std::string report;
  differencer.ReportDifferencesToString(&report);
  differencer.Compare(before, now);
  return report;
}

void Ledger::Add(const std::string& operation, const std::string& combination, const v1::Job& job) {
  const std::lock_guard lock(mutex_);
  const auto [found, added] = jobs_by_operation_.emplace(operation, job.name());
  EXPECT_EQ(found->second, job.name()) << "a second job of operation " << operation;
  if (added) {
    KnownJob& known = jobs_[job.name()];
    known.created = job;
    known.combination = combination;
  }
}

void Ledger::Change(const std::string& job, const std::function<void(Prospects&)>& change) {
  const std::lock_guard lock(mutex_);
  change(jobs_.at(job).prospects);
}

KnownJob Ledger::Get(const std::string& job) const {
  const std::lock_guard lock(mutex_);
  return jobs_.at(job);
}

std::vector<std::string> Ledger::Names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, known] : jobs_) {
    names.push_back(name);
  }
  return names;
}

size_t Ledger::CountUnfinished(const std::set<std::string>& jobs) const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const std::string& job : jobs) {
    count += jobs_.at(job).is_final() ? 0 : 1;
  }
  return count;
}

bool Ledger::AddEvent(const std::string& job, const v1::ProgressEvent& event) {
  const std::lock_guard lock(mutex_);
  KnownJob& known = jobs_.at(job);
  EXPECT_FALSE(known.is_final()) << job << ": after its last event " << event.ShortDebugString();
  EXPECT_EQ(event.sequence(), static_cast<int64_t>(known.events.size()) + 1) << job;
  known.events.push_back(event.SerializeAsString());
  num_resumptions_ += event.resumed().from_iteration() > 0 ? 1 : 0;
  const v1::JobState state = event.state_change().state();
  if (state < v1::JOB_STATE_SUCCEEDED) {
    return true;
  }
  EXPECT_NE(state, v1::JOB_STATE_FAILED) << job << ": " << event.ShortDebugString();
  known.final_state = state;
  known.model = event.state_change().model();
  return false;
}

absl::Status Ledger::Watch(Connection& connection, const std::string& job,
                           const std::function<bool(const v1::ProgressEvent&)>& may_go_on) {
  return Stream(connection, job, Get(job).events.size(), [&](const v1::ProgressEvent& event) {
    // After the last event the stream has to end by itself.
    return !AddEvent(job, event) || may_go_on(event);
  });
}

std::string Ledger::TakeUnwatched(Random& random) {
  const std::lock_guard lock(mutex_);
  std::vector<KnownJob*> candidates;
  for (auto& [name, known] : jobs_) {
    if (!known.is_final() && !known.watched_now) {
      candidates.push_back(&known);
    }
  }
  if (candidates.empty()) {
    return "";
  }
  KnownJob& chosen = *candidates[Draw(random, candidates.size())];
  chosen.watched_now = true;
  return chosen.created.name();
}

absl::Status Ledger::WatchSome(Connection& connection, Random& random,
                               const std::function<bool(const v1::ProgressEvent&)>& may_go_on) {
  const std::string job = TakeUnwatched(random);
  if (job.empty()) {
    return absl::OkStatus();
  }
  const absl::Status watched = Watch(connection, job, may_go_on);
  const std::lock_guard lock(mutex_);
  jobs_.at(job).watched_now = false;
  return watched;
}

absl::Status Ledger::Await(Connection& connection, const std::string& job) {
  return Get(job).is_final()
             ? absl::OkStatus()
             : Watch(connection, job, [](const v1::ProgressEvent&) { return true; });
}

absl::Status Ledger::Check(Connection& connection, const std::string& name) {
  const KnownJob known = Get(name);
  const absl::StatusOr<v1::Job> job = connection.client.GetJob(name);
  if (!job.ok()) {
    return job.status();
  }
  EXPECT_EQ(Difference(known.created.request(), job->request()), "") << name;
  EXPECT_EQ(Difference(known.created.create_time(), job->create_time()), "") << name;
  EXPECT_GE(job->last_sequence(), static_cast<int64_t>(known.events.size())) << name;
  CheckAttempts(*job);
  CheckStop(known, *job);
  if (known.is_final()) {
    CheckFinalState(known, known.final_state);
    EXPECT_EQ(job->state(), known.final_state) << name;
    EXPECT_EQ(job->model(), known.model) << name;
    EXPECT_EQ(job->last_sequence(), static_cast<int64_t>(known.events.size())) << name;
  }
  if (known.events.empty()) {
    return absl::OkStatus();
  }
  size_t replayed = 0;
  const absl::Status status = Stream(connection, name, 0, [&](const v1::ProgressEvent& event) {
    EXPECT_EQ(event.SerializeAsString(), known.events[replayed])
        << name << ": event " << replayed + 1 << " is now " << event.ShortDebugString();
    return ++replayed < known.events.size();
  });
  if (status.ok()) {
    EXPECT_EQ(replayed, known.events.size()) << name;
  }
  return status;
}

int Ledger::num_resumptions() const {
  const std::lock_guard lock(mutex_);
  return num_resumptions_;
}

size_t Ledger::num_events() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& [name, known] : jobs_) {
    count += known.events.size();
  }
  return count;
}

}  // namespace mercer::server
