// Memory for work that is no job.
#include "server/jobs/memory_shares.h"

#include <gtest/gtest.h>

namespace mercer::server {
namespace {

TEST(MemorySharesTest, SharesAreGrantedInTheOrderOfTheWishes) {
  MemoryShares shares;
  const auto first = shares.Ask(60);
  const auto second = shares.Ask(50);
  const auto third = shares.Ask(10);
  EXPECT_EQ(shares.bytes(), 120);
  EXPECT_TRUE(shares.Fits(first, 100));
  EXPECT_FALSE(shares.Fits(second, 100));
  EXPECT_FALSE(shares.Fits(third, 100)) << "a small one does not overtake";
  shares.GiveBack(first);
  EXPECT_TRUE(shares.Fits(second, 100));
  EXPECT_TRUE(shares.Fits(third, 100));
  EXPECT_FALSE(shares.Fits(second, 49));
  shares.GiveBack(second);
  shares.GiveBack(third);
  EXPECT_EQ(shares.bytes(), 0);
}

}  // namespace
}  // namespace mercer::server
