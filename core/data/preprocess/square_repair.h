// Repairs of precomputed kernels that are not positive semidefinite. With K = sum_i l_i u_i u_i',
// the matrix of the training rows, and U the eigenvectors of its negative eigenvalues:
//
//   shift   K + |l_min| I
//   clip    K P, P = I - U U':    the nearest positive semidefinite matrix in the Frobenius norm
//   flip    K P, P = I - 2 U U':  sum_i |l_i| u_i u_i'
//
// A row k(x) of values between another row and the training rows becomes k(x) P, so that a training
// row gets its row of K P; with shift it stays as it is. Source: Chen, Garcia, Gupta, Rahimi,
// Cazzanti: Similarity-based classification: concepts and algorithms. JMLR 10 (2009) 747-776,
// sections 4.1 and 4.2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"

namespace mercer {

// kNone: a kernel is taken as it is. kCheck: one with a negative eigenvalue is refused.
enum class SquareRepairRule : uint8_t { kNone = 0, kCheck = 1, kShift = 2, kClip = 3, kFlip = 4 };

// An eigenvalue is negative when it is below -1e-8 max_i K_ii and below -n 2^-52 max_i |l_i|, n the
// number of rows: what is above is rounding, to learners too (docs/mathematics/README.md,
// section 3).
inline constexpr double kNegativeEnergy = 1e-8;

// What was found out about one block, and what new rows need.
struct SquareRepair {
  std::string block;
  std::vector<Index> rows;  // the training rows, as columns of the block, ascending
  Vector eigenvalues;       // the negative ones, ascending; one at least
  double largest = 0;       // the largest eigenvalue
  double share = 0;         // of the negative ones in sum_i |l_i|, in (0, 1]
  RowMatrix vectors;        // U, rows x negative eigenvalues; with shift empty

  double smallest() const { return eigenvalues(0); }
  // "block 'gram' is not positive semidefinite: 3 of the 90 eigenvalues ..."
  std::string Text() const;

  static void VisitFields(auto& visit, auto& self) {
    visit(self.block, self.rows, self.eigenvalues, Finite(self.largest), Finite(self.share),
          self.vectors);
    visit.Require([&] { return self.IsConsistent(); });
  }

 private:
  bool IsConsistent() const;
};

// The repair of the block for these training rows, ascending; none when no eigenvalue is negative,
// and for a block that is not square or not symmetric, which kernels refuse. Errors:
// kInvalidArgument with reason NOT_PSD (a negative eigenvalue, with kCheck); kCancelled.
absl::StatusOr<std::optional<SquareRepair>> FitSquareRepair(const SquareBlock& square,
                                                            const std::vector<Index>& rows,
                                                            SquareRepairRule rule,
                                                            const RunContext& context);

// The block of other rows, their values with the training rows repaired. The bits of a row depend
// on the row alone. Errors: kInvalidArgument with reason COLUMN_MISMATCH; those of TableWriter;
// kCancelled.
absl::StatusOr<SharedMatrix> RepairNewRows(const SquareBlock& square, const SquareRepair& repair,
                                           SquareRepairRule rule, const RunContext& context);

// The block of all rows of the data set that was fitted: training rows have the repaired matrix K
// among themselves. Errors: as above.
absl::StatusOr<SharedMatrix> RepairAllRows(const SquareBlock& square, const SquareRepair& repair,
                                           SquareRepairRule rule, RunContext& context);

// Upper bound on the bytes that fitting and repairing take for so many training rows, what a model
// keeps included, but not the repaired block.
size_t SquareRepairBytes(Index rows);

}  // namespace mercer
