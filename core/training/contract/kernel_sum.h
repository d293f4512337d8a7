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
#include "core/solvers/svm/smo_columns.h"
#include "core/training/contract/problem.h"

namespace mercer {

// The kernels of a problem of one task, for a learner on their fixed sum and its verifier: either
// computes them once. Errors: those of MakeExactKernelFamily.
absl::StatusOr<std::unique_ptr<KernelFamily>> MakeFamilyOfSum(const TrainingProblem& problem,
                                                              RunContext& context);

// The product with one vector that was computed last. Thread-safe.
class LastProduct {
 public:
  // Answers whether it was of `a`, and writes it to `out` if so.
  bool Read(ConstMatrixRef a, MatrixRef out) const;
  void Write(ConstMatrixRef a, ConstMatrixRef product);

 private:
  mutable absl::Mutex mutex_;
  Vector vector_ ABSL_GUARDED_BY(mutex_);
  Vector product_ ABSL_GUARDED_BY(mutex_);
};

// The columns that a solver has copied, until another one takes them. Thread-safe.
class SpareColumns {
 public:
  // Null when there are none.
  std::unique_ptr<SmoColumns> Take();
  void Leave(std::unique_ptr<SmoColumns> columns);

 private:
  absl::Mutex mutex_;
  std::unique_ptr<SmoColumns> columns_ ABSL_GUARDED_BY(mutex_);
};

struct KernelSum {
  std::shared_ptr<const PreparedData> inputs;  // whose rows they are of
  std::unique_ptr<const KernelFamily> family;
  std::unique_ptr<const KernelOperator> kernel;  // sum_k K_k, formed
  // The certificate of one value of a path leaves the product with which the next value begins.
  std::unique_ptr<LastProduct> last_product = std::make_unique<LastProduct>();
  // Of `kernel`: what the solver of one value leaves to that of the next.
  std::unique_ptr<SpareColumns> spare_columns = std::make_unique<SpareColumns>();

  // out = sum_k K_k a with the bits of the family's CombinedProduct. Errors: kCancelled.
  absl::Status Product(ConstMatrixRef a, MatrixRef out, RunContext& context) const;
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
