// The way from typed columns to numeric features: imputation, one-hot coding, scaling. It is fitted
// on training rows only and stored with the model, so that rows to predict go the same way.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/data/preprocess/square_repair.h"
#include "core/data/table/dataset.h"

namespace mercer {

enum class Scaling : uint8_t { kNone = 0, kStandardize = 1, kMinMax = 2, kUnitNorm = 3 };
enum class Imputation : uint8_t { kRefuse = 0, kMeanOrMostFrequent = 1 };
enum class UnseenCategory : uint8_t { kRefuse = 0, kAllZeros = 1 };

struct PreprocessingOptions {
  // kStandardize: (x - mean) / deviation (divisor n); kMinMax: to [0, 1]; constant columns become 0
  // in both. kUnitNorm: every row of a block divided by its Euclidean norm; a zero row stays zero.
  // One-hot columns are scaled like all others except under kStandardize and kMinMax, where they
  // stay 0/1.
  Scaling scaling = Scaling::kStandardize;
  // kRefuse: a missing value is an error that names row and column. kMeanOrMostFrequent: numeric
  // columns get the mean of their known training values, categorical ones the most frequent
  // category (ties: the first).
  Imputation imputation = Imputation::kRefuse;
  // What a category that training did not know means at prediction.
  UnseenCategory unseen_category = UnseenCategory::kRefuse;
  // What becomes of precomputed kernels that are not positive semidefinite.
  SquareRepairRule square_repair = SquareRepairRule::kNone;
  // Names of the blocks in use; empty means all.
  std::vector<std::string> blocks;

  // Without the repair, which VisitRepairs has.
  static void VisitFields(auto& visit, auto& self) {
    visit(UpTo(self.scaling, Scaling::kUnitNorm),
          UpTo(self.imputation, Imputation::kMeanOrMostFrequent),
          UpTo(self.unseen_category, UnseenCategory::kAllZeros), self.blocks);
  }
};

// What one column of the data set becomes.
struct ColumnTransform {
  std::string name;
  bool categorical = false;
  std::vector<std::string> categories;  // one-hot output columns, in this order
  double fill = 0;    // replaces a missing value (categorical: index into categories)
  double offset = 0;  // numeric: (x - offset) * factor
  double factor = 1;

  static void VisitFields(auto& visit, auto& self) {
    visit(self.name, self.categorical, self.categories, Finite(self.fill), Finite(self.offset),
          Finite(self.factor));
    visit.Require([&] {
      const auto count = static_cast<double>(self.categories.size());
      return !self.categorical || (self.fill >= 0 && self.fill < count);
    });
  }
};

struct BlockTransform {
  std::string name;
  std::vector<ColumnTransform> columns;

  static void VisitFields(auto& visit, auto& self) { visit(self.name, self.columns); }
};

// A category that training did not know.
struct UnseenCell {
  Index row = 0;  // from 0
  std::string column;
  std::string category;
};

class Preprocessing {
 public:
  Preprocessing() = default;

  // Statistics from the rows `training_rows` of `dataset`. Errors: kInvalidArgument (unknown block,
  // missing value refused); kResourceExhausted (a sparse block that takes more than 8 GiB when
  // dense, without a scratch space, or that has so many columns); kCancelled.
  static absl::StatusOr<Preprocessing> Fit(const Dataset& dataset,
                                           const std::vector<Index>& training_rows,
                                           const PreprocessingOptions& options,
                                           const RunContext& context);

  // Looks at the precomputed kernels `blocks` of the data set, as the options say, between the
  // training rows. With nothing to repair, options().square_repair is kNone afterwards. Errors:
  // kInvalidArgument with reason NOT_PSD (kCheck); kCancelled.
  absl::Status FitRepairs(const Dataset& dataset, std::vector<Index> training_rows,
                          const std::vector<std::string>& blocks, const RunContext& context);

  // Applies the map. Columns are matched by name when the data set names them, else by position and
  // count. Errors: kInvalidArgument naming the block and column (missing column, wrong count, wrong
  // type, unseen category with its row); kResourceExhausted (a block that grows by the map to more
  // than 8 GiB, without a scratch space, or to so many columns); those of ScratchSpace; kCancelled.
  // Square blocks that the data set lacks are left out: what reads them says so.
  absl::StatusOr<PreparedData> Apply(const Dataset& dataset, const RunContext& context) const;
  // The same for the data set that it was fitted on: of repaired kernels, training rows have the
  // matrix that was made positive semidefinite.
  absl::StatusOr<PreparedData> ApplyToFitted(const Dataset& dataset, RunContext& context) const;

  // The first category of each row that training did not know, by row. Errors: those of Apply about
  // columns; kCancelled.
  absl::StatusOr<std::vector<UnseenCell>> FindUnseen(const Dataset& dataset,
                                                     const RunContext& context) const;

  // The same map with another rule for categories that training did not know.
  Preprocessing WithUnseenCategory(UnseenCategory rule) const {
    Preprocessing other = *this;
    other.options_.unseen_category = rule;
    return other;
  }

  // The same map for rows of which no other square blocks are read than these.
  Preprocessing WithSquares(const std::vector<std::string>& names) const;

  const PreprocessingOptions& options() const { return options_; }
  const std::vector<BlockTransform>& blocks() const { return blocks_; }
  // Names of the square blocks in use.
  const std::vector<std::string>& squares() const { return squares_; }
  const std::vector<SquareRepair>& repairs() const { return repairs_; }
  // Number of output columns of all blocks.
  Index num_outputs() const;
  // Their names: of a category "COLUMN=CATEGORY", of a column without a name "BLOCK[POSITION]".
  // Those that several have are "BLOCK.NAME".
  std::vector<std::string> OutputNames() const;

  // Without the repairs: there are none in models of before.
  static void VisitFields(auto& visit, auto& self) {
    visit(self.options_, self.blocks_, self.squares_);
  }
  static void VisitRepairs(auto& visit, auto& self) {
    visit(UpTo(self.options_.square_repair, SquareRepairRule::kFlip), self.repairs_);
    visit.Require([&] { return self.RepairsFit(); });
  }

 private:
  absl::StatusOr<PreparedData> ApplyToBlocks(const Dataset& dataset,
                                             const RunContext& context) const;
  // Whether the repairs are such as this rule makes, of blocks that are there.
  bool RepairsFit() const;

  PreprocessingOptions options_;
  std::vector<BlockTransform> blocks_;
  std::vector<std::string> squares_;   // square blocks in use
  std::vector<SquareRepair> repairs_;  // of some of them
};

}  // namespace mercer
