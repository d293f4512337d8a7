#include "core/training/recipe/recipe.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include "core/base/encoding/bytes.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/data/splits/split_columns.h"
#include "core/training/model/point_encoding.h"
#include "core/training/model/stop_reason.h"
#include "core/training/recipe/recipe_phases.h"
#include "core/training/recipe/recipe_plan.h"
#include "core/training/recipe/recipe_splits.h"
#include "core/training/run/evaluation.h"
#include "core/training/run/no_model.h"
#include "core/training/run/verification.h"

namespace mercer {
namespace {

Metric ActiveTerms(const ModelSummary& summary) {
  const auto rows_in_use = [](const Matrix& weights) {
    return (weights.array() != 0).rowwise().any().count();
  };
  const Index count = rows_in_use(summary.kernel_weights) + rows_in_use(summary.feature_weights);
  return {"active_terms", static_cast<double>(count)};
}

// Whether a training without a model was ended by its user or its time.
bool EndedEarly(const absl::Status& status) {
  const ErrorMetadata metadata = GetErrorMetadata(status);
  return std::any_of(metadata.begin(), metadata.end(), [](const auto& entry) {
    return entry.first == "stop_reason" &&
           (entry.second == StopReasonName(StopReason::kStopRequested) ||
            entry.second == StopReasonName(StopReason::kTimeLimit));
  });
}

// Steps through the trainings of a plan.
class RecipeRunner {
 public:
  // `started`, by the clock: what a limit of time counts from.
  RecipeRunner(const RecipeRun& run, const RecipePlan& plan, const SteadyClock& clock,
               absl::Duration started, RunObserver& observer)
      : run_(run),
        recipe_(*run.recipe),
        plan_(plan),
        phases_(run, plan_, clock, started, observer),
        progress_(phases_.progress()) {}

  absl::StatusOr<TrainedModel> Run(std::string_view state, RunContext& context) {
    MERCER_RETURN_IF_ERROR(phases_.Begin(state, context));
    if (!IsConsistent()) {
      return absl::DataLossError("not a readable checkpoint: its content is inconsistent");
    }
    while (const PlannedTraining* training = phases_.current()) {
      absl::StatusOr<bool> more = training->part.has_value()    ? TrainOnPart(*training, context)
                                  : training->split.has_value() ? TrainOnSplit(*training, context)
                                                                : TrainModel(*training, context);
      if (!more.ok()) {
        phases_.CheckpointPhasesBefore(more.status());
        return more.status();
      }
      if (!*more && !SkipToModel()) {
        break;
      }
    }
    return Finish();
  }

 private:
  bool KeepsAll() const { return recipe_.path.has_value() && recipe_.path->keep_all; }
  bool HasModel() const { return !progress_.model.empty(); }
  bool HasScores() const { return !progress_.metrics[0].empty(); }

  bool IsConsistent() const {
    const auto num_values = static_cast<int64_t>(plan_.num_values());
    int64_t last = -1;
    for (const ModelOfValue& other : progress_.others) {
      if (!KeepsAll() || other.value <= last || other.value == progress_.best) {
        return false;
      }
      last = other.value;
    }
    return progress_.best >= -1 && progress_.best < num_values && last < num_values &&
           static_cast<int64_t>(progress_.ranking_tests.size()) == num_values;
  }

  // Trains on the rows of one split. False when the run must end with what there is.
  absl::StatusOr<bool> TrainOnSplit(const PlannedTraining& training, RunContext& context) {
    if (phases_.StopRequested() && (HasModel() || HasScores())) {
      return false;
    }
    const Split& split = plan_.splits()[*training.split];
    const absl::Status prepared = Prepare(training.split, split.training, context);
    if (!prepared.ok()) {
      return EndOrError(training, prepared);
    }
    const OptionValues options = plan_.options(training.value);
    MERCER_ASSIGN_OR_RETURN(const std::optional<TrainedPoint> last, LastPoint());
    const WarmStart warm_start{last.has_value() ? &*last : nullptr, &made_->problem};
    absl::StatusOr<TrainingOutcome> outcome =
        phases_.Train(*made_, options, last.has_value() ? &warm_start : nullptr, context);
    if (!outcome.ok()) {
      return EndOrError(training, outcome.status());
    }
    if (plan_.has_folds() && HasModel() && WasInterrupted(*outcome)) {
      return false;  // this fold counts for nothing, those before it for themselves
    }
    MERCER_RETURN_IF_ERROR(ScoreOnSplit(training, options, *outcome, context));
    progress_.last_point.clear();
    if (training.value + 1 < plan_.num_values()) {
      ByteWriter writer;
      WritePoint(outcome->point, writer);
      progress_.last_point = std::move(writer).Take();
    }
    phases_.EndPhase(outcome->iterations);
    return !WasInterrupted(*outcome);
  }

