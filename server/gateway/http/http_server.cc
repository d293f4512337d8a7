#include "server/gateway/http/http_server.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/budget/budget.h"
#include "server/gateway/http/byte_stream.h"
#include "server/gateway/http/connection.h"
#include "server/net/listening_sockets.h"
#include "server/net/peer_host.h"

namespace mercer::gateway {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kTick(100);
constexpr std::chrono::milliseconds kAcceptPause(
    50);  // when the system has no room for a connection
constexpr size_t kReadBufferBytes = 128 * 1024;

absl::Status CannotListenForHttp(absl::string_view why, const std::string& reason) {
  return WithReason(absl::UnavailableError(absl::StrCat("--http: ", why)), reason);
}

tcp ProtocolOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  const bool known = getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  return known && address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4();
}

sockaddr_storage AddressOf(const tcp::endpoint& endpoint) {
  sockaddr_storage address = {};
  std::memcpy(&address, endpoint.data(), std::min(endpoint.size(), sizeof(address)));
  return address;
}

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(const HttpServerOptions& options)
      : options_(options), ticker_(io_), read_buffer_(kReadBufferBytes, '\0') {}

  absl::Status Open() {
    absl::StatusOr<server::ListeningSockets> sockets =
        server::ListeningSockets::Open(options_.address, absl::ZeroDuration());
    if (!sockets.ok()) {
      return CannotListenForHttp(sockets.status().message(), GetReason(sockets.status()));
    }
    port_ = sockets->port();
    error_code error;
    for (const int socket : sockets->Release()) {
      tcp::acceptor acceptor(io_);
      acceptor.assign(ProtocolOf(socket), socket, error);
      if (error) {
        close(socket);
        return CannotListenForHttp(error.message(), "ADDRESS_NOT_AVAILABLE");
      }
      acceptors_.push_back(std::move(acceptor));
    }
    return absl::OkStatus();
  }

  absl::Status SetTls(const TlsIdentity& identity) ABSL_LOCKS_EXCLUDED(mutex_) {
    MERCER_ASSIGN_OR_RETURN(TlsContext context, MakeTlsContext(identity));
    absl::MutexLock lock(&mutex_);
    tls_ = std::move(context);
    return absl::OkStatus();
  }

  void Start(Handler handler, std::function<void()> tick) {
    handler_ = std::move(handler);
    on_tick_ = std::move(tick);
    for (tcp::acceptor& acceptor : acceptors_) {
      Accept(acceptor);
    }
    WaitForTick();
    thread_ = std::thread([this] { Run(); });
  }

  ~Impl() {
    Stop(absl::ZeroDuration());
    work_.reset();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  // The thread goes on, for those who still hold exchanges.
  void Stop(absl::Duration grace) {
    std::call_once(stopped_, [this, grace] {
      if (!thread_.joinable()) {
        return;
      }
      asio::post(io_, [this] { Retire(); });
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&all_gone_), grace);
      asio::post(io_, [this] { CloseAll(); });
      mutex_.Await(absl::Condition(&closed_));
    });
  }

  int port() const { return port_; }

 private:
  struct Held {
    std::shared_ptr<Connection> connection;
    server::Budget::Share place;  // of nothing: a spare one
  };

  // What a handler throws ends nothing but its own turn.
  void Run() {
    bool more = true;
    while (more) {
      more = !RunNeeded("the network of HTTP", [this] { io_.run(); }).ok();
    }
  }

  void Accept(tcp::acceptor& acceptor) {
    acceptor.async_accept([this, &acceptor](const error_code& error, tcp::socket socket) {
      if (!acceptor.is_open() || error == asio::error::operation_aborted) {
        return;
      }
      if (error) {
        PauseAccepting(acceptor);
        return;
      }
      RunNeeded("a connection of HTTP", [&] { Take(std::move(socket)); }).IgnoreError();
      Accept(acceptor);
    });
  }

  void PauseAccepting(tcp::acceptor& acceptor) {
    auto pause = std::make_shared<asio::steady_timer>(io_, kAcceptPause);
    pause->async_wait([this, &acceptor, pause](const error_code& error) {
      if (!error && acceptor.is_open()) {
        Accept(acceptor);
      }
    });
  }

  void Take(tcp::socket socket) {
    error_code error;
    const tcp::endpoint endpoint = socket.remote_endpoint(error);
    if (error) {
      return;  // closes it
    }
    socket.set_option(tcp::no_delay(true), error);
    const sockaddr_storage address = AddressOf(endpoint);
    server::Budget::Share place = usual_.NewShare(server::PeerHost(address));
    const server::BudgetLimits limits{static_cast<int64_t>(options_.max_connections),
                                      static_cast<int64_t>(options_.max_connections_per_host)};
    const Peer peer{server::PeerName(address), /*spare=*/place.Grow(1, limits).has_value()};
    TlsContext tls;
    {
      absl::MutexLock lock(&mutex_);
      tls = tls_;
    }
    const int64_t key = next_key_++;
    if (peer.spare) {
      MakeSpareRoom(key);
    }
    auto connection = std::make_shared<Connection>(
        std::make_unique<ByteStream>(std::move(socket), std::move(tls), read_buffer_), peer,
        options_.limits, handler_, [this, key] { Forget(key); });
    connections_.emplace(key, Held{connection, std::move(place)});
    connection->Start();
  }

  // A health check is answered at once. Whoever holds a spare connection longer has to go for the next.
  void MakeSpareRoom(int64_t key) {
    while (spare_.size() >= std::max<size_t>(options_.spare_connections, 1)) {
      const auto oldest = connections_.find(spare_.front());
      spare_.pop_front();
      if (oldest != connections_.end()) {
        const std::shared_ptr<Connection> connection = oldest->second.connection;
        connection->Close();
      }
    }
    spare_.push_back(key);
  }

  void Forget(int64_t key) {
    connections_.erase(key);
    TellWhenAllAreGone();
  }

  void TellWhenAllAreGone() {
    if (retiring_ && connections_.empty()) {
      absl::MutexLock lock(&mutex_);
      all_gone_ = true;
    }
  }

  void WaitForTick() {
    ticker_.expires_after(kTick);
    ticker_.async_wait([this](const error_code& error) {
      if (error ||
          ending_) {  // what waits to be called when it is cancelled is called all the same
        return;
      }
      RunNeeded("a look at the connections of HTTP", [this] {
        const absl::Time now = absl::Now();
        for (const auto& connection : Connections()) {
          connection->Tick(now);
        }
        if (on_tick_ != nullptr) {
          on_tick_();
        }
      }).IgnoreError();  // the next one is soon
      WaitForTick();
    });
  }

  // A copy, because connections that close leave the map.
  std::vector<std::shared_ptr<Connection>> Connections() const {
    std::vector<std::shared_ptr<Connection>> connections;
    connections.reserve(connections_.size());
    for (const auto& [key, held] : connections_) {
      connections.push_back(held.connection);
    }
    return connections;
  }

  void Retire() {
    retiring_ = true;
    for (tcp::acceptor& acceptor : acceptors_) {
      error_code ignored;
      acceptor.close(ignored);
    }
    for (const auto& connection : Connections()) {
      connection->Retire();
    }
    TellWhenAllAreGone();
  }

  void CloseAll() {
    ending_ = true;
    ticker_.cancel();
    for (const auto& connection : Connections()) {
      connection->Close();
    }
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }

  const HttpServerOptions options_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  asio::steady_timer ticker_;
  std::string read_buffer_;
  std::vector<tcp::acceptor> acceptors_;
  int port_ = 0;
  Handler handler_;
  std::function<void()> on_tick_;
  // Of the thread.
  std::unordered_map<int64_t, Held> connections_;
  const server::Budget usual_;  // places of the connections that are not spare
  std::deque<int64_t> spare_;   // keys, the oldest first; some may have closed by themselves
  int64_t next_key_ = 1;
  bool retiring_ = false;
  bool ending_ = false;  // nobody waits for another tick

  mutable absl::Mutex mutex_;
  TlsContext tls_ ABSL_GUARDED_BY(mutex_);  // null: plain text
  bool all_gone_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::once_flag stopped_;
  std::thread thread_;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Open(const HttpServerOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  MERCER_RETURN_IF_ERROR(impl->Open());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

absl::Status HttpServer::SetTls(const TlsIdentity& identity) { return impl_->SetTls(identity); }
void HttpServer::Start(Handler handler, std::function<void()> tick) {
  impl_->Start(std::move(handler), std::move(tick));
}
void HttpServer::Stop(absl::Duration grace) { impl_->Stop(grace); }
int HttpServer::port() const { return impl_->port(); }

}  // namespace mercer::gateway
