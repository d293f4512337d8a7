// A server with a door: a token file, a log that is read, calls with any header.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <google/protobuf/descriptor.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "mercer/v1/admin_service.pb.h"
#include "server/access/token_table.h"
#include "tests/integration/test_server.h"
#include "tests/support/server/raw_call.h"

namespace mercer::server {

// Every RPC of ours: "TrainingService/Train".
inline std::vector<std::string> AllMethods() {
  // Referred to by name alone, the file would not be linked.
  v1::BackupRequest::descriptor();
  std::vector<std::string> methods;
  for (const char* service : {"AdminService", "DatasetService", "ModelService", "PredictionService",
                              "ServerService", "TrainingService"}) {
    const google::protobuf::ServiceDescriptor* descriptor =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            absl::StrCat("mercer.v1.", service));
    EXPECT_NE(descriptor, nullptr) << service;
    for (int m = 0; descriptor != nullptr && m < descriptor->method_count(); ++m) {
      methods.push_back(absl::StrCat(service, "/", descriptor->method(m)->name()));
    }
  }
  return methods;
}

class AccessTest : public ServerTest {
 protected:
  AccessTest() {
    std::filesystem::create_directories(folder_);
    options_.data_dir = folder_ / "data";
    options_.listen = "127.0.0.1:0";
    options_.access.reload_interval = absl::Hours(1);  // tests say when
  }
  ~AccessTest() override { server_.reset(); }

  // Adds the token "secret-<name>" to the file of the tokens, which the server uses from its start.
  void AddToken(const std::string& name, const std::string& scopes,
                absl::Time expires = absl::InfiniteFuture(), const std::string& groups = "") {
    const auto set = ParseScopes(scopes);
    ASSERT_TRUE(set.ok()) << set.status();
    lines_[name] = *TokenLine(name, *set, "secret-" + name, expires, groups);
    WriteTokens();
  }
  void RemoveToken(const std::string& name) {
    lines_.erase(name);
    WriteTokens();
  }
  void WriteTokens() {
    options_.access.tokens = folder_ / "tokens";
    std::ofstream file(options_.access.tokens);
    for (const auto& [name, line] : lines_) {
      file << line << "\n";
    }
  }
  static Headers TokenOf(const std::string& name) {
    return {{"authorization", "Bearer secret-" + name}};
  }
  // A call with the token of `name`.
  template <typename Stub, typename Request, typename Response>
  static grpc::Status CallAs(const std::string& name, Stub& stub,
                             grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                          Response*),
                             const Request& request, Response* response) {
    grpc::ClientContext context;
    SendToken(context, name);
    return (stub.*method)(&context, request, response);
  }
  static void SendToken(grpc::ClientContext& context, const std::string& name) {
    context.AddMetadata("authorization", "Bearer secret-" + name);
  }

  void Start() {
    auto log = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_text_));
    log->set_level(spdlog::level::debug);
    auto server = Server::Start(options_, log);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = server_->InProcessChannel();
    datasets_ = v1::DatasetService::NewStub(channel_);
    training_ = v1::TrainingService::NewStub(channel_);
    prediction_ = v1::PredictionService::NewStub(channel_);
  }
  // The log, once nobody writes to it any more.
  std::string StopAndReadLog() {
    DrainServer();
    return log_text_.str();
  }

  grpc::Status Call(const std::string& method, const Headers& headers,
                    std::chrono::milliseconds limit = std::chrono::minutes(2)) {
    return CallRaw(channel_, {.path = "/mercer.v1." + method,
                              .message = MessageOf(""),
                              .headers = headers,
                              .limit = limit});
  }

  ServerOptions options_;
  std::map<std::string, std::string> lines_;
  std::ostringstream log_text_;
};

}  // namespace mercer::server
