// A server in a process of its own that asks for tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "tests/support/server/server_process.h"

namespace mercer::server {

class HostileServer {
 public:
  // Starts it with its data in `folder`, which goes with it.
  explicit HostileServer(std::filesystem::path folder);
  ~HostileServer();
  HostileServer(const HostileServer&) = delete;
  HostileServer& operator=(const HostileServer&) = delete;

  // What it has logged so far.
  std::string Log() const { return server_->Log(); }
  // Of gRPC, "127.0.0.1:PORT".
  const std::string& address() const { return server_->address(); }
  // Of HTTP.
  int http_port() const { return http_port_; }
  // A connection of its own to the port of gRPC.
  std::shared_ptr<grpc::Channel> NewChannel() const;
  // By how much its memory has grown at most, at any moment since its start.
  int64_t PeakBytes() const { return server_->StatusBytes("VmHWM") - bytes_at_start_; }
  // Of somebody who may read, predict and train.
  const std::string& token() const { return token_; }

 private:
  const std::filesystem::path folder_;
  const std::string token_;
  std::unique_ptr<ServerProcess> server_;
  int http_port_ = 0;
  int64_t bytes_at_start_ = 0;
};

}  // namespace mercer::server
