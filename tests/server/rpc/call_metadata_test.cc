#include "server/rpc/call_metadata.h"

#include <gtest/gtest.h>

namespace mercer::server {
namespace {

// The example of the recommendation.
constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kHeader[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContextTest, GivesTheTraceId) { EXPECT_EQ(ParseTraceParent(kHeader), kTrace); }

TEST(TraceContextTest, LaterVersionsMayGoOnAfterADash) {
  const std::string later = "cc" + std::string(kHeader).substr(2);
  EXPECT_EQ(ParseTraceParent(later), kTrace);
  EXPECT_EQ(ParseTraceParent(later + "-what-the-future-will-be-like"), kTrace);
  EXPECT_EQ(ParseTraceParent(later + ".more"), std::nullopt);
  EXPECT_EQ(ParseTraceParent(std::string(kHeader) + "-more"), std::nullopt);
}

TEST(TraceContextTest, OtherTextsAreNoHeaders) {
  for (const char* text : {
           "",
           "00",
           "00-",
           "00-4bf92f3577b34da6a3ce929d0e0e4736",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e473600f067aa0ba902b7-01",
       }) {
    EXPECT_EQ(ParseTraceParent(text), std::nullopt) << text;
  }
  for (size_t length = 0; length < sizeof(kHeader) - 1; ++length) {
    EXPECT_EQ(ParseTraceParent(std::string_view(kHeader, length)), std::nullopt) << length;
  }
}

}  // namespace
}  // namespace mercer::server