  absl::Status ScoreOnSplit(const PlannedTraining& training, const OptionValues& options,
                            const TrainingOutcome& outcome, RunContext& context) {
    const size_t value = training.value;
    auto model = std::make_shared<Model>(phases_.Assemble(*made_, options, outcome));
    // What may take long comes first: a checkpoint within it has nothing of this split.
    std::map<int64_t, std::vector<Metric>> tested;
    if (recipe_.ranking_test.has_value()) {
      MERCER_ASSIGN_OR_RETURN(tested, TestRankingOnSplit(training, *model, context));
    }
    HeldOutRows held_out;
    HeldOutRows& seen = plan_.has_folds() ? phases_.SeenByFolds(value) : held_out;
    MERCER_ASSIGN_OR_RETURN(
        const std::vector<Metric> metrics,
        phases_.Evaluate(model, *made_, plan_.splits()[*training.split].held_out, context, seen));
    std::vector<Metric> of_value = metrics;
    if (recipe_.path.has_value()) {
      of_value.push_back(ActiveTerms(model->summary));
      of_value.push_back({"relative_gap", outcome.certificate.accuracy});
    }
    AddMetrics(of_value, progress_.metrics[value]);
    for (const auto& [columns, of_machines] : tested) {
      AddMetrics(of_machines, progress_.ranking_tests[value][columns]);
    }
    if (!plan_.has_folds()) {
      AppendMetrics("held_out.", metrics, *model);
      AppendMetrics("", outcome.metrics, *model);
      model->held_out = phases_.Summarize(seen);
      KeepIfBest(value, *model, outcome.point.witness);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::map<int64_t, std::vector<Metric>>> TestRankingOnSplit(
      const PlannedTraining& training, const Model& model, RunContext& context) {
    auto tested =
        phases_.TestRanking(model, *made_, plan_.splits()[*training.split].held_out, context);
    if (!tested.ok() && plan_.has_folds()) {
      return phases_.InFold(*training.split + 1, tested.status());
    }
    return tested;
  }

  // Trains the model on all its rows; of a path that keeps all, one of its models.
  absl::StatusOr<bool> TrainModel(const PlannedTraining& training, RunContext& context) {
    const bool has_best = HasModel();
    if (has_best && phases_.StopRequested()) {
      return false;
    }
    if (!has_best && HasScores()) {
      phases_.RequireModel();
    }
    const size_t best = BestValue();
    progress_.best = static_cast<int64_t>(best);
    // The best comes first, then the others in the order of the path.
    const size_t place = training.place;
    const size_t value = place == 0 ? best : place <= best ? place - 1 : place;
    const OptionValues options = plan_.options(value);
    const absl::StatusOr<TrainingOutcome> outcome = TrainOnAllRows(options, context);
    if (has_best && GetReason(outcome.status()) == "NO_MODEL") {
      return false;
    }
    MERCER_RETURN_IF_ERROR(outcome.status());
    Model model = phases_.Assemble(*made_, options, *outcome);
    AppendMetrics("", outcome->metrics, model);
    Keep(value, model, outcome->point.witness);
    phases_.EndPhase(outcome->iterations);
    return !WasInterrupted(*outcome);
  }

  // Trains on a part of the model's rows and counts what it selects. What cannot be trained on, as
  // where a kernel is constant, does not count.
  absl::StatusOr<bool> TrainOnPart(const PlannedTraining& training, RunContext& context) {
    if (phases_.StopRequested()) {
      return false;
    }
    const bool holds_out = recipe_.validation.kind == ValidationKind::kHoldOut;
    const absl::Status prepared =
        Prepare(holds_out ? std::optional<size_t>(0) : std::nullopt,
                FinalTrainingRows(recipe_, *run_.dataset, plan_.splits()), context);
    if (GetReason(prepared) == "NO_MODEL") {
      return false;
    }
    MERCER_RETURN_IF_ERROR(prepared);
    const absl::StatusOr<TrainingOutcome> outcome = TrainOnDrawnRows(*training.part, context);
    if (GetReason(outcome.status()) == "NO_MODEL" || (outcome.ok() && WasInterrupted(*outcome))) {
      return false;
    }
    if (absl::IsInvalidArgument(outcome.status())) {
      phases_.EndPhase(0);
      return true;
    }
    MERCER_RETURN_IF_ERROR(outcome.status());
    progress_.selection.Add(outcome->point.summary);
    phases_.EndPhase(outcome->iterations);
    return true;
  }

  absl::StatusOr<TrainingOutcome> TrainOnDrawnRows(size_t part, RunContext& context) {
    std::vector<int> classes;
    if (recipe_.kind == TargetKind::kClassification) {
      MERCER_ASSIGN_OR_RETURN(classes, made_->coding.Classes(plan_.target(), context));
    }
    std::vector<int> groups;
    if (const RoleColumn* column = run_.dataset->FindColumn(ColumnRole::kGroup)) {
      MERCER_ASSIGN_OR_RETURN(groups, GroupCodes(*column, context));
    }
    RecipeProblem drawn = *made_;
    MERCER_ASSIGN_OR_RETURN(drawn.problem, DrawPart(made_->problem, classes, groups,
                                                    recipe_.stability->fraction, part, context));
    const auto best = static_cast<size_t>(std::max<int64_t>(progress_.best, 0));
    return phases_.Train(drawn, plan_.options(best), nullptr, context);
  }

  absl::StatusOr<TrainingOutcome> TrainOnAllRows(const OptionValues& options, RunContext& context) {
    const std::vector<Index> rows = FinalTrainingRows(recipe_, *run_.dataset, plan_.splits());
    MERCER_RETURN_IF_ERROR(Prepare(std::nullopt, rows, context));
    return phases_.Train(*made_, options, nullptr, context);
  }

  // Where trainings on folds were ended early, the model is still to be trained, by what they have
  // come to. False when there is none to train.
  bool SkipToModel() {
    const std::vector<PlannedTraining>& all = plan_.trainings();
    const auto next = std::find_if(all.begin() + progress_.phase, all.end(),
                                   [](const auto& one) { return one.is_of_all_rows(); });
    if (HasModel() || next == all.end()) {
      return false;
    }
    phases_.SkipTo(next - all.begin());
    progress_.last_point.clear();
    return true;
  }

  // Values of one split have its rows in common.
  absl::Status Prepare(std::optional<size_t> split, const std::vector<Index>& rows,
                       RunContext& context) {
    if (made_.has_value() && made_split_ == split) {
      return absl::OkStatus();
    }
    made_.reset();
    MERCER_ASSIGN_OR_RETURN(made_, phases_.Prepare(rows, context));
    made_split_ = split;
    return absl::OkStatus();
  }

  // What a training on a split that has no model in time means: the run ends with what the
  // trainings before have come to, if anything; the time that is kept for the model after the
  // folds may do for one without them.
  absl::StatusOr<bool> EndOrError(const PlannedTraining& training,
                                  const absl::Status& status) const {
    const bool time_is_kept = plan_.has_folds() && !phases_.StopRequested();
    // A fold that ended otherwise, for too few steps say, would say nothing with more time either.
    const bool may_end = !plan_.has_folds() || EndedEarly(status);
    if (GetReason(status) == "NO_MODEL" && may_end && (HasModel() || HasScores() || time_is_kept)) {
      return false;
    }
    return plan_.has_folds() ? phases_.InFold(*training.split + 1, status) : status;
  }

  absl::StatusOr<std::optional<TrainedPoint>> LastPoint() const {
    if (progress_.last_point.empty()) {
      return std::optional<TrainedPoint>();
    }
    ByteReader reader(progress_.last_point);
    TrainedPoint point = ReadPoint(*made_->inputs, reader);
    if (!reader.AtEnd()) {
      return absl::DataLossError("not a readable checkpoint: its last solution is inconsistent");
    }
    return std::optional<TrainedPoint>(std::move(point));
  }

  // The score of a value by its validation; larger is better. When folds have ended early, those
  // count in which all values were tried; when there is no such fold, whatever there is.
  double Score(size_t value) const {
    const size_t through = progress_.FoldsSeen(plan_.num_values() - 1);
    for (const auto& [name, of_folds] : progress_.metrics[value]) {
      if (IsScore(name)) {
        const double mean =
            Mean(absl::MakeConstSpan(of_folds).subspan(0, through > 0 ? through : of_folds.size()));
        const double score = name == "rmse" ? -mean : mean;
        return std::isnan(score) ? -kInfinity : score;
      }
    }
    return -kInfinity;
  }

  size_t BestValue() const {
    size_t best = 0;
    for (size_t value = 1; value < plan_.num_values(); ++value) {
      best = Score(value) > Score(best) ? value : best;
    }
    return best;
  }

  // With rows held out: a model that is better than the best so far takes its place.
  void KeepIfBest(size_t value, const Model& model, const Witness& witness) {
    if (progress_.best < 0) {
      progress_.best = static_cast<int64_t>(value);
    } else if (Score(value) > Score(static_cast<size_t>(progress_.best))) {
      KeepAmongOthers({progress_.best, std::move(progress_.model), std::move(progress_.witness)});
      progress_.best = static_cast<int64_t>(value);
    }
    Keep(value, model, witness);
  }

  void Keep(size_t value, const Model& model, const Witness& witness) {
    if (static_cast<int64_t>(value) != progress_.best && !KeepsAll()) {
      return;
    }
    ModelOfValue kept{static_cast<int64_t>(value), SaveModel(model), SaveWitness(witness)};
    if (kept.value == progress_.best) {
      progress_.model = std::move(kept.model);
      progress_.witness = std::move(kept.witness);
    } else {
      KeepAmongOthers(std::move(kept));
    }
  }

  // Keeps a model among the others, in the order of the path.
  void KeepAmongOthers(ModelOfValue kept) {
    std::vector<ModelOfValue>& others = progress_.others;
    const auto place = std::find_if(others.begin(), others.end(), [&](const ModelOfValue& other) {
      return other.value > kept.value;
    });
    if (KeepsAll()) {
      others.insert(place, std::move(kept));
    }
  }

  absl::StatusOr<TrainedModel> Finish() const {
    if (!HasModel()) {
      return NoModelError(phases_.StopRequested() ? StopReason::kStopRequested
                                                  : StopReason::kTimeLimit);
    }
    TrainedModel trained;
    MERCER_ASSIGN_OR_RETURN(trained.model, LoadModel(progress_.model));
    MERCER_ASSIGN_OR_RETURN(trained.witness, LoadWitness(progress_.witness));
    AppendValidation(static_cast<size_t>(progress_.best), trained.model);
    if (progress_.selection.trainings > 0 &&
        progress_.selection.selected.size() == trained.model.summary.kernel_names.size()) {
      trained.model.summary.tables.push_back(
          StabilityTable(progress_.selection, *recipe_.stability, trained.model.summary));
    }
    for (const ModelOfValue& other : progress_.others) {
      MERCER_ASSIGN_OR_RETURN(Model model, LoadModel(other.model));
      AppendValidation(static_cast<size_t>(other.value), model);
      trained.others.push_back({recipe_.path->values[static_cast<size_t>(other.value)],
                                SaveModel(model), other.witness});
    }
    return trained;
  }

  // Says in the model of a value what its folds, and all values of the path, have come to.
  void AppendValidation(size_t value, Model& model) const {
    if (!progress_.ranking_tests[value].empty()) {
      model.summary.tables.push_back(RankingTestTable(progress_.ranking_tests[value]));
    } else if (recipe_.ranking_test.has_value()) {
      model.metrics.push_back({kRankingTestLeftOut, 1});
    }
    if (plan_.has_folds() && progress_.FoldsSeen(value) > 0) {
      const std::vector<Metric> own = std::exchange(model.metrics, {});
      AppendMetrics("folds.", progress_.MeanMetrics(value), model);
      AppendMetrics("", own, model);
      model.held_out = phases_.SummarizeFolds(value);
    }
    if (recipe_.path.has_value()) {
      AppendPath(value, model);
    }
    if (plan_.has_folds()) {
      AppendLeftOut(kFoldsLeftOut, progress_.FoldsSeen(plan_.num_values() - 1),
                    plan_.splits().size(), model);
    } else if (recipe_.path.has_value()) {
      const auto seen = std::count_if(progress_.metrics.begin(), progress_.metrics.end(),
                                      [](const auto& found) { return !found.empty(); });
      AppendLeftOut(kValuesLeftOut, static_cast<size_t>(seen), plan_.num_values(), model);
    }
  }

  void AppendPath(size_t number, Model& model) const {
    model.metrics.push_back({"path.best", static_cast<double>(progress_.best + 1)});
    if (KeepsAll()) {
      model.metrics.push_back({"path.number", static_cast<double>(number + 1)});
    }
    if (HasScores()) {
      model.summary.tables.push_back(PathTable(progress_, *recipe_.path));
    }
  }

  const RecipeRun& run_;
  const TrainingRecipe& recipe_;
  const RecipePlan& plan_;
  RecipePhases phases_;
  RecipeProgress& progress_;
  std::optional<RecipeProblem> made_;  // of the split made_split_, or of the rows of the model
  std::optional<size_t> made_split_;
};

// Of a model of another version also says that: kernels of low rank, say, may have another basis
// there, so that nothing need be damaged.
absl::Status WithVersion(const absl::Status& status, const std::string& trained_by,
                         const std::string& this_version) {
  if (GetReason(status) != "WITNESS_MISMATCH" || trained_by == this_version) {
    return status;
  }
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        status.message(), "; it was trained by version ", trained_by,
                        ", this is version ", this_version,
                        ", which may approximate its kernels in another way: verify it there, or "
                        "train it again")),
                    "WITNESS_MISMATCH");
}

}  // namespace

