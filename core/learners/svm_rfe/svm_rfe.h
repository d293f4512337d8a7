// Problem      Which columns does a linear support vector machine need? On the columns S that are
//              left,
//                min_{w, b}  1/2 |w|^2 + C sum_i c_i max(0, 1 - y_i (w'x_iS + b))
//              for each output; then the columns of the least sum of w_l^2 over the outputs leave,
//              until one is left. The order in which they leave is the ranking; the model is the
//              machine on the best columns.
// Source       Guyon, Weston, Barnhill, Vapnik: Gene selection for cancer classification using
//              support vector machines. Machine Learning 46 (2002) 389-422.
//              docs/mathematics/svm_rfe.md.
// Notation     a -> dual (signed): w = sum_i a_i x_i.
// Method       Newton's method on the Gram matrix of the columns that are left (svm_newton.h). What
//              leaves is taken away from that matrix where this costs less than making it anew;
//              each machine starts at the dual of its round before.
// Differences  Outputs of several classes are ranked together; machines are solved to a gap of
//              1e-12, so that no criterion depends on where a solver stopped.
// Guarantees   The bounds of a report are those of the machine on the kept columns, and of that
//              alone: the elimination is greedy. Same bits for every slicing into steps, save and
//              restore, and number of threads.
// Cost         Rounds, times: the square of the rows times the columns that leave or stay, a few
//              factorisations of the order of the rows near the margin. Memory of the columns and
//              of one matrix of the order of the rows.
// Verified by  tests/core/learners/svm_rfe, tests/golden: a fixture of an independent solver.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/learners/svm_rfe/elimination.h"
#include "core/learners/svm_rfe/options.h"
#include "core/solvers/svm/svm_newton.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::svm_rfe {

LearnerEntry Entry();

struct SvmRfeState {
  Ranking ranking;
  int64_t round = 0;   // of those of CountsOf; then the machine of the kept columns, then the end
  int64_t fresh = 0;   // the round whose Gram matrix was computed anew
  int64_t output = 0;  // whose machine is at hand
  Vector dual;         // of all outputs: those before `output` are of this round
  Vector steps;        // that the next machine of each output begins with
  // Of the last round that had all columns that are kept; empty before the first has ended.
  Vector kept_dual;
  Vector primal;  // bounds of the machines that were solved last
  Vector lower;
  int64_t iterations = 0;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(self.ranking.removed, self.ranking.criteria, self.round, self.fresh, self.output,
          Sized(self.dual, of.rows * of.outputs), Sized(self.steps, of.outputs),
          SizedOrEmpty(self.kept_dual, of.rows * of.outputs), Sized(self.primal, of.outputs),
          Sized(self.lower, of.outputs), self.iterations);
  }
};

class SvmRfeLearner : public ResumableLearner<SvmRfeState> {
 public:
  explicit SvmRfeLearner(const SvmRfeOptions& options)
      : ResumableLearner("svm_rfe", /*version=*/1), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;

 private:
  absl::Status Begin(const WarmStart* warm_start) override;
  absl::Status Advance(RunContext& context) override;
  StepReport Report() const override;
  bool Fits(const SvmRfeState& state) const override;
  void SaveParts(ByteWriter& writer) const override;
  absl::Status LoadParts(ByteReader& reader, RunContext& context) override;

  Index NumColumns() const { return counts_.front(); }
  Index NumRows() const { return machines_[0].targets.size(); }
  // The final machine counts as a round.
  int64_t LastRound() const { return static_cast<int64_t>(counts_.size()); }
  bool IsDone() const { return state_.round > LastRound(); }
  Index CountIn(int64_t round) const {
    return round < LastRound() ? counts_[static_cast<size_t>(round)] : kept_;
  }
  std::vector<Index> ColumnsIn(int64_t round) const {
    return state_.ranking.Best(NumColumns(), CountIn(round));
  }
  // Those that left between two rounds of the elimination.
  std::vector<Index> Leaving(int64_t round) const;
  absl::Status Prepare(RunContext& context);
  absl::Status PrepareGram(RunContext& context);
  absl::Status StartMachine(RunContext& context);
  absl::Status FinishMachine(RunContext& context);
  absl::Status FinishRound(RunContext& context);
  bool UpdatesGram() const;
  // Columns x outputs. Errors: kCancelled.
  absl::StatusOr<Matrix> WeightsOf(const std::vector<Index>& columns, const Vector& dual,
                                   RunContext& context) const;
  // The best multiples of these weights, and their biases. Errors: kCancelled.
  absl::StatusOr<Vector> Finish(const std::vector<Index>& columns, Matrix& weights,
                                RunContext& context) const;
  TrainedPoint PointAt(const std::vector<Index>& columns, const Matrix& weights,
                       const Vector& biases, const Vector& dual) const;

  const SvmRfeOptions options_;
  std::vector<SvmProblem> machines_;  // one for each output
  std::vector<Index> counts_;
  Index kept_ = 0;
  // Functions of the problem and of the state alone.
  std::unique_ptr<const Matrix> columns_;
  Vector squares_;  // of the columns
  std::unique_ptr<ColumnGram> gram_;
  int64_t gram_round_ = 0;                   // that it is of
  std::unique_ptr<SvmNewtonSolver> solver_;  // of the machine at hand; null between machines
};

}  // namespace mercer::svm_rfe
