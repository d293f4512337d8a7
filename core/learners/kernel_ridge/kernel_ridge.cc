#include "core/learners/kernel_ridge/kernel_ridge.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/byte_count.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/learners/kernel_ridge/options.h"
#include "core/learners/kernel_ridge/verify.h"
#include "core/solvers/factor/ridge.h"
#include "core/training/contract/kernel_sum.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/resumable_learner.h"
#include "core/training/contract/single_task.h"

namespace mercer::kernel_ridge {
namespace {

struct Solution {
  Vector dual;
  double bias = 0;
  double primal = kInfinity;
  double lower = -kInfinity;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(Sized(self.dual, of.rows), self.bias, self.primal, self.lower);
  }
};

struct KernelRidgeState {
  std::optional<Solution> solution;  // none until solved, then the whole of it

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(Nested(self.solution, of));
  }
};

class KernelRidgeLearner : public ResumableLearner<KernelRidgeState> {
 public:
  explicit KernelRidgeLearner(const KernelRidgeOptions& options)
      : ResumableLearner("kernel_ridge", /*version=*/0), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& /*context*/) const override {
    if (!state_.solution.has_value() || sum_ == nullptr) {
      return absl::FailedPreconditionError("the system has not been solved yet");
    }
    return MakeKernelSumPoint(*problem_, sum_->family->scales(), state_.solution->dual,
                              state_.solution->bias);
  }

  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& /*context*/) override {
    const TaskData& task = problem_->tasks[0];
    const double total = task.costs.sum();
    const double mean = total > 0 ? task.costs.dot(task.targets.col(0)) / total : 0.0;
    const Vector ones = Vector::Ones(static_cast<Index>(problem_->kernels.size()));
    return MakeConstantPoint(*problem_, ones, mean);
  }

 private:
  // A warm start would not help: the solution is direct.
  absl::Status Begin(const WarmStart* /*warm_start*/) override {
    sum_ = nullptr;
    return CheckRowsAndKernels(*problem_);
  }

  absl::Status Advance(RunContext& context) override {
    if (sum_ == nullptr) {
      return MakeKernelSum(*problem_, sum_, context);
    }
    return state_.solution.has_value() ? absl::OkStatus() : Solve(context);
  }

  absl::Status LoadParts(ByteReader& /*reader*/, RunContext& context) override {
    return MakeKernelSum(*problem_, sum_, context);
  }

  // The solver's problem is ours divided by lambda.
  absl::Status Solve(RunContext& context) {
    const TaskData& task = problem_->tasks[0];
    const double lambda = options_.lambda;
    const Vector costs = task.costs / lambda;
    MERCER_RETURN_IF_ERROR(CheckCosts(task.costs, costs));
    context.ReportStage("solve");
    absl::StatusOr<RidgeSolution> solved = SolveKernelRidge(*sum_->kernel, task.targets.leftCols(1),
                                                            costs, /*with_bias=*/true, context);
    if (absl::IsInvalidArgument(solved.status())) {
      const std::vector<KernelSpec>& kernels = problem_->kernels;
      const std::string subject =
          kernels.size() == 1 ? KernelText(0, kernels[0]) : "the sum of the kernels";
      return WithReason(absl::InvalidArgumentError(
                            absl::StrCat(subject, ": ", std::string(solved.status().message()))),
                        "NOT_PSD");
    }
    MERCER_RETURN_IF_ERROR(solved.status());
    MERCER_RETURN_IF_ERROR(CheckKernel(*solved, context));
    const SvmCertificate& certificate = solved->certificates[0];
    state_.solution = Solution{solved->dual.col(0), solved->bias(0),
                               lambda * certificate.unscaled_primal, lambda * certificate.dual};
    return absl::OkStatus();
  }

  // The solver adds 1 / (2 costs) to the kernel, and leaves out rows of cost 0.
  absl::Status CheckCosts(const Vector& weights, const Vector& costs) const {
    const std::string is = absl::StrCat("is ", options_.lambda);
    const bool vanish = ((weights.array() > 0) && !(costs.array().inverse() < kInfinity)).any();
    FieldViolations violations;
    violations.Check(costs.allFinite(), "lambda",
                     is + ", too small: the weights of the rows divided by it overflow");
    violations.Check(!vanish, "lambda",
                     is + ", too large: the weights of the rows divided by it vanish");
    return violations.ToStatus();
  }

  // The kernel and the ridge can be positive definite together while the kernel alone is not.
  absl::Status CheckKernel(const RidgeSolution& solved, RunContext& context) const {
    const Vector ones = Vector::Ones(sum_->family->num_kernels());
    MERCER_ASSIGN_OR_RETURN(const double largest, LargestEntry(*sum_->family, ones, context));
    const Vector squared_norms = solved.dual.cwiseProduct(solved.scores).colwise().sum();
    return CheckSquaredNorms(*problem_, solved.dual, squared_norms, largest);
  }

  StepReport Report() const override {
    StepReport report;
    report.stage = state_.solution.has_value() ? "solve" : "kernels";
    report.active_kernels = static_cast<Index>(problem_->kernels.size());
    if (!state_.solution.has_value()) {
      return report;
    }
    report.fraction = 1;
    report.primal = state_.solution->primal;
    report.dual = state_.solution->lower;
    report.accuracy = RelativeGap(report.primal, report.dual);
    report.support_vectors = (state_.solution->dual.array() != 0).count();
    report.inner_iterations = 1;
    report.has_model = true;
    if (report.primal <= 1e-300 || state_.solution->dual.isZero(0)) {
      report.stop = StopReason::kObjectiveZero;
    } else if (report.accuracy > target_) {
      report.stop = StopReason::kNumericalLimit;  // a direct solution does not get better
    }
    return report;
  }

  const KernelRidgeOptions options_;
  std::shared_ptr<const KernelSum> sum_;  // a function of the problem alone
};

// The learner's kernels with the factor of the system, and then with those of the verifier, and
// vectors.
size_t EstimateMemory(const KernelRidgeOptions& /*options*/, const ProblemShape& shape) {
  constexpr size_t kVectors = 30;
  const ByteCount rows(shape.rows);
  const ByteCount number(sizeof(double));
  return (LearnerFamilyBytes(shape) + std::max(rows * rows * number, VerifierFamilyBytes(shape)) +
          rows * ByteCount(kVectors) * number)
      .value();
}

// A factorisation of a copy of the kernel, and its use for one right side.
LearnerWork EstimateWork(const KernelRidgeOptions& /*options*/, const ProblemShape& shape) {
  LearnerWork work = SharedSumWork(shape);
  work.training[WorkKind::kFactorOperations] =
      CountPairs(shape) * static_cast<double>(shape.rows) * 2 / 3;
  work.training[WorkKind::kEntries] += 4 * CountPairs(shape);
  return work;
}

}  // namespace

LearnerEntry Entry() {
  return MakeEntry<KernelRidgeOptions, KernelRidgeLearner>(
      {.name = "kernel_ridge",
       .title = "Kernel ridge regression",
       .summary = "Least squares with a penalty on the squared norm, on a fixed sum of kernels, "
                  "solved directly; classes are fitted as numbers -1 and +1. Takes no iterations "
                  "and has one option; memory grows with the square of the rows, time with their "
                  "cube. Source: Saunders, Gammerman, Vovk: Ridge regression learning algorithm in "
                  "dual variables. ICML 1998, 515-521.",
       .regression = true},
      {.verify = Verify, .estimate_memory = EstimateMemory, .estimate_work = EstimateWork});
}

}  // namespace mercer::kernel_ridge
