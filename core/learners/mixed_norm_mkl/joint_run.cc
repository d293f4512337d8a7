// The part of a run that the joint interior point has (joint_start.h).
#include <algorithm>
#include <memory>

#include "core/base/status/status_macros.h"
#include "core/learners/mixed_norm_mkl/mixed_norm_mkl.h"
#include "core/learners/mixed_norm_mkl/problem.h"
#include "core/learners/mixed_norm_mkl/tables.h"

namespace mercer::mixed_norm_mkl {
namespace {

constexpr double kJointGap = 0.5;       // of the target
constexpr double kGapAfterJoint = 0.2;  // of the SVM at its weights, of the target

}  // namespace

bool MixedNormMklLearner::HasJointProblem() const {
  return norm_ != nullptr && !norm_->AreFixed(state_.mkl.weights.size()) &&
         svm_.loss->kind() == LossKind::kHinge && machines_.empty() &&
         norm_->groups().num_groups <= kMostJointGroups;
}

bool MixedNormMklLearner::BeginsJointly() const {
  if (options_.method == Method::kInteriorPoint) {
    return HasJointProblem();
  }
  return MayTurnJoint() && norm_->groups().num_groups == 1;
}

// Where Newton's steps end above the gap the other way is left. With groups, each of which has to
// have the norm of the others, working sets grow far beyond the rows.
bool MixedNormMklLearner::MayTurnJoint() const {
  return options_.method == Method::kAuto && HasJointProblem() && !state_.joint_done &&
         svm_.targets.size() <= kMostJointRows && state_.mkl.weights.size() > kManyOfGroup &&
         (norm_->groups().num_groups == 1 || state_.mkl.weights.size() <= kMostInGroups);
}

void MixedNormMklLearner::MakeJointStart() {
  const bool carried = state_.mkl.weights != FirstWeights(options_, *problem_);
  joint_.emplace(svm_, family_, std::make_shared<const MixedNorm>(*norm_),
                 carried ? state_.mkl.weights : Vector());
}

// The weights and the dual that it ends with are those that the loop begins with.
absl::Status MixedNormMklLearner::AdvanceJointly(RunContext& context) {
  if (!joint_.has_value()) {
    MakeJointStart();
  }
  MERCER_RETURN_IF_ERROR(joint_->Step(kJointGap * target_, context));
  if (joint_->done()) {
    const MultitaskBest& best = joint_->best();
    const Vector weights = best.weights.row(0);
    const bool any = (weights.array() > 0).any();
    state_.mkl.dual = best.dual[0];
    loop_->Begin(any ? norm_->Normalized(weights) : state_.mkl.weights, kGapAfterJoint * target_,
                 target_);
    state_.joint = JointPhase::kMerging;
  }
  return absl::OkStatus();
}

// Its dual counts in any case. Its function, which may need more rows, is taken where that of the
// SVM is not good enough.
absl::Status MixedNormMklLearner::MergeJointStart(RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const BestPair pair, joint_->Pair(context));
  if (pair.lower > state_.best.lower) {
    state_.best.lower = pair.lower;
    state_.best.lower_dual = pair.lower_dual;
  }
  if (state_.best.RelativeGap() > target_ && pair.primal < state_.best.primal) {
    BestPair merged = pair;
    merged.lower = state_.best.lower;
    merged.lower_dual = state_.best.lower_dual;
    state_.best = std::move(merged);
  }
  state_.joint = JointPhase::kNone;
  state_.joint_done = true;
  joint_.reset();
  return absl::OkStatus();
}

// The run is not over before the SVM at the weights is.
StepReport MixedNormMklLearner::JointReport() const {
  StepReport report;
  report.stage = "solve";
  report.primal = state_.best.upper;
  report.dual = state_.best.lower;
  report.has_model = state_.best.has_function() || loop_->inner().has_point();
  if (joint_.has_value()) {
    const MultitaskBest& best = joint_->best();
    report.primal = std::min(report.primal, best.primal);
    report.dual = std::max(report.dual, best.lower);
    report.active_kernels = (best.weights.array() > 0).count();
    report.active_groups = CountActiveGroups(problem_->kernels, best.weights.row(0));
    report.has_model = report.has_model || report.active_kernels > 0;
    report.support_vectors = (best.dual[0].array() != 0).count();
    report.inner_iterations = joint_->iterations();
  }
  const double gap = PointBounds{.primal = report.primal, .dual = report.dual}.RelativeGap();
  report.accuracy = std::max(gap, target_ * (1 + 1e-3));
  report.fraction = FractionOfGap(report.accuracy, problem_->relative_gap);
  return report;
}

}  // namespace mercer::mixed_norm_mkl
