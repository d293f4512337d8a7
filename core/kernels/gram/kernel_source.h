// What a kernel reads: a kind of value of pairs of rows, and the columns or the square block that
// it comes from. Kernels with equal sources share one computation of distances.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/spec/kernel_formula.h"
#include "core/kernels/spec/kernel_spec.h"
#include "core/kernels/spec/pair_values.h"

namespace mercer {

struct KernelSource {
  bool is_square = false;
  std::string square;                             // square source: the name of its block
  PairValue value = PairValue::kSquaredDistance;  // feature source
  // The columns of a feature source: (block, column) in the prepared data.
  std::vector<std::pair<Index, Index>> columns;

  friend bool operator==(const KernelSource&, const KernelSource&) = default;
};

// Whether a source's n^2 / 2 values are worth their memory: from two feature columns or fewer they
// are computed as fast as they are read, in every pass.
inline constexpr Index kMaxRecomputedColumns = 2;
inline bool IsWorthStoring(const KernelSource& source) {
  return source.is_square || static_cast<Index>(source.columns.size()) > kMaxRecomputedColumns;
}

// Finds what kernels read, in a time that depends on their own columns and not on all that there
// are.
class SourceFinder {
 public:
  // `data` must outlive this.
  explicit SourceFinder(const PreparedData& data);

  // The source of `spec` in the data. Square blocks are not looked up when the data has none (a
  // model's basis). Errors: kInvalidArgument with violations of "block" and "columns".
  absl::StatusOr<KernelSource> Find(const KernelSpec& spec) const;

 private:
  using Places = std::vector<std::pair<Index, Index>>;  // (block, column), ascending

  absl::StatusOr<Places> PlacesOf(const KernelSpec& spec) const;

  const PreparedData& data_;
  HashMap<std::string_view, Places> places_;         // of the columns of a name
  HashMap<std::string_view, Places> block_columns_;  // of the blocks of a name
};

// What finding and naming a source costs, in numbers (PacedCheck).
inline constexpr Index kSourceWork = 2000;

// The same for a single kernel.
absl::StatusOr<KernelSource> ResolveSource(const KernelSpec& spec, const PreparedData& data);

// The square block that `spec` reads: by its name, or with an empty name the only one of the right
// kind. Errors as above.
absl::StatusOr<const SquareBlock*> ResolveSquare(const KernelSpec& spec, const PreparedData& data);

// A distance below 0 by no more than this is 0, `largest` being the largest magnitude in its row.
// Training and prediction judge each row by itself: a model does not keep the distances between its
// training rows. None of them is larger than twice the largest distance of any one row (four times
// for squared distances), hence the factor.
inline double DistanceRounding(double largest) { return 4 * kSquareRounding * largest; }

// The error kInvalidArgument with reason NEGATIVE_VALUE for a distance `value`; row and column are
// those of the data set, from 0, and named from 1.
absl::Status NegativeDistanceError(const SquareBlock& square, double value, Index row,
                                   Index column);

// Checks that the block is square: training needs rows x rows. Errors: kInvalidArgument with reason
// NOT_SYMMETRIC.
absl::Status CheckSquareShape(const SquareBlock& square);

// The values of a feature source: rows.size() (empty: all) x source.columns.size(). Errors:
// kInvalidArgument with reason NEGATIVE_VALUE when a kernel of histograms meets an entry below 0,
// naming row (of the data set, from 1) and column; kCancelled.
absl::StatusOr<RowMatrix> GatherFeatures(const KernelSource& source, const PreparedData& data,
                                         const std::vector<Index>& rows, const RunContext& context);

// The same of all rows, not copied where the source is a whole block.
absl::StatusOr<SharedMatrix> SourceFeatures(const KernelSource& source, const PreparedData& data,
                                            const RunContext& context);
// Whether the source is all columns of one block, in their order.
bool IsWholeBlock(const KernelSource& source, const PreparedData& data);

// The values of a source at all rows of some data, for reading in blocks: only what the data holds
// already and the block that is asked for are in memory. Immutable and safe for concurrent use.
class SourceRows {
 public:
  SourceRows() = default;
  // Takes values that are at hand.
  explicit SourceRows(SharedMatrix values) : whole_(std::move(values)), rows_(whole_.rows()) {}
  // Shares the blocks of `data`. Errors: those of GatherFeatures.
  static absl::StatusOr<SourceRows> Make(const KernelSource& source, const PreparedData& data,
                                         const RunContext& context);

  Index rows() const { return rows_; }
  // The rows [begin, end): those of the data itself, or gathered into `gathered`; valid while both
  // are unchanged.
  Eigen::Map<const RowMatrix> Rows(Index begin, Index end, RowMatrix& gathered) const;

 private:
  SharedMatrix whole_;                                   // where all values are at hand
  std::vector<std::pair<SharedMatrix, Index>> columns_;  // else: a block and one of its columns
  Index rows_ = 0;
};

// Names the source within its data, for caches.
std::string SourceKey(const KernelSource& source);

}  // namespace mercer
