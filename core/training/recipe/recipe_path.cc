#include "core/training/recipe/recipe_path.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include "core/base/encoding/bytes.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/model/point_encoding.h"
#include "core/training/model/stop_reason.h"
#include "core/training/recipe/recipe_phases.h"
#include "core/training/recipe/recipe_splits.h"
#include "core/training/run/evaluation.h"
#include "core/training/run/no_model.h"

namespace mercer {
namespace {

constexpr size_t kMaxPathValues = 1000;
constexpr size_t kMaxKeptValues = 100;

// The order of a path's phases: fold by fold, and in each value by value; with folds the model
// comes last, or the models.
class PathOrder : public PhasePlan {
 public:
  explicit PathOrder(const TrainingRecipe& recipe)
      : has_folds_(recipe.validation.kind == ValidationKind::kFolds),
        keeps_all_(recipe.path->keep_all),
        num_values_(static_cast<int64_t>(recipe.path->values.size())) {}

  int64_t CountPhases(size_t num_splits) const override {
    const int64_t after_folds = has_folds_ ? (keeps_all_ ? num_values_ : 1) : 0;
    return static_cast<int64_t>(num_splits) * num_values_ + after_folds;
  }
  std::string PhaseName(int64_t phase, size_t num_splits) const override {
    const size_t split = SplitOf(phase);
    if (split == num_splits && !keeps_all_) {
      return "train";
    }
    const std::string place = absl::StrCat(ValueOf(phase) + 1, " of ", num_values_);
    if (split == num_splits) {
      return absl::StrCat("train, model ", place);
    }
    const std::string value = absl::StrCat("value ", place);
    return has_folds_ ? absl::StrCat("fold ", split + 1, " of ", num_splits, ", ", value) : value;
  }

  // With folds, the model on all rows is left as much time as each fold has.
  double TimeShare(int64_t phase, size_t num_splits) const override {
    const auto splits = static_cast<double>(num_splits);
    return has_folds_ && SplitOf(phase) < num_splits ? splits / (splits + 1) : 1;
  }

  bool has_folds() const { return has_folds_; }
  bool keeps_all() const { return keeps_all_; }
  size_t num_values() const { return static_cast<size_t>(num_values_); }
  size_t SplitOf(int64_t phase) const { return static_cast<size_t>(phase / num_values_); }
  size_t ValueOf(int64_t phase) const { return static_cast<size_t>(phase % num_values_); }
  // After the folds the best comes first.
  size_t ValueAfterFolds(int64_t phase, size_t best) const {
    const size_t place = ValueOf(phase);
    return place == 0 ? best : place <= best ? place - 1 : place;
  }

 private:
  const bool has_folds_;
  const bool keeps_all_;
  const int64_t num_values_;
};

Metric ActiveTerms(const ModelSummary& summary) {
  const auto rows_in_use = [](const Matrix& weights) {
    return (weights.array() != 0).rowwise().any().count();
  };
  const Index count = rows_in_use(summary.kernel_weights) + rows_in_use(summary.feature_weights);
  return {"active_terms", static_cast<double>(count)};
}

void CheckValues(const LearnerEntry& entry, const TrainingRecipe& recipe,
                 FieldViolations& violations) {
  size_t number = 0;
  for (const OptionValues& given : OptionsOfTrainings(recipe)) {
    const absl::StatusOr<OptionValues> options = CompleteOptions(entry, given);
    const absl::Status status = options.ok() ? entry.create(*options).status() : options.status();
    const std::vector<FieldViolation> found = GetFieldViolations(status);
    violations.Check(status.ok(), absl::StrCat("path.values[", number++, "]"),
                     found.empty() ? std::string(status.message()) : found.front().description);
  }
}

class PathRunner {
 public:
  PathRunner(const RecipeRun& run, const SteadyClock& clock, RunObserver& observer)
      : run_(run),
        recipe_(*run.recipe),
        order_(recipe_),
        phases_(run, order_, clock, observer),
        progress_(phases_.progress()) {}

  absl::StatusOr<TrainedModel> Run(std::string_view state, RunContext& context) {
    MERCER_RETURN_IF_ERROR(phases_.Begin(state, context));
    progress_.metrics.resize(order_.num_values());
    if (!IsConsistent()) {
      return absl::DataLossError("not a readable checkpoint: its content is inconsistent");
    }
    bool more = true;
    while (more && progress_.phase < phases_.num_phases()) {
      const bool in_split = order_.SplitOf(progress_.phase) < phases_.splits().size();
      absl::StatusOr<bool> trained = in_split ? TrainValue(context) : TrainModel(context);
      if (!trained.ok()) {
        phases_.CheckpointPhasesBefore(trained.status());
      }
      MERCER_ASSIGN_OR_RETURN(more, std::move(trained));
      if (!more && in_split && order_.has_folds()) {
        EndFolds();
        more = true;
      }
    }
    return Finish();
  }

 private:
  bool IsConsistent() const {
    const auto num_values = static_cast<int64_t>(order_.num_values());
    int64_t last = -1;
    for (const ModelOfValue& other : progress_.others) {
      if (!order_.keeps_all() || other.value <= last || other.value == progress_.best) {
        return false;
      }
      last = other.value;
    }
    return progress_.best >= -1 && progress_.best < num_values && last < num_values;
  }

