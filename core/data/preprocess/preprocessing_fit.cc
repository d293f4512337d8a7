#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/all_finite.h"
#include "core/base/numeric/hash_table.h"
#include "core/base/process/row_sums.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/data/preprocess/column_matcher.h"
#include "core/data/preprocess/preprocessing.h"
#include "core/data/table/block_rows.h"
#include "core/data/table/reader_errors.h"

namespace mercer {
namespace {

// What one pass over the training rows tells about the columns of a block.
struct ColumnStatistics {
  explicit ColumnStatistics(Index columns = 0)
      : num_known(static_cast<size_t>(columns), 0),
        min(Eigen::ArrayXd::Constant(columns, kInfinity)),
        max(Eigen::ArrayXd::Constant(columns, -kInfinity)) {}

  std::vector<Index> num_known;
  Eigen::ArrayXd mean;
  Eigen::ArrayXd min;
  Eigen::ArrayXd max;
  Eigen::ArrayXd largest_deviation;  // max |x - mean|
};

std::string SourceName(const FeatureBlock& block, Index column) {
  const auto i = static_cast<size_t>(column);
  return i < block.columns.size() ? block.columns[i].name : "";
}

// How messages name a column: by its name, or by its block and position when it has none.
std::string ShownName(const FeatureBlock& block, Index column) {
  const std::string name = SourceName(block, column);
  return name.empty() ? absl::StrCat(block.name, "[", column + 1, "]") : name;
}

class BlockFitter {
 public:
  BlockFitter(const FeatureBlock& block, const std::vector<Index>& rows,
              const PreprocessingOptions& options, const RunContext& context)
      : block_(block),
        rows_(rows),
        options_(options),
        context_(context),
        only_numbers_(std::none_of(block.columns.begin(), block.columns.end(),
                                   [](const ColumnSchema& column) { return column.categorical; })),
        poll_rows_(static_cast<size_t>(RowsPerPoll(block.num_columns()))) {}

  absl::StatusOr<BlockTransform> Fit() {
    if (block_.is_sparse) {
      const auto rows = static_cast<Index>(context_.scratch() == nullptr ? rows_.size() : 0);
      MERCER_RETURN_IF_ERROR(CheckTableSize(block_.name, rows, block_.num_columns()));
    }
    statistics_ = ColumnStatistics(block_.num_columns());
    MERCER_RETURN_IF_ERROR(FirstPass());
    if (options_.scaling == Scaling::kStandardize) {
      MERCER_RETURN_IF_ERROR(DeviationPass());
    }
    BlockTransform transform;
    transform.name = block_.name;
    for (Index column = 0; column < block_.num_columns(); ++column) {
      ColumnTransform& added = transform.columns.emplace_back();
      added.name = SourceName(block_, column);
      const auto i = static_cast<size_t>(column);
      if (statistics_.num_known[i] == 0) {
        return absl::InvalidArgumentError(absl::StrCat("block ", Quoted(block_.name), ", column ",
                                                       Quoted(ShownName(block_, column)),
                                                       ": no training row has a known value"));
      }
      if (IsCategorical(i)) {
        MERCER_RETURN_IF_ERROR(FitCategories(i, added));
      } else {
        MERCER_RETURN_IF_ERROR(FitNumber(i, added));
      }
    }
    return transform;
  }

 private:
  bool IsCategorical(size_t column) const {
    return column < block_.columns.size() && block_.columns[column].categorical;
  }
  // Sums over the training rows, one for each column: add(values, row, sums) adds what a row has to
  // them. Errors: those of `add`, kCancelled.
  template <typename AddRow>
  absl::StatusOr<Vector> SumOverTrainingRows(const AddRow& add) const {
    BlockRows reader(block_, block_.num_columns());
    absl::Status status;
    const Vector sums = SumOverRows(
        static_cast<Index>(rows_.size()), kRowBlock, Vector(Vector::Zero(block_.num_columns())),
        [&](Index begin, Index end, Vector& sum) {
          for (auto r = static_cast<size_t>(begin); r < static_cast<size_t>(end); ++r) {
            if (status.ok() && r % poll_rows_ == 0) {
              status = context_.CheckCancelled();
            }
            if (!status.ok()) {
              return;
            }
            status = add(reader.Row(rows_[r]), rows_[r], sum);
          }
        });
    MERCER_RETURN_IF_ERROR(status);
    return sums;
  }

  // Whether a row is nothing but known numbers, so that all its columns can be added at once.
  bool IsPlain(const double* values) const {
    return only_numbers_ && AllFinite(values, block_.num_columns());
  }

