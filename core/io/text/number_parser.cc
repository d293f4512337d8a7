#include "core/io/text/number_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string>

#include "absl/strings/match.h"

namespace mercer {
namespace {

// Powers of ten that are exact in double.
constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int64_t kMaxExactPower = 22;
constexpr uint64_t kMaxExactMantissa = uint64_t{1} << 53;
constexpr int kMaxDigits = 19;  // any 19 digits fit in 64 bits

bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// The general case: more digits or larger exponents than the exact product below allows.
double ParseSlowly(const char* begin, const char* end) {
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc()) {
    return value;
  }
  // Out of range: strtod tells overflow (infinity) from underflow (zero or a denormal).
  return std::strtod(std::string(begin, end).c_str(), nullptr);
}

// Reads "e-12" at `text` and adds it to `exponent`; returns `text` when no exponent follows.
const char* ParseExponent(const char* text, int64_t* exponent) {
  const char* p = text + 1;
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') {
    ++p;
  }
  if (!IsDigit(*p)) {
    return text;
  }
  int64_t value = 0;
  for (; IsDigit(*p); ++p) {
    constexpr int64_t kFarOutside = 1'000'000;
    value = value < kFarOutside ? 10 * value + (*p - '0') : value;
  }
  *exponent += negative ? -value : value;
  return p;
}

}  // namespace

const char* ParseNumber(const char* text, double* value) {
  const char* p = text;
  const bool negative = *p == '-';
  if (negative || *p == '+') {
    ++p;
  }
  const char* const unsigned_begin = p;
  uint64_t mantissa = 0;
  while (IsDigit(*p)) {
    mantissa = 10 * mantissa + static_cast<uint64_t>(*p - '0');
    ++p;
  }
  auto num_digits = p - unsigned_begin;
  int64_t exponent = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    while (IsDigit(*p)) {
      mantissa = 10 * mantissa + static_cast<uint64_t>(*p - '0');
      ++p;
    }
    exponent = fraction - p;
    num_digits += p - fraction;
  }
  if (num_digits == 0) {
    return nullptr;
  }
  if (*p == 'e' || *p == 'E') {
    p = ParseExponent(p, &exponent);
  }
  double magnitude = 0;
  // Mantissa and power are exact doubles, so the one rounding of their product or quotient is the
  // correct one (Clinger: How to read floating point numbers accurately. PLDI 1990).
  if (num_digits <= kMaxDigits && mantissa <= kMaxExactMantissa && exponent >= -kMaxExactPower &&
      exponent <= kMaxExactPower) {
    magnitude = static_cast<double>(mantissa);
    magnitude =
        exponent < 0 ? magnitude / kPowersOfTen[-exponent] : magnitude * kPowersOfTen[exponent];
  } else {
    magnitude = ParseSlowly(unsigned_begin, p);
  }
  *value = negative ? -magnitude : magnitude;
  return p;
}

bool ParseWholeNumber(std::string_view text, double* value) {
  if (text.empty()) {
    return false;
  }
  if (ParseNumber(text.data(), value) == text.data() + text.size()) {
    return true;
  }
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') {
    text.remove_prefix(1);
  }
  const absl::string_view name(text.data(), text.size());
  if (absl::EqualsIgnoreCase(name, "inf") || absl::EqualsIgnoreCase(name, "infinity")) {
    *value = negative ? -std::numeric_limits<double>::infinity()
                      : std::numeric_limits<double>::infinity();
    return true;
  }
  return false;
}

bool StandsForNoNumber(std::string_view text) {
  static constexpr std::string_view kMarks[] = {"-",    "--",   ".",    "n/a",
                                                "#n/a", "<na>", "null", "none"};
  return std::any_of(std::begin(kMarks), std::end(kMarks), [&](std::string_view mark) {
    return absl::EqualsIgnoreCase(absl::string_view(text.data(), text.size()),
                                  absl::string_view(mark.data(), mark.size()));
  });
}

}  // namespace mercer
