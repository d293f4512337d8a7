// A port that speaks HTTP/1.1, with one thread for all of its connections.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/gateway/http/exchange.h"

namespace mercer::gateway {

// PEM texts.
struct TlsIdentity {
  std::string certificate;  // the server's, then those between it and the root
  std::string key;
  std::string client_ca;  // empty: clients show no certificate
};

// What a client may take its time for.
struct ConnectionLimits {
  size_t head_bytes = 16 * 1024;
  absl::Duration handshake = absl::Seconds(10);  // of TLS
  absl::Duration head = absl::Seconds(10);       // from its first byte, or a new connection's begin
  absl::Duration idle = absl::Seconds(75);       // between two requests
  // A body may keep us waiting for so long in all, and a second more for each body_bytes_per_second that come.
  absl::Duration body = absl::Seconds(30);
  double body_bytes_per_second = 1024;
  absl::Duration write = absl::Seconds(30);  // to take some of what is sent
  absl::Duration linger = absl::Seconds(2);  // to see the last answer
  absl::Duration spare = absl::Seconds(2);   // instead of `head`, on a connection above the limit
};

struct HttpServerOptions {
  std::string address = "127.0.0.1:0";  // "HOST:PORT"; port 0: any free one
  size_t max_connections = 4096;
  size_t max_connections_per_host = 4096;  // so that nobody takes all of them
  // Above either; only health checks are answered on them, and the oldest is closed for the next.
  size_t spare_connections = 64;
  ConnectionLimits limits;
};

// Thread-safe.
class HttpServer {
 public:
  using Handler = std::function<void(std::shared_ptr<Exchange>)>;

  // Takes the port; clients that connect wait. Errors: those of ListeningSockets::Open.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Open(const HttpServerOptions& options);
  // Exchanges must be gone by then; until then their callbacks come, also after Stop.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // For connections from now on; before Start, or they are in plain text. Errors: kFailedPrecondition with reason
  // BAD_CERTIFICATE; nothing changes then.
  absl::Status SetTls(const TlsIdentity& identity);

  // Call once. `handler` runs on the network's thread and must not block; `tick`, which may be empty, is
  // called there about ten times a second.
  void Start(Handler handler, std::function<void()> tick);
  // Takes no further connections, closes those that are between two requests, waits `grace` for the others, and closes them.
  // The handler is not called afterwards. Idempotent.
  void Stop(absl::Duration grace);

  int port() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mercer::gateway
