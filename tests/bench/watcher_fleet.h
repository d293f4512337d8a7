// Many watchers of a server, over few connections and without a thread each.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <grpcpp/grpcpp.h>

#include "mercer/v1/training_service.grpc.pb.h"

namespace mercer::server {

inline absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

// How late what, in milliseconds. Thread-safe.
class Lateness {
 public:
  void Add(absl::Time happened, absl::Time heard) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (happened >= since_) {
      milliseconds_.push_back(static_cast<float>(absl::ToDoubleMilliseconds(heard - happened)));
    }
  }
  // What happened before does not count.
  void Begin(absl::Time since) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    since_ = since;
  }
  std::vector<float> Take() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return std::exchange(milliseconds_, {});
  }

 private:
  absl::Mutex mutex_;
  absl::Time since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::vector<float> milliseconds_ ABSL_GUARDED_BY(mutex_);
};

// What all watchers share. Those that are to stall take one message and then none until `flowing`.
struct FleetShared {
  Lateness progress;
  Lateness states;
  std::atomic<int64_t> messages = 0;
  std::atomic<int64_t> gaps = 0;  // events that are missing or come twice
  std::atomic<int> started = 0;
  std::atomic<int> ended = 0;
  std::atomic<int> failed = 0;  // ended by something other than us
};

// One stream. Deletes nothing; OnDone is the last that is called.
template <typename Response>
class Watcher : public grpc::ClientReadReactor<Response> {
 public:
  Watcher(FleetShared& shared, bool stalls) : shared_(shared), stalls_(stalls) {}

  void Begin() {
    this->AddHold();  // StartRead comes from other threads than the reactions
    this->StartRead(&response_);
    this->StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      return;
    }
    ++shared_.messages;
    Hear(response_, absl::Now());
    if (!started_) {
      started_ = true;
      ++shared_.started;
    }
    {
      absl::MutexLock lock(&mutex_);
      if (stalls_) {
        waiting_ = true;
        return;
      }
    }
    this->StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    shared_.failed += status.error_code() == grpc::StatusCode::CANCELLED ? 0 : 1;
    ++shared_.ended;
  }
  // Reads from now on.
  void Flow() {
    bool read = false;
    {
      absl::MutexLock lock(&mutex_);
      stalls_ = false;
      read = std::exchange(waiting_, false);
    }
    if (read) {
      this->StartRead(&response_);
    }
  }
  void End() {
    context_.TryCancel();
    this->RemoveHold();
  }
  grpc::ClientContext& context() { return context_; }
  // Sequence number of the last event of the job; 0: it has heard none.
  virtual int64_t LastOf(const std::string& job) = 0;

 protected:
  virtual void Hear(const Response& response, absl::Time now) = 0;

  FleetShared& shared_;
  absl::Mutex mutex_;

 private:
  grpc::ClientContext context_;
  Response response_;
  bool started_ = false;  // of the reactions
  bool stalls_ ABSL_GUARDED_BY(mutex_);
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;  // the next StartRead is Flow's
};

class ProgressWatcher final : public Watcher<v1::StreamProgressResponse> {
 public:
  // Of what comes after an event.
  ProgressWatcher(FleetShared& shared, bool stalls, const std::string& job, int64_t after)
      : Watcher(shared, stalls), counts_late_(!stalls), last_(after) {
    request.set_job(job);
    request.set_after_sequence(after);
  }
  int64_t LastOf(const std::string& job) override {
    return job == request.job() ? last_.load() : 0;
  }

  v1::StreamProgressRequest request;

 private:
  void Hear(const v1::StreamProgressResponse& response, absl::Time now) override {
    if (!response.has_event()) {
      return;
    }
    shared_.gaps += response.event().sequence() == last_ + 1 ? 0 : 1;
    last_ = response.event().sequence();
    if (counts_late_) {
      shared_.progress.Add(TimeOf(response.event().time()), now);
    }
  }

  const bool counts_late_;
  std::atomic<int64_t> last_;
};

class JobsWatcher final : public Watcher<v1::WatchJobsResponse> {
 public:
  // Of those that wait or run.
  JobsWatcher(FleetShared& shared, bool stalls) : Watcher(shared, stalls), counts_late_(!stalls) {
    request.add_states(v1::JOB_STATE_QUEUED);
    request.add_states(v1::JOB_STATE_RUNNING);
  }
  int64_t LastOf(const std::string& job) override {
    absl::MutexLock lock(&mutex_);
    const auto found = last_.find(job);
    return found == last_.end() ? 0 : found->second;
  }

  v1::WatchJobsRequest request;

 private:
  void Hear(const v1::WatchJobsResponse& response, absl::Time now) override {
    if (!response.has_job()) {
      return;
    }
    const v1::Job& job = response.job();
    bool is_new = false;
    {
      absl::MutexLock lock(&mutex_);
      int64_t& last = last_[job.name()];
      is_new = last == 0;
      last =
          std::max(last, job.last_sequence());  // a change may come behind a page that shows more
    }
    if (counts_late_ && is_new && !response.existing() && !response.left()) {
      shared_.states.Add(TimeOf(job.create_time()), now);
    }
  }

  const bool counts_late_;
  std::map<std::string, int64_t> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer::server
