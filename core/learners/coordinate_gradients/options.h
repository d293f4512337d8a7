// Options of learning gradients with coordinate weights.
#pragma once

#include <cstdint>

#include "core/base/status/options.h"

namespace mercer::coordinate_gradients {

enum class LossWord { kAuto, kSquare, kHinge, kSquaredHinge };
enum class ColumnWeights { kLearned, kFixed };
enum class PairChoice { kNeighbors, kGaussian };
enum class Method { kNewton, kAlternation };

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
  Method method = Method::kNewton;
  int64_t max_steps = 0;
  int64_t columns = 0;
  int64_t covariance_columns = 20;
  int64_t directions = 2;

  static const OptionSchema<CoordinateGradientsOptions>& Fields();
};

}  // namespace mercer::coordinate_gradients
