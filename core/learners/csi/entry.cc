#include <algorithm>
#include <limits>

#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/learners/csi/csi.h"
#include "core/learners/csi/verify.h"
#include "core/linalg/row_products.h"
#include "core/solvers/svm/curved_svm.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/single_task.h"

namespace mercer::csi {
namespace {

// Columns of G and of its look-ahead.
struct Columns {
  Index pivots;
  Index ahead;
};

Columns ColumnsOf(const CsiLearnerOptions& options, const ProblemShape& shape) {
  return {std::min<Index>(options.max_pivots, shape.rows),
          std::min<Index>(options.look_ahead, shape.rows)};
}

// While pivots are chosen: G, the orthonormal basis, the look-ahead and its projection, and their
// products. Then G and the solver; then G and that of the verifier with the factor of its pivots.
// Rows that are not all rows of the table are copied. Every output has a dual: in the state, in what
// was saved of that, in a checkpoint, or in the witness and in what verifies it.
size_t EstimateMemory(const CsiLearnerOptions& options, const ProblemShape& shape) {
  constexpr Index kVectors = 16;
  constexpr Index kDuals = 7;         // of each output
  constexpr Index kAheadSquares = 3;  // inner products of the look-ahead and of its projection
  // Buffers of matrix products and of kernel values.
  constexpr ByteCount kBuffers(size_t{3} << 20);
  const Columns columns = ColumnsOf(options, shape);
  const ByteCount number(sizeof(double));
  const ByteCount rows(shape.rows);
  const ByteCount outputs(shape.outputs);
  const ByteCount pivots(columns.pivots);
  const ByteCount ahead(columns.ahead + 1);
  const ByteCount factor = rows * pivots * number;
  const ByteCount choice = factor + rows * ahead * ByteCount(2) * number +
                           ahead * ahead * ByteCount(kAheadSquares) * number +
                           ByteCount(GramOverRowsBytes(shape.rows, columns.ahead));
  const ByteCount solver(FeatureSolverBytes(shape.rows, columns.pivots));
  const ByteCount verifier = factor + pivots * pivots * number;
  const ByteCount inputs = rows * ByteCount(shape.columns - shape.columns_in_files) * number;
  return (factor + std::max({choice, solver, verifier}) + inputs +
          rows * (outputs * ByteCount(kDuals) + ByteCount(kVectors)) * number +
          pivots * outputs * ByteCount(kVectors) * number + kBuffers)
      .value();
}

// Newton steps of an output, for usual data.
constexpr double kSteps = 8;

LearnerWork EstimateWork(const CsiLearnerOptions& options, const ProblemShape& shape) {
  const Columns columns = ColumnsOf(options, shape);
  const auto rows = static_cast<double>(shape.rows);
  const auto outputs = static_cast<double>(shape.outputs);
  const auto pivots = static_cast<double>(columns.pivots);
  const auto ahead = static_cast<double>(columns.ahead);
  const double of_kernel = 2 * pivots + ahead;  // columns
  LearnerWork work;
  for (size_t i = 0; i < kNumWorkKinds; ++i) {
    const auto kind = static_cast<WorkKind>(i);
    work.training[kind] = rows * of_kernel * shape.pair_columns[kind];
    work.verification[kind] = rows * pivots * shape.pair_columns[kind];
  }
  const auto kernels = static_cast<double>(shape.kernels);
  work.training[WorkKind::kKernelValues] += rows * of_kernel * kernels;
  work.verification[WorkKind::kKernelValues] += rows * pivots * kernels;
  // Passes over G, the basis and the look-ahead for every pivot; numbers that are read one after
  // the other count for less.
  work.training[WorkKind::kEntries] +=
      rows * (pivots * (1.5 * pivots + 2.5 * ahead) + outputs * kSteps * 2 * pivots);
  work.training[WorkKind::kFactorOperations] +=
      rows * pivots * 4 * ahead * ahead +
      outputs * kSteps * (0.5 * rows * pivots * pivots + pivots * pivots * pivots / 3);
  work.verification[WorkKind::kEntries] += rows * pivots * (1 + outputs);
  work.verification[WorkKind::kFactorOperations] += pivots * pivots * pivots / 3;
  return work;
}

// One-vs-one has pivots of its own for every pair.
std::optional<Index> BasisRows(const CsiLearnerOptions& options, const ProblemShape& shape) {
  const ByteCount all = ByteCount(shape.outputs) * ByteCount(ColumnsOf(options, shape).pivots);
  constexpr size_t kMost = std::numeric_limits<Index>::max();
  return static_cast<Index>(std::min(all.value(), kMost));
}

}  // namespace

LearnerEntry Entry() {
  return MakeEntry<CsiLearnerOptions, CsiLearner>(
      {.name = "csi",
       .title = "Low-rank kernel with side information",
       .summary =
           "Chooses a few training rows by what they say about kernel and targets together (CSI: "
           "Cholesky with side information), and fits a ridge on their columns: squared hinge loss "
           "for classes, square loss for numbers, the same rows for all outputs. A small, fast "
           "model whose training never forms the kernel matrix: memory grows with the rows times "
           "the pivots. The certificate is about the problem given the pivots. Source: Bach, "
           "Jordan: Predictive low-rank decomposition for kernel methods. ICML 2005, 33-40.",
       .way_to_linear_memory = "csi",
       .regression = true,
       .joint_outputs = true},
      {.verify = Verify,
       .estimate_memory = EstimateMemory,
       .estimate_work = EstimateWork,
       .basis_rows = BasisRows});
}

}  // namespace mercer::csi
