// Bad messages without end are no log without end.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>

#include "tests/hostile/hostile_fixture.h"

namespace mercer::server {
namespace {

class LogFloodTest : public HostileTest {};

TEST_F(LogFloodTest, NamesThatAreNoUtf8GetFewLines) {
  const grpc::ByteBuffer message = MessageOf("\x0a\x01\xff");  // field 1, one byte
  const auto channel = NewChannel();
  for (int i = 0; i < 2000; ++i) {
    const RawCall call = {.path = "/mercer.v1.TrainingService/GetJob", .message = message};
    ASSERT_FALSE(CallRaw(channel, call).ok());
  }
  const std::string log = Log();
  const auto lines = std::count(log.begin(), log.end(), '\n');
  EXPECT_LT(lines, 500) << log.substr(0, 2000);
  EXPECT_THAT(log, testing::Not(testing::HasSubstr("[libprotobuf")));
}

}  // namespace
}  // namespace mercer::server
