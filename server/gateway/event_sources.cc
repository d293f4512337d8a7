#include "server/gateway/event_sources.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

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

struct WrittenEvent {
  std::string text;
  std::optional<int64_t> sequence;  // where the RPC is with it; of a comment none
};

// Writes the answers of one RPC as events.
class EventWriter {
 public:
  virtual ~EventWriter() = default;
  // The event that an answer becomes, whole.
  virtual absl::StatusOr<WrittenEvent> Write(grpc::ByteBuffer answer) = 0;
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

  absl::StatusOr<WrittenEvent> Write(grpc::ByteBuffer answer) override {
    v1::StreamProgressResponse response;
    MERCER_RETURN_IF_ERROR(FromBytes(std::move(answer), response));
    if (!response.has_event()) {
      return WrittenEvent{kHeartbeat, std::nullopt};
    }
    MERCER_ASSIGN_OR_RETURN(const std::string event, WriteJson(response.event()));
    return WrittenEvent{
        EventText("progress", named_ ? absl::StrCat("{", job_, ",\"event\":", event, "}") : event),
        response.event().sequence()};
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
  absl::StatusOr<WrittenEvent> Write(grpc::ByteBuffer answer) override {
    v1::WatchJobsResponse response;
    MERCER_RETURN_IF_ERROR(FromBytes(std::move(answer), response));
    if (response.has_heartbeat()) {
      return WrittenEvent{kHeartbeat, std::nullopt};
    }
    MERCER_ASSIGN_OR_RETURN(const std::string json, WriteJson(response));
    return WrittenEvent{EventText(response.existing_sent() ? "existing" : "job", json),
                        response.sequence()};
  }

  std::string WriteEnd(const google::rpc::Status* error) override {
    return error != nullptr ? ErrorEvent(*error, "") : "";
  }
};

// One RPC that feeds a stream; kept by the RPC until its end.
class EventSource final : public std::enable_shared_from_this<EventSource> {
 public:
  // `place`: its own among the sources of the stream.
  EventSource(std::shared_ptr<EventStream> stream, size_t place,
              std::unique_ptr<EventWriter> writer)
      : stream_(std::move(stream)), place_(place), writer_(std::move(writer)) {}

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
    const absl::StatusOr<WrittenEvent> event =
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
    stream_->Push(place_, event->sequence, event->text);
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
  const size_t place_;
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
  violations.Check(filter.empty() || page.jobs, "jobs", "must be 1 for filters of jobs to count");
  violations.Check(page.jobs || !page.progress.empty(), "jobs",
                   "must be 1, or a job must be named");
  violations.Check(page.progress.size() <= kMaxJobsOfPage, "job",
                   absl::StrCat("must come at most ", kMaxJobsOfPage, " times"));
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return page;
}

// A client that connects again asks for the same target, and says in the header Last-Event-ID how far each source got.
// `positions` are what the target says.
absl::Status ReadLastEventId(const RequestHead& head, std::vector<int64_t>& positions) {
  const std::string_view last = head.Find("last-event-id");
  if (last.empty()) {
    return absl::OkStatus();
  }
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::string_view(last.data(), last.size()), ',');
  bool good = parts.size() == positions.size();
  for (size_t i = 0; good && i < parts.size(); ++i) {
    good = absl::SimpleAtoi(parts[i], &positions[i]);
  }
  FieldViolations violations;
  violations.Check(good, "Last-Event-ID", "must be the id of an event of this stream");
  return violations.ToStatus();
}

// What the target of a job's stream asks for, which has one source.
absl::StatusOr<PageRequest> ParseJobRequest(const RouteMatch& match, const RequestHead& head) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<google::protobuf::Message> message,
                          MakeRequestMessage(match, head, ""));
  PageRequest page;
  page.progress.emplace_back().CopyFrom(*message);
  return page;
}

// `named`: events say which job they are about.
std::shared_ptr<EventStream> Stream(GatewayContext& context, std::shared_ptr<Exchange> exchange,
                                    absl::StatusOr<PageRequest> page, bool named) {
  std::vector<int64_t> positions;
  if (page.ok()) {
    if (page->jobs) {
      positions.push_back(page->watch.after_sequence());
    }
    for (const v1::StreamProgressRequest& request : page->progress) {
      positions.push_back(request.after_sequence());
    }
    if (const absl::Status resumed = ReadLastEventId(exchange->head(), positions); !resumed.ok()) {
      page = resumed;
    }
  }
  if (!page.ok()) {
    exchange->Send(ErrorAnswer(page.status()));
    return nullptr;
  }
  std::optional<server::Budget::Share> place = TakePlace(context, *exchange);
  if (!place.has_value()) {
    return nullptr;
  }
  const CallOrigin origin = CallOrigin::Of(*exchange);
  auto stream = std::make_shared<EventStream>(std::move(exchange), *std::move(place), positions);
  size_t source = 0;
  if (page->jobs) {
    page->watch.set_after_sequence(positions[source]);
    std::make_shared<EventSource>(stream, source++, std::make_unique<JobsWriter>())
        ->Start(context, "TrainingService/WatchJobs", origin, page->watch);
  }
  for (v1::StreamProgressRequest& request : page->progress) {
    request.set_after_sequence(positions[source]);
    std::make_shared<EventSource>(stream, source++,
                                  std::make_unique<ProgressWriter>(request.job(), named))
        ->Start(context, "TrainingService/StreamProgress", origin, request);
  }
  stream->WatchClient();
  return stream;
}

}  // namespace

std::shared_ptr<EventStream> StreamJob(GatewayContext& context, std::shared_ptr<Exchange> exchange,
                                       const RouteMatch& match) {
  absl::StatusOr<PageRequest> page = ParseJobRequest(match, exchange->head());
  return Stream(context, std::move(exchange), std::move(page), /*named=*/false);
}

std::shared_ptr<EventStream> StreamPage(GatewayContext& context,
                                        std::shared_ptr<Exchange> exchange) {
  absl::StatusOr<PageRequest> page = ParsePageRequest(exchange->head());
  return Stream(context, std::move(exchange), std::move(page), /*named=*/true);
}

}  // namespace mercer::gateway