  absl::Status FirstPass() {
    const Index columns = block_.num_columns();
    counts_.resize(static_cast<size_t>(columns));
    for (size_t i = 0; i < counts_.size(); ++i) {
      counts_[i].resize(IsCategorical(i) ? block_.columns[i].categories.size() : 0, 0);
    }
    Index num_plain = 0;
    const auto add = [&](const double* values, Index row, Vector& sum) -> absl::Status {
      if (IsPlain(values)) {
        const Eigen::Map<const Eigen::ArrayXd> all(values, columns);
        sum.array() += all;
        statistics_.min = statistics_.min.min(all);
        statistics_.max = statistics_.max.max(all);
        ++num_plain;
        return absl::OkStatus();
      }
      for (Index i = 0; i < columns; ++i) {
        MERCER_RETURN_IF_ERROR(AddValue(values[i], row, i, sum(i)));
      }
      return absl::OkStatus();
    };
    MERCER_ASSIGN_OR_RETURN(const Vector sums, SumOverTrainingRows(add));
    statistics_.mean.resize(columns);
    for (Index i = 0; i < columns; ++i) {
      Index& num_known = statistics_.num_known[static_cast<size_t>(i)];
      num_known += num_plain;
      statistics_.mean(i) = sums(i) / static_cast<double>(num_known);
    }
    return absl::OkStatus();
  }

  absl::Status AddValue(double value, Index row, Index i, double& sum) {
    if (std::isfinite(value)) {
      ++statistics_.num_known[static_cast<size_t>(i)];
      sum += value;
      statistics_.min(i) = std::min(statistics_.min(i), value);
      statistics_.max(i) = std::max(statistics_.max(i), value);
      std::vector<Index>& counts = counts_[static_cast<size_t>(i)];
      if (!counts.empty() && value >= 0 && value < static_cast<double>(counts.size())) {
        ++counts[static_cast<size_t>(value)];
      }
      return absl::OkStatus();
    }
    const std::string name = ShownName(block_, i);
    if (std::isinf(value)) {
      return CellError(row + 1, name, "the value is infinite");
    }
    return options_.imputation == Imputation::kRefuse
               ? CellError(row + 1, name, "the value is missing", "preprocessing.imputation")
               : absl::OkStatus();
  }

  // A missing value is imputed by the mean, so that it deviates by zero.
  absl::Status DeviationPass() {
    const Index columns = block_.num_columns();
    const Eigen::ArrayXd& mean = statistics_.mean;
    Eigen::ArrayXd& largest = statistics_.largest_deviation;
    largest = (statistics_.max - mean).max(mean - statistics_.min);
    // Columns that deviate by nothing add zeros.
    const Eigen::ArrayXd divisors = (largest > 0).select(largest, 1.0);
    const auto add = [&](const double* values, Index /*row*/, Vector& sum) {
      if (IsPlain(values)) {
        sum.array() +=
            ((Eigen::Map<const Eigen::ArrayXd>(values, columns) - mean) / divisors).square();
        return absl::OkStatus();
      }
      for (Index i = 0; i < columns; ++i) {
        if (largest(i) > 0 && !std::isnan(values[i])) {
          const double scaled = (values[i] - mean(i)) / largest(i);
          sum(i) += scaled * scaled;
        }
      }
      return absl::OkStatus();
    };
    MERCER_ASSIGN_OR_RETURN(scaled_squares_, SumOverTrainingRows(add));
    return absl::OkStatus();
  }

  // x becomes (x - offset) factor. A column that is constant over the training rows, or whose width
  // is so small that 1 / width overflows, becomes zero.
  absl::Status FitNumber(size_t i, ColumnTransform& transform) const {
    const auto at = static_cast<Index>(i);
    const double mean = statistics_.mean(at);
    const double min = statistics_.min(at);
    const double max = statistics_.max(at);
    transform.fill = options_.imputation == Imputation::kMeanOrMostFrequent ? mean : 0;
    double width = 1;
    if (options_.scaling == Scaling::kStandardize) {
      transform.offset = mean;
      width = statistics_.largest_deviation(at) *
              std::sqrt(scaled_squares_(at) / static_cast<double>(rows_.size()));
    } else if (options_.scaling == Scaling::kMinMax) {
      transform.offset = min;
      width = max - min;
    }
    const bool scaled =
        options_.scaling == Scaling::kStandardize || options_.scaling == Scaling::kMinMax;
    const bool constant = min == max || !(width >= std::numeric_limits<double>::min());
    transform.factor = !scaled ? 1 : constant ? 0 : 1 / width;
    if (scaled && constant) {
      transform.offset = min;
    }
    if (!std::isfinite(transform.fill) || !std::isfinite(transform.offset) ||
        !std::isfinite(width)) {
      return absl::InvalidArgumentError(
          absl::StrCat("block ", Quoted(block_.name), ", column ", Quoted(ShownName(block_, at)),
                       ": values between ", min, " and ", max, " are too large to be scaled"));
    }
    return absl::OkStatus();
  }

