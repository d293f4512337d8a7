#include "core/learners/svm_rfe/svm_rfe.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/svm_rfe/problem.h"
#include "core/learners/svm_rfe/tables.h"
#include "core/training/contract/input_columns.h"
#include "core/training/terms/feature_term.h"

namespace mercer::svm_rfe {
namespace {

constexpr double kSliceOperations = 3e8;  // of a step, about 0.2 s
constexpr double kMachineOperations = 1e4;
// Criteria of columns that are compared must not depend on where a solver stopped: with a relative
// gap g weights are off by at most sqrt(2 g) of the root of the objective, by far less once
// Newton's method has found the rows at the margin.
constexpr double kMachineGap = 1e-12;
// A Gram matrix that columns were taken away from has the rounding of what was there at first: not
// more than so many times that of what is left.
constexpr double kMostCancelled = 10.0;
constexpr Index kColumnsOfTask = 256;

Index CountNonZeros(const Vector& values) { return (values.array() != 0).count(); }

}  // namespace

absl::Status SvmRfeLearner::Begin(const WarmStart* /*warm_start*/) {
  MERCER_ASSIGN_OR_RETURN(machines_, ReadMachines(options_, *problem_));
  const Index columns = CountInputs(*problem_);
  counts_ = CountsOf(options_, columns);
  kept_ = KeptColumns(options_, columns);
  const auto outputs = static_cast<Index>(machines_.size());
  state_.dual = Vector::Zero(NumRows() * outputs);
  state_.steps = Vector::Zero(outputs);
  state_.primal = Vector::Constant(outputs, kInfinity);
  state_.lower = Vector::Constant(outputs, -kInfinity);
  columns_ = nullptr;
  gram_ = nullptr;
  solver_ = nullptr;
  return absl::OkStatus();
}

bool SvmRfeLearner::Fits(const SvmRfeState& state) const {
  const Index columns = NumColumns();
  if (state.round < 0 || state.round > LastRound() + 1 || state.output < 0 ||
      state.output >= static_cast<int64_t>(machines_.size()) || state.iterations < 0) {
    return false;
  }
  const Index left = state.round < LastRound() ? CountIn(state.round) : 0;
  std::vector<bool> seen(static_cast<size_t>(columns));
  for (const Index column : state.ranking.removed) {
    if (column < 0 || column >= columns || seen[static_cast<size_t>(column)]) {
      return false;
    }
    seen[static_cast<size_t>(column)] = true;
  }
  const auto removed = static_cast<Index>(state.ranking.removed.size());
  const bool has_kept = state.kept_dual.size() > 0;
  return removed == columns - left && state.ranking.criteria.size() == removed &&
         state.ranking.criteria.allFinite() && state.dual.allFinite() &&
         state.kept_dual.allFinite() && state.steps.allFinite() && has_kept == (state.round > 0) &&
         state.fresh >= 0 && state.fresh <= std::min(state.round, LastRound()) &&
         (state.round < LastRound() || state.fresh == LastRound());
}

absl::Status SvmRfeLearner::Prepare(RunContext& context) {
  if (columns_ != nullptr) {
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(Matrix columns, ReadColumns(*problem_, problem_->tasks[0].rows, context));
  squares_.resize(columns.cols());
  for (Index l = 0; l < columns.cols(); ++l) {
    squares_(l) = SquaredNormOfRows(columns.col(l));
  }
  columns_ = std::make_unique<const Matrix>(std::move(columns));
  return absl::OkStatus();
}

std::vector<Index> SvmRfeLearner::Leaving(int64_t round) const {
  const auto begin = state_.ranking.removed.begin();
  return {begin + (NumColumns() - CountIn(round - 1)), begin + (NumColumns() - CountIn(round))};
}

// The matrix of the present round: from that of the round before, or as it became what it is.
absl::Status SvmRfeLearner::PrepareGram(RunContext& context) {
  if (gram_ != nullptr && gram_round_ == state_.round) {
    return absl::OkStatus();
  }
  if (gram_ == nullptr) {
    gram_ = std::make_unique<ColumnGram>(*columns_);
    gram_round_ = -1;
  }
  if (gram_round_ < state_.fresh) {
    MERCER_RETURN_IF_ERROR(gram_->Compute(ColumnsIn(state_.fresh), context));
    gram_round_ = state_.fresh;
  }
  while (gram_round_ < state_.round) {
    MERCER_RETURN_IF_ERROR(gram_->Remove(Leaving(gram_round_ + 1), context));
    ++gram_round_;
  }
  return absl::OkStatus();
}

// Machines side by side until there was about 0.2 s of work.
absl::Status SvmRfeLearner::Advance(RunContext& context) {
  MERCER_RETURN_IF_ERROR(Prepare(context));
  const auto rows = static_cast<double>(NumRows());
  double operations = 0;
  while (operations < kSliceOperations && !IsDone()) {
    if (solver_ == nullptr) {
      MERCER_RETURN_IF_ERROR(StartMachine(context));
      operations += kMachineOperations + rows * rows;
      if (state_.output == 0) {
        operations += rows * rows * static_cast<double>(CountIn(state_.round));
      }
    }
    while (!solver_->done() && operations < kSliceOperations) {
      operations += kMachineOperations + solver_->NextCost();
      MERCER_RETURN_IF_ERROR(solver_->Step(1, context));
    }
    if (solver_->done()) {
      operations += rows * static_cast<double>(CountIn(state_.round));
      MERCER_RETURN_IF_ERROR(FinishMachine(context));
    }
  }
  return absl::OkStatus();
}

absl::Status SvmRfeLearner::StartMachine(RunContext& context) {
  MERCER_RETURN_IF_ERROR(PrepareGram(context));
  auto solver = std::make_unique<SvmNewtonSolver>(gram_->kernel(), kMachineGap);
  const Vector first = state_.dual.segment(state_.output * NumRows(), NumRows());
  MERCER_RETURN_IF_ERROR(
      solver->Start(machines_[static_cast<size_t>(state_.output)],
                    {.dual = first, .proximal_step = state_.steps(state_.output)}, context));
  solver_ = std::move(solver);
  return absl::OkStatus();
}

// The bounds that the solver ends by are those of the best multiples of its dual and its function.
absl::Status SvmRfeLearner::FinishMachine(RunContext& context) {
  const SvmCertificate& certificate = solver_->certificate();
  state_.dual.segment(state_.output * NumRows(), NumRows()) =
      certificate.dual_scale * solver_->dual();
  state_.steps(state_.output) = solver_->Successor().proximal_step;
  state_.iterations += solver_->iterations();
  state_.primal(state_.output) = certificate.primal;
  state_.lower(state_.output) = certificate.dual;
  solver_ = nullptr;
  if (++state_.output == static_cast<int64_t>(machines_.size())) {
    state_.output = 0;
    return FinishRound(context);
  }
  return absl::OkStatus();
}

absl::Status SvmRfeLearner::FinishRound(RunContext& context) {
  if (state_.round < LastRound()) {
    const std::vector<Index> columns = ColumnsIn(state_.round);
    const auto left = static_cast<Index>(columns.size());
    MERCER_ASSIGN_OR_RETURN(const Matrix weights, WeightsOf(columns, state_.dual, context));
    if (left >= kept_) {
      state_.kept_dual = state_.dual;
    }
    const bool is_last = state_.round + 1 == LastRound();
    state_.ranking.RemoveWorst(columns, weights.rowwise().squaredNorm(),
                               left - (is_last ? 0 : CountIn(state_.round + 1)));
  }
  ++state_.round;
  if (state_.round == LastRound()) {
    state_.dual = state_.kept_dual;
    state_.steps.setZero();
  }
  if (!IsDone() && !UpdatesGram()) {
    state_.fresh = state_.round;
  }
  return absl::OkStatus();
}

// Whether the matrix of this round is the last one less the columns that left: never the final one,
// whose bounds are the model's.
bool SvmRfeLearner::UpdatesGram() const {
  if (state_.round >= LastRound() || 2 * CountIn(state_.round) <= CountIn(state_.fresh)) {
    return false;
  }
  const auto trace = [&](int64_t round) {
    double sum = 0;
    for (const Index column : ColumnsIn(round)) {
      sum += squares_(column);
    }
    return sum;
  };
  return trace(state_.fresh) <= kMostCancelled * trace(state_.round);
}

absl::StatusOr<Matrix> SvmRfeLearner::WeightsOf(const std::vector<Index>& columns,
                                                const Vector& dual, RunContext& context) const {
  const auto outputs = static_cast<Index>(machines_.size());
  const auto of_rows = dual.reshaped(NumRows(), outputs);
  Matrix weights(static_cast<Index>(columns.size()), outputs);
  context.parallel().ForBlocks(weights.rows(), kColumnsOfTask, [&](Index begin, Index end) {
    for (Index c = begin; c < end && !context.cancelled(); ++c) {
      for (Index o = 0; o < outputs; ++o) {
        weights(c, o) = DotOfRows(columns_->col(columns[static_cast<size_t>(c)]), of_rows.col(o));
      }
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return weights;
}

// Where costs are large against the margin, what rounding takes from the margin costs far more than
// the longer weights that make up for it.
absl::StatusOr<Vector> SvmRfeLearner::Finish(const std::vector<Index>& columns, Matrix& weights,
                                             RunContext& context) const {
  Vector biases(weights.cols());
  for (Index o = 0; o < weights.cols(); ++o) {
    Vector scores = Vector::Zero(NumRows());
    for (size_t c = 0; c < columns.size(); ++c) {
      scores += weights(static_cast<Index>(c), o) * columns_->col(columns[c]);
    }
    const SvmProblem& machine = machines_[static_cast<size_t>(o)];
    MERCER_ASSIGN_OR_RETURN(
        const BiasInterval bias,
        machine.loss->ExactBias(machine.targets, machine.costs, scores, context));
    const Vector values = scores.array() + bias.chosen;
    MERCER_ASSIGN_OR_RETURN(const double scale,
                            BestPrimalScale(*machine.loss, machine.targets, machine.costs, values,
                                            weights.col(o).squaredNorm(), context));
    weights.col(o) *= scale;
    biases(o) = scale * bias.chosen;
  }
  return biases;
}

TrainedPoint SvmRfeLearner::PointAt(const std::vector<Index>& columns, const Matrix& weights,
                                    const Vector& biases, const Vector& dual) const {
  const PreparedData& inputs = *problem_->tasks[0].inputs;
  const auto outputs = static_cast<Index>(machines_.size());
  TrainedPoint point;
  FeatureTerm term;
  term.family.kind = FeatureFamilyKind::kColumns;
  term.num_inputs = NumColumns();
  Matrix named(static_cast<Index>(columns.size()), 1);
  for (size_t c = 0; c < columns.size(); ++c) {
    named(static_cast<Index>(c), 0) = static_cast<double>(columns[c]);
    term.groups.push_back({static_cast<double>(columns[c])});
  }
  for (int o = 0; o < static_cast<int>(outputs); ++o) {
    term.outputs.push_back(o);
  }
  term.coefficients = weights;
  point.summary.feature_names = FeatureGroupNames(term, inputs);
  point.summary.feature_weights = weights.cwiseAbs();
  if (!columns.empty()) {
    point.function.terms.push_back(std::make_shared<const FeatureTerm>(std::move(term)));
  }
  point.function.bias = biases;
  point.witness.tasks.push_back({dual.reshaped(NumRows(), outputs), biases});
  point.witness.arrays = {{"columns", std::move(named)}, {"weights", weights}};
  point.summary.num_support_vectors = CountNonZeros(dual);
  return point;
}

// There is none before the end: machines of other columns have other bounds.
absl::StatusOr<TrainedPoint> SvmRfeLearner::CurrentModel(RunContext& context) const {
  if (columns_ == nullptr || !IsDone()) {
    return absl::FailedPreconditionError("the elimination has not ended");
  }
  const std::vector<Index> columns = ColumnsIn(LastRound());
  MERCER_ASSIGN_OR_RETURN(Matrix weights, WeightsOf(columns, state_.dual, context));
  MERCER_ASSIGN_OR_RETURN(const Vector biases, Finish(columns, weights, context));
  TrainedPoint point = PointAt(columns, weights, biases, state_.dual);
  point.summary.tables = {RankingTable(state_.ranking, columns, InputNames(*problem_))};
  return point;
}

absl::StatusOr<TrainedPoint> SvmRfeLearner::ConstantModel(RunContext& context) {
  Vector biases(static_cast<Index>(machines_.size()));
  const Vector zeros = Vector::Zero(NumRows());
  for (Index o = 0; o < biases.size(); ++o) {
    const SvmProblem& machine = machines_[static_cast<size_t>(o)];
    MERCER_ASSIGN_OR_RETURN(
        const BiasInterval bias,
        machine.loss->ExactBias(machine.targets, machine.costs, zeros, context));
    biases(o) = bias.chosen;
  }
  TrainedPoint point =
      PointAt({}, Matrix(0, biases.size()), biases, Vector::Zero(NumRows() * biases.size()));
  point.summary.tables = {RankingTable({}, {}, {})};
  return point;
}

StepReport SvmRfeLearner::Report() const {
  StepReport report;
  const auto columns = static_cast<double>(NumColumns());
  report.stage = state_.round < LastRound() ? "eliminate" : "solve";
  report.fraction =
      IsDone() ? 1 : static_cast<double>(state_.ranking.removed.size()) / (columns + 1);
  report.active_kernels = IsDone() ? kept_ : CountIn(state_.round);
  report.inner_iterations = state_.iterations;
  report.has_model = IsDone();
  report.support_vectors = CountNonZeros(state_.dual);
  if (IsDone()) {
    report.primal = state_.primal.sum();
    report.dual = state_.lower.sum();
    report.accuracy = RelativeGap(report.primal, report.dual);
    if (report.primal <= 1e-300) {
      report.stop = StopReason::kObjectiveZero;
    } else if (report.accuracy > target_) {
      report.stop = StopReason::kNumericalLimit;
    }
  }
  return report;
}

void SvmRfeLearner::SaveParts(ByteWriter& writer) const {
  writer.WriteString(solver_ != nullptr ? solver_->SaveState() : std::string());
}

absl::Status SvmRfeLearner::LoadParts(ByteReader& reader, RunContext& context) {
  const std::string of_solver = reader.ReadString();
  gram_ = nullptr;
  solver_ = nullptr;
  MERCER_RETURN_IF_ERROR(Prepare(context));
  if (of_solver.empty() || IsDone()) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(PrepareGram(context));
  auto solver = std::make_unique<SvmNewtonSolver>(gram_->kernel(), kMachineGap);
  MERCER_RETURN_IF_ERROR(OfPart(
      solver->RestoreState(machines_[static_cast<size_t>(state_.output)], of_solver, context)));
  solver_ = std::move(solver);
  return absl::OkStatus();
}

}  // namespace mercer::svm_rfe
