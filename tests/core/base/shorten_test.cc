#include "core/base/status/shorten.h"

#include <gtest/gtest.h>

namespace mercer {
namespace {

TEST(ShortenTest, ShortTextStaysAsItIs) {
  EXPECT_EQ(Shorten("", 3), "");
  EXPECT_EQ(Shorten("abcdef", 6), "abcdef");
}

TEST(ShortenTest, LongTextKeepsItsBeginningWithinTheLimit) {
  EXPECT_EQ(Shorten("abcdefg", 6), "abc...");
  EXPECT_EQ(Shorten("abcdefg", 3), "...");
}

// Characters of two, three and four bytes, cut at every place.
TEST(ShortenTest, CharactersStayWhole) {
  const std::string text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z and more";
  const size_t ends[] = {0, 1, 3, 6, 10};
  for (size_t limit = 3; limit < 14; ++limit) {
    const std::string shortened = Shorten(text, limit);
    ASSERT_LE(shortened.size(), limit);
    ASSERT_EQ(shortened.substr(shortened.size() - 3), "...");
    const size_t kept = shortened.size() - 3;
    size_t expected = 0;
    for (const size_t end : ends) {
      expected = end <= limit - 3 ? end : expected;
    }
    EXPECT_EQ(kept, expected) << limit;
    EXPECT_EQ(shortened.substr(0, kept), text.substr(0, kept));
  }
}

TEST(ShortenTest, BytesThatAreNoTextAreCutAnywhere) {
  EXPECT_EQ(Shorten(std::string(100, '\x80'), 20), std::string(17, '\x80') + "...");
}

}  // namespace
}  // namespace mercer
