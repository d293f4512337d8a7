// Small problems and slow, obvious reference solvers for the tests of the solvers.
#pragma once

#include <memory>

#include "core/base/numeric/types.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/objectives/loss.h"
#include "core/solvers/svm/smo.h"

namespace mercer {

// n rows of `columns` standard normal features.
RowMatrix RandomFeatures(uint64_t seed, Index n, Index columns);
// exp(-gamma |x - z|^2).
Matrix GaussianGram(const RowMatrix& x, double gamma);
// Signs of a noisy nonlinear function of the features, both present.
Vector NoisyLabels(uint64_t seed, const RowMatrix& x);
Vector NoisyTargets(uint64_t seed, const RowMatrix& x);

// A kernel that is never formed as far as its users can tell.
class HiddenKernelOperator final : public KernelOperator {
 public:
  explicit HiddenKernelOperator(Matrix gram) : gram_(std::move(gram)) {}
  Index size() const override { return gram_.rows(); }
  absl::Status Apply(ConstMatrixRef x, MatrixRef out, RunContext& context) const override;
  absl::Status Diagonal(VectorRef out, RunContext& context) const override;
  absl::Status Columns(absl::Span<const Index> columns, MatrixRef out,
                       RunContext& context) const override;
  absl::Status Block(absl::Span<const Index> rows, absl::Span<const Index> columns, MatrixRef out,
                     RunContext& context) const override;

 private:
  Matrix gram_;
};

std::shared_ptr<const Loss> SharedLoss(LossKind kind, double epsilon = 0);

struct SmoCase {
  std::shared_ptr<const Matrix> gram;
  DenseKernelOperator kernel;
  SvmProblem problem;
};

// n samples of three features under a Gaussian kernel; costs all c; epsilon 0.2 for regression.
SmoCase MakeSmoCase(uint64_t seed, Index n, double c, LossKind kind = LossKind::kHinge,
                    double gamma = 0.5);

// Starts, and runs until done; a failure fails the test.
std::unique_ptr<SmoSolver> SolveSmo(const KernelOperator& kernel, const SvmProblem& problem,
                                    const SmoOptions& options, const SvmWarmStart& warm = {});

// min 1/2 dual'K dual - targets'dual + epsilon |dual|_1 over the boxes and sum dual = 0, by exact
// minimisation over every pair of variables in turn until a sweep changes nothing: slow, without
// working sets, caches or gradients.
Vector SolveByPairSweeps(const Matrix& gram, const SvmProblem& problem);

}  // namespace mercer
