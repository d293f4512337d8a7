// What the texts of a column are, when they are no categories.
#pragma once

#include <string>
#include <vector>

#include "core/data/table/dataset.h"

namespace mercer {

enum class TextKind {
  kCategories,
  kNumbersWithComma,      // "1,5": the comma stands before the decimals
  kNumbersWithThousands,  // "1,250", as all of them: the comma may group thousands, or be as above
  kNumbersWithUnit,       // "$1,250.00", "12.5 %"
  kNumbersBesideTexts,    // numbers, but for a tenth of them
  kDates,                 // "2024-01-31", with a time or without, "31.1.2024", "1/31/24"
  kSentences,             // three words or more, another text in nine of ten rows
};

// What the texts are, for people: "numbers with a comma", "dates".
const char* TextKindName(TextKind kind);

// What to do with such a column, for people: "write them with a point". A target cannot be ignored,
// nor have empty cells.
const char* RemedyForTexts(TextKind kind, bool is_target = false);

// Whether a column of so many rows, 20 at the least, has a text of its own in nine of ten.
bool DifferInMostRows(const std::vector<std::string>& categories, Index rows);

// Judges by the first 100 different texts; fewer than three make no pattern. Without the number of
// rows that they stand in, texts are no sentences.
TextKind KindOfTexts(const std::vector<std::string>& categories, Index rows = 0);

// What an error about classes or numbers of `column` ends with when its texts are of another kind:
// "; it holds dates, which are read as texts: write them as ..."; else empty.
std::string WhyTexts(const ColumnSchema& column);

}  // namespace mercer
