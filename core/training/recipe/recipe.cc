#include "core/training/recipe/recipe.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/recipe/recipe_path.h"
#include "core/training/recipe/recipe_phases.h"
#include "core/training/recipe/recipe_splits.h"
#include "core/training/run/verification.h"

namespace mercer {
namespace {

// Phase 0 trains the model, phases 1 .. folds the folds. The model comes first, so that a run that
// is stopped or out of time has one.
class FoldPlan : public PhasePlan {
 public:
  explicit FoldPlan(const TrainingRecipe& recipe)
      : has_folds_(recipe.validation.kind == ValidationKind::kFolds) {}

  int64_t CountPhases(size_t num_splits) const override {
    return 1 + (has_folds_ ? static_cast<int64_t>(num_splits) : 0);
  }
  std::string PhaseName(int64_t phase, size_t num_splits) const override {
    return phase == 0 ? "train" : absl::StrCat("fold ", phase, " of ", num_splits);
  }

 private:
  const bool has_folds_;
};

// The model, and after it what cross-validation says of it.
class RecipeRunner {
 public:
  RecipeRunner(const RecipeRun& run, const SteadyClock& clock, RunObserver& observer)
      : run_(run),
        recipe_(*run.recipe),
        plan_(recipe_),
        phases_(run, plan_, clock, observer),
        progress_(phases_.progress()) {}

  absl::StatusOr<TrainedModel> Run(std::string_view state, RunContext& context) {
    MERCER_RETURN_IF_ERROR(phases_.Begin(state, context));
    progress_.metrics.resize(1);
    if (progress_.phase == 0) {
      MERCER_RETURN_IF_ERROR(TrainModel(context));
    }
    bool complete = true;
    while (complete && progress_.phase < phases_.num_phases()) {
      absl::StatusOr<bool> more = TrainFold(context);
      if (!more.ok()) {
        phases_.CheckpointPhasesBefore(more.status());
      }
      MERCER_ASSIGN_OR_RETURN(complete, std::move(more));
    }
    return Finish();
  }

 private:
  absl::Status TrainModel(RunContext& context) {
    const std::vector<Index> rows = FinalTrainingRows(recipe_, *run_.dataset, phases_.splits());
    MERCER_ASSIGN_OR_RETURN(const RecipeProblem made, phases_.Prepare(rows, context));
    MERCER_ASSIGN_OR_RETURN(const TrainingOutcome outcome,
                            phases_.Train(made, phases_.options(), nullptr, context));
    auto model = std::make_shared<Model>(phases_.Assemble(made, phases_.options(), outcome));
    if (recipe_.validation.kind == ValidationKind::kHoldOut) {
      HeldOutRows seen;
      MERCER_ASSIGN_OR_RETURN(
          const std::vector<Metric> metrics,
          phases_.Evaluate(model, made, phases_.splits()[0].held_out, context, seen));
      AppendMetrics("held_out.", metrics, *model);
      model->held_out = phases_.Summarize(seen);
    }
    AppendMetrics("", outcome.metrics, *model);
    stopped_ = WasInterrupted(outcome);
    progress_.model = SaveModel(*model);
    progress_.witness = SaveWitness(outcome.point.witness);
    phases_.EndPhase(outcome.iterations);
    return absl::OkStatus();
  }

  // False when the run must end: its time is up, or the user asked for it. This fold then counts
  // for nothing, those before it for themselves.
  absl::StatusOr<bool> TrainFold(RunContext& context) {
    if (stopped_ || phases_.StopRequested()) {
      return false;
    }
    const auto fold = static_cast<size_t>(progress_.phase);
    const Split& split = phases_.splits()[fold - 1];
    absl::StatusOr<RecipeProblem> made = phases_.Prepare(split.training, context);
    if (GetReason(made.status()) == "NO_MODEL") {
      return false;
    }
    if (!made.ok()) {
      return phases_.InFold(fold, made.status());
    }
    absl::StatusOr<TrainingOutcome> outcome =
        phases_.Train(*made, phases_.options(), nullptr, context);
    if (!outcome.ok()) {
      const bool ended = GetReason(outcome.status()) == "NO_MODEL" &&
                         (phases_.StopRequested() || phases_.OutOfTime());
      return ended ? absl::StatusOr<bool>(false) : phases_.InFold(fold, outcome.status());
    }
    if (WasInterrupted(*outcome)) {
      return false;
    }
    auto model = std::make_shared<Model>(phases_.Assemble(*made, phases_.options(), *outcome));
    MERCER_ASSIGN_OR_RETURN(
        const std::vector<Metric> metrics,
        phases_.Evaluate(model, *made, split.held_out, context, phases_.SeenByFolds(0)));
    progress_.AddMetrics(0, metrics);
    phases_.EndPhase(outcome->iterations);
    return true;
  }

  absl::StatusOr<TrainedModel> Finish() {
    TrainedModel trained;
    MERCER_ASSIGN_OR_RETURN(trained.model, LoadModel(progress_.model));
    MERCER_ASSIGN_OR_RETURN(trained.witness, LoadWitness(progress_.witness));
    const auto folds = static_cast<size_t>(phases_.num_phases() - 1);
    const auto through = static_cast<size_t>(progress_.phase - 1);
    if (through > 0) {
      std::vector<Metric> metrics = std::move(trained.model.metrics);
      trained.model.metrics.clear();
      AppendMetrics("folds.", progress_.MeanMetrics(0), trained.model);
      AppendMetrics("", metrics, trained.model);
      trained.model.held_out = phases_.SummarizeFolds(0);
    }
    AppendLeftOut(kFoldsLeftOut, through, folds, trained.model);
    return trained;
  }

  const RecipeRun& run_;
  const TrainingRecipe& recipe_;
  const FoldPlan plan_;
  RecipePhases phases_;
  RecipeProgress& progress_;
  bool stopped_ = false;
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
  if (run.recipe->path.has_value()) {
    return RunRecipePath(run, state, context, observer);
  }
  RecipeRunner runner(run, context.clock(), observer);
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
