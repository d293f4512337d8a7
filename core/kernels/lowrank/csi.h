// CSI, Cholesky with side information: an incomplete Cholesky factor G of a kernel whose pivots are
// chosen greedily so that G approximates the kernel K and, linearly, the targets Y. The next pivot
// lowers most
//
//   J(G) = (1 - kappa) / tr K  tr(K - G G')  +  kappa / |Yc|^2  min_{B, c} |Y - G B - 1 c'|^2,
//
// Yc = Y minus the means of its columns; J = 1 without columns. Targets that are constant leave
// nothing to predict: kappa counts as 0 then.
//
// With c the column of G that a pivot adds, Q an orthonormal basis of the constants and G,
// q = (I - Q Q')c and R the residual of Y on Q, J falls by exactly
//
//   (1 - kappa) / tr K |c|^2 + kappa / |Yc|^2 |R'q|^2 / |q|^2.
//
// For all rows at once that takes K - G G'; what is used in place of it is L L' + diag(e), with L
// `look_ahead` further columns of pivoted Cholesky and e the diagonal that they leave, which is
// exact as soon as L has full rank. The column that is then added, and J, are always exact.
//
// Source       Bach, Jordan: Predictive low-rank decomposition for kernel methods. ICML 2005,
//              33-40; docs/mathematics/csi.md. Different from the paper: the diagonal e, without
//              which rows that L does not see seem to predict as well as its best direction.
// Guarantees   J never rises. Same bits for every number of threads, and for every save and
//              restore.
// Cost         Per pivot two columns of the kernel and O(n (look_ahead^2 + rank)) operations;
//              memory n (2 rank + 2 look_ahead).
#pragma once

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_columns.h"
#include "core/kernels/lowrank/incomplete_cholesky.h"

namespace mercer {

struct CsiOptions {
  Index max_columns = 100;  // >= 1; more than there are rows: as many as there are rows
  double kappa = 0.99;      // in [0, 1]: the share of the targets in J; 0: the kernel alone
  Index look_ahead = 40;    // >= 1
  double tolerance = 0;     // ends when no pivot would lower J by at least this; >= 0
};

// Not thread-safe. After an error of Advance the object is of no use; Restore a new one.
class CsiFactor {
 public:
  // Begins a factor. `targets` is n x any number. The kernel must outlive it. Errors:
  // kInvalidArgument (sizes, targets that are not finite, options out of range, a kernel whose
  // trace is 0 or not finite).
  static absl::StatusOr<CsiFactor> Make(const KernelColumns& kernel, ConstMatrixRef targets,
                                        const CsiOptions& options);

  // How far it is; what it is to be restored from.
  struct Progress {
    std::vector<Index> pivots;
    Index look_ahead = 0;  // columns of L
    bool done = false;
  };
  const Progress& progress() const { return progress_; }
  // A new factor as far as one with this progress: the same work without the choices. Errors:
  // kInvalidArgument (no progress of this problem), kCancelled.
  absl::Status Restore(const Progress& progress, RunContext& context);

  // Adds one more column of L or one more pivot; nothing when done(). Errors: kCancelled, and
  // kInvalidArgument with reason NOT_PSD.
  absl::Status Advance(RunContext& context);
  // Whether the choice has ended: at max_columns, without a pivot of a diagonal above
  // 1e-12 tr K / n, or by the tolerance.
  bool done() const { return progress_.done; }
  // About how many multiplications the next Advance takes, beside those of the kernel's columns.
  double NextOperations() const;

  const IncompleteCholesky& cholesky() const { return cholesky_; }
  IncompleteCholesky TakeCholesky() && { return std::move(cholesky_); }
  // J before the first pivot and after every one; never rises.
  const std::vector<double>& objective() const { return objective_; }

 private:
  struct Candidate {
    Index row = -1;
    double gain = 0;
  };

  CsiFactor(const KernelColumns& kernel, Matrix centred, const CsiOptions& options);
  Index rows() const { return cholesky_.rows(); }
  bool WantsLookAhead() const;
  absl::Status AppendLookAhead(Index row, RunContext& context);
  absl::StatusOr<Candidate> FindPivot(RunContext& context) const;
  absl::Status AppendPivot(Index row, RunContext& context);
  absl::Status DropFromLookAhead(Index pivot, RunContext& context);
  absl::Status Project(RunContext& context);
  void RecordObjective();

  Index max_columns_;
  CsiOptions options_;
  double trace_weight_ = 0;   // (1 - kappa) / tr K
  double target_weight_ = 0;  // kappa / |Yc|^2
  double least_diagonal_ = 0;
  IncompleteCholesky cholesky_;
  Matrix basis_;  // Q in the first basis_size_ columns
  Index basis_size_ = 1;
  Matrix residual_;         // R
  Vector outside_;          // 1 - |Q(i, :)|^2
  Matrix ahead_;            // L in the first progress_.look_ahead columns
  Matrix projected_;        // (I - Q Q') L
  Vector ahead_remainder_;  // e, the diagonal of K - G G' - L L'
  Progress progress_;
  std::vector<double> objective_;
};

}  // namespace mercer
