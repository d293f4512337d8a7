#include "core/training/recipe/recipe_phases.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"

#include "core/base/memory/scratch_space.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/model/predictor.h"
#include "core/training/model/task_rows.h"
#include "core/training/recipe/recipe_checks.h"
#include "core/training/run/composite_learner.h"
#include "core/training/run/evaluation.h"
#include "core/training/run/no_model.h"
#include "core/training/terms/basis.h"

namespace mercer {
namespace {

// Shows one phase as a part of the whole run.
class PhaseObserver : public RunObserver {
 public:
  using Encode = std::function<std::string(std::string_view run_state)>;

  PhaseObserver(RunObserver& outer, const RecipeProgress& progress, const RecipePlan& plan,
                bool ignores_stop, Encode encode)
      : outer_(outer),
        progress_(progress),
        trainings_(plan.trainings()),
        ignores_stop_(ignores_stop),
        encode_(std::move(encode)) {}

  void OnProgress(const ProgressEvent& event) override { outer_.OnProgress(Shown(event)); }
  void OnStage(const ProgressEvent& event) override { outer_.OnStage(Shown(event)); }
  bool WantsCheckpoint() override { return outer_.WantsCheckpoint(); }
  bool WantsLastCheckpoint() override { return outer_.WantsLastCheckpoint(); }
  void OnCheckpoint(std::string state) override { outer_.OnCheckpoint(encode_(state)); }
  void OnVerifying() override {
    if (&Current() == &trainings_.back()) {
      outer_.OnVerifying();
    }
  }
  bool StopRequested() override { return !ignores_stop_ && outer_.StopRequested(); }

 private:
  ProgressEvent Shown(const ProgressEvent& event) const {
    ProgressEvent shown = event;
    shown.iteration += progress_.iterations;
    shown.report.fraction = (static_cast<double>(progress_.phase) + event.report.fraction) /
                            static_cast<double>(trainings_.size());
    shown.phase = Current().name;
    return shown;
  }
  const PlannedTraining& Current() const {
    return trainings_[static_cast<size_t>(progress_.phase)];
  }