  // Trains one value on the rows of one split. False when the run must end with what there is.
  absl::StatusOr<bool> TrainValue(RunContext& context) {
    const size_t number = order_.SplitOf(progress_.phase);
    const size_t value = order_.ValueOf(progress_.phase);
    if (phases_.StopRequested() && HasScores()) {
      return false;
    }
    const Split& split = phases_.splits()[number];
    const absl::Status prepared = Prepare(number, split.training, context);
    if (!prepared.ok()) {
      return EndOrError(number, prepared);
    }
    const OptionValues options = ValueOptions(value);
    MERCER_ASSIGN_OR_RETURN(const std::optional<TrainedPoint> last, LastPoint());
    const WarmStart warm_start{last.has_value() ? &*last : nullptr, &made_->problem};
    absl::StatusOr<TrainingOutcome> outcome =
        phases_.Train(*made_, options, last.has_value() ? &warm_start : nullptr, context);
    if (!outcome.ok()) {
      return EndOrError(number, outcome.status());
    }
    auto model = std::make_shared<Model>(phases_.Assemble(*made_, options, *outcome));
    HeldOutRows held_out;
    HeldOutRows& seen = order_.has_folds() ? phases_.SeenByFolds(value) : held_out;
    MERCER_ASSIGN_OR_RETURN(std::vector<Metric> metrics,
                            phases_.Evaluate(model, *made_, split.held_out, context, seen));
    std::vector<Metric> of_value = metrics;
    of_value.push_back(ActiveTerms(model->summary));
    of_value.push_back({"relative_gap", outcome->certificate.accuracy});
    progress_.AddMetrics(value, of_value);
    if (!order_.has_folds()) {
      AppendMetrics("held_out.", metrics, *model);
      AppendMetrics("", outcome->metrics, *model);
      model->held_out = phases_.Summarize(seen);
      KeepIfBest(value, *model, outcome->point.witness);
    }
    ByteWriter writer;
    WritePoint(outcome->point, writer);
    progress_.last_point = std::move(writer).Take();
    phases_.EndPhase(outcome->iterations);
    if (value + 1 == order_.num_values()) {
      progress_.last_point.clear();
    }
    return !WasInterrupted(*outcome);
  }

  // Ends the folds early: the value is chosen by what they have come to.
  void EndFolds() {
    const auto folds = static_cast<int64_t>(phases_.splits().size());
    phases_.SkipTo(folds * static_cast<int64_t>(order_.num_values()));
    progress_.last_point.clear();
  }

  // Trains on all rows with the best value, or one of the others.
  absl::StatusOr<bool> TrainModel(RunContext& context) {
    const bool has_best = HasModel();
    if (has_best && phases_.StopRequested()) {
      return false;
    }
    if (!has_best && HasScores()) {
      phases_.RequireModel();
    }
    const size_t best = BestValue();
    progress_.best = static_cast<int64_t>(best);
    const size_t value = order_.ValueAfterFolds(progress_.phase, best);
    const OptionValues options = ValueOptions(value);
    const absl::StatusOr<TrainingOutcome> outcome = TrainOnAllRows(options, context);
    if (has_best && GetReason(outcome.status()) == "NO_MODEL") {
      return false;
    }
    MERCER_RETURN_IF_ERROR(outcome.status());
    Model model = phases_.Assemble(*made_, options, *outcome);
    AppendMetrics("folds.", progress_.MeanMetrics(value), model);
    AppendMetrics("", outcome->metrics, model);
    model.held_out = phases_.SummarizeFolds(value);
    Keep(value, model, outcome->point.witness);
    phases_.EndPhase(outcome->iterations);
    return !WasInterrupted(*outcome);
  }

  absl::StatusOr<TrainingOutcome> TrainOnAllRows(const OptionValues& options, RunContext& context) {
    const std::vector<Index> rows = FinalTrainingRows(recipe_, *run_.dataset, phases_.splits());
    MERCER_RETURN_IF_ERROR(Prepare(phases_.splits().size(), rows, context));
    return phases_.Train(*made_, options, nullptr, context);
  }

  // Values of one split have its rows in common.
  absl::Status Prepare(size_t split, const std::vector<Index>& rows, RunContext& context) {
    if (made_.has_value() && made_split_ == split) {
      return absl::OkStatus();
    }
    made_.reset();
    MERCER_ASSIGN_OR_RETURN(made_, phases_.Prepare(rows, context));
    made_split_ = split;
    return absl::OkStatus();
  }

  // Without a model in time the run ends with what the values before have come to, if anything; the
  // time that is kept for the model after the folds may do for one without them.
  absl::StatusOr<bool> EndOrError(size_t split, const absl::Status& status) const {
    const bool time_is_kept = order_.has_folds() && !phases_.StopRequested();
    // A fold whose steps were too few would say nothing of its values with more time either.
    const ErrorMetadata steps_ended{
        {"stop_reason", std::string(StopReasonName(StopReason::kIterationLimit))}};
    const bool lacks_steps = order_.has_folds() && GetErrorMetadata(status) == steps_ended;
    if (GetReason(status) == "NO_MODEL" && !lacks_steps && (HasScores() || time_is_kept)) {
      return false;
    }
    return order_.has_folds() ? phases_.InFold(split + 1, status) : status;
  }

