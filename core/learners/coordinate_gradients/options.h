// Options of learning gradients with coordinate weights.
#pragma once

#include <cstdint>

#include "core/base/status/options.h"
#include "core/solvers/gradients/coordinate_weight_solver.h"

namespace mercer::coordinate_gradients {

enum class LossWord { kAuto, kSquare, kHinge, kSquaredHinge };
enum class ColumnWeights { kLearned, kFixed };
enum class PairChoice { kNeighbors, kGaussian };

struct CoordinateGradientsOptions {
  double C = 100.0;
  LossWord loss = LossWord::kAuto;
  ColumnWeights column_weights = ColumnWeights::kLearned;
  bool own_gradient = false;
  PairChoice pairs = PairChoice::kNeighbors;
  int64_t neighbors = 0;
  bool include_self = true;
  bool symmetric = false;
  double pair_width = 0;
  CoordinateMethod method = CoordinateMethod::kNewton;
  int64_t max_steps = 0;
  int64_t columns = 0;
  int64_t covariance_columns = 20;
  int64_t directions = 2;

  // Whether every column takes part and the weights are not learned.
  bool HasAllColumns() const { return own_gradient || column_weights == ColumnWeights::kFixed; }
  // The most changes of the weights, where max_steps is 0 too.
  int64_t MostSteps() const;
  static const OptionSchema<CoordinateGradientsOptions>& Fields();
};

}  // namespace mercer::coordinate_gradients
