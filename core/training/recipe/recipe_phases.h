// The phases of a run: a phase is one training of the plan, and the run of a recipe a sequence of
// phases with checkpoints in and between them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "core/base/process/run_context.h"
#include "core/training/contract/learner.h"
#include "core/training/model/held_out.h"
#include "core/training/model/model.h"
#include "core/training/recipe/recipe.h"
#include "core/training/recipe/recipe_plan.h"
#include "core/training/recipe/recipe_problem.h"
#include "core/training/recipe/recipe_progress.h"
#include "core/training/run/run_training.h"

namespace mercer {

// How long the model on all rows is still trained after a stop that came within the folds before
// it.
inline constexpr absl::Duration kTimeAfterStop = absl::Seconds(10);

class RecipePhases {
 public:
  // All must outlive this.
  RecipePhases(const RecipeRun& run, const RecipePlan& plan, const SteadyClock& clock,
               absl::Duration started, RunObserver& observer);

  // Reads the checkpoint, if there is one. Before all else.
  absl::Status Begin(std::string_view state, RunContext& context);

  // The training of the current phase; null after the last.
  const PlannedTraining* current() const;
  RecipeProgress& progress() { return progress_; }
  bool StopRequested() const { return observer_.StopRequested(); }

  // Has the current phase end with a model, so that what was learned before it is not lost. Nothing
  // but a cancellation ends its preparation then; when a stop was requested already, it may train
  // for kTimeAfterStop; without a model in time it has the constant one.
  void RequireModel();
  // What the current phase trains on. Limit and stop end this work too, but not that of a phase
  // which has a state already: the best model so far is in it. Errors: NO_MODEL.
  absl::StatusOr<RecipeProblem> Prepare(const std::vector<Index>& rows, RunContext& context);
  // Runs the current phase from its saved state, if any, else from `warm_start`, which may be null.
  absl::StatusOr<TrainingOutcome> Train(const RecipeProblem& made, const OptionValues& options,
                                        const WarmStart* warm_start, RunContext& context);
  Model Assemble(const RecipeProblem& made, const OptionValues& options,
                 const TrainingOutcome& outcome) const;
  // Metrics of the model on other rows of its table, and after them those of the best constant
  // answer: "baseline.accuracy". `seen` collects the predictions.
  absl::StatusOr<std::vector<Metric>> Evaluate(std::shared_ptr<const Model> model,
                                               const RecipeProblem& made,
                                               const std::vector<Index>& rows, RunContext& context,
                                               HeldOutRows& seen) const;
  // What linear machines on the first columns of the model's ranking come to on other rows of its
  // table, for each number of columns. Limit and stop end it; it is empty then.
  absl::StatusOr<std::map<int64_t, std::vector<Metric>>> TestRanking(const Model& model,
                                                                     const RecipeProblem& made,
                                                                     const std::vector<Index>& rows,
                                                                     RunContext& context) const;
  // Where predictions of the folds for that value of a path (without one: 0) are collected, over
  // all folds.
  HeldOutRows& SeenByFolds(size_t value) { return progress_.held_out[value]; }
  // What rows held out say of a model.
  HeldOut Summarize(const HeldOutRows& seen) const { return held_out_plan_.Summarize(seen); }
  // What the folds, which have ended, say of that value.
  HeldOut SummarizeFolds(size_t value) const;
  void EndPhase(int64_t iterations);
  // Goes on with that phase, and leaves the current one and those between as they are.
  void SkipTo(int64_t phase);

  // Makes a checkpoint of the phases before this one, so that a cancellation while a phase is
  // prepared, or a disk that has no room for what it needs, does not cost them.
  void CheckpointPhasesBefore(const absl::Status& error);
  // Names the fold, from 1, that could not be trained on.
  absl::Status InFold(size_t fold, const absl::Status& status) const;

 private:
  absl::StatusOr<std::map<int64_t, std::vector<Metric>>> TestMachines(
      const Model& model, const RecipeProblem& made, const std::vector<Index>& rows,
      RunContext& context) const;
  absl::Status BeginHeldOut(const RunContext& context);
  // What every model has to beat on rows with these labels.
  absl::StatusOr<std::vector<Metric>> EvaluateBaseline(const OutputCoding& coding,
                                                       const RecipeProblem& made,
                                                       const RoleColumn& labels,
                                                       const RunContext& context) const;
  double SecondsUsed() const;
  absl::Duration TimeLeft() const;  // of the current phase
  bool TimeLimited() const;
  std::string EncodeNow(std::string_view run_state) const;

  const RecipeRun& run_;
  const TrainingRecipe& recipe_;
  const RecipePlan& plan_;
  RunObserver& observer_;
  const SteadyClock& clock_;
  const absl::Duration started_;
  HeldOutPlan held_out_plan_;
  RecipeProgress progress_;
  int64_t saved_phase_ = 0;  // of the last checkpoint; phase 0 begins with nothing to save
  bool requires_model_ = false;
  bool stopped_before_ = false;  // the current phase, which trains for kTimeAfterStop
  bool in_phase_ = false;  // the training loop of the phase has begun: it writes the checkpoints
  bool trained_ = false;   // and has ended, so that it writes none any more
};

// Metrics that say that a run was ended before its validation was through: how many folds, or values
// of a path on rows held out, were left out, and of how many.
inline constexpr char kFoldsLeftOut[] = "left_out.folds";
inline constexpr char kValuesLeftOut[] = "left_out.values";
inline constexpr char kLeftOutOf[] = "left_out.of";
// That a test of the ranking did not come to its end on any split.
inline constexpr char kRankingTestLeftOut[] = "left_out.ranking_test";
// Appends them, that with this name first, unless all were through.
void AppendLeftOut(std::string_view name, size_t through, size_t all, Model& model);

// Appends the metrics with the prefix before their names: "held_out.accuracy" from "accuracy".
void AppendMetrics(std::string_view prefix, const std::vector<Metric>& metrics, Model& model);

// Whether the run was cut short by its user or its time.
bool WasInterrupted(const TrainingOutcome& outcome);

}  // namespace mercer
