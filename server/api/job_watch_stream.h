// One watcher of the jobs over gRPC.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "mercer/v1/training_service.pb.h"
#include "server/api/api_context.h"
#include "server/api/watch_stream.h"

namespace mercer::server {

// A change has the same bytes for every watcher.
class JobWatchStream final : public WatchStream<WatchedJob> {
 public:
  JobWatchStream(const RpcEnvironment& environment, const ApiContext& api, CallRecord call,
                 grpc::CallbackServerContext* context)
      : WatchStream(environment, std::move(call), context, request_), api_(api) {}

 private:
  absl::StatusOr<std::unique_ptr<JobWatch>> Open(std::function<void()> wake) override;
  absl::StatusOr<grpc::ByteBuffer> Write(const NextJob& next) override;
  bool TakesLong(const WatchedJob& /*job*/) const override { return false; }
  grpc::ByteBuffer WriteHeartbeat(int64_t sequence) override;
  absl::Status EndOf(const absl::Status& status) const override { return status; }
  void EndForDrain() override { EndAsDrained(); }

  const ApiContext& api_;
  v1::WatchJobsRequest request_;
};

}  // namespace mercer::server
