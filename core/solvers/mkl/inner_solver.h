// The SVM of fixed kernel weights: SMO, a solver of iterations on all samples (Newton and, for
// kernels of low rank, the others), or SMO within a budget of pair steps followed by Newton. Once a
// problem has exhausted SMO's budget, later ones start with Newton. Losses with a curvature are
// Newton's from the beginning.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"

#include "core/base/encoding/bytes.h"
#include "core/base/process/run_context.h"
#include "core/base/status/byte_count.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/solvers/svm/svm_certificate.h"
#include "core/solvers/svm/svm_problem.h"
#include "core/solvers/svm/svm_solver.h"

namespace mercer {

// Losses with a curvature are for kAuto and kNewton; what follows kSmo is for kernels of explicit
// features.
enum class InnerSolverChoice : uint8_t {
  kAuto,
  kNewton,
  kSmo,
  kInteriorPoint,
  kGfb,
  kGfbMerged,
  kCoordinateDescent
};

// Upper bound on what the choice adds to the vectors of one number per row that every solver of
// kernels of low rank has: a joint basis has up to `rank` columns.
ByteCount InnerSolverBytes(InnerSolverChoice choice, Index rows, Index kernels, Index rank);

class InnerSolver {
 public:
  InnerSolver(InnerSolverChoice choice, SvmProblem problem)
      : choice_(choice), problem_(std::move(problem)) {}

  // Begins with the kernel, which must live until the next Start, from a dual.
  absl::Status Start(const KernelOperator& kernel, const Vector& dual, double relative_gap,
                     RunContext& context);
  // What the first run begins with, as if another had left it (SvmSolver::Successor).
  void set_successor(SvmWarmStart successor) { successor_ = std::move(successor); }
  // What the last run that has ended left. Its function is that of a kernel of the same rows.
  const SvmWarmStart& successor() const { return successor_; }
  // Does about 0.2 s of work, measured in operations. A cancelled call leaves the solver in need of
  // Load, with a point that is still feasible.
  absl::Status Step(RunContext& context);

  bool done() const { return solver_ != nullptr && solver_->done(); }
  // True when the last run ended for want of precision and not at the gap asked for.
  bool stuck() const;
  // Whether there is a feasible dual: from Start on. The rest may be asked for once there is one.
  bool has_point() const { return solver_ != nullptr && solver_->dual().size() > 0; }
  const Vector& dual() const { return solver_->dual(); }
  const Vector& scores() const { return solver_->scores(); }
  const SvmCertificate& certificate() const { return solver_->certificate(); }
  int64_t iterations() const;

  void Save(ByteWriter& writer) const;
  // `kernel` is that of the Start before Save; null when there was none.
  absl::Status Load(ByteReader& reader, const KernelOperator* kernel, RunContext& context);

 private:
  absl::Status StartSolver(bool smo, SvmWarmStart start, RunContext& context);
  std::unique_ptr<SvmSolver> MakeSolver(bool smo) const;
  absl::Status StepSmo(RunContext& context);

  const InnerSolverChoice choice_;
  const SvmProblem problem_;
  const KernelOperator* kernel_ = nullptr;
  double relative_gap_ = 0;
  bool prefers_newton_ = false;
  SvmWarmStart successor_;  // of the last run
  int64_t finished_iterations_ = 0;
  std::unique_ptr<SvmSolver> solver_;  // of the run at hand; null before the first Start
  bool smo_ = false;                   // whether it is SMO, whose iterations are pairs of samples
};

}  // namespace mercer
