// One connection: requests one after the other, each answered before the next is looked at.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/time/time.h"

#include "server/gateway/http/byte_stream.h"
#include "server/gateway/http/exchange.h"
#include "server/gateway/http/http_server.h"
#include "server/gateway/http/request_parser.h"

namespace mercer::gateway {

// Everything happens on the network's thread, except what Exchange says.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  using Handler = std::function<void(std::shared_ptr<Exchange>)>;

  // `limits`, `handler` outlive it; `on_closed` is called once.
  Connection(std::unique_ptr<ByteStream> stream, Peer peer, const ConnectionLimits& limits,
             const Handler& handler, std::function<void()> on_closed);
  ~Connection();

  void Start();
  // Looks whether the client was too slow.
  void Tick(absl::Time now);
  // Waits for a request that has begun; takes no further one.
  void Retire();
  void Close();
  // Between two requests.
  bool idle() const { return phase_ == Phase::kHead && !head_begun_; }

 private:
  friend class Exchange;
  enum class Phase : uint8_t { kHandshake, kHead, kExchange, kLinger, kClosed };
  struct Outgoing {
    std::string bytes;
    std::string_view fixed;
    std::function<void(bool)> done;
    std::shared_ptr<const void> memory = nullptr;  // as in Answer
  };

  void AwaitHead();
  void Read();
  void OnRead(std::string_view bytes);
  void OnInput();
  void ParseHead();
  void BeginExchange();
  // What a client gets whose request is none, and then the end.
  void Refuse(int status);

  // Of the exchange of that number: others may ask for something when it has just been answered.
  bool IsRunning(uint64_t exchange) const {
    return phase_ == Phase::kExchange && exchange == exchange_;
  }
  void WantBody(uint64_t exchange, Exchange::Bytes done);
  void SetGone(uint64_t exchange, std::function<void()> gone);
  void BeginStream(uint64_t exchange, const StreamHead& head);
  void WritePiece(uint64_t exchange, std::string bytes, std::function<void(bool)> done);

  // Of the exchange.
  void ParseBody();
  bool GiveBody();
  void FailBody(absl::Status why);
  void SendContinue();
  void WatchClient();
  void SendAnswer(Answer answer);
  void EndStream(bool whole);
  std::function<void(bool)> Finishing(bool keep);
  void FinishExchange(bool keep);

  void Send(Outgoing outgoing);
  void SendMore();
  void OnWritten(bool ok);
  void Linger();
  // Between two requests: the client is told, but not waited for.
  void Leave();

  const std::unique_ptr<ByteStream> stream_;
  const Peer peer_;
  const ConnectionLimits& limits_;
  const Handler& handler_;
  std::function<void()> on_closed_;

  Phase phase_ = Phase::kHandshake;
  bool retired_ = false;
  absl::Time deadline_ = absl::InfiniteFuture();
  bool reading_ = false;
  bool head_begun_ = false;
  std::string input_;  // come, but not parsed
  std::unique_ptr<RequestParser> parser_;

  uint64_t exchange_ = 0;  // how many have ended
  RequestHead request_;    // what an answer needs to know of it
  Exchange::Bytes want_body_;
  absl::Duration body_patience_;
  absl::Time waiting_since_ = absl::InfiniteFuture();  // for bytes of the body
  bool continue_due_ = false;
  bool stream_begun_ = false;
  bool chunked_ = false;
  std::function<void()> gone_;

  std::deque<Outgoing> outgoing_;
  bool writing_ = false;  // the first of them
  absl::Time write_deadline_ = absl::InfiniteFuture();
};

}  // namespace mercer::gateway
