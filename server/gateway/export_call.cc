#include "server/gateway/export_call.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

#include "core/base/process/run_safely.h"
#include "mercer/v1/model_service.pb.h"
#include "server/gateway/http/error_answer.h"
#include "server/gateway/message_json.h"
#include "server/gateway/rpc_messages.h"

namespace mercer::gateway {
namespace {

// "models/spam/versions/3" -> "spam-3.mercer".
std::string FileNameOf(absl::string_view model) {
  absl::ConsumePrefix(&model, "models/");
  return absl::StrCat(absl::StrReplaceAll(model, {{"/versions/", "-"}}), ".mercer");
}

class ExportCall final : public std::enable_shared_from_this<ExportCall> {
 public:
  explicit ExportCall(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  void Start(GatewayContext& context, std::string_view method,
             const google::protobuf::Message& request) {
    RpcStream::Events events;
    events.on_read = [self = shared_from_this()](grpc::ByteBuffer* answer) { self->Take(answer); };
    events.on_done = [self = shared_from_this()](const grpc::Status& status) {
      self->Finish(status);
    };
    const auto rpc =
        RpcStream::Start(context.channel, method, CallOrigin::Of(*exchange_), std::move(events));
    rpc_ = rpc;
    exchange_->OnGone([weak = rpc_] {
      if (const auto running = weak.lock(); running != nullptr) {
        running->Cancel();
      }
    });
    rpc->Write(ToBytes(request), /*last=*/true);
    rpc->Read();
  }

 private:
  void Take(grpc::ByteBuffer* answer) {
    const auto rpc = rpc_.lock();
    if (answer == nullptr || rpc == nullptr) {
      return;
    }
    v1::ExportModelResponse response;
    failure_ =
        RunSafely("a piece of an export", [&] { return FromBytes(std::move(*answer), response); });
    if (!failure_.ok()) {
      rpc->Cancel();
    } else if (response.has_header()) {
      Begin(response.header());
      rpc->Read();
    } else {
      // The next piece when the client has taken this one.
      exchange_->Write(std::move(*response.mutable_chunk()), [weak = rpc_](bool ok) {
        const auto running = weak.lock();
        if (ok && running != nullptr) {
          running->Read();
        }
      });
    }
  }

  void Begin(const v1::ExportHeader& header) {
    begun_ = true;
    exchange_->Begin({200,
                      {{"Content-Type", "application/octet-stream"},
                       {"Content-Disposition",
                        absl::StrCat("attachment; filename=\"", FileNameOf(header.model()), "\"")},
                       {"ETag", absl::StrCat("\"", header.digest(), "\"")},
                       {"Mercer-Model", header.model()},
                       {"Cache-Control", "no-cache"}},
                      static_cast<uint64_t>(header.size_bytes())});
  }

  void Finish(const grpc::Status& status) {
    if (begun_) {
      exchange_->End(status.ok() && failure_.ok());
    } else {
      exchange_->Send(!failure_.ok() ? ErrorAnswer(failure_)
                      : status.ok()  ? InternalErrorAnswer()
                                     : ErrorAnswer(DetailsOf(status)));
    }
  }

  const std::shared_ptr<Exchange> exchange_;
  std::weak_ptr<RpcStream> rpc_;
  // Of the callbacks, which come one after the other.
  bool begun_ = false;
  absl::Status failure_;
};

}  // namespace

void AnswerExport(GatewayContext& context, std::shared_ptr<Exchange> exchange,
                  const RouteMatch& match) {
  const auto request = MakeRequestMessage(match, exchange->head(), "");
  if (!request.ok()) {
    exchange->Send(ErrorAnswer(request.status()));
    return;
  }
  std::make_shared<ExportCall>(std::move(exchange))->Start(context, match.route->method, **request);
}

}  // namespace mercer::gateway
