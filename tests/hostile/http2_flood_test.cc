// Floods of HTTP/2 that no limit of gRPC's holds back.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hostile/hostile_fixture.h"
#include "tests/hostile/http2_client.h"
#include "tests/support/sanitized.h"

namespace mercer::server {
namespace {

constexpr int64_t kMostMemory = int64_t{512} << 20;
constexpr absl::Duration kLeastFlood = absl::Seconds(3);
constexpr absl::Duration kMostFlood = absl::Seconds(30);

class Http2FloodTest : public HostileTest {
 protected:
  void SetUp() override {
#ifdef MERCER_SANITIZED
    GTEST_SKIP() << "a sanitized server is too slow to judge";
#endif
  }

  // Sends `bytes(i)` for i = 0, 1, ... on four connections, and on others when they are broken off.
  // Ends after three seconds, on a slow machine once one was. Answers how many were.
  template <typename Bytes>
  int Flood(const Bytes& bytes) {
    std::atomic<int> broken = 0;
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&] {
        const absl::Time begin = absl::Now();
        const auto goes_on = [&broken, begin] {
          return absl::Now() < begin + (broken > 0 ? kLeastFlood : kMostFlood);
        };
        while (goes_on()) {
          Http2Client client(address());
          uint32_t next = 0;
          while (goes_on() && client.Send(bytes(next))) {
            ++next;
          }
          broken += goes_on() ? 1 : 0;
          absl::SleepFor(absl::Milliseconds(50));
        }
      });
    }
    for (std::thread& client : clients) {
      client.join();
    }
    return broken;
  }
};

TEST_F(Http2FloodTest, CallsThatAreResetAsTheyBegin) {
  for (const char* path : {"/mercer.v1.TrainingService/Train", "/grpc.health.v1.Health/Check",
                           "/no.such.Service/Method"}) {
    const std::string headers = Http2Client::CallHeaders(path);
    const int broken =
        Flood([&](uint32_t piece) { return Http2Client::ResetCalls(headers, piece); });
    EXPECT_GT(broken, 0) << path;
    ExpectHealthy();  // as another host
  }
  ExpectPeakWithin(kMostMemory);
  EXPECT_THAT(Log(), testing::HasSubstr("a connection is broken off peer=ipv4:127.0.0.2:"));
}

TEST_F(Http2FloodTest, ItsHostIsShutOut) {
  const std::string headers = Http2Client::CallHeaders("/no.such.Service/Method");
  {
    Http2Client client(address());
    for (uint32_t piece = 0; client.Send(Http2Client::ResetCalls(headers, piece)); ++piece) {
    }
  }
  EXPECT_FALSE(Http2Client(address()).IsAnswered());
  ExpectHealthy();  // as another host
}

// Those who have a token may reset some, as clients do whose deadlines are short; not as many as
// they can.
TEST_F(Http2FloodTest, CallsOfKnownCallersThatAreResetAsTheyBegin) {
  for (const char* path :
       {"/mercer.v1.TrainingService/GetJob", "/mercer.v1.TrainingService/WatchJobs",
        "/mercer.v1.PredictionService/Predict"}) {
    const std::string headers = Http2Client::CallHeaders(path, token());
    const int broken =
        Flood([&](uint32_t piece) { return Http2Client::ResetCalls(headers, piece); });
    EXPECT_GT(broken, 0) << path;
    ExpectHealthy();
  }
  ExpectPeakWithin(kMostMemory);
  EXPECT_THAT(Log(), testing::HasSubstr("a connection is broken off peer=ipv4:127.0.0.2:"));
}

// Thirty bytes each.
TEST_F(Http2FloodTest, SmallCallsOfKnownCallersThatAreResetAsTheyBegin) {
  const std::string first = Http2Client::KeptHeaders("/mercer.v1.TrainingService/GetJob", token());
  const int broken = Flood([&](uint32_t piece) {
    return piece == 0
               ? Http2Client::Frame(Http2Client::kHeaders, Http2Client::kEndHeaders, 1, first)
               : Http2Client::ResetCalls(Http2Client::HeadersAgain(), piece);
  });
  EXPECT_GT(broken, 0) << Log();
  ExpectPeakWithin(kMostMemory);
  ExpectHealthy();
}

// One field whose value has 2^28 bytes and more (RFC 7541, 5.1), in pieces.
std::string HeadersWithoutEnd(uint32_t stream, uint32_t piece) {
  return piece == 0
             ? Http2Client::Frame(Http2Client::kHeaders, 0, stream,
                                  Http2Client::CallHeaders("/mercer.v1.TrainingService/Train") +
                                      std::string("\0\x01x\x7f\xff\xff\xff\x7f", 8))
             : Http2Client::Frame(Http2Client::kContinuation, 0, stream, std::string(16384, 'x'));
}

TEST_F(Http2FloodTest, HeadersWithoutEnd) {
  const int broken = Flood([&](uint32_t piece) { return HeadersWithoutEnd(1, piece); });
  EXPECT_GT(broken, 0) << Log();
  ExpectPeakWithin(kMostMemory);
  ExpectHealthy();
  EXPECT_THAT(Log(), testing::HasSubstr("it sends what belongs to no call"));
}

// As much as the rest of a refused message may have, and held by as many connections as one host has at once.
TEST_F(Http2FloodTest, HeadersWithoutEndThatStopAfterARefusedCall) {
  const std::string refused =
      Http2Client::Frame(Http2Client::kHeaders, Http2Client::kEndHeaders | Http2Client::kEndStream,
                         1, Http2Client::CallHeaders("/mercer.v1.TrainingService/Train"));
  std::vector<std::unique_ptr<Http2Client>> held;
  for (int i = 0; i < 40; ++i) {
    auto client = std::make_unique<Http2Client>(address());
    bool is_open = client->Send(refused);
    for (uint32_t piece = 0; is_open && piece < 20 * 64; ++piece) {  // 20 MiB
      is_open = client->Send(HeadersWithoutEnd(3, piece));
    }
    held.push_back(std::move(client));
  }
  ExpectPeakWithin(kMostMemory);
  ExpectHealthy();  // as another host
  EXPECT_THAT(Log(), testing::HasSubstr("it sends what belongs to no call"));
}

}  // namespace
}  // namespace mercer::server
