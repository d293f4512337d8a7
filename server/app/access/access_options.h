// Who may connect and call: the part of the options that the door is made of.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace mercer::server {

// Paths of PEM files.
struct TlsFiles {
  std::string certificate;  // the server's, then those of the authorities between it and the root
  std::string key;          // private key of the server's certificate
  std::string client_ca;    // authorities that sign clients' certificates; empty: clients show none

  bool empty() const { return certificate.empty() && key.empty() && client_ca.empty(); }
};

struct AccessOptions {
  std::string tokens;       // file of the tokens; empty: everybody may do everything
  TlsFiles tls;             // none: plain text
  bool insecure = false;    // listen beyond loopback even without TLS or without tokens
  bool reflection = false;  // also where tokens are asked for
  bool channelz = false;
  bool metrics_open = false;                           // for callers without a token, too
  int64_t max_calls_per_caller = 4096;                 // at a time, streams included; 0: any number
  absl::Duration reload_interval = absl::Seconds(5);   // of the files above
  absl::Duration handshake_limit = absl::Seconds(20);  // for a new connection to say something
  absl::Duration idle_limit = absl::Minutes(15);       // of a connection without calls
  // A connection on which nothing has come for the first gets a ping, and is closed when no answer comes within the second.
  absl::Duration ping_interval = absl::Seconds(30);
  absl::Duration ping_timeout = absl::Seconds(10);

  bool has_files() const { return !tokens.empty() || !tls.empty(); }
};

// Of "HOST:PORT": 127.0.0.0/8, [::1], localhost.
bool IsLoopback(const std::string& listen);

// Errors: kInvalidArgument: no address and port; kFailedPrecondition with reason NOT_LOOPBACK: beyond
// loopback it takes both TLS and tokens, or `insecure`. `flag` is what the messages call it: "--listen".
absl::Status CheckListenAddress(const std::string& flag, const std::string& listen,
                                const AccessOptions& access);

}  // namespace mercer::server
