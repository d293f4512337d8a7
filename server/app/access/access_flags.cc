#include "server/app/access/access_flags.h"

namespace mercer::server {

void AddAccessFlags(CLI::App& app, AccessOptions& options) {
  app.add_option("--tokens", options.tokens,
                 "file of who may call, one line per token; 'mercer-server token' makes the lines");
  app.add_option("--tls-cert", options.tls.certificate,
                 "PEM file of the server's certificate, then those between it and the root");
  app.add_option("--tls-key", options.tls.key, "PEM file of its private key");
  app.add_option("--tls-client-ca", options.tls.client_ca,
                 "PEM file of the authorities whose certificates clients must show");
  app.add_flag("--insecure", options.insecure,
               "listen beyond loopback even without TLS or without tokens");
  app.add_flag("--reflection", options.reflection,
               "offer gRPC's reflection where tokens are asked for, to callers without one too");
  app.add_flag("--channelz", options.channelz,
               "offer gRPC's channelz, to callers without a token too");
  app.add_flag("--metrics-open", options.metrics_open,
               "show /metrics to callers without a token too, where tokens are asked for");
  app.add_option("--max-calls", options.max_calls_per_caller,
                 "calls that one caller may have at a time, streams included; 0: any number")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

}  // namespace mercer::server
