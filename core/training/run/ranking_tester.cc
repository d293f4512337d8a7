#include "core/training/run/ranking_tester.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/index_range.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/linalg/matrix_products.h"
#include "core/objectives/loss.h"
#include "core/solvers/svm/svm_newton.h"
#include "core/training/contract/input_columns.h"
#include "core/training/contract/single_task.h"
#include "core/training/terms/feature_term.h"

namespace mercer {
namespace {

constexpr double kMachineGap = 1e-6;

const ModelTable* FindTable(const ModelSummary& summary, std::string_view name) {
  const auto found = std::find_if(summary.tables.begin(), summary.tables.end(),
                                  [&](const ModelTable& table) { return table.name == name; });
  return found == summary.tables.end() ? nullptr : &*found;
}

// The columns in the order of a table; empty when it does not rank each of them once.
std::vector<Index> OrderOf(const ModelTable& table, Index columns) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), kRankedColumn);
  if (found == table.columns.end() || table.values.rows() != columns) {
    return {};
  }
  const Index of_numbers = found - table.columns.begin();
  std::vector<Index> order;
  for (Index place = 0; place < columns; ++place) {
    order.push_back(static_cast<Index>(table.values(place, of_numbers)) - 1);
  }
  std::vector<Index> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  return sorted == IndexRange(0, columns) ? order : std::vector<Index>();
}

// The numbers of columns of the machines, ascending.
std::vector<Index> CountsOf(const RankingTestOptions& options, Index columns) {
  std::set<Index> counts;
  if (options.columns.empty() && columns > 0) {
    counts.insert(columns);
    for (Index count = 1; count < columns; count *= 2) {
      counts.insert(count);
    }
  }
  for (const int64_t count : options.columns) {
    if (count <= columns) {
      counts.insert(count);
    }
  }
  return {counts.begin(), counts.end()};
}

}  // namespace

// All columns; those of a machine and their transposed, its Gram matrix and Newton's system; the
// function of a number of columns beside that of the one before.
size_t EstimateRankingTestMemory(const RankingTestOptions& options, const ProblemShape& shape,
                                 Index table_rows) {
  constexpr Index kVectors = 40;
  constexpr ByteCount kBytesOfFeature(64);
  const std::vector<Index> counts = CountsOf(options, shape.columns);
  const ByteCount rows(shape.rows);
  const ByteCount largest(counts.empty() ? 0 : counts.back());
  const ByteCount outputs(shape.outputs);
  const ByteCount number(sizeof(double));
  return ((rows * (ByteCount(2) * largest + ByteCount(2) * rows + ByteCount(kVectors)) +
           ByteCount(table_rows) * (ByteCount(shape.columns) + ByteCount(2) * outputs)) *
              number +
          ByteCount(2) * largest * outputs * (number + kBytesOfFeature))
      .value();
}

// About twenty factorisations a machine, of the rows near the margin, which are hardly more than
// the columns.
WorkCount EstimateRankingTestWork(const RankingTestOptions& options, const ProblemShape& shape) {
  constexpr double kSystems = 20;
  const auto rows = static_cast<double>(shape.rows);
  const auto outputs = static_cast<double>(shape.outputs);
  WorkCount work;
  for (const Index count : CountsOf(options, shape.columns)) {
    const auto columns = static_cast<double>(count);
    const double system = std::min(rows, columns);
    work[WorkKind::kProductColumns] += outputs * 0.5 * rows * rows * columns;
    work[WorkKind::kFactorOperations] +=
        outputs * kSystems * (system * system * system / 3 + rows * rows);
  }
  return work;
}

absl::StatusOr<std::vector<std::vector<Index>>> RankingTester::ReadRankings(
    const ModelSummary& summary, Index outputs, Index columns) {
  const bool is_shared = FindTable(summary, kRankingTable) != nullptr;
  std::vector<Ranking> rankings;
  for (Index o = 0; o < (is_shared ? 1 : outputs); ++o) {
    const std::string name =
        is_shared ? std::string(kRankingTable) : absl::StrCat(kRankingTable, ".", o + 1);
    const ModelTable* const table = FindTable(summary, name);
    rankings.push_back(table != nullptr ? OrderOf(*table, columns) : Ranking());
    if (static_cast<Index>(rankings.back().size()) != columns) {
      return absl::InternalError(absl::StrCat("the model has no table '", name,
                                              "' that ranks each of ", columns, " columns"));
    }
  }
  return rankings;
}

