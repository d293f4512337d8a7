// Problem      min_f 1/2 |f|^2 + C sum_i c_i (y_i - f(x_i))^2, f in the space of the kernel K =
//              sum_k K_k (fixed), no bias.
// Source       Hestenes, Stiefel: Methods of conjugate gradients for solving linear systems. J.
//              Res. NBS 49 (1952) 409-436.
// Notation     s_i = sqrt(2 C c_i), S = diag(s); f = sum_i a_i K(x_i, .), a = S b; A = S K S + I,
//              positive definite. The dual of the problem is max_b b'Sy - 1/2 b'Ab; so b solves A b
//              = S y, by conjugate gradients.
// Guarantees   with the residual r = S y - A b: dual = b'Sy - 1/2 b'Ab, primal = dual + 1/2 r'r,
//              both true bounds at every step; the dual value never decreases.
// Cost         one product with K per step.
// Verified by  tests/core/learners/_template: a dense direct solution, and the conformance suite of
//              all learners.
#include "core/learners/_template/template_learner.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/byte_count.h"
#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "core/kernels/kernel_family.h"
#include "core/learners/_template/options.h"
#include "core/learners/_template/verify.h"
#include "core/training/learner_entry.h"
#include "core/training/single_task.h"

namespace mercer::template_learner {
namespace {

// Everything that decides the future of a run.
struct ConjugateGradients {
  bool begun = false;
  Vector b;
  Vector residual;
  Vector direction;
  double last_exact = kInfinity;  // r'r when it was last computed from b
  Index iterations = 0;
};

class TemplateLearner : public Learner {
 public:
  explicit TemplateLearner(const TemplateLearnerOptions& options) : options_(options) {}

  absl::Status Start(const TrainingProblem& problem, const WarmStart* /*warm_start*/) override {
    problem_ = &problem;
    state_ = {};
    const TaskData& task = problem.tasks[0];
    scale_ = (2 * options_.C * task.costs).cwiseSqrt();
    right_side_ = scale_.cwiseProduct(task.targets.col(0));
    return absl::OkStatus();
  }

  absl::StatusOr<StepReport> Step(RunContext& context) override {
    MERCER_RETURN_IF_ERROR(Prepare(context));
    ConjugateGradients next = state_;  // so that a cancelled step changes nothing
    std::optional<StopReason> stop;
    if (!next.begun) {
      next.begun = true;
      next.b = Vector::Zero(right_side_.size());
      next.residual = right_side_;
      next.direction = right_side_;
    } else {
      MERCER_ASSIGN_OR_RETURN(stop, Iterate(next, context));
    }
    state_ = std::move(next);
    if (!stop.has_value() && right_side_.isZero(0)) {
      stop = StopReason::kObjectiveZero;
    }
    return Report(stop);
  }

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& /*context*/) const override {
    if (!state_.begun || family_ == nullptr) {
      return absl::FailedPreconditionError("the run has not begun");
    }
    const TaskData& task = problem_->tasks[0];
    const Vector dual = scale_.cwiseProduct(state_.b);
    TrainedPoint point;
    point.function = MakeKernelFunction(*task.inputs, task.rows, problem_->kernels,
                                        family_->scales(), dual, 0.0);
    point.witness.tasks.push_back({dual, Vector::Zero(1)});
    for (const KernelSpec& kernel : problem_->kernels) {
      point.summary.kernel_names.push_back(KernelName(kernel));
    }
    point.summary.kernel_weights = Matrix::Ones(static_cast<Index>(problem_->kernels.size()), 1);
    point.summary.num_support_vectors = (dual.array() != 0).count();
    return point;
  }

  // This problem has no bias, so that its only constant function is zero.
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& /*context*/) override {
    const Vector ones = Vector::Ones(static_cast<Index>(problem_->kernels.size()));
    return MakeConstantPoint(*problem_, ones, 0.0);
  }

