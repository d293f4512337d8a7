// What a server has said about its jobs, over all its lives, and the check that it still says so, byte by byte.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "tests/fault/connection.h"

namespace mercer::server {

using Random = std::mt19937_64;
// A number in [0, count).
size_t Draw(Random& random, size_t count);

// What has changed; empty when nothing has.
std::string Difference(const google::protobuf::Message& before,
                       const google::protobuf::Message& now);

// What may become of a job.
struct Prospects {
  bool may_succeed = true;
  bool may_be_cancelled = false;
  bool may_be_stopped = false;  // and be CANCELLED for want of a model
  bool stop_requested = false;  // the server has said so, and has to say so for ever
  bool same_bits = true;        // its model is that of an uninterrupted run
};

struct KnownJob {
  v1::Job created;
  std::string combination;  // of content and recipe: decides the model
  Prospects prospects;
  std::vector<std::string> events;  // serialised; event i has sequence i + 1
  v1::JobState final_state = v1::JOB_STATE_UNSPECIFIED;
  std::string model;         // SUCCEEDED: name of the version
  bool watched_now = false;  // by one thread, so that the events come in order

  bool is_final() const { return final_state != v1::JOB_STATE_UNSPECIFIED; }
};

// Thread-safe. Methods that ask a server return its status when it is lost on the way; what it says wrongly fails the
// test.
class Ledger {
 public:
  // What the server answered to a training; the same answer is expected to the same `operation`.
  void Add(const std::string& operation, const std::string& combination, const v1::Job& job);
  void Change(const std::string& job, const std::function<void(Prospects&)>& change);
  KnownJob Get(const std::string& job) const;
  std::vector<std::string> Names() const;
  size_t CountUnfinished(const std::set<std::string>& jobs) const;

  // Hears a job that nobody else hears now from the last event heard on, until its end or `may_go_on` says no. OK also
  // when there is no such job.
  absl::Status WatchSome(Connection& connection, Random& random,
                         const std::function<bool(const v1::ProgressEvent&)>& may_go_on);
  // Hears the job to its end.
  absl::Status Await(Connection& connection, const std::string& job);
  // Expects that all that is known of the job is still true.
  absl::Status Check(Connection& connection, const std::string& job);

  // Events that told of a continuation from a checkpoint.
  int num_resumptions() const;
  size_t num_events() const;

 private:
  // False when it was the last event.
  bool AddEvent(const std::string& job, const v1::ProgressEvent& event);
  absl::Status Watch(Connection& connection, const std::string& job,
                     const std::function<bool(const v1::ProgressEvent&)>& may_go_on);
  // Marks an unfinished job that nobody watches; empty when there is none.
  std::string TakeUnwatched(Random& random);

  mutable std::mutex mutex_;
  std::map<std::string, std::string> jobs_by_operation_;
  std::map<std::string, KnownJob> jobs_;  // by name
  int num_resumptions_ = 0;
};

}  // namespace mercer::server
