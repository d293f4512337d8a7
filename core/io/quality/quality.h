// What may be wrong with a data set that can be trained on: found once, in passes over its rows.
//
// Time O(cells), for sparse blocks O(stored values); memory 150 bytes for each column, 16 for each
// row up to kMaxHashedRows, one byte for each row and target with classes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/data/table/dataset.h"
#include "core/data/table/text_kind.h"

namespace mercer {

// A column of a data set.
struct ColumnPlace {
  Index block = 0;   // position in Dataset::blocks; kRoleColumns: in Dataset::role_columns
  Index column = 0;  // position in the block, from 0
  friend bool operator==(const ColumnPlace&, const ColumnPlace&) = default;
};
inline constexpr Index kRoleColumns = -1;

// Rows count from 1, as in error messages. Counts are of the whole, lists hold the first
// kMaxListed. NaN is missing, and equal to NaN where values are compared; -0 equals 0.
struct DataQuality {
  static constexpr size_t kMaxListed = 100;
  static constexpr size_t kMaxListedRows = 10;
  static constexpr Index kMaxColumns = 1'000'000;      // of a block that are looked at
  static constexpr Index kMaxHashedRows = 10'000'000;  // that are compared
  static constexpr Index kMaxClasses = 64;
  static constexpr Index kMaxClassPairs = 1'000'000;  // of a column and a class
  static constexpr Index kMaxTargets = 8;
  // A column of few rows has one value for each class by chance.
  static constexpr Index kMinRowsBeyondClasses = 20;
  static constexpr double kWideScales = 1000;

  struct Missing {
    ColumnPlace column;
    int64_t count = 0;
    std::vector<int64_t> rows;  // the first kMaxListedRows
  };
  struct NearlyConstant {
    ColumnPlace column;
    double value = 0;        // of more than 99 % of the known values
    int64_t exceptions = 0;  // the others, > 0
  };
  struct EqualColumns {
    ColumnPlace column;
    ColumnPlace equal_to;  // the first such column
  };
  struct DuplicateRow {
    int64_t row = 0;
    int64_t equal_to = 0;      // the first such row
    bool conflicting = false;  // a target, task or weight differs
  };
  struct Leak {
    ColumnPlace column;
    Index target = 0;    // position in role_columns
    bool equal = false;  // else: one value for each class, not the same for all
  };
  struct TextColumn {
    ColumnPlace column;
    TextKind kind = TextKind::kCategories;  // none of these
  };
  struct Scale {
    ColumnPlace column;
    double range = 0;  // largest minus smallest known value
  };

  int64_t num_missing_columns = 0;
  int64_t num_missing_cells = 0;
  std::vector<Missing> missing;
  int64_t num_constant = 0;  // less than two known values
  std::vector<ColumnPlace> constant;
  int64_t num_nearly_constant = 0;
  std::vector<NearlyConstant> nearly_constant;
  int64_t num_duplicate_rows = 0;
  int64_t num_conflicting_rows = 0;
  std::vector<DuplicateRow> duplicate_rows;
  // How many columns are equal to an earlier one. Constant columns do not count; the columns of all
  // dense blocks are compared with each other, those of a sparse block only among themselves.
  int64_t num_equal_columns = 0;
  std::vector<EqualColumns> equal_columns;
  int64_t num_leaks = 0;
  std::vector<Leak> leaks;
  // Dense features that say which row it is (row_identifier.h).
  int64_t num_identifiers = 0;
  std::vector<ColumnPlace> identifiers;
  // Dense features and targets whose categories are numbers, dates or sentences, read as texts.
  int64_t num_text_columns = 0;
  std::vector<TextColumn> text_columns;
  // The smallest and the largest of numeric dense features that are not constant, when wider apart
  // than kWideScales.
  std::optional<std::pair<Scale, Scale>> scales;
};

namespace quality {
struct Scan;
}

// `dataset` is valid, `scan` is of it and loses its hashes of rows. Errors: kCancelled, soon after
// `is_cancelled` says so.
absl::StatusOr<DataQuality> AssessQuality(const Dataset& dataset, quality::Scan& scan,
                                          const std::function<bool()>& is_cancelled);
// The same with a scan of its own. Errors: kCancelled, soon after `is_cancelled` says so.
absl::StatusOr<DataQuality> AssessQuality(const Dataset& dataset,
                                          const std::function<bool()>& is_cancelled);

}  // namespace mercer
