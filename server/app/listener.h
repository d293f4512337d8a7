// The port, and who takes new connections from it. gRPC's own way has no limit on connections, and stops
// to listen for good when it finds no room for another file: whoever can connect could do that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <grpcpp/server_builder.h>

#include "server/net/listening_sockets.h"

namespace mercer::server {

struct ConnectionLimits {
  size_t total = 0;
  size_t per_peer = 0;  // so that nobody takes all of them
};

// Connections that were handed to somebody else, who closes them: known by number and inode, since the
// numbers of closed ones are used again.
class OpenConnections {
 public:
  void Add(int socket, std::string peer);
  // Whether one more would be too many, for all or for `peer`; may count those that were closed within the last moment.
  bool AreMany(const ConnectionLimits& limits, const std::string& peer, absl::Time now);

 private:
  struct Connection {
    int socket;
    ino_t inode;
    std::string peer;
  };

  bool Reach(const ConnectionLimits& limits, const std::string& peer) const;

  std::vector<Connection> connections_;
  absl::flat_hash_map<std::string, size_t> of_peer_;
  absl::Time counted_ = absl::InfinitePast();
};

class Listener {
 public:
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

  // Takes the port of `address`, "HOST:PORT", at every address that the host has; clients that connect
  // wait. Errors: those of ListeningSockets::Open, kInternal.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const std::string& address,
                                                        ConnectionLimits limits);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Hands connections to `acceptor`, whose server has started; one beyond the limits is closed at once. Call
  // once at most.
  void Start(std::unique_ptr<Acceptor> acceptor);
  // Takes no further connections; those that stand go on. Idempotent.
  void Stop();
  int port() const { return sockets_.port(); }

 private:
  Listener(ConnectionLimits limits, ListeningSockets sockets);
  void Run();
  void Accept(int listening);

  const ConnectionLimits limits_;
  ListeningSockets sockets_;
  const int wake_;  // readable when the end has come
  std::unique_ptr<Acceptor> acceptor_;
  OpenConnections connections_;  // of the thread
  std::thread thread_;
};

// All together half of the files that this process may have open, at most 10,000; one peer half of these, but all where
// only this machine can connect.
ConnectionLimits LimitsOfConnections(bool loopback);

}  // namespace mercer::server
