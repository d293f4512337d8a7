// Health checks that strangers begin and never end.
#include <string>

#include <gtest/gtest.h>

#include "tests/hostile/hostile_fixture.h"
#include "tests/hostile/http2_client.h"

namespace mercer::server {
namespace {

using HealthPlacesTest = HostileTest;

TEST_F(HealthPlacesTest, WhoeverTakesAllPlacesKeepsNobodyFromHisCheck) {
  const std::string headers = Http2Client::CallHeaders("/grpc.health.v1.Health/Watch");
  std::string bytes;
  for (uint32_t call = 0; call < 1000; ++call) {
    bytes +=
        Http2Client::Frame(Http2Client::kHeaders, Http2Client::kEndHeaders, 2 * call + 1, headers);
  }
  // More connections than have room; beyond it each has the one place of its own.
  Http2Client first(address());
  Http2Client second(address());
  EXPECT_TRUE(first.Send(bytes));
  EXPECT_TRUE(second.Send(bytes));
  for (int check = 0; check < 3; ++check) {
    ExpectHealthy();
  }
}

}  // namespace
}  // namespace mercer::server
