// Which columns leave in which round, and the Gram matrix of those that stay.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/learners/svm_rfe/options.h"

namespace mercer::svm_rfe {

// Whether the options fit so many columns. Errors: kInvalidArgument naming the field.
absl::Status CheckOptions(const SvmRfeOptions& options, Index columns);
// The numbers of columns that the machines of the rounds have: all first, 1 last.
std::vector<Index> CountsOf(const SvmRfeOptions& options, Index columns);
// How many columns the final machine has.
Index KeptColumns(const SvmRfeOptions& options, Index columns);

// The columns in the order in which they left, the worst first, and what they were judged by.
struct Ranking {
  std::vector<Index> removed;
  Vector criteria;

  // The `count` columns that are left after all others, ascending.
  std::vector<Index> Best(Index columns, Index count) const;
  // Removes `count` of the columns `left`, those of the least criterion; of equal ones the first.
  void RemoveWorst(const std::vector<Index>& left, const Vector& criterion, Index count);
};

// The Gram matrix of the rows on some of their columns, to which columns are added and from which
// they are taken away: K = sum_l x_l x_l'. Same bits for every number of threads.
class ColumnGram {
 public:
  // The columns must outlive this.
  explicit ColumnGram(const Matrix& columns);

  // Anew, of these columns. Errors: kCancelled, after which the matrix is of no use.
  absl::Status Compute(const std::vector<Index>& of, RunContext& context);
  // Without these of its columns. Errors: kCancelled, after which the matrix is of no use.
  absl::Status Remove(const std::vector<Index>& of, RunContext& context);

  const KernelOperator& kernel() const { return kernel_; }
  const Matrix& gram() const { return *gram_; }

 private:
  absl::Status Add(const std::vector<Index>& of, double scale, RunContext& context);

  const Matrix& columns_;
  const std::shared_ptr<Matrix> gram_;
  const DenseKernelOperator kernel_;
};

}  // namespace mercer::svm_rfe
