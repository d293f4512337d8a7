// How a group of features enters the model: its columns at the rows of every table, and what it promises.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/status_macros.h"
#include "core/learners/infinite_features/infinite_features.h"
#include "core/learners/infinite_features/problem.h"

namespace mercer::infinite_features {
namespace {

double LargestCurvature(LossKind kind) {
  return kind == LossKind::kLogistic ? 0.25 : kind == LossKind::kHinge ? kInfinity : 2.0;
}

std::vector<ColumnSums> SumColumns(const Matrix& raw) {
  std::vector<ColumnSums> sums(static_cast<size_t>(raw.cols()));
  for (Index c = 0; c < raw.cols(); ++c) {
    ColumnSums& one = sums[static_cast<size_t>(c)];
    one.sum = raw.col(c).sum();
    one.squares = raw.col(c).squaredNorm();
    one.largest = raw.col(c).lpNorm<Eigen::Infinity>();
    one.finite = raw.col(c).allFinite();
  }
  return sums;
}

}  // namespace

Index InfiniteFeaturesLearner::num_rows() const {
  Index rows = 0;
  for (const Table& table : tables_) {
    rows += table.task.costs.size();
  }
  return rows;
}

std::vector<Matrix> InfiniteFeaturesLearner::SlopesOf(const MasterEvaluation& evaluation) const {
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
  const Index most = MostGroups(options_, family_->num_inputs()) * per_group;
  const ColumnPrecision precision = PrecisionFor(problem_->relative_gap, num_rows(), most);
  std::vector<std::unique_ptr<FeatureColumns>> built;
  for (const Table& table : tables_) {
    const auto t = static_cast<Index>(built.size());
    FeatureColumns& columns =
        *built.emplace_back(std::make_unique<FeatureColumns>(table.rows->size(), precision));
    Matrix raw(table.rows->size(), per_group);
    for (ScaledGroup& group : state_.groups) {
      MERCER_RETURN_IF_ERROR(
          EvaluateColumns(*family_, *table.rows, group.parameters, raw, context));
      group.means.conservativeResize(per_group, t + 1);
      group.means.col(t) = raw.colwise().mean().transpose();
      MERCER_RETURN_IF_ERROR(columns.Append(raw, group.means.col(t), group.scales.col(t), context));
    }
  }
  for (size_t t = 0; t < tables_.size(); ++t) {
    tables_[t].columns = std::move(built[t]);
  }
  return absl::OkStatus();
}

// The scales are those of columns in double precision, which a verifier finds again. False when they are none.
absl::StatusOr<bool> InfiniteFeaturesLearner::Append(const FoundGroup& found, RunContext& context) {
  const auto num_tables = static_cast<Index>(tables_.size());
  std::vector<Matrix> raw;
  std::vector<std::vector<ColumnSums>> sums;
  std::vector<TaskColumns> columns;
  for (const Table& table : tables_) {
    Matrix& values = raw.emplace_back(table.rows->size(), family_->columns_per_group());
    MERCER_RETURN_IF_ERROR(
        EvaluateColumns(*family_, *table.rows, found.parameters, values, context));
    sums.push_back(SumColumns(values));
  }
  for (Index t = 0; t < num_tables; ++t) {
    columns.push_back({sums[static_cast<size_t>(t)], raw[static_cast<size_t>(t)].rows()});
  }
  std::optional<Matrix> scales =
      GroupScales(ChosenNormalization(options_), ChosenScope(options_), columns);
  if (!scales.has_value()) {
    return false;
  }
  ScaledGroup group{found.parameters, Matrix(scales->rows(), num_tables), *std::move(scales)};
  Vector squared_norms(num_tables);
  for (Index t = 0; t < num_tables; ++t) {
    const Matrix& values = raw[static_cast<size_t>(t)];
    group.means.col(t) = values.colwise().mean().transpose();
    squared_norms(t) =
        (values.colwise().squaredNorm().transpose().array() / group.scales.col(t).array().square())
            .sum();
  }
  state_.promised = master_->evaluation().objective() - GainOfGroup(found, squared_norms);
  MERCER_RETURN_IF_ERROR(AppendColumns(raw, group, context));
  state_.groups.push_back(std::move(group));
  return true;
}

// When it fails, some tables have the group and others have not: the step is made again from the state before.
absl::Status InfiniteFeaturesLearner::AppendColumns(const std::vector<Matrix>& raw,
                                                    const ScaledGroup& group, RunContext& context) {
  for (size_t t = 0; t < tables_.size(); ++t) {
    const auto column = static_cast<Index>(t);
    MERCER_RETURN_IF_ERROR(tables_[t].columns->Append(raw[t], group.means.col(column),
                                                      group.scales.col(column), context));
  }
  return absl::OkStatus();
}

// How much the objective falls at least when the group enters, in either part: (weight (dual norm - lambda))^2 / (2 L), L a bound of
// the curvature along its weights (section (b.3) of the specification).
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
    const double of_table = LargestCurvature(loss_->kind()) * task.costs.maxCoeff() *
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