absl::StatusOr<TrainedModel> RunRecipe(const RecipeRun& run, std::string_view state,
                                       RunContext& context, RunObserver& observer) {
  const SteadyClock& clock = context.clock();
  const absl::Duration started = clock.Monotonic();
  MERCER_ASSIGN_OR_RETURN(const RecipePlan plan, RecipePlan::Resolve(run, context));
  RecipeRunner runner(run, plan, clock, started, observer);
  return runner.Run(state, context);
}

absl::StatusOr<Certificate> VerifyModel(const RecipeRun& run, const Model& model,
                                        const Witness& witness, RunContext& context) {
  const auto mismatch = [](std::string_view what) {
    return WithReason(absl::FailedPreconditionError(
                          absl::StrCat("the data set does not fit the model: ", std::string(what))),
                      "DATA_MISMATCH");
  };
  if (run.entry->name != model.learner) {
    return mismatch("the model is of another learner");
  }
  MERCER_RETURN_IF_ERROR(ValidateRecipe(*run.entry, *run.recipe));
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* target, FindTarget(*run.recipe, *run.dataset));
  TrainingRecipe recipe = *run.recipe;
  if (recipe.validation.kind == ValidationKind::kFolds) {
    recipe.validation = {};  // the model itself is trained on all rows
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<Split> splits,
                          MakeSplits(*run.entry, recipe, *run.dataset, *target, context));
  const std::vector<Index> rows = FinalTrainingRows(*run.recipe, *run.dataset, splits);
  MERCER_ASSIGN_OR_RETURN(const RecipeProblem made, MakeRecipeProblem(run, rows, context));
  if (static_cast<Index>(rows.size()) != model.num_training_rows) {
    return mismatch("the number of training rows differs");
  }
  if (made.coding.kind() != model.coding.kind() ||
      made.coding.classes() != model.coding.classes()) {
    return mismatch("the classes differ");
  }
  if (made.tasks.names() != model.tasks.names()) {
    return mismatch("the tasks differ");
  }
  absl::StatusOr<VerifiedFunction> verified =
      VerifyFunction(*run.entry, model.options, made.problem, model.function, witness, context);
  if (!verified.ok()) {
    return WithVersion(verified.status(), model.code_version, run.code_version);
  }
  return std::move(verified->certificate);
}

}  // namespace mercer
