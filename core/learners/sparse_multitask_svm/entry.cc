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

// Kernels of all tasks together are as large as one of all rows at most; of columns, them and the
// working ones; systems of a task's rows and of the blocks that work; vectors and tables.
size_t EstimateMemory(const SparseMultitaskSvmOptions& /*options*/, const ProblemShape& shape) {
  constexpr Index kVectors = 60;
  constexpr Index kWorking = 400;
  const ByteCount rows(shape.rows);
  const ByteCount number(sizeof(double));
  const ByteCount blocks(std::min<Index>(shape.kernels, kWorking + shape.rows));
  return (LearnerFamilyBytes(shape) + VerifierFamilyBytes(shape) +
          number * (rows * (ByteCount(shape.columns) + ByteCount(3) * blocks + rows +
                            ByteCount(kVectors)) +
                    ByteCount(3) * blocks * blocks +
                    ByteCount(8) * ByteCount(shape.tasks) * ByteCount(shape.kernels)) +
          ByteCount(4) * TableBytes(shape))
      .value();
}

// About 40 iterations on as many blocks as half the rows of a task.
LearnerWork EstimateWork(const SparseMultitaskSvmOptions& /*options*/, const ProblemShape& shape) {
  constexpr double kIterations = 40;
  const auto tasks = static_cast<double>(std::max<Index>(shape.tasks, 1));
  const double rows = static_cast<double>(shape.rows) / tasks;
  const double blocks = std::min(static_cast<double>(shape.kernels), std::max(200.0, rows));
  LearnerWork work{KernelSumWork(shape), KernelSumWork(shape)};
  work.training[WorkKind::kFactorOperations] +=
      kIterations * (tasks * rows * (rows * (2 * blocks + rows / 3) + 2 * blocks * blocks) +
                     blocks * blocks * blocks / 3);
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
       .several_tasks = true},
      {.verify = Verify,
       .estimate_memory = EstimateMemory,
       .estimate_work = EstimateWork,
       .basis_rows = BasisRows,
       .table_bytes = EstimateTables});
}

}  // namespace mercer::sparse_multitask_svm
