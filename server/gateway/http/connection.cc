#include "server/gateway/http/connection.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/time/clock.h"
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/errors.h"
#include "server/gateway/http/error_answer.h"

namespace mercer::gateway {
namespace {

namespace asio = boost::asio;

// Requests that come before the answer to the one before them wait here.
constexpr size_t kMaxPipelinedBytes = 64 * 1024;

constexpr uint64_t kNoExchange = ~uint64_t{0};  // what is asked for one that was answered

absl::Status ClientGone() {
  return WithReason(absl::CancelledError("the client has gone"), "CALL_CANCELLED");
}

}  // namespace

// ---------------------------------------------------------------------------------- the exchange as others hold it

template <typename Method, typename... Arguments>
void Exchange::Post(Method method, Arguments... arguments) {
  const ScopedAllocations scope(Allocations::kNeeded);
  asio::post(connection_->stream_->executor(),
             [c = connection_, method, ... arguments = std::move(arguments)]() mutable {
               std::invoke(method, *c, std::move(arguments)...);
             });
}

Exchange::Exchange(std::shared_ptr<Connection> connection, RequestHead head)
    : connection_(std::move(connection)), number_(connection_->exchange_), head_(std::move(head)) {}

Exchange::~Exchange() {
  if (answered_) {
    return;
  }
  const ScopedAllocations scope(Allocations::kNeeded);
  asio::dispatch(connection_->stream_->executor(), [c = connection_, begun = begun_.load()] {
    begun ? c->EndStream(/*whole=*/false) : c->SendAnswer(InternalErrorAnswer());
  });
}

const Peer& Exchange::peer() const { return connection_->peer_; }

void Exchange::ReadSome(Bytes done) {
  Post(&Connection::WantBody, answered_ ? kNoExchange : number_, std::move(done));
}

void Exchange::OnGone(std::function<void()> gone) {
  Post(&Connection::SetGone, number_, std::move(gone));
}

void Exchange::Send(Answer answer) {
  if (!answered_.exchange(true)) {
    Post(&Connection::SendAnswer, std::move(answer));
  }
}

void Exchange::Begin(StreamHead head) {
  if (!answered_ && !begun_.exchange(true)) {
    Post(&Connection::BeginStream, number_, std::move(head));
  }
}

void Exchange::Write(std::string bytes, std::function<void(bool)> done) {
  Post(&Connection::WritePiece, answered_ ? kNoExchange : number_, std::move(bytes),
       std::move(done));
}

void Exchange::End(bool whole) {
  if (!answered_.exchange(true)) {
    Post(&Connection::EndStream, whole);
  }
}

Connection::Connection(std::unique_ptr<ByteStream> stream, Peer peer,
                       const ConnectionLimits& limits, const Handler& handler,
                       std::function<void()> on_closed)
    : stream_(std::move(stream)),
      peer_(std::move(peer)),
      limits_(limits),
      handler_(handler),
      on_closed_(std::move(on_closed)) {}

Connection::~Connection() = default;

// ------------------------------------------------------------------------------------------- beginning and end

void Connection::Start() {
  deadline_ = absl::Now() + (peer_.spare ? limits_.spare : limits_.handshake);
  stream_->Handshake([self = shared_from_this()](bool ok) {
    if (self->phase_ != Phase::kHandshake) {
      return;
    }
    if (!ok) {
      self->Close();
      return;
    }
    self->AwaitHead();
    self->deadline_ = absl::Now() + (self->peer_.spare ? self->limits_.spare : self->limits_.head);
  });
}

void Connection::Tick(absl::Time now) {
  if (now >= write_deadline_) {
    Close();
  } else if (now >= deadline_) {
    if (phase_ == Phase::kHead && head_begun_) {
      Refuse(408);
    } else if (phase_ == Phase::kExchange && want_body_ != nullptr) {
      FailBody(WithReason(absl::DeadlineExceededError("the body of the request came too slowly"),
                          "REQUEST_TOO_SLOW"));
    } else if (idle()) {
      Leave();
    } else {
      Close();
    }
  }
}

void Connection::Retire() {
  retired_ = true;
  if (idle()) {
    Leave();
  }
}

void Connection::Close() {
  if (phase_ == Phase::kClosed) {
    return;
  }
  phase_ = Phase::kClosed;
  stream_->Close();
  deadline_ = write_deadline_ = absl::InfiniteFuture();
  if (want_body_ != nullptr) {
    std::exchange(want_body_, nullptr)(ClientGone());
  }
  if (gone_ != nullptr) {
    std::exchange(gone_, nullptr)();
  }
  for (Outgoing& one : outgoing_) {  // its bytes stay while a write may look at them
    if (one.done != nullptr) {
      std::exchange(one.done, nullptr)(false);
    }
  }
  if (on_closed_ != nullptr) {
    std::exchange(on_closed_, nullptr)();
  }
}

// The client may still be sending; closing now would take the last answer away from it.
void Connection::Linger() {
  phase_ = Phase::kLinger;
  deadline_ = absl::Now() + limits_.linger;
  input_.clear();
  stream_->ShutDownWriting(shared_from_this());
  Read();
}

void Connection::Leave() {
  stream_->ShutDownWriting(shared_from_this());
  Close();
}

// --------------------------------------------------------------------------------------------------- requests

void Connection::AwaitHead() {
  if (retired_) {
    Leave();
    return;
  }
  phase_ = Phase::kHead;
  head_begun_ = !input_.empty();
  parser_ = std::make_unique<RequestParser>(limits_.head_bytes);
  deadline_ = absl::Now() + (input_.empty() ? limits_.idle : limits_.head);
  if (input_.empty()) {
    Read();
  } else {
    asio::post(stream_->executor(), [self = shared_from_this()] { self->OnInput(); });
  }
}

void Connection::Read() {
  if (reading_ || phase_ == Phase::kClosed) {
    return;
  }
  reading_ = true;
  stream_->ReadSome([self = shared_from_this()](std::string_view bytes) { self->OnRead(bytes); });
}

void Connection::OnRead(std::string_view bytes) {
  reading_ = false;
  if (phase_ == Phase::kClosed) {
    return;
  }
  if (bytes.empty()) {
    Close();
    return;
  }
  if (phase_ == Phase::kLinger) {
    Read();
    return;
  }
  if (phase_ == Phase::kHead && !std::exchange(head_begun_, true)) {
    deadline_ = std::min(deadline_, absl::Now() + limits_.head);
  }
  input_.append(bytes);
  OnInput();
}

void Connection::OnInput() {
  if (phase_ == Phase::kHead) {
    ParseHead();
  } else if (phase_ == Phase::kExchange && want_body_ != nullptr) {
    ParseBody();
  } else if (phase_ == Phase::kExchange) {
    WatchClient();
  }
}

void Connection::ParseHead() {
  input_.erase(0, parser_->Put(input_));
  if (parser_->error_status() != 0) {
    Refuse(parser_->error_status());
  } else if (parser_->head_done()) {
    BeginExchange();
  } else {
    Read();
  }
}

void Connection::Refuse(int status) {
  phase_ = Phase::kExchange;
  stream_begun_ = false;
  request_ = RequestHead();
  request_.keep_alive = false;
  SendAnswer(BadRequestAnswer(status));
}

void Connection::BeginExchange() {
  phase_ = Phase::kExchange;
  deadline_ = absl::InfiniteFuture();
  request_ = parser_->TakeHead();
  stream_begun_ = false;
  body_patience_ = limits_.body;
  continue_due_ = !request_.http10 && request_.Find("expect") == "100-continue";
  auto exchange = std::make_shared<Exchange>(shared_from_this(), request_);
  WatchClient();
  handler_(std::move(exchange));
}

// ------------------------------------------------------------------------------------------------------- body

void Connection::WantBody(uint64_t exchange, Exchange::Bytes done) {
  if (!IsRunning(exchange)) {
    done(ClientGone());
    return;
  }
  want_body_ = std::move(done);
  waiting_since_ = absl::Now();
  deadline_ = waiting_since_ + body_patience_;
  SendContinue();
  ParseBody();
}

void Connection::SendContinue() {
  if (std::exchange(continue_due_, false) && input_.empty() && !parser_->done()) {
    Send({"HTTP/1.1 100 Continue\r\n\r\n", {}, nullptr});
  }
}

void Connection::ParseBody() {
  const size_t taken = parser_->done() ? 0 : parser_->Put(input_);
  input_.erase(0, taken);
  if (parser_->error_status() != 0) {
    FailBody(WithReason(
        absl::InvalidArgumentError("the body of the request is not coded as its head says"),
        "BAD_HTTP"));
  } else if (!GiveBody()) {
    Read();
  }
}

// True when somebody got something.
bool Connection::GiveBody() {
  std::string bytes = parser_->TakeBody();
  if (bytes.empty() && !parser_->done()) {
    return false;
  }
  const absl::Duration waited = absl::Now() - waiting_since_;
  const absl::Duration earned =
      absl::Seconds(static_cast<double>(bytes.size()) / limits_.body_bytes_per_second);
  body_patience_ = std::min(limits_.body, body_patience_ - waited + earned);
  deadline_ = absl::InfiniteFuture();
  if (parser_->done()) {
    WatchClient();
  }
  std::exchange(want_body_, nullptr)(std::move(bytes));
  return true;
}

void Connection::FailBody(absl::Status why) {
  deadline_ = absl::InfiniteFuture();
  request_.keep_alive = false;
  std::exchange(want_body_, nullptr)(std::move(why));
}

// Reads ahead when the whole request is there, to learn that the client has gone.
void Connection::WatchClient() {
  if (parser_->done() && input_.size() < kMaxPipelinedBytes) {
    Read();
  }
}

void Connection::SetGone(uint64_t exchange, std::function<void()> gone) {
  if (IsRunning(exchange)) {
    gone_ = std::move(gone);
  } else if (exchange == exchange_) {
    gone();
  }
}

// ----------------------------------------------------------------------------------------------------- answers

void Connection::SendAnswer(Answer answer) {
  if (phase_ != Phase::kExchange || stream_begun_) {
    return;
  }
  const bool keep =
      request_.keep_alive && !answer.close && !retired_ && !peer_.spare && parser_->done();
  const uint64_t length = answer.fixed_body.empty() ? answer.body.size() : answer.fixed_body.size();
  const bool has_body = request_.method != "HEAD" && answer.status != 304 && answer.status != 204;
  std::string text = HeadText(answer.status, answer.headers, length, request_, keep);
  if (has_body) {
    text += answer.body;
  }
  Send({std::move(text), has_body ? answer.fixed_body : std::string_view(), Finishing(keep),
        std::move(answer.memory)});
}

void Connection::BeginStream(uint64_t exchange, const StreamHead& head) {
  if (!IsRunning(exchange) || stream_begun_) {
    return;
  }
  stream_begun_ = true;
  chunked_ = !head.content_length.has_value() && !request_.http10;
  const bool marked = chunked_ || head.content_length.has_value();
  request_.keep_alive = request_.keep_alive && marked && !retired_ && parser_->done();
  Send({HeadText(head.status, head.headers, head.content_length, request_, request_.keep_alive),
        {},
        nullptr});
}

void Connection::WritePiece(uint64_t exchange, std::string bytes, std::function<void(bool)> done) {
  if (!IsRunning(exchange)) {
    done(false);
    return;
  }
  if (bytes.empty()) {  // as a chunk it would mark the end
    done(true);
    return;
  }
  Send({chunked_ ? ChunkText(bytes) : std::move(bytes), {}, std::move(done)});
}

void Connection::EndStream(bool whole) {
  if (phase_ != Phase::kExchange) {
    return;
  }
  if (!whole) {
    Close();
    return;
  }
  const bool keep = request_.keep_alive && !retired_;
  Send({chunked_ ? std::string(kLastChunk) : std::string(), {}, Finishing(keep)});
}

// The last that an exchange sends.
std::function<void(bool)> Connection::Finishing(bool keep) {
  return [self = shared_from_this(), keep](bool ok) {
    if (ok) {
      self->FinishExchange(keep);
    }
  };
}

void Connection::FinishExchange(bool keep) {
  if (phase_ != Phase::kExchange) {
    return;
  }
  gone_ = nullptr;
  ++exchange_;
  if (keep) {
    AwaitHead();
  } else {
    Linger();
  }
}

// ----------------------------------------------------------------------------------------------------- sending

void Connection::Send(Outgoing outgoing) {
  outgoing_.push_back(std::move(outgoing));
  SendMore();
}

void Connection::SendMore() {
  if (writing_ || outgoing_.empty() || phase_ == Phase::kClosed) {
    return;
  }
  writing_ = true;
  const Outgoing& first = outgoing_.front();
  stream_->Write(
      {asio::buffer(first.bytes), asio::buffer(first.fixed)},
      [self = shared_from_this()] { self->write_deadline_ = absl::Now() + self->limits_.write; },
      [self = shared_from_this()](bool ok) { self->OnWritten(ok); });
}

void Connection::OnWritten(bool ok) {
  writing_ = false;
  write_deadline_ = absl::InfiniteFuture();
  if (!ok || phase_ == Phase::kClosed) {
    Close();
    return;
  }
  const auto done = std::move(outgoing_.front().done);
  outgoing_.pop_front();
  if (done != nullptr) {
    done(true);
  }
  SendMore();
}

}  // namespace mercer::gateway
