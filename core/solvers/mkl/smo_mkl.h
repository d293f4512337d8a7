// Problem      max_{dual} sum_i (targets(i) dual(i) - epsilon |dual(i)|) - R(s),
//              lower <= dual <= upper, sum dual = 0, s_k = dual'K_k dual: the dual of lp-norm MKL,
//              1 < p < inf, for the hinge and the epsilon-insensitive loss. R(s) is 1/2 |s|_q in
//              the constrained form, |s|_q^2 / (8 weight_penalty) in the penalised one
//              (weight_term.h).
// Source       Vishwanathan, Sun, Theera-Ampornpunt, Varma: Multiple kernel learning and the SMO
//              algorithm. NIPS 23 (2010) 2361-2369, which has the penalised form;
//              docs/mathematics/lp_mkl.md, section 7.
// Notation     G = [K_1 dual, ..., K_m dual] -> products, s -> energies, d -> weights, which follow
//              from s in closed form; F = targets - G d.
// Differences  (1) both forms; (2) the step of a pair is Newton's within a bracket for every p; (3)
//              stops by the certified gap of the whole problem; before it does, products are
//              recomputed from the kernels.
// Guarantees   Box exact; the dual never decreases. Same bits for every slicing into steps, save
//              and restore, every cache size and number of threads.
// Cost         Per iteration two rows of all kernels and three passes over n x m numbers. Baseline
//              for exact kernels: it keeps all products, and takes as many iterations as SMO takes
//              for one SVM of the final weights, or more.
//
// The penalised form is for comparison with others' results. With costs C and weights of norm t its
// solution is that of the constrained form with costs t C.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/base/status/byte_count.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/solvers/mkl/kernel_row_cache.h"
#include "core/solvers/mkl/mkl_bounds.h"
#include "core/solvers/mkl/weight_term.h"
#include "core/solvers/svm/svm_newton_model.h"
#include "core/solvers/svm/svm_solver.h"

namespace mercer {

struct SmoMklOptions {
  double p = 2;                // 1 < p < inf
  double weight_penalty = 0;   // 0: the constrained form
  double relative_gap = 1e-3;  // stop when the certified one of the whole problem is at most this
  int64_t max_iterations = 0;  // 0: max(10^7, 100 n)
  size_t cache_bytes = size_t{1} << 30;  // for kernel rows; changes time only
};

enum class SmoMklStop : uint8_t {
  kRunning = 0,
  kRelativeGap = 1,
  kIterationLimit = 2,
  kPrecision = 3,  // no pair of samples improves the dual any more in double precision
};

// A feasible dual with what belongs to it. The upper bound is that of the function
// sum_k weights(k) K_k dual and the best bias, at the best weights for it.
struct SmoMklPoint {
  Vector dual;
  Vector weights;
  PointBounds certificate;
};

// One problem at a time; not thread-safe. The kernels must outlive the solver.
class SmoMklSolver {
 public:
  SmoMklSolver(const KernelFamily& family, const SmoMklOptions& options);

  // Sets the gap to be reached by the problem at hand. After it was reached, a lower one makes the
  // run go on.
  void set_relative_gap(double relative_gap);

  // Begins a problem from a dual, which is made feasible (empty: zero), and certifies it. Errors:
  // kInvalidArgument (p, penalty, sizes, loss, labels, costs, kernels whose values are not finite),
  // kCancelled.
  absl::Status Start(const SvmProblem& problem, const Vector& dual, RunContext& context);
  // At most `max_iterations` further iterations. Errors: kCancelled, with the state as after the
  // last finished iteration; kInvalidArgument when the kernels turn out to hold values that are not
  // finite.
  absl::Status Step(int64_t max_iterations, RunContext& context);
  // Steps until done.
  absl::Status Run(RunContext& context);

  bool done() const { return state_.stop != SmoMklStop::kRunning; }
  SmoMklStop stop() const { return state_.stop; }
  int64_t iterations() const { return state_.iterations; }
  // The certified point of the smallest gap.
  const SmoMklPoint& best() const { return state_.best; }
  // The best bounds of all certified points.
  double upper_bound() const { return state_.upper_bound; }
  double lower_bound() const { return state_.lower_bound; }
  // The dual that iterations change; best() has one with a certificate.
  const Vector& dual() const { return state_.dual; }

