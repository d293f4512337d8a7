#include "client/cpp/cli/group_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include <gtest/gtest.h>

#include "client/cpp/cli/text.h"

namespace mercer::client {
namespace {

GroupedRows FiveKernels() {
  return {.names = {"linear", "wide", "narrow", "tiny", "huge"},
          .groups = {"images", "images", "", "words", "images"},
          .weights = {0.2, 0.5, 0.0, 0.3, 0.0},
          .norms = {1.0, 2.5, 0.0, 0.5, 0.0}};
}

// So many rows in groups of nine, "group 0" and so on; of weight 0.
GroupedRows ManyKernels(size_t count) {
  GroupedRows rows;
  for (size_t k = 0; k < count; ++k) {
    rows.names.push_back("kernel " + std::to_string(k));
    rows.groups.push_back("group " + std::to_string(k / 9));
    rows.weights.push_back(0.0);
  }
  return rows;
}

TEST(GroupTextTest, RowsStandBelowTheirGroups) {
  EXPECT_EQ(FormatGroups(FiveKernels(), {.width = 70}, 0),
            "  images · 2 of 3 selected         ██████████ 0.7      norm 3.5\n"
            "    ● wide                         ███████▏   0.5      norm 2.5\n"
            "    ● linear                       ██▉        0.2      norm 1\n"
            "    ○ huge                                    0\n"
            "  words · 1 of 1 selected          ████▎      0.3      norm 0.5\n"
            "    ● tiny                         ████▎      0.3      norm 0.5\n"
            "  without group · 0 of 1 selected             0\n"
            "    ○ narrow                                  0\n");
}

TEST(GroupTextTest, NormsThatNobodyTellsAreLeftOut) {
  GroupedRows rows = FiveKernels();
  rows.norms.clear();
  const std::string text = FormatGroups(rows, {.width = 60}, 1);
  EXPECT_EQ(text,
            "  images · 2 of 3 selected  █████████████████████ 0.7\n"
            "    ● wide                  ███████████████       0.5\n"
            "      2 more, 1 of them selected\n"
            "  2 more groups · 1 of 2 selected\n")
      << text;
}

TEST(GroupTextTest, OfManyRowsTheSelectedOnesAreShown) {
  GroupedRows rows = ManyKernels(63);
  rows.weights[3] = 0.1;
  rows.weights[12] = 0.4;
  rows.weights[13] = 0.2;
  rows.weights[62] = 0.3;
  const std::vector<std::string> lines =
      absl::StrSplit(FormatGroups(rows, {.width = 80}, 20), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 14u);
  EXPECT_EQ(lines[0].find("  group 1 · 2 of 9 selected "), 0u) << lines[0];
  EXPECT_EQ(lines[1].find("    ● kernel 12 "), 0u) << lines[1];
  EXPECT_EQ(lines[3], "      7 more, not selected");
  EXPECT_EQ(lines[13].find("  group 5 · 0 of 9 selected "), 0u) << lines[13];
  const std::string all = FormatGroups(rows, {.width = 80}, 0);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 70);
  EXPECT_EQ(all.find("more"), std::string::npos);
}

TEST(GroupTextTest, AGroupWithoutWeightsHasItsTitleAlone) {
  EXPECT_EQ(FormatGroups(ManyKernels(9), {.width = 60}, 5),
            "  group 0 · 0 of 9 selected  " + std::string(20, ' ') + " 0\n");
}

TEST(GroupTextTest, LongNamesAreCutInTheirMiddle) {
  GroupedRows rows = FiveKernels();
  rows.names[1] = "gaussian(bandwidth=1.52, columns=" + std::string(60, 'x') + "_total)";
  rows.groups[0] = rows.groups[1] = "bags of words of the whole picture and of its four quarters";
  const std::string text = FormatGroups(rows, {.width = 80}, 0);
  EXPECT_NE(text.find("_total)  "), std::string::npos) << text;
  EXPECT_NE(text.find("arters · 2 of 2 selected  "), std::string::npos) << text;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    EXPECT_LE(DisplayWidth(line), 80) << line;
  }
}

}  // namespace
}  // namespace mercer::client
