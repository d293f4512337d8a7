#include "server/rpc/call_slots.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

TEST(CallSlotsTest, EachCallerHasHisOwn) {
  CallSlots slots(2);
  auto first = slots.Take("ada");
  auto second = slots.Take("ada");
  ASSERT_TRUE(first.ok() && second.ok());
  const absl::Status refused = slots.Take("ada").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetReason(refused), "TOO_MANY_CALLS");
  EXPECT_TRUE(slots.Take("bob").ok());
  second = CallSlots::Slot();
  EXPECT_EQ(slots.taken("ada"), 1);
  EXPECT_TRUE(slots.Take("ada").ok());
}

TEST(CallSlotsTest, ASlotIsGivenBackOnceWhereverItIsMoved) {
  CallSlots slots(2);
  {
    CallSlots::Slot slot = *slots.Take("ada");
    CallSlots::Slot other = std::move(slot);
    CallSlots::Slot third;
    third = std::move(other);
    EXPECT_EQ(slots.taken("ada"), 1);
  }
  EXPECT_EQ(slots.taken("ada"), 0);
}

TEST(CallSlotsTest, CallsThatEndWorkHaveTheirOwn) {
  CallSlots slots(1);
  const auto watching = slots.Take("ada");
  ASSERT_TRUE(watching.ok());
  EXPECT_FALSE(slots.Take("ada").ok());
  const auto cancelling = slots.Take("ada", CallSlots::kEndsWork);
  EXPECT_TRUE(cancelling.ok());
  EXPECT_FALSE(slots.Take("ada", CallSlots::kEndsWork).ok());
  EXPECT_EQ(slots.taken("ada"), 1);
  EXPECT_EQ(slots.taken("ada", CallSlots::kEndsWork), 1);
}

TEST(CallSlotsTest, ZeroSetsNoLimit) {
  CallSlots slots(0);
  std::vector<CallSlots::Slot> taken;
  for (int i = 0; i < 1000; ++i) {
    auto slot = slots.Take("ada");
    ASSERT_TRUE(slot.ok());
    taken.push_back(*std::move(slot));
  }
}

TEST(CallSlotsTest, ANewLimitCountsTheCallsThatRun) {
  CallSlots slots(0);
  auto first = slots.Take("ada");
  auto second = slots.Take("ada");
  ASSERT_TRUE(first.ok() && second.ok());
  slots.SetLimit(2);
  EXPECT_EQ(GetReason(slots.Take("ada").status()), "TOO_MANY_CALLS");
  slots.SetLimit(1);
  second = CallSlots::Slot();
  EXPECT_FALSE(slots.Take("ada").ok());
  first = CallSlots::Slot();
  EXPECT_TRUE(slots.Take("ada").ok());
}

}  // namespace
}  // namespace mercer::server
