// Watching jobs, over broken streams.
#include <grpcpp/client_context.h>

#include "client/cpp/call_guard.h"
#include "client/cpp/channel.h"
#include "client/cpp/client.h"
#include "client/cpp/errors.h"

namespace mercer::client {

absl::Status Client::WatchJob(const std::string& name, const WatchOptions& options) {
  Backoff backoff = NewBackoff(options_.watch_retry);
  int64_t last_sequence = options.after_sequence;
  while (true) {
    bool got_anything = false;
    const absl::Status status = TryWatch(name, options, last_sequence, got_anything);
    if (options.stop.stop_requested()) {
      return absl::CancelledError("no longer watched");
    }
    if (status.ok()) {
      return status;
    }
    if (got_anything) {
      backoff.Reset();
    }
    const std::optional<absl::Duration> delay = backoff.Next(status);
    if (!delay.has_value()) {
      return status;
    }
    if (options.on_interruption) {
      options.on_interruption(status, *delay);
    }
    options_.sleep(*delay, options.stop);
  }
}

absl::Status Client::WatchJobs(v1::WatchJobsRequest request, const WatchJobsOptions& options) {
  Backoff backoff = NewBackoff(options_.watch_retry);
  while (true) {
    bool got_anything = false;
    absl::Status status = TryWatchJobs(options, request, got_anything);
    if (options.stop.stop_requested()) {
      return absl::CancelledError("no longer watched");
    }
    if (status.ok()) {
      status = absl::UnavailableError("the server has ended the stream");
    }
    if (got_anything) {
      backoff.Reset();
    }
    const std::optional<absl::Duration> delay = backoff.Next(status);
    if (!delay.has_value()) {
      return status;
    }
    if (options.on_interruption) {
      options.on_interruption(status, *delay);
    }
    options_.sleep(*delay, options.stop);
  }
}

absl::Status Client::TryWatchJobs(const WatchJobsOptions& options, v1::WatchJobsRequest& request,
                                  bool& got_anything) {
  grpc::ClientContext context;
  const auto reader = stubs_->training->WatchJobs(&context, request);
  CallGuard guard(context, options_.stream_timeout, options.stop);
  v1::WatchJobsResponse response;
  while (guard.Run([&] { return reader->Read(&response); })) {
    got_anything = true;
    request.set_after_sequence(response.sequence());
    if (!response.has_heartbeat() && options.on_message) {
      options.on_message(response);
    }
  }
  const absl::Status status = guard.Explain(StatusOfCall(reader->Finish()));
  return guard.expired() ? absl::UnavailableError(status.message()) : status;
}

absl::Status Client::TryWatch(const std::string& name, const WatchOptions& options,
                              int64_t& last_sequence, bool& got_anything) {
  grpc::ClientContext context;
  v1::StreamProgressRequest request;
  request.set_job(name);
  request.set_after_sequence(last_sequence);
  const auto reader = stubs_->training->StreamProgress(&context, request);
  CallGuard guard(context, options_.stream_timeout, options.stop);
  v1::StreamProgressResponse response;
  while (guard.Run([&] { return reader->Read(&response); })) {
    got_anything = true;
    if (!response.has_event() || response.event().sequence() <= last_sequence) {
      continue;
    }
    last_sequence = response.event().sequence();
    if (options.on_event) {
      options.on_event(response.event());
    }
  }
  const absl::Status status = guard.Explain(StatusOfCall(reader->Finish()));
  // Without events and heartbeats for so long the connection is as good as broken.
  return guard.expired() ? absl::UnavailableError(status.message()) : status;
}

}  // namespace mercer::client
