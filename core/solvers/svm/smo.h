// Problem      min_{dual}  1/2 dual'K dual - targets'dual + epsilon |dual|_1  subject to
//              A <= dual <= B  and  sum dual = 0:  the signed dual of the support vector machine
//              (hinge: box [0, c(i)] or [-c(i), 0] by the sign of the target) and of support vector
//              regression (epsilon-insensitive loss: box [-c(i), c(i)]).
// Source       Fan, Chen, Lin: Working set selection using second order information for training
//              SVM. JMLR 6 (2005) 1889-1918; Chang, Lin: LIBSVM (shrinking);
//              docs/mathematics/svm.md, sections 1 and 2.
// Notation     h = K dual - targets; up(i) = -h(i) -+ epsilon is what raising dual(i) gains per
//              unit while dual(i) < B, down(i) what lowering costs.
// Differences  (1) stops by the certified relative duality gap; (2) regression has one variable per
//              sample with a kink at zero instead of two; (3) large problems run on float columns,
//              and every round ends by recomputing h in double from the operator for what changed
//              since the last round, so that rounding does not accumulate; the stop and the
//              certificate look at double values only; (4) shrunk columns are stored compactly.
// Guarantees   Box and bounds exact; dual never worse than the start. Same bits for every slicing
//              into steps, every save and restore, every cache size and number of threads.
// Cost         Two kernel columns of the active samples per iteration.
//
//   SmoSolver solver(kernel, SmoOptions{});
//   MERCER_RETURN_IF_ERROR(
//       solver.Start({.loss = loss, .targets = labels, .costs = costs}, {}, context));
//   while (!solver.done()) {
//     MERCER_RETURN_IF_ERROR(solver.Step(10'000, context));
//   }
//   solver.dual(), solver.scores(), solver.certificate();
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/base/status/byte_count.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/solvers/svm/smo_columns.h"
#include "core/solvers/svm/svm_certificate.h"
#include "core/solvers/svm/svm_problem.h"
#include "core/solvers/svm/svm_solver.h"

namespace mercer {

struct SmoOptions {
  // Stop when the certified relative gap is at most this; 0: never for this reason.
  double relative_gap = 1e-3;
  // That gap is of the function as it stands, not of its best multiple.
  bool gap_of_function = false;
  // Stop when max up - min down over all samples, in units of the targets, is at most this; 0:
  // never for this reason.
  double kkt_tolerance = 0;
  // The most iterations; 0 means max(10^7, 100 n), n samples.
  int64_t max_iterations = 0;
  // Memory for kernel columns. It changes time only.
  size_t cache_bytes = size_t{1} << 30;
  bool shrinking = true;
};

// Upper bound on the bytes of the columns that a solver of n samples keeps of a formed kernel:
// float columns of all samples, and of those under work float and double ones.
ByteCount SmoColumnBytes(Index num_samples, const SmoOptions& options);

// One problem at a time; not thread-safe. The kernel must outlive the solver; its columns stay
// cached between problems, so a path over costs should use one solver, or hand the columns on.
class SmoSolver : public SvmSolver {
 public:
  // `columns` are those of an earlier solver on this kernel with the same cache_bytes; null: none.
  SmoSolver(const KernelOperator& kernel, const SmoOptions& options,
            std::unique_ptr<SmoColumns> columns = nullptr);
  ~SmoSolver() override;

  // For a later solver; this one must not be used afterwards.
  std::unique_ptr<SmoColumns> TakeColumns() { return std::move(columns_); }

  // Of the problem at hand and of later ones: one that was reached may be lowered to go on.
  void set_relative_gap(double relative_gap);

  // The loss is hinge or epsilon-insensitive.
  absl::Status Start(const SvmProblem& problem, const SvmWarmStart& warm_start,
                     RunContext& context) override;
  // Iterations come in rounds, which end with a certificate. Errors beside those of the class
  // above: kInvalidArgument when the kernel turns out to hold values that are not finite.
  absl::Status Step(int64_t max_iterations, RunContext& context) override;

