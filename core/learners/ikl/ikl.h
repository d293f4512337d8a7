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
// Method       Multiple kernel learning over a list of bandwidths (solvers/mkl/mkl_loop.h); then
//              the bandwidth of largest energy enters the list, until none exceeds those in it by
//              more than `violation`.
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
#include "core/objectives/lp_weights.h"
#include "core/solvers/mkl/mkl_loop.h"
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

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;

 private:
  absl::Status Begin(const WarmStart* warm_start) override;
  absl::Status Advance(RunContext& context) override;
  StepReport Report() const override;
  bool Fits(const IklState& state) const override;
  void SaveParts(ByteWriter& writer) const override;
  absl::Status LoadParts(ByteReader& reader, RunContext& context) override;
  absl::Status ResolveInterval(RunContext& context);
  absl::Status Prepare(RunContext& context);
  absl::Status FinishSvm(MklProgress progress, RunContext& context);
  absl::Status Search(RunContext& context);
  void Admit(double bandwidth);
  bool IsAccurate() const;
  TrainedPoint MakePoint(const std::vector<double>& bandwidths, const BestPoint& best) const;

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

}  // namespace mercer::ikl
