#include "core/learners/infinite_features/search.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"

namespace mercer::infinite_features {
namespace {

constexpr size_t kPollCandidates = 4096;

// What a scan of one table says of all candidates.
struct TableSums {
  CandidateSums sums;
  Index rows = 0;
  Vector slope_sums;  // by outputs of the table
};

// Judges the candidate whose columns begin with `first`; nothing when it must not be used.
// `products` is working space.
std::optional<FoundGroup> Judge(const SearchProblem& problem, const std::vector<TableSums>& tables,
                                Index first, double weight, Matrix& products) {
  const Index columns = problem.family->columns_per_group();
  std::vector<TaskColumns> of_group;
  Index outputs = 0;
  for (const TableSums& table : tables) {
    of_group.push_back({absl::MakeConstSpan(table.sums.columns)
                            .subspan(static_cast<size_t>(first), static_cast<size_t>(columns)),
                        table.rows});
    outputs += table.slope_sums.size();
  }
  const std::optional<Matrix> scales = GroupScales(problem.normalization, problem.scope, of_group);
  if (!scales.has_value()) {
    return std::nullopt;
  }
  products.resize(columns, outputs);
  Index begin = 0;
  for (size_t t = 0; t < tables.size(); ++t) {
    const TableSums& table = tables[t];
    auto of_table = products.middleCols(begin, table.slope_sums.size());
    of_table = table.sums.products.middleRows(first, columns);
    for (Index c = 0; c < columns; ++c) {
      // The column's mean is subtracted: slopes sum to 0 only as exactly as the bias is known, and
      // what is left must not look like a product with the column.
      const double mean =
          of_group[t].columns[static_cast<size_t>(c)].sum / static_cast<double>(table.rows);
      of_table.row(c) -= mean * table.slope_sums.transpose();
      of_table.row(c) /= (*scales)(c, static_cast<Index>(t));
    }
    begin += table.slope_sums.size();
  }
  FoundGroup found;
  found.specific_norm = problem.norm.DualNorm(products) / weight;
  found.shared_norm = problem.norm.DualNorm(products.rowwise().sum()) / weight;
  return found;
}

// The sums of the candidates over the rows of table `t`.
absl::StatusOr<CandidateSums> SumsOfTable(const SearchProblem& problem,
                                          absl::Span<const FeatureParameters> candidates, size_t t,
                                          const Matrix& slopes, const RunContext& context) {
  const FeatureRows& rows = *problem.tables[t];
  if (problem.stored == nullptr) {
    return ScanCandidates(*problem.family, rows, candidates, slopes,
                          problem.family->searches_in_single() ? FeaturePrecision::kSingle
                                                               : FeaturePrecision::kDouble,
                          context);
  }
  std::vector<SingleMatrix>& stored = problem.stored->tables;
  if (t >= stored.size()) {
    MERCER_ASSIGN_OR_RETURN(SingleMatrix columns,
                            EvaluateCandidates(*problem.family, rows, candidates, context));
    stored.push_back(std::move(columns));
  }
  return ScanColumns(stored[t], rows, slopes, context);
}

}  // namespace

double FoundGroup::Ratio(const Lambdas& lambdas) const {
  return std::max(specific_norm / lambdas.specific, shared_norm / lambdas.shared);
}

Lambdas SearchRound::Largest() const {
  Lambdas largest{0, 0};
  for (const FoundGroup& one : found) {
    largest.specific = std::max(largest.specific, one.specific_norm);
    largest.shared = std::max(largest.shared, one.shared_norm);
  }
  return largest;
}

double SearchRound::BestRatio(const Lambdas& lambdas) const {
  double best = 0;
  for (const FoundGroup& one : found) {
    best = std::max(best, one.Ratio(lambdas));
  }
  return best;
}

std::vector<FoundGroup> SearchRound::Best(const Lambdas& lambdas, double least, Index count) const {
  std::vector<std::pair<double, size_t>> ratios;
  for (size_t i = 0; i < found.size(); ++i) {
    const double ratio = found[i].Ratio(lambdas);
    if (ratio > least) {
      ratios.emplace_back(-ratio, i);
    }
  }
  std::sort(ratios.begin(), ratios.end());
  ratios.resize(std::min(ratios.size(), static_cast<size_t>(count)));
  std::vector<FoundGroup> best;
  for (const auto& [ratio, i] : ratios) {
    best.push_back(found[i]);
  }
  return best;
}

absl::StatusOr<SearchRound> SearchAmong(const SearchProblem& problem,
                                        std::vector<FeatureParameters> candidates,
                                        const std::vector<Matrix>& slopes,
                                        const std::vector<ScaledGroup>& known,
                                        const RunContext& context) {
  std::set<FeatureParameters> present;
  for (const ScaledGroup& group : known) {
    present.insert(group.parameters);
  }
  SearchRound round_found;
  round_found.candidates = static_cast<Index>(candidates.size());
  const auto is_present = [&](const FeatureParameters& one) { return present.count(one) > 0; };
  if (problem.stored == nullptr) {
    std::erase_if(candidates, is_present);
  }
  std::vector<TableSums> tables;
  for (size_t t = 0; t < problem.tables.size(); ++t) {
    MERCER_ASSIGN_OR_RETURN(CandidateSums sums,
                            SumsOfTable(problem, candidates, t, slopes[t], context));
    Vector of_slopes(slopes[t].cols());
    for (Index o = 0; o < of_slopes.size(); ++o) {
      of_slopes(o) = SumOfRows(slopes[t].col(o));
    }
    tables.push_back({std::move(sums), problem.tables[t]->size(), std::move(of_slopes)});
  }
  Matrix products;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (i % kPollCandidates == 0) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    }
    if (problem.stored != nullptr && is_present(candidates[i])) {
      continue;
    }
    const Index first = static_cast<Index>(i) * problem.family->columns_per_group();
    std::optional<FoundGroup> one =
        Judge(problem, tables, first, problem.weight(candidates[i]), products);
    if (one.has_value()) {
      one->parameters = std::move(candidates[i]);
      round_found.found.push_back(*std::move(one));
    }
  }
  return round_found;
}

absl::StatusOr<SearchRound> SearchCandidates(const SearchProblem& problem, uint64_t seed,
                                             uint64_t round, const std::vector<Matrix>& slopes,
                                             const std::vector<ScaledGroup>& known,
                                             const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(std::vector<FeatureParameters> candidates,
                          problem.family->Draw(seed, round, context));
  return SearchAmong(problem, std::move(candidates), slopes, known, context);
}

}  // namespace mercer::infinite_features
