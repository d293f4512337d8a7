// Problems of gradient learning on random data.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/numeric/types.h"
#include "core/solvers/gradients/coordinate_weight_solver.h"
#include "core/solvers/gradients/gradient_problem.h"
#include "core/solvers/gradients/pair_weights.h"

namespace mercer {

struct GradientCase {
  uint64_t seed = 1;
  Index rows = 16;
  Index columns = 6;
  LossKind loss = LossKind::kSquare;
  double cost = 10;
  PairWeights weights = {.neighbors = 4};
  bool linear_gram = false;    // else Gaussian, of the median distance
  Index repeated_rows = 0;     // copies of the first ones, with labels of their own
  Index repeated_columns = 0;  // copies of the first ones
  double scale = 1;            // of each column a random power of it
};

struct GradientData {
  Matrix rows;
  Vector targets;  // -1 or +1
};

GradientData MakeGradientData(const GradientCase& given);
GradientProblem MakeCase(const GradientCase& given, const GradientData& data);
GradientProblem MakeCase(const GradientCase& given);
// The same rows, pairs and kernel matrix with other columns, targets or costs.
GradientProblem WithRows(const GradientProblem& problem, const Matrix& rows);

// By a method that is expected to reach the gap.
GradientBest SolveCase(const GradientProblem& problem, double gap = 1e-9, int threads = 1,
                       CoordinateMethod method = CoordinateMethod::kNewton);
GradientPoint PointOf(const GradientProblem& problem, const GradientBest& best);

// Q by its definition, of these weights.
Matrix PairMatrix(const GradientProblem& problem, const Vector& weights);

Vector RandomVector(Index size, uint64_t seed);

}  // namespace mercer
