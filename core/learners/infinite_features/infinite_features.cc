#include "core/learners/infinite_features/infinite_features.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/infinite_features/ascent.h"
#include "core/learners/infinite_features/problem.h"
#include "core/training/contract/single_task.h"
#include "core/training/terms/feature_term.h"

namespace mercer::infinite_features {
namespace {

constexpr double kSliceOperations = 3e8;  // multiplications of a step, about 0.2 s

// How many iterations of the solver and searches a step makes, and how many iterations there are at
// most between two searches. The baselines have more of them, since their iterations are small.
struct Turns {
  int of_step = 4;
  int64_t between_searches = 20;
};

Turns TurnsOf(GroupMethod method) {
  return method == GroupMethod::kNewton ? Turns() : Turns{30, 30};
}

// The baselines solve to this share of the violation that a candidate must have: a looser master
// could make a candidate seem to violate the conditions of optimality that does not.
constexpr double kShareOfViolation = 0.1;
constexpr double kGroupDecrease = 1e-4;
constexpr double kLeastDecrease = 1e-12;
constexpr double kShareOfTarget = 0.5;  // the gap of the last solve, of that asked for
constexpr double kRoundingOfZero = 1e-27;
constexpr double kRoundingOfSum = 1e-9;

}  // namespace

absl::Status InfiniteFeaturesLearner::Begin(const WarmStart* warm_start) {
  MERCER_RETURN_IF_ERROR(CheckTaskRows(*problem_));
  MERCER_RETURN_IF_ERROR(CheckOptions(options_));
  MERCER_ASSIGN_OR_RETURN(loss_, MakeChosenLoss(options_, problem_->kind));
  MERCER_ASSIGN_OR_RETURN(norm_, MakeChosenNorm(options_));
  MERCER_RETURN_IF_ERROR(CheckOptionsFor(options_, CountInputs(problem_->tasks[0])));
  tables_.clear();
  for (const TaskData& task : problem_->tasks) {
    if (loss_->is_margin_loss()) {
      MERCER_RETURN_IF_ERROR(InTask(task, CheckBothClasses(task.targets, task.costs)));
    }
    tables_.push_back({RowsThatCount(task), nullptr, nullptr});
  }
  state_.group_decrease = kGroupDecrease;
  state_.start = GroupPoint::Zero(0, num_outputs());
  family_ = nullptr;
  stored_ = nullptr;
  solver_ = nullptr;
  if (warm_start != nullptr && warm_start->point != nullptr && warm_start->problem != nullptr) {
    TakeOver(*warm_start);
  }
  return absl::OkStatus();
}

absl::Status InfiniteFeaturesLearner::Advance(RunContext& context) {
  MERCER_RETURN_IF_ERROR(Prepare(context));
  return solver_ == nullptr ? BeginSearch(context) : Work(context);
}

absl::Status InfiniteFeaturesLearner::Prepare(RunContext& context) {
  MERCER_RETURN_IF_ERROR(PrepareFamily(context));
  return tables_[0].columns == nullptr ? BuildColumns(context) : absl::OkStatus();
}

// Prepares the family. It is a function of the problem alone, so it is no part of the state.
absl::Status InfiniteFeaturesLearner::PrepareFamily(RunContext& context) {
  if (family_ != nullptr) {
    return absl::OkStatus();
  }
  context.ReportStage("features");
  MERCER_ASSIGN_OR_RETURN(spec_, ResolveSpec(options_, *problem_, context));
  std::shared_ptr<const FeatureFamily> family = given_family_;
  if (family == nullptr) {
    MERCER_ASSIGN_OR_RETURN(family, MakeFeatureFamily(spec_, CountInputs(problem_->tasks[0])));
  }
  for (Table& table : tables_) {
    table.rows = std::make_unique<FeatureRows>(table.task.inputs, table.task.rows);
  }
  MERCER_ASSIGN_OR_RETURN(
      family_, MakeSearchFamily(options_, spec_, std::move(family), problem_->seed, context));
  const Index candidates = options_.dictionary_size * family_->columns_per_group();
  if (options_.selection == SelectionChoice::kSelected && family_->searches_in_single() &&
      StoredCandidateBytes(num_rows(), candidates).value() <= kMaxStoredCandidateBytes) {
    stored_ = std::make_unique<StoredCandidates>();
  }
  return absl::OkStatus();
}

GroupProblem InfiniteFeaturesLearner::MakeGroupProblem(const Lambdas& lambdas) const {
  GroupProblem problem;
  problem.loss = loss_;
  for (const Table& table : tables_) {
    for (Index t = 0; t < table.task.targets.cols(); ++t) {
      problem.tasks.push_back({table.columns.get(), table.task.targets.col(t), table.task.costs});
    }
  }
  const auto groups = static_cast<Index>(state_.groups.size());
  for (Index g = 1; g <= groups; ++g) {
    problem.group_begin.push_back(g * family_->columns_per_group());
  }
  problem.group_weights.resize(groups);
  for (Index g = 0; g < groups; ++g) {
    problem.group_weights(g) =
        GroupWeight(options_, state_.groups[static_cast<size_t>(g)].parameters);
  }
  problem.specific = {norm_, lambdas.specific};
  problem.shared = {norm_, lambdas.shared};
  return problem;
}

SearchProblem InfiniteFeaturesLearner::MakeSearch() const {
  std::vector<const FeatureRows*> rows;
  for (const Table& table : tables_) {
    rows.push_back(table.rows.get());
  }
  return {family_.get(),
          std::move(rows),
          ChosenNormalization(options_),
          ChosenScope(options_),
          norm_,
          [this](const FeatureParameters& group) { return GroupWeight(options_, group); },
          stored_.get()};
}

// The solver of a problem without features, on tables without columns that outlive it: its point is
// the constant model.
absl::StatusOr<std::unique_ptr<GroupSolver>> InfiniteFeaturesLearner::SolveConstant(
    const EmptyTables& none, RunContext& context) const {
  GroupProblem constant = MakeGroupProblem({1.0, kInfinity});
  constant.group_begin = {0};
  constant.group_weights.resize(0);
  for (size_t t = 0; t < constant.tasks.size(); ++t) {
    constant.tasks[t].columns = none[TableOf(static_cast<Index>(t))].get();
  }
  std::unique_ptr<GroupSolver> solver = MakeGroupSolver(ChosenMethod(options_));
  MERCER_RETURN_IF_ERROR(
      solver->Start(std::move(constant), GroupPoint::Zero(0, num_outputs()), context));
  return solver;
}

InfiniteFeaturesLearner::EmptyTables InfiniteFeaturesLearner::MakeEmptyTables() const {
  EmptyTables none;
  for (const Table& table : tables_) {
    none.push_back(
        std::make_unique<FeatureColumns>(table.task.targets.rows(), ColumnPrecision::kSingle));
  }
  return none;
}

// The search of a round where the model is constant: the largest products that it finds say what
// lambda is a share of.
absl::StatusOr<SearchRound> InfiniteFeaturesLearner::SearchAtConstant(RunContext& context) const {
  const EmptyTables none = MakeEmptyTables();
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<GroupSolver> solver, SolveConstant(none, context));
  context.ReportStage("search");
  return SearchCandidates(MakeSearch(), problem_->seed, 0, SlopesOf(solver->evaluation()), {},
                          context);
}

