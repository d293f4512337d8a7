#include "tests/core/solvers/gradients/gradient_test_problems.h"

#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/solvers/gradients/pair_preconditioner.h"

namespace mercer {

Vector RandomVector(Index size, uint64_t seed) {
  RandomStream random(seed, "gradient-vector");
  Vector values(size);
  for (double& value : values) {
    value = random.Normal();
  }
  return values;
}

GradientData MakeGradientData(const GradientCase& given) {
  RandomStream random(given.seed, "gradient-case");
  GradientData data{Matrix(given.rows, given.columns), Vector(given.rows)};
  for (Index l = 0; l < given.columns; ++l) {
    const double scale = std::pow(given.scale, 2 * random.Uniform() - 1);
    for (Index i = 0; i < given.rows; ++i) {
      data.rows(i, l) = scale * random.Normal();
    }
  }
  for (Index i = 0; i < given.rows; ++i) {
    const double signal = data.rows(i, 0) + 0.5 * data.rows(i, given.columns > 1 ? 1 : 0);
    data.targets(i) = signal + 0.5 * random.Normal() > 0 ? 1 : -1;
  }
  for (Index i = 0; i < given.repeated_rows; ++i) {
    data.rows.row(given.rows - 1 - i) = data.rows.row(i);
  }
  for (Index l = 0; l < given.repeated_columns; ++l) {
    data.rows.col(given.columns - 1 - l) = data.rows.col(l);
  }
  return data;
}

GradientProblem MakeCase(const GradientCase& given, const GradientData& data) {
  RunContext context;
  const Matrix squared = SquaredRowDistances(data.rows, context).value();
  Matrix gram = data.rows * data.rows.transpose();
  if (!given.linear_gram) {
    const double width = MedianRowDistance(squared).value();
    gram = (-0.5 / (width * width) * squared).array().exp();
  }
  auto pairs = MakeGradientPairs(given.weights, squared, context);
  EXPECT_TRUE(pairs.ok()) << pairs.status();
  auto problem = MakeGradientProblem(MakeLoss(given.loss).value(), given.cost, data.rows,
                                     data.targets, *std::move(pairs), std::move(gram));
  EXPECT_TRUE(problem.ok()) << problem.status();
  problem->leading = LeadingPart(problem->gram, /*most=*/16, context).value();
  return *std::move(problem);
}

GradientProblem MakeCase(const GradientCase& given) {
  return MakeCase(given, MakeGradientData(given));
}

GradientProblem WithRows(const GradientProblem& problem, const Matrix& rows) {
  GradientProblem other = problem;
  other.rows = rows.rowwise() - rows.colwise().mean();
  return other;
}

GradientBest SolveCase(const GradientProblem& problem, double gap, int threads,
                       CoordinateMethod method) {
  RunContext context(CancellationToken(), threads, nullptr);
  CoordinateWeightSolver solver(problem, {.method = method, .relative_gap = gap, .max_steps = 500});
  EXPECT_TRUE(solver.Start({}, context).ok());
  EXPECT_TRUE(solver.Run(context).ok());
  EXPECT_LE(solver.best().RelativeGap(), gap) << solver.steps() << " steps";
  return solver.best();
}

GradientPoint PointOf(const GradientProblem& problem, const GradientBest& best) {
  RunContext context;
  return EvaluateGradients(problem, CoordinateWeights::kSimplex, best.weights, best.dual, context)
      .value();
}

Matrix PairMatrix(const GradientProblem& problem, const Vector& weights) {
  const GradientPairs& pairs = problem.pairs;
  Matrix q(pairs.size(), pairs.size());
  for (Index a = 0; a < pairs.size(); ++a) {
    for (Index b = 0; b < pairs.size(); ++b) {
      const auto p = static_cast<size_t>(a);
      const auto r = static_cast<size_t>(b);
      const Eigen::RowVectorXd of_a =
          problem.rows.row(pairs.targets[p]) - problem.rows.row(pairs.anchors[p]);
      const Eigen::RowVectorXd of_b =
          problem.rows.row(pairs.targets[r]) - problem.rows.row(pairs.anchors[r]);
      q(a, b) = problem.gram(pairs.anchors[p], pairs.anchors[r]) *
                (1 + of_a.cwiseProduct(weights.transpose()).dot(of_b));
    }
  }
  return q;
}

}  // namespace mercer
