// What an interrupted run needs to go on with the same bits, and what it hands out.
#include <cmath>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/status_macros.h"
#include "core/base/step_count.h"
#include "core/learners/infinite_features/infinite_features.h"
#include "core/learners/infinite_features/problem.h"
#include "core/training/feature_term.h"

namespace mercer::infinite_features {
namespace {

constexpr uint64_t kStateVersion = 2;

bool IsPositive(double value) { return value > 0 && std::isfinite(value); }

// The means are not written: they follow from the parameters.
void WriteGroup(const ScaledGroup& group, ByteWriter& writer) {
  writer.WriteDoubles(group.parameters);
  writer.WriteMatrix(group.scales);
}

bool StartFits(const MasterPoint& start, Index columns, Index outputs) {
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

std::string InfiniteFeaturesLearner::Serialize() const {
  ByteWriter writer;
  writer.WriteUint64(kStateVersion);
  for (const Lambdas& lambdas : {state_.lambdas, state_.largest}) {
    writer.WriteDouble(lambdas.specific);
    writer.WriteDouble(lambdas.shared);
  }
  writer.WriteUint8(static_cast<uint8_t>(state_.end));
  writer.WriteUint64(state_.groups.size());
  for (const ScaledGroup& group : state_.groups) {
    WriteGroup(group, writer);
  }
  for (const int64_t count :
       {state_.rounds, state_.empty_rounds, state_.candidates, state_.round_iterations}) {
    writer.WriteInt64(count);
  }
  for (const double value :
       {state_.best_ratio, state_.promised, state_.master_decrease, state_.goal}) {
    writer.WriteDouble(value);
  }
  writer.WriteBool(state_.stuck);
  writer.WriteMatrix(state_.start.specific);
  writer.WriteVector(state_.start.shared);
  writer.WriteBool(master_ != nullptr);
  writer.WriteString(master_ != nullptr ? master_->SaveState() : std::string());
  return std::move(writer).Take();
}

absl::Status InfiniteFeaturesLearner::Deserialize(std::string_view bytes, RunContext& context) {
  const absl::Status damaged =
      absl::DataLossError("not a state of infinite_features for this problem");
  ByteReader reader(bytes);
  const bool known = reader.ReadUint64() == kStateVersion;
  State state;
  for (Lambdas* lambdas : {&state.lambdas, &state.largest}) {
    lambdas->specific = reader.ReadDouble();
    lambdas->shared = reader.ReadDouble();
  }
  const uint8_t end = reader.ReadUint8();
  const uint64_t num_groups = reader.ReadUint64();
  for (uint64_t g = 0; g < num_groups && reader.ok(); ++g) {
    ScaledGroup& group = state.groups.emplace_back();
    group.parameters = reader.ReadDoubles();
    group.scales = reader.ReadMatrix();
  }
  state.rounds = reader.ReadInt64();
  state.empty_rounds = reader.ReadInt64();
  state.candidates = reader.ReadInt64();
  state.round_iterations = reader.ReadInt64();
  state.best_ratio = reader.ReadDouble();
  state.promised = reader.ReadDouble();
  state.master_decrease = reader.ReadDouble();
  state.goal = reader.ReadDouble();
  state.stuck = reader.ReadBool();
  state.start = MasterPoint::Zero(0, num_outputs());
  state.start.specific = reader.ReadMatrix();
  state.start.shared = reader.ReadVector();
  const bool begun = reader.ReadBool();
  const std::string master_state = reader.ReadString();
  if (!known || !reader.AtEnd() || end > static_cast<uint8_t>(SearchEnd::kFixed) ||
      !IsStepCount(state.rounds) || !IsStepCount(state.empty_rounds) ||
      !IsStepCount(state.candidates) || !IsStepCount(state.round_iterations) ||
      !IsPositive(state.master_decrease) || !IsPositive(state.goal) ||
      !(state.lambdas.specific > 0) || !(state.lambdas.shared > 0)) {
    return damaged;
  }
  state.end = static_cast<SearchEnd>(end);
  state_ = std::move(state);
  master_ = nullptr;
  for (Table& table : tables_) {
    table.columns = nullptr;
  }
  if (!begun && num_groups == 0) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(PrepareFamily(context));
  for (const ScaledGroup& group : state_.groups) {
    if (!GroupFits(group, *family_, tables_.size())) {
      return damaged;
    }
  }
  const Index columns = begun ? 0 : static_cast<Index>(num_groups) * family_->columns_per_group();
  if (!StartFits(state_.start, columns, num_outputs())) {
    return damaged;
  }
  if (!begun) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(BuildColumns(context));
  std::unique_ptr<MasterSolver> master = MakeMasterSolver(ChosenMethod(options_));
  master->SetAccuracy(WantedAccuracy());
  const absl::Status restored =
      master->RestoreState(MakeMaster(state_.lambdas), master_state, context);
  if (restored.ok()) {
    master_ = std::move(master);
  }
  return absl::IsInvalidArgument(restored) ? damaged : restored;
}

absl::Status InfiniteFeaturesLearner::RestoreState(const TrainingProblem& problem,
                                                   std::string_view state, RunContext& context) {
  MERCER_RETURN_IF_ERROR(Start(problem, nullptr));
  MERCER_RETURN_IF_ERROR(Deserialize(state, context));
  saved_ = std::string(state);
  return absl::OkStatus();
}

TrainedPoint InfiniteFeaturesLearner::MakePoint() const {
  const Matrix weights = master_->point().Weights();
  const Index columns = family_->columns_per_group();
  const Index outputs = master_->problem().num_tasks();
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
  }
  Matrix coefficients(weights.rows(), outputs);
  point.function.bias = master_->point().bias;
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
    point.function.feature_terms.push_back(std::move(term));
  }

  const std::vector<Matrix> slopes = SlopesOf(master_->evaluation());
  Index first = 0;
  for (size_t t = 0; t < slopes.size(); ++t) {
    point.witness.tasks.push_back({DualOfAllRows(problem_->tasks[t], slopes[t]),
                                   point.function.bias.segment(first, slopes[t].cols())});
    first += slopes[t].cols();
  }
  point.witness.arrays = {{"parameters", std::move(parameters)},
                          {"scales", std::move(scales)},
                          {"specific", master_->point().specific},
                          {"shared", master_->point().shared}};
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
