#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/status/byte_count.h"
#include "core/learners/sparse_multitask_svm/sparse_multitask_svm.h"
#include "core/learners/sparse_multitask_svm/tables.h"
#include "core/learners/sparse_multitask_svm/verify.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/single_task.h"

namespace mercer::sparse_multitask_svm {
namespace {

// Whether dual coordinate descent solves it on columns, with vectors of rows and columns alone.
bool IsByPairsOfColumns(const SparseMultitaskSvmOptions& options, const ProblemShape& shape) {
  return shape.disjoint_columns && options.method == Method::kCoordinateDescent;
}

// Whether columns are columns and no kernel matrix is formed: of the interior point as well.
bool IsByColumns(const SparseMultitaskSvmOptions& options, const ProblemShape& shape) {
  return IsByPairsOfColumns(options, shape) ||
         (shape.disjoint_columns && options.p <= 1 && options.q == 2 &&
          (options.method == Method::kAuto || options.method == Method::kInteriorPoint));
}

// Kernels of all tasks together are as large as one of all rows at most; of columns, them and the
// working ones; systems of a task's rows, or of columns that are fewer than a quarter of them, and
// of the blocks that work; vectors and tables. Dual coordinate descent has no systems, and of
// columns the rows of a task besides.
size_t EstimateMemory(const SparseMultitaskSvmOptions& options, const ProblemShape& shape) {
  constexpr Index kVectors = 60;
  constexpr Index kRowsOfColumn = 4;
  constexpr Index kLeastBlocks = 400;  // that work
  const bool by_columns = IsByColumns(options, shape);
  const ByteCount rows(shape.rows);
  const ByteCount number(sizeof(double));
  const ByteCount columns(shape.columns);
  if (IsByPairsOfColumns(options, shape)) {
    return (number * (rows * (ByteCount(3) * columns + ByteCount(kVectors)) +
                      ByteCount(12) * ByteCount(shape.tasks) * ByteCount(shape.kernels)) +
            ByteCount(4) * TableBytes(shape))
        .value();
  }
  // Twice the rows of a task; one by itself may have nearly all of them.
  const bool shared = shape.tasks > 1 && options.sharing == Sharing::kJoint;
  const Index of_task = shared ? shape.rows : 2 * shape.rows;
  const ByteCount blocks =
      std::min(ByteCount(shape.kernels), ByteCount(kLeastBlocks) + ByteCount(of_task));
  const ByteCount system = by_columns ? std::min(rows, ByteCount(kRowsOfColumn) * columns) : rows;
  // Tasks that share nothing have systems of their own rows' blocks: their squares add up to no more
  // than the largest one times the sum of all.
  const ByteCount systems =
      options.sharing == Sharing::kSeparate
          ? ByteCount(4) *
                std::min(ByteCount(shape.tasks) * blocks,
                         ByteCount(kLeastBlocks) * ByteCount(shape.tasks) + ByteCount(2) * rows)
          : (ByteCount(3) + ByteCount(shape.tasks)) * blocks;
  ByteCount kernels(0);
  if (!by_columns) {
    ProblemShape of_class = shape;
    of_class.rows /= shape.classes_of_task;
    kernels = ByteCount(shape.classes_of_task) *
              (LearnerFamilyBytes(of_class) + VerifierFamilyBytes(of_class));
  }
  return (kernels +
          number * (rows * (ByteCount(by_columns ? 3 : 1) * columns + ByteCount(3) * blocks +
                            system + ByteCount(kVectors)) +
                    systems * blocks +
                    ByteCount(8) * ByteCount(shape.tasks) * ByteCount(shape.kernels)) +
          ByteCount(4) * TableBytes(shape))
      .value();
}

// Of dual coordinate descent on columns: to a gap of 1e-2 all columns are read about 1500 times, and
// 3 times as often for another digit (docs/results/sparse-multitask-svm.md).
LearnerWork EstimatePairWork(const ProblemShape& shape) {
  const double digits = std::clamp(-std::log10(shape.relative_gap), 1.0, 6.0);
  const double entries = static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
  LearnerWork work;
  work.training[WorkKind::kEntries] = 1500 * std::pow(3, digits - 2) * entries;
  work.verification[WorkKind::kFactorOperations] = 10 * entries;
  return work;
}

// About 40 iterations on as many blocks as half the rows of a task, and fewer on what is left of
// them for each further convex problem.
LearnerWork EstimateWork(const SparseMultitaskSvmOptions& options, const ProblemShape& shape) {
  if (IsByPairsOfColumns(options, shape)) {
    return EstimatePairWork(shape);
  }
  const double iterations = options.p < 1 ? 160 : 40;
  const auto tasks = static_cast<double>(std::max<Index>(shape.tasks, 1));
  const double rows = static_cast<double>(shape.rows) / tasks;
  const double blocks = std::min(static_cast<double>(shape.kernels), std::max(200.0, rows));
  LearnerWork work{KernelSumWork(shape), KernelSumWork(shape)};
  work.training[WorkKind::kFactorOperations] +=
      iterations * (tasks * rows * (rows * (2 * blocks + rows / 3) + 2 * blocks * blocks) +
                    blocks * blocks * blocks / 3);
  if (IsByColumns(options, shape)) {
    work = LearnerWork();
    const double columns =
        std::min(static_cast<double>(shape.columns), std::max(200.0, 0.5 * rows));
    // Systems of a task's rows or of the columns, whichever take less.
    const double of_rows = rows * (2 * columns + rows / 3) + columns * columns;
    const double of_columns = 2 * columns * columns;
    work.training[WorkKind::kFactorOperations] =
        iterations *
            (tasks * rows * std::min(of_rows, of_columns) + columns * columns * columns / 3) +
        30 * static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
    // What an iteration reads and writes of the columns that work.
    constexpr double kPasses = 25;
    work.training[WorkKind::kReads] =
        iterations * kPasses * static_cast<double>(shape.rows) * columns;
    work.verification[WorkKind::kFactorOperations] =
        10 * static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
  }
  return work;
}

std::optional<Index> BasisRows(const SparseMultitaskSvmOptions& /*options*/,
                               const ProblemShape& /*shape*/) {
  return std::nullopt;
}

size_t EstimateTables(const SparseMultitaskSvmOptions& /*options*/, const ProblemShape& shape) {
  return TableBytes(shape).value();
}

}  // namespace

LearnerEntry Entry() {
  return MakeEntry<SparseMultitaskSvmOptions, SparseMultitaskSvmLearner>(
      {.name = "sparse_multitask_svm",
       .title = "Jointly sparse multi-task support vector machine",
       .summary =
           "Learns a support vector machine for each of several tasks that share which blocks they "
           "use: variables, groups of them such as channels, or kernels. A block is selected for "
           "all tasks or for none, and each task has weights of its own. Linear kernels of columns "
           "are solved and predicted as columns, in memory that grows with the table. For one task "
           "it is a machine with group selection. Source: Flamary, Rakotomamonjy, Gasso, Canu: "
           "Selection de variables pour l'apprentissage simultane de taches. CAp 2009, 109-120.",
       .way_to_linear_memory = "sparse_multitask_svm with linear kernels of columns",
       .several_tasks = true,
       .classes_are_tasks = true,
       .selects_columns = true},
      {.verify = Verify,
       .estimate_memory = EstimateMemory,
       .estimate_work = EstimateWork,
       .basis_rows = BasisRows,
       .table_bytes = EstimateTables});
}

}  // namespace mercer::sparse_multitask_svm
