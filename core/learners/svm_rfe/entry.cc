#include <algorithm>

#include "core/base/status/byte_count.h"
#include "core/learners/svm_rfe/svm_rfe.h"
#include "core/learners/svm_rfe/tables.h"
#include "core/learners/svm_rfe/verify.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/single_task.h"

namespace mercer::svm_rfe {
namespace {

// What the data will say is not known yet: more columns than there are is refused later.
Index MostKept(const SvmRfeOptions& options, const ProblemShape& shape) {
  return std::min<Index>(KeptColumns(options, shape.columns), shape.columns);
}

// The columns; the Gram matrix; Newton's system, which at first has nearly all rows; vectors of
// learner, solver, states and witness; the table.
size_t EstimateMemory(const SvmRfeOptions& options, const ProblemShape& shape) {
  constexpr Index kVectors = 40;
  constexpr Index kVectorsOfOutput = 10;
  constexpr Index kColumnsOfPiece = 512;
  constexpr ByteCount kBuffers(size_t{1} << 20);  // of products
  const ByteCount number(sizeof(double));
  const ByteCount rows(shape.rows);
  const ByteCount columns(shape.columns);
  const ByteCount pieces(2 * std::min(shape.columns, kColumnsOfPiece));
  return (number * (rows * (columns + ByteCount(2) * rows + pieces + ByteCount(kVectors) +
                            ByteCount(kVectorsOfOutput) * ByteCount(shape.outputs)) +
                    ByteCount(MostKept(options, shape)) * ByteCount(4 * shape.outputs)) +
          ByteCount(4) * TableBytes(shape) + kBuffers)
      .value();
}

// About ten factorisations for the first machine of an output and three for each later one, of
// rows, however few the columns; the Gram matrix twice, or as often as there are rounds of one column.
LearnerWork EstimateWork(const SvmRfeOptions& options, const ProblemShape& shape) {
  const auto rows = static_cast<double>(shape.rows);
  const auto columns = static_cast<double>(shape.columns);
  const auto rounds =
      static_cast<double>(CountsOf(options, std::max<Index>(shape.columns, 1)).size());
  const auto outputs = static_cast<double>(shape.outputs);
  LearnerWork work;
  work.training[WorkKind::kProductColumns] = 2 * rows * rows * columns;
  work.training[WorkKind::kFactorOperations] =
      outputs * (10 + 3 * rounds) * (rows * rows * rows / 3 + rows * rows);
  work.training[WorkKind::kEntries] = rounds * (rows * rows + outputs * rows * columns);
  work.verification[WorkKind::kEntries] = 4 * rows * columns * outputs;
  return work;
}

std::optional<Index> BasisRows(const SvmRfeOptions& /*options*/, const ProblemShape& /*shape*/) {
  return 0;
}

size_t FeatureNumbers(const SvmRfeOptions& options, const ProblemShape& shape) {
  constexpr Index kName = 24;
  return (ByteCount(MostKept(options, shape)) * ByteCount(kName + 2 + 4 * shape.outputs)).value();
}

size_t EstimateTables(const SvmRfeOptions& /*options*/, const ProblemShape& shape) {
  return TableBytes(shape).value();
}

// Columns are ranked for all outputs together.
bool SharesOutputs(const SvmRfeOptions& /*options*/) { return true; }

}  // namespace

LearnerEntry Entry() {
  return MakeEntry<SvmRfeOptions, SvmRfeLearner>(
      {.name = "svm_rfe",
       .title = "Recursive feature elimination",
       .summary =
           "Ranks the columns: a linear support vector machine is trained on all of them, those of "
           "the smallest weights leave, and so on until one is left. The model is the machine on "
           "the best columns, half of them unless it is said how many; its certificate is that "
           "machine's. Several classes are ranked together. Takes no kernels; for tables of few "
           "rows and many columns, such as genes. Source: Guyon, Weston, Barnhill, Vapnik: Gene "
           "selection for cancer classification using support vector machines. Machine Learning "
           "46 (2002) 389-422.",
       .joint_outputs = true,
       .ranks_columns = true,
       .uses_kernels = false},
      {.verify = Verify,
       .estimate_memory = EstimateMemory,
       .estimate_work = EstimateWork,
       .basis_rows = BasisRows,
       .feature_numbers = FeatureNumbers,
       .table_bytes = EstimateTables,
       .shares_outputs = SharesOutputs});
}

}  // namespace mercer::svm_rfe
