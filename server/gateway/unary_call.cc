#include <algorithm>
#include <string>
#include <utility>

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/gateway/calls.h"
#include "server/gateway/http/error_answer.h"
#include "server/gateway/message_json.h"
#include "server/gateway/prediction_forms.h"
#include "server/gateway/rpc_messages.h"
#include "server/rpc/method_rules.h"
#include "server/rpc/parsed_bytes.h"
#include "server/rpc/request_intake.h"

namespace mercer::gateway {
namespace {

// JSON up to so many bytes is read and written where it comes; more would keep that thread from others.
constexpr size_t kQuickBytes = 16 * 1024;
// JSON is longer than the bytes of its message.
constexpr int64_t kJsonPerByte = 4;

// A body that does not say what it is, is taken for JSON.
absl::Status CheckBodyType(const RouteMatch& match, const RequestHead& head) {
  const std::string type = head.MediaType();
  if (type.empty() || type == "application/json" || TakesCsv(match, head) ||
      head.content_length == uint64_t{0}) {
    return absl::OkStatus();
  }
  return WithReason(absl::InvalidArgumentError("the body must be application/json"), "NOT_JSON");
}

class UnaryCall final : public std::enable_shared_from_this<UnaryCall> {
 public:
  UnaryCall(GatewayContext& context, std::shared_ptr<Exchange> exchange, RouteMatch match)
      : context_(context),
        exchange_(std::move(exchange)),
        match_(std::move(match)),
        share_(std::make_shared<BodyShare>(context.bodies, context.options.all_body_bytes)),
        request_bytes_(server::FindMethodRule(match_.route->method)->request_bytes) {}

  void Start() {
    if (const absl::Status status = CheckBodyType(match_, exchange_->head()); !status.ok()) {
      exchange_->Send(ErrorAnswer(status, 415));
      return;
    }
    ReadBody(exchange_, static_cast<size_t>(MaxBodyBytes()), *share_,
             [self = shared_from_this(), this](absl::StatusOr<std::string> body) {
               TakeBody(std::move(body));
             });
  }

 private:
  int64_t MaxBodyBytes() const {
    return request_bytes_ > 0
               ? std::min(kJsonPerByte * request_bytes_, context_.options.max_body_bytes)
               : context_.options.max_body_bytes;
  }

  // A body may become far more than it is.
  absl::Status CheckWire(const google::protobuf::Message& type, const std::string& wire) {
    const auto size = static_cast<int64_t>(wire.size());
    if (request_bytes_ > 0 && size > request_bytes_) {
      return server::RequestTooLarge("has", size, request_bytes_);
    }
    google::protobuf::io::ArrayInputStream bytes(wire.data(), static_cast<int>(wire.size()));
    return share_->Grow(static_cast<size_t>(server::ParsedBytes(type, bytes)));
  }

  void TakeBody(absl::StatusOr<std::string> body) {
    if (!body.ok()) {
      exchange_->Send(BodyErrorAnswer(body.status()));
      return;
    }
    const size_t bytes = body->size();
    Run(bytes, [this, text = *std::move(body)] { Call(text); });
  }

  absl::StatusOr<RequestInForm> MakeRequest(const std::string& body) {
    return MakeRequestInForm(
        match_, exchange_->head(), body,
        [this](const auto& type, const std::string& wire) { return CheckWire(type, wire); },
        [this](size_t bytes) { return share_->Grow(bytes); });
  }

  void Call(const std::string& body) {
    const absl::Status status = RunSafely("a request of HTTP", [&]() -> absl::Status {
      const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
      MERCER_ASSIGN_OR_RETURN(const RequestInForm request, MakeRequest(body));
      form_ = request.form;
      Begin(ToBytes(*request.message));
      return absl::OkStatus();
    });
    if (!status.ok()) {
      exchange_->Send(ErrorAnswer(status));
    }
  }

  void Begin(grpc::ByteBuffer request) {
    RpcChannel& channel = context_.channel;
    TakeOver(channel, *exchange_, rpc_);
    request_ = std::move(request);
    channel.stub.UnaryCall(&rpc_, FullMethod(match_.route->method), grpc::StubOptions(), &request_,
                           &answer_,
                           [running = channel.running.Begin(),
                            self = shared_from_this()](const grpc::Status& status) mutable {
                             const auto counted = std::move(running);  // goes last
                             const auto held = std::move(self);
                             held->OnEnd(status);
                           });
    exchange_->OnGone([weak = weak_from_this()] {
      if (const auto running = weak.lock(); running != nullptr) {
        running->rpc_.TryCancel();
      }
    });
  }

  void OnEnd(const grpc::Status& status) {
    request_.Clear();
    if (status.ok()) {
      Run(answer_.Length(), [this] { Send(); });
    } else {
      exchange_->Send(ErrorAnswer(DetailsOf(status)));
    }
  }

  void Send() {
    absl::StatusOr<Answer> answer = RunSafely("an answer of HTTP", [&]() -> absl::StatusOr<Answer> {
      const std::unique_ptr<google::protobuf::Message> message =
          NewMessage(*match_.route->descriptor->output_type());
      MERCER_RETURN_IF_ERROR(FromBytes(std::move(answer_), *message));
      return AnswerInForm(form_, *message, [this](size_t more) { return share_->Grow(more); });
    });
    if (answer.ok() && !KeepMemory(*answer)) {
      answer = TooManyBodies();
    }
    exchange_->Send(answer.ok() ? *std::move(answer) : ErrorAnswer(answer.status()));
  }

  // Counts an answer until its client has read it. Small ones are few enough, with one for each connection; rows
  // have been counted while they were made.
  bool KeepMemory(Answer& answer) {
    answer.memory = share_;
    return form_ != RowForm::kMessage || answer.body.size() <= kQuickBytes ||
           share_->Grow(answer.body.size()).ok();
  }

  // At once, or on a thread that may take its time.
  template <typename Work>
  void Run(size_t bytes, Work work) {
    if (bytes <= kQuickBytes) {
      work();
    } else {
      // Work that waits may begin a call, which the gateway must not end before.
      context_.workers->Post([running = context_.channel.running.Begin(), self = shared_from_this(),
                              work = std::move(work)]() mutable {
        const auto counted = std::move(running);  // what is held goes before it is counted no more
        const auto held = std::move(self);
        const Work last = std::move(work);
        last();
      });
    }
  }

  GatewayContext& context_;
  const std::shared_ptr<Exchange> exchange_;
  const RouteMatch match_;
  RowForm form_ = RowForm::kMessage;
  const std::shared_ptr<BodyShare> share_;
  grpc::ClientContext rpc_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer answer_;
  const int64_t request_bytes_;  // of the message on the wire; 0: as many as the server takes
};

}  // namespace

void AnswerUnary(GatewayContext& context, std::shared_ptr<Exchange> exchange, RouteMatch match) {
  std::make_shared<UnaryCall>(context, std::move(exchange), std::move(match))->Start();
}

}  // namespace mercer::gateway
