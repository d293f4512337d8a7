#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

#include "core/base/process/run_safely.h"
#include "mercer/v1/model_service.pb.h"
#include "server/gateway/calls.h"
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

class ExportCall final : public RpcCall {
 public:
  using RpcCall::RpcCall;

  void Start(std::string_view method, const google::protobuf::Message& request) {
    Begin(method);
    CancelWhenGone();
    Write(ToBytes(request), /*last=*/true);
    Read();
  }

 private:
  void OnAnswer(grpc::ByteBuffer answer) override {
    v1::ExportModelResponse response;
    failure_ =
        RunSafely("a piece of an export", [&] { return FromBytes(std::move(answer), response); });
    if (!failure_.ok()) {
      Cancel();
    } else if (response.has_header()) {
      SendHead(response.header());
      Read();
    } else {
      // The next piece when the client has taken this one.
      exchange_->Write(std::move(*response.mutable_chunk()),
                       [self = shared_from_this(), this](bool ok) {
                         if (ok) {
                           Read();
                         }
                       });
    }
  }

  void SendHead(const v1::ExportHeader& header) {
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

  void OnEnd(const grpc::Status& status) override {
    if (begun_) {
      exchange_->End(status.ok() && failure_.ok());
    } else {
      exchange_->Send(!failure_.ok() ? ErrorAnswer(failure_)
                      : status.ok()  ? InternalErrorAnswer()
                                     : ErrorAnswer(DetailsOf(status)));
    }
  }

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
  std::make_shared<ExportCall>(context.channel, std::move(exchange))
      ->Start(match.route->method, **request);
}

}  // namespace mercer::gateway
