// Clients that say nothing, or next to nothing for ever, and more of them than there is room for.
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "tests/network/network_fixture.h"
#include "tests/network/raw_client.h"
#include "tests/support/server/server_process.h"

namespace mercer::server {
namespace {

constexpr absl::Duration kAges = absl::Seconds(30);
constexpr char kDataFrame = 0;
constexpr char kUnknownFrame = 0x7f;

class SlowClientTest : public NetworkTest {
 protected:
  // Longer than an honest handshake takes beside other programs.
  SlowClientTest() { options_.access.handshake_limit = absl::Seconds(1); }
};

TEST_F(SlowClientTest, ConnectionsThatSayNothingAreClosed) {
  Start();
  std::vector<RawClient> silent;
  for (int i = 0; i < 20; ++i) {
    silent.emplace_back(server_->port());
    ASSERT_TRUE(silent.back().connected());
  }
  for (const RawClient& client : silent) {
    EXPECT_TRUE(client.IsClosedWithin(kAges));
  }
  EXPECT_TRUE(direct_->ListJobs({}, 1).ok());
}

TEST_F(SlowClientTest, GreetingThatComesByteByByteIsNotWaitedFor) {
  Start();
  const RawClient client(server_->port());
  ASSERT_TRUE(client.connected());
  const std::string greeting = RawClient::Greeting();
  const auto size = static_cast<int>(greeting.size());
  EXPECT_LT(client.Drip(greeting, absl::Milliseconds(100), size), size);
}

// A frame that a server skips may have 16 MiB.
TEST_F(SlowClientTest, BytesForEverWithoutACallEndWithTheIdleLimit) {
  options_.access.idle_limit = absl::Milliseconds(300);
  Start();
  const RawClient client(server_->port());
  ASSERT_TRUE(client.Send(RawClient::Greeting()));
  const std::string frame = RawClient::Frame(kUnknownFrame, 0, 0, std::string(16'384, 'x'));
  constexpr int kMost = 10'000;
  EXPECT_LT(client.Drip(frame, absl::Milliseconds(5), kMost), kMost);
}

// Nobody can tell a bad client from a bad line here: the call may go on, and costs nobody else anything.
TEST_F(SlowClientTest, CallsThatComeByteByByteDelayNeitherOthersNorTheDrain) {
  Start();
  std::vector<RawClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back(server_->port());
    ASSERT_TRUE(clients.back().Send(absl::StrCat(
        RawClient::Greeting(), RawClient::CallHeaders("/mercer.v1.TrainingService/ListJobs"))));
  }
  // Frames of one byte of a message that is said to have a megabyte.
  std::string frames;
  for (const char* byte : {"\0", "\0", "\x10", "\0", "\0"}) {
    absl::StrAppend(&frames, RawClient::Frame(kDataFrame, 0, 1, std::string_view(byte, 1)));
  }
  for (const RawClient& client : clients) {
    ASSERT_TRUE(client.Send(frames));
  }
  const std::string one_byte = RawClient::Frame(kDataFrame, 0, 1, "x");
  std::vector<std::jthread> dripping;
  for (const RawClient& client : clients) {
    dripping.emplace_back([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && client.Send(one_byte) &&
             !client.IsClosedWithin(absl::Milliseconds(1))) {
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(direct_->ListJobs({}, 1).ok());
  }
  EXPECT_LT(TimeToDrain(), kDrainAtOnce);
  for (const RawClient& client : clients) {
    EXPECT_TRUE(client.IsClosedWithin(kAges));
  }
}

class ManyConnectionsTest : public NetworkTest {
 protected:
  // A server with so many files; half of them are for connections.
  void Start(uint64_t files) {
    ServerProcessOptions options;
    options.data_dir = folder_;
    options.max_files = files;
    process_ = std::make_unique<ServerProcess>(options);
    ASSERT_TRUE(process_->WaitUntilListening()) << process_->Log();
    const std::string& address = process_->address();
    ASSERT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port_));
  }
  int OpenFiles() const {
    int files = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator(absl::StrCat("/proc/", process_->pid(), "/fd"))) {
      ++files;
    }
    return files;
  }

  bool IsServedOnANewConnection() const {
    grpc::ClientContext context;
    v1::ListJobsResponse response;
    return Stubs(process_->address())
        .training->ListJobs(&context, v1::ListJobsRequest(), &response)
        .ok();
  }

  std::unique_ptr<ServerProcess> process_;
  int port_ = 0;
};

TEST_F(ManyConnectionsTest, ConnectionsBeyondTheLimitAreClosedAtOnceAndHarmNobody) {
  constexpr int kFiles = 160;
  constexpr int kMost = kFiles / 2;
  Start(kFiles);
  client::Client early(OnlyOnce(process_->address()));
  ASSERT_TRUE(early.ListJobs({}, 1).ok());
  {
    std::vector<RawClient> clients;
    int served = 0;
    for (int i = 0; i < 2 * kMost; ++i) {
      clients.emplace_back(port_);
      ASSERT_TRUE(clients.back().connected());
      served += clients.back().Hear() ? 1 : 0;  // gRPC's settings come first
    }
    EXPECT_EQ(served, kMost - 1) << "one is the early client's";
    EXPECT_LT(OpenFiles(), kFiles);
    EXPECT_TRUE(early.ListJobs({}, 1).ok()) << "who is there stays";
    EXPECT_FALSE(IsServedOnANewConnection());
  }
  EXPECT_TRUE(WaitFor([this] { return IsServedOnANewConnection(); })) << "there is room again";
}

}  // namespace
}  // namespace mercer::server
