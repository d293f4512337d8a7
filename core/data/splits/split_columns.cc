#include "core/data/splits/split_columns.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/process/paced_check.h"
#include "core/base/process/polled_sort.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"

namespace mercer {
namespace {

// Of PacedCheck: to read the text of a cell takes as long as to compute so many numbers.
constexpr Index kNumbersPerCell = 256;

bool IsMissing(const RoleColumn& column, Index row) { return std::isnan(column.values(row)); }

// The cell of `row` as the user wrote it, near enough; it must not be missing.
std::string CellText(const RoleColumn& column, Index row) {
  const double value = column.values(row);
  return column.schema.categorical ? column.schema.categories[static_cast<size_t>(value)]
                                   : absl::StrCat(value);
}

absl::Status MissingPart(const RoleColumn& column, Index row) {
  return CellError(row + 1, column.schema.name, "the part of the row is missing");
}

// The fold that a cell names; none when it names no fold.
std::optional<int64_t> FoldNumber(const RoleColumn& column, Index row) {
  constexpr double kLargest = 1e9;
  double value = column.values(row);
  if (column.schema.categorical && !absl::SimpleAtod(CellText(column, row), &value)) {
    return std::nullopt;
  }
  if (!(value >= 0 && value <= kLargest) || value != std::floor(value)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(value);
}

absl::Status MissingGroup(const RoleColumn& column, Index row) {
  return CellError(row + 1, column.schema.name, "the group of the row is missing");
}

absl::Status ColumnError(const RoleColumn& column, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("column ", Quoted(column.schema.name), ": ", std::string(what)));
}

// Folds are numbered without gaps from 0 or from 1.
absl::Status CheckFoldNumbers(const RoleColumn& column, const std::map<int64_t, int>& folds) {
  if (folds.size() < 2) {
    return ColumnError(column, "names one fold; at least two are needed");
  }
  int64_t expected = folds.begin()->first == 0 ? 0 : 1;
  for (const auto& [number, position] : folds) {
    if (number != expected) {
      return ColumnError(column, absl::StrCat("fold ", expected, " has no rows, fold ",
                                              folds.rbegin()->first, " has"));
    }
    ++expected;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Split> GivenHoldOut(const RoleColumn& column, const RunContext& context) {
  Split split;
  PacedCheck check(context);
  for (Index row = 0; row < column.values.size(); ++row) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCell));
    if (IsMissing(column, row)) {
      return MissingPart(column, row);
    }
    const std::string text = CellText(column, row);
    if (text != kTrainWord && text != kValidationWord) {
      return CellError(
          row + 1, column.schema.name,
          absl::StrCat("a hold-out knows the parts 'train' and 'validation', not ", Quoted(text)));
    }
    (text == kTrainWord ? split.training : split.held_out).push_back(row);
  }
  if (split.training.empty() || split.held_out.empty()) {
    return ColumnError(column, absl::StrCat("no row has the part ",
                                            split.training.empty() ? "'train'" : "'validation'"));
  }
  return split;
}

absl::StatusOr<std::vector<Split>> GivenFolds(const RoleColumn& column, const RunContext& context) {
  std::map<int64_t, int> folds;  // number -> position
  std::vector<int64_t> number_of_row;
  PacedCheck check(context);
  for (Index row = 0; row < column.values.size(); ++row) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCell));
    if (IsMissing(column, row)) {
      return MissingPart(column, row);
    }
    const std::optional<int64_t> number = FoldNumber(column, row);
    if (!number.has_value()) {
      return CellError(row + 1, column.schema.name,
                       absl::StrCat("folds are whole numbers from 0 or 1 on, not ",
                                    Quoted(CellText(column, row))));
    }
    folds.try_emplace(*number, 0);
    number_of_row.push_back(*number);
  }
  MERCER_RETURN_IF_ERROR(CheckFoldNumbers(column, folds));
  int position = 0;
  for (auto& fold : folds) {
    fold.second = position++;
  }
  std::vector<int> fold_of_row;
  fold_of_row.reserve(number_of_row.size());
  for (const int64_t number : number_of_row) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCell));
    fold_of_row.push_back(folds[number]);
  }
  return SplitsOfFolds(fold_of_row, position, context);
}

// Sorted, since a tree of millions of groups takes long to go, too.
absl::StatusOr<std::vector<int>> GroupCodes(const RoleColumn& column, const RunContext& context) {
  std::vector<double> known(column.values.begin(), column.values.end());
  const auto missing =
      std::find_if(known.begin(), known.end(), [](double value) { return std::isnan(value); });
  if (missing != known.end()) {
    return MissingGroup(column, missing - known.begin());
  }
  MERCER_RETURN_IF_ERROR(SortPolled(known, std::less<>(), context));
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::vector<int> code_of_row;
  code_of_row.reserve(static_cast<size_t>(column.values.size()));
  PacedCheck check(context);
  for (const double value : column.values) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCell));
    const auto place = std::lower_bound(known.begin(), known.end(), value);
    code_of_row.push_back(static_cast<int>(place - known.begin()));
  }
  return code_of_row;
}

absl::Status CheckGroupsWhole(const RoleColumn& groups, const RoleColumn& parts,
                              const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<int> codes, GroupCodes(groups, context));
  std::vector<Index> first_row(codes.size(), -1);  // of each group
  PacedCheck check(context);
  for (Index row = 0; row < groups.values.size(); ++row) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCell));
    Index& first = first_row[static_cast<size_t>(codes[static_cast<size_t>(row)])];
    first = first < 0 ? row : first;
    if (parts.values(row) != parts.values(first)) {
      return CellError(
          row + 1, parts.schema.name,
          absl::StrCat("the group ", Quoted(CellText(groups, row)), " of column ",
                       Quoted(groups.schema.name), " is in the part ", Quoted(CellText(parts, row)),
                       " here and in ", Quoted(CellText(parts, first)), " in row ", first + 1));
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer
