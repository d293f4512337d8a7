#include "tests/hostile/hostile_fixture.h"

#include <fstream>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "server/access/token_table.h"
#include "tests/support/peak_growth.h"

namespace mercer::server {

HostileTest::HostileTest() : token_(*MakeToken()) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  folder_ = std::filesystem::temp_directory_path() /
            absl::StrCat("mercer_hostile_", getpid(), "_", test.name());
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
  const std::filesystem::path tokens = folder_ / "tokens";
  ScopeSet scopes;
  scopes.Add(Scope::kRead);
  scopes.Add(Scope::kTrain);
  std::ofstream(tokens) << *TokenLine("ada", scopes, token_) << "\n";
  std::filesystem::permissions(tokens, std::filesystem::perms::owner_read);
  ServerProcessOptions options;
  options.data_dir = folder_ / "data";
  options.flags = {"--tokens", tokens};
  server_ = std::make_unique<ServerProcess>(options);
  EXPECT_TRUE(server_->WaitUntilListening()) << server_->Log();
  ExpectHealthy();
  const std::string log = server_->Log();
  const std::string before = "dashboard url=http://127.0.0.1:";
  const size_t port = log.find(before) + before.size();
  EXPECT_TRUE(absl::SimpleAtoi(log.substr(port, log.find('/', port) - port), &http_port_)) << log;
  bytes_at_start_ = server_->StatusBytes("VmHWM");
}

HostileTest::~HostileTest() {
  server_.reset();
  std::filesystem::remove_all(folder_);
}

std::shared_ptr<grpc::Channel> HostileTest::NewChannel() const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxSendMessageSize(-1);
  return grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(),
                                   arguments);
}

void HostileTest::ExpectPeakWithin(int64_t bytes) const {
  if (kGrowthIsMemoryHeld) {
    EXPECT_LT(server_->StatusBytes("VmHWM") - bytes_at_start_, bytes);
  }
}

void HostileTest::ExpectHealthy() const {
  const absl::Time begin = absl::Now();
  const grpc::Status status =
      CallRaw(NewChannel(), {.path = "/grpc.health.v1.Health/Check", .message = MessageOf("")});
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
}

}  // namespace mercer::server
