#include "core/learners/mixed_norm_mkl/mixed_norm_mkl.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/mixed_norm_mkl/problem.h"
#include "core/learners/mixed_norm_mkl/tables.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/mkl/mixed_norm_methods.h"
#include "core/solvers/mkl/reduced_gradient.h"
#include "core/training/contract/loss_choice.h"
#include "core/training/contract/single_task.h"
#include "core/training/terms/basis.h"

namespace mercer::mixed_norm_mkl {
namespace {

constexpr double kFirstInnerGap = 0.1;
constexpr int64_t kMostNewtonSolves = 200;
constexpr int64_t kMostFirstOrderSolves = 2000;
constexpr int64_t kMostSolvesBetweenPasses = 8;
constexpr double kLeastFloor = 1e-12;   // of a group's weight: below, weights of kernels overflow
constexpr double kClearly = 0.98;       // a smaller gap against the one before
constexpr int64_t kMaxFruitless = 300;  // SVMs; and one for each kernel, that may have to go alone
constexpr int64_t kFruitlessOfStuck = 60;

}  // namespace

absl::Status MixedNormMklLearner::Begin(const WarmStart* warm_start) {
  MERCER_RETURN_IF_ERROR(MakeRegularizer());
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Loss> loss,
                          MakeChosenLoss(options_.loss, options_.epsilon, problem_->kind));
  machines_ = MachinesOf(*problem_);
  MERCER_ASSIGN_OR_RETURN(svm_, ReadMachines(*problem_, machines_, std::move(loss), options_.C));
  state_.mkl.dual = Vector::Zero(svm_.targets.size());
  const Vector carried = CarriedDual(*problem_, warm_start);
  if (carried.size() > 0 && machines_.empty()) {
    state_.mkl.dual = carried;  // made feasible when its boxes are known, by Prepare
  }
  MakeMethod();
  MakeLoop();
  loop_->Begin(StartWeights(warm_start), kFirstInnerGap, target_);
  state_.joint = BeginsJointly() ? JointPhase::kSolving : JointPhase::kNone;
  joint_.reset();
  family_ = nullptr;
  return absl::OkStatus();
}

absl::Status MixedNormMklLearner::MakeRegularizer() {
  norm_ = nullptr;
  if (options_.regularization == Regularization::kSum) {
    regularizer_ = std::make_unique<LpBall>(kInfinity);
    return absl::OkStatus();
  }
  SimplexGroups groups = GroupsFor(options_, *problem_);
  const Index count = groups.num_groups;
  FieldViolations violations;
  violations.Check(options_.method != Method::kSimpleMkl || count == 1, "method",
                   absl::StrCat("simple_mkl is for one group of kernels, or regularization=l1; ",
                                "these kernels have ", count, " groups"));
  violations.Check(options_.gamma_floor == 0 || options_.gamma_floor >= kLeastFloor, "gamma_floor",
                   absl::StrCat("must be 0, for the default, or at least ", kLeastFloor));
  violations.Check(options_.gamma_floor * static_cast<double>(count) < 1, "gamma_floor",
                   absl::StrCat("must be below 1 over the number of groups, ", count));
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  const double floor =
      options_.gamma_floor > 0 ? options_.gamma_floor : GroupFloor(problem_->relative_gap, count);
  auto norm = std::make_unique<MixedNorm>(std::move(groups), floor, problem_->relative_gap);
  norm_ = norm.get();
  regularizer_ = std::move(norm);
  return absl::OkStatus();
}

void MixedNormMklLearner::MakeMethod() {
  method_ = nullptr;
  if (norm_ == nullptr) {
    return;
  }
  switch (options_.method) {
    case Method::kAuto:
    case Method::kNewton:
    case Method::kInteriorPoint:
      break;
    case Method::kClosedForm:
      method_ = std::make_unique<ClosedFormMethod>(*norm_, options_.power);
      break;
    case Method::kMirrorDescent:
    case Method::kAlternatingMirrorDescent:
      method_ = std::make_unique<MirrorDescentMethod>(
          *norm_, options_.kappa, options_.method == Method::kAlternatingMirrorDescent);
      break;
    case Method::kSimpleMkl:
      method_ =
          std::make_unique<ReducedGradientMethod>(static_cast<Index>(problem_->kernels.size()));
      break;
  }
}

void MixedNormMklLearner::MakeLoop() {
  loop_.emplace(*regularizer_, svm_,
                MklLoopOptions{InnerSolverChoice::kAuto, WeightSteps::kNewton, method_.get()},
                state_.mkl, machines_);
}