  SvmStop stop() const override { return state_.stop; }
  int64_t iterations() const override { return state_.iterations; }
  // A negative curvature beyond rounding was met: the kernel is not positive semidefinite, and the
  // result a stationary point. Gaps are no bounds then: the run ends at kkt_tolerance, or, when
  // that is 0, at 1e-3 max |targets|.
  bool not_psd() const { return state_.not_psd; }
  const Vector& dual() const override { return state_.dual; }
  // K dual in double, as of the last certificate: equal to that of dual() once done.
  const Vector& scores() const override { return state_.base_scores; }
  // Of base_dual: the last point whose products were computed in double; dual() itself once done.
  const SvmCertificate& certificate() const override { return state_.certificate; }
  double NextCost() const override { return 4.0 * static_cast<double>(kernel_.size()); }

  // Everything that decides the future except kernel, options and problem.
  std::string SaveState() const override;
  // Continues where SaveState left; `problem` must be that of Start. Errors: kInvalidArgument
  // (damaged, or of another size).
  absl::Status RestoreState(const SvmProblem& problem, std::string_view state,
                            RunContext& context) override;

 protected:
  absl::Status Iterate(RunContext& context) override { return Step(1, context); }

 private:
  struct State {
    Vector dual;
    Vector base_dual;           // scores of this point are known in double
    Vector base_scores;         // K base_dual
    std::vector<Index> active;  // samples under work, ascending
    Vector residual;            // h of the active samples, in their order
    int64_t iterations = 0;
    int64_t next_shrink = 0;
    int64_t next_estimate = 0;
    double dual_value = 0;            // running value of the dual objective
    double round_violation = 0;       // max up - min down at the last certificate
    double expected_gap = kInfinity;  // only an estimate of the gap at or below this ends the round
    double precision = 0;             // violations below this are rounding
    int64_t stalled_rounds = 0;
    bool single_precision = false;
    bool not_psd = false;
    SvmStop stop = SvmStop::kRunning;
    SvmCertificate certificate;

    static void VisitFields(auto& visit, auto& self, Index n) {
      visit(Sized(self.dual, n), Sized(self.base_dual, n), Sized(self.base_scores, n), self.active,
            self.residual, self.iterations, self.next_shrink, self.next_estimate,
            self.stalled_rounds, self.dual_value, self.round_violation, self.expected_gap,
            self.precision, self.single_precision, self.not_psd,
            UpTo(self.stop, SvmStop::kPrecision), self.certificate);
      visit.Require([&] {
        const auto active = static_cast<Index>(self.active.size());
        return AreAscending(self.active, n) && self.residual.size() == active;
      });
    }
  };
  struct Pair;

  absl::Status SetProblem(const SvmProblem& problem);
  absl::Status ReadDiagonal(RunContext& context);
  absl::Status PlaceStart(const SvmWarmStart& warm_start, RunContext& context);
  void RescaleStart();
  absl::Status RefreshScores(RunContext& context);
  void SetActive(std::vector<Index> active);
  void ActivateAll();
  absl::Status FinishRound(RunContext& context);
  bool GapIsReached() const;
  void JudgeRound(double expected_violation, double drift);

  void SetBounds(Index position);
  double Violation() const;
  double KktTolerance() const;
  double RoundTolerance() const;
  int64_t EstimateInterval() const;
  int64_t ShrinkInterval() const;
  void TakeStep(Pair& pair);
  absl::Status IterateWithinRound(int64_t count, RunContext& context, bool* round_over);
  template <typename T>
  absl::Status IterateOn(ColumnCache<T>& columns, const T* diagonal, int64_t count,
                         RunContext& context, bool* round_over);
  void Shrink();
  double EstimateGap() const;
  bool GapLooksReached();

  const KernelOperator& kernel_;
  SmoOptions options_;
  SvmProblem problem_;
  double epsilon_ = 0;
  Vector lower_;
  Vector upper_;
  Vector diagonal_;  // of the kernel, all samples; empty until first used
  State state_;
  // What raising and lowering the active samples' variables costs besides the gradient (+-infinity
  // at a bound), and the diagonal of K, all in the order of `active`.
  Vector up_cost_;
  Vector down_gain_;
  Vector active_diagonal_;
  Eigen::VectorXf active_diagonal_single_;
  std::unique_ptr<SmoColumns> columns_;
};

}  // namespace mercer
