#include "tests/hostile/hostile_server.h"

#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include <gtest/gtest.h>

#include "server/access/token_table.h"

namespace mercer::server {

HostileServer::HostileServer(std::filesystem::path folder)
    : folder_(std::move(folder)), token_(*MakeToken()) {
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
  const std::filesystem::path tokens = folder_ / "tokens";
  ScopeSet scopes;
  for (const Scope scope : {Scope::kRead, Scope::kPredict, Scope::kTrain}) {
    scopes.Add(scope);
  }
  std::ofstream(tokens) << *TokenLine("ada", scopes, token_) << "\n";
  std::filesystem::permissions(tokens, std::filesystem::perms::owner_read);
  ServerProcessOptions options;
  options.data_dir = folder_ / "data";
  options.flags = {"--tokens", tokens};
  server_ = std::make_unique<ServerProcess>(options);
  EXPECT_TRUE(server_->WaitUntilListening()) << server_->Log();
  const std::string log = server_->Log();
  const std::string before = "dashboard url=http://127.0.0.1:";
  const size_t port = log.find(before) + before.size();
  EXPECT_TRUE(absl::SimpleAtoi(log.substr(port, log.find('/', port) - port), &http_port_)) << log;
  bytes_at_start_ = server_->StatusBytes("VmHWM");
}

HostileServer::~HostileServer() {
  server_.reset();
  std::filesystem::remove_all(folder_);
}

std::shared_ptr<grpc::Channel> HostileServer::NewChannel() const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxSendMessageSize(-1);
  return grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace mercer::server
