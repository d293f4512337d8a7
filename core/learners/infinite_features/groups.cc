// How a group of features enters the model: its columns at the rows of every table, and what it
// promises.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/infinite_features/infinite_features.h"
#include "core/learners/infinite_features/problem.h"
#include "core/linalg/row_operations.h"

namespace mercer::infinite_features {
namespace {

using ConstColumns = Eigen::Ref<const Matrix>;

std::vector<ColumnSums> SumColumns(const ConstColumns& raw) {
  std::vector<ColumnSums> sums(static_cast<size_t>(raw.cols()));
  for (Index c = 0; c < raw.cols(); ++c) {
    ColumnSums& one = sums[static_cast<size_t>(c)];
    one.sum = SumOfRows(raw.col(c));
    one.squares = SquaredNormOfRows(raw.col(c));
    one.largest = raw.col(c).lpNorm<Eigen::Infinity>();
    one.finite = std::isfinite(one.squares) || raw.col(c).allFinite();
  }
  return sums;
}

size_t GroupsOfBatch(const FeatureFamily& family) {
  return static_cast<size_t>(std::max<Index>(1, kColumnsOfBatch / family.columns_per_group()));
}

template <typename Group>
std::vector<FeatureParameters> ParametersOf(absl::Span<Group> groups) {
  std::vector<FeatureParameters> parameters;
  for (const Group& group : groups) {
    parameters.push_back(group.parameters);
  }
  return parameters;
}

// Evaluates the columns of the groups at the rows, which are the first rows of the matrix. It has
// some more, so that each column begins at a cache line and sums do not depend on its place.
absl::StatusOr<Matrix> EvaluateGroups(const FeatureFamily& family, const FeatureRows& rows,
                                      const std::vector<FeatureParameters>& groups,
                                      RunContext& context) {
  Matrix values(PaddedStride(rows.size()),
                static_cast<Index>(groups.size()) * family.columns_per_group());
  MERCER_RETURN_IF_ERROR(
      EvaluateColumns(family, rows, groups, values.topRows(rows.size()), context));
  return values;
}

Vector MeansOf(const Matrix& values, Index first, Index count, Index rows) {
  Vector means(count);
  for (Index c = 0; c < count; ++c) {
    means(c) = SumOfRows(values.col(first + c).head(rows)) / static_cast<double>(rows);
  }
  return means;
}

// Appends the columns of the groups at the rows of table t, scaled; `values` has them first.
absl::Status AppendScaled(const Matrix& values, absl::Span<const ScaledGroup> groups, Index t,
                          FeatureColumns& columns, RunContext& context) {
  const Index per_group = groups.front().scales.rows();
  Vector means(static_cast<Index>(groups.size()) * per_group);
  Vector scales(means.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    means.segment(static_cast<Index>(g) * per_group, per_group) = groups[g].means.col(t);
    scales.segment(static_cast<Index>(g) * per_group, per_group) = groups[g].scales.col(t);
  }
  return columns.Append(values.topLeftCorner(columns.rows(), means.size()), means, scales, context);
}

}  // namespace

Index InfiniteFeaturesLearner::num_rows() const {
  Index rows = 0;
  for (const Table& table : tables_) {
    rows += table.task.costs.size();
  }
  return rows;
}

std::vector<Matrix> InfiniteFeaturesLearner::SlopesOf(const GroupEvaluation& evaluation) const {
  std::vector<Matrix> slopes;
  size_t next = 0;
  for (const Table& table : tables_) {
    Matrix& of_table = slopes.emplace_back(table.task.costs.size(), table.task.targets.cols());
    for (Index t = 0; t < of_table.cols(); ++t) {
      of_table.col(t) = evaluation.slopes[next++];
    }
  }
  return slopes;
}

absl::Status InfiniteFeaturesLearner::BuildColumns(RunContext& context) {
  const Index per_group = family_->columns_per_group();
  const auto num_tables = static_cast<Index>(tables_.size());
  const Index most = MostGroups(options_, family_->num_inputs()) * per_group;
  const ColumnPrecision precision = PrecisionFor(problem_->relative_gap, num_rows(), most);
  std::vector<std::unique_ptr<FeatureColumns>> built;
  for (const Table& table : tables_) {
    built.push_back(std::make_unique<FeatureColumns>(table.rows->size(), precision));
  }
  const absl::Span<ScaledGroup> groups = absl::MakeSpan(state_.groups);
  for (size_t first = 0; first < groups.size(); first += GroupsOfBatch(*family_)) {
    const absl::Span<ScaledGroup> batch = groups.subspan(first, GroupsOfBatch(*family_));
    for (Index t = 0; t < num_tables; ++t) {
      const Table& table = tables_[static_cast<size_t>(t)];
      MERCER_ASSIGN_OR_RETURN(const Matrix values,
                              EvaluateGroups(*family_, *table.rows, ParametersOf(batch), context));
      for (size_t g = 0; g < batch.size(); ++g) {
        batch[g].means.conservativeResize(per_group, t + 1);
        batch[g].means.col(t) =
            MeansOf(values, static_cast<Index>(g) * per_group, per_group, table.rows->size());
      }
      MERCER_RETURN_IF_ERROR(
          AppendScaled(values, batch, t, *built[static_cast<size_t>(t)], context));
    }
  }
  for (size_t t = 0; t < tables_.size(); ++t) {
    tables_[t].columns = std::move(built[t]);
  }
  return absl::OkStatus();
}

// Appends the groups whose columns have scales, of as many as there is room for, and answers how
// many these are. When it fails, some tables have groups that others have not: the step is made
// again from the state before.
absl::StatusOr<Index> InfiniteFeaturesLearner::Append(absl::Span<const FoundGroup> found,
                                                      RunContext& context) {
  const auto most = static_cast<size_t>(options_.max_groups);
  const auto columns = static_cast<Index>(std::min(state_.groups.size() + found.size(), most)) *
                       family_->columns_per_group();
  for (const Table& table : tables_) {
    MERCER_RETURN_IF_ERROR(table.columns->Reserve(columns, context));
  }
  Index appended = 0;
  while (!found.empty() && CanGrow()) {
    const size_t room = most - state_.groups.size();
    const size_t count = std::min({found.size(), room, GroupsOfBatch(*family_)});
    MERCER_ASSIGN_OR_RETURN(const Index more, AppendBatch(found.first(count), context));
    appended += more;
    found.remove_prefix(count);
  }
  return appended;
}

absl::StatusOr<Index> InfiniteFeaturesLearner::AppendBatch(absl::Span<const FoundGroup> found,
                                                           RunContext& context) {
  const Index per_group = family_->columns_per_group();
  std::vector<Matrix> values;
  for (const Table& table : tables_) {
    MERCER_ASSIGN_OR_RETURN(values.emplace_back(),
                            EvaluateGroups(*family_, *table.rows, ParametersOf(found), context));
  }
  std::vector<ScaledGroup> groups;
  for (size_t g = 0; g < found.size(); ++g) {
    const Index first = static_cast<Index>(g) * per_group;
    std::optional<ScaledGroup> group = ScaleGroup(found[g], values, first);
    if (!group.has_value()) {
      continue;
    }
    const Index place = static_cast<Index>(groups.size()) * per_group;
    for (Matrix& of_table : values) {
      if (place < first) {
        of_table.middleCols(place, per_group) = of_table.middleCols(first, per_group);
      }
    }
    groups.push_back(*std::move(group));
  }
  for (size_t t = 0; t < tables_.size() && !groups.empty(); ++t) {
    MERCER_RETURN_IF_ERROR(
        AppendScaled(values[t], groups, static_cast<Index>(t), *tables_[t].columns, context));
  }
  state_.groups.insert(state_.groups.end(), std::make_move_iterator(groups.begin()),
                       std::make_move_iterator(groups.end()));
  return static_cast<Index>(groups.size());
}

// Makes the group whose columns are those of `values`, by tables, from `first` on. The scales are
// those of columns in double precision, which a verifier finds again. Nothing when a column has
// none.
std::optional<ScaledGroup> InfiniteFeaturesLearner::ScaleGroup(const FoundGroup& found,
                                                               const std::vector<Matrix>& values,
                                                               Index first) {
  const Index per_group = family_->columns_per_group();
  const auto num_tables = static_cast<Index>(tables_.size());
  std::vector<std::vector<ColumnSums>> sums;
  std::vector<TaskColumns> columns;
  for (size_t t = 0; t < tables_.size(); ++t) {
    sums.push_back(SumColumns(values[t].block(0, first, tables_[t].rows->size(), per_group)));
  }
  for (size_t t = 0; t < tables_.size(); ++t) {
    columns.push_back({sums[t], tables_[t].rows->size()});
  }
  std::optional<Matrix> scales =
      GroupScales(ChosenNormalization(options_), ChosenScope(options_), columns);
  if (!scales.has_value()) {
    return std::nullopt;
  }
  ScaledGroup group{found.parameters, Matrix(per_group, num_tables), *std::move(scales)};
  Vector squared_norms = Vector::Zero(num_tables);
  for (Index t = 0; t < num_tables; ++t) {
    const auto table = static_cast<size_t>(t);
    group.means.col(t) = MeansOf(values[table], first, per_group, tables_[table].rows->size());
    for (Index c = 0; c < per_group; ++c) {
      const double scale = group.scales(c, t);
      squared_norms(t) += sums[table][static_cast<size_t>(c)].squares / (scale * scale);
    }
  }
  state_.promised = solver_->evaluation().objective() - GainOfGroup(found, squared_norms);
  return group;
}

// How much the objective falls at least when the group enters, in either part: (weight (dual
// norm - lambda))^2 / (2 L), L a bound of the curvature along its weights
// (docs/mathematics/infinite_features.md, section 3).
double InfiniteFeaturesLearner::GainOfGroup(const FoundGroup& found,
                                            const Vector& squared_norms) const {
  const auto outputs = static_cast<double>(num_outputs());
  const double shape = options_.penalty_q > 2
                           ? std::pow(outputs * static_cast<double>(family_->columns_per_group()),
                                      1.0 - 2.0 / options_.penalty_q)
                           : 1.0;
  double curvature = 0;         // the largest of the tables
  double shared_curvature = 0;  // of all outputs together
  for (size_t t = 0; t < tables_.size(); ++t) {
    const TaskData& task = tables_[t].task;
    const double of_table = loss_->largest_curvature() * task.costs.maxCoeff() *
                            squared_norms(static_cast<Index>(t)) * shape;
    curvature = std::max(curvature, of_table);
    shared_curvature += of_table * static_cast<double>(task.targets.cols());
  }
  const double weight = GroupWeight(options_, found.parameters);
  const double excess = weight * std::max(0.0, found.specific_norm - state_.lambdas.specific);
  const double shared_excess = weight * std::max(0.0, found.shared_norm - state_.lambdas.shared);
  return std::max(excess * excess / (2 * curvature),
                  shared_excess * shared_excess / (2 * shared_curvature));
}

}  // namespace mercer::infinite_features
