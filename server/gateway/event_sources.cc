#include "server/gateway/event_sources.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "mercer/v1/training_service.pb.h"
#include "server/gateway/http/error_answer.h"
#include "server/gateway/http/url.h"
#include "server/gateway/message_json.h"
#include "server/gateway/request_binding.h"
#include "server/gateway/rpc_messages.h"

namespace mercer::gateway {
namespace {

constexpr char kHeartbeat[] = ": heartbeat\n\n";
constexpr size_t kMaxJobsOfPage = 100;

// Writes the answers of one RPC as events.
class EventWriter {
 public:
  virtual ~EventWriter() = default;
  // The event that an answer becomes, whole.
  virtual absl::StatusOr<std::string> Write(grpc::ByteBuffer answer) = 0;
  // The last event; `error` null: all went well.
  virtual std::string WriteEnd(const google::rpc::Status* error) = 0;
};

std::string QuotedJob(const std::string& job) {
  v1::StreamProgressRequest carrier;
  carrier.set_job(job);
  const absl::StatusOr<std::string> text = WriteJson(carrier);  // {"job":"jobs/a"}
  return text.ok() ? text->substr(1, text->size() - 2) : "\"job\":\"\"";
}

std::string ErrorEvent(const google::rpc::Status& error, const std::string& before) {
  return EventText("error", absl::StrCat("{", before, before.empty() ? "" : ",", "\"error\":",
                                         ErrorJson(error, HttpStatusOf(error.code())), "}"));
}

class ProgressWriter final : public EventWriter {
 public:
  // `named`: each event says which job it is about.
  ProgressWriter(const std::string& job, bool named)
      : named_(named), job_(named ? QuotedJob(job) : "") {}

  absl::StatusOr<std::string> Write(grpc::ByteBuffer answer) override {
    v1::StreamProgressResponse response;
    MERCER_RETURN_IF_ERROR(FromBytes(std::move(answer), response));
    if (!response.has_event()) {
      return std::string(kHeartbeat);
    }
    MERCER_ASSIGN_OR_RETURN(const std::string event, WriteJson(response.event()));
    const std::string id = absl::StrCat(response.event().sequence());
    return named_ ? EventText("progress", absl::StrCat("{", job_, ",\"event\":", event, "}"))
                  : EventText("progress", event, id);
  }

  std::string WriteEnd(const google::rpc::Status* error) override {
    return error != nullptr ? ErrorEvent(*error, job_)
                            : EventText("end", absl::StrCat("{", job_, "}"));
  }

 private:
  const bool named_;
  const std::string job_;  // a member of an object; empty: none
};

class JobsWriter final : public EventWriter {
 public:
  absl::StatusOr<std::string> Write(grpc::ByteBuffer answer) override {
    v1::WatchJobsResponse response;
    MERCER_RETURN_IF_ERROR(FromBytes(std::move(answer), response));
    if (response.existing_sent()) {
      return EventText("existing", "{}");
    }
    if (!response.has_job()) {
      return std::string(kHeartbeat);
    }
    MERCER_ASSIGN_OR_RETURN(const std::string job, WriteJson(response));
    return EventText("job", job);
  }

  std::string WriteEnd(const google::rpc::Status* error) override {
    return error != nullptr ? ErrorEvent(*error, "") : "";
  }
};

// One RPC that feeds a stream; kept by the RPC until its end.
class EventSource final : public std::enable_shared_from_this<EventSource> {
 public:
  EventSource(std::shared_ptr<EventStream> stream, std::unique_ptr<EventWriter> writer)
      : stream_(std::move(stream)), writer_(std::move(writer)) {}

  void Start(GatewayContext& context, std::string_view method, const CallOrigin& origin,
             const google::protobuf::Message& request) {
    RpcStream::Events events;
    events.on_read = [self = shared_from_this()](grpc::ByteBuffer* answer) { self->Take(answer); };
    events.on_done = [self = shared_from_this()](const grpc::Status& status) { self->End(status); };
    const auto rpc = RpcStream::Start(context.channel, method, origin, std::move(events));
    rpc_ = rpc;
    stream_->Follow(rpc);
    rpc->Write(ToBytes(request), /*last=*/true);
    rpc->Read();
  }

 private:
  void Take(grpc::ByteBuffer* answer) {
    if (answer == nullptr) {
      return;  // the end follows
    }
    absl::StatusOr<std::string> event =
        RunSafely("an event of HTTP", [&] { return writer_->Write(std::move(*answer)); });
    const auto rpc = rpc_.lock();
    if (rpc == nullptr) {
      return;
    }
    if (!event.ok()) {
      failure_ = event.status();
      rpc->Cancel();
      return;
    }
    stream_->Push(*std::move(event));
    stream_->WhenRoom([weak = rpc_] {
      if (const auto running = weak.lock(); running != nullptr) {
        running->Read();
      }
    });
  }

  void End(const grpc::Status& status) {
    if (status.ok()) {
      stream_->EndSource(writer_->WriteEnd(nullptr), nullptr);
      return;
    }
    const google::rpc::Status error = failure_.ok() ? DetailsOf(status) : DetailsOf(OurFailure());
    stream_->EndSource(writer_->WriteEnd(&error), &error);
  }

  static grpc::Status OurFailure() { return {grpc::StatusCode::INTERNAL, ""}; }

