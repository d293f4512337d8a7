#include "client/cpp/cli/text.h"

#include <cmath>

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

TEST(TextTest, AGapIsNeverBelowZero) {
  EXPECT_EQ(FormatGap(5.3e-4), "5.3e-04");
  EXPECT_EQ(FormatGap(-1.4e-15), "0.0e+00");
  EXPECT_EQ(FormatGap(std::nan("")), "nan");
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

TEST(TextTest, WideAndCombiningCharactersCountAsTheTerminalShowsThem) {
  EXPECT_EQ(DisplayWidth("日本"), 4);
  EXPECT_EQ(DisplayWidth("한글"), 4);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);  // é in two code points
  EXPECT_EQ(DisplayWidth("😀"), 2);
  EXPECT_EQ(DisplayWidth("\xff\xfe"), 2);  // no UTF-8
  EXPECT_EQ(Pad("日本", 5), "日本 ");
  EXPECT_EQ(Pad("日本語", 4), "日… ");
  EXPECT_EQ(Pad("日本語", 1), "…");
  EXPECT_EQ(Pad("abc", 0), "");
}

TEST(TextTest, LongNamesKeepBothEnds) {
  EXPECT_EQ(CutMiddle("gaussian(columns=a)", 19), "gaussian(columns=a)");
  EXPECT_EQ(CutMiddle("gaussian(columns=age)", 12), "gau…mns=age)");
  EXPECT_EQ(CutMiddle("abcdef", 1), "…");
  EXPECT_EQ(DisplayWidth(CutMiddle("日本語日本語日本語", 8)), 8);
}

TEST(TextTest, ControlCharactersAreNotPrinted) {
  EXPECT_EQ(Printable("a\x1b[2Jb\nc\td\x7f"), "a?[2Jb?c?d?");
  EXPECT_EQ(Printable("größer 日本"), "größer 日本");
}

TEST(TextTest, WrapsAtSpaces) {
  EXPECT_EQ(Wrap("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(Wrap("one two three", 100, 2), "one two three");
  EXPECT_EQ(Wrap("overlong words", 6, 2), "overlong\n  words");
  EXPECT_EQ(Wrap("", 10, 2), "");
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

TEST(TableTest, WideColumnsAreCutOnNarrowTerminals) {
  Table table({"NAME", "ROWS", "WHAT"});
  EXPECT_TRUE(table.empty());
  table.AddRow({"datasets/never-cut", "1", "a description of many words"});
  EXPECT_FALSE(table.empty());
  EXPECT_EQ(table.ToString(38),
            "NAME                ROWS  WHAT\n"
            "datasets/never-cut     1  a descripti…\n");
  EXPECT_EQ(table.ToString(10),
            "NAME                ROWS  WHAT\n"
            "datasets/never-cut     1  a descr…\n");
}

TEST(TableTest, CellsKeepToTheirLine) {
  Table table({"NAME"});
  table.AddRow({"a\nb\x1b[31m"});
  EXPECT_EQ(table.ToString(), "NAME\na?b?[31m\n");
}

}  // namespace
}  // namespace mercer::client
