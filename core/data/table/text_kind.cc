#include "core/data/table/text_kind.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mercer {
namespace {

constexpr size_t kMostLookedAt = 100;
constexpr size_t kFewestTexts = 3;

// The text with 0 for each digit, without blanks around it and a sign before it: "0,00".
std::string PatternOf(std::string_view text) {
  std::string pattern(absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size())));
  if (!pattern.empty() && (pattern[0] == '-' || pattern[0] == '+')) {
    pattern.erase(0, 1);
  }
  std::replace_if(
      pattern.begin(), pattern.end(), [](unsigned char c) { return absl::ascii_isdigit(c); }, '0');
  return pattern;
}

// "1,5" and "20".
bool IsNumberWithComma(const std::string& pattern) {
  const auto not_digit = [](char c) { return c != '0'; };
  const auto comma = std::find_if(pattern.begin(), pattern.end(), not_digit);
  return comma != pattern.begin() &&
         (comma == pattern.end() ||
          (*comma == ',' && comma + 1 != pattern.end() &&
           std::find_if(comma + 1, pattern.end(), not_digit) == pattern.end()));
}

// "1,250" and "20".
bool MayGroupThousands(const std::string& pattern) {
  const size_t comma = pattern.find(',');
  return comma == std::string::npos || (comma <= 3 && pattern.size() - comma == 4);
}

bool IsDate(const std::string& pattern) {
  if (absl::StartsWith(pattern, "0000-00-00")) {
    return pattern.size() == 10 || pattern[10] == ' ' || pattern[10] == 'T';
  }
  for (const char between : {'.', '/'}) {
    const size_t first = pattern.find(between);
    const size_t second = first == std::string::npos ? first : pattern.find(between, first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string digits =
        absl::StrCat(pattern.substr(0, first), pattern.substr(first + 1, second - first - 1),
                     pattern.substr(second + 1));
    const size_t of_year = pattern.size() - second - 1;
    // "1.2.10" is a version rather than a day.
    const bool short_year = of_year == 2 && (between == '/' || (first == 2 && second == 5));
    return first >= 1 && first <= 2 && second - first >= 2 && second - first <= 3 &&
           (short_year || of_year == 4) && digits == std::string(digits.size(), '0');
  }
  return false;
}

}  // namespace

TextKind KindOfTexts(const std::vector<std::string>& categories) {
  if (categories.size() < kFewestTexts) {
    return TextKind::kCategories;
  }
  std::vector<std::string> patterns;
  for (size_t i = 0; i < std::min(categories.size(), kMostLookedAt); ++i) {
    patterns.push_back(PatternOf(categories[i]));
  }
  const bool some_comma = std::any_of(patterns.begin(), patterns.end(), [](const auto& pattern) {
    return absl::StrContains(pattern, ',');
  });
  if (some_comma && std::all_of(patterns.begin(), patterns.end(), IsNumberWithComma)) {
    return std::all_of(patterns.begin(), patterns.end(), MayGroupThousands)
               ? TextKind::kNumbersWithThousands
               : TextKind::kNumbersWithComma;
  }
  const bool dates = std::all_of(patterns.begin(), patterns.end(), IsDate);
  return dates ? TextKind::kDates : TextKind::kCategories;
}

}  // namespace mercer
