#include "core/base/status/near_names.h"

#include <gtest/gtest.h>

namespace mercer {
namespace {

using Names = std::vector<std::string>;

TEST(NearNamesTest, EditDistanceCountsLetters) {
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("spam", "spam"), 0);
  EXPECT_EQ(EditDistance("spma", "spam"), 1);
  EXPECT_EQ(EditDistance("ca", "abc"), 3);
  EXPECT_EQ(EditDistance("spm", "spam"), EditDistance("spam", "spm"));
}

TEST(NearNamesTest, NearestNamesComeFirst) {
  const Names known = {"models/spam-2", "models/other", "models/spam"};
  EXPECT_EQ(NearNames("models/spam-", known), (Names{"models/spam", "models/spam-2"}));
  EXPECT_EQ(NearNames("models/mushroom", known), Names());
}

TEST(NearNamesTest, ShortNamesAreNotLikeEachOther) {
  EXPECT_EQ(NearNames("models/a", {"models/b"}), Names());
  EXPECT_EQ(NearNames("models/abc", {"models/xyc", "models/ab"}), Names{"models/ab"});
}

TEST(NearNamesTest, CapitalsAreAsGoodAsSmallLetters) {
  EXPECT_EQ(NearNames("c", {"C", "p"}), Names{"C"});
  EXPECT_EQ(NearNames("tagret", {"Target"}), Names{"Target"});
  EXPECT_EQ(NearNames("C", {"C"}), Names());
}

TEST(NearNamesTest, LongListsAndNamesCostLittle) {
  Names many(20'000, "other");
  many.push_back("target");
  EXPECT_EQ(NearNames("tagret", many), Names());
  EXPECT_EQ(NearNames(std::string(101, 'x'), {std::string(100, 'x')}), Names());
}

TEST(NearNamesTest, TheEndOfAMessage) {
  EXPECT_EQ(DidYouMean("lpmkl", {"svm", "lp_mkl"}), "; did you mean 'lp_mkl'?");
  EXPECT_EQ(DidYouMean("spam1", {"spam2", "spam3"}), "; did you mean 'spam2' or 'spam3'?");
  EXPECT_EQ(DidYouMean("lpmkl", {"csi"}), "");
}

}  // namespace
}  // namespace mercer
