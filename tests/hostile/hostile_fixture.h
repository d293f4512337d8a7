// A server in a process of its own that asks for tokens, and what strangers may cost it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/support/server/raw_call.h"
#include "tests/support/server/server_process.h"

namespace mercer::server {

class HostileTest : public testing::Test {
 protected:
  HostileTest();
  ~HostileTest() override;

  // What the server has logged so far.
  std::string Log() const { return server_->Log(); }
  // Of gRPC, "127.0.0.1:PORT".
  std::string address() const { return server_->address(); }
  // Of HTTP.
  int http_port() const { return http_port_; }
  // A connection of its own to the port of gRPC.
  std::shared_ptr<grpc::Channel> NewChannel() const;
  // Expects that the server's memory has not grown beyond what it was after its start by more than `bytes`, at any moment.
  void ExpectPeakWithin(int64_t bytes) const;
  // Expects that it answers a health check within a second.
  void ExpectHealthy() const;

  const std::string token_;  // of somebody who may read and train

 private:
  std::filesystem::path folder_;
  std::unique_ptr<ServerProcess> server_;
  int http_port_ = 0;
  int64_t bytes_at_start_ = 0;
};

}  // namespace mercer::server
