#include "core/learners/infinite_features/problem.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "core/kernels/kernel_spec.h"

namespace mercer::infinite_features {
namespace {

// A range that was not given goes from the median distance divided by this to the median times this.
constexpr double kMedianRange = 4;

BandwidthDraw DrawOf(BandwidthChoice choice) {
  switch (choice) {
    case BandwidthChoice::kList:
      return BandwidthDraw::kList;
    case BandwidthChoice::kLinear:
      return BandwidthDraw::kUniform;
    case BandwidthChoice::kLogarithmic:
      return BandwidthDraw::kLogUniform;
  }
  return BandwidthDraw::kList;
}

// In place of bandwidths that were not given.
void SetMedianBandwidths(double median, FeatureFamilySpec& spec) {
  if (spec.bandwidth_draw == BandwidthDraw::kList) {
    spec.bandwidths = {median};
    return;
  }
  spec.bandwidths = {};
  spec.min_bandwidth = median / kMedianRange;
  spec.max_bandwidth = median * kMedianRange;
}

absl::Status FieldError(std::string_view field, std::string_view description) {
  FieldViolations violations;
  violations.Add(std::string(field), std::string(description));
  return violations.ToStatus();
}

}  // namespace

absl::Status CheckOptions(const InfiniteFeaturesOptions& options) {
  FieldViolations violations;
  const std::vector<double>& bandwidths = options.bandwidths;
  violations.Check(std::isfinite(options.lambda) || std::isfinite(options.lambda_shared), "lambda",
                   "is infinite, and lambda_shared too: nothing would be learned");
  violations.Check(MakeChosenNorm(options).ok(), "penalty_q",
                   absl::StrCat("must be 1, inf, or in [1.01, 100], is ", options.penalty_q));
  if (options.family == FamilyChoice::kFourier &&
      options.bandwidth_rule != BandwidthChoice::kList && !bandwidths.empty()) {
    violations.Check(bandwidths.size() == 2 && bandwidths[0] <= bandwidths[1], "bandwidths",
                     "must be the two ends of the range, the smaller first");
  }
  const size_t per_round = options.bandwidth_rule == BandwidthChoice::kList
                               ? std::max<size_t>(bandwidths.size(), 1)
                               : static_cast<size_t>(options.bandwidths_per_round);
  violations.Check(per_round * static_cast<size_t>(options.candidates) <= kMaxCandidatesPerRound,
                   "candidates",
                   absl::StrCat("candidates times bandwidths must be at most ",
                                kMaxCandidatesPerRound, " in a round"));
  return violations.ToStatus();
}

absl::StatusOr<std::shared_ptr<const Loss>> MakeChosenLoss(const InfiniteFeaturesOptions& options,
                                                           TargetKind kind) {
  const bool regression = kind == TargetKind::kRegression;
  LossKind loss = regression ? LossKind::kSquare : LossKind::kSquaredHinge;
  if (options.loss == LossChoice::kSquare) {
    loss = LossKind::kSquare;
  } else if (options.loss == LossChoice::kLogistic) {
    loss = LossKind::kLogistic;
  } else if (options.loss == LossChoice::kSquaredHinge) {
    loss = LossKind::kSquaredHinge;
  }
  if (regression && loss != LossKind::kSquare) {
    return FieldError("loss", "is for classification; this is regression");
  }
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Loss> made, MakeLoss(loss));
  return std::shared_ptr<const Loss>(std::move(made));
}

absl::StatusOr<BlockNorm> MakeChosenNorm(const InfiniteFeaturesOptions& options) {
  return BlockNorm::Make(
      options.penalty_shape == ShapeChoice::kNested ? BlockShape::kNested : BlockShape::kFlat,
      options.penalty_q);
}

MasterMethod ChosenMethod(const InfiniteFeaturesOptions& options) {
  switch (options.solver) {
    case SolverChoice::kNewton:
      return MasterMethod::kNewton;
    case SolverChoice::kAdmm:
      return MasterMethod::kAdmm;
    case SolverChoice::kFista:
      return MasterMethod::kFista;
  }
  return MasterMethod::kNewton;
}

FeatureNormalization ChosenNormalization(const InfiniteFeaturesOptions& options) {
  switch (options.normalization) {
    case NormalizationChoice::kColumn:
      return FeatureNormalization::kColumn;
    case NormalizationChoice::kGroup:
      return FeatureNormalization::kGroup;
    case NormalizationChoice::kNone:
      return FeatureNormalization::kNone;
  }
  return FeatureNormalization::kColumn;
}

FeatureFamilySpec SpecOfOptions(const InfiniteFeaturesOptions& options) {
  FeatureFamilySpec spec;
  if (options.family == FamilyChoice::kColumns) {
    spec.kind = FeatureFamilyKind::kColumns;
    return spec;
  }
  spec.kernel = options.kernel == KernelChoice::kGaussian ? FourierKernel::kGaussian
                                                          : FourierKernel::kLaplacian;
  spec.bandwidth_draw = DrawOf(options.bandwidth_rule);
  spec.bandwidths_per_round = options.bandwidths_per_round;
  spec.candidates_per_bandwidth = options.candidates;
  if (options.bandwidths.empty()) {
    SetMedianBandwidths(1.0, spec);
  } else if (spec.bandwidth_draw == BandwidthDraw::kList) {
    spec.bandwidths = options.bandwidths;
  } else {
    spec.bandwidths = {};
    spec.min_bandwidth = options.bandwidths.front();
    spec.max_bandwidth = options.bandwidths.back();
  }
  return spec;
}

absl::StatusOr<FeatureFamilySpec> ResolveSpec(const InfiniteFeaturesOptions& options,
                                              const TrainingProblem& problem, RunContext& context) {
  FeatureFamilySpec spec = SpecOfOptions(options);
  if (spec.kind != FeatureFamilyKind::kFourier || !options.bandwidths.empty()) {
    return spec;
  }
  KernelGrid grid;
  grid.prototype.type =
      options.kernel == KernelChoice::kGaussian ? KernelType::kGaussian : KernelType::kLaplacian;
  grid.rule = BandwidthRule::kMedianMultiples;
  grid.bandwidths = {1.0};
  const TaskData& task = problem.tasks[0];
  absl::StatusOr<std::vector<KernelSpec>> kernels =
      ExpandKernels({grid}, *task.inputs, task.rows, problem.seed, context);
  if (absl::IsInvalidArgument(kernels.status())) {
    return FieldError("bandwidths",
                      absl::StrCat("none given, and the default, the median distance of the "
                                   "training rows, cannot be taken: ",
                                   std::string(kernels.status().message())));
  }
  MERCER_RETURN_IF_ERROR(kernels.status());
  SetMedianBandwidths(kernels->front().bandwidth, spec);
  return spec;
}

absl::StatusOr<std::shared_ptr<const FeatureFamily>> DrawDictionary(
    const InfiniteFeaturesOptions& options, const std::shared_ptr<const FeatureFamily>& family,
    uint64_t seed) {
  const auto size = static_cast<size_t>(options.dictionary_size);
  std::vector<FeatureParameters> groups;
  for (uint64_t round = 0; groups.size() < size; ++round) {
    for (FeatureParameters& group : family->Draw(seed, round)) {
      groups.push_back(std::move(group));
    }
  }
  groups.resize(size);
  return MakeDictionary(family, std::move(groups));
}

Index CountInputs(const TrainingProblem& problem) {
  Index count = 0;
  for (const PreparedBlock& block : problem.tasks[0].inputs->blocks) {
    count += block.values.cols();
  }
  return count;
}

}  // namespace mercer::infinite_features
