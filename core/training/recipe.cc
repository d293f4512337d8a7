#include "core/training/recipe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"

#include "core/base/errors.h"
#include "core/base/scratch_space.h"
#include "core/base/status_macros.h"
#include "core/training/basis.h"
#include "core/training/composite_learner.h"
#include "core/training/encoding.h"
#include "core/training/evaluation.h"
#include "core/training/label_counts.h"
#include "core/training/no_model.h"
#include "core/training/predictor.h"
#include "core/training/recipe_problem.h"
#include "core/training/recipe_splits.h"
#include "core/training/verification.h"

namespace mercer {
namespace {

constexpr std::string_view kCheckpointMagic = "MRCRCKPT";
constexpr uint64_t kCheckpointVersion = 2;

// A metric over folds; not every fold need have it.
struct MetricSum {
  double sum = 0;
  int64_t count = 0;
};

// Where a recipe is: phase 0 trains the model, phases 1 .. folds the folds. The model comes first,
// so that a run that is stopped or out of time has one.
struct Progress {
  int64_t phase = 0;
  int64_t iterations = 0;   // of the phases before
  double seconds_used = 0;  // of a limited time
  std::string model;        // encoded, after phase 0
  std::string witness;
  std::map<std::string, MetricSum> fold_metrics;  // over the folds before
  std::string run_state;                          // of the current phase; empty: at its start
};

// With `run_state` and `seconds_used` in the place of its own.
std::string EncodeProgress(const Progress& progress, std::string_view run_state,
                           double seconds_used, const std::string& code_version) {
  ByteWriter writer;
  writer.WriteString(code_version);
  writer.WriteInt64(progress.phase);
  writer.WriteInt64(progress.iterations);
  writer.WriteDouble(seconds_used);
  writer.WriteString(progress.model);
  writer.WriteString(progress.witness);
  writer.WriteUint64(progress.fold_metrics.size());
  for (const auto& [name, metric] : progress.fold_metrics) {
    writer.WriteString(name);
    writer.WriteDouble(metric.sum);
    writer.WriteInt64(metric.count);
  }
  writer.WriteString(run_state);
  return FramePayload(kCheckpointMagic, kCheckpointVersion, writer.bytes());
}

absl::Status OtherVersion(const std::string& written_by, const std::string& this_version) {
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("the checkpoint was written by version '", written_by,
                                     "', this is version '", this_version, "'")),
                    "OTHER_VERSION", {{"written_by", written_by}, {"this_version", this_version}});
}

absl::StatusOr<Progress> DecodeProgress(std::string_view state, const std::string& code_version,
                                        int64_t num_phases) {
  MERCER_ASSIGN_OR_RETURN(
      const std::string_view payload,
      UnframePayload(kCheckpointMagic, std::numeric_limits<uint64_t>::max(), "checkpoint", state));
  const uint64_t format = FormatVersion(state);
  if (format != kCheckpointVersion) {
    return OtherVersion(absl::StrCat("format ", format),
                        absl::StrCat("format ", kCheckpointVersion));
  }
  ByteReader reader(payload);
  const std::string written_by = reader.ReadString();
  if (reader.ok() && written_by != code_version) {
    return OtherVersion(written_by, code_version);
  }
  Progress progress;
  progress.phase = reader.ReadInt64();
  progress.iterations = reader.ReadInt64();
  progress.seconds_used = reader.ReadDouble();
  progress.model = reader.ReadString();
  progress.witness = reader.ReadString();
  const uint64_t count = reader.ReadUint64();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    MetricSum& metric = progress.fold_metrics[reader.ReadString()];
    metric.sum = reader.ReadDouble();
    metric.count = reader.ReadInt64();
  }
  progress.run_state = reader.ReadString();
  if (!reader.AtEnd() || progress.phase < 0 || progress.phase >= num_phases) {
    return absl::DataLossError("not a readable checkpoint: its content is inconsistent");
  }
  return progress;
}

