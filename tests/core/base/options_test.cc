#include "core/base/status/options.h"

#include <cmath>

#include <gtest/gtest.h>

namespace mercer {
namespace {

enum class Method { kFast, kSafe };

struct SampleOptions {
  double cost = 1.0;
  double norm = 2.0;
  int64_t rounds = 10;
  bool bias = true;
  Method method = Method::kFast;
  std::string label = "a";
  std::vector<double> widths = {1.0};

  static const OptionSchema<SampleOptions>& Fields() {
    static const auto& schema = *new OptionSchema<SampleOptions>(
        OptionSchema<SampleOptions>()
            .Real("C", &SampleOptions::cost,
                  {.meaning = "Cost.", .min = 0, .max = 1e300, .min_open = true})
            .Real("p", &SampleOptions::norm, {.meaning = "Norm.", .min = 1})
            .Integer("rounds", &SampleOptions::rounds, {.meaning = "Rounds.", .min = 1, .max = 100})
            .Bool("bias", &SampleOptions::bias, {.meaning = "Bias."})
            .Choice("method", &SampleOptions::method,
                    {{"fast", Method::kFast}, {"safe", Method::kSafe}}, {.meaning = "Method."})
            .Text("label", &SampleOptions::label, {.meaning = "Label."})
            .Reals("widths", &SampleOptions::widths, {.meaning = "Widths.", .min = 0, .max = 10}));
    return schema;
  }
};

TEST(OptionSchemaTest, NoValuesGiveDefaults) {
  const auto options = SampleOptions::Fields().Parse({});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->cost, 1.0);
  EXPECT_EQ(options->method, Method::kFast);
}

TEST(OptionSchemaTest, EveryNonDefaultRoundTrips) {
  SampleOptions options{0.25, kInfinity, 3, false, Method::kSafe, "b", {2.0, 3.0}};
  const OptionValues values = SampleOptions::Fields().Values(options);
  const OptionValues defaults = SampleOptions::Fields().Values(SampleOptions());
  ASSERT_EQ(values.size(), SampleOptions::Fields().fields().size());
  for (const auto& [name, value] : values) {
    EXPECT_NE(value, defaults.at(name)) << name << " is not tested with a non-default value";
  }
  const auto parsed = SampleOptions::Fields().Parse(values);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(SampleOptions::Fields().Values(*parsed), values);
}

TEST(OptionSchemaTest, NamesEveryBadOption) {
  const auto options = SampleOptions::Fields().Parse({{"C", -1.0},
                                                      {"method", std::string("slow")},
                                                      {"rounds", int64_t{101}},
                                                      {"bais", true},
                                                      {"bias", 1.0}});
  const std::vector<FieldViolation> expected = {
      {"C", "must be in (0, 1e+300], is -1"},    {"bais", "unknown option"},
      {"bias", "must be of type bool, is 1"},    {"method", "must be one of fast, safe, is slow"},
      {"rounds", "must be in [1, 100], is 101"},
  };
  EXPECT_EQ(GetFieldViolations(options.status()), expected);
}

TEST(OptionSchemaTest, NanIsRejectedInfinityOnlyWhereAllowed) {
  EXPECT_FALSE(SampleOptions::Fields().Parse({{"C", std::nan("")}}).ok());
  EXPECT_FALSE(SampleOptions::Fields().Parse({{"p", std::nan("")}}).ok());
  EXPECT_FALSE(SampleOptions::Fields().Parse({{"C", kInfinity}}).ok());
  EXPECT_TRUE(SampleOptions::Fields().Parse({{"p", kInfinity}}).ok());
}

TEST(OptionSchemaTest, AnIntegerStandsForAReal) {
  const auto options = SampleOptions::Fields().Parse({{"C", int64_t{2}}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->cost, 2.0);
}

TEST(ParseOptionTextTest, ReadsWhatACommandLineGives) {
  const auto& fields = SampleOptions::Fields().fields();
  EXPECT_EQ(*ParseOptionText(fields[0], "1e-3"), OptionValue(1e-3));
  EXPECT_EQ(*ParseOptionText(fields[1], "inf"), OptionValue(kInfinity));
  OptionValue below = -kInfinity;
  const OptionField unbounded{"x", OptionType::kReal, {.meaning = "Any number."}, {}, 0.0};
  EXPECT_EQ(FormatOptionRange(unbounded), "(-inf, inf]");
  EXPECT_FALSE(CheckOptionValue(unbounded, below).ok()) << "outside the range that is shown";
  EXPECT_EQ(*ParseOptionText(fields[2], "7"), OptionValue(int64_t{7}));
  EXPECT_EQ(*ParseOptionText(fields[3], "false"), OptionValue(false));
  EXPECT_EQ(*ParseOptionText(fields[4], "safe"), OptionValue(std::string("safe")));
  EXPECT_EQ(*ParseOptionText(fields[6], "1,2.5"), OptionValue(std::vector<double>{1.0, 2.5}));
  for (const char* const list : {"1, 2.5", "[1, 2.5]", " [1,2.5] "}) {
    EXPECT_EQ(*ParseOptionText(fields[6], list), OptionValue(std::vector<double>{1.0, 2.5}))
        << list;
  }
  EXPECT_EQ(*ParseOptionText(fields[6], "[]"), OptionValue(std::vector<double>()));
  for (const char* const list :
       {"", " ", "1,,2", "1,2,", ",1", "[1", "1]", "[1,,2]", "[[1]]", "1 2"}) {
    EXPECT_FALSE(ParseOptionText(fields[6], list).ok()) << list;
  }
  EXPECT_FALSE(ParseOptionText(fields[0], "much").ok());
  EXPECT_FALSE(ParseOptionText(fields[2], "7.5").ok());
  EXPECT_FALSE(ParseOptionText(fields[4], "slow").ok());
}

TEST(FormatOptionValueTest, RealsReadBack) {
  EXPECT_EQ(FormatOptionValue(OptionValue(0.1)), "0.1");
  EXPECT_EQ(FormatOptionValue(OptionValue(kInfinity)), "inf");
  const double third = 1.0 / 3.0;
  EXPECT_EQ(std::stod(FormatOptionValue(OptionValue(third))), third);
}

}  // namespace
}  // namespace mercer
