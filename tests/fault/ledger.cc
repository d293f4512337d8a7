#include "tests/fault/ledger.h"

#include "absl/strings/str_cat.h"
#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include "client/cpp/channel.h"
#include "client/cpp/errors.h"
#include "tests/fault/fault_fixture.h"

namespace mercer::server {
namespace {

// What has changed; empty when nothing has.
std::string Difference(const google::protobuf::Message& before,
                       const google::protobuf::Message& now) {
  google::protobuf::util::MessageDifferencer differencer;
  std::string report;
  differencer.ReportDifferencesToString(&report);
  differencer.Compare(before, now);
  return report;
}

// Hands the events after a number to `on_event` until it answers false.
template <typename OnEvent>
absl::Status Stream(Connection& connection, const std::string& job, int64_t after_sequence,
                    OnEvent on_event) {
  grpc::ClientContext context;
  v1::StreamProgressRequest request;
  request.set_job(job);
  request.set_after_sequence(after_sequence);
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

}  // namespace

Connection::Connection(const std::string& address)
    : client(OneTry(address)),
      training(v1::TrainingService::NewStub(client::MakeChannel(address))) {}

void Ledger::AddDataset(const std::string& request_id, const v1::Dataset& dataset) {
  const std::lock_guard lock(mutex_);
  const auto [found, added] = datasets_.emplace(request_id, dataset);
  EXPECT_EQ(Difference(found->second, dataset), "");
}

void Ledger::AddJob(const v1::TrainRequest& request, const v1::Job& job) {
  const std::lock_guard lock(mutex_);
  const auto [found, added] = jobs_by_request_.emplace(request.request_id(), job.name());
  EXPECT_EQ(found->second, job.name()) << "a second job for request " << request.request_id();
  if (added) {
    JobEntry& entry = jobs_[job.name()];
    entry.request_id = request.request_id();
    entry.created = job;
  }
}

bool Ledger::AddEvent(const std::string& job, const v1::ProgressEvent& event) {
  const std::lock_guard lock(mutex_);
  JobEntry& entry = jobs_[job];
  EXPECT_EQ(event.sequence(), static_cast<int64_t>(entry.events.size()) + 1) << job;
  entry.events.push_back(event.SerializeAsString());
  entry.resumptions += event.resumed().from_iteration() > 0 ? 1 : 0;
  const v1::JobState state = event.state_change().state();
  EXPECT_NE(state, v1::JOB_STATE_FAILED) << job << ": " << event.ShortDebugString();
  EXPECT_NE(state, v1::JOB_STATE_CANCELLED) << job << ": " << event.ShortDebugString();
  if (state == v1::JOB_STATE_SUCCEEDED) {
    entry.model = event.state_change().model();
    EXPECT_EQ(entry.model, absl::StrCat(entry.created.request().model(), "/versions/1")) << job;
  }
  return state < v1::JOB_STATE_SUCCEEDED;
}

absl::Status Ledger::Watch(Connection& connection, const std::string& job,
                           const std::function<void(const v1::ProgressEvent&)>& on_event) {
  int64_t heard = 0;
  {
    const std::lock_guard lock(mutex_);
    heard = static_cast<int64_t>(jobs_[job].events.size());
  }
  bool more = true;
  return Stream(connection, job, heard, [&](const v1::ProgressEvent& event) {
    EXPECT_TRUE(more) << "an event after the last: " << event.ShortDebugString();
    more = AddEvent(job, event);
    on_event(event);
    return true;
  });
}

void Ledger::CheckJob(Connection& connection, const std::string& name,
                      const JobEntry& entry) const {
  const absl::StatusOr<v1::Job> job = connection.client.GetJob(name);
  ASSERT_TRUE(job.ok()) << name << ": " << job.status();
  EXPECT_EQ(Difference(entry.created.request(), job->request()), "") << name;
  EXPECT_EQ(Difference(entry.created.create_time(), job->create_time()), "") << name;
  EXPECT_GE(job->last_sequence(), static_cast<int64_t>(entry.events.size())) << name;
  if (!entry.model.empty()) {
    EXPECT_EQ(job->state(), v1::JOB_STATE_SUCCEEDED) << name;
    EXPECT_EQ(job->model(), entry.model) << name;
    EXPECT_EQ(job->last_sequence(), static_cast<int64_t>(entry.events.size())) << name;
  }
  for (int i = 0; i + 1 < job->attempts_size(); ++i) {
    EXPECT_EQ(job->attempts(i).number(), i + 1) << name;
    EXPECT_EQ(job->attempts(i).end_reason(), "WORKER_LOST") << name;
  }
  if (entry.events.empty()) {
    return;
  }
  size_t replayed = 0;
  const absl::Status status =
      Stream(connection, name, 0, [&entry, &name, &replayed](const v1::ProgressEvent& event) {
        EXPECT_EQ(event.SerializeAsString(), entry.events[replayed])
            << name << ": event " << replayed + 1 << " is now " << event.ShortDebugString();
        return ++replayed < entry.events.size();
      });
  EXPECT_TRUE(status.ok()) << name << ": " << status;
  EXPECT_EQ(replayed, entry.events.size()) << name;
}

void Ledger::Check(Connection& connection) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [request_id, dataset] : datasets_) {
    const absl::StatusOr<v1::Dataset> now = connection.client.GetDataset(dataset.name());
    ASSERT_TRUE(now.ok()) << dataset.name() << ": " << now.status();
    EXPECT_EQ(Difference(dataset, *now), "");
  }
  for (const auto& [name, entry] : jobs_) {
    CheckJob(connection, name, entry);
    if (!entry.model.empty()) {
      ExportedDigest(connection.client, entry.model);
      const absl::StatusOr<v1::Model> model =
          connection.client.GetModel(entry.model, v1::MODEL_VIEW_FULL);
      ASSERT_TRUE(model.ok()) << entry.model << ": " << model.status();
      EXPECT_EQ(model->lineage().job(), name);
    }
  }
}

std::map<std::string, std::string> Ledger::ModelDigests(Connection& connection) const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> digests;
  for (const auto& [name, entry] : jobs_) {
    if (!entry.model.empty()) {
      digests[entry.request_id] = ExportedDigest(connection.client, entry.model);
    }
  }
  return digests;
}

int Ledger::CountResumptions() const {
  const std::lock_guard lock(mutex_);
  int count = 0;
  for (const auto& [name, entry] : jobs_) {
    count += entry.resumptions;
  }
  return count;
}

size_t Ledger::num_events() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& [name, entry] : jobs_) {
    count += entry.events.size();
  }
  return count;
}

}  // namespace mercer::server
