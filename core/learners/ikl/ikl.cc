#include "core/learners/ikl/ikl.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/ikl/search.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/mkl/mkl_loop.h"
#include "core/training/contract/resumable_learner.h"
#include "core/training/contract/single_task.h"

namespace mercer::ikl {
namespace {

// By default the interval goes from the median distance divided by this to the median distance
// times this.
constexpr double kMedianRange = 10;
constexpr double kSliceOperations = 3e8;  // of a step, about 0.2 s
constexpr double kInnerGapShare = 0.1;    // of the violation: of the first SVM of a list
constexpr double kFirstWeight = 0.1;      // of a kernel that enters
constexpr double kSameKernel = 1e-3;  // difference in log bandwidth below which two kernels are one

// Why the search for bandwidths ended. The numbers are those of the metric `ikl.search_end`.
enum class SearchEnd : uint8_t {
  kSearching = 0,
  kNoViolation = 1,  // no bandwidth exceeds those in the list by more than `violation`
  kMaxKernels = 2,   // `max_kernels` kernels have a weight
  kNoProgress = 3,   // the best bandwidth is in the list already, as far as can be told
};

struct IklState {
  std::vector<double> bandwidths;
  MklState mkl;               // of these bandwidths
  double primal = kInfinity;  // an upper bound for the whole interval, from all lists
  SearchEnd end = SearchEnd::kSearching;
  int64_t searches = 0;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(self.bandwidths);
    visit(Nested(self.mkl, MklSizes{of.rows, static_cast<Index>(self.bandwidths.size())}),
          self.primal, UpTo(self.end, SearchEnd::kNoProgress), self.searches,
          UpTo(self.stop, StopReason::kObjectiveZero));
  }
};

class IklLearner : public ResumableLearner<IklState> {
 public:
  // Version 2 since the state of the weights is that of solvers/mkl.
  explicit IklLearner(const IklOptions& options)
      : ResumableLearner("ikl", /*version=*/2), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& /*context*/) const override {
    if (state_.end == SearchEnd::kSearching || !std::isfinite(state_.mkl.best.gap)) {
      return absl::FailedPreconditionError("the bandwidths have not been found yet");
    }
    return MakePoint(state_.bandwidths, state_.mkl.best);
  }

  // The best constant function, on one kernel, whose weight is 1 whatever the function.
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override {
    if (!(interval_.high > 0)) {
      MERCER_RETURN_IF_ERROR(ResolveInterval(context));
    }
    BestPoint constant;
    constant.weights = Vector::Ones(1);
    constant.dual = Vector::Zero(svm_.targets.size());
    MERCER_ASSIGN_OR_RETURN(const BiasInterval bias,
                            svm_.loss->ExactBias(svm_.targets, svm_.costs, constant.dual, context));
    constant.bias = bias.chosen;
    return MakePoint({first_bandwidth_}, constant);
  }

 private:
  absl::Status Begin(const WarmStart* /*warm_start*/) override {
    FieldViolations violations;
    violations.Check(problem_->kind == TargetKind::kClassification, "kind",
                     "is for classification");
    const bool given = options_.min_bandwidth > 0 && options_.max_bandwidth > 0;
    violations.Check(!given || options_.min_bandwidth <= options_.max_bandwidth, "max_bandwidth",
                     absl::StrCat("is ", options_.max_bandwidth, ", below min_bandwidth, ",
                                  options_.min_bandwidth));
    MERCER_RETURN_IF_ERROR(violations.ToStatus());
    TrainingProblem with_kernel = *problem_;
    with_kernel.kernels = {GaussianOf(1)};
    MERCER_ASSIGN_OR_RETURN(svm_, ReadSvmProblem(with_kernel, options_.C, 0));
    state_.mkl.dual = Vector::Zero(svm_.targets.size());
    loop_.emplace(ball_, svm_, MklLoopOptions{.inner_solver = InnerSolverChoice::kSmo}, state_.mkl);
    interval_ = {};
    family_bandwidths_.clear();
    family_ = nullptr;
    return absl::OkStatus();
  }

  // Works on SVMs, weights and searches until there was about 0.2 s of work or the solution is as
  // good as was asked for.
  absl::Status Advance(RunContext& context) override {
    const auto rows = static_cast<double>(svm_.targets.size());
    double operations = 0;
    do {
      MERCER_RETURN_IF_ERROR(Prepare(context));
      if (state_.stop.has_value()) {
        break;
      }
      context.ReportStage("solve");
      operations += state_.mkl.solving ? 0.0 : 5 * rows * rows;
      const int64_t before = loop_->inner().iterations();
      MERCER_ASSIGN_OR_RETURN(const MklProgress progress, loop_->Solve(context));
      operations += 4 * rows * static_cast<double>(loop_->inner().iterations() - before);
      if (progress != MklProgress::kSolving) {
        MERCER_RETURN_IF_ERROR(FinishSvm(progress, context));
        operations += 20 * rows * rows;
      }
    } while (operations < kSliceOperations && !state_.stop.has_value() && !IsAccurate());
    return absl::OkStatus();
  }