  bool HasModel() const { return !progress_.model.empty(); }
  bool HasScores() const { return !progress_.metrics[0].empty(); }

  OptionValues ValueOptions(size_t value) const {
    OptionValues options = phases_.options();
    options[recipe_.path->option] = recipe_.path->values[value];
    return options;
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
    const size_t through = progress_.FoldsSeen(order_.num_values() - 1);
    for (const auto& [name, of_folds] : progress_.metrics[value]) {
      if (name == "accuracy" || name == "rmse") {
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
    for (size_t value = 1; value < order_.num_values(); ++value) {
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
    if (static_cast<int64_t>(value) != progress_.best && !order_.keeps_all()) {
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
    if (order_.keeps_all()) {
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
    AppendPath(progress_.best, trained.model);
    for (const ModelOfValue& other : progress_.others) {
      MERCER_ASSIGN_OR_RETURN(Model model, LoadModel(other.model));
      AppendPath(other.value, model);
      trained.others.push_back({recipe_.path->values[static_cast<size_t>(other.value)],
                                SaveModel(model), other.witness});
    }
    return trained;
  }

  void AppendUntried(Model& model) const {
    const size_t wanted = order_.has_folds() ? phases_.splits().size() : order_.num_values();
    const auto values_seen = std::count_if(progress_.metrics.begin(), progress_.metrics.end(),
                                           [](const auto& found) { return !found.empty(); });
    const size_t through = order_.has_folds() ? progress_.FoldsSeen(order_.num_values() - 1)
                                              : static_cast<size_t>(values_seen);
    AppendLeftOut(order_.has_folds() ? kFoldsLeftOut : kValuesLeftOut, through, wanted, model);
  }

  void AppendPath(int64_t number, Model& model) const {
    std::vector<Metric>& metrics = model.metrics;
    metrics.push_back({"path.best", static_cast<double>(progress_.best + 1)});
    if (order_.keeps_all()) {
      metrics.push_back({"path.number", static_cast<double>(number + 1)});
    }
    for (size_t value = 0; value < order_.num_values(); ++value) {
      if (progress_.metrics[value].empty()) {
        continue;  // the run ended before it
      }
      const std::string prefix = absl::StrCat("path.", value + 1, ".");
      metrics.push_back({prefix + "value", recipe_.path->values[value]});
      std::vector<Metric> of_value = progress_.MeanMetrics(value);
      of_value.erase(std::remove_if(of_value.begin(), of_value.end(), IsOfBaseline),
                     of_value.end());  // the same for every value
      AppendMetrics(prefix, of_value, model);
    }
    AppendUntried(model);
  }

  const RecipeRun& run_;
  const TrainingRecipe& recipe_;
  const PathOrder order_;
  RecipePhases phases_;
  RecipeProgress& progress_;
  std::optional<RecipeProblem> made_;  // of the split made_split_
  size_t made_split_ = 0;
};

}  // namespace

std::vector<OptionValues> OptionsOfTrainings(const TrainingRecipe& recipe) {
  if (!recipe.path.has_value()) {
    return {recipe.options};
  }
  std::vector<OptionValues> all;
  for (const double value : recipe.path->values) {
    all.push_back(recipe.options);
    all.back()[recipe.path->option] = value;
  }
  return all;
}

void CheckPath(const LearnerEntry& entry, const TrainingRecipe& recipe,
               FieldViolations& violations) {
  if (!recipe.path.has_value()) {
    return;
  }
  const OptionPath& path = *recipe.path;
  const auto field = std::find_if(entry.fields.begin(), entry.fields.end(),
                                  [&](const OptionField& one) { return one.name == path.option; });
  if (!violations.Check(field != entry.fields.end() && field->type == OptionType::kReal,
                        "path.option",
                        absl::StrCat("must be an option of '", entry.name,
                                     "' that is a real number, is '", path.option, "'"))) {
    return;
  }
  violations.Check(recipe.options.count(path.option) == 0, "path.option",
                   absl::StrCat("'", path.option, "' is given among the options too"));
  const size_t most = path.keep_all ? kMaxKeptValues : kMaxPathValues;
  if (violations.Check(
          !path.values.empty() && path.values.size() <= most, "path.values",
          absl::StrCat("must be 1 to ", most, path.keep_all ? " when all models are kept" : "",
                       ", are ", path.values.size()))) {
    CheckValues(entry, recipe, violations);
  }
  violations.Check(recipe.validation.kind != ValidationKind::kNone, "validation",
                   "is missing: the best value of a path is that of the best score on rows that "
                   "are held out, or over folds");
}

absl::StatusOr<TrainedModel> RunRecipePath(const RecipeRun& run, std::string_view state,
                                           RunContext& context, RunObserver& observer) {
  PathRunner runner(run, context.clock(), observer);
  return runner.Run(state, context);
}

}  // namespace mercer