absl::StatusOr<RankingTester> RankingTester::Make(const TrainingProblem& problem,
                                                  const ModelSummary& summary,
                                                  const RankingTestOptions& options,
                                                  RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(
      std::vector<Ranking> rankings,
      ReadRankings(summary, problem.tasks[0].targets.cols(), CountInputs(problem)));
  MERCER_ASSIGN_OR_RETURN(Matrix columns, ReadColumns(problem, problem.tasks[0].rows, context));
  return RankingTester(problem, options, std::move(rankings), std::move(columns));
}

std::vector<Index> RankingTester::Counts() const { return CountsOf(options_, columns_.cols()); }

absl::Status RankingTester::TrainOutputs(const Ranking& ranking, Index count, Index first,
                                         Index outputs, RankedMachines& trained,
                                         RunContext& context) const {
  const TaskData& task = problem_.tasks[0];
  std::vector<Index> rows;
  for (Index i = 0; i < task.targets.rows(); ++i) {
    if ((task.targets.row(i).segment(first, outputs).array() != 0).any()) {
      rows.push_back(i);
    }
  }
  TaskData seen;
  seen.targets = task.targets.middleCols(first, outputs)(rows, Eigen::all);
  seen.costs = task.costs(rows);
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Loss> loss, MakeLoss(LossKind::kHinge));
  const std::vector<SvmProblem> machines = MakeMachines(seen, loss, options_.C);
  const Matrix some = columns_(rows, Ranking(ranking.begin(), ranking.begin() + count));
  const auto gram = std::make_shared<Matrix>(Matrix::Zero(some.rows(), some.rows()));
  MERCER_RETURN_IF_ERROR(AddProduct(1, some, some.transpose(), *gram, context));
  const DenseKernelOperator kernel(gram);
  FeatureTerm term;
  term.family.kind = FeatureFamilyKind::kColumns;
  term.num_inputs = columns_.cols();
  for (Index place = 0; place < count; ++place) {
    term.groups.push_back({static_cast<double>(ranking[static_cast<size_t>(place)])});
  }
  term.coefficients.resize(count, outputs);
  for (Index o = 0; o < outputs; ++o) {
    SvmNewtonSolver solver(kernel, kMachineGap);
    MERCER_RETURN_IF_ERROR(solver.Start(machines[static_cast<size_t>(o)], {}, context));
    MERCER_RETURN_IF_ERROR(solver.Run(context));
    const SvmCertificate& certificate = solver.certificate();
    const double scale = certificate.primal_scale;
    term.outputs.push_back(static_cast<int>(first + o));
    for (Index place = 0; place < count; ++place) {
      term.coefficients(place, o) = scale * DotOfRows(some.col(place), solver.dual());
    }
    trained.function.bias(first + o) = scale * certificate.bias.chosen;
    trained.relative_gap = std::max(trained.relative_gap, certificate.RelativeGap());
  }
  trained.function.terms.push_back(std::make_shared<const FeatureTerm>(std::move(term)));
  return absl::OkStatus();
}

// Each ranking has a term for the outputs that it is of, and each output a machine.
absl::StatusOr<RankedMachines> RankingTester::Train(Index count, RunContext& context) const {
  const Index outputs = problem_.tasks[0].targets.cols();
  RankedMachines trained;
  trained.function.bias.resize(outputs);
  const auto num_rankings = static_cast<Index>(rankings_.size());
  for (Index r = 0; r < num_rankings; ++r) {
    MERCER_RETURN_IF_ERROR(TrainOutputs(rankings_[static_cast<size_t>(r)], count, r,
                                        num_rankings == 1 ? outputs : 1, trained, context));
  }
  return trained;
}

}  // namespace mercer