  StepReport Report() const override {
    const BestPoint& best = state_.mkl.best;
    const bool searching = state_.end == SearchEnd::kSearching;
    StepReport report;
    report.stage = searching ? "search" : "certify";
    report.primal = searching ? state_.primal : best.primal;
    if (!searching) {
      report.dual = best.lower;
      report.accuracy = best.gap;
    }
    report.fraction =
        searching ? 0.5 : 0.5 + 0.5 * FractionOfGap(report.accuracy, problem_->relative_gap);
    report.active_kernels = (state_.mkl.weights.array() > 0).count();
    report.support_vectors = (state_.mkl.dual.array() != 0).count();
    report.inner_iterations = loop_->inner().iterations();
    report.has_model = !searching && std::isfinite(best.gap);
    report.stop = state_.stop;
    return report;
  }

  bool Fits(const IklState& state) const override {
    const auto is_bandwidth = [](double one) { return one > 0 && std::isfinite(one); };
    return std::all_of(state.bandwidths.begin(), state.bandwidths.end(), is_bandwidth) &&
           state.mkl.weights.allFinite() && state.mkl.best.weights.allFinite() &&
           state.mkl.best.dual.allFinite();
  }

  void SaveParts(ByteWriter& writer) const override { loop_->Save(writer); }

  absl::Status LoadParts(ByteReader& reader, RunContext& context) override {
    if (state_.bandwidths.empty()) {
      // No step was whole: what one had begun with is not of this state.
      loop_->SetKernels(nullptr);
      family_ = nullptr;
    } else {
      MERCER_RETURN_IF_ERROR(Prepare(context));
    }
    return OfPart(loop_->Load(reader, context));
  }

  // Rows that are all alike have no distance: any bandwidth gives the same kernel.
  absl::Status ResolveInterval(RunContext& context) {
    double median = 1;
    if (!(options_.min_bandwidth > 0) || !(options_.max_bandwidth > 0)) {
      KernelGrid grid;
      grid.rule = BandwidthRule::kMedianMultiples;
      grid.bandwidths = {1.0};
      const TaskData& task = problem_->tasks[0];
      std::vector<Index> rows;  // of weight > 0
      for (size_t i = 0; i < task.rows.size(); ++i) {
        if (task.costs(static_cast<Index>(i)) > 0) {
          rows.push_back(task.rows[i]);
        }
      }
      const absl::StatusOr<std::vector<KernelSpec>> kernels =
          ExpandKernels({grid}, *task.inputs, rows, problem_->seed, context);
      if (kernels.ok()) {
        median = kernels->front().bandwidth;
      } else if (!absl::IsInvalidArgument(kernels.status())) {
        return kernels.status();
      }
    }
    const bool has_low = options_.min_bandwidth > 0;
    const bool has_high = options_.max_bandwidth > 0;
    interval_.low = has_low ? options_.min_bandwidth : median / kMedianRange;
    interval_.high = has_high ? options_.max_bandwidth : median * kMedianRange;
    if (!has_low) {
      interval_.low = std::min(interval_.low, interval_.high);
    } else if (!has_high) {
      interval_.high = std::max(interval_.low, interval_.high);
    }
    first_bandwidth_ = std::clamp(median, interval_.low, interval_.high);
    return absl::OkStatus();
  }

  // Kernels are functions of problem and bandwidths, so they are no part of the state.
  absl::Status Prepare(RunContext& context) {
    if (!(interval_.high > 0)) {
      MERCER_RETURN_IF_ERROR(ResolveInterval(context));
    }
    if (state_.bandwidths.empty()) {
      state_.bandwidths = {first_bandwidth_};
      loop_->Begin(Vector::Ones(1), 0.5 * target_, target_);
    }
    if (family_ == nullptr || family_bandwidths_ != state_.bandwidths) {
      context.ReportStage("kernels");
      loop_->SetKernels(nullptr);
      family_ = nullptr;
      MERCER_ASSIGN_OR_RETURN(family_, MakeFamily(problem_->tasks[0], state_.bandwidths, context));
      family_bandwidths_ = state_.bandwidths;
      loop_->SetKernels(family_.get());
    }
    return absl::OkStatus();
  }

