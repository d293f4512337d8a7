#include "tests/core/solvers/svm_test_problems.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"

namespace mercer {
namespace {

// The change t of dual(i), minus which dual(j) changes, that minimises the objective: the best
// among the kinks, the ends and the vertices of the parabolas between them.
double BestPairStep(const Matrix& gram, const SvmProblem& problem, const Vector& dual,
                    const Vector& scores, Index i, Index j) {
  const Interval box_i = problem.loss->DualBox(problem.targets(i), problem.costs(i));
  const Interval box_j = problem.loss->DualBox(problem.targets(j), problem.costs(j));
  const double epsilon = problem.loss->epsilon();
  const double low = std::max(box_i.low - dual(i), dual(j) - box_j.high);
  const double high = std::min(box_i.high - dual(i), dual(j) - box_j.low);
  const double slope = scores(i) - problem.targets(i) - scores(j) + problem.targets(j);
  const double curvature = gram(i, i) + gram(j, j) - 2 * gram(i, j);
  const auto objective = [&](double t) {
    return slope * t + 0.5 * curvature * t * t +
           epsilon * (std::abs(dual(i) + t) + std::abs(dual(j) - t));
  };
  std::vector<double> candidates = {0.0, low, high, -dual(i), dual(j)};
  if (curvature > 1e-14) {
    for (const double kink : {-2 * epsilon, 0.0, 2 * epsilon}) {
      candidates.push_back((-slope + kink) / curvature);
    }
  }
  double best = 0;
  for (const double candidate : candidates) {
    const double t = std::clamp(candidate, low, high);
    best = objective(t) < objective(best) ? t : best;
  }
  return best;
}

}  // namespace

RowMatrix RandomFeatures(uint64_t seed, Index n, Index columns) {
  RandomStream random(seed, "svm-test-features");
  RowMatrix x(n, columns);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < columns; ++j) {
      x(i, j) = random.Normal();
    }
  }
  return x;
}

Matrix GaussianGram(const RowMatrix& x, double gamma) {
  Matrix gram(x.rows(), x.rows());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.rows(); ++j) {
      gram(i, j) = std::exp(-gamma * (x.row(i) - x.row(j)).squaredNorm());
    }
  }
  return gram;
}

Vector NoisyTargets(uint64_t seed, const RowMatrix& x) {
  RandomStream random(seed, "svm-test-targets");
  Vector targets(x.rows());
  for (Index i = 0; i < x.rows(); ++i) {
    targets(i) = std::sin(2 * x(i, 0)) + 0.5 * x(i, x.cols() - 1) + 0.3 * random.Normal();
  }
  return targets;
}

Vector NoisyLabels(uint64_t seed, const RowMatrix& x) {
  Vector labels = NoisyTargets(seed, x);
  labels = (labels.array() > 0.2).select(Vector::Ones(x.rows()), -Vector::Ones(x.rows()));
  labels(0) = 1;
  labels(1) = -1;
  return labels;
}

absl::Status HiddenKernelOperator::Apply(ConstMatrixRef x, MatrixRef out,
                                         RunContext& context) const {
  out = gram_ * x;
  return context.CheckCancelled();
}

absl::Status HiddenKernelOperator::Diagonal(VectorRef out, RunContext& context) const {
  out = gram_.diagonal();
  return context.CheckCancelled();
}

absl::Status HiddenKernelOperator::Columns(absl::Span<const Index> columns, MatrixRef out,
                                           RunContext& context) const {
  for (size_t j = 0; j < columns.size(); ++j) {
    out.col(static_cast<Index>(j)) = gram_.col(columns[j]);
  }
  return context.CheckCancelled();
}

absl::Status HiddenKernelOperator::Block(absl::Span<const Index> rows,
                                         absl::Span<const Index> columns, MatrixRef out,
                                         RunContext& context) const {
  for (size_t j = 0; j < columns.size(); ++j) {
    for (size_t i = 0; i < rows.size(); ++i) {
      out(static_cast<Index>(i), static_cast<Index>(j)) = gram_(rows[i], columns[j]);
    }
  }
  return context.CheckCancelled();
}

std::shared_ptr<const Loss> SharedLoss(LossKind kind, double epsilon) {
  return *MakeLoss(kind, epsilon);
}

Vector SolveByPairSweeps(const Matrix& gram, const SvmProblem& problem) {
  const Index n = gram.rows();
  Vector dual = Vector::Zero(n);
  Vector scores = Vector::Zero(n);
  for (int sweep = 0; sweep < 20'000; ++sweep) {
    double largest = 0;
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < i; ++j) {
        const double step = BestPairStep(gram, problem, dual, scores, i, j);
        dual(i) += step;
        dual(j) -= step;
        scores += step * (gram.col(i) - gram.col(j));
        largest = std::max(largest, std::abs(step));
      }
    }
    if (largest < 1e-12) {
      break;
    }
  }
  return dual;
}

SmoCase MakeSmoCase(uint64_t seed, Index n, double c, LossKind kind, double gamma) {
  const RowMatrix x = RandomFeatures(seed, n, 3);
  auto gram = std::make_shared<const Matrix>(GaussianGram(x, gamma));
  const Vector targets = kind == LossKind::kHinge ? NoisyLabels(seed, x) : NoisyTargets(seed, x);
  return {
      gram,
      DenseKernelOperator(gram),
      {SharedLoss(kind, kind == LossKind::kHinge ? 0.0 : 0.2), targets, Vector::Constant(n, c)}};
}

std::unique_ptr<SmoSolver> SolveSmo(const KernelOperator& kernel, const SvmProblem& problem,
                                    const SmoOptions& options, const SvmWarmStart& warm) {
  auto solver = std::make_unique<SmoSolver>(kernel, options);
  RunContext context;
  EXPECT_EQ(solver->Start(problem, warm, context), absl::OkStatus());
  EXPECT_EQ(solver->Run(context), absl::OkStatus());
  return solver;
}

}  // namespace mercer
