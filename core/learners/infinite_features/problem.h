// What options and data make of the problem, and one round of the search for features.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/features/candidate_scan.h"
#include "core/features/feature_family.h"
#include "core/features/feature_family_spec.h"
#include "core/features/feature_rows.h"
#include "core/features/normalization.h"
#include "core/learners/infinite_features/options.h"
#include "core/objectives/block_penalty.h"
#include "core/objectives/loss.h"
#include "core/solvers/group/feature_columns.h"
#include "core/solvers/group/group_problem.h"
#include "core/training/contract/problem.h"

namespace mercer::infinite_features {

// Checks what options can contradict without any data. Errors: kInvalidArgument naming the field.
absl::Status CheckOptions(const InfiniteFeaturesOptions& options);
// Checks what options can contradict of rows with so many columns: patches, weights of columns,
// room for fixed features. Errors: kInvalidArgument naming the field.
absl::Status CheckOptionsFor(const InfiniteFeaturesOptions& options, Index num_inputs);

// The loss that the options ask for. Errors: kInvalidArgument naming the field "loss" when it is
// not one for such targets.
absl::StatusOr<std::shared_ptr<const Loss>> MakeChosenLoss(const InfiniteFeaturesOptions& options,
                                                           TargetKind kind);
absl::StatusOr<BlockNorm> MakeChosenNorm(const InfiniteFeaturesOptions& options);
GroupMethod ChosenMethod(const InfiniteFeaturesOptions& options);
FeatureNormalization ChosenNormalization(const InfiniteFeaturesOptions& options);
ScaleScope ChosenScope(const InfiniteFeaturesOptions& options);

// The family as the options say for rows of so many columns; bandwidths that are to be found in the
// data are those of a median distance of 1.
FeatureFamilySpec SpecOfOptions(const InfiniteFeaturesOptions& options, Index num_inputs);
// The same with the median distance of the rows of all tasks; with 1 where that is 0. Errors:
// kCancelled.
absl::StatusOr<FeatureFamilySpec> ResolveSpec(const InfiniteFeaturesOptions& options,
                                              const TrainingProblem& problem, RunContext& context);

Index ColumnsPerGroup(const InfiniteFeaturesOptions& options);
// How many columns are evaluated and appended together (or those of one group, if it has more):
// wider rows of the table are then moved seldom.
inline constexpr Index kColumnsOfBatch = 8;
// The number of features that are given in advance: those of a grid of filters, else the most that
// a model may have.
Index FixedGroups(const InfiniteFeaturesOptions& options);
// The most groups that a model on rows of so many columns may have.
Index MostGroups(const InfiniteFeaturesOptions& options, Index num_inputs);
// How many groups may enter a model of so many groups in one round.
Index GroupsOfRound(const InfiniteFeaturesOptions& options, Index num_inputs, Index groups);
// About how many rounds it takes until the model has MostGroups().
double RoundsOfGrowth(const InfiniteFeaturesOptions& options, Index num_inputs);
// The precision of so many columns: single precision saves memory and time where they are large,
// but gaps below 1e-5 need double precision.
ColumnPrecision PrecisionFor(double relative_gap, Index rows, Index columns);

// What is searched: `family` as it is, or as many of its features as the option selection says, as
// a family of their own. Errors: those of MakeDictionary; kCancelled.
absl::StatusOr<std::shared_ptr<const FeatureFamily>> MakeSearchFamily(
    const InfiniteFeaturesOptions& options, const FeatureFamilySpec& spec,
    std::shared_ptr<const FeatureFamily> family, uint64_t seed, const RunContext& context);

// The factor of a group's penalty.
double GroupWeight(const InfiniteFeaturesOptions& options, const FeatureParameters& group);

// The rows of a task that count: those of cost > 0; all when there is none.
TaskData RowsThatCount(const TaskData& task);
// The number of columns of all feature blocks of the inputs.
Index CountInputs(const TaskData& task);

}  // namespace mercer::infinite_features
