#include "core/learners/coordinate_gradients/tables.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/kernels/spec/kernel_labels.h"
#include "core/solvers/gradients/gradient_results.h"
#include "core/training/contract/input_columns.h"
#include "core/training/run/ranking_tester.h"

namespace mercer::coordinate_gradients {
namespace {

// In the unit of the targets as they are given, of which `unit` is the learner's.
ModelTable RankingTable(const CoordinateRanking& ranking, const Vector& of_columns,
                        const Vector& energies_of_columns, int64_t selected,
                        const std::vector<std::string>& names, double unit) {
  ModelTable table;
  table.name = kRankingTable;
  table.title = "columns by the norm of the gradient in them";
  table.row_axis = "columns";
  table.column_axis = "properties";
  table.columns = {"score", "norm", "energy", kRankedColumn, "selected"};
  table.values.resize(static_cast<Index>(ranking.order.size()), 5);
  const Vector norms = unit * of_columns;
  const Vector energies = unit * unit * energies_of_columns;
  for (size_t place = 0; place < ranking.order.size(); ++place) {
    const Index l = ranking.order[place];
    table.rows.push_back(names[static_cast<size_t>(l)]);
    const bool kept = selected > 0 ? static_cast<int64_t>(place) < selected : ranking.scores(l) > 0;
    table.values.row(static_cast<Index>(place)) << ranking.scores(l), norms(l), energies(l),
        static_cast<double>(l + 1), kept ? 1.0 : 0.0;
  }
  return table;
}

}  // namespace

absl::StatusOr<std::vector<ModelTable>> TablesOfNorms(const CoordinateGradientsOptions& options,
                                                      const TrainingProblem& problem,
                                                      const Vector& norms, const Vector& energies,
                                                      const CovarianceOf& covariance_of) {
  const std::vector<std::string> names = InputNames(problem);
  const double unit = problem.unit.deviation;
  const CoordinateRanking ranking = RankCoordinates(norms, energies);
  std::vector<ModelTable> tables = {
      RankingTable(ranking, norms, energies, options.columns, names, unit)};
  std::vector<Index> first;
  for (const Index l : ranking.order) {
    if (static_cast<int64_t>(first.size()) < options.covariance_columns && ranking.scores(l) > 0) {
      first.push_back(l);
    }
  }
  if (first.empty()) {
    return tables;
  }
  ModelTable covariance;
  covariance.name = "covariance";
  covariance.title = "how the gradients in two columns vary together";
  covariance.row_axis = covariance.column_axis = "columns";
  for (const Index l : first) {
    covariance.rows.push_back(names[static_cast<size_t>(l)]);
  }
  covariance.columns = covariance.rows;
  MERCER_ASSIGN_OR_RETURN(covariance.values, covariance_of(first));
  covariance.values *= unit * unit;
  covariance.drawing = TableDrawing::kHeatMap;
  tables.push_back(std::move(covariance));
  return tables;
}

absl::StatusOr<std::vector<ModelTable>> TablesOf(const CoordinateGradientsOptions& options,
                                                 const TrainingProblem& problem,
                                                 const GradientProblem& gradients,
                                                 const GradientPoint& at, RunContext& context) {
  return TablesOfNorms(
      options, problem, at.Norms(), at.energies, [&](const std::vector<Index>& columns) {
        return GradientCovariance(gradients, at.weights, at.dual, columns, context);
      });
}

ByteCount TableBytes(const CoordinateGradientsOptions& options, const ProblemShape& shape) {
  constexpr size_t kWords = 2000;  // titles and columns
  constexpr size_t kRow = kMaxLabelBytes + sizeof(std::string) + 5 * sizeof(double);
  const ByteCount first(std::min<Index>(options.covariance_columns, shape.columns));
  return ByteCount(kWords) + ByteCount(shape.columns) * ByteCount(kRow) +
         first * (ByteCount(2 * kRow) + first * ByteCount(sizeof(double)));
}

}  // namespace mercer::coordinate_gradients
