// Formed Gram matrices as a family of kernels, and problems on them, for the tests of solvers of
// multiple kernel learning.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/solvers/mkl/smo_mkl.h"
#include "tests/core/solvers/svm_test_problems.h"

namespace mercer {

class GramFamily final : public KernelFamily {
 public:
  explicit GramFamily(std::vector<Matrix> grams)
      : grams_(std::move(grams)), scales_(Vector::Ones(static_cast<Index>(grams_.size()))) {}

  // Called before every product.
  void set_before_products(std::function<void()> call) { before_products_ = std::move(call); }
  const Matrix& gram(Index k) const { return grams_[static_cast<size_t>(k)]; }

  Index size() const override { return grams_[0].rows(); }
  Index num_kernels() const override { return static_cast<Index>(grams_.size()); }
  const Vector& scales() const override { return scales_; }
  absl::Status QuadraticForms(ConstMatrixRef a, absl::Span<const Index> kernels, MatrixRef out,
                              RunContext& context) const override {
    for (Index k = 0; k < out.rows(); ++k) {
      const Matrix& of_kernel = gram(kernels.empty() ? k : kernels[static_cast<size_t>(k)]);
      for (Index j = 0; j < a.cols(); ++j) {
        out(k, j) = a.col(j).dot(of_kernel * a.col(j));
      }
    }
    return context.CheckCancelled();
  }
  absl::Status Products(ConstVectorRef a, absl::Span<const Index> kernels,
                        absl::Span<const Index> rows, MatrixRef out,
                        RunContext& context) const override {
    if (before_products_) {
      before_products_();
    }
    const std::vector<Index> of_rows(rows.begin(), rows.end());
    for (Index j = 0; j < out.cols(); ++j) {
      const Vector product = gram(kernels.empty() ? j : kernels[static_cast<size_t>(j)]) * a;
      out.col(j) = rows.empty() ? product : Vector(product(of_rows));
    }
    return context.CheckCancelled();
  }
  absl::Status CombinedProduct(ConstVectorRef weights, ConstMatrixRef a, MatrixRef out,
                               RunContext& context) const override {
    out.setZero();
    for (Index k = 0; k < num_kernels(); ++k) {
      out += weights(k) * (gram(k) * a);
    }
    return context.CheckCancelled();
  }
  absl::StatusOr<std::unique_ptr<KernelOperator>> Combine(ConstVectorRef weights,
                                                          RunContext&) const override {
    auto sum = std::make_shared<Matrix>(Matrix::Zero(size(), size()));
    for (Index k = 0; k < num_kernels(); ++k) {
      *sum += weights(k) * gram(k);
    }
    return std::unique_ptr<KernelOperator>(std::make_unique<DenseKernelOperator>(std::move(sum)));
  }
  absl::Status Diagonals(absl::Span<const Index>, MatrixRef out, RunContext&) const override {
    for (Index k = 0; k < num_kernels(); ++k) {
      out.col(k) = gram(k).diagonal();
    }
    return absl::OkStatus();
  }

 private:
  std::vector<Matrix> grams_;
  Vector scales_;
  std::function<void()> before_products_;
};

struct SmoMklCase {
  GramFamily family;
  SvmProblem problem;
};

// n samples of three features under Gaussian kernels of four widths, of which one is scaled; costs all c.
inline SmoMklCase MakeSmoMklCase(uint64_t seed, Index n, double c,
                                 LossKind kind = LossKind::kHinge) {
  const RowMatrix x = RandomFeatures(seed, n, 3);
  std::vector<Matrix> grams;
  for (const double gamma : {0.01, 0.1, 0.5, 2.0}) {
    grams.push_back((gamma == 0.1 ? 1.5 : 1.0) * GaussianGram(x, gamma));
  }
  const bool hinge = kind == LossKind::kHinge;
  return {GramFamily(std::move(grams)),
          {SharedLoss(kind, hinge ? 0.0 : 0.1),
           hinge ? NoisyLabels(seed, x) : NoisyTargets(seed, x), Vector::Constant(n, c)}};
}

// Starts, and runs until done; a failure fails the test.
inline std::unique_ptr<SmoMklSolver> SolveSmoMkl(const KernelFamily& family,
                                                 const SvmProblem& problem,
                                                 const SmoMklOptions& options) {
  RunContext context;
  auto solver = std::make_unique<SmoMklSolver>(family, options);
  EXPECT_EQ(solver->Start(problem, {}, context), absl::OkStatus());
  EXPECT_EQ(solver->Run(context), absl::OkStatus());
  return solver;
}

}  // namespace mercer