// With the features that are taken over, if any; else the first round's search is the first of the
// run.
absl::Status InfiniteFeaturesLearner::BeginSearch(RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(SearchRound found, SearchAtConstant(context));
  state_.largest = found.Largest();
  state_.lambdas = ResolveLambdas();
  std::unique_ptr<GroupSolver> solver = MakeGroupSolver(ChosenMethod(options_));
  solver->SetAccuracy(WantedAccuracy());
  MERCER_RETURN_IF_ERROR(solver->Start(MakeGroupProblem(state_.lambdas), StartWeights(), context));
  solver_ = std::move(solver);
  state_.start = GroupPoint::Zero(0, num_outputs());
  if (LossIsZero()) {
    EndSearch(SearchEnd::kZeroSlopes);
    return absl::OkStatus();
  }
  if (!state_.groups.empty()) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(Climb(found, context));
  return Admit(found, context);
}

// The weights to start with: a part that the penalties leave out now has none.
GroupPoint InfiniteFeaturesLearner::StartWeights() const {
  GroupPoint point = state_.start;
  if (!std::isfinite(state_.lambdas.specific)) {
    point.specific.setZero();
  }
  if (!std::isfinite(state_.lambdas.shared)) {
    point.shared.setZero();
  }
  return point;
}

Lambdas InfiniteFeaturesLearner::ResolveLambdas() const {
  if (options_.lambda_unit == LambdaUnit::kAbsolute || state_.largest.specific == 0) {
    return {options_.lambda, options_.lambda_shared};
  }
  // Slopes of outputs that cancel each other have no shared part, whatever rounding leaves of it.
  const bool cancels = state_.largest.shared <= kRoundingOfSum * state_.largest.specific;
  return {options_.lambda * state_.largest.specific,
          options_.lambda_shared * (cancels ? state_.largest.specific : state_.largest.shared)};
}

