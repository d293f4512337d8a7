// What the phases of a recipe share: a phase is one training on some rows of the data set, and the
// run of a recipe a sequence of phases with checkpoints in and between them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "core/base/run_context.h"
#include "core/data/splits.h"
#include "core/training/held_out.h"
#include "core/training/learner.h"
#include "core/training/model.h"
#include "core/training/recipe.h"
#include "core/training/recipe_problem.h"
#include "core/training/recipe_progress.h"
#include "core/training/run_training.h"

namespace mercer {

// Names phases for people, and says how many there are.
class PhasePlan {
 public:
  virtual ~PhasePlan() = default;
  // The number of phases with so many splits.
  virtual int64_t CountPhases(size_t num_splits) const = 0;
  // The phase's name for people: "train", "fold 2 of 5".
  virtual std::string PhaseName(int64_t phase, size_t num_splits) const = 0;
};

class RecipePhases {
 public:
  // All must outlive this.
  RecipePhases(const RecipeRun& run, const PhasePlan& plan, const SteadyClock& clock,
               RunObserver& observer);

  // Checks what can be checked before any training, draws the splits and reads the checkpoint, if
  // there is one. Before all else.
  absl::Status Begin(std::string_view state, RunContext& context);

  const OptionValues& options() const { return options_; }  // complete
  const std::vector<Split>& splits() const { return splits_; }
  int64_t num_phases() const { return num_phases_; }
  RecipeProgress& progress() { return progress_; }
  bool StopRequested() const { return observer_.StopRequested(); }
  bool OutOfTime() const;

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
  // Where predictions of the folds for that value of a path (without one: 0) are collected, over
  // all folds.
  HeldOutRows& SeenByFolds(size_t value) { return progress_.held_out[value]; }
  // What rows held out say of a model.
  HeldOut Summarize(const HeldOutRows& seen) const { return held_out_plan_.Summarize(seen); }
  // What all folds, which have ended, say of that value.
  HeldOut SummarizeFolds(size_t value) const;
  void EndPhase(int64_t iterations);

  // Makes a checkpoint of the phases before this one, so that a cancellation while a phase is
  // prepared, or a disk that has no room for what it needs, does not cost them.
  void CheckpointPhasesBefore(const absl::Status& error);
  // Names the fold, from 1, that could not be trained on.
  absl::Status InFold(size_t fold, const absl::Status& status) const;

 private:
  absl::Status BeginHeldOut();
  // What every model has to beat on rows with these labels.
  std::vector<Metric> EvaluateBaseline(const OutputCoding& coding, const RecipeProblem& made,
                                       const RoleColumn& labels) const;
  double SecondsUsed() const;
  bool TimeLimited() const;
  std::string EncodeNow(std::string_view run_state) const;

  const RecipeRun& run_;
  const TrainingRecipe& recipe_;
  const PhasePlan& plan_;
  RunObserver& observer_;
  const SteadyClock& clock_;
  const absl::Duration started_;
  std::optional<Interruption> interruption_;  // of all preparation; the training loop makes its own
  OptionValues options_;
  const RoleColumn* target_ = nullptr;
  std::vector<Split> splits_;
  HeldOutPlan held_out_plan_;
  int64_t num_phases_ = 1;
  RecipeProgress progress_;
  int64_t saved_phase_ = 0;  // of the last checkpoint; phase 0 begins with nothing to save
  bool in_phase_ = false;    // the training loop of the phase has begun: it writes the checkpoints
};

// Appends the metrics with the prefix before their names: "held_out.accuracy" from "accuracy".
void AppendMetrics(std::string_view prefix, const std::vector<Metric>& metrics, Model& model);

// Whether the run was cut short by its user or its time.
bool WasInterrupted(const TrainingOutcome& outcome);

}  // namespace mercer
