// The port, and who takes new connections from it. gRPC's own way has no limit on connections, and
// stops to listen for good when it finds no room for another file: whoever can connect could do
// that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include <grpcpp/server_builder.h>

#include "core/base/numeric/hash_table.h"
#include "server/app/flood_gauge.h"
#include "server/net/listening_sockets.h"
#include "server/rpc/connection_load.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::server {

struct ConnectionLimits {
  size_t total = 0;
  size_t per_peer = 0;  // so that nobody takes all of them
};

// Connections that were handed to somebody else, who closes them: known by number and inode, since
// the numbers of closed ones are used again.
class OpenConnections {
 public:
  // `loads` outlives it.
  explicit OpenConnections(ConnectionLoads& loads) : loads_(loads) {}

  // `host` is whose limit it counts for, `peer` what gRPC calls the other end.
  void Add(int socket, std::string host, std::string peer);
  // Whether one more would be too many, for all or for `host`; may count those that were closed
  // within the last moment.
  bool AreMany(const ConnectionLimits& limits, const std::string& host, absl::Time now);
  // Breaks off those that send what belongs to no call, and lets their hosts make no others for a while; answers what is to be
  // logged. To be called again and again.
  std::vector<std::string> BreakOffFloods(absl::Time now);
  bool IsShutOut(const std::string& host, absl::Time now) const;
  bool empty() const { return connections_.empty(); }
  // Of all connections, not looked at yet.
  int64_t waiting_calls() const { return loads_.waiting_calls(); }

 private:
  struct Connection {
    int socket;
    ino_t inode;
    std::string host;
    std::string peer;
    std::shared_ptr<ConnectionLoad> load;
    FloodGauge gauge = {};
    bool is_broken = false;  // what gRPC still holds of it goes soon
  };

  // For how long a host is shut out whose connections are broken off again and again.
  struct ShutOut {
    absl::Duration length = absl::ZeroDuration();
    absl::Time end = absl::InfinitePast();
  };

  bool Reach(const ConnectionLimits& limits, const std::string& host) const;
  void ForgetClosed();
  void ShutOutHost(const std::string& host, absl::Time now);

  ConnectionLoads& loads_;
  std::vector<Connection> connections_;
  HashMap<std::string, size_t> of_host_;
  HashMap<std::string, ShutOut> shut_out_;
  absl::Time counted_ = absl::InfinitePast();
};

// Resets the connection of this number and inode, of which gRPC then reads nothing more. False: it is closed, and whatever has the
// number by now goes on.
bool ResetConnection(int socket, ino_t inode);

class Listener {
 public:
  // Names of its threads.
  static constexpr char kAcceptingThread[] = "mercer-accept";
  static constexpr char kGuardingThread[] = "mercer-guard";

  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

  // Takes the port of `address`, "HOST:PORT", at every address that the host has; clients that
  // connect wait. `loads` outlives the listener; `log` may be null. Errors: those of
  // ListeningSockets::Open, kInternal.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const std::string& address,
                                                        ConnectionLimits limits,
                                                        ConnectionLoads& loads,
                                                        std::shared_ptr<spdlog::logger> log);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Hands connections to `acceptor`, whose server has started; one beyond the limits is closed at
  // once. Call once at most.
  void Start(std::unique_ptr<Acceptor> acceptor);
  // Takes no further connections; those that stand go on. Idempotent.
  void Stop();
  int port() const { return sockets_.port(); }

 private:
  Listener(ConnectionLimits limits, ListeningSockets sockets, ConnectionLoads& loads,
           std::shared_ptr<spdlog::logger> log);
  void Run();
  void Accept(int listening);
  // Breaks off floods, on a thread of its own: gRPC may read from a connection on that which hands
  // it over, for as long as bytes come.
  void Guard() ABSL_LOCKS_EXCLUDED(mutex_);
  // False: the connection is one too many.
  bool Remember(int socket, std::string host, std::string peer) ABSL_LOCKS_EXCLUDED(mutex_);

  const ConnectionLimits limits_;
  const std::shared_ptr<spdlog::logger> log_;
  ListeningSockets sockets_;
  const int wake_;  // readable when the end has come
  std::unique_ptr<Acceptor> acceptor_;
  absl::Mutex mutex_;
  OpenConnections connections_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
  std::thread guard_thread_;
};

// All together half of the files that this process may have open, at most 10,000; one peer half of
// these, but all where only this machine can connect.
ConnectionLimits LimitsOfConnections(bool loopback);

}  // namespace mercer::server