// Whether the risk is 0, or what rounding leaves of it.
bool InfiniteFeaturesLearner::LossIsZero() const {
  double of_targets = 0;
  for (const Table& table : tables_) {
    const Eigen::ArrayXd size = table.task.targets.array().abs().rowwise().maxCoeff();
    const Vector of_rows = size * (1.0 + size);
    of_targets += DotOfRows(table.task.costs, of_rows);
  }
  return solver_->evaluation().risk <= kRoundingOfZero * of_targets;
}

// Solves and searches until there was about 0.2 s of work, or the search has ended and the solution
// is as good as was asked for.
absl::Status InfiniteFeaturesLearner::Work(RunContext& context) {
  if (state_.end != SearchEnd::kSearching) {
    state_.stuck = solver_->stop() == GroupStop::kPrecision;
    solver_->SetAccuracy(WantedAccuracy());
  }
  const Turns turns = TurnsOf(ChosenMethod(options_));
  double operations = 0;
  for (int turn = 0; turn < turns.of_step && operations < kSliceOperations && !state_.stuck;
       ++turn) {
    const bool searching = state_.end == SearchEnd::kSearching;
    if (solver_->stop() == GroupStop::kRunning &&
        !(searching && state_.round_iterations >= turns.between_searches)) {
      MERCER_RETURN_IF_ERROR(Solve(context));
      operations += SolveOperations();
    } else if (searching) {
      const int64_t before = state_.candidates;
      MERCER_RETURN_IF_ERROR(Search(context));
      operations += SearchOperations(state_.candidates - before + CandidatesOfAscent(options_));
    } else {
      break;
    }
  }
  return absl::OkStatus();
}

// About how many multiplications an iteration of the solver takes: passes over the rows, sweeps
// over the matrices of products, a few factorisations.
double InfiniteFeaturesLearner::SolveOperations() const {
  const auto columns = static_cast<double>(tables_[0].columns->cols());
  const auto outputs = static_cast<double>(num_outputs());
  const auto scores = static_cast<double>(num_rows()) * (tables_.size() > 1 ? 1.0 : outputs);
  return 4 * scores * (columns + 8) + outputs * columns * columns * (100 + 3 * columns) + 1e5;
}

double InfiniteFeaturesLearner::SearchOperations(int64_t candidates) const {
  const auto rows = static_cast<double>(num_rows());
  const auto inputs = static_cast<double>(family_->num_inputs());
  const double per_table = static_cast<double>(tables_.size()) * (100 * inputs + 1000);
  return static_cast<double>(candidates) *
             (rows * static_cast<double>(family_->work_per_row() + 8) + per_table) +
         1e5;
}

