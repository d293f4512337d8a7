// What a connection may send without being taken for a flood.
#include "server/app/flood_gauge.h"

#include <vector>

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
    AllConnections all = {.waiting_calls = waiting_calls_, .moment_bytes = moment_bytes_};
    return gauge_.Look(*load_, bytes_, all, now_);
  }

  // Admitted calls, which may have large messages.
  std::vector<CallLoad> Begin(int calls) {
    std::vector<CallLoad> begun;
    for (int i = 0; i < calls; ++i) {
      begun.emplace_back(load_).Admit(64 * kMiB);
    }
    return begun;
  }
  void GiveUp(int calls) {
    for (CallLoad& call : Begin(calls)) {
      call.Cancel();
    }
  }

  const std::shared_ptr<ConnectionLoad> load_ = std::make_shared<ConnectionLoad>();
  FloodGauge gauge_;
  TcpBytes bytes_;
  int64_t waiting_calls_ = 0;
  int64_t moment_bytes_ = AllConnections().moment_bytes;
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
};

TEST_F(FloodGaugeTest, BytesOfNoCallAreAFlood) {
  EXPECT_EQ(LookAfter(100'000), nullptr);
  EXPECT_EQ(LookAfter(100'000), nullptr);
  EXPECT_NE(LookAfter(kMiB), nullptr);
}

TEST_F(FloodGaugeTest, BytesOfACallThatWaitsAreNone) {
  waiting_calls_ = 1;
  EXPECT_EQ(LookAfter(2 * kMiB), nullptr);
  EXPECT_NE(LookAfter(40 * kMiB), nullptr);
}

// Of a new connection gRPC may have read much before it begins the first call.
TEST_F(FloodGaugeTest, BytesBeforeTheFirstCallAreNone) {
  EXPECT_EQ(LookAfter(6 * kMiB), nullptr);
  { const CallLoad refused(load_); }
  EXPECT_EQ(LookAfter(kMiB), nullptr);
}

TEST_F(FloodGaugeTest, BytesOfANewConnectionThatGoOnAreAFlood) {
  EXPECT_EQ(LookAfter(4 * kMiB), nullptr);
  EXPECT_EQ(LookAfter(kMiB), nullptr);
  EXPECT_NE(LookAfter(kMiB), nullptr);
}

// Who sends a large message hears only after a while that its call was refused.
TEST_F(FloodGaugeTest, RestOfARefusedMessageIsNone) {
  EXPECT_EQ(LookAfter(100), nullptr);
  { const CallLoad refused(load_); }
  EXPECT_EQ(LookAfter(20 * kMiB), nullptr);
  EXPECT_EQ(LookAfter(5 * kMiB), nullptr);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(LookAfter(0), nullptr);
    ASSERT_EQ(LookAfter(17), nullptr);
  }
}

TEST_F(FloodGaugeTest, SeveralRefusedMessagesAreNone) {
  for (int i = 0; i < 3; ++i) {
    { const CallLoad refused(load_); }
    ASSERT_EQ(LookAfter(6 * kMiB), nullptr);
    ASSERT_EQ(LookAfter(2 * kMiB), nullptr);
    for (int look = 0; look < 20; ++look) {
      ASSERT_EQ(LookAfter(0), nullptr);
    }
  }
}

TEST_F(FloodGaugeTest, RefusedMessageThatGoesOnIsAFlood) {
  EXPECT_EQ(LookAfter(100), nullptr);
  { const CallLoad refused(load_); }
  EXPECT_EQ(LookAfter(5 * kMiB), nullptr);
  EXPECT_EQ(LookAfter(kMiB), nullptr);
  EXPECT_EQ(LookAfter(kMiB), nullptr);
  EXPECT_NE(LookAfter(kMiB), nullptr);
}

// Nobody hears of anything while the server reads nothing.
TEST_F(FloodGaugeTest, TimeInWhichNothingIsReadIsNoMoment) {
  EXPECT_EQ(LookAfter(100), nullptr);
  { const CallLoad refused(load_); }
  bytes_.unread = kMiB;
  EXPECT_EQ(LookAfter(7 * kMiB), nullptr);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(LookAfter(0), nullptr);
  }
  bytes_.unread = 0;
  EXPECT_EQ(LookAfter(kMiB), nullptr);
}

TEST_F(FloodGaugeTest, PausesDoNotHideAFlood) {
  EXPECT_EQ(LookAfter(100), nullptr);
  { const CallLoad refused(load_); }
  int bursts = 0;
  for (bool is_flood = false; !is_flood; ++bursts) {
    is_flood = LookAfter(8 * kMiB) != nullptr || LookAfter(0) != nullptr;
  }
  EXPECT_EQ(bursts, 5);  // 4 MiB, and 32 MiB of a moment
}

TEST_F(FloodGaugeTest, AllConnectionsTogetherHaveFewMoments) {
  EXPECT_EQ(LookAfter(100), nullptr);
  { const CallLoad refused(load_); }
  moment_bytes_ = kMiB;
  EXPECT_EQ(LookAfter(5 * kMiB), nullptr);
  EXPECT_NE(LookAfter(kMiB), nullptr);
}

// The threads that read may be busy with others.
TEST_F(FloodGaugeTest, BytesThatNobodyHasReadAreNone) {
  bytes_.unread = 6 * kMiB;
  EXPECT_EQ(LookAfter(6 * kMiB), nullptr);
  EXPECT_EQ(LookAfter(0), nullptr);
  bytes_.unread = 5 * kMiB;
  EXPECT_NE(LookAfter(0), nullptr);
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
  EXPECT_EQ(LookAfter(100), nullptr);
  GiveUp(1500);
  EXPECT_EQ(LookAfter(1500 * 100), nullptr);
  GiveUp(1500);
  EXPECT_NE(LookAfter(1500 * 100), nullptr);
}

TEST_F(FloodGaugeTest, DeadlinesThatAreTooShortAreNone) {
  for (int look = 0; look < 100'000; ++look) {
    GiveUp(24);  // 480 in a second, without end
    ASSERT_EQ(LookAfter(24 * 500), nullptr) << look;
  }
}

TEST_F(FloodGaugeTest, EndOfAThousandStreamsNowAndThenIsNone) {
  for (int i = 0; i < 1000; ++i) {
    GiveUp(1000);
    ASSERT_EQ(LookAfter(1000 * 13), nullptr) << i;
    for (int look = 0; look < 80; ++look) {
      ASSERT_EQ(LookAfter(0), nullptr);
    }
  }
}

// As where the server is slow to begin them.
TEST_F(FloodGaugeTest, SlowResetsAreAFloodWithinSeconds) {
  int looks = 0;
  for (bool is_flood = false; !is_flood; ++looks) {
    GiveUp(50);  // 1,000 in a second
    is_flood = LookAfter(50 * 200) != nullptr;
  }
  EXPECT_LE(looks, 100);
}

// As where the server has begun calls that are reset, and comes to end none of them.
TEST_F(FloodGaugeTest, MoreCallsThanStreamsAreAFlood) {
  const std::vector<CallLoad> streams = Begin(2000);
  EXPECT_EQ(LookAfter(2000 * 100), nullptr);
  const std::vector<CallLoad> more = Begin(1);
  EXPECT_NE(LookAfter(100), nullptr);
}

// As where it has begun some of them, and others wait.
TEST_F(FloodGaugeTest, CallsThatWaitInACrowdAreAFlood) {
  const std::vector<CallLoad> calls = Begin(100);
  EXPECT_EQ(LookAfter(8000 * 30), nullptr);
  waiting_calls_ = 8000;
  EXPECT_NE(LookAfter(0), nullptr);
}

TEST_F(FloodGaugeTest, InACrowdCallsThatAreGivenUpEarnNothing) {
  waiting_calls_ = 8000;
  const std::vector<CallLoad> calls = Begin(100);
  EXPECT_EQ(LookAfter(100'000), nullptr);
  GiveUp(100);
  EXPECT_NE(LookAfter(100'000), nullptr);
}

TEST_F(FloodGaugeTest, AThousandCallsThatBeginInACrowdAreNone) {
  waiting_calls_ = 8000;
  EXPECT_EQ(LookAfter(1000 * 100), nullptr);
  const std::vector<CallLoad> calls = Begin(1000);
  EXPECT_EQ(LookAfter(0), nullptr);
}

TEST_F(FloodGaugeTest, AnUploadInACrowdIsNoneUntilTooManyWait) {
  waiting_calls_ = 8000;
  const std::vector<CallLoad> uploads = Begin(4);
  EXPECT_EQ(LookAfter(60 * kMiB), nullptr);
  waiting_calls_ = 20'000;
  EXPECT_NE(LookAfter(0), nullptr);
}

}  // namespace
}  // namespace mercer::server
