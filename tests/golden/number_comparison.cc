#include "tests/golden/number_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace mercer::golden {

using nlohmann::json;

double Number(const json& value) {
  if (value.is_string()) {
    return value == "-inf" ? -std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::infinity();
  }
  return value.get<double>();
}

double LargestMagnitude(const json& value) {
  if (!value.is_array()) {
    return std::abs(Number(value));
  }
  double largest = 0;
  for (const json& item : value) {
    largest = std::max(largest, LargestMagnitude(item));
  }
  return largest;
}

void ExpectNear(const json& expected, const json& actual, const json& tolerance,
                const std::string& name) {
  if (tolerance.is_null()) {
    return;
  }
  if (!expected.is_array()) {
    ASSERT_FALSE(actual.is_array() || actual.is_null()) << name << ": " << actual;
    if (std::isinf(Number(expected))) {
      EXPECT_EQ(Number(actual), Number(expected)) << name;
    } else {
      EXPECT_NEAR(Number(actual), Number(expected), tolerance.get<double>()) << name;
    }
    return;
  }
  ASSERT_TRUE(actual.is_array()) << name << ": " << actual;
  ASSERT_EQ(actual.size(), expected.size()) << name;
  for (size_t i = 0; i < expected.size(); ++i) {
    ExpectNear(expected[i], actual[i], tolerance, name + "[" + std::to_string(i) + "]");
  }
}

void ExpectRelative(const json& expected, const json& actual, double relative,
                    const std::string& name) {
  ExpectNear(expected, actual, relative * LargestMagnitude(expected), name);
}

}  // namespace mercer::golden