// Shows one phase as a part of the whole run.
class PhaseObserver : public RunObserver {
 public:
  using Encode = std::function<std::string(std::string_view run_state)>;

  PhaseObserver(RunObserver& outer, const Progress& progress, int64_t num_phases, Encode encode)
      : outer_(outer), progress_(progress), num_phases_(num_phases), encode_(std::move(encode)) {}

  void OnProgress(const ProgressEvent& event) override { outer_.OnProgress(Shown(event)); }
  void OnStage(const ProgressEvent& event) override { outer_.OnStage(Shown(event)); }
  bool WantsCheckpoint() override { return outer_.WantsCheckpoint(); }
  bool WantsLastCheckpoint() override { return outer_.WantsLastCheckpoint(); }
  void OnCheckpoint(std::string state) override { outer_.OnCheckpoint(encode_(state)); }
  void OnVerifying() override {
    if (progress_.phase == num_phases_ - 1) {
      outer_.OnVerifying();
    }
  }
  bool StopRequested() override { return outer_.StopRequested(); }

 private:
  ProgressEvent Shown(const ProgressEvent& event) const {
    ProgressEvent shown = event;
    shown.iteration += progress_.iterations;
    shown.report.fraction = (static_cast<double>(progress_.phase) + event.report.fraction) /
                            static_cast<double>(num_phases_);
    if (progress_.phase > 0) {
      shown.phase = absl::StrCat("fold ", progress_.phase, " of ", num_phases_ - 1);
    }
    return shown;
  }

  RunObserver& outer_;
  const Progress& progress_;
  const int64_t num_phases_;
  const Encode encode_;
};

bool UsesSquares(const std::vector<KernelSpec>& kernels) {
  for (const KernelSpec& kernel : kernels) {
    if (ReadsSquare(kernel)) {
      return true;
    }
  }
  return false;
}

RoleColumn SelectLabels(const RoleColumn& column, const std::vector<Index>& rows) {
  return {column.role, column.schema, column.values(rows)};
}

class RecipeRunner {
 public:
  RecipeRunner(const RecipeRun& run, const SteadyClock& clock, RunObserver& observer)
      : run_(run),
        recipe_(*run.recipe),
        observer_(observer),
        clock_(clock),
        started_(clock.Monotonic()) {}

  absl::StatusOr<TrainedModel> Run(std::string_view state, RunContext& context) {
    MERCER_RETURN_IF_ERROR(ValidateRecipe(*run_.entry, recipe_));
    MERCER_ASSIGN_OR_RETURN(options_, CompleteOptions(*run_.entry, recipe_.options));
    MERCER_ASSIGN_OR_RETURN(target_, FindTarget(recipe_, *run_.dataset));
    if (run_.dataset->rows < 1) {
      return absl::InvalidArgumentError("the data set has no rows");
    }
    MERCER_RETURN_IF_ERROR(CheckClassWeightLabels());
    MERCER_ASSIGN_OR_RETURN(splits_, MakeSplits(recipe_, *run_.dataset, *target_, context));
    num_phases_ = 1;
    if (recipe_.validation.kind == ValidationKind::kFolds) {
      num_phases_ += static_cast<int64_t>(splits_.size());
    }
    MERCER_RETURN_IF_ERROR(CheckFolds());
    if (!state.empty()) {
      MERCER_ASSIGN_OR_RETURN(progress_, DecodeProgress(state, run_.code_version, num_phases_));
      saved_phase_ = progress_.phase;
    }
    interruption_.emplace(
        started_ + recipe_.limits.max_time - absl::Seconds(progress_.seconds_used),
        [this] { return observer_.StopRequested(); }, clock_);
    if (progress_.phase == 0) {
      MERCER_RETURN_IF_ERROR(TrainModel(context));
    }
    bool complete = true;
    while (complete && progress_.phase < num_phases_) {
      absl::StatusOr<bool> more = TrainFold(context);
      if (!more.ok()) {
        CheckpointPhasesBefore(more.status());
      }
      MERCER_ASSIGN_OR_RETURN(complete, std::move(more));
    }
    return Finish(complete);
  }

