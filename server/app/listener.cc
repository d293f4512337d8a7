#include "server/app/listener.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/status_macros.h"
#include "server/net/peer_host.h"

namespace mercer::server {
namespace {

// What gRPC sets when it listens by itself and is told of keep-alive.
constexpr absl::Duration kUserTimeout = absl::Seconds(10);
constexpr int kPauseMilliseconds = 50;  // when the system has no room for a connection
constexpr absl::Duration kCountInterval = absl::Milliseconds(50);

}  // namespace

void OpenConnections::Add(int socket, std::string peer) {
  struct stat file = {};
  if (fstat(socket, &file) == 0) {
    ++of_peer_[peer];
    connections_.push_back({socket, file.st_ino, std::move(peer)});
  }
}

bool OpenConnections::Reach(const ConnectionLimits& limits, const std::string& peer) const {
  const auto found = of_peer_.find(peer);
  return connections_.size() >= limits.total ||
         (found != of_peer_.end() && found->second >= limits.per_peer);
}

bool OpenConnections::AreMany(const ConnectionLimits& limits, const std::string& peer,
                              absl::Time now) {
  if (Reach(limits, peer) && now >= counted_ + kCountInterval) {
    counted_ = now;
    std::erase_if(connections_, [](const Connection& connection) {
      struct stat file = {};
      return fstat(connection.socket, &file) != 0 || file.st_ino != connection.inode;
    });
    of_peer_.clear();
    for (const Connection& connection : connections_) {
      ++of_peer_[connection.peer];
    }
  }
  return Reach(limits, peer);
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const std::string& address,
                                                         ConnectionLimits limits) {
  MERCER_ASSIGN_OR_RETURN(ListeningSockets sockets, ListeningSockets::Open(address, kUserTimeout));
  auto listener = std::unique_ptr<Listener>(new Listener(limits, std::move(sockets)));
  if (listener->wake_ < 0) {
    return absl::InternalError(
        absl::StrCat("cannot listen on ", address, ": ", std::strerror(errno)));
  }
  return listener;
}

Listener::Listener(ConnectionLimits limits, ListeningSockets sockets)
    : limits_(limits),
      sockets_(std::move(sockets)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Listener::~Listener() {
  Stop();
  if (wake_ >= 0) {
    close(wake_);
  }
}

void Listener::Start(std::unique_ptr<Acceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  thread_ = std::thread([this] { Run(); });
}

void Listener::Stop() {
  eventfd_write(wake_, 1);
  if (thread_.joinable()) {
    thread_.join();
  }
  sockets_.Close();
}

void Listener::Run() {
  std::vector<pollfd> polled = {{wake_, POLLIN, 0}};
  for (const int socket : sockets_.sockets()) {
    polled.push_back({socket, POLLIN, 0});
  }
  while (true) {
    if (poll(polled.data(), polled.size(), -1) < 0) {
      continue;  // EINTR
    }
    if (polled[0].revents != 0) {
      return;
    }
    for (size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents != 0) {
        Accept(polled[i].fd);
      }
    }
  }
}

void Listener::Accept(int listening) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  const int socket = accept4(listening, reinterpret_cast<sockaddr*>(&address), &size,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      pollfd wake = {wake_, POLLIN, 0};
      poll(&wake, 1, kPauseMilliseconds);  // the client waits; others may leave meanwhile
    }
    return;
  }
  std::string peer = PeerHost(address);
  if (connections_.AreMany(limits_, peer, absl::Now())) {
    close(socket);
    return;
  }
  connections_.Add(socket, std::move(peer));
  Acceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listening;
  parameters.fd = socket;
  acceptor_->HandleNewConnection(&parameters);
}

ConnectionLimits LimitsOfConnections(bool loopback) {
  constexpr size_t kMost = 10'000;
  rlimit files = {};
  const size_t total = getrlimit(RLIMIT_NOFILE, &files) == 0
                           ? std::clamp<size_t>(files.rlim_cur / 2, 1, kMost)
                           : kMost;
  return {total, loopback ? total : std::max<size_t>(total / 2, 1)};
}

}  // namespace mercer::server
