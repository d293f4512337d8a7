#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "mercer/v1/http_query.pb.h"
#include "mercer/v1/training_service.pb.h"
#include "server/gateway/calls.h"
#include "server/gateway/http/error_answer.h"
#include "server/gateway/http/url.h"
#include "server/gateway/message_json.h"
#include "server/gateway/rpc_messages.h"

namespace mercer::gateway {
namespace {

constexpr char kHeartbeat[] = ": heartbeat\n\n";
constexpr size_t kMaxJobsOfPage = 100;
// Of a written event that is kept, beside its texts.
constexpr size_t kBytesBesides = 256;

// Text of one event without its id; `data` has no line breaks.
std::string EventText(const char* name, std::string_view data) {
  return absl::StrCat("event: ", name, "\ndata: ", View(data), "\n\n");
}

// One RPC that feeds a stream with its answers as events.
class EventSource : public RpcCall {
 public:
  // `place`: its own among the sources of the stream.
  EventSource(GatewayContext& context, std::shared_ptr<Exchange> exchange,
              std::shared_ptr<EventStream> stream, size_t place)
      : RpcCall(context.channel, std::move(exchange)),
        written_(context.written_events),
        stream_(std::move(stream)),
        place_(place) {}

  void Start(std::string_view method, const google::protobuf::Message& request) {
    method_ = method;
    Begin(method);
    stream_->Follow(shared_from_this());
    Write(ToBytes(request), /*last=*/true);
    Read();
  }

 protected:
  virtual absl::StatusOr<WrittenEvent> WriteEvent(grpc::ByteBuffer answer) const = 0;
  // The event as this stream tells it.
  virtual std::string TextOf(const WrittenEvent& event) const {
    return EventText(event.name, event.data);
  }
  // The last event when all went well.
  virtual std::string WriteEnd() const { return ""; }

  std::string job_;  // that each event is about, a member of an object; empty: none

 private:
  void OnAnswer(grpc::ByteBuffer answer) override {
    std::shared_ptr<const WrittenEvent> event;
    const absl::StatusOr<std::string> text =
        RunSafely("an event of HTTP", [&]() -> absl::StatusOr<std::string> {
          MERCER_ASSIGN_OR_RETURN(event, Written(std::move(answer)));
          return event->name == nullptr ? kHeartbeat : TextOf(*event);
        });
    if (!text.ok()) {
      failed_ = true;
      Cancel();
      return;
    }
    stream_->Push(place_, event->sequence, *text);
    stream_->WhenRoom([self = shared_from_this(), this] { Read(); });
  }

  // All who watch the same are told the same bytes, within moments: their JSON is written for the first of them.
  absl::StatusOr<std::shared_ptr<const WrittenEvent>> Written(grpc::ByteBuffer answer) {
    std::vector<grpc::Slice> slices;
    if (!answer.Dump(&slices).ok()) {
      return absl::InternalError("an answer of the server cannot be read");
    }
    std::string key = method_;
    for (const grpc::Slice& slice : slices) {
      key.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    std::shared_ptr<const WrittenEvent> known = written_.Find(key);
    if (known == nullptr) {
      MERCER_ASSIGN_OR_RETURN(WrittenEvent event, WriteEvent(std::move(answer)));
      event.data.shrink_to_fit();
      const size_t bytes = kBytesBesides + key.capacity() + event.data.size();
      known = std::make_shared<const WrittenEvent>(std::move(event));
      if (known->name != nullptr) {
        written_.Put(std::move(key), known, static_cast<int64_t>(bytes));
      }
    }
    return known;
  }

  void OnEnd(const grpc::Status& status) override {
    if (status.ok()) {
      stream_->EndSource(WriteEnd(), nullptr);
      return;
    }
    const google::rpc::Status error =
        DetailsOf(failed_ ? grpc::Status(grpc::StatusCode::INTERNAL, "") : status);
    const std::string data =
        absl::StrCat("{", job_, job_.empty() ? "" : ",",
                     "\"error\":", ErrorJson(error, HttpStatusOf(error.code())), "}");
    stream_->EndSource(EventText("error", data), &error);
  }

  WrittenEvents& written_;
  const std::shared_ptr<EventStream> stream_;
  const size_t place_;
  std::string method_;
  bool failed_ = false;
};

class ProgressSource final : public EventSource {
 public:
  using EventSource::EventSource;

  // From now on each event says which job it is about.
  void Name(const std::string& job) { job_ = absl::StrCat("\"job\":", JsonText(job)); }

 private:
  absl::StatusOr<WrittenEvent> WriteEvent(grpc::ByteBuffer answer) const override {
    v1::StreamProgressResponse response;
    MERCER_RETURN_IF_ERROR(FromBytes(std::move(answer), response));
    if (!response.has_event()) {
      return WrittenEvent();
    }
    MERCER_ASSIGN_OR_RETURN(std::string json, WriteJson(response.event()));
    return WrittenEvent{"progress", std::move(json), response.event().sequence()};
  }

  std::string TextOf(const WrittenEvent& event) const override {
    return job_.empty()
               ? EventSource::TextOf(event)
               : EventText(event.name, absl::StrCat("{", job_, ",\"event\":", event.data, "}"));
  }

  std::string WriteEnd() const override { return EventText("end", absl::StrCat("{", job_, "}")); }
};

class JobsSource final : public EventSource {
 public:
  using EventSource::EventSource;