 private:
  absl::Status CheckClassWeightLabels() const {
    if (recipe_.class_weighting != ClassWeighting::kExplicit) {
      return absl::OkStatus();
    }
    std::vector<Index> known;
    for (Index row = 0; row < target_->values.size(); ++row) {
      if (!std::isnan(target_->values(row))) {
        known.push_back(row);
      }
    }
    MERCER_ASSIGN_OR_RETURN(const OutputCoding coding,
                            OutputCoding::FromLabels(*target_, known, recipe_.coding));
    FieldViolations violations;
    for (const auto& [label, weight] : recipe_.class_weights) {
      const auto& classes = coding.classes();
      violations.Check(
          std::find(classes.begin(), classes.end(), label) != classes.end(),
          absl::StrCat("class_weights[", label, "]"),
          absl::StrCat("no row of column '", target_->schema.name, "' has this label"));
    }
    return violations.ToStatus();
  }

  // A fold whose training rows hold one class is refused before any training; a fold that lacks one
  // of several classes is not.
  absl::Status CheckFolds() const {
    if (recipe_.validation.kind != ValidationKind::kFolds ||
        recipe_.kind != TargetKind::kClassification) {
      return absl::OkStatus();
    }
    LabelCounts counts(*target_);
    for (size_t fold = 0; fold < splits_.size(); ++fold) {
      if (counts.TrainableWithout(splits_[fold].held_out)) {
        continue;
      }
      const absl::Status coded =
          OutputCoding::FromLabels(*target_, splits_[fold].training, recipe_.coding).status();
      if (!coded.ok()) {
        return InFold(static_cast<int64_t>(fold) + 1, coded);
      }
    }
    return absl::OkStatus();
  }

  double SecondsUsed() const {
    return progress_.seconds_used + absl::ToDoubleSeconds(clock_.Monotonic() - started_);
  }

  bool TimeLimited() const { return recipe_.limits.max_time < absl::InfiniteDuration(); }

  // What the current phase trains on. Limit and stop end this work too, but not that of a phase
  // which has a state already: the best model so far is in it. Errors: NO_MODEL.
  absl::StatusOr<RecipeProblem> Prepare(const std::vector<Index>& rows, RunContext& context) {
    if (!progress_.run_state.empty()) {
      return MakeRecipeProblem(run_, rows, context);
    }
    const InterruptibleScope scope(context, *interruption_);
    absl::StatusOr<RecipeProblem> made = MakeRecipeProblem(run_, rows, context);
    if (absl::IsCancelled(made.status()) && context.interrupted()) {
      return NoModelError(StopReasonOf(*interruption_));
    }
    return made;
  }

  // Runs the current phase from its saved state, if any.
  absl::StatusOr<TrainingOutcome> RunPhase(const RecipeProblem& made, RunContext& context) {
    RunLimits limits = recipe_.limits;
    if (TimeLimited()) {
      limits.max_time -= absl::Seconds(SecondsUsed());
    }
    std::unique_ptr<Learner> learner;
    if (HasPartPerOutput(*run_.entry, made.problem)) {
      learner = MakeCompositeLearner(*run_.entry, options_, limits.relative_gap);
    } else {
      MERCER_ASSIGN_OR_RETURN(learner, run_.entry->create(options_));
    }
    const auto encode = [this](std::string_view run_state) {
      saved_phase_ = progress_.phase;
      return EncodeNow(run_state);
    };
    PhaseObserver observer(observer_, progress_, num_phases_, encode);
    const std::string run_state = std::move(progress_.run_state);
    progress_.run_state.clear();
    in_phase_ = true;
    return RunTraining(*run_.entry, options_, *learner, made.problem, limits, run_state, context,
                       observer);
  }

  void EndPhase(int64_t iterations) {
    progress_.iterations += iterations;
    ++progress_.phase;
    in_phase_ = false;
  }

