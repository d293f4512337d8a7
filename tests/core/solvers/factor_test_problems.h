// Small problems with kernels of explicit features, and every solver of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/numeric/types.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/objectives/loss.h"
#include "core/solvers/svm/svm_solver.h"

namespace mercer {

// K = X X' with X = rows root, also formed, and as a sum of kernels.
struct FactorInstance {
  FactorRows rows;
  Matrix root;
  std::shared_ptr<const Matrix> gram = {};
  std::shared_ptr<const DenseKernelOperator> dense = {};
  std::shared_ptr<const Matrix> stacked = {};
  FactorBlocks blocks = {};
  SvmProblem problem = {};

  FactoredKernel kernel() const { return {rows, root, &blocks}; }
};

struct FactorShape {
  Index rows = 150;
  Index rank = 40;
  LossKind kind = LossKind::kHinge;
  double cost = 1.0;
  uint64_t seed = 1;
};

// Features of cosines of normal points times a root whose columns decay from 1 to 1e-4; the first sample has cost 0.
FactorInstance MakeFactorInstance(const FactorShape& shape);

// What is stored.
inline Vector RowOf(const FactorRows& rows, Index i) {
  return Eigen::Map<const Eigen::VectorXf>(rows.row(i), rows.cols()).cast<double>();
}

// The Gram matrix of the factor as it is now, and `num_blocks` kernels of whole columns of the root.
void FormGram(FactorInstance& instance, Index num_blocks);

// The solver made for an instance, which must outlive it.
struct SolverCase {
  std::string name;
  std::function<std::unique_ptr<SvmSolver>(const FactorInstance& instance, double relative_gap)>
      make;
  // The relative gaps that it reaches on the instances of MakeFactorInstance at costs 1e-6, 1e-3, 1, 1e3 and 1e6.
  std::vector<double> hinge_reach;
  std::vector<double> insensitive_reach;  // of the epsilon-insensitive loss

  double Reach(LossKind kind, size_t cost) const {
    return (kind == LossKind::kHinge ? hinge_reach : insensitive_reach)[cost];
  }
};

const std::vector<SolverCase>& SolverCases();

}  // namespace mercer