  // The categories that occur in training rows, in the order of the dictionary.
  absl::Status FitCategories(size_t i, ColumnTransform& transform) const {
    transform.categorical = true;
    Index largest = 0;
    for (size_t code = 0; code < counts_[i].size(); ++code) {
      if (counts_[i][code] == 0) {
        continue;
      }
      if (counts_[i][code] > largest) {
        largest = counts_[i][code];
        transform.fill = static_cast<double>(transform.categories.size());
      }
      transform.categories.push_back(block_.columns[i].categories[code]);
    }
    if (transform.categories.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "block ", Quoted(block_.name), ", column ",
          Quoted(ShownName(block_, static_cast<Index>(i))), ": codes outside its categories"));
    }
    return absl::OkStatus();
  }

  const FeatureBlock& block_;
  const std::vector<Index>& rows_;
  const PreprocessingOptions& options_;
  const RunContext& context_;
  const bool only_numbers_;
  const size_t poll_rows_;
  ColumnStatistics statistics_;
  // sum ((x - mean) / largest_deviation)^2 of each, which neither overflows nor underflows.
  Vector scaled_squares_;
  std::vector<std::vector<Index>> counts_;  // of each category, categorical columns only
};

absl::Status CheckBlockNames(const Dataset& dataset, const PreprocessingOptions& options) {
  FieldViolations violations;
  HashSet<std::string> seen;
  for (size_t i = 0; i < options.blocks.size(); ++i) {
    const std::string& name = options.blocks[i];
    const bool known = dataset.FindBlock(name) != nullptr || dataset.FindSquare(name) != nullptr;
    violations.Check(known, absl::StrCat("blocks[", i, "]"),
                     absl::StrCat("the data set has no block ", Quoted(name)));
    violations.Check(seen.insert(name).second, absl::StrCat("blocks[", i, "]"),
                     absl::StrCat("names the block ", Quoted(name), " twice"));
  }
  return violations.ToStatus();
}

}  // namespace

absl::StatusOr<Preprocessing> Preprocessing::Fit(const Dataset& dataset,
                                                 const std::vector<Index>& training_rows,
                                                 const PreprocessingOptions& options,
                                                 const RunContext& context) {
  MERCER_RETURN_IF_ERROR(CheckBlockNames(dataset, options));
  if (training_rows.empty()) {
    return absl::InvalidArgumentError("preprocessing needs at least one training row");
  }
  for (const Index row : training_rows) {
    if (row < 0 || row >= dataset.rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("training row ", row, " is outside the data set's ", dataset.rows));
    }
  }
  const auto in_use = [&](const std::string& name) {
    return options.blocks.empty() ||
           std::find(options.blocks.begin(), options.blocks.end(), name) != options.blocks.end();
  };
  Preprocessing result;
  result.options_ = options;
  for (const FeatureBlock& block : dataset.blocks) {
    if (in_use(block.name)) {
      MERCER_ASSIGN_OR_RETURN(BlockTransform transform,
                              BlockFitter(block, training_rows, options, context).Fit());
      result.blocks_.push_back(std::move(transform));
    }
  }
  for (const SquareBlock& square : dataset.squares) {
    if (in_use(square.name)) {
      result.squares_.push_back(square.name);
    }
  }
  if (result.blocks_.empty() && result.squares_.empty()) {
    return absl::InvalidArgumentError("the data set has no features");
  }
  return result;
}

absl::Status Preprocessing::FitRepairs(const Dataset& dataset, std::vector<Index> training_rows,
                                       const std::vector<std::string>& blocks,
                                       const RunContext& context) {
  const SquareRepairRule rule = std::exchange(options_.square_repair, SquareRepairRule::kNone);
  if (rule == SquareRepairRule::kNone) {
    return absl::OkStatus();
  }
  std::sort(training_rows.begin(), training_rows.end());
  for (const std::string& name : squares_) {
    const SquareBlock* square = dataset.FindSquare(name);
    if (square->kind != SquareKind::kKernel ||
        std::find(blocks.begin(), blocks.end(), name) == blocks.end()) {
      continue;
    }
    MERCER_ASSIGN_OR_RETURN(std::optional<SquareRepair> repair,
                            FitSquareRepair(*square, training_rows, rule, context));
    if (repair.has_value()) {
      options_.square_repair = rule;
      repairs_.push_back(*std::move(repair));
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer
