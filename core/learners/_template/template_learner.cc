// Problem      min_f 1/2 |f|^2 + C sum_i c_i (y_i - f(x_i))^2, f in the space of the kernel
//              K = sum_k K_k (fixed), no bias.
// Source       Hestenes, Stiefel: Methods of conjugate gradients for solving linear systems. J.
//              Res. NBS 49 (1952) 409-436.
// Notation     s_i = sqrt(2 C c_i), S = diag(s); f = sum_i a_i K(x_i, .), a = S b; A = S K S + I,
//              positive definite. The dual of the problem is max_b b'Sy - 1/2 b'Ab; so b solves
//              A b = S y, by conjugate gradients.
// Guarantees   with the residual r = S y - A b: dual = b'Sy - 1/2 b'Ab, primal = dual + 1/2 r'r,
//              both true bounds at every step; the dual value never decreases.
// Cost         one product with K per step.
// Verified by  tests/core/learners/_template: a dense direct solution, and the conformance suite of
//              all learners.
#include "core/learners/_template/template_learner.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/status/byte_count.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/learners/_template/options.h"
#include "core/learners/_template/verify.h"
#include "core/training/contract/kernel_sum.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/resumable_learner.h"
#include "core/training/contract/single_task.h"

namespace mercer::template_learner {
namespace {

// Everything that decides the future of a run.
struct ConjugateGradients {
  bool begun = false;
  Vector b;
  Vector residual;
  Vector direction;
  double last_exact = kInfinity;  // r'r when it was last computed from b
  int64_t iterations = 0;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(self.begun);
    const Index size = self.begun ? of.rows : 0;
    visit(Sized(self.b, size), Sized(self.residual, size), Sized(self.direction, size),
          self.last_exact, self.iterations, UpTo(self.stop, StopReason::kObjectiveZero));
  }
};

class TemplateLearner : public ResumableLearner<ConjugateGradients> {
 public:
  explicit TemplateLearner(const TemplateLearnerOptions& options)
      : ResumableLearner("template_learner", /*version=*/1), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& /*context*/) const override {
    if (!state_.begun || sum_ == nullptr) {
      return absl::FailedPreconditionError("the run has not begun");
    }
    const TaskData& task = problem_->tasks[0];
    const Vector dual = scale_.cwiseProduct(state_.b);
    TrainedPoint point;
    point.function = MakeKernelFunction(*task.inputs, task.rows, problem_->kernels,
                                        sum_->family->scales(), dual, 0.0);
    point.witness.tasks.push_back({dual, Vector::Zero(1)});
    point.summary.SetKernels(problem_->kernels);
    point.summary.kernel_weights = Matrix::Ones(static_cast<Index>(problem_->kernels.size()), 1);
    point.summary.num_support_vectors = (dual.array() != 0).count();
    return point;
  }

  // This problem has no bias, so that its only constant function is zero.
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& /*context*/) override {
    const Vector ones = Vector::Ones(static_cast<Index>(problem_->kernels.size()));
    return MakeConstantPoint(*problem_, ones, 0.0);
  }

 private:
  absl::Status Begin(const WarmStart* /*warm_start*/) override {
    const TaskData& task = problem_->tasks[0];
    scale_ = (2 * options_.C * task.costs).cwiseSqrt();
    right_side_ = scale_.cwiseProduct(task.targets.col(0));
    return absl::OkStatus();
  }

  absl::Status Advance(RunContext& context) override {
    MERCER_RETURN_IF_ERROR(MakeKernelSum(*problem_, sum_, context));
    if (state_.begun) {
      MERCER_RETURN_IF_ERROR(Iterate(context));
    } else {
      state_.begun = true;
      state_.b = Vector::Zero(right_side_.size());
      state_.residual = right_side_;
      state_.direction = right_side_;
    }
    if (!state_.stop.has_value() && right_side_.isZero(0)) {
      state_.stop = StopReason::kObjectiveZero;
    }
    return absl::OkStatus();
  }

  absl::Status LoadParts(ByteReader& /*reader*/, RunContext& context) override {
    return MakeKernelSum(*problem_, sum_, context);
  }

  // Computes out = A x by the combined operator, or, slower, in double from the data.
  absl::Status Multiply(const Vector& x, bool exact, Vector& out, RunContext& context) const {
    const Matrix scaled = scale_.cwiseProduct(x);
    Matrix product(x.size(), 1);
    if (exact) {
      MERCER_RETURN_IF_ERROR(sum_->family->CombinedProduct(
          Vector::Ones(sum_->family->num_kernels()), scaled, product, context));
    } else {
      MERCER_RETURN_IF_ERROR(sum_->kernel->Apply(scaled, product, context));
    }
    out = scale_.cwiseProduct(product.col(0)) + x;
    return absl::OkStatus();
  }

  // One conjugate gradient step.
  absl::Status Iterate(RunContext& context) {
    Vector product;
    MERCER_RETURN_IF_ERROR(Multiply(state_.direction, false, product, context));
    const double curvature = state_.direction.dot(product);
    const double before = state_.residual.squaredNorm();
    if (!std::isfinite(curvature) || before == 0) {
      state_.stop = StopReason::kNumericalLimit;
      return absl::OkStatus();
    }
    if (curvature <= 0) {
      return WithReason(
          absl::InvalidArgumentError("kernels: their sum is not positive semidefinite"), "NOT_PSD");
    }
    state_.b += (before / curvature) * state_.direction;
    state_.residual -= (before / curvature) * product;
    ++state_.iterations;
    const double after = state_.residual.squaredNorm();
    if (RelativeGapNow() > target_) {
      state_.direction = state_.residual + (after / before) * state_.direction;
      return absl::OkStatus();
    }
    // The recursion for the residual drifts; bounds that end a run are computed from b itself, and
    // the recursion starts anew.
    MERCER_RETURN_IF_ERROR(Multiply(state_.b, true, product, context));
    state_.residual = right_side_ - product;
    state_.direction = state_.residual;
    const double exact = state_.residual.squaredNorm();
    const bool stuck = exact > state_.last_exact / 2;
    state_.last_exact = exact;
    if (stuck) {
      state_.stop = StopReason::kNumericalLimit;
    }
    return absl::OkStatus();
  }

  // b'Sy - 1/2 b'Ab with A b = S y - r.
  double Dual() const { return (state_.b.dot(right_side_) + state_.b.dot(state_.residual)) / 2; }

  double RelativeGapNow() const {
    const double dual = Dual();
    return RelativeGap(dual + state_.residual.squaredNorm() / 2, dual);
  }

  StepReport Report() const override {
    StepReport report;
    report.stage = "solve";
    report.dual = Dual();
    report.primal = report.dual + state_.residual.squaredNorm() / 2;
    report.accuracy = RelativeGap(report.primal, report.dual);
    // The share of the run that is done, on a log scale from 1 to the accuracy asked for.
    const double goal = std::log(problem_->relative_gap);
    report.fraction = std::clamp(std::log(std::max(report.accuracy, 1e-300)) / goal, 0.0, 1.0);
    report.active_kernels = sum_->family->num_kernels();
    report.support_vectors = (state_.b.array() != 0).count();
    report.inner_iterations = state_.iterations;
    report.has_model = true;
    report.stop = state_.stop;
    return report;
  }

  const TemplateLearnerOptions options_;
  Vector scale_;                          // s
  Vector right_side_;                     // S y
  std::shared_ptr<const KernelSum> sum_;  // a function of the problem alone
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
  LearnerWork work = SharedSumWork(shape);
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
