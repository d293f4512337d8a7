// A port that takes connections, of gRPC or of HTTP, at every address that its host has.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace mercer::server {

// Closes its sockets in the end.
class ListeningSockets {
 public:
  // Of TCP, which neither block nor pass to other programs; clients that connect wait to be accepted. `address`: "HOST:PORT";
  // port 0 is a free one, the same at all addresses. "[::]" takes IPv4, too; no HOST is every address, and "localhost" the loopback
  // interface. `user_timeout`: after so long without an acknowledgement of what was sent a connection breaks; zero: when the system
  // thinks so. Errors: kUnavailable with reason HOST_NOT_FOUND, ADDRESS_IN_USE or ADDRESS_NOT_AVAILABLE.
  static absl::StatusOr<ListeningSockets> Open(const std::string& address,
                                               absl::Duration user_timeout);
  ListeningSockets() = default;
  ListeningSockets(ListeningSockets&& other) noexcept;
  ListeningSockets& operator=(ListeningSockets&& other) noexcept;
  ~ListeningSockets() { Close(); }

  // Idempotent.
  void Close();
  // Somebody else closes them.
  std::vector<int> Release();
  const std::vector<int>& sockets() const { return sockets_; }
  int port() const { return port_; }

 private:
  absl::Status Listen(const std::string& address, absl::Duration user_timeout);

  std::vector<int> sockets_;
  int port_ = 0;
};

}  // namespace mercer::server