  RunObserver& outer_;
  const RecipeProgress& progress_;
  const std::vector<PlannedTraining>& trainings_;
  const bool ignores_stop_;
  const Encode encode_;
};

bool UsesSquares(const std::vector<KernelSpec>& kernels) {
  return std::any_of(kernels.begin(), kernels.end(), ReadsSquare);
}

// What was found out about precomputed kernels, and what was done about them.
ModelTable RepairTable(const Preprocessing& preprocessing) {
  const SquareRepairRule rule = preprocessing.options().square_repair;
  ModelTable table;
  table.name = kRepairsTable;
  table.title = absl::StrCat("kernels that were not positive semidefinite, ",
                             rule == SquareRepairRule::kShift  ? "shifted"
                             : rule == SquareRepairRule::kClip ? "clipped"
                                                               : "flipped");
  table.row_axis = "kernels";
  table.column_axis = "eigenvalues";
  table.columns = {"smallest", "largest", "negative", "their share"};
  const std::vector<SquareRepair>& repairs = preprocessing.repairs();
  table.values.resize(static_cast<Index>(repairs.size()), 4);
  for (size_t i = 0; i < repairs.size(); ++i) {
    const SquareRepair& repair = repairs[i];
    table.rows.push_back(repair.block);
    table.values.row(static_cast<Index>(i)) << repair.smallest(), repair.largest,
        static_cast<double>(repair.eigenvalues.size()), repair.share;
  }
  return table;
}

RoleColumn SelectLabels(const RoleColumn& column, const std::vector<Index>& rows) {
  return {column.role, column.schema, column.values(rows)};
}

}  // namespace

RecipePhases::RecipePhases(const RecipeRun& run, const RecipePlan& plan, const SteadyClock& clock,
                           absl::Duration started, RunObserver& observer)
    : run_(run),
      recipe_(*run.recipe),
      plan_(plan),
      observer_(observer),
      clock_(clock),
      started_(started) {}

absl::Status RecipePhases::Begin(std::string_view state, RunContext& context) {
  if (!state.empty()) {
    const auto num_phases = static_cast<int64_t>(plan_.trainings().size());
    MERCER_ASSIGN_OR_RETURN(progress_, DecodeProgress(state, run_.code_version, num_phases));
    saved_phase_ = progress_.phase;
  }
  progress_.metrics.resize(plan_.num_values());
  progress_.ranking_tests.resize(plan_.num_values());
  return BeginHeldOut(context);
}

const PlannedTraining* RecipePhases::current() const {
  const auto phase = static_cast<size_t>(progress_.phase);
  return phase < plan_.trainings().size() ? &plan_.trainings()[phase] : nullptr;
}

// Predictions of the folds are collected once for each value of a path, without a path once. A
// checkpoint must hold as many collections, each of them possible for these rows.
absl::Status RecipePhases::BeginHeldOut(const RunContext& context) {
  const size_t collections = plan_.has_folds() ? plan_.num_values() : 0;
  if (recipe_.validation.kind != ValidationKind::kNone) {
    MERCER_ASSIGN_OR_RETURN(
        held_out_plan_, HeldOutPlan::Make(plan_.target(), recipe_.kind == TargetKind::kRegression,
                                          std::max<size_t>(collections, 1), context));
  }
  if (progress_.held_out.empty()) {
    progress_.held_out.resize(collections);
  }
  const bool fits = progress_.held_out.size() == collections &&
                    std::all_of(progress_.held_out.begin(), progress_.held_out.end(),
                                [this](const auto& seen) { return held_out_plan_.Fits(seen); });
  return fits ? absl::OkStatus()
              : absl::DataLossError("not a readable checkpoint: its content is inconsistent");
}

double RecipePhases::SecondsUsed() const {
  return progress_.seconds_used + absl::ToDoubleSeconds(clock_.Monotonic() - started_);
}

bool RecipePhases::TimeLimited() const {
  return recipe_.limits.max_time < absl::InfiniteDuration();
}

absl::Duration RecipePhases::TimeLeft() const {
  return TimeLimited()
             ? current()->time_share * recipe_.limits.max_time - absl::Seconds(SecondsUsed())
             : absl::InfiniteDuration();
}

void RecipePhases::RequireModel() {
  requires_model_ = true;
  stopped_before_ = StopRequested() && progress_.run_state.empty();
}

absl::StatusOr<RecipeProblem> RecipePhases::Prepare(const std::vector<Index>& rows,
                                                    RunContext& context) {
  if (!progress_.run_state.empty() || requires_model_) {
    return MakeRecipeProblem(run_, rows, context);
  }
  const Interruption interruption(
      clock_.Monotonic() + TimeLeft(), [this] { return observer_.StopRequested(); }, clock_);
  const InterruptibleScope scope(context, interruption);
  absl::StatusOr<RecipeProblem> made = MakeRecipeProblem(run_, rows, context);
  if (absl::IsCancelled(made.status()) && context.interrupted()) {
    return NoModelError(StopReasonOf(interruption));
  }
  return made;
}

// The phase gets what is left of the time of the whole recipe. Checkpoints of the learner are
// wrapped into those of the recipe.
absl::StatusOr<TrainingOutcome> RecipePhases::Train(const RecipeProblem& made,
                                                    const OptionValues& options,
                                                    const WarmStart* warm_start,
                                                    RunContext& context) {
  RunLimits limits = recipe_.limits;
  limits.max_time = stopped_before_ ? std::min(TimeLeft(), kTimeAfterStop) : TimeLeft();
  limits.constant_if_none = requires_model_;
  limits.parts_at_once = plan_.parts_at_once();
  std::unique_ptr<Learner> learner;
  if (HasPartPerOutput(*run_.entry, options, made.problem)) {
    learner = MakeCompositeLearner(*run_.entry, options, limits);
  } else {
    MERCER_ASSIGN_OR_RETURN(learner, run_.entry->create(options));
  }
  const auto encode = [this](std::string_view run_state) {
    saved_phase_ = progress_.phase;
    return EncodeNow(run_state);
  };
  PhaseObserver observer(observer_, progress_, plan_, stopped_before_, encode);
  const std::string run_state = std::move(progress_.run_state);
  progress_.run_state.clear();
  in_phase_ = true;
  MERCER_ASSIGN_OR_RETURN(TrainingOutcome outcome,
                          RunTraining(*run_.entry, options, *learner, made.problem, limits,
                                      run_state, context, observer, warm_start));
  trained_ = true;
  if (stopped_before_ && outcome.stop_reason == StopReason::kTimeLimit) {
    outcome.stop_reason = StopReason::kStopRequested;
  }
  return outcome;
}

void RecipePhases::EndPhase(int64_t iterations) {
  progress_.iterations += iterations;
  SkipTo(progress_.phase + 1);
}

void RecipePhases::SkipTo(int64_t phase) {
  progress_.phase = phase;
  progress_.run_state.clear();
  requires_model_ = false;
  stopped_before_ = false;
  in_phase_ = false;
  trained_ = false;
}

std::string RecipePhases::EncodeNow(std::string_view run_state) const {
  return EncodeProgress(progress_, run_state, TimeLimited() ? SecondsUsed() : 0, run_.code_version);
}

void RecipePhases::CheckpointPhasesBefore(const absl::Status& error) {
  const bool has_begun = progress_.phase > 0 || !progress_.run_state.empty();
  const bool is_ahead = progress_.phase > saved_phase_;  // else a later state may be saved
  const bool cancelled = absl::IsCancelled(error) && (in_phase_ ? trained_ && is_ahead : has_begun);
  const bool unsaved = IsDiskError(error) && is_ahead;
  if ((cancelled && observer_.WantsCheckpoint()) || (unsaved && observer_.WantsLastCheckpoint())) {
    observer_.OnCheckpoint(EncodeNow(progress_.run_state));
  }
}

Model RecipePhases::Assemble(const RecipeProblem& made, const OptionValues& options,
                             const TrainingOutcome& outcome) const {
  Model model;
  model.learner = run_.entry->name;
  model.options = options;
  model.target = plan_.target().schema.name;
  model.preprocessing = made.preprocessing;
  model.coding = made.coding;
  model.tasks = made.tasks;
  model.function = outcome.point.function;
  model.summary = outcome.point.summary;
  if (!made.preprocessing.repairs().empty()) {
    model.summary.tables.push_back(RepairTable(made.preprocessing));
  }
  model.certificate = outcome.certificate;
  model.stop_reason = outcome.stop_reason;
  model.num_training_rows = made.num_rows;
  model.num_square_columns = UsesSquares(made.problem.kernels) ? run_.dataset->rows : 0;
  model.seed = recipe_.seed;
  model.code_version = run_.code_version;
  return model;
}

absl::StatusOr<std::vector<Metric>> RecipePhases::EvaluateBaseline(
    const OutputCoding& coding, const RecipeProblem& made, const RoleColumn& labels,
    const RunContext& context) const {
  std::vector<Index> rows;
  for (const TaskData& task : made.problem.tasks) {
    rows.insert(rows.end(), task.rows.begin(), task.rows.end());
  }
  const RoleColumn* const column = run_.dataset->FindColumn(ColumnRole::kWeight);
  const Vector weights = column == nullptr ? Vector() : Vector(column->values(rows));
  return EvaluateConstant(coding, SelectLabels(plan_.target(), rows),
                          column == nullptr ? nullptr : &weights, labels, context);
}

absl::StatusOr<std::vector<Metric>> RecipePhases::Evaluate(std::shared_ptr<const Model> model,
                                                           const RecipeProblem& made,
                                                           const std::vector<Index>& rows,
                                                           RunContext& context,
                                                           HeldOutRows& seen) const {
  const OutputCoding coding = model->coding;
  const TaskCoding tasks = model->tasks;
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor,
                          Predictor::Make(std::move(model)));
  MERCER_ASSIGN_OR_RETURN(const Prediction prediction,
                          PredictRows(*predictor, *made.inputs, rows, context));
  const RoleColumn labels = SelectLabels(plan_.target(), rows);
  MERCER_ASSIGN_OR_RETURN(std::vector<Metric> metrics,
                          EvaluatePrediction(coding, prediction, labels, context));
  MERCER_RETURN_IF_ERROR(
      AddTaskMetrics({coding, tasks}, prediction, labels, *made.inputs, rows, context, metrics));
  MERCER_ASSIGN_OR_RETURN(const std::vector<Metric> baseline,
                          EvaluateBaseline(coding, made, labels, context));
  for (const Metric& metric : baseline) {
    metrics.push_back({absl::StrCat(kBaselinePrefix, metric.name), metric.value});
  }
  MERCER_RETURN_IF_ERROR(held_out_plan_.Collect(coding, prediction, labels, rows, context, seen));
  return metrics;
}

