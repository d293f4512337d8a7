// A server that asks for tokens, and what strangers may cost it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/hostile/hostile_server.h"
#include "tests/support/server/raw_call.h"

namespace mercer::server {

class HostileTest : public testing::Test {
 protected:
  HostileTest();

  std::string Log() const { return server_.Log(); }
  std::string address() const { return server_.address(); }
  int http_port() const { return server_.http_port(); }
  std::shared_ptr<grpc::Channel> NewChannel() const { return server_.NewChannel(); }
  const std::string& token() const { return server_.token(); }
  const HostileServer& server() const { return server_; }
  // Expects that the server's memory has not grown beyond what it was after its start by more than `bytes`, at any moment.
  void ExpectPeakWithin(int64_t bytes) const;
  // Expects that it answers a health check, and where nothing else keeps the processors busy, within a second: at once, or when five
  // seconds at most have gone by, in which it works off what came before.
  void ExpectHealthy() const;
  // Whether something else did when the test began: then nobody can judge how soon a server answers.
  bool machine_is_busy() const { return machine_is_busy_; }

 private:
  const bool machine_is_busy_;
  const HostileServer server_;
};

}  // namespace mercer::server