  std::string SaveState() const override {
    ByteWriter writer;
    writer.WriteBool(state_.begun);
    writer.WriteVector(state_.b);
    writer.WriteVector(state_.residual);
    writer.WriteVector(state_.direction);
    writer.WriteDouble(state_.last_exact);
    writer.WriteInt64(state_.iterations);
    return std::move(writer).Take();
  }

  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& context) override {
    MERCER_RETURN_IF_ERROR(Start(problem, nullptr));
    ByteReader reader(state);
    state_.begun = reader.ReadBool();
    state_.b = reader.ReadVector();
    state_.residual = reader.ReadVector();
    state_.direction = reader.ReadVector();
    state_.last_exact = reader.ReadDouble();
    state_.iterations = reader.ReadInt64();
    const Index size = state_.begun ? right_side_.size() : 0;
    if (!reader.AtEnd() || state_.b.size() != size || state_.residual.size() != size ||
        state_.direction.size() != size) {
      return absl::DataLossError("not a state of the template learner for this problem");
    }
    return Prepare(context);
  }

 private:
  // The kernels are a function of the problem alone, so they are no part of the state.
  absl::Status Prepare(RunContext& context) {
    if (operator_ != nullptr) {
      return absl::OkStatus();
    }
    const TaskData& task = problem_->tasks[0];
    if (family_ == nullptr) {
      MERCER_ASSIGN_OR_RETURN(
          family_, MakeExactKernelFamily(task.inputs, task.rows, problem_->kernels, context));
    }
    MERCER_ASSIGN_OR_RETURN(operator_,
                            family_->Combine(Vector::Ones(family_->num_kernels()), context));
    return absl::OkStatus();
  }

  // Computes out = A x by the combined operator, or, slower, in double from the data.
  absl::Status Multiply(const Vector& x, bool exact, Vector& out, RunContext& context) const {
    const Matrix scaled = scale_.cwiseProduct(x);
    Matrix product(x.size(), 1);
    if (exact) {
      MERCER_RETURN_IF_ERROR(
          family_->CombinedProduct(Vector::Ones(family_->num_kernels()), scaled, product, context));
    } else {
      MERCER_RETURN_IF_ERROR(operator_->Apply(scaled, product, context));
    }
    out = scale_.cwiseProduct(product.col(0)) + x;
    return absl::OkStatus();
  }

  // One conjugate gradient step on `state`.
  absl::StatusOr<std::optional<StopReason>> Iterate(ConjugateGradients& state,
                                                    RunContext& context) const {
    Vector product;
    MERCER_RETURN_IF_ERROR(Multiply(state.direction, false, product, context));
    const double curvature = state.direction.dot(product);
    const double before = state.residual.squaredNorm();
    if (!std::isfinite(curvature) || before == 0) {
      return StopReason::kNumericalLimit;
    }
    if (curvature <= 0) {
      return WithReason(
          absl::InvalidArgumentError("kernels: their sum is not positive semidefinite"), "NOT_PSD");
    }
    state.b += (before / curvature) * state.direction;
    state.residual -= (before / curvature) * product;
    ++state.iterations;
    const double after = state.residual.squaredNorm();
    if (RelativeGapOf(state) > problem_->relative_gap) {
      state.direction = state.residual + (after / before) * state.direction;
      return std::optional<StopReason>();
    }
    // The recursion for the residual drifts; bounds that end a run are computed from b itself, and
    // the recursion starts anew.
    MERCER_RETURN_IF_ERROR(Multiply(state.b, true, product, context));
    state.residual = right_side_ - product;
    state.direction = state.residual;
    const double exact = state.residual.squaredNorm();
    const bool stuck = exact > state.last_exact / 2;
    state.last_exact = exact;
    return stuck ? std::optional<StopReason>(StopReason::kNumericalLimit) : std::nullopt;
  }

  // The dual value b'Sy - 1/2 b'Ab, with A b = S y - r.
  double Dual(const ConjugateGradients& state) const {
    return (state.b.dot(right_side_) + state.b.dot(state.residual)) / 2;
  }

  double RelativeGapOf(const ConjugateGradients& state) const {
    const double dual = Dual(state);
    return RelativeGap(dual + state.residual.squaredNorm() / 2, dual);
  }

  StepReport Report(std::optional<StopReason> stop) const {
    StepReport report;
    report.stage = "solve";
    report.dual = Dual(state_);
    report.primal = report.dual + state_.residual.squaredNorm() / 2;
    report.accuracy = RelativeGap(report.primal, report.dual);
    // The share of the run that is done, on a log scale from 1 to the accuracy asked for.
    const double goal = std::log(problem_->relative_gap);
    report.fraction = std::clamp(std::log(std::max(report.accuracy, 1e-300)) / goal, 0.0, 1.0);
    report.active_kernels = family_->num_kernels();
    report.support_vectors = (state_.b.array() != 0).count();
    report.inner_iterations = state_.iterations;
    report.has_model = true;
    report.stop = stop;
    return report;
  }

  const TemplateLearnerOptions options_;
  const TrainingProblem* problem_ = nullptr;
  Vector scale_;       // s
  Vector right_side_;  // S y
  std::unique_ptr<KernelFamily> family_;
  std::unique_ptr<KernelOperator> operator_;
  ConjugateGradients state_;
};

// Learner's and verifier's kernels, and vectors.
size_t EstimateMemory(const TemplateLearnerOptions& /*options*/, const ProblemShape& shape) {
  constexpr size_t kVectors = 20;
  return (LearnerFamilyBytes(shape) + VerifierFamilyBytes(shape) +
          ByteCount(shape.rows) * ByteCount(kVectors * sizeof(double)))
      .value();
}

// A product with the kernel per step; steps as the square root of the condition number, for usual
// kernels.
LearnerWork EstimateWork(const TemplateLearnerOptions& options, const ProblemShape& shape) {
  LearnerWork work{KernelSumWork(shape), KernelSumWork(shape)};
  const double steps = 10 + std::sqrt(options.C * static_cast<double>(shape.rows));
  work.training[WorkKind::kEntries] +=
      std::min(steps, static_cast<double>(shape.rows)) * 2 * CountPairs(shape);
  return work;
}

}  // namespace

LearnerEntry Entry() {
  return MakeEntry<TemplateLearnerOptions, TemplateLearner>(
      {.name = "template_learner",
       .title = "Regularised least squares by conjugate gradients",
       .summary =
           "Least squares on a fixed sum of kernels, without bias. The example for new learners. "
           "One product with the kernel matrix per step; memory grows with the square of the rows.",
       .regression = true},
      {.verify = Verify, .estimate_memory = EstimateMemory, .estimate_work = EstimateWork});
}

}  // namespace mercer::template_learner
