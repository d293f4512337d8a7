#include "client/cpp/cli/suggestions.h"

#include <gtest/gtest.h>

namespace mercer::client {
namespace {

TEST(SuggestionsTest, EditDistanceCountsLetters) {
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("spam", "spam"), 0);
  EXPECT_EQ(EditDistance("spma", "spam"), 1);
  EXPECT_EQ(EditDistance("ca", "abc"), 3);
  EXPECT_EQ(EditDistance("spm", "spam"), EditDistance("spam", "spm"));
}

TEST(SuggestionsTest, NearestNamesComeFirst) {
  const std::vector<std::string> known = {"models/spam-2", "models/other", "models/spam"};
  EXPECT_EQ(NearNames("models/spam-", known),
            (std::vector<std::string>{"models/spam", "models/spam-2"}));
  EXPECT_EQ(NearNames("models/mushroom", known), std::vector<std::string>());
}

TEST(SuggestionsTest, ShortNamesAreNotLikeEachOther) {
  EXPECT_EQ(NearNames("models/a", {"models/b"}), std::vector<std::string>());
  EXPECT_EQ(NearNames("models/abc", {"models/xyc", "models/ab"}),
            std::vector<std::string>{"models/ab"});
}

}  // namespace
}  // namespace mercer::client