GroupAccuracy InfiniteFeaturesLearner::WantedAccuracy() const {
  if (state_.end != SearchEnd::kSearching) {
    return {kShareOfTarget * target_, 0};
  }
  const double gap = ChosenMethod(options_) == GroupMethod::kNewton
                         ? options_.master_gap
                         : std::max(options_.master_gap, kShareOfViolation * options_.violation);
  return {gap, state_.group_decrease};
}

absl::Status InfiniteFeaturesLearner::Solve(RunContext& context) {
  context.ReportStage("solve");
  MERCER_RETURN_IF_ERROR(solver_->Step(context));
  ++state_.round_iterations;
  // The group that entered last promised a larger decrease (GainOfGroup), so that the solve was too
  // loose: it goes on with a tenth of its tolerance.
  const double objective = solver_->evaluation().objective();
  if (solver_->stop() == GroupStop::kDecrease && state_.end == SearchEnd::kSearching &&
      objective > state_.promised && state_.group_decrease > kLeastDecrease &&
      state_.round_iterations < TurnsOf(ChosenMethod(options_)).between_searches) {
    state_.group_decrease *= 0.1;
    solver_->SetAccuracy(WantedAccuracy());
  }
  return absl::OkStatus();
}

absl::Status InfiniteFeaturesLearner::Search(RunContext& context) {
  if (!CanGrow()) {
    EndSearch(SearchEnd::kMaxGroups);
    return absl::OkStatus();
  }
  if (LossIsZero()) {
    EndSearch(SearchEnd::kZeroSlopes);
    return absl::OkStatus();
  }
  if (state_.rounds >= options_.max_rounds) {
    EndSearch(SearchEnd::kMaxRounds);
    return absl::OkStatus();
  }
  const double decrease = state_.before_round - solver_->evaluation().objective();
  if (options_.min_decrease > 0 && state_.before_round > 0 && state_.empty_rounds == 0 &&
      decrease < options_.min_decrease * state_.before_round) {
    EndSearch(SearchEnd::kMinDecrease);
    return absl::OkStatus();
  }
  context.ReportStage("search");
  MERCER_ASSIGN_OR_RETURN(
      SearchRound found,
      SearchCandidates(MakeSearch(), problem_->seed, static_cast<uint64_t>(state_.rounds),
                       SlopesOf(solver_->evaluation()), state_.groups, context));
  MERCER_RETURN_IF_ERROR(Climb(found, context));
  return Admit(found, context);
}

// Moves the best one uphill. Others of the same round would often climb the same hill.
absl::Status InfiniteFeaturesLearner::Climb(SearchRound& found, RunContext& context) const {
  if (options_.ascent_steps == 0 || family_->motion() == nullptr || found.found.empty()) {
    return absl::OkStatus();
  }
  FoundGroup& best = *std::max_element(found.found.begin(), found.found.end(),
                                       [this](const FoundGroup& a, const FoundGroup& b) {
                                         return a.Ratio(state_.lambdas) < b.Ratio(state_.lambdas);
                                       });
  MERCER_ASSIGN_OR_RETURN(best, Ascend(MakeSearch(), best, options_.ascent_steps, state_.lambdas,
                                       SlopesOf(solver_->evaluation()), context));
  return absl::OkStatus();
}

bool InfiniteFeaturesLearner::CanGrow() const {
  return static_cast<int64_t>(state_.groups.size()) < options_.max_groups;
}

void InfiniteFeaturesLearner::EndSearch(SearchEnd end) {
  state_.end = end;
  solver_->SetAccuracy(WantedAccuracy());
}

