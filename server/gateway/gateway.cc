#include "server/gateway/gateway.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include <spdlog/spdlog.h>

#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/gateway/calls.h"
#include "server/gateway/http/error_answer.h"
#include "server/gateway/http/request_guard.h"
#include "server/gateway/http/url.h"
#include "server/gateway/message_json.h"
#include "server/gateway/routes.h"
#include "server/rpc/method_rules.h"

namespace mercer::gateway {
namespace {

constexpr int kWorkers = 2;
constexpr uint64_t kSmallBody = uint64_t{16} << 10;

bool Reads(const RequestHead& head) { return head.method == "GET" || head.method == "HEAD"; }

constexpr char kMetricsText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kPlainText[] = "text/plain; charset=utf-8";
constexpr std::string_view kServerInfo = "ServerService/GetServerInfo";

Answer RefusalOfVerb(const absl::Status& status) {
  Answer answer = ErrorAnswer(status, GetReason(status) == "METHOD_NOT_ALLOWED" ? 405 : 0);
  for (const auto& [key, value] : GetErrorMetadata(status)) {
    if (key == "allow") {
      answer.headers.emplace_back("Allow", value);
    }
  }
  return answer;
}

Answer OnlyReads() {
  return RefusalOfVerb(WithReason(absl::UnimplementedError("this path is for GET"),
                                  "METHOD_NOT_ALLOWED", {{"allow", "GET, HEAD"}}));
}

// A small body is read first, and thrown away: the connection could not be used again behind it otherwise.
void SendBehindBody(const std::shared_ptr<Exchange>& exchange, Answer answer) {
  const uint64_t length =
      exchange->head().content_length.value_or(0);  // unknown: it may have no end
  if (length == 0 || length > kSmallBody) {
    exchange->Send(std::move(answer));
    return;
  }
  exchange->ReadSome(
      [exchange, answer = std::move(answer)](const absl::StatusOr<std::string>& bytes) {
        if (bytes.ok() && !bytes->empty()) {
          SendBehindBody(exchange, answer);
        } else {
          exchange->Send(answer);
        }
      });
}

// The server's own door says what is wrong, and writes it down.
class Refusal final : public RpcCall {
 public:
  using RpcCall::RpcCall;

  void Start(std::string_view method) {
    Begin(method);
    WritesDone();
    Read();  // the end
  }

 private:
  void OnAnswer(grpc::ByteBuffer) override {}
  void OnEnd(const grpc::Status& status) override {
    SendBehindBody(exchange_, ErrorAnswer(DetailsOf(status)));
  }
};

}  // namespace

class Gateway::Impl {
 public:
  Impl(const GatewayOptions& options, GatewayDependencies dependencies)
      : context_(options, std::move(dependencies)) {
    context_.workers = std::make_unique<server::ThreadPool>(
        kWorkers, [log = context_.parts.log](const absl::Status& status) {
          if (log != nullptr) {
            log->error("an exception has left a request of HTTP: {}", status.ToString());
          }
        });
  }

  // Connections go first, which cancels the calls behind them.
  ~Impl() {
    Stop(absl::ZeroDuration());
    context_.channel.running.WaitForNone();
    context_.workers.reset();
    beginning_.clear();  // they hold exchanges, which belong to the network
    http_.reset();
  }

  absl::Status Open(const HttpServerOptions& options) {
    MERCER_ASSIGN_OR_RETURN(http_, HttpServer::Open(options));
    return absl::OkStatus();
  }

  void Start() {
    context_.ready = true;
    http_->Start([this](std::shared_ptr<Exchange> exchange) { Handle(std::move(exchange)); },
                 [this] { BeginStreams(); });
  }

  void BeginDrain() { context_.ready = false; }

  void Stop(absl::Duration grace) {
    BeginDrain();
    if (http_ != nullptr) {
      http_->Stop(grace);
    }
  }

  HttpServer& http() { return *http_; }

 private:
  void Handle(const std::shared_ptr<Exchange>& exchange) {
    // A head is small, and neither messages that are made of it nor calls that are begun can be left half done.
    const absl::Status status = RunNeeded("a request of HTTP", [&] { Dispatch(exchange); });
    if (!status.ok()) {
      exchange->Send(ErrorAnswer(status));
    }
  }

  void Dispatch(const std::shared_ptr<Exchange>& exchange) {
    const RequestHead& head = exchange->head();
    const std::string_view path = PathOf(head.target);
    if (path == "/healthz" || path == "/readyz") {
      exchange->Send(Reads(head) ? HealthAnswer(path) : OnlyReads());
      return;
    }
    if (exchange->peer().spare) {
      exchange->Send(ErrorAnswer(
          WithReason(absl::UnavailableError(
                         "too many connections are open, in all or from your host; try again soon"),
                     "TOO_MANY_CONNECTIONS")));
      return;
    }
    const GuardRules rules{context_.options.loopback, context_.parts.about.tokens()};
    if (const absl::Status refused = CheckSite(head, rules); !refused.ok()) {
      exchange->Send(ErrorAnswer(refused));
      return;
    }
    const bool is_api = path == "/v1" || absl::StartsWith(View(path), "/v1/");
    if (is_api && path != "/v1/openapi.json") {
      DispatchApi(exchange, path);
      return;
    }
    if (path == "/metrics" && context_.parts.metrics != nullptr) {
      ShowMetrics(exchange);
      return;
    }
    exchange->Send(Reads(head) ? AnswerAsset(context_.parts.find_asset, head, path) : OnlyReads());
  }