Vector MixedNormMklLearner::StartWeights(const WarmStart* warm_start) const {
  const Vector first = FirstWeights(options_, *problem_);
  const Vector carried =
      regularizer_->AreFixed(first.size()) ? Vector() : CarriedWeights(first, warm_start);
  return carried.size() > 0 ? regularizer_->Normalized(carried) : first;
}

// With the kernels the unit of C is known, so the loop is made anew for its costs, and the dual
// that the run begins with comes into their boxes.
absl::Status MixedNormMklLearner::Prepare(RunContext& context) {
  if (family_ != nullptr) {
    return absl::OkStatus();
  }
  const TaskData& task = problem_->tasks[0];
  context.ReportStage("kernels");
  MERCER_ASSIGN_OR_RETURN(
      std::shared_ptr<const KernelFamily> family,
      MakeExactKernelFamily(task.inputs, task.rows, problem_->kernels, context));
  MERCER_ASSIGN_OR_RETURN(const Vector traces, TracesOf(*family, context));
  MERCER_RETURN_IF_ERROR(CheckGroups(options_, *problem_, traces));
  MERCER_ASSIGN_OR_RETURN(const double factor, CostFactor(options_, *problem_, traces));
  MERCER_ASSIGN_OR_RETURN(svm_, ReadMachines(*problem_, machines_, svm_.loss, options_.C * factor));
  family_ = std::move(family);
  MakeLoop();
  if (state_.svm_solves == 0 && !state_.mkl.solving) {
    loop_->RepairDual();
  }
  loop_->SetKernels(family_.get());
  return absl::OkStatus();
}

int64_t MixedNormMklLearner::MostSolves() const {
  if (options_.max_svm_solves > 0) {
    return options_.max_svm_solves;
  }
  return IsNewton() ? kMostNewtonSolves : kMostFirstOrderSolves;
}

