#include "client/cpp/cli/text.h"

#include <gtest/gtest.h>

namespace mercer::client {
namespace {

TEST(TextTest, DurationsReadLikeSpeech) {
  EXPECT_EQ(FormatElapsed(absl::Milliseconds(440)), "0.4 s");
  EXPECT_EQ(FormatElapsed(absl::Seconds(12.3)), "12 s");
  EXPECT_EQ(FormatElapsed(absl::Seconds(185)), "3 min 05 s");
  EXPECT_EQ(FormatElapsed(absl::Minutes(130)), "2 h 10 min");
  EXPECT_EQ(FormatElapsed(absl::Seconds(-1)), "0.0 s");
  EXPECT_EQ(FormatElapsed(absl::InfiniteDuration()), "for ever");
}

TEST(TextTest, BytesHaveOneDecimal) {
  EXPECT_EQ(FormatBytes(812), "812 B");
  EXPECT_EQ(FormatBytes(2'000'000), "1.9 MiB");
  EXPECT_EQ(FormatBytes(int64_t{1} << 40), "1.0 TiB");
}

TEST(TextTest, WidthCountsCharactersNotBytes) {
  EXPECT_EQ(DisplayWidth("gap → 1"), 7);
  EXPECT_EQ(Pad("→", 3), "→  ");
  EXPECT_EQ(Pad("abcdef", 4), "abc…");
  EXPECT_EQ(Pad("ä→öü", 3), "ä→…");
}

TEST(TextTest, BarsFillInEighths) {
  EXPECT_EQ(Bar(0.0, 4), "    ");
  EXPECT_EQ(Bar(1.0, 4), "████");
  EXPECT_EQ(Bar(0.5, 4), "██  ");
  EXPECT_EQ(Bar(0.53125, 4, "."), "██▏.");
  EXPECT_EQ(Bar(7.0, 2), "██");
  EXPECT_EQ(Bar(-1.0, 2), "  ");
}

TEST(TableTest, AlignsWordsLeftAndNumbersRight) {
  Table table({"NAME", "ROWS", "WHAT"});
  table.AddRow({"a", "4601", "spam"});
  table.AddRow({"longer", "7", ""});
  EXPECT_EQ(table.ToString(),
            "NAME    ROWS  WHAT\n"
            "a       4601  spam\n"
            "longer     7\n");
}

}  // namespace
}  // namespace mercer::client