  std::string EncodeNow(std::string_view run_state) const {
    return EncodeProgress(progress_, run_state, TimeLimited() ? SecondsUsed() : 0,
                          run_.code_version);
  }

  // A cancellation while a fold is prepared, or a disk that has no room for what it needs, does not cost the phases before it.
  void CheckpointPhasesBefore(const absl::Status& error) {
    const bool cancelled = absl::IsCancelled(error) && !in_phase_;
    const bool unsaved = IsDiskError(error) && progress_.phase > saved_phase_;
    if ((cancelled && observer_.WantsCheckpoint()) ||
        (unsaved && observer_.WantsLastCheckpoint())) {
      observer_.OnCheckpoint(EncodeNow(progress_.run_state));
    }
  }

  absl::Status TrainModel(RunContext& context) {
    const std::vector<Index> rows = FinalTrainingRows(recipe_, *run_.dataset, splits_);
    MERCER_ASSIGN_OR_RETURN(const RecipeProblem made, Prepare(rows, context));
    MERCER_ASSIGN_OR_RETURN(TrainingOutcome outcome, RunPhase(made, context));
    auto model = std::make_shared<Model>(AssembleModel(made, outcome));
    if (recipe_.validation.kind == ValidationKind::kHoldOut) {
      MERCER_ASSIGN_OR_RETURN(const std::vector<Metric> metrics,
                              Evaluate(model, *made.inputs, splits_[0].held_out, context));
      for (const Metric& metric : metrics) {
        model->metrics.push_back({absl::StrCat("held_out.", metric.name), metric.value});
      }
    }
    model->metrics.insert(model->metrics.end(), outcome.metrics.begin(), outcome.metrics.end());
    stopped_ = outcome.stop_reason == StopReason::kStopRequested ||
               outcome.stop_reason == StopReason::kTimeLimit;
    progress_.model = SaveModel(*model);
    progress_.witness = SaveWitness(outcome.point.witness);
    EndPhase(outcome.iterations);
    return absl::OkStatus();
  }

  Model AssembleModel(const RecipeProblem& made, const TrainingOutcome& outcome) const {
    Model model;
    model.learner = run_.entry->name;
    model.options = options_;
    model.target = target_->schema.name;
    model.preprocessing = made.preprocessing;
    model.coding = made.coding;
    model.function = outcome.point.function;
    model.summary = outcome.point.summary;
    model.certificate = outcome.certificate;
    model.stop_reason = outcome.stop_reason;
    model.num_training_rows = static_cast<Index>(made.problem.tasks[0].rows.size());
    model.num_square_columns = UsesSquares(made.problem.kernels) ? run_.dataset->rows : 0;
    model.seed = recipe_.seed;
    model.code_version = run_.code_version;
    return model;
  }