  const std::shared_ptr<EventStream> stream_;
  const std::unique_ptr<EventWriter> writer_;
  std::weak_ptr<RpcStream> rpc_;
  absl::Status failure_;  // of the callbacks, which come one after the other
};

std::optional<server::Budget::Share> TakePlace(GatewayContext& context, Exchange& exchange) {
  std::optional<server::Budget::Share> place =
      context.event_streams.TryToTake(1, context.max_event_streams);
  if (!place.has_value()) {
    Answer answer = ErrorAnswer(
        WithReason(absl::UnavailableError("too many event streams are open; try again soon"),
                   "TOO_MANY_EVENT_STREAMS"));
    answer.close = true;
    exchange.Send(std::move(answer));
  }
  return place;
}

// What a page asks for.
struct PageRequest {
  bool jobs = false;
  v1::WatchJobsRequest watch;
  std::vector<v1::StreamProgressRequest> progress;
};

// "jobs/a:12", or "jobs/a" for all of its events.
v1::StreamProgressRequest ParseFollowedJob(const std::string& text, FieldViolations& violations) {
  v1::StreamProgressRequest request;
  const size_t colon = text.rfind(':');
  request.set_job(text.substr(0, colon));
  int64_t after = 0;
  if (colon != std::string::npos && !absl::SimpleAtoi(text.substr(colon + 1), &after)) {
    violations.Add("job", "must be NAME or NAME:NUMBER, as in jobs/a:12");
  }
  request.set_after_sequence(after);
  return request;
}

// A job that is named twice costs one call, and is told of from the earlier of the two places.
void FollowOnce(v1::StreamProgressRequest request,
                std::vector<v1::StreamProgressRequest>& progress) {
  const auto known = std::find_if(progress.begin(), progress.end(),
                                  [&](const auto& one) { return one.job() == request.job(); });
  if (known == progress.end()) {
    progress.push_back(std::move(request));
  } else {
    known->set_after_sequence(std::min(known->after_sequence(), request.after_sequence()));
  }
}

absl::StatusOr<PageRequest> ParsePageRequest(const RequestHead& head) {
  const std::optional<Parameters> parameters = ParseQuery(QueryOf(head.target));
  if (!parameters.has_value()) {
    return WithReason(absl::InvalidArgumentError("the query is not coded as in URLs, in UTF-8"),
                      "BAD_QUERY");
  }
  PageRequest page;
  FieldViolations violations;
  Parameters filter;
  for (const auto& [name, value] : *parameters) {
    if (name == "jobs") {
      page.jobs = value == "1" || value == "true";
      violations.Check(page.jobs, "jobs", "must be 1, or left out");
    } else if (name == "job") {
      FollowOnce(ParseFollowedJob(value, violations), page.progress);
    } else {
      filter.emplace_back(name, value);
    }
  }
  BindParameters(filter, page.watch, violations);
  violations.Check(filter.empty() || page.jobs, "jobs", "must be 1 for states and labels to count");
  violations.Check(page.jobs || !page.progress.empty(), "jobs",
                   "must be 1, or a job must be named");
  violations.Check(page.progress.size() <= kMaxJobsOfPage, "job",
                   absl::StrCat("must come at most ", kMaxJobsOfPage, " times"));
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return page;
}

absl::StatusOr<v1::StreamProgressRequest> ParseJobRequest(const RouteMatch& match,
                                                          const RequestHead& head) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<google::protobuf::Message> message,
                          MakeRequestMessage(match, head, ""));
  v1::StreamProgressRequest request;
  request.CopyFrom(*message);
  // A client that connects again asks for the same path, and says in the header how far it got.
  if (const std::string_view last = head.Find("last-event-id"); !last.empty()) {
    int64_t after = 0;
    if (!absl::SimpleAtoi(absl::string_view(last.data(), last.size()), &after)) {
      FieldViolations violations;
      violations.Add("Last-Event-ID", "must be the id of an event");
      return violations.ToStatus();
    }
    request.set_after_sequence(after);
  }
  return request;
}

}  // namespace

std::shared_ptr<EventStream> StreamJob(GatewayContext& context, std::shared_ptr<Exchange> exchange,
                                       const RouteMatch& match) {
  const absl::StatusOr<v1::StreamProgressRequest> request =
      ParseJobRequest(match, exchange->head());
  if (!request.ok()) {
    exchange->Send(ErrorAnswer(request.status()));
    return nullptr;
  }
  std::optional<server::Budget::Share> place = TakePlace(context, *exchange);
  if (!place.has_value()) {
    return nullptr;
  }
  const CallOrigin origin = CallOrigin::Of(*exchange);
  auto stream = std::make_shared<EventStream>(std::move(exchange), *std::move(place), 1);
  std::make_shared<EventSource>(stream,
                                std::make_unique<ProgressWriter>(request->job(), /*named=*/false))
      ->Start(context, match.route->method, origin, *request);
  stream->WatchClient();
  return stream;
}

std::shared_ptr<EventStream> StreamPage(GatewayContext& context,
                                        std::shared_ptr<Exchange> exchange) {
  const absl::StatusOr<PageRequest> page = ParsePageRequest(exchange->head());
  if (!page.ok()) {
    exchange->Send(ErrorAnswer(page.status()));
    return nullptr;
  }
  std::optional<server::Budget::Share> place = TakePlace(context, *exchange);
  if (!place.has_value()) {
    return nullptr;
  }
  const CallOrigin origin = CallOrigin::Of(*exchange);
  const int num_sources = static_cast<int>(page->progress.size()) + (page->jobs ? 1 : 0);
  auto stream = std::make_shared<EventStream>(std::move(exchange), *std::move(place), num_sources);
  if (page->jobs) {
    std::make_shared<EventSource>(stream, std::make_unique<JobsWriter>())
        ->Start(context, "TrainingService/WatchJobs", origin, page->watch);
  }
  for (const v1::StreamProgressRequest& request : page->progress) {
    std::make_shared<EventSource>(stream,
                                  std::make_unique<ProgressWriter>(request.job(), /*named=*/true))
        ->Start(context, "TrainingService/StreamProgress", origin, request);
  }
  stream->WatchClient();
  return stream;
}

}  // namespace mercer::gateway
