#include "core/data/table/text_kind.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace mercer {
namespace {

constexpr size_t kMostLookedAt = 100;
constexpr size_t kFewestTexts = 3;
constexpr size_t kFewestBesideTexts = 10;  // numbers among names may well be names
constexpr Index kFewestRows = 20;          // names of fewer rows may differ by chance
constexpr size_t kWordsOfSentence = 3;

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

bool IsDigits(std::string_view pattern) {
  return !pattern.empty() && pattern.find_first_not_of('0') == std::string_view::npos;
}

// "1,250", "1,234,567.5" and "20".
bool MayGroupThousands(std::string_view pattern) {
  const size_t point = pattern.find('.');
  if (point != std::string_view::npos && !IsDigits(pattern.substr(point + 1))) {
    return false;
  }
  const std::string_view whole = pattern.substr(0, point);
  size_t begin = whole.find(',');
  if (!IsDigits(whole.substr(0, begin)) || (begin != std::string_view::npos && begin > 3)) {
    return false;
  }
  while (begin != std::string_view::npos) {
    const size_t end = std::min(whole.find(',', begin + 1), whole.size());
    if (end - begin != 4 || !IsDigits(whole.substr(begin + 1, 3))) {
      return false;
    }
    begin = whole.find(',', begin + 1);
  }
  return true;
}

bool IsSentence(std::string_view pattern) {
  size_t words = 0;
  bool in_word = false;
  for (const char c : pattern) {
    const bool blank = absl::ascii_isspace(static_cast<unsigned char>(c));
    words += !blank && !in_word ? 1 : 0;
    in_word = !blank;
  }
  return words >= kWordsOfSentence;
}

bool IsNumber(const std::string& pattern) {
  double value = 0;
  return !pattern.empty() && (pattern[0] == '0' || pattern[0] == '.') &&
         absl::SimpleAtod(pattern, &value);
}

// "$1,250.00", "12.5 %" and "3,50 €".
bool IsNumberWithUnit(absl::string_view pattern) {
  bool has_unit = false;
  for (const char* unit : {"$", "€", "£", "%"}) {
    has_unit =
        absl::ConsumePrefix(&pattern, unit) || absl::ConsumeSuffix(&pattern, unit) || has_unit;
  }
  const std::string number(absl::StripAsciiWhitespace(pattern));
  return has_unit && (MayGroupThousands(number) || IsNumberWithComma(number));
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

const char* TextKindName(TextKind kind) {
  switch (kind) {
    case TextKind::kDates:
      return "dates";
    case TextKind::kNumbersWithComma:
    case TextKind::kNumbersWithThousands:
      return "numbers with a comma";
    case TextKind::kNumbersWithUnit:
      return "numbers with a unit";
    case TextKind::kNumbersBesideTexts:
      return "numbers beside other texts";
    case TextKind::kSentences:
      return "sentences";
    case TextKind::kCategories:
      break;
  }
  return "categories";
}

const char* RemedyForTexts(TextKind kind, bool is_target) {
  switch (kind) {
    case TextKind::kDates:
      return is_target ? "write them as numbers, as days since the first"
                       : "write them as numbers, as days since the first, or upload the column as "
                         "ignored";
    case TextKind::kNumbersWithThousands:
      return "write them without the comma if it groups thousands, with a point if it does not";
    case TextKind::kNumbersWithUnit:
      return "write them without the unit";
    case TextKind::kNumbersBesideTexts:
      return is_target ? "leave the rows of the others out" : "leave the cells of the others empty";
    case TextKind::kSentences:
      return "make numbers of them, as counts of words, or upload the column as ignored";
    case TextKind::kNumbersWithComma:
    case TextKind::kCategories:
      break;
  }
  return "write them with a point";
}

bool DifferInMostRows(const std::vector<std::string>& categories, Index rows) {
  return rows >= kFewestRows && 10 * categories.size() >= 9 * static_cast<size_t>(rows);
}

TextKind KindOfTexts(const std::vector<std::string>& categories, Index rows) {
  if (categories.size() < kFewestTexts) {
    return TextKind::kCategories;
  }
  std::vector<std::string> patterns;
  for (size_t i = 0; i < std::min(categories.size(), kMostLookedAt); ++i) {
    patterns.push_back(PatternOf(categories[i]));
  }
  const auto all = [&](const auto& is) {
    return std::all_of(patterns.begin(), patterns.end(), is);
  };
  const bool some_comma = std::any_of(patterns.begin(), patterns.end(), [](const auto& pattern) {
    return absl::StrContains(pattern, ',');
  });
  if (some_comma && all(MayGroupThousands)) {
    return TextKind::kNumbersWithThousands;
  }
  if (some_comma && all(IsNumberWithComma)) {
    return TextKind::kNumbersWithComma;
  }
  if (all(IsNumberWithUnit)) {
    return TextKind::kNumbersWithUnit;
  }
  if (all(IsDate)) {
    return TextKind::kDates;
  }
  const auto numbers =
      static_cast<size_t>(std::count_if(patterns.begin(), patterns.end(), IsNumber));
  const size_t others = patterns.size() - numbers;
  const bool beside =
      patterns.size() >= kFewestBesideTexts && others > 0 && 10 * others <= patterns.size();
  if (beside) {
    return TextKind::kNumbersBesideTexts;
  }
  const auto sentences =
      static_cast<size_t>(std::count_if(patterns.begin(), patterns.end(), IsSentence));
  return DifferInMostRows(categories, rows) && 2 * sentences >= patterns.size()
             ? TextKind::kSentences
             : TextKind::kCategories;
}

std::string WhyTexts(const ColumnSchema& column) {
  const TextKind kind = column.categorical ? KindOfTexts(column.categories) : TextKind::kCategories;
  return kind == TextKind::kCategories
             ? ""
             : absl::StrCat("; it holds ", TextKindName(kind), ", which are read as texts: ",
                            RemedyForTexts(kind, /*is_target=*/true));
}

}  // namespace mercer
