// Problem      min over measures d of mass 1 on the bandwidths s of an interval of
//                max_a  sum_i y_i a_i - 1/2 int a'K_s a d(ds),
//                K_s(x, z) = exp(-|x - z|^2 / (2 s^2)),
//              a_i in its box of size C c_i, sum a = 0: a support vector machine (hinge loss) on
//              the best convex combination of infinitely many Gaussian kernels.
//              Dual: max_a y'a - max_s 1/2 a'K_s a.
// Source       Gehler, Nowozin: Infinite kernel learning. NIPS Workshop on Kernel Learning (2008),
//              as the baseline of Rakotomamonjy, Flamary, Yger: Learning with infinitely many
//              features. Machine Learning 91 (2013) 43-66; docs/mathematics/ikl.md.
// Notation     theta -> bandwidth, beta -> weights, v = alpha y -> dual,
//              twice T(theta; alpha) -> energies.
// Method       Multiple kernel learning over a list of bandwidths (SVMs of fixed weights, weights
//              by over-relaxed steps and Newton's method on the optimum as a function of them);
//              then the bandwidth of largest energy enters the list, until none exceeds those in it
//              by more than `violation`.
// Guarantees   The certificate is about the kernels that are listed; its upper bound holds for the
//              whole interval, for which the metrics have a lower bound too, as far as the search
//              is global.
// Cost         Per SVM and per search a pass over the pairs of rows; n x n memory.
// Verified by  tests/core/learners/ikl, and the conformance suite.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/learners/ikl/options.h"
#include "core/learners/ikl/search.h"
#include "core/solvers/mkl/mkl_bounds.h"
#include "core/solvers/svm/smo.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::ikl {

LearnerEntry Entry();

// Why the search for bandwidths ended. The numbers are those of the metric `ikl.search_end`.
enum class SearchEnd : uint8_t {
  kSearching = 0,
  kNoViolation = 1,  // no bandwidth exceeds those in the list by more than `violation`
  kMaxKernels = 2,   // `max_kernels` kernels have a weight
  kNoProgress = 3,   // the best bandwidth is in the list already, as far as can be told
};

// What the next weights came from, for when they turn out worse.
struct LastWeights {
  Vector weights;
  Vector dual;
  Vector energies;
  double upper = kInfinity;
  int64_t reductions = 0;
};

struct IklPoint {
  std::vector<double> bandwidths;
  Vector weights;
  Vector dual;
  double bias = 0;
  double primal = kInfinity;
  double lower = -kInfinity;
  double gap = kInfinity;
};

struct IklState {
  std::vector<double> bandwidths;
  Vector weights;
  Vector dual;  // where the next SVM starts
  bool solving = false;
  double inner_gap = 0.1;
  int64_t outer = 0;      // steps of the weights of this list
  int64_t fruitless = 0;  // SVMs since the gap improved
  int64_t iterations = 0;
  LastWeights last;
  IklPoint best;  // of this list
  SearchEnd end = SearchEnd::kSearching;
  int64_t searches = 0;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(self.bandwidths, self.weights, Sized(self.dual, of.rows), self.solving, self.inner_gap,
          FormerNumber(), self.outer, self.fruitless, self.iterations, self.searches,
          self.last.reductions);
    visit(self.last.weights, SizedOrEmpty(self.last.dual, of.rows), self.last.energies,
          self.last.upper);
    visit(self.best.bandwidths, self.best.weights, SizedOrEmpty(self.best.dual, of.rows),
          self.best.bias, self.best.primal, self.best.lower, self.best.gap);
    visit(UpTo(self.end, SearchEnd::kNoProgress), UpTo(self.stop, StopReason::kObjectiveZero));
  }
};

class IklLearner : public ResumableLearner<IklState> {
 public:
  explicit IklLearner(const IklOptions& options)
      : ResumableLearner("ikl", /*version=*/1), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;

 private:
  absl::Status Begin(const WarmStart* warm_start) override;
  absl::Status Advance(RunContext& context) override;
  StepReport Report() const override;
  bool Fits(const IklState& state) const override;
  void SaveParts(ByteWriter& writer) const override;
  absl::Status LoadParts(ByteReader& reader, RunContext& context) override;
  absl::Status Prepare(RunContext& context);
  absl::Status ResolveInterval(RunContext& context);
  std::unique_ptr<SmoSolver> MakeSolver() const;
  absl::Status StartSvm(RunContext& context);
  absl::Status FinishSvm(RunContext& context);
  void Remember(const PointBounds& bounds);
  absl::Status AdvanceWeights(const PointBounds& bounds, RunContext& context);
  absl::Status RetreatWeights(const RunContext& context);
  absl::Status RescaleDual(double quadratic, const RunContext& context);
  absl::Status Search(RunContext& context);
  void Admit(double bandwidth);
  bool IsAccurate() const;
  TrainedPoint MakePoint(const IklPoint& best) const;

  const IklOptions options_;
  SvmProblem svm_;
  // Functions of the problem and of state_.bandwidths and state_.weights.
  BandwidthInterval interval_;
  double first_bandwidth_ = 0;
  std::vector<double> family_bandwidths_;
  std::unique_ptr<KernelFamily> family_;
  std::unique_ptr<KernelOperator> kernel_;
  Vector kernel_weights_;
  std::unique_ptr<SmoSolver> solver_;
  Vector energies_;  // of the last finished SVM
};

}  // namespace mercer::ikl
