// Feature columns that tell the target.
#include <algorithm>
#include <numeric>

#include "core/base/status/status_macros.h"
#include "core/io/quality/quality_scan.h"

namespace mercer::quality {
namespace {

// The rows by the value of a target.
struct Classes {
  std::vector<uint8_t> of_row;  // empty: too many classes, or too few rows for them
  std::vector<int64_t> sizes;
  size_t count() const { return sizes.size(); }
};

Classes FindClasses(const Vector& target) {
  Classes classes;
  std::vector<double> values;
  classes.of_row.reserve(static_cast<size_t>(target.size()));
  for (Index row = 0; row < target.size(); ++row) {
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](double value) { return SameValue(value, target(row)); });
    const auto position = static_cast<size_t>(found - values.begin());
    if (found == values.end()) {
      if (static_cast<Index>(values.size()) == DataQuality::kMaxClasses) {
        return Classes();
      }
      values.push_back(target(row));
      classes.sizes.push_back(0);
    }
    ++classes.sizes[position];
    classes.of_row.push_back(static_cast<uint8_t>(position));
  }
  const auto count = static_cast<Index>(classes.count());
  const bool enough = target.size() >= count + DataQuality::kMinRowsBeyondClasses;
  return count >= 2 && enough ? classes : Classes();
}

// What the columns of a block have to do with one target.
class LeakFinder {
 public:
  LeakFinder(const FeatureBlock& block, const std::vector<ColumnScan>& columns,
             const Vector& target, const Classes& classes)
      : block_(block),
        columns_(columns),
        target_(target),
        classes_(classes),
        width_(classes.of_row.empty()
                   ? 0
                   : std::min(columns.size(),
                              static_cast<size_t>(DataQuality::kMaxClassPairs) / classes.count())),
        values_(width_ * classes.count()),
        seen_(width_ * classes.count()) {}

  // `copies`: the columns that may be copies of the target.
  absl::Status Run(std::vector<char> copies, const CancelCheck& is_cancelled) {
    copies_ = std::move(copies);
    by_class_.assign(width_, 1);
    for (size_t c = 0; c < width_; ++c) {
      by_class_[c] = columns_[c].constant() ? 0 : 1;
    }
    undecided_ = std::count(copies_.begin(), copies_.end(), 1) +
                 std::count(by_class_.begin(), by_class_.end(), 1);
    return ForEachCell(
        block_, is_cancelled, [this](Index) { return undecided_ > 0; },
        [this](Index row, Index column, double value) {
          Visit(row, static_cast<size_t>(column), value);
        });
  }

  bool IsCopy(size_t column) const { return copies_[column] != 0; }

  bool IsByClass(size_t column) const {
    if (column >= width_ || by_class_[column] == 0) {
      return false;
    }
    // A sparse column tells classes apart only when either all rows of a class have the value or
    // none has.
    for (size_t k = 0; k < classes_.count() && block_.is_sparse; ++k) {
      const int64_t seen = seen_[column * classes_.count() + k];
      if (seen != 0 && seen != classes_.sizes[k]) {
        return false;
      }
    }
    return true;
  }

 private:
  void Visit(Index row, size_t column, double value) {
    if (copies_[column] != 0 && !SameValue(value, target_(row))) {
      copies_[column] = 0;
      --undecided_;
    }
    if (column >= width_ || by_class_[column] == 0 || (block_.is_sparse && value == 0)) {
      return;
    }
    const size_t place = column * classes_.count() + classes_.of_row[static_cast<size_t>(row)];
    if (seen_[place]++ == 0) {
      values_[place] = value;
    } else if (!SameValue(values_[place], value)) {
      by_class_[column] = 0;
      --undecided_;
    }
  }

  const FeatureBlock& block_;
  const std::vector<ColumnScan>& columns_;
  const Vector& target_;
  const Classes& classes_;
  const size_t width_;          // columns whose values by class are followed
  std::vector<double> values_;  // of each column and class
  std::vector<int64_t> seen_;   // rows of the class that were visited
  std::vector<char> copies_;
  std::vector<char> by_class_;
  int64_t undecided_ = 0;  // entries of the two that are set
};

absl::Status FindLeaksOf(const Dataset& dataset, const Scan& scan, size_t target,
                         const CancelCheck& is_cancelled, DataQuality& quality) {
  const RoleColumn& column = dataset.role_columns[target];
  const ColumnScan& scanned = scan.role_columns[target];
  if (scanned.constant()) {
    return absl::OkStatus();
  }
  const Classes classes = FindClasses(column.values);
  for (size_t b = 0; b < dataset.blocks.size(); ++b) {
    const FeatureBlock& block = dataset.blocks[b];
    const std::vector<ColumnScan>& columns = scan.blocks[b];
    std::vector<char> copies(columns.size());
    for (size_t c = 0; c < columns.size(); ++c) {
      const bool categorical = c < block.columns.size() && block.columns[c].categorical;
      const bool same_type =
          categorical == column.schema.categorical &&
          (!categorical || block.columns[c].categories == column.schema.categories);
      // Only the entries of a sparse column that are not zero are visited, so it must have as many
      // of them as the target.
      copies[c] = same_type && columns[c].hash == scanned.hash &&
                  columns[c].nonzeros == scanned.nonzeros && columns[c].missing == scanned.missing;
    }
    LeakFinder finder(block, columns, column.values, classes);
    MERCER_RETURN_IF_ERROR(finder.Run(std::move(copies), is_cancelled));
    for (size_t c = 0; c < columns.size(); ++c) {
      if ((finder.IsCopy(c) || finder.IsByClass(c)) &&
          quality.num_leaks++ < static_cast<int64_t>(DataQuality::kMaxListed)) {
        quality.leaks.push_back({{static_cast<Index>(b), static_cast<Index>(c)},
                                 static_cast<Index>(target),
                                 finder.IsCopy(c)});
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FindLeaks(const Dataset& dataset, const Scan& scan, const CancelCheck& is_cancelled,
                       DataQuality& quality) {
  Index targets = 0;
  for (size_t c = 0; c < dataset.role_columns.size() && targets < DataQuality::kMaxTargets; ++c) {
    if (dataset.role_columns[c].role == ColumnRole::kTarget) {
      ++targets;
      MERCER_RETURN_IF_ERROR(FindLeaksOf(dataset, scan, c, is_cancelled, quality));
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer::quality
