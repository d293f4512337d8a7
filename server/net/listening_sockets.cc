#include "server/net/listening_sockets.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// A free port of one family may be taken in the other.
constexpr int kAttempts = 10;

struct AddressesDeleter {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, AddressesDeleter>;

absl::Status CannotListen(const std::string& address, const std::string& why,
                          const std::string& reason) {
  return WithReason(absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", why)),
                    reason);
}

absl::Status CannotListen(const std::string& address, int error) {
  return error == EADDRINUSE ? CannotListen(address, "the port is in use", "ADDRESS_IN_USE")
                             : CannotListen(address, std::strerror(error), "ADDRESS_NOT_AVAILABLE");
}

absl::StatusOr<Addresses> Resolve(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  // "localhost" is the loopback interface by definition (RFC 6761, section 6.3), also where no file of the machine says so.
  const bool is_loopback = absl::EqualsIgnoreCase(host, "localhost");
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (is_loopback ? 0 : AI_PASSIVE);
  addrinfo* found = nullptr;
  // Without a name: the loopback addresses or, with AI_PASSIVE, every address of the machine.
  const char* const name = host.empty() || is_loopback ? nullptr : host.c_str();
  const int error = getaddrinfo(name, address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) {
    return CannotListen(address, gai_strerror(error), "HOST_NOT_FOUND");
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

// A socket that listens at `address`; negative with errno when there is none. Connections get its options. `v6_only`: IPv4 has
// a socket of its own.
int OpenSocket(const addrinfo& address, bool v6_only, absl::Duration user_timeout) {
  const int opened =
      socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const auto set = [opened](int level, int option, int value) {
    return setsockopt(opened, level, option, &value, sizeof(value)) == 0;
  };
  const int milliseconds = static_cast<int>(absl::ToInt64Milliseconds(user_timeout));
  if (opened >= 0 && set(SOL_SOCKET, SO_REUSEADDR, 1) && set(IPPROTO_TCP, TCP_NODELAY, 1) &&
      (address.ai_family != AF_INET6 || set(IPPROTO_IPV6, IPV6_V6ONLY, v6_only ? 1 : 0)) &&
      (milliseconds == 0 || set(IPPROTO_TCP, TCP_USER_TIMEOUT, milliseconds)) &&
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

absl::StatusOr<ListeningSockets> ListeningSockets::Open(const std::string& address,
                                                        absl::Duration user_timeout) {
  absl::Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ListeningSockets sockets;
    status = sockets.Listen(address, user_timeout);
    if (status.ok()) {
      return sockets;
    }
    if (address.substr(address.rfind(':') + 1) != "0") {
      break;
    }
  }
  return status;
}

absl::Status ListeningSockets::Listen(const std::string& address, absl::Duration user_timeout) {
  MERCER_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(address));
  int error = EADDRNOTAVAIL;
  for (addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    if (port_ != 0) {
      SetPort(port_, *one);
    }
    const int socket = OpenSocket(*one, addresses->ai_next != nullptr, user_timeout);
    if (socket >= 0) {
      sockets_.push_back(socket);
      port_ = PortOf(socket);
    } else if (error = errno; !IsAbsent(error)) {
      return CannotListen(address, error);
    }
  }
  return sockets_.empty() ? CannotListen(address, error) : absl::OkStatus();
}

ListeningSockets::ListeningSockets(ListeningSockets&& other) noexcept
    : sockets_(std::exchange(other.sockets_, {})), port_(other.port_) {}

ListeningSockets& ListeningSockets::operator=(ListeningSockets&& other) noexcept {
  if (this != &other) {
    Close();
    sockets_ = std::exchange(other.sockets_, {});
    port_ = other.port_;
  }
  return *this;
}

void ListeningSockets::Close() {
  for (const int socket : Release()) {
    close(socket);
  }
}

std::vector<int> ListeningSockets::Release() { return std::exchange(sockets_, {}); }

}  // namespace mercer::server