  // Everything that decides the future except kernels, options and problem.
  std::string SaveState() const;
  // Continues where SaveState left; `problem` must be that of Start. Errors: kInvalidArgument,
  // kCancelled.
  absl::Status RestoreState(const SvmProblem& problem, std::string_view state, RunContext& context);

  // Upper bound on the bytes of a solver and of the states that it saves.
  static ByteCount Bytes(Index num_samples, Index num_kernels, const SmoMklOptions& options);

 private:
  struct Sizes {
    Index samples;
    Index kernels;
  };
  struct State {
    Vector dual;
    Matrix products;  // n x m
    Vector energies;
    Vector weights;
    int64_t iterations = 0;
    int64_t stalled_rounds = 0;
    bool round_is_due = false;
    bool exact = false;  // products were computed from the kernels and not updated since
    double dual_value = -kInfinity;  // at the last certificate
    SmoMklStop stop = SmoMklStop::kRunning;
    SmoMklPoint best;
    double upper_bound = kInfinity;
    double lower_bound = -kInfinity;

    static void VisitFields(auto& visit, auto& self, const Sizes& of) {
      visit(Sized(self.dual, of.samples), Sized(self.products, of.samples, of.kernels),
            Sized(self.energies, of.kernels), Sized(self.weights, of.kernels), self.iterations,
            self.stalled_rounds, self.round_is_due, self.exact, self.dual_value,
            UpTo(self.stop, SmoMklStop::kPrecision), Sized(self.best.dual, of.samples),
            Sized(self.best.weights, of.kernels), self.best.certificate.primal,
            self.best.certificate.dual, self.best.certificate.bias, self.upper_bound,
            self.lower_bound);
      visit.Require([&] {
        return self.dual.allFinite() && self.energies.allFinite() && self.weights.allFinite();
      });
    }
  };
  struct Pair {
    Index raised = -1;
    Index lowered = -1;
    double violation = 0;  // of the most violating pair; 0 when there is none
  };

  absl::Status SetProblem(const SvmProblem& problem, RunContext& context);
  Index num_samples() const { return family_.size(); }
  Index num_kernels() const { return family_.num_kernels(); }

  int64_t IterationLimit() const;

  absl::Status RefreshProducts(RunContext& context);
  absl::Status FinishRound(RunContext& context);
  absl::StatusOr<PointBounds> Certify(const RunContext& context);
  absl::Status Judge(const PointBounds& certificate, const RunContext& context);

  // What raising a dual variable gains per unit, and what lowering it costs.
  double Gain(Index i) const { return box_.targets(i) - scores_(i) - RaisedKink(i); }
  double Cost(Index i) const { return box_.targets(i) - scores_(i) + LoweredKink(i); }
  // epsilon times the slope of |dual(i)| to the right (raised) and to the left (lowered).
  double RaisedKink(Index i) const { return state_.dual(i) < 0 ? -box_.epsilon : box_.epsilon; }
  double LoweredKink(Index i) const { return state_.dual(i) > 0 ? -box_.epsilon : box_.epsilon; }
  // Where a step must end: the next kink or end of the box above dual(i), and below it.
  double CeilingOf(Index i) const { return state_.dual(i) < 0 ? 0.0 : box_.upper(i); }
  double FloorOf(Index i) const { return state_.dual(i) > 0 ? 0.0 : box_.lower(i); }
  Pair MostViolating() const;
  void ChoosePartner(const double* row, const RunContext& context, Pair& pair);
  EnergyCurve CurveOf(const Pair& pair, const double* raised_row) const;
  absl::Status Iterate(RunContext& context, bool* stuck);
  void MoveDual(const Pair& pair, double step, double longest);
  void MoveProducts(double step, const double* raised_row, const double* lowered_row,
                    const RunContext& context);
  // Calls body(first, size) for blocks of the samples.
  void ForSamples(const RunContext& context, const std::function<void(Index, Index)>& body) const;
  // Computes scores(i) = sum_k weights(k) products(i, k) for a block of samples.
  void CombineBlock(Index first, Index size);

  const KernelFamily& family_;
  SmoMklOptions options_;
  WeightTerm term_;
  SvmProblem problem_;
  SvmDualBox box_;
  Matrix diagonals_;  // n x m
  KernelRowCache rows_;
  State state_;
  Vector scores_;             // sum_k weights(k) K_k dual
  Vector combined_diagonal_;  // sum_k weights(k) K_k(i, i)
  Vector combined_row_;       // of the sample whose partner is sought
};

}  // namespace mercer