  absl::StatusOr<std::vector<Metric>> Evaluate(std::shared_ptr<const Model> model,
                                               const PreparedData& inputs,
                                               const std::vector<Index>& rows,
                                               RunContext& context) const {
    const OutputCoding coding = model->coding;
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Predictor> predictor,
                            Predictor::Make(std::move(model)));
    MERCER_ASSIGN_OR_RETURN(const Prediction prediction,
                            PredictRows(*predictor, inputs, rows, context));
    return EvaluatePrediction(coding, prediction, SelectLabels(*target_, rows));
  }

  // False when the run must end: its time is up, or the user asked for it. The folds so far then
  // count for nothing.
  absl::StatusOr<bool> TrainFold(RunContext& context) {
    if (stopped_ || observer_.StopRequested()) {
      return false;
    }
    const Split& split = splits_[static_cast<size_t>(progress_.phase - 1)];
    absl::StatusOr<RecipeProblem> made = Prepare(split.training, context);
    if (GetReason(made.status()) == "NO_MODEL") {
      return false;
    }
    if (!made.ok()) {
      return InFold(progress_.phase, made.status());
    }
    absl::StatusOr<TrainingOutcome> outcome = RunPhase(*made, context);
    if (!outcome.ok()) {
      const bool ended =
          GetReason(outcome.status()) == "NO_MODEL" && (observer_.StopRequested() || OutOfTime());
      return ended ? absl::StatusOr<bool>(false) : InFold(progress_.phase, outcome.status());
    }
    if (outcome->stop_reason == StopReason::kStopRequested ||
        outcome->stop_reason == StopReason::kTimeLimit) {
      return false;
    }
    auto model = std::make_shared<Model>(AssembleModel(*made, *outcome));
    MERCER_ASSIGN_OR_RETURN(const std::vector<Metric> metrics,
                            Evaluate(model, *made->inputs, split.held_out, context));
    for (const Metric& metric : metrics) {
      MetricSum& over_folds = progress_.fold_metrics[metric.name];
      over_folds.sum += metric.value;
      ++over_folds.count;
    }
    EndPhase(outcome->iterations);
    return true;
  }

  bool OutOfTime() const {
    return TimeLimited() && absl::Seconds(SecondsUsed()) >= recipe_.limits.max_time;
  }

  // Names the fold that could not be trained on.
  absl::Status InFold(int64_t fold, const absl::Status& status) const {
    if (!absl::IsInvalidArgument(status)) {
      return status;
    }
    FieldViolations violations;
    violations.Add("validation.folds", absl::StrCat("fold ", fold, " of ", num_phases_ - 1,
                                                    " cannot be trained: ", status.message()));
    return WithReason(violations.ToStatus(), GetReason(status), GetErrorMetadata(status));
  }

  absl::StatusOr<TrainedModel> Finish(bool complete) {
    TrainedModel trained;
    MERCER_ASSIGN_OR_RETURN(trained.model, LoadModel(progress_.model));
    MERCER_ASSIGN_OR_RETURN(trained.witness, LoadWitness(progress_.witness));
    if (complete && num_phases_ > 1) {
      std::vector<Metric> of_folds;
      for (const auto& [name, metric] : progress_.fold_metrics) {
        of_folds.push_back(
            {absl::StrCat("folds.", name), metric.sum / static_cast<double>(metric.count)});
      }
      std::vector<Metric>& metrics = trained.model.metrics;
      metrics.insert(metrics.begin(), of_folds.begin(), of_folds.end());
    }
    return trained;
  }

  const RecipeRun& run_;
  const TrainingRecipe& recipe_;
  RunObserver& observer_;
  const SteadyClock& clock_;
  const absl::Duration started_;
  std::optional<Interruption> interruption_;  // of all preparation; the training loop makes its own
  OptionValues options_;
  const RoleColumn* target_ = nullptr;
  std::vector<Split> splits_;
  int64_t num_phases_ = 1;
  Progress progress_;
  int64_t saved_phase_ = 0;  // of the last checkpoint; phase 0 begins with nothing to save
  bool in_phase_ = false;    // the training loop of the phase has begun: it writes the checkpoints
  bool stopped_ = false;
};

}  // namespace

absl::StatusOr<TrainedModel> RunRecipe(const RecipeRun& run, std::string_view state,
                                       RunContext& context, RunObserver& observer) {
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
                          MakeSplits(recipe, *run.dataset, *target, context));
  const std::vector<Index> rows = FinalTrainingRows(*run.recipe, *run.dataset, splits);
  MERCER_ASSIGN_OR_RETURN(const RecipeProblem made, MakeRecipeProblem(run, rows, context));
  if (static_cast<Index>(rows.size()) != model.num_training_rows) {
    return mismatch("the number of training rows differs");
  }
  if (made.coding.kind() != model.coding.kind() ||
      made.coding.classes() != model.coding.classes()) {
    return mismatch("the classes differ");
  }
  MERCER_ASSIGN_OR_RETURN(
      VerifiedFunction verified,
      VerifyFunction(*run.entry, model.options, made.problem, model.function, witness, context));
  return std::move(verified.certificate);
}

}  // namespace mercer
