// Options of learning with infinitely many features.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/options.h"

namespace mercer::infinite_features {

enum class LossChoice : uint8_t { kAuto, kSquaredHinge, kLogistic, kSquare };
enum class LambdaUnit : uint8_t { kShareOfMaximum, kAbsolute };
enum class FamilyChoice : uint8_t { kFourier, kColumns };
enum class KernelChoice : uint8_t { kGaussian, kLaplacian };
enum class BandwidthChoice : uint8_t { kList, kLinear, kLogarithmic };
enum class NormalizationChoice : uint8_t { kColumn, kGroup, kNone };
enum class ShapeChoice : uint8_t { kNested, kFlat };
enum class SolverChoice : uint8_t { kNewton, kAdmm, kFista };
enum class SelectionChoice : uint8_t { kGenerated, kSelected };

struct InfiniteFeaturesOptions {
  LossChoice loss = LossChoice::kAuto;
  double lambda = 0.003;
  double lambda_shared = kInfinity;
  LambdaUnit lambda_unit = LambdaUnit::kShareOfMaximum;

  FamilyChoice family = FamilyChoice::kFourier;
  KernelChoice kernel = KernelChoice::kGaussian;
  BandwidthChoice bandwidth_rule = BandwidthChoice::kList;
  std::vector<double> bandwidths;  // empty: the median distance
  int64_t bandwidths_per_round = 20;
  int64_t candidates = 50;
  NormalizationChoice normalization = NormalizationChoice::kColumn;

  SelectionChoice selection = SelectionChoice::kGenerated;
  int64_t dictionary_size = 3000;
  int64_t max_groups = 100;
  int64_t groups_per_round = 1;
  int64_t patience = 3;
  double violation = 1e-3;

  ShapeChoice penalty_shape = ShapeChoice::kNested;
  double penalty_q = 2;
  SolverChoice solver = SolverChoice::kNewton;

  static const OptionSchema<InfiniteFeaturesOptions>& Fields();
};

}  // namespace mercer::infinite_features
