// How good a ranking of columns is: linear support vector machines on its first columns, with a
// margin that is (nearly) hard, measured on rows that the ranking has not seen.
//
// Source       Guyon, Weston, Barnhill, Vapnik: Gene selection for cancer classification using
//              support vector machines. Machine Learning 46 (2002) 389-422, section V.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/training/contract/problem.h"
#include "core/training/model/model.h"

namespace mercer {

struct RankingTestOptions {
  // How many of the first columns a machine has, >= 1; empty: 1, 2, 4 and so on, and all columns.
  std::vector<int64_t> columns;
  double C = 1e4;  // of the machines, > 0: cost of a row of weight 1
};

// The table of a learner that ranks columns (LearnerEntry::ranks_columns), with a row for each
// column, the best first, and in its column `kRankedColumn` the number of it, from 1. Where each
// output has a ranking of its own, "ranking.2" is that of the second.
inline constexpr char kRankingTable[] = "ranking";
inline constexpr char kRankedColumn[] = "column";
// The name of the table that says what the machines have come to.
inline constexpr char kRankingTestTable[] = "ranking_test";

// The machine of each output on its first columns.
struct RankedMachines {
  ModelFunction function;
  double relative_gap = 0;  // certified, of the worst
};

// Upper bound on the bytes of a test on a table of so many rows, and its work; the rows of `shape`
// are those of its largest machine.
size_t EstimateRankingTestMemory(const RankingTestOptions& options, const ProblemShape& shape,
                                 Index table_rows);
WorkCount EstimateRankingTestWork(const RankingTestOptions& options, const ProblemShape& shape);

// The machines on the first columns of a model's ranking, trained on rows that it was made from.
class RankingTester {
 public:
  // Of a classification. `summary` is that of a model of `problem`, which must outlive this.
  // Errors: kInvalidArgument when columns are too large; kInternal when the model has no ranking of
  // all columns; kCancelled.
  static absl::StatusOr<RankingTester> Make(const TrainingProblem& problem,
                                            const ModelSummary& summary,
                                            const RankingTestOptions& options, RunContext& context);

  // The numbers of columns that are to be tested, ascending, as far as there are so many columns.
  std::vector<Index> Counts() const;
  // Errors: kCancelled; those of SvmNewtonSolver.
  absl::StatusOr<RankedMachines> Train(Index count, RunContext& context) const;

 private:
  using Ranking = std::vector<Index>;  // the best column first

  RankingTester(const TrainingProblem& problem, RankingTestOptions options,
                std::vector<Ranking> rankings, Matrix columns)
      : problem_(problem),
        options_(std::move(options)),
        rankings_(std::move(rankings)),
        columns_(std::move(columns)) {}

  static absl::StatusOr<std::vector<Ranking>> ReadRankings(const ModelSummary& summary,
                                                           Index outputs, Index columns);

  // Trains the outputs from `first` on, which have a ranking in common, on their rows.
  absl::Status TrainOutputs(const Ranking& ranking, Index count, Index first, Index outputs,
                            RankedMachines& trained, RunContext& context) const;

  const TrainingProblem& problem_;
  RankingTestOptions options_;
  std::vector<Ranking> rankings_;  // of all outputs, or one for each
  Matrix columns_;                 // rows of the problem x columns
};

}  // namespace mercer