  absl::Status FinishSvm(MklProgress progress, RunContext& context) {
    state_.primal = std::min(state_.primal, state_.mkl.best.primal);
    if (progress == MklProgress::kObjectiveZero) {
      state_.end = SearchEnd::kNoViolation;  // nothing can be lower
      state_.stop = StopReason::kObjectiveZero;
      return absl::OkStatus();
    }
    const bool limit = progress == MklProgress::kNumericalLimit;
    if (state_.end == SearchEnd::kSearching && (limit || state_.mkl.best.gap <= target_)) {
      return Search(context);
    }
    if (limit) {
      state_.stop = StopReason::kNumericalLimit;
      return absl::OkStatus();
    }
    return loop_->MoveWeights(target_, context);
  }

  // The list is solved: is there a bandwidth outside that would lower the objective?
  absl::Status Search(RunContext& context) {
    context.ReportStage("search");
    MERCER_ASSIGN_OR_RETURN(
        const std::vector<FoundBandwidth> found,
        FindBandwidths(problem_->tasks[0], interval_, state_.bandwidths, state_.mkl.dual, context));
    ++state_.searches;
    state_.mkl.fruitless = 0;
    const double listed = loop_->energies().maxCoeff();
    const double largest = std::max(found.front().energy, listed);
    const double allowed = listed + 2 * options_.violation * state_.mkl.best.primal;
    const auto is_new = [&](const FoundBandwidth& one) {
      return one.energy > allowed &&
             std::none_of(state_.bandwidths.begin(), state_.bandwidths.end(),
                          [&](double bandwidth) {
                            return std::abs(std::log(bandwidth / one.bandwidth)) < kSameKernel;
                          });
    };
    const auto best = std::find_if(found.begin(), found.end(), is_new);
    if (largest <= allowed) {
      state_.end = SearchEnd::kNoViolation;
    } else if (best == found.end()) {
      state_.end = SearchEnd::kNoProgress;
    } else if ((state_.mkl.weights.array() > 0).count() >= options_.max_kernels) {
      state_.end = SearchEnd::kMaxKernels;
    } else {
      Admit(best->bandwidth);
    }
    return absl::OkStatus();
  }

  // Takes a bandwidth into the list, and those without a weight out of it. The new kernel begins
  // with a tenth of the weights: at weight 0 no step of the closed form would move it.
  void Admit(double bandwidth) {
    std::vector<double> bandwidths;
    std::vector<double> weights;
    for (size_t k = 0; k < state_.bandwidths.size(); ++k) {
      const double weight = state_.mkl.weights(static_cast<Index>(k));
      if (weight > 0) {
        bandwidths.push_back(state_.bandwidths[k]);
        weights.push_back((1 - kFirstWeight) * weight);
      }
    }
    bandwidths.push_back(bandwidth);
    weights.push_back(kFirstWeight);
    state_.bandwidths = std::move(bandwidths);
    const Eigen::Map<const Vector> start(weights.data(), static_cast<Index>(weights.size()));
    loop_->Begin(start / start.sum(), std::max(kInnerGapShare * options_.violation, 0.5 * target_),
                 target_);
  }

  bool IsAccurate() const {
    return state_.end != SearchEnd::kSearching && state_.mkl.best.gap <= target_;
  }

  TrainedPoint MakePoint(const std::vector<double>& bandwidths, const BestPoint& best) const {
    const TaskData& task = problem_->tasks[0];
    TrainedPoint point;
    std::vector<KernelSpec> kernels;
    for (const double bandwidth : bandwidths) {
      kernels.push_back(GaussianOf(bandwidth));
    }
    point.summary.SetKernels(kernels);
    point.function =
        MakeKernelFunction(*task.inputs, task.rows, kernels, best.weights, best.dual, best.bias);
    point.witness.tasks.push_back({best.dual, Vector::Constant(1, best.bias)});
    point.witness.arrays = {
        {"weights", best.weights},
        {"bandwidths",
         Eigen::Map<const Vector>(bandwidths.data(), static_cast<Index>(bandwidths.size()))}};
    point.witness.values = {{"min_bandwidth", interval_.low},
                            {"max_bandwidth", interval_.high},
                            {"searches", static_cast<double>(state_.searches)},
                            {"search_end", static_cast<double>(state_.end)}};
    point.summary.kernel_weights = best.weights;
    point.summary.num_support_vectors = (best.dual.array() != 0).count();
    return point;
  }

  const IklOptions options_;
  const LpBall ball_{1.0};
  SvmProblem svm_;
  // Functions of the problem and of state_.bandwidths.
  BandwidthInterval interval_;
  double first_bandwidth_ = 0;
  std::vector<double> family_bandwidths_;
  std::unique_ptr<KernelFamily> family_;
  std::optional<MklLoop> loop_;  // on state_.mkl
};

}  // namespace

absl::StatusOr<std::unique_ptr<Learner>> Create(const IklOptions& options) {
  return std::make_unique<IklLearner>(options);
}

}  // namespace mercer::ikl
