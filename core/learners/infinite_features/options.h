// Options of learning with infinitely many features.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status/options.h"

namespace mercer::infinite_features {

enum class LossChoice : uint8_t { kAuto, kSquaredHinge, kLogistic, kSquare, kHinge };
enum class LambdaUnit : uint8_t { kShareOfMaximum, kAbsolute };
enum class FamilyChoice : uint8_t { kFourier, kColumns, kGabor };
enum class KernelChoice : uint8_t { kGaussian, kLaplacian };
enum class BandwidthChoice : uint8_t { kList, kLinear, kLogarithmic };
enum class NormalizationChoice : uint8_t { kColumn, kGroup, kNone };
enum class ScopeChoice : uint8_t { kTask, kPooled };
enum class ShapeChoice : uint8_t { kNested, kFlat };
enum class SolverChoice : uint8_t { kAuto, kNewton, kAdmm, kFista };
enum class SelectionChoice : uint8_t { kGenerated, kSelected, kFixed };

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
  int64_t positions_per_side = 4;
  bool subtract_patch_mean = true;
  double min_scale = 1;
  double max_scale = 0;  // half the patch
  double min_frequency = 0.02;
  double max_frequency = 0.5;
  NormalizationChoice normalization = NormalizationChoice::kColumn;
  ScopeChoice normalization_scope = ScopeChoice::kTask;

  SelectionChoice selection = SelectionChoice::kGenerated;
  int64_t dictionary_size = 3000;
  int64_t values_per_parameter = 3;
  int64_t max_groups = 100;
  int64_t groups_per_round = 0;  // 0: GroupsOfRound()
  int64_t ascent_steps = 0;
  int64_t patience = 3;
  double violation = 1e-3;
  int64_t max_rounds = 100'000;
  double min_decrease = 0;
  double master_gap = 1e-6;

  ShapeChoice penalty_shape = ShapeChoice::kNested;
  double penalty_q = 2;
  std::vector<double> group_weights;  // empty: 1 for all
  SolverChoice solver = SolverChoice::kAuto;

  static const OptionSchema<InfiniteFeaturesOptions>& Fields();
};

}  // namespace mercer::infinite_features