 private:
  absl::StatusOr<WrittenEvent> WriteEvent(grpc::ByteBuffer answer) const override {
    v1::WatchJobsResponse response;
    MERCER_RETURN_IF_ERROR(FromBytes(std::move(answer), response));
    if (response.has_heartbeat()) {
      return WrittenEvent();
    }
    MERCER_ASSIGN_OR_RETURN(std::string json, WriteJson(response));
    return WrittenEvent{response.existing_sent() ? "existing" : "job", std::move(json),
                        response.sequence()};
  }
};

constexpr std::string_view kWatchJobs = "TrainingService/WatchJobs";
constexpr std::string_view kStreamProgress = "TrainingService/StreamProgress";

// What a stream is asked to tell of.
struct EventsRequest {
  std::optional<v1::WatchJobsRequest> watch;
  std::vector<v1::StreamProgressRequest> progress;
  bool named = true;  // events say which job they are about
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

// The progress of the job that the path names.
absl::StatusOr<EventsRequest> ParseJob(const RouteMatch& match, const RequestHead& head) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<google::protobuf::Message> message,
                          MakeRequestMessage(match, head, ""));
  EventsRequest events;
  events.named = false;
  events.progress.emplace_back().CopyFrom(*message);
  return events;
}

// All that a page shows.
absl::StatusOr<EventsRequest> ParsePage(const RequestHead& head) {
  MERCER_ASSIGN_OR_RETURN(const Parameters parameters, ParseQuery(QueryOf(head.target)));
  EventsRequest events;
  FieldViolations violations;
  v1::WatchJobsQuery query;
  v1::WatchJobsRequest watch;
  const Parameters filter = BindKnown(parameters, query, violations);
  BindParameters(filter, watch, violations);
  for (const std::string& job : query.job()) {
    FollowOnce(ParseFollowedJob(job, violations), events.progress);
  }
  const bool watches = query.jobs() == "1" || query.jobs() == "true";
  violations.Check(watches || query.jobs().empty(), "jobs", "must be 1, or left out");
  violations.Check(watches || filter.empty(), "jobs", "must be 1 for filters of jobs to count");
  violations.Check(watches || !events.progress.empty(), "jobs",
                   "must be 1, or a job must be named");
  violations.Check(events.progress.size() <= kMaxJobsOfPage, "job",
                   absl::StrCat("must come at most ", kMaxJobsOfPage, " times"));
  if (watches) {
    events.watch = std::move(watch);
  }
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return events;
}

// A client that connects again asks for the same target, and says in the header Last-Event-ID how far each source got.
// `positions` are what the target says.
absl::Status ReadLastEventId(const RequestHead& head, std::vector<int64_t>& positions) {
  const std::string_view last = head.Find("last-event-id");
  if (last.empty()) {
    return absl::OkStatus();
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(View(last), ',');
  bool good = parts.size() == positions.size();
  for (size_t i = 0; good && i < parts.size(); ++i) {
    good = absl::SimpleAtoi(parts[i], &positions[i]);
  }
  FieldViolations violations;
  violations.Check(good, "Last-Event-ID", "must be the id of an event of this stream");
  return violations.ToStatus();
}

absl::StatusOr<std::shared_ptr<EventStream>> Stream(GatewayContext& context,
                                                    const std::shared_ptr<Exchange>& exchange,
                                                    const RouteMatch& match) {
  const RequestHead& head = exchange->head();
  MERCER_ASSIGN_OR_RETURN(EventsRequest events, match.route->method == kWatchJobs
                                                    ? ParsePage(head)
                                                    : ParseJob(match, head));
  std::vector<int64_t> positions;
  if (events.watch.has_value()) {
    positions.push_back(events.watch->after_sequence());
  }
  for (const v1::StreamProgressRequest& request : events.progress) {
    positions.push_back(request.after_sequence());
  }
  MERCER_RETURN_IF_ERROR(ReadLastEventId(head, positions));
  std::optional<server::Budget::Share> place =
      context.event_streams.TryToTake(1, context.options.max_event_streams);
  if (!place.has_value()) {
    return WithReason(absl::UnavailableError("too many event streams are open; try again soon"),
                      "TOO_MANY_EVENT_STREAMS");
  }
  auto stream = std::make_shared<EventStream>(exchange, *std::move(place), positions);
  size_t source = 0;
  if (events.watch.has_value()) {
    events.watch->set_after_sequence(positions[source]);
    std::make_shared<JobsSource>(context, exchange, stream, source++)
        ->Start(kWatchJobs, *events.watch);
  }
  for (v1::StreamProgressRequest& request : events.progress) {
    request.set_after_sequence(positions[source]);
    const auto progress = std::make_shared<ProgressSource>(context, exchange, stream, source++);
    if (events.named) {
      progress->Name(request.job());
    }
    progress->Start(kStreamProgress, request);
  }
  stream->WatchClient();
  return stream;
}

}  // namespace

std::shared_ptr<EventStream> StreamEvents(GatewayContext& context,
                                          std::shared_ptr<Exchange> exchange,
                                          const RouteMatch& match) {
  absl::StatusOr<std::shared_ptr<EventStream>> stream = Stream(context, exchange, match);
  if (!stream.ok()) {
    exchange->Send(ErrorAnswer(stream.status(), 0, absl::IsUnavailable(stream.status())));
    return nullptr;
  }
  return *std::move(stream);
}

}  // namespace mercer::gateway
