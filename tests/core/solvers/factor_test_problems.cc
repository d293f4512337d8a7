#include "tests/core/solvers/factor_test_problems.h"

#include <algorithm>
#include <cmath>

#include "core/base/numeric/random.h"
#include "core/solvers/factor/coordinate_descent_svm.h"
#include "core/solvers/factor/factor_svm.h"
#include "core/solvers/factor/gfb_svm.h"
#include "core/solvers/factor/interior_point_svm.h"
#include "core/solvers/svm/svm_newton.h"

namespace mercer {
namespace {

constexpr Index kPointColumns = 3;

Vector CosineFeatures(const Matrix& frequencies, const Vector& x) {
  Vector features(frequencies.cols());
  for (Index j = 0; j < frequencies.cols(); ++j) {
    features(j) = std::cos(frequencies.col(j).dot(x) + static_cast<double>(j));
  }
  return features;
}

}  // namespace

FactorInstance MakeFactorInstance(const FactorShape& shape) {
  RandomStream random(shape.seed, "factor svm test");
  FactorInstance instance{FactorRows(shape.rows, shape.rank), Matrix::Zero(shape.rank, shape.rank)};
  Matrix frequencies(kPointColumns, shape.rank);
  for (Index i = 0; i < frequencies.size(); ++i) {
    frequencies.data()[i] = random.Normal();
  }
  Vector targets(shape.rows);
  for (Index i = 0; i < shape.rows; ++i) {
    const Vector x = Vector::NullaryExpr(kPointColumns, [&] { return random.Normal(); });
    instance.rows.SetRow(i, CosineFeatures(frequencies, x));
    const double score = std::sin(2 * x(0)) + 0.3 * x(1) + 0.4 * random.Normal();
    targets(i) = shape.kind == LossKind::kHinge ? (score > 0 ? 1.0 : -1.0) : score;
  }
  for (Index j = 0; j < shape.rank; ++j) {
    const double size =
        std::pow(10.0, -4.0 * static_cast<double>(j) / static_cast<double>(shape.rank));
    for (Index i = j; i < shape.rank; ++i) {
      instance.root(i, j) = size * (i == j ? 1.0 : 0.1 * random.Normal());
    }
  }
  Vector costs = Vector::Constant(shape.rows, shape.cost);
  costs(0) = 0;
  instance.problem = {*MakeLoss(shape.kind, 0.1), targets, costs};
  FormGram(instance, 3);
  return instance;
}

void FormGram(FactorInstance& instance, Index num_blocks) {
  const Index rank = instance.rows.cols();
  Matrix features(instance.rows.rows(), rank);
  for (Index i = 0; i < features.rows(); ++i) {
    features.row(i) =
        Eigen::Map<const Eigen::RowVectorXf>(instance.rows.row(i), rank).cast<double>();
  }
  const Matrix x = features * instance.root;
  instance.gram = std::make_shared<const Matrix>(x * x.transpose());
  instance.dense = std::make_shared<const DenseKernelOperator>(instance.gram);
  // Twice as large, with scales of a half: blocks are scaled.
  instance.stacked = std::make_shared<const Matrix>(2.0 * instance.root.transpose());
  instance.blocks = {instance.stacked.get(), {}};
  for (Index k = 0; k < num_blocks; ++k) {
    const Index first = k * rank / num_blocks;
    const Index size = (k + 1) * rank / num_blocks - first;
    if (size > 0) {
      instance.blocks.blocks.push_back({first, size, 0.5});
    }
  }
}

const std::vector<SolverCase>& SolverCases() {
  static const auto& cases = *new std::vector<SolverCase>{
      {"ExactNewton",
       [](const FactorInstance& instance, double gap) {
         return std::make_unique<SvmNewtonSolver>(*instance.dense, gap);
       },
       {1e-8, 1e-8, 1e-8, 1e-8, 1e-3},
       {1e-8, 1e-8, 1e-8, 1e-8, 1e-3}},
      {"Newton",
       [](const FactorInstance& instance, double gap) {
         return std::make_unique<FactorSvmSolver>(instance.kernel(), gap);
       },
       {1e-8, 1e-8, 1e-8, 1e-8, 1e-8},
       {1e-8, 1e-8, 1e-8, 1e-8, 1e-8}},
      {"InteriorPoint",
       [](const FactorInstance& instance, double gap) {
         return std::make_unique<InteriorPointSvmSolver>(instance.kernel(), gap);
       },
       {1e-8, 1e-8, 1e-8, 1e-8, 1e-6},
       {1e-8, 1e-8, 1e-8, 1e-8, 1e-6}},
      {"Gfb",
       [](const FactorInstance& instance, double gap) {
         return std::make_unique<GfbSvmSolver>(instance.kernel(), gap, GfbOptions());
       },
       {1e-6, 2e-4, 1e-8, 1e-8, 1e-8},
       {1e-6, 1e-8, 1e-8, 1e-8, 0.65}},
      {"GfbMerged",
       [](const FactorInstance& instance, double gap) {
         return std::make_unique<GfbSvmSolver>(instance.kernel(), gap, GfbOptions{.merged = true});
       },
       {1e-6, 1e-8, 1e-8, 1e-8, 1e-8},
       {1e-6, 1e-8, 1e-8, 1e-8, 1e-3}},
      // At large costs it gives up early, with a small part of the dual's optimum.
      {"CoordinateDescent",
       [](const FactorInstance& instance, double gap) {
         return std::make_unique<CoordinateDescentSvmSolver>(instance.kernel(), gap);
       },
       {1e-8, 1e-8, 1e-8, 0.5, 0.999},
       {1e-8, 1e-8, 1e-8, 0.6, 0.9995}}};
  return cases;
}

}  // namespace mercer
