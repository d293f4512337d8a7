#include "core/data/table/text_kind.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mercer {
namespace {

using Texts = std::vector<std::string>;

TEST(TextKindTest, NumbersWithACommaAreNoCategories) {
  EXPECT_EQ(KindOfTexts({"1,5", "20", "-0,25", " +3,0 "}), TextKind::kNumbersWithComma);
  // Without any comma they are numbers that somebody wants as names.
  EXPECT_EQ(KindOfTexts({"1", "2", "3"}), TextKind::kCategories);
  for (const char* other : {"1,5 m", ",5", "1,", "1,5,2", "1.234,5", "", "-", "a"}) {
    EXPECT_EQ(KindOfTexts({"1,5", "2,5", other}), TextKind::kCategories) << other;
  }
}

TEST(TextKindTest, CommasThatMayGroupThousandsAreToldApart) {
  EXPECT_EQ(KindOfTexts({"1,250", "12,300", "980", "-123,456"}), TextKind::kNumbersWithThousands);
  for (const char* decimals : {"1,25", "1,2500", "1234,567"}) {
    EXPECT_EQ(KindOfTexts({"1,250", "980", decimals}), TextKind::kNumbersWithComma) << decimals;
  }
}

TEST(TextKindTest, DatesAreNoCategories) {
  EXPECT_EQ(KindOfTexts({"2024-01-31", "2024-02-01", "1999-12-31"}), TextKind::kDates);
  EXPECT_EQ(KindOfTexts({"2024-01-31 10:00", "2024-02-01T10:00:00Z", "1999-12-31"}),
            TextKind::kDates);
  EXPECT_EQ(KindOfTexts({"31.1.2024", "01.02.24", "1.1.1999"}), TextKind::kDates);
  EXPECT_EQ(KindOfTexts({"1/31/2024", "12/1/24", "1/1/99"}), TextKind::kDates);
  for (const char* other :
       {"2024-01-31x", "2024-1-31", "31.1.", "31.1.2024.5", "192.168.0.1", "1/2/3", "1.2.10",
        "a.b.2024", "31./1.2024", "311.1.2024", "", "today"}) {
    EXPECT_EQ(KindOfTexts({"2024-01-31", "31.1.2024", other}), TextKind::kCategories) << other;
  }
}

TEST(TextKindTest, FewTextsMakeNoPattern) {
  EXPECT_EQ(KindOfTexts({}), TextKind::kCategories);
  EXPECT_EQ(KindOfTexts({"0,5", "1,5"}), TextKind::kCategories);
  EXPECT_EQ(KindOfTexts({"red", "green", "blue"}), TextKind::kCategories);
}

}  // namespace
}  // namespace mercer