absl::Status InfiniteFeaturesLearner::Admit(const SearchRound& found, RunContext& context) {
  ++state_.rounds;
  state_.candidates += found.candidates;
  state_.best_ratio = found.BestRatio(state_.lambdas);
  state_.promised = kInfinity;
  state_.round_iterations = 0;
  const bool fixed = options_.selection == SelectionChoice::kFixed;
  const Index most =
      GroupsOfRound(options_, family_->num_inputs(), static_cast<Index>(state_.groups.size()));
  MERCER_ASSIGN_OR_RETURN(const Index admitted,
                          Append(fixed ? found.Best(state_.lambdas, -1, found.candidates)
                                       : found.Best(state_.lambdas, 1 + options_.violation, most),
                                 context));
  if (fixed) {
    EndSearch(SearchEnd::kFixed);
  }
  if (admitted == 0) {
    ++state_.empty_rounds;
    if (fixed) {
      return absl::OkStatus();
    }
    if (family_->is_finite() || state_.empty_rounds >= options_.patience) {
      EndSearch(SearchEnd::kNoViolation);
    }
    return absl::OkStatus();
  }
  state_.empty_rounds = 0;
  state_.promised = admitted == 1 ? state_.promised : kInfinity;
  state_.before_round = solver_->evaluation().objective();
  GroupProblem extended = MakeGroupProblem(state_.lambdas);
  return solver_->Extend(std::move(extended.group_begin), std::move(extended.group_weights),
                         context);
}

StepReport InfiniteFeaturesLearner::Report() const {
  const bool searching = state_.end == SearchEnd::kSearching;
  StepReport report;
  report.stage = searching ? "search" : "certify";
  report.primal = solver_->certificate().primal;
  if (!searching) {
    report.dual = solver_->certificate().dual;
    report.accuracy = solver_->certificate().RelativeGap();
  }
  const double found =
      static_cast<double>(state_.groups.size()) / static_cast<double>(options_.max_groups);
  report.fraction =
      searching ? 0.9 * found : 0.9 + 0.1 * FractionOfGap(report.accuracy, problem_->relative_gap);
  const Matrix weights = solver_->point().Weights();
  const Index columns = family_->columns_per_group();
  for (Index g = 0; g < weights.rows() / columns; ++g) {
    report.active_kernels += (weights.middleRows(g * columns, columns).array() != 0).any() ? 1 : 0;
  }
  report.inner_iterations = solver_->iterations();
  report.has_model = true;
  if (state_.end == SearchEnd::kZeroSlopes && LossIsZero()) {
    report.stop = StopReason::kObjectiveZero;
  } else if (state_.stuck) {
    report.stop = StopReason::kNumericalLimit;
  }
  return report;
}

absl::StatusOr<TrainedPoint> InfiniteFeaturesLearner::CurrentModel(RunContext& /*context*/) const {
  if (solver_ == nullptr) {
    return absl::FailedPreconditionError("the run has not begun");
  }
  return MakePoint();
}

// The model of penalties that let no feature in, whatever lambda was asked for: as a share of the
// maximum it is known only after a whole search. Nothing is prepared, neither is a median distance
// found nor a dictionary drawn.
absl::StatusOr<TrainedPoint> InfiniteFeaturesLearner::ConstantModel(RunContext& context) {
  const EmptyTables none = MakeEmptyTables();
  InfiniteFeaturesLearner constant(options_, given_family_);
  MERCER_RETURN_IF_ERROR(constant.Start(*problem_, nullptr));
  const Index inputs = CountInputs(problem_->tasks[0]);
  constant.spec_ = SpecOfOptions(options_, inputs);
  MERCER_ASSIGN_OR_RETURN(constant.family_, MakeFeatureFamily(constant.spec_, inputs));
  constant.state_.lambdas = {kInfinity, kInfinity};
  MERCER_ASSIGN_OR_RETURN(constant.solver_, constant.SolveConstant(none, context));
  return constant.MakePoint();
}

}  // namespace mercer::infinite_features
