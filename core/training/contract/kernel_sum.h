// The sum of the kernels of a problem, which learners on a fixed sum train on and their verifiers
// compute with. It depends on rows and kernels alone: the values of a path, and classes that are
// each told from the rest, have it in common.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/training/contract/problem.h"

namespace mercer {

struct KernelSum {
  std::shared_ptr<const PreparedData> inputs;  // whose rows they are of
  std::unique_ptr<const KernelFamily> family;
  std::unique_ptr<const KernelOperator> kernel;  // sum_k K_k, formed
};

// Keeps the sum that was made last. One belongs to a problem and all that are made of it
// (TrainingProblem::kernel_sum). Thread-safe.
class KernelSumCell {
 public:
  // The sum of the kernels of `problem` when that is what it keeps, else null.
  std::shared_ptr<const KernelSum> Find(const TrainingProblem& problem) const;
  // The same, made when it is not there; what was kept before is let go first, so that the cell
  // holds one at the most. Errors: those of MakeExactKernelFamily, kCancelled.
  absl::StatusOr<std::shared_ptr<const KernelSum>> FindOrMake(const TrainingProblem& problem,
                                                              RunContext& context);

 private:
  mutable absl::Mutex mutex_;
  std::string key_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const KernelSum> sum_ ABSL_GUARDED_BY(mutex_);
};

// Makes `sum`, unless it is there, the sum of the kernels of the problem: that which its cell keeps,
// else a new one. Errors: those of MakeExactKernelFamily, kCancelled.
absl::Status MakeKernelSum(const TrainingProblem& problem, std::shared_ptr<const KernelSum>& sum,
                           RunContext& context);

// out = sum_k K_k a for the kernels of `family`, which are those of the problem: what a certificate
// uses. Entries are read from the sum that training has formed of them, if the problem's cell keeps
// it, which changes no bit; else they are computed from the data. Errors: kCancelled.
absl::Status KernelSumProduct(const TrainingProblem& problem, const KernelFamily& family,
                              ConstMatrixRef a, MatrixRef out, RunContext& context);

}  // namespace mercer