  void DispatchApi(const std::shared_ptr<Exchange>& exchange, std::string_view path) {
    const RequestHead& head = exchange->head();
    absl::StatusOr<RouteMatch> match = FindRoute(head.method, path);
    if (!match.ok()) {
      exchange->Send(RefusalOfVerb(match.status()));
      return;
    }
    if (!IsAdmitted(head, match->route->method)) {
      if (match->route->method == kServerInfo && head.Find("authorization").empty()) {
        SendBehindBody(exchange, StrangersAnswer());
      } else {
        std::make_shared<Refusal>(context_.channel, exchange)->Start(match->route->method);
      }
      return;
    }
    switch (match->route->kind) {
      case CallKind::kUnary:
        AnswerUnary(context_, exchange, *std::move(match));
        return;
      case CallKind::kUpload:
        AnswerUpload(context_, exchange, *match);
        return;
      case CallKind::kExport:
        AnswerExport(context_, exchange, *match);
        return;
      case CallKind::kEvents:
        Remember(StreamEvents(context_, exchange, *match));
        return;
    }
  }

  bool IsAdmitted(const RequestHead& head, std::string_view method) const {
    const server::MethodRule* const rule = server::FindMethodRule(method);
    return rule != nullptr && RunSafely("the door of HTTP", [&] {
                                return context_.parts.gate
                                    ->Admit(head.FindAll("authorization"), rule->scope, absl::Now())
                                    .status();
                              }).ok();
  }

  void ShowMetrics(const std::shared_ptr<Exchange>& exchange) {
    if (!Reads(exchange->head())) {
      exchange->Send(OnlyReads());
      return;
    }
    const absl::Status admitted = RunSafely("the door of the metrics", [&] {
      return context_.parts.metrics->Admit(exchange->head().FindAll("authorization"));
    });
    if (!admitted.ok()) {
      exchange->Send(ErrorAnswer(admitted));
      return;
    }
    context_.workers->Post([this, exchange] {
      absl::StatusOr<std::string> text =
          RunSafely("the metrics", [&]() -> absl::StatusOr<std::string> {
            return context_.parts.metrics->Text(context_.event_streams.taken());
          });
      exchange->Send(text.ok() ? MakeAnswer(*std::move(text), kMetricsText)
                               : ErrorAnswer(text.status()));
    });
  }

  Answer HealthAnswer(std::string_view path) const {
    if (path == "/healthz") {
      return MakeAnswer("ok\n", kPlainText);
    }
    if (context_.ready) {
      return MakeAnswer("ready\n", kPlainText);
    }
    Answer answer = MakeAnswer("not ready\n", kPlainText, 503);
    answer.headers.emplace_back("Retry-After", "2");
    return answer;
  }

  // What strangers are told: a page must know that it is to ask for a token.
  Answer StrangersAnswer() const {
    const v1::ServerInfo& all = context_.parts.about;
    v1::ServerInfo info;
    info.set_version(all.version());
    *info.mutable_started() = all.started();
    info.set_tokens(all.tokens());
    info.set_learners(all.learners());
    absl::StatusOr<std::string> json = WriteJson(info);
    return json.ok() ? MakeAnswer(*std::move(json)) : ErrorAnswer(json.status());
  }

  // Streams wait a moment before they begin.
  void Remember(std::shared_ptr<EventStream> stream) {
    if (stream != nullptr) {
      beginning_.push_back(std::move(stream));
    }
  }

  void BeginStreams() {
    const absl::Time now = absl::Now();
    beginning_.erase(std::remove_if(beginning_.begin(), beginning_.end(),
                                    [now](const auto& stream) { return stream->BeginAt(now); }),
                     beginning_.end());
  }

  GatewayContext context_;
  std::unique_ptr<HttpServer> http_;
  std::vector<std::shared_ptr<EventStream>> beginning_;  // of the network's thread
};

absl::StatusOr<std::unique_ptr<Gateway>> Gateway::Open(const GatewayOptions& options,
                                                       GatewayDependencies dependencies) {
  auto impl = std::make_unique<Impl>(options, std::move(dependencies));
  MERCER_RETURN_IF_ERROR(impl->Open(options.http));
  return std::unique_ptr<Gateway>(new Gateway(std::move(impl)));
}

Gateway::Gateway(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Gateway::~Gateway() = default;

absl::Status Gateway::SetTls(const TlsIdentity& identity) { return impl_->http().SetTls(identity); }
void Gateway::Start() { impl_->Start(); }
void Gateway::BeginDrain() { impl_->BeginDrain(); }
void Gateway::Stop(absl::Duration grace) { impl_->Stop(grace); }
int Gateway::port() const { return impl_->http().port(); }

}  // namespace mercer::gateway
