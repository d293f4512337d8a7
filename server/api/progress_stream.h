// One watcher of one job over gRPC.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "mercer/v1/training_service.pb.h"
#include "server/api/api_context.h"
#include "server/api/watch_stream.h"

namespace mercer::server {

// An event from memory has the same bytes for every watcher. The hub ends the stream after the job's last events, in a drain too.
class ProgressStream final : public WatchStream<WatchedEvent> {
 public:
  ProgressStream(const RpcEnvironment& environment, const ApiContext& api, CallRecord call,
                 grpc::CallbackServerContext* context)
      : WatchStream(environment, std::move(call), context, request_), api_(api) {}

 private:
  absl::StatusOr<std::unique_ptr<ProgressSubscription>> Open(std::function<void()> wake) override;
  absl::StatusOr<grpc::ByteBuffer> Write(const NextEvent& next) override;
  // A terminal event tells the job's error and model.
  bool TakesLong(const WatchedEvent& event) const override { return event.record.is_terminal(); }
  grpc::ByteBuffer WriteHeartbeat(int64_t sequence) override;
  absl::Status EndOf(const absl::Status& status) const override;
  void EndForDrain() override {}

  const ApiContext& api_;
  v1::StreamProgressRequest request_;
  std::string job_id_;
};

}  // namespace mercer::server
