#include <algorithm>
#include <cmath>

#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/features/feature_rows.h"
#include "core/learners/infinite_features/ascent.h"
#include "core/learners/infinite_features/infinite_features.h"
#include "core/learners/infinite_features/problem.h"
#include "core/learners/infinite_features/verify.h"
#include "core/linalg/row_operations.h"
#include "core/linalg/row_products.h"
#include "core/solvers/group/feature_columns.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/single_task.h"

namespace mercer::infinite_features {
namespace {

// Numbers that a group is evaluated with: none for a column, a direction, or a filter from each
// position of the patch.
Index NumbersOfMap(const InfiniteFeaturesOptions& options, Index inputs) {
  switch (options.family) {
    case FamilyChoice::kColumns:
      return 0;
    case FamilyChoice::kFourier:
      return inputs;
    case FamilyChoice::kGabor:
      break;
  }
  constexpr Index kPadding = 8;
  const Index per_side = SpecOfOptions(options, inputs).positions_per_side;
  return inputs * ((per_side * per_side + kPadding - 1) / kPadding * kPadding);
}

// Numbers that a group is given by.
Index NumbersOfGroup(const InfiniteFeaturesOptions& options, Index inputs) {
  return options.family == FamilyChoice::kFourier ? inputs + 1
         : options.family == FamilyChoice::kGabor ? 4
                                                  : 1;
}

// Candidates that a round evaluates.
Index Candidates(const InfiniteFeaturesOptions& options, const ProblemShape& shape) {
  if (options.family == FamilyChoice::kColumns) {
    return shape.columns;
  }
  if (options.selection == SelectionChoice::kSelected) {
    return options.dictionary_size;
  }
  if (options.selection == SelectionChoice::kFixed) {
    return FixedGroups(options);
  }
  if (options.family == FamilyChoice::kGabor) {
    return options.candidates;
  }
  const auto given = static_cast<Index>(std::max<size_t>(options.bandwidths.size(), 1));
  return options.candidates *
         (options.bandwidth_rule == BandwidthChoice::kList ? given : options.bandwidths_per_round);
}

// Matrices of the order of the columns that a solver has at a time. Newton's method, for each
// output: products, their next, the second derivatives, a factor or the state. The alternating
// directions, for each design, of which tasks with rows of their own have one each: products and
// factor, and both in the learner's state, its copy for a checkpoint, those of the training loop
// and of the recipe, and framed; with a shared part its factor, as often in states, and what that
// is made of. FISTA has none.
ByteCount GramMatrices(const InfiniteFeaturesOptions& options, const ProblemShape& shape) {
  constexpr Index kStates = 5;
  switch (ChosenMethod(options)) {
    case GroupMethod::kNewton:
      return ByteCount(4) * ByteCount(shape.outputs);
    case GroupMethod::kAdmm: {
      const Index of_shared = options.lambda_shared < kInfinity ? kStates + 3 : 0;
      return ByteCount(2 * (1 + kStates)) * ByteCount(shape.tasks) + ByteCount(of_shared);
    }
    case GroupMethod::kFista:
      break;
  }
  return ByteCount(0);
}

// Columns of the model; vectors of learner, solver, checkpoint and verifier; matrices of products
// of the columns; candidates of a round with their sums; distances for the median; the listed
// groups in learner, states, point and witness; what they are evaluated with, in both precisions.
size_t EstimateMemory(const InfiniteFeaturesOptions& options, const ProblemShape& shape) {
  constexpr Index kVectors = 16;
  constexpr Index kCandidateCopies = 4;
  constexpr Index kGroupCopies = 10;
  constexpr Index kGroupsOfTile = 256;
  constexpr Index kRowsOfSums = 4096;
  // Threads, each with rows side by side, and the verifier's with all features at them.
  constexpr Index kReaders = 2;
  constexpr Index kMedianRows = 2000;  // whose distances the default bandwidth is the median of
  constexpr ByteCount kScan(size_t{48} << 20);  // partial sums of a search, at most
  constexpr ByteCount kTile(size_t{1} << 20);   // values of some columns at some rows
  const ByteCount number(sizeof(double));
  const ByteCount rows(shape.rows);
  const ByteCount outputs(shape.outputs);
  const ByteCount tasks(shape.tasks);
  const ByteCount outputs_of_row(shape.outputs_of_row());
  const Index groups = MostGroups(options, shape.columns);
  const Index columns = groups * ColumnsPerGroup(options);
  const ByteCount width(columns);
  const Index drawn = Candidates(options, shape);
  const ByteCount given(NumbersOfGroup(options, shape.columns));
  const ByteCount candidates =
      ByteCount(drawn) *
      (ByteCount(kCandidateCopies) * given +
       ByteCount(ColumnsPerGroup(options)) * (ByteCount(4) * outputs + ByteCount(16) * tasks));
  const ByteCount listed =
      ByteCount(groups) * ByteCount(kGroupCopies) *
      (given + ByteCount(2) * ByteCount(ColumnsPerGroup(options)) * ByteCount(shape.tasks - 1));
  const ByteCount maps = ByteCount(groups + std::min(drawn, kGroupsOfTile)) *
                         ByteCount(NumbersOfMap(options, shape.columns)) * ByteCount(2);
  // Of each candidate column, for every few thousand rows: sums with the slopes and of the column
  // itself.
  const ByteCount sums = ByteCount(shape.rows / kRowsOfSums + 1) *
                         ByteCount(drawn * ColumnsPerGroup(options)) *
                         (outputs_of_row + ByteCount(4)) * ByteCount(2) * number;
  const Index chunk = FeatureRows::ChunkRows(shape.columns);
  const ByteCount read = ByteCount(kReaders) *
                         (ByteCount(std::min(shape.rows, chunk)) * ByteCount(shape.columns) +
                          ByteCount(chunk) * width) *
                         number;
  // A run on fewer rows than all, one of a fold, may store candidates where all rows would not.
  const bool stores =
      options.selection == SelectionChoice::kSelected && options.family != FamilyChoice::kColumns;
  const ByteCount stored =
      stores ? std::min(StoredCandidateBytes(shape.rows, drawn * ColumnsPerGroup(options)),
                        ByteCount(kMaxStoredCandidateBytes))
             : ByteCount(0);
  const bool takes_median = options.family == FamilyChoice::kFourier && options.bandwidths.empty();
  const ByteCount median_rows(takes_median ? std::min(shape.rows, kMedianRows) : 0);
  return (ByteCount(FeatureColumns::Bytes(shape.rows, columns,
                                          PrecisionFor(shape.relative_gap, shape.rows, columns))) +
          rows * (outputs_of_row + ByteCount(1)) * ByteCount(kVectors) * number +
          (rows + tasks * ByteCount(kRowPadding)) * ByteCount(std::min(columns, kColumnsOfBatch)) *
              number +
          GramMatrices(options, shape) * width * width * number +
          ByteCount(GramOfRowsBytes(shape.rows, columns)) + stored +
          (candidates + listed + maps) * number + kTile + read + std::min(kScan, sums) +
          median_rows * median_rows * ByteCount(sizeof(double) / 2))
      .value();
}

// Parameters and a weight in model and witness; of each column coefficients, and in the witness
// specific and shared weights and scales; a name.
size_t FeatureNumbers(const InfiniteFeaturesOptions& options, const ProblemShape& shape) {
  constexpr Index kName = 24;
  const ByteCount of_column(2 * shape.outputs + shape.tasks + 2);
  const ByteCount of_group = ByteCount(2 * NumbersOfGroup(options, shape.columns) + kName) +
                             ByteCount(shape.outputs) +
                             ByteCount(ColumnsPerGroup(options)) * of_column;
  return (ByteCount(MostGroups(options, shape.columns)) * of_group).value();
}

// A round scans its candidates once and solves in about three iterations
// of three passes each.
LearnerWork EstimateWork(const InfiniteFeaturesOptions& options, const ProblemShape& shape) {
  const auto rows = static_cast<double>(shape.rows);
  const auto outputs = static_cast<double>(shape.outputs);
  const auto outputs_of_row = static_cast<double>(shape.outputs_of_row());
  const auto inputs = static_cast<double>(NumbersOfMap(options, shape.columns));
  const auto groups = static_cast<double>(MostGroups(options, shape.columns));
  const auto candidates =
      static_cast<double>(Candidates(options, shape) + CandidatesOfAscent(options));
  const auto per_group = static_cast<double>(ColumnsPerGroup(options));
  const double rounds = options.selection == SelectionChoice::kFixed
                            ? 1
                            : std::min(RoundsOfGrowth(options, shape.columns) + 3,
                                       static_cast<double>(options.max_rounds));
  const double columns = groups * per_group;
  const double mean_columns = columns / 2;
  LearnerWork work;
  work.training[WorkKind::kProductColumns] =
      rounds * candidates * rows * (inputs + per_group * outputs_of_row) +
      rows * outputs_of_row * columns * columns;
  const double sines = options.family == FamilyChoice::kFourier ? rows * per_group : 0;
  work.training[WorkKind::kKernelValues] = rounds * candidates * sines;
  work.training[WorkKind::kReads] = rounds * 25 * rows * outputs_of_row * mean_columns;
  work.training[WorkKind::kFactorOperations] =
      rounds * 6 * outputs * mean_columns * mean_columns * mean_columns / 3;
  work.verification[WorkKind::kProductColumns] =
      rows * groups * (inputs + per_group * outputs_of_row);
  work.verification[WorkKind::kKernelValues] = groups * sines;
  work.verification[WorkKind::kEntries] = rows * outputs_of_row * (columns + 200);
  return work;
}

std::optional<Index> BasisRows(const InfiniteFeaturesOptions& /*options*/,
                               const ProblemShape& /*shape*/) {
  return 0;
}

std::optional<DefaultPath> DefaultPathOf(const OptionValues& given) {
  for (const char* const penalty : {"lambda", "lambda_shared", "lambda_unit"}) {
    if (given.count(penalty) > 0) {
      return std::nullopt;
    }
  }
  return DefaultPath{"lambda", {0.3, 0.1, 0.03, 0.01, 0.003}};
}

absl::StatusOr<std::unique_ptr<Learner>> Create(const InfiniteFeaturesOptions& options) {
  MERCER_RETURN_IF_ERROR(CheckOptions(options));
  return std::make_unique<InfiniteFeaturesLearner>(options);
}

}  // namespace

LearnerEntry Entry() {
  return MakeEntry<InfiniteFeaturesOptions>(
      {.name = "infinite_features",
       .title = "Learning with infinitely many features",
       .summary =
           "Chooses the few features that pay from a family that is given by continuous "
           "parameters, the frequencies of Fourier features above all, by column generation, and "
           "yields a small, fast model. Takes no kernels and no Gram matrix: time and memory grow "
           "with the rows times the features in the model. With the family of the data's own "
           "columns it is a sparse linear model. The certificate is about the features that are "
           "listed. Source: Rakotomamonjy, Flamary, Yger: Learning with infinitely many features. "
           "Machine Learning 91 (2013) 43-66.",
       .way_to_linear_memory = "infinite_features",
       .regression = true,
       .joint_outputs = true,
       .several_tasks = true,
       .uses_kernels = false,
       .default_path = DefaultPathOf},
      {.create = Create,
       .verify = Verify,
       .estimate_memory = EstimateMemory,
       .estimate_work = EstimateWork,
       .basis_rows = BasisRows,
       .feature_numbers = FeatureNumbers});
}

}  // namespace mercer::infinite_features
