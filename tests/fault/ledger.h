// What a server has acknowledged, and the check that it still says so, byte by byte.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "client/cpp/client.h"
#include "mercer/v1/training_service.grpc.pb.h"

namespace mercer::server {

// One connection to one life of a server.
struct Connection {
  explicit Connection(const std::string& address);

  client::Client client;
  std::unique_ptr<v1::TrainingService::Stub> training;
};

// Thread-safe.
class Ledger {
 public:
  // What the server answered to the upload or training with that request_id. Expects the same
  // answer as at the first time.
  void AddDataset(const std::string& request_id, const v1::Dataset& dataset);
  void AddJob(const v1::TrainRequest& request, const v1::Job& job);

  // Hears the job to its end, from the last event heard on. Expects each event once and in order.
  // Unavailable when the server died before.
  absl::Status Watch(Connection& connection, const std::string& job,
                     const std::function<void(const v1::ProgressEvent&)>& on_event);
  // Expects that all that was heard is still there.
  void Check(Connection& connection) const;

  // By request_id: the digest of the exported model of each job that has ended.
  std::map<std::string, std::string> ModelDigests(Connection& connection) const;
  // Events that told of a continuation from a checkpoint.
  int CountResumptions() const;
  size_t num_events() const;

 private:
  struct JobEntry {
    std::string request_id;
    v1::Job created;
    std::vector<std::string> events;  // serialised; event i has sequence i + 1
    std::string model;                // once the last event was heard
    int resumptions = 0;
  };

  // False after the event of a final state.
  bool AddEvent(const std::string& job, const v1::ProgressEvent& event);
  void CheckJob(Connection& connection, const std::string& name, const JobEntry& entry) const;

  mutable std::mutex mutex_;
  std::map<std::string, v1::Dataset> datasets_;         // by request_id
  std::map<std::string, std::string> jobs_by_request_;  // names of jobs by request_id
  std::map<std::string, JobEntry> jobs_;                // by name
};

}  // namespace mercer::server
