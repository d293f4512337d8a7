// What a connection may send without being taken for a flood.
#include "server/app/flood_gauge.h"

#include <gtest/gtest.h>

namespace mercer::server {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class FloodGaugeTest : public testing::Test {
 protected:
  // Looks a moment later, when `bytes` more have come.
  const char* LookAfter(int64_t bytes) {
    bytes_.received += bytes;
    now_ += absl::Milliseconds(50);
    return gauge_.Look(*load_, bytes_, now_);
  }

  const std::shared_ptr<ConnectionLoad> load_ = std::make_shared<ConnectionLoad>();
  FloodGauge gauge_;
  TcpBytes bytes_;
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
};

TEST_F(FloodGaugeTest, BytesOfNoCallAreAFlood) {
  EXPECT_EQ(LookAfter(100'000), nullptr);
  EXPECT_EQ(LookAfter(100'000), nullptr);
  EXPECT_NE(LookAfter(kMiB), nullptr);
}

TEST_F(FloodGaugeTest, PingsForAYearAreNone) {
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(LookAfter(17), nullptr);
  }
}

TEST_F(FloodGaugeTest, AnUploadOfAnySizeIsNone) {
  CallLoad call(load_);
  call.Admit(64 * kMiB);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(LookAfter(10 * kMiB), nullptr) << i;
    ASSERT_EQ(LookAfter(10 * kMiB + 40'000), nullptr) << i;
    call.Receive(20 * kMiB);
  }
}

TEST_F(FloodGaugeTest, AnUploadThatBreaksOffIsNone) {
  for (int i = 0; i < 10; ++i) {
    {
      CallLoad call(load_);
      call.Admit(64 * kMiB);
      ASSERT_EQ(LookAfter(60 * kMiB), nullptr);  // of a message that never is whole
      call.Cancel();
    }
    ASSERT_EQ(LookAfter(0), nullptr);
  }
}

TEST_F(FloodGaugeTest, MakingRoomForWhatIsSentIsNone) {
  CallLoad call(load_);
  call.Admit(64 << 10);
  for (int i = 0; i < 100'000; ++i) {  // a terabyte, with a frame of 13 bytes for each 8 KiB
    bytes_.acknowledged += 10 * kMiB;
    ASSERT_EQ(LookAfter(10 * kMiB / 8192 * 13), nullptr) << i;
  }
}

TEST_F(FloodGaugeTest, ManySmallCallsAreNone) {
  for (int i = 0; i < 1000; ++i) {
    for (int k = 0; k < 500; ++k) {
      CallLoad call(load_);
      call.Admit(64 << 10);
      call.Receive(1000);
    }
    ASSERT_EQ(LookAfter(500 * 1500), nullptr);
  }
}

TEST_F(FloodGaugeTest, CallsWithoutEndOfStrangersAreAFlood) {
  EXPECT_EQ(LookAfter(100), nullptr);
  for (int i = 0; i < 100; ++i) {
    const CallLoad call(load_);
  }
  EXPECT_EQ(LookAfter(100 * 100), nullptr);
  for (int i = 0; i < 500; ++i) {
    const CallLoad call(load_);
  }
  EXPECT_NE(LookAfter(500 * 100), nullptr);
}

TEST_F(FloodGaugeTest, CallersMayGiveUpMoreThanStrangersMayCall) {
  const auto give_up = [this](int calls) {
    for (int i = 0; i < calls; ++i) {
      CallLoad call(load_);
      call.Admit(64 << 10);
      call.Cancel();
    }
  };
  EXPECT_EQ(LookAfter(100), nullptr);
  give_up(1500);
  EXPECT_EQ(LookAfter(1500 * 100), nullptr);
  give_up(1500);
  EXPECT_NE(LookAfter(1500 * 100), nullptr);
}

}  // namespace
}  // namespace mercer::server
