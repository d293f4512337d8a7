#include "server/app/listener.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "server/net/peer_host.h"

namespace mercer::server {
namespace {

// What gRPC sets when it listens by itself and is told of keep-alive.
constexpr int kUserTimeoutMilliseconds = 10'000;
constexpr int kPauseMilliseconds = 50;  // when the system has no room for a connection
constexpr absl::Duration kCountInterval = absl::Milliseconds(50);
// A free port of one family may be taken in the other.
constexpr int kAttempts = 10;

struct AddressesDeleter {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, AddressesDeleter>;

absl::Status CannotListen(const std::string& address, const std::string& why) {
  return WithReason(absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", why)),
                    "ADDRESS_IN_USE");
}

absl::StatusOr<Addresses> Resolve(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) {
    return CannotListen(address, gai_strerror(error));
  }
  return Addresses(found);
}

void SetPort(int port, addrinfo& address) {
  const in_port_t value = htons(static_cast<in_port_t>(port));
  if (address.ai_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address.ai_addr)->sin6_port = value;
  } else {
    reinterpret_cast<sockaddr_in*>(address.ai_addr)->sin_port = value;
  }
}

int PortOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// A socket that listens at `address`; negative with errno when there is none. Connections get its options.
int OpenSocket(const addrinfo& address) {
  const int opened =
      socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int one = 1;
  const auto set = [opened](int level, int option, int value) {
    return setsockopt(opened, level, option, &value, sizeof(value)) == 0;
  };
  if (opened >= 0 && set(SOL_SOCKET, SO_REUSEADDR, one) && set(IPPROTO_TCP, TCP_NODELAY, one) &&
      set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMilliseconds) &&
      bind(opened, address.ai_addr, address.ai_addrlen) == 0 && listen(opened, SOMAXCONN) == 0) {
    return opened;
  }
  const int error = errno;
  if (opened >= 0) {
    close(opened);
  }
  errno = error;
  return -1;
}

// The machine does not have the address, or not its family.
bool IsAbsent(int error) { return error == EADDRNOTAVAIL || error == EAFNOSUPPORT; }

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
  absl::Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto listener = std::unique_ptr<Listener>(new Listener(limits));
    status = listener->Listen(address);
    if (status.ok()) {
      return listener;
    }
    if (address.substr(address.rfind(':') + 1) != "0") {
      break;
    }
  }
  return status;
}

absl::Status Listener::Listen(const std::string& address) {
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  MERCER_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(address));
  int error = EADDRNOTAVAIL;
  for (addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    if (port_ != 0) {
      SetPort(port_, *one);
    }
    const int socket = OpenSocket(*one);
    if (socket >= 0) {
      sockets_.push_back(socket);
      port_ = PortOf(socket);
    } else if (error = errno; !IsAbsent(error)) {
      return CannotListen(address, absl::StrCat(std::strerror(error), "; is the port in use?"));
    }
  }
  return wake_ < 0 || sockets_.empty() ? CannotListen(address, std::strerror(error))
                                       : absl::OkStatus();
}

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
  for (const int socket : std::exchange(sockets_, {})) {
    close(socket);
  }
}

void Listener::Run() {
  std::vector<pollfd> polled = {{wake_, POLLIN, 0}};
  for (const int socket : sockets_) {
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
