// Bounds of docs/security.md that no other test has.
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "tests/hostile/hostile_fixture.h"
#include "tests/hostile/http2_client.h"

namespace mercer::server {
namespace {

class BoundsTest : public HostileTest {
 protected:
  // Whether health checks are answered with `code` before long.
  bool HealthComesToBe(grpc::StatusCode code) const {
    const absl::Time end = absl::Now() + absl::Seconds(30);
    while (absl::Now() < end) {
      const RawCall call = {.path = "/grpc.health.v1.Health/Check", .message = MessageOf("")};
      if (CallRaw(NewChannel(), call).error_code() == code) {
        return true;
      }
    }
    return false;
  }
};

TEST_F(BoundsTest, HealthChecksHaveTheirOwn) {
  constexpr uint32_t kClients = 4;
  constexpr uint32_t kWatches = 300;  // of each; more at once would be a flood
  const std::string headers = Http2Client::CallHeaders("/grpc.health.v1.Health/Watch");
  std::vector<std::unique_ptr<Http2Client>> clients;
  for (uint32_t c = 0; c < kClients; ++c) {
    clients.push_back(std::make_unique<Http2Client>(address()));
    for (uint32_t i = 0; i < kWatches; ++i) {
      const uint32_t stream = 2 * i + 1;
      ASSERT_TRUE(clients.back()->Send(
          Http2Client::Frame(Http2Client::kHeaders, Http2Client::kEndHeaders, stream, headers) +
          Http2Client::Frame(Http2Client::kData, Http2Client::kEndStream, stream,
                             std::string(5, '\0'))));
    }
  }
  EXPECT_TRUE(HealthComesToBe(grpc::StatusCode::RESOURCE_EXHAUSTED)) << Log();
  clients.clear();
  EXPECT_TRUE(HealthComesToBe(grpc::StatusCode::OK)) << Log();
}

}  // namespace
}  // namespace mercer::server
