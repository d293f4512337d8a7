#include "core/learners/infinite_features/problem.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/features/gabor_family.h"
#include "core/kernels/spec/kernel_spec.h"

namespace mercer::infinite_features {
namespace {

// A range that was not given goes from the median distance divided by this to the median times
// this.
constexpr double kMedianRange = 4;
// Of so many groups another may enter with each round's first: few enough that the first ones are chosen one by one.
constexpr Index kGroupsForAnother = 50;
constexpr Index kMostAtOnce = 100;
// Of columns that may all enter, whose order changes the time alone.
constexpr Index kFewestColumns = 16;

bool MayHaveAllColumns(const InfiniteFeaturesOptions& options, Index num_inputs) {
  return options.family == FamilyChoice::kColumns && options.max_groups >= num_inputs;
}

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

int64_t GridSize(const InfiniteFeaturesOptions& options) {
  const int64_t values = options.values_per_parameter;
  return values * values * values * values;
}

void CheckGabor(const InfiniteFeaturesOptions& options, FieldViolations& violations) {
  violations.Check(options.max_scale == 0 || options.max_scale >= options.min_scale, "max_scale",
                   absl::StrCat("must be 0 or at least min_scale, ", options.min_scale, ", is ",
                                options.max_scale));
  violations.Check(options.max_frequency >= options.min_frequency, "max_frequency",
                   absl::StrCat("must be at least min_frequency, ", options.min_frequency, ", is ",
                                options.max_frequency));
  violations.Check(
      options.selection != SelectionChoice::kFixed || GridSize(options) <= options.max_groups,
      "max_groups",
      absl::StrCat("must have room for the grid, ", GridSize(options), " filters, is ",
                   options.max_groups));
}

// The first `count` groups that the family draws.
absl::StatusOr<std::vector<FeatureParameters>> DrawGroups(const FeatureFamily& family,
                                                          int64_t count, uint64_t seed,
                                                          const RunContext& context) {
  std::vector<FeatureParameters> groups;
  for (uint64_t round = 0; static_cast<int64_t>(groups.size()) < count; ++round) {
    MERCER_ASSIGN_OR_RETURN(std::vector<FeatureParameters> drawn,
                            family.Draw(seed, round, context));
    std::move(drawn.begin(), drawn.end(), std::back_inserter(groups));
  }
  groups.resize(static_cast<size_t>(count));
  return groups;
}

// Sets the bandwidths that were not given, from the median distance.
void SetMedianBandwidths(double median, FeatureFamilySpec& spec) {
  if (spec.bandwidth_draw == BandwidthDraw::kList) {
    spec.bandwidths = {median};
    return;
  }
  spec.bandwidths = {};
  spec.min_bandwidth = median / kMedianRange;
  spec.max_bandwidth = median * kMedianRange;
}

// The rows of all tasks that count, ascending.
std::vector<Index> RowsOfTasks(const TrainingProblem& problem) {
  std::vector<Index> rows;
  for (const TaskData& task : problem.tasks) {
    const TaskData counting = RowsThatCount(task);
    rows.insert(rows.end(), counting.rows.begin(), counting.rows.end());
  }
  std::sort(rows.begin(), rows.end());
  return rows;
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
  const bool listed = options.bandwidth_rule == BandwidthChoice::kList;
  const size_t per_round = listed ? std::max<size_t>(bandwidths.size(), 1)
                                  : static_cast<size_t>(options.bandwidths_per_round);
  // Either may be the one that is too large: the other may be a default that nobody has sent.
  for (const char* factor : {"candidates", listed ? "bandwidths" : "bandwidths_per_round"}) {
    violations.Check(per_round * static_cast<size_t>(options.candidates) <= kMaxCandidatesPerRound,
                     factor,
                     absl::StrCat("candidates times bandwidths must be at most ",
                                  kMaxCandidatesPerRound, " in a round"));
  }
  violations.Check(
      options.loss != LossChoice::kHinge || ChosenMethod(options) == GroupMethod::kAdmm, "solver",
      "must be admm or auto for the loss hinge");
  violations.Check(bandwidths.empty() || options.family == FamilyChoice::kFourier, "bandwidths",
                   "are for the family fourier");
  violations.Check(options.group_weights.empty() || options.family == FamilyChoice::kColumns,
                   "group_weights", "are for the family columns");
  if (options.family == FamilyChoice::kGabor) {
    CheckGabor(options, violations);
  }
  return violations.ToStatus();
}

absl::Status CheckOptionsFor(const InfiniteFeaturesOptions& options, Index num_inputs) {
  FieldViolations violations;
  const auto weights = static_cast<Index>(options.group_weights.size());
  violations.Check(weights == 0 || weights == num_inputs, "group_weights",
                   absl::StrCat("are ", weights, " for ", num_inputs, " columns"));
  if (options.family == FamilyChoice::kColumns && options.selection == SelectionChoice::kFixed) {
    violations.Check(num_inputs <= options.max_groups, "max_groups",
                     absl::StrCat("must have room for the ", num_inputs,
                                  " columns, which are fixed, is ", options.max_groups));
  }
  if (options.family == FamilyChoice::kGabor) {
    for (const FieldViolation& violation :
         GetFieldViolations(GaborFamily::Check(SpecOfOptions(options, num_inputs), num_inputs))) {
      // The side of a patch is no option: it follows from the number of columns.
      violations.Add(violation.field == "patch_size" ? "family" : violation.field,
                     violation.description);
    }
  }
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
  } else if (options.loss == LossChoice::kHinge) {
    loss = LossKind::kHinge;
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

GroupMethod ChosenMethod(const InfiniteFeaturesOptions& options) {
  switch (options.solver) {
    case SolverChoice::kAuto:
      return options.loss == LossChoice::kHinge ? GroupMethod::kAdmm : GroupMethod::kNewton;
    case SolverChoice::kNewton:
      return GroupMethod::kNewton;
    case SolverChoice::kAdmm:
      return GroupMethod::kAdmm;
    case SolverChoice::kFista:
      return GroupMethod::kFista;
  }
  return GroupMethod::kNewton;
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

FeatureFamilySpec SpecOfOptions(const InfiniteFeaturesOptions& options, Index num_inputs) {
  FeatureFamilySpec spec;
  if (options.family == FamilyChoice::kColumns) {
    spec.kind = FeatureFamilyKind::kColumns;
    return spec;
  }
  if (options.family == FamilyChoice::kGabor) {
    spec.kind = FeatureFamilyKind::kGabor;
    const auto side = static_cast<Index>(std::sqrt(static_cast<double>(num_inputs)));
    spec.positions_per_side = std::clamp<Index>(side, 1, options.positions_per_side);
    spec.subtract_patch_mean = options.subtract_patch_mean;
    spec.min_scale = options.min_scale;
    spec.max_scale = options.max_scale;
    spec.min_frequency = options.min_frequency;
    spec.max_frequency = options.max_frequency;
    spec.candidates = options.candidates;
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

ScaleScope ChosenScope(const InfiniteFeaturesOptions& options) {
  return options.normalization_scope == ScopeChoice::kPooled ? ScaleScope::kPooled
                                                             : ScaleScope::kPerTask;
}

absl::StatusOr<FeatureFamilySpec> ResolveSpec(const InfiniteFeaturesOptions& options,
                                              const TrainingProblem& problem, RunContext& context) {
  const TaskData& first = problem.tasks[0];
  FeatureFamilySpec spec = SpecOfOptions(options, CountInputs(first));
  if (spec.kind != FeatureFamilyKind::kFourier || !options.bandwidths.empty()) {
    return spec;
  }
  KernelGrid grid;
  grid.prototype.type =
      options.kernel == KernelChoice::kGaussian ? KernelType::kGaussian : KernelType::kLaplacian;
  grid.rule = BandwidthRule::kMedianMultiples;
  grid.bandwidths = {1.0};
  absl::StatusOr<std::vector<KernelSpec>> kernels =
      ExpandKernels({grid}, *first.inputs, RowsOfTasks(problem), problem.seed, context);
  if (absl::IsInvalidArgument(kernels.status())) {
    return spec;  // most rows are equal
  }
  MERCER_RETURN_IF_ERROR(kernels.status());
  SetMedianBandwidths(kernels->front().bandwidth, spec);
  return spec;
}

TaskData RowsThatCount(const TaskData& task) {
  std::vector<Index> kept;
  for (Index i = 0; i < task.costs.size(); ++i) {
    if (task.costs(i) > 0) {
      kept.push_back(i);
    }
  }
  if (kept.empty() || kept.size() == task.rows.size()) {
    return task;
  }
  return Narrow(task, kept);
}

absl::StatusOr<std::shared_ptr<const FeatureFamily>> MakeSearchFamily(
    const InfiniteFeaturesOptions& options, const FeatureFamilySpec& spec,
    std::shared_ptr<const FeatureFamily> family, uint64_t seed, const RunContext& context) {
  if (options.selection == SelectionChoice::kGenerated || family->is_finite()) {
    return family;
  }
  if (options.selection == SelectionChoice::kSelected) {
    MERCER_ASSIGN_OR_RETURN(std::vector<FeatureParameters> drawn,
                            DrawGroups(*family, options.dictionary_size, seed, context));
    return MakeDictionary(family, std::move(drawn));
  }
  if (options.family == FamilyChoice::kGabor) {
    return MakeDictionary(
        family, GaborFamily(spec, family->num_inputs()).Grid(options.values_per_parameter));
  }
  MERCER_ASSIGN_OR_RETURN(std::vector<FeatureParameters> drawn,
                          DrawGroups(*family, options.max_groups, seed, context));
  return MakeDictionary(family, std::move(drawn));
}

Index ColumnsPerGroup(const InfiniteFeaturesOptions& options) {
  return options.family == FamilyChoice::kFourier ? 2 : 1;
}

Index FixedGroups(const InfiniteFeaturesOptions& options) {
  const int64_t values = options.values_per_parameter;
  return options.family == FamilyChoice::kGabor ? values * values * values * values
                                                : options.max_groups;
}

Index MostGroups(const InfiniteFeaturesOptions& options, Index num_inputs) {
  const Index most = options.max_groups;
  if (options.family == FamilyChoice::kColumns) {
    return std::min(most, std::max<Index>(num_inputs, 1));
  }
  switch (options.selection) {
    case SelectionChoice::kSelected:
      return std::min<Index>(most, options.dictionary_size);
    case SelectionChoice::kFixed:
      return std::min<Index>(most, FixedGroups(options));
    case SelectionChoice::kGenerated:
      break;
  }
  return most;
}

Index GroupsOfRound(const InfiniteFeaturesOptions& options, Index num_inputs, Index groups) {
  if (options.groups_per_round > 0) {
    return options.groups_per_round;
  }
  if (MayHaveAllColumns(options, num_inputs)) {
    return std::clamp(groups, kFewestColumns, kMostAtOnce);
  }
  // One climbs in a round, and the others would enter from where they were drawn. Where more than a direction is drawn, such as
  // bandwidths from a range, the best of a round are often of one kind, and models of the same accuracy would have half as many groups
  // again.
  const bool differ = options.family == FamilyChoice::kFourier &&
                      options.bandwidth_rule == BandwidthChoice::kList && options.ascent_steps == 0;
  return differ ? std::min(1 + groups / kGroupsForAnother, kMostAtOnce) : 1;
}

double RoundsOfGrowth(const InfiniteFeaturesOptions& options, Index num_inputs) {
  const Index most = MostGroups(options, num_inputs);
  double rounds = 0;
  for (Index groups = 0; groups < most; ++rounds) {
    groups += GroupsOfRound(options, num_inputs, groups);
  }
  return rounds;
}

ColumnPrecision PrecisionFor(double relative_gap, Index rows, Index columns) {
  constexpr double kDoubleGap = 1e-5;
  constexpr double kDoubleBytes = 1 << 24;
  const double bytes = sizeof(double) * static_cast<double>(rows) * static_cast<double>(columns);
  return relative_gap < kDoubleGap || bytes <= kDoubleBytes ? ColumnPrecision::kDouble
                                                            : ColumnPrecision::kSingle;
}

double GroupWeight(const InfiniteFeaturesOptions& options, const FeatureParameters& group) {
  return options.group_weights.empty() ? 1.0 : options.group_weights[static_cast<size_t>(group[0])];
}

Index CountInputs(const TaskData& task) {
  Index count = 0;
  for (const PreparedBlock& block : task.inputs->blocks) {
    count += block.values.cols();
  }
  return count;
}

}  // namespace mercer::infinite_features
