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

TEST(TextKindTest, ThousandsMayBeGroupedTwiceAndHaveDecimals) {
  EXPECT_EQ(KindOfTexts({"1,234,567", "1,250", "980"}), TextKind::kNumbersWithThousands);
  EXPECT_EQ(KindOfTexts({"1,234.50", "-12.25", "980"}), TextKind::kNumbersWithThousands);
  for (const char* other : {"1,234,56", "1,234.", "1,,234", ",234", "1234,567.5", "1,234.5.6"}) {
    EXPECT_EQ(KindOfTexts({"1,234.50", "1,234,567", other}), TextKind::kCategories) << other;
  }
}

TEST(TextKindTest, NumbersWithAUnitAreNoCategories) {
  EXPECT_EQ(KindOfTexts({"$1,250.00", "$3", "-$2.50"}), TextKind::kNumbersWithUnit);
  EXPECT_EQ(KindOfTexts({"12 %", "3.5%", "0%"}), TextKind::kNumbersWithUnit);
  EXPECT_EQ(KindOfTexts({"3,50 €", "€ 7", "12 €"}), TextKind::kNumbersWithUnit);
  for (const char* other : {"%", "12", "12 kg", "$ a"}) {
    EXPECT_EQ(KindOfTexts({"1%", "2%", other}), TextKind::kCategories) << other;
  }
}

TEST(TextKindTest, ATextAmongNumbersMakesNoCategoriesOfThem) {
  Texts texts = {"unknown"};
  for (int i = 0; i < 9; ++i) {
    texts.push_back(std::to_string(i) + ".5");
  }
  EXPECT_EQ(KindOfTexts(texts), TextKind::kNumbersBesideTexts);
  EXPECT_EQ(KindOfTexts({texts.begin(), texts.end() - 1}), TextKind::kCategories);  // few
  texts.push_back("12a");
  EXPECT_EQ(KindOfTexts(texts), TextKind::kCategories);
  texts.erase(texts.begin());
  texts.pop_back();
  texts.push_back("9");
  EXPECT_EQ(KindOfTexts(texts), TextKind::kCategories);  // somebody wants them as names
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

TEST(TextKindTest, SentencesThatDifferInMostRowsAreNoCategories) {
  std::vector<std::string> texts;
  for (int i = 0; i < 45; ++i) {
    texts.push_back("a complaint of customer " + std::to_string(i));
    texts.push_back("fine" + std::to_string(i));
  }
  EXPECT_EQ(KindOfTexts(texts, 100), TextKind::kSentences);
  EXPECT_EQ(KindOfTexts(texts, 101), TextKind::kCategories);  // they come again
  EXPECT_EQ(KindOfTexts(texts), TextKind::kCategories);       // of a target
  texts[0] = "two words";
  EXPECT_EQ(KindOfTexts(texts, 100), TextKind::kCategories);  // names, most of them
  const std::vector<std::string> few(texts.end() - 19, texts.end());
  EXPECT_EQ(KindOfTexts(few, 19), TextKind::kCategories);
  EXPECT_EQ(WhyTexts({"x", true, {"1%", "2%", "3%"}}),
            "; it holds numbers with a unit, which are read as texts: write them without the unit");
  EXPECT_EQ(WhyTexts({"x", true, {"red", "green", "blue"}}), "");
  EXPECT_EQ(WhyTexts({"x", false, {}}), "");
}

TEST(TextKindTest, FewTextsMakeNoPattern) {
  EXPECT_EQ(KindOfTexts({}), TextKind::kCategories);
  EXPECT_EQ(KindOfTexts({"0,5", "1,5"}), TextKind::kCategories);
  EXPECT_EQ(KindOfTexts({"red", "green", "blue"}), TextKind::kCategories);
}

}  // namespace
}  // namespace mercer
