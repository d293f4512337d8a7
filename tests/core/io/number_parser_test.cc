#include "core/io/text/number_parser.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"

namespace mercer {
namespace {

uint64_t Bits(double value) { return std::bit_cast<uint64_t>(value); }

void ExpectLikeStrtod(const std::string& text) {
  double value = 0;
  ASSERT_TRUE(ParseWholeNumber(text, &value)) << text;
  EXPECT_EQ(Bits(value), Bits(std::strtod(text.c_str(), nullptr))) << text;
}

TEST(NumberParserTest, AgreesWithStrtodOnAllFormsOfRandomBitPatterns) {
  RandomStream random(7, "number-parser-test");
  for (int i = 0; i < 50'000; ++i) {
    const double value = std::bit_cast<double>(random.NextUint64());
    if (!std::isfinite(value)) {
      continue;
    }
    const char* formats[] = {"%.17g", "%.16e", "%.6g", "%.3e", "%.25g"};
    char text[128];
    std::snprintf(text, sizeof(text), formats[i % 5], value);
    if (std::isfinite(std::strtod(text, nullptr))) {
      ExpectLikeStrtod(text);
    }
  }
}

TEST(NumberParserTest, AgreesWithStrtodOnRandomDecimals) {
  RandomStream random(8, "number-parser-test");
  for (int i = 0; i < 100'000; ++i) {
    std::string text = random.Below(2) == 0 ? "-" : "";
    const uint64_t whole = random.Below(20);
    const uint64_t fraction = random.Below(12) + (whole == 0 ? 1 : 0);
    for (uint64_t digit = 0; digit < whole; ++digit) {
      text += static_cast<char>('0' + random.Below(10));
    }
    text += fraction > 0 || random.Below(2) == 0 ? "." : "";
    for (uint64_t digit = 0; digit < fraction; ++digit) {
      text += static_cast<char>('0' + random.Below(10));
    }
    if (random.Below(3) == 0) {
      text += "e" + std::to_string(static_cast<int>(random.Below(60)) - 30);
    }
    ExpectLikeStrtod(text);
  }
}

// Halfway cases and borders of the range, where a parser that rounds twice goes wrong.
TEST(NumberParserTest, RoundsBorderCasesAsStrtodDoes) {
  for (const char* text : {"9007199254740993",
                           "9007199254740992",
                           "9007199254740991e22",
                           "9007199254740993e-22",
                           "1e22",
                           "1e23",
                           "8.5e22",
                           "1e-22",
                           "1e-23",
                           "2.2250738585072011e-308",
                           "2.2250738585072014e-308",
                           "4.9e-324",
                           "2.4e-324",
                           "1e-400",
                           "0e999",
                           "-0",
                           "-0.0",
                           "0.1",
                           "1.7976931348623157e308",
                           "1.7976931348623158e308",
                           "00000000000000000000000001.5",
                           "0.000000000000000000000000000000000001",
                           "123456789012345678901234567890",
                           "+5",
                           "5.",
                           ".5",
                           "1E5",
                           "1e+5",
                           "17976931348623157081452742373170435679807056752584499659891747680315726"
                           "0780028538760589558632766878",
                           "1e0000003"}) {
    ExpectLikeStrtod(text);
  }
}

TEST(NumberParserTest, OverflowIsInfinite) {
  double value = 0;
  ASSERT_TRUE(ParseWholeNumber("1e999", &value));
  EXPECT_EQ(value, HUGE_VAL);
  ASSERT_TRUE(ParseWholeNumber("-1.8e308", &value));
  EXPECT_EQ(value, -HUGE_VAL);
  ASSERT_TRUE(ParseWholeNumber("1e99999999999999999999", &value));
  EXPECT_EQ(value, HUGE_VAL);
  ASSERT_TRUE(ParseWholeNumber("-Infinity", &value));
  EXPECT_EQ(value, -HUGE_VAL);
}

TEST(NumberParserTest, RefusesWhatIsNoDecimalNumber) {
  for (const char* text : {"",      "-",   "+",  ".",  "e5",  "1e",  "1e+", "1.2.3", "0x10", "nan",
                           "1_000", "1,5", " 1", "1 ", "--1", "+-1", "abc", "1f",    "infi", "١"}) {
    double value = 0;
    EXPECT_FALSE(ParseWholeNumber(text, &value)) << text << " gave " << value;
  }
}

}  // namespace
}  // namespace mercer
