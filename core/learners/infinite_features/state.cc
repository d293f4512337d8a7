// What an interrupted run needs to go on with the same bits, and what it hands out.
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/learners/infinite_features/infinite_features.h"
#include "core/learners/infinite_features/problem.h"
#include "core/training/terms/feature_term.h"

namespace mercer::infinite_features {
namespace {

bool StartFits(const GroupPoint& start, Index columns, Index outputs) {
  return start.specific.rows() == columns && start.specific.cols() == outputs &&
         start.shared.size() == columns && start.specific.allFinite() && start.shared.allFinite();
}

bool GroupFits(const ScaledGroup& group, const FeatureFamily& family, size_t tables) {
  return family.CheckParameters(group.parameters).ok() &&
         group.scales.rows() == family.columns_per_group() &&
         group.scales.cols() == static_cast<Index>(tables) && group.scales.allFinite() &&
         (group.scales.array() > 0).all();
}

// The groups whose weights are not all 0.
std::vector<size_t> ActiveGroups(const Matrix& weights, Index columns) {
  std::vector<size_t> active;
  for (Index g = 0; g < weights.rows() / columns; ++g) {
    if ((weights.middleRows(g * columns, columns).array() != 0).any()) {
      active.push_back(static_cast<size_t>(g));
    }
  }
  return active;
}

// The dual over all rows: 0 where a row does not count, and minus the slopes of the others in their
// order.
Matrix DualOfAllRows(const TaskData& task, const Matrix& slopes) {
  Matrix dual = Matrix::Zero(task.costs.size(), slopes.cols());
  Index next = 0;
  for (Index i = 0; i < task.costs.size(); ++i) {
    if (task.costs(i) > 0 || slopes.rows() == task.costs.size()) {
      dual.row(i) = -slopes.row(next);
      ++next;
    }
  }
  return dual;
}

}  // namespace

void InfiniteFeaturesLearner::SaveParts(ByteWriter& writer) const {
  writer.WriteBool(solver_ != nullptr);
  writer.WriteString(solver_ != nullptr ? solver_->SaveState() : std::string());
}

absl::Status InfiniteFeaturesLearner::LoadParts(ByteReader& reader, RunContext& context) {
  const bool begun = reader.ReadBool();
  const std::string of_solver = reader.ReadString();
  state_.start.bias = Vector::Zero(num_outputs());
  solver_ = nullptr;
  for (Table& table : tables_) {
    table.columns = nullptr;
  }
  if (!begun && state_.groups.empty()) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(PrepareFamily(context));
  for (const ScaledGroup& group : state_.groups) {
    if (!GroupFits(group, *family_, tables_.size())) {
      return NotAState();
    }
  }
  const Index columns =
      begun ? 0 : static_cast<Index>(state_.groups.size()) * family_->columns_per_group();
  if (!StartFits(state_.start, columns, num_outputs())) {
    return NotAState();
  }
  if (!begun) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(BuildColumns(context));
  std::unique_ptr<GroupSolver> solver = MakeGroupSolver(ChosenMethod(options_));
  solver->SetAccuracy(WantedAccuracy());
  MERCER_RETURN_IF_ERROR(
      OfPart(solver->RestoreState(MakeGroupProblem(state_.lambdas), of_solver, context)));
  solver_ = std::move(solver);
  return absl::OkStatus();
}

TrainedPoint InfiniteFeaturesLearner::MakePoint() const {
  const Matrix weights = solver_->point().Weights();
  const Index columns = family_->columns_per_group();
  const Index outputs = solver_->problem().num_tasks();
  const auto tables = static_cast<Index>(tables_.size());
  // A step that was cut short may have left groups that the solver does not know yet.
  const Index groups = weights.rows() / columns;
  Matrix parameters(groups,
                    groups > 0 ? static_cast<Index>(state_.groups[0].parameters.size()) : 0);
  Matrix scales(groups * columns, tables);
  Matrix means(groups * columns, tables);
  for (Index g = 0; g < groups; ++g) {
    const ScaledGroup& group = state_.groups[static_cast<size_t>(g)];
    parameters.row(g) = Eigen::Map<const Vector>(group.parameters.data(), parameters.cols());
    scales.middleRows(g * columns, columns) = group.scales;
    means.middleRows(g * columns, columns) = group.means;
  }
  TrainedPoint point;
  if (state_.end == SearchEnd::kMaxGroups) {
    point.limit_reached = Metric{"max_groups", static_cast<double>(options_.max_groups)};
  } else if (state_.end == SearchEnd::kMaxRounds) {
    point.limit_reached = Metric{"max_rounds", static_cast<double>(options_.max_rounds)};
  }
  Matrix coefficients(weights.rows(), outputs);
  point.function.bias = solver_->point().bias;
  for (Index o = 0; o < outputs; ++o) {
    const auto table = static_cast<Index>(TableOf(o));
    coefficients.col(o) = weights.col(o).array() / scales.col(table).array();
    // The columns that the weights were found for are centred.
    point.function.bias(o) -= coefficients.col(o).dot(means.col(table));
  }
  FeatureTerm term;
  term.family = spec_;
  term.num_inputs = family_->num_inputs();
  const std::vector<size_t> active = ActiveGroups(weights, columns);
  term.coefficients.resize(static_cast<Index>(active.size()) * columns, outputs);
  point.summary.feature_weights.resize(static_cast<Index>(active.size()), outputs);
  for (size_t a = 0; a < active.size(); ++a) {
    const Index from = static_cast<Index>(active[a]) * columns;
    term.groups.push_back(state_.groups[active[a]].parameters);
    term.coefficients.middleRows(static_cast<Index>(a) * columns, columns) =
        coefficients.middleRows(from, columns);
    point.summary.feature_weights.row(static_cast<Index>(a)) =
        weights.middleRows(from, columns).colwise().norm();
  }
  for (int output = 0; output < outputs; ++output) {
    term.outputs.push_back(output);
  }
  point.summary.feature_names = FeatureGroupNames(term, *problem_->tasks[0].inputs);
  if (!active.empty()) {
    point.function.terms.push_back(std::make_shared<const FeatureTerm>(std::move(term)));
  }

  const std::vector<Matrix> slopes = SlopesOf(solver_->evaluation());
  Index first = 0;
  for (size_t t = 0; t < slopes.size(); ++t) {
    point.witness.tasks.push_back({DualOfAllRows(problem_->tasks[t], slopes[t]),
                                   point.function.bias.segment(first, slopes[t].cols())});
    first += slopes[t].cols();
  }
  point.witness.arrays = {{"parameters", std::move(parameters)},
                          {"scales", std::move(scales)},
                          {"specific", solver_->point().specific},
                          {"shared", solver_->point().shared}};
  point.witness.values = {{"lambda", state_.lambdas.specific},
                          {"lambda_shared", state_.lambdas.shared},
                          {"lambda_max", state_.largest.specific},
                          {"rounds", static_cast<double>(state_.rounds)},
                          {"candidates", static_cast<double>(state_.candidates)},
                          {"best_ratio", state_.best_ratio},
                          {"search_end", static_cast<double>(state_.end)}};
  return point;
}

}  // namespace mercer::infinite_features