absl::Status MixedNormMklLearner::Advance(RunContext& context) {
  MERCER_RETURN_IF_ERROR(Prepare(context));
  if (state_.stop.has_value()) {
    return absl::OkStatus();
  }
  if (state_.joint == JointPhase::kSolving) {
    return AdvanceJointly(context);
  }
  loop_->set_working_only(MayWaitWithPass());
  MERCER_ASSIGN_OR_RETURN(const MklProgress progress, loop_->Solve(context));
  if (progress == MklProgress::kSolving) {
    return absl::OkStatus();
  }
  ++state_.svm_solves;
  if (state_.before_trial.has_value()) {
    EndTrial();
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(BoundSolution(context));
  if (state_.joint == JointPhase::kMerging) {
    MERCER_RETURN_IF_ERROR(MergeJointStart(context));
  }
  if (state_.best.RelativeGap() <= target_) {
    TryWithoutSmallWeights();
    return absl::OkStatus();
  }
  const bool at_end = progress == MklProgress::kNumericalLimit || IsExhausted() ||
                      state_.svm_solves >= MostSolves();
  if (at_end && options_.max_svm_solves == 0 && MayTurnJoint()) {
    state_.joint = JointPhase::kSolving;
    return absl::OkStatus();
  }
  if (progress != MklProgress::kSolved || IsExhausted()) {
    state_.stop = progress == MklProgress::kObjectiveZero ? StopReason::kObjectiveZero
                                                          : StopReason::kNumericalLimit;
    return absl::OkStatus();
  }
  if (state_.svm_solves >= MostSolves()) {
    state_.stop = StopReason::kIterationLimit;
    return absl::OkStatus();
  }
  return loop_->MoveWeights(target_, context);
}

// Newton's steps converge among the kernels in use: others are looked at when those are nearly
// done.
bool MixedNormMklLearner::MayWaitWithPass() const {
  constexpr Index kFewOfAll = 2;
  return norm_ != nullptr && method_ == nullptr && !state_.before_trial.has_value() &&
         state_.best.has_function() && state_.mkl.last.newton &&
         state_.since_pass < kMostSolvesBetweenPasses &&
         kFewOfAll * (state_.mkl.weights.array() > 0).count() < state_.mkl.weights.size();
}

absl::Status MixedNormMklLearner::BoundSolution(RunContext& context) {
  const MklState& mkl = state_.mkl;
  if (!loop_->bounds_all()) {
    state_.best.ImproveFunction(loop_->bounds(), mkl.weights, loop_->function());
    ++state_.since_pass;
    const double gap = std::min(state_.best.RelativeGap(), 0.1);
    if (loop_->bounds().RelativeGap() > std::max(0.1 * gap, 0.3 * target_)) {
      return absl::OkStatus();
    }
    MERCER_RETURN_IF_ERROR(loop_->BoundAll(context));
  }
  state_.since_pass = 0;
  state_.best.Improve(loop_->bounds(), mkl.weights, loop_->function(), mkl.dual);
  if (state_.best.RelativeGap() < kClearly * state_.clear_gap) {
    state_.clear_gap = std::max(state_.best.RelativeGap(), 0.0);
    state_.fruitless = 0;
  } else {
    state_.fruitless += loop_->inner().stuck() ? kFruitlessOfStuck : 1;
  }
  return absl::OkStatus();
}

// Newton's steps are counted by the loop.
bool MixedNormMklLearner::IsExhausted() const {
  return method_ != nullptr && state_.fruitless >= kMaxFruitless + state_.mkl.weights.size();
}

// Begins the SVM without them, which is the last one of the run; further steps solve it.
void MixedNormMklLearner::TryWithoutSmallWeights() {
  if (norm_ == nullptr || state_.svm_solves >= MostSolves()) {
    return;
  }
  Vector kept = norm_->Thresholded(state_.best.weights, options_.weight_threshold);
  if (kept != state_.best.weights) {
    state_.before_trial = state_.mkl;
    loop_->TryWeights(std::move(kept), target_);
  }
}

// The function without them may be a little worse, as long as its gap is small enough.
void MixedNormMklLearner::EndTrial() {
  BestPair without = state_.best;
  without.Improve(loop_->bounds(), state_.mkl.weights, loop_->function(), state_.mkl.dual);
  without.TakeFunction(loop_->bounds(), state_.mkl.weights, loop_->function());
  if (without.RelativeGap() <= target_) {
    state_.best = std::move(without);
  }
  state_.mkl = *std::exchange(state_.before_trial, std::nullopt);
}

bool MixedNormMklLearner::Fits(const MixedNormMklState& state) const {
  const bool joint = state.joint != JointPhase::kNone;
  const bool trial = state.before_trial.has_value();
  return (!trial || (norm_ != nullptr && state.best.has_function() && !joint)) &&
         (!joint || (HasJointProblem() && !state.joint_done));
}

StepReport MixedNormMklLearner::Report() const {
  const MklState& mkl = state_.mkl;
  if (state_.joint != JointPhase::kNone) {
    return JointReport();
  }
  StepReport report;
  report.stage = mkl.solving ? "solve" : "weights";
  report.primal = state_.best.upper;
  report.dual = state_.best.lower;
  report.accuracy = state_.best.RelativeGap();
  if (state_.before_trial.has_value()) {
    // The run is not over before that SVM is.
    report.accuracy = std::max(report.accuracy, target_ * (1 + 1e-3));
  }
  report.has_model = state_.best.has_function() || loop_->inner().has_point();
  report.fraction = FractionOfGap(report.accuracy, problem_->relative_gap);
  report.active_kernels = (mkl.weights.array() > 0).count();
  report.active_groups = CountActiveGroups(problem_->kernels, mkl.weights);
  report.support_vectors = ((mkl.solving ? loop_->inner().dual() : mkl.dual).array() != 0).count();
  report.inner_iterations = loop_->inner().iterations();
  report.stop = state_.stop;
  return report;
}

absl::StatusOr<TrainedPoint> MixedNormMklLearner::CurrentModel(RunContext& context) const {
  if (state_.best.has_function()) {
    return PointAt(state_.best, context);
  }
  if (joint_.has_value() && (joint_->best().weights.array() > 0).any()) {
    MERCER_ASSIGN_OR_RETURN(const BestPair pair, joint_->Pair(context));
    return PointAt(pair, context);
  }
  if (!loop_.has_value() || family_ == nullptr) {
    return absl::FailedPreconditionError("no machine has been begun yet");
  }
  MERCER_ASSIGN_OR_RETURN(const Vector biases, loop_->BiasesSoFar(context));
  const Vector& dual = loop_->inner().dual();
  return PointAt(
      {.weights = state_.mkl.weights, .dual = dual, .biases = biases, .lower_dual = dual}, context);
}

// Numbers of the samples of all machines, as rows x outputs; 0 at rows that an output does not see.
Matrix MixedNormMklLearner::AtRows(const Vector& of_samples) const {
  if (machines_.empty()) {
    return of_samples;
  }
  Matrix at_rows = Matrix::Zero(problem_->num_rows(), static_cast<Index>(machines_.size()));
  Index first = 0;
  for (size_t m = 0; m < machines_.size(); ++m) {
    const auto size = static_cast<Index>(machines_[m].size());
    at_rows.col(static_cast<Index>(m))(machines_[m]) = of_samples.segment(first, size);
    first += size;
  }
  return at_rows;
}

absl::StatusOr<TrainedPoint> MixedNormMklLearner::PointAt(const BestPair& pair,
                                                          RunContext& context) const {
  const TaskData& task = problem_->tasks[0];
  const Matrix dual = AtRows(pair.dual);
  std::vector<ModelFunction> functions;
  for (Index output = 0; output < dual.cols(); ++output) {
    functions.push_back(MakeKernelFunction(*task.inputs, task.rows, problem_->kernels,
                                           pair.weights.cwiseProduct(family_->scales()),
                                           dual.col(output), pair.biases(output)));
    if (dual.cols() > 1) {
      DropBasisValues(functions.back().bases);
    }
  }
  TrainedPoint point;
  point.function = dual.cols() > 1 ? MergeOutputs(functions, *task.inputs) : functions.front();
  point.witness.tasks.push_back({dual, pair.biases});
  point.witness.arrays.emplace_back("weights", pair.weights);
  point.witness.arrays.emplace_back("lower_dual", AtRows(pair.lower_dual));
  point.summary.SetKernels(problem_->kernels);
  point.summary.kernel_weights = pair.weights.replicate(1, dual.cols());
  point.summary.num_support_vectors = (dual.array() != 0).rowwise().any().count();
  std::vector<Index> selected;
  for (Index k = 0; k < pair.weights.size(); ++k) {
    if (pair.weights(k) > 0) {
      selected.push_back(k);
    }
  }
  MERCER_ASSIGN_OR_RETURN(const Vector energies, loop_->EnergiesOf(pair.dual, selected, context));
  point.summary.tables = TablesOf(*problem_, pair.weights, energies);
  return point;
}

absl::StatusOr<TrainedPoint> MixedNormMklLearner::ConstantModel(RunContext& context) {
  const Vector weights = FirstWeights(options_, *problem_);
  const TaskData& task = problem_->tasks[0];
  TrainedPoint point = MakeConstantPoint(*problem_, weights, 0.0);
  Vector biases(task.targets.cols());
  Index first = 0;
  for (Index output = 0; output < biases.size(); ++output) {
    const Index size = machines_.empty()
                           ? svm_.targets.size()
                           : static_cast<Index>(machines_[static_cast<size_t>(output)].size());
    MERCER_ASSIGN_OR_RETURN(
        const BiasInterval bias,
        svm_.loss->ExactBias(svm_.targets.segment(first, size), svm_.costs.segment(first, size),
                             Vector::Zero(size), context));
    biases(output) = bias.chosen;
    first += size;
  }
  point.function.bias = biases;
  point.witness.tasks[0] = {Matrix::Zero(task.targets.rows(), biases.size()), biases};
  point.summary.kernel_weights = weights.replicate(1, biases.size());
  point.witness.arrays.emplace_back("weights", weights);
  return point;
}

void MixedNormMklLearner::SaveParts(ByteWriter& writer) const {
  if (method_ != nullptr) {
    method_->Save(writer);
  }
  loop_->Save(writer);
  writer.WriteBool(joint_.has_value());
  if (joint_.has_value()) {
    joint_->Save(writer);
  }
}

absl::Status MixedNormMklLearner::LoadParts(ByteReader& reader, RunContext& context) {
  MERCER_RETURN_IF_ERROR(Prepare(context));
  if (method_ != nullptr) {
    MERCER_RETURN_IF_ERROR(OfPart(method_->Load(reader)));
  }
  MERCER_RETURN_IF_ERROR(OfPart(loop_->Load(reader, context)));
  const bool has_joint = reader.ReadBool();
  joint_.reset();
  if (has_joint != (state_.joint == JointPhase::kMerging) && state_.joint != JointPhase::kSolving) {
    return NotAState();
  }
  if (has_joint) {
    MakeJointStart();
    return OfPart(joint_->Load(reader, context));
  }
  return absl::OkStatus();
}

}  // namespace mercer::mixed_norm_mkl
