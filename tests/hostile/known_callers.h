// Those who have a token and go about their business, while somebody else attacks.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include <grpcpp/grpcpp.h>

#include "mercer/v1/training_service.grpc.pb.h"
#include "tests/hostile/hostile_server.h"

namespace mercer::server {

class KnownCallers {
 public:
  struct Figures {
    // Of each call that was answered, by what it is: "GetJob", "Predict", "Train",
    // "StreamProgress", and "health", which asks for no token.
    std::map<std::string, std::vector<double>> milliseconds;
    std::vector<std::string> failures;
  };
  // The value that 99 of 100 do not exceed; of fewer than 100 the greatest, of none 0.
  static double Percentile99(std::vector<double> values);

  // Uploads a data set, trains a model, and begins to call, each kind on a connection of its own.
  // `server` outlives it.
  explicit KnownCallers(const HostileServer& server);
  ~KnownCallers();
  KnownCallers(const KnownCallers&) = delete;
  KnownCallers& operator=(const KnownCallers&) = delete;

  // Whether a call of each kind is answered, since the last time or within `patience`.
  bool WaitForEachKind(absl::Duration patience) ABSL_LOCKS_EXCLUDED(mutex_);
  // Since the last time.
  Figures Take() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same when the calls that run have ended; no others begin.
  Figures Finish() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using CallOnce = std::function<grpc::Status(const std::shared_ptr<grpc::Channel>&)>;

  // Calls again and again, with a pause in between. The time of `rest`, which may be empty, does
  // not count.
  void Start(const std::string& kind, CallOnce call, CallOnce rest = nullptr);
  void Note(const std::string& kind, const grpc::Status& status, double milliseconds)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::unique_ptr<grpc::ClientContext> NewContext() const;
  void Prepare();
  v1::TrainRequest Training() const;
  grpc::Status FollowToEnd(const std::shared_ptr<grpc::Channel>& channel,
                           const std::string& job) const;

  const HostileServer& server_;
  std::string finished_job_;
  std::string model_;
  std::string followed_job_;  // of the thread that trains
  std::atomic<bool> over_ = false;
  absl::Mutex mutex_;
  Figures figures_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace mercer::server