absl::StatusOr<std::map<int64_t, std::vector<Metric>>> RecipePhases::TestRanking(
    const Model& model, const RecipeProblem& made, const std::vector<Index>& rows,
    RunContext& context) const {
  const Interruption interruption(
      clock_.Monotonic() + TimeLeft(), [this] { return observer_.StopRequested(); }, clock_);
  const InterruptibleScope scope(context, interruption);
  auto found = TestMachines(model, made, rows, context);
  if (absl::IsCancelled(found.status()) && context.interrupted()) {
    return std::map<int64_t, std::vector<Metric>>();
  }
  return found;
}

absl::StatusOr<std::map<int64_t, std::vector<Metric>>> RecipePhases::TestMachines(
    const Model& model, const RecipeProblem& made, const std::vector<Index>& rows,
    RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(
      const RankingTester tester,
      RankingTester::Make(made.problem, model.summary, *recipe_.ranking_test, context));
  const RoleColumn labels = SelectLabels(plan_.target(), rows);
  std::map<int64_t, std::vector<Metric>> found;
  auto of_machines = std::make_shared<Model>(model);
  of_machines->summary = {};
  for (const Index count : tester.Counts()) {
    of_machines->function = {};
    MERCER_ASSIGN_OR_RETURN(RankedMachines machines, tester.Train(count, context));
    of_machines->function = std::move(machines.function);
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor,
                            Predictor::Make(of_machines));
    MERCER_ASSIGN_OR_RETURN(const Prediction prediction,
                            PredictRows(*predictor, *made.inputs, rows, context));
    MERCER_ASSIGN_OR_RETURN(std::vector<Metric> metrics,
                            EvaluatePrediction(model.coding, prediction, labels, context));
    metrics.push_back({"relative_gap", machines.relative_gap});
    found[count] = std::move(metrics);
  }
  return found;
}

HeldOut RecipePhases::SummarizeFolds(size_t value) const {
  HeldOut held_out = held_out_plan_.Summarize(progress_.held_out[value]);
  held_out.folds = static_cast<int64_t>(progress_.FoldsSeen(value));
  progress_.AddSpreads(value, "folds.", held_out.spreads);
  return held_out;
}

absl::Status RecipePhases::InFold(size_t fold, const absl::Status& status) const {
  return ErrorOfFold(fold, plan_.splits().size(), status);
}

void AppendMetrics(std::string_view prefix, const std::vector<Metric>& metrics, Model& model) {
  for (const Metric& metric : metrics) {
    model.metrics.push_back({std::string(prefix) + metric.name, metric.value});
  }
}

void AppendLeftOut(std::string_view name, size_t through, size_t all, Model& model) {
  if (through < all) {
    model.metrics.push_back({std::string(name), static_cast<double>(all - through)});
    model.metrics.push_back({kLeftOutOf, static_cast<double>(all)});
  }
}

bool WasInterrupted(const TrainingOutcome& outcome) {
  return outcome.stop_reason == StopReason::kStopRequested ||
         outcome.stop_reason == StopReason::kTimeLimit;
}

}  // namespace mercer
