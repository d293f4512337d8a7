#include "core/training/recipe/recipe.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "core/base/memory/scratch_space.h"
#include "core/base/status/errors.h"
#include "core/data/splits/splits.h"
#include "core/training/recipe/recipe_phases.h"
#include "core/training/recipe/warnings.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/model_terms.h"

namespace mercer {
namespace {

TEST(RecipeTest, TrainsAndVerifiesAModel) {
  const Dataset data = ClassificationData(80, 3, 2, 1);
  const TrainingRecipe recipe = ExampleRecipe();
  RunContext context;
  RecordingObserver observer;
  const absl::StatusOr<TrainedModel> trained =
      RunRecipe(ExampleRun(recipe, data), {}, context, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(trained->model.stop_reason, StopReason::kConverged);
  EXPECT_LE(trained->model.certificate.accuracy, recipe.limits.relative_gap);
  EXPECT_EQ(trained->model.summary.kernel_names.size(), 2u);
  EXPECT_TRUE(trained->model.metrics.empty());
  EXPECT_EQ(observer.events.back().phase, "train");
  EXPECT_EQ(observer.verifications, 1);

  const absl::StatusOr<Certificate> verified =
      VerifyModel(ExampleRun(recipe, data), trained->model, trained->witness, context);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_EQ(verified->primal, trained->model.certificate.primal);
  EXPECT_EQ(verified->dual, trained->model.certificate.dual);

  const absl::StatusOr<Prediction> prediction =
      PredictRows(std::make_shared<const Model>(trained->model), ClassificationData(200, 3, 2, 2));
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  Index correct = 0;
  for (size_t i = 0; i < prediction->classes.size(); ++i) {
    correct += prediction->classes[i] == static_cast<int>(i % 2) ? 1 : 0;
  }
  EXPECT_GT(correct, 170);
}

TEST(RecipeTest, HoldOutMeasuresRowsThatTrainingDidNotSee) {
  Dataset data = ClassificationData(100, 3, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation = {ValidationKind::kHoldOut, 0.3, 0};
  const absl::StatusOr<TrainedModel> trained = TrainExample(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(trained->model.num_training_rows, 70);
  const std::map<std::string, double> metrics = MetricsOf(trained->model);
  ASSERT_EQ(metrics.count("held_out.accuracy"), 1u);
  EXPECT_GT(metrics.at("held_out.accuracy"), 0.8);
  EXPECT_GT(metrics.at("held_out.auc"), 0.8);

  // Another value in a held-out row changes neither statistics nor model.
  const absl::StatusOr<Split> split = HoldOutSplit(
      100, 0.3,
      [&] {
        std::vector<int> classes;
        for (Index i = 0; i < 100; ++i) {
          classes.push_back(static_cast<int>(i % 2));
        }
        return classes;
      }(),
      recipe.seed, RunContext());
  ASSERT_TRUE(split.ok());
  RowMatrix values = data.blocks[0].values.view();
  values.row(split->held_out[0]).setConstant(1e6);
  data.blocks[0].values = SharedMatrix(values);
  const absl::StatusOr<TrainedModel> again = TrainExample(recipe, data);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(SaveWitness(again->witness), SaveWitness(trained->witness));
}

TEST(RecipeTest, FoldsAreMeasuredAndTheModelSeesAllRows) {
  const Dataset data = RegressionData(60, 2, 1);
  TrainingRecipe recipe = ExampleRecipe(TargetKind::kRegression);
  recipe.options["C"] = 50.0;
  recipe.validation = {ValidationKind::kFolds, 0, 4};
  RunContext context;
  RecordingObserver observer;
  const absl::StatusOr<TrainedModel> trained =
      RunRecipe(ExampleRun(recipe, data), {}, context, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(trained->model.num_training_rows, 60);
  EXPECT_GT(MetricsOf(trained->model).at("folds.r2"), 0.8);
  EXPECT_EQ(observer.events.front().phase, "train");
  EXPECT_EQ(observer.events.back().phase, "fold 4 of 4");
  EXPECT_EQ(observer.verifications, 1);
  for (size_t i = 1; i < observer.events.size(); ++i) {
    EXPECT_EQ(observer.events[i].iteration, observer.events[i - 1].iteration + 1);
    EXPECT_GE(observer.events[i].report.fraction, observer.events[i - 1].report.fraction);
  }
}

TEST(RecipeTest, EveryCheckpointLeadsToTheSameBits) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation = {ValidationKind::kFolds, 0, 3};
  recipe.coding = CodingChoice::kOneVsOne;
  ExpectSameBitsFromEveryCheckpoint(recipe, ClassificationData(36, 2, 3, 1));
  recipe.validation = {ValidationKind::kHoldOut, 0.2, 0};
  recipe.kernels = {};
  ExpectSameBitsFromEveryCheckpoint(recipe, ClassificationData(40, 2, 2, 1));
}

TEST(RecipeTest, CancellationBeforeAFoldKeepsWhatCameBefore) {
  const Dataset data = ClassificationData(60, 3, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.validation.folds = 3;
  RecipeRun run = ExampleRun(recipe, data);
  RunContext undisturbed;
  RecordingObserver straight_observer;
  const absl::StatusOr<TrainedModel> straight = RunRecipe(run, {}, undisturbed, straight_observer);
  ASSERT_TRUE(straight.ok()) << straight.status();

  const CancellationToken token;
  LearnerEntry entry = *run.entry;
  entry.verify = [&token, verify = entry.verify](const OptionValues& options,
                                                 const TrainingProblem& problem,
                                                 const Witness& witness, RunContext& context) {
    auto result = verify(options, problem, witness, context);
    token.Cancel();  // as the last thing that the model's phase does
    return result;
  };
  run.entry = &entry;
  RunContext context(token, 1, nullptr);
  RecordingObserver observer;
  observer.wants_checkpoints = true;
  EXPECT_TRUE(absl::IsCancelled(RunRecipe(run, {}, context, observer).status()));

  RunContext other_context;
  RecordingObserver other;
  const absl::StatusOr<TrainedModel> resumed =
      RunRecipe(ExampleRun(recipe, data), observer.checkpoints.back(), other_context, other);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(other.events.front().phase, "fold 1 of 3");
  EXPECT_EQ(other.events.size(), straight_observer.events.size() - observer.events.size());
  EXPECT_EQ(SaveModel(resumed->model), SaveModel(straight->model));
}

// Has room for so many files.
class FillingSpace final : public ScratchSpace {
 public:
  FillingSpace(const std::string& folder, int files) : ScratchSpace(folder, 0), left_(files) {}

 protected:
  int Allocate(int /*descriptor*/, size_t /*size*/) const override {
    return left_-- > 0 ? 0 : ENOSPC;
  }

 private:
  mutable int left_;
};

TEST(RecipeTest, DiskThatFillsBetweenFoldsKeepsThePhasesBefore) {
  const Dataset data = ClassificationData(60, 3, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.validation.folds = 3;
  const RecipeRun run = ExampleRun(recipe, data);
  RunContext undisturbed;
  RecordingObserver straight_observer;
  const absl::StatusOr<TrainedModel> straight = RunRecipe(run, {}, undisturbed, straight_observer);
  ASSERT_TRUE(straight.ok()) << straight.status();

  const std::string folder = testing::TempDir();
  std::string state;
  std::vector<std::string> phases;
  size_t steps = 0;
  absl::StatusOr<TrainedModel> trained = absl::UnknownError("not tried");
  for (const int files : {1, 0, 1, 1, 1}) {  // every phase needs one
    const FillingSpace space(folder, files);
    RunContext context;
    context.set_scratch(&space);
    RecordingObserver observer;
    observer.wants_last_checkpoint = true;
    trained = RunRecipe(run, state, context, observer);
    steps += observer.events.size();
    if (files == 0) {
      EXPECT_TRUE(observer.checkpoints.empty()) << "it has come no further";
      continue;
    }
    phases.push_back(observer.events.front().phase);
    if (!trained.ok()) {
      EXPECT_EQ(GetReason(trained.status()), "DISK_FULL") << trained.status();
      ASSERT_EQ(observer.checkpoints.size(), 1u) << phases.back();
      state = observer.checkpoints[0];
    }
  }
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(phases,
            (std::vector<std::string>{"train", "fold 1 of 3", "fold 2 of 3", "fold 3 of 3"}));
  EXPECT_EQ(steps, straight_observer.events.size()) << "no step is done twice";
  EXPECT_EQ(SaveModel(trained->model), SaveModel(straight->model));
}

TEST(RecipeTest, CheckpointsOfOtherVersionsAndDamagedOnesAreRefused) {
  const Dataset data = ClassificationData(20, 2, 2, 1);
  const TrainingRecipe recipe = ExampleRecipe();
  RecipeRun run = ExampleRun(recipe, data);
  RunContext context;
  RecordingObserver observer;
  observer.wants_checkpoints = true;
  ASSERT_TRUE(RunRecipe(run, {}, context, observer).ok());
  const std::string state = observer.checkpoints[1];
  for (size_t i = 0; i < state.size(); i += 3) {
    std::string flipped = state;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x20);
    EXPECT_EQ(RunRecipe(run, flipped, context, observer).status().code(),
              absl::StatusCode::kDataLoss)
        << "byte " << i;
  }
  std::string older = state;  // the version follows eight bytes of magic, the checksum is the last
  older[8] = 1;
  ByteWriter checksum;
  const std::string_view framed = std::string_view(older).substr(0, older.size() - 8);
  checksum.WriteUint64(crc32_z(0, reinterpret_cast<const Bytef*>(framed.data()), framed.size()));
  older.replace(older.size() - 8, 8, checksum.bytes());
  EXPECT_EQ(GetReason(RunRecipe(run, older, context, observer).status()), "OTHER_VERSION");

  run.code_version = "another";
  const absl::Status status = RunRecipe(run, state, context, observer).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetReason(status), "OTHER_VERSION");
}

TEST(RecipeTest, StopAndLimitEndThePreparation) {
  Dataset data = ClassificationData(40, 2, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  LearnerEntry entry = ExampleEntry();
  int made = 0;
  entry.create = [&made, create = entry.create](const OptionValues& options) {
    ++made;
    return create(options);
  };
  RecipeRun run = ExampleRun(recipe, data);
  run.entry = &entry;
  RunContext context;
  RecordingObserver observer;
  observer.wants_checkpoints = true;
  ASSERT_TRUE(RunRecipe(run, {}, context, observer).ok());
  const int of_a_run = made;

  for (const bool limited : {false, true}) {
    recipe.limits.max_time = limited ? absl::Nanoseconds(1) : absl::InfiniteDuration();
    RecordingObserver hurried;
    hurried.stop_now = !limited;
    made = 0;
    const absl::Status ended = RunRecipe(run, {}, context, hurried).status();
    EXPECT_EQ(GetReason(ended), "NO_MODEL") << ended;
    const std::string reason = limited ? "TIME_LIMIT" : "STOP_REQUESTED";
    EXPECT_EQ(GetErrorMetadata(ended), (ErrorMetadata{{"stop_reason", reason}}));
    EXPECT_LT(made, of_a_run) << "a learner was made after the end";
    // The model that a checkpoint holds is not lost to it.
    EXPECT_TRUE(RunRecipe(run, observer.checkpoints.back(), context, hurried).ok());
  }
}

// The run of `recipe` that is stopped after the first step of that phase.
absl::StatusOr<TrainedModel> StopIn(const std::string& phase, const TrainingRecipe& recipe,
                                    const Dataset& data) {
  RunContext context;
  RecordingObserver all;
  EXPECT_TRUE(RunRecipe(ExampleRun(recipe, data), {}, context, all).ok());
  RecordingObserver observer;
  const auto first = std::find_if(all.events.begin(), all.events.end(),
                                  [&](const ProgressEvent& event) { return event.phase == phase; });
  observer.stop_after = static_cast<int>(first - all.events.begin()) + 1;
  return RunRecipe(ExampleRun(recipe, data), {}, context, observer);
}

TEST(RecipeTest, StopDuringFoldsKeepsTheModelAndTheMetricsOfFoldsThatHadEnded) {
  const Dataset data = ClassificationData(40, 2, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  const absl::StatusOr<TrainedModel> plain = TrainExample(recipe, data);
  ASSERT_TRUE(plain.ok()) << plain.status();
  recipe.validation = {ValidationKind::kFolds, 0, 5};
  const absl::StatusOr<TrainedModel> stopped = StopIn("fold 4 of 5", recipe, data);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(SaveWitness(stopped->witness), SaveWitness(plain->witness));

  // What the first three folds say, each trained by itself.
  std::vector<int> classes;
  for (Index i = 0; i < data.rows; ++i) {
    classes.push_back(static_cast<int>(i % 2));
  }
  const absl::StatusOr<std::vector<Split>> splits =
      KFoldSplits(data.rows, 5, classes, recipe.seed, RunContext());
  ASSERT_TRUE(splits.ok()) << splits.status();
  double accuracies = 0;
  Index rows = 0;
  for (size_t fold = 0; fold < 3; ++fold) {
    const std::vector<Index>& held_out = (*splits)[fold].held_out;
    const Dataset training = SelectRows(data, (*splits)[fold].training);
    const absl::StatusOr<Prediction> prediction =
        PredictRows(ExampleModel(ExampleRecipe(), training), SelectRows(data, held_out));
    ASSERT_TRUE(prediction.ok()) << prediction.status();
    int correct = 0;
    for (size_t i = 0; i < held_out.size(); ++i) {
      correct += prediction->classes[i] == static_cast<int>(held_out[i] % 2) ? 1 : 0;
    }
    accuracies += correct / static_cast<double>(held_out.size());
    rows += static_cast<Index>(held_out.size());
  }
  const std::map<std::string, double> metrics = MetricsOf(stopped->model);
  EXPECT_NEAR(metrics.at("folds.accuracy"), accuracies / 3, 1e-12);
  EXPECT_EQ(metrics.at(kFoldsLeftOut), 2);
  EXPECT_EQ(metrics.at(kLeftOutOf), 5);
  EXPECT_EQ(stopped->model.held_out.folds, 3);
  EXPECT_EQ(stopped->model.held_out.rows, rows);
  const TrainingWarning warning = FindWarnings(recipe, data, stopped->model).back();
  EXPECT_EQ(warning.message,
            "The training ended with 3 of 5 folds through; its metrics are those of these folds.");
  EXPECT_EQ(warning.values.at("folds"), "5");
  EXPECT_EQ(warning.values.at("folds_left_out"), "2");
}

TEST(RecipeTest, StopInTheFirstFoldLeavesNoMetricsOfFolds) {
  const Dataset data = ClassificationData(40, 2, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation = {ValidationKind::kFolds, 0, 5};
  const absl::StatusOr<TrainedModel> stopped = StopIn("fold 1 of 5", recipe, data);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(MetricsOf(stopped->model),
            (std::map<std::string, double>{{kFoldsLeftOut, 5}, {kLeftOutOf, 5}}));
  EXPECT_EQ(FindWarnings(recipe, data, stopped->model).back().message,
            "The training ended with 0 of 5 folds through; there are no metrics of folds.");
}

TEST(RecipeTest, ClassWeightsAndSampleWeightsMultiply) {
  // Weights that undo each other give the model without weights.
  Dataset data = ClassificationData(30, 2, 2, 1);
  const absl::StatusOr<TrainedModel> plain = TrainExample(ExampleRecipe(), data);
  ASSERT_TRUE(plain.ok()) << plain.status();
  Vector weights(30);
  for (Index i = 0; i < 30; ++i) {
    weights(i) = i % 2 == 0 ? 1 : 0.25;
  }
  data.role_columns.push_back(NumericColumn(ColumnRole::kWeight, "w", weights));
  TrainingRecipe recipe = ExampleRecipe();
  recipe.class_weighting = ClassWeighting::kExplicit;
  recipe.class_weights = {{"1", 4.0}};
  const absl::StatusOr<TrainedModel> weighted = TrainExample(recipe, data);
  ASSERT_TRUE(weighted.ok()) << weighted.status();
  EXPECT_EQ(SaveWitness(weighted->witness), SaveWitness(plain->witness));
}

TEST(RecipeTest, BalancedClassesWeighTheSameInTotal) {
  Dataset data = ClassificationData(40, 2, 2, 1);
  for (Index i = 0; i < 40; ++i) {
    data.role_columns[0].values(i) = i < 8 ? 1 : 0;
  }
  TrainingRecipe balanced = ExampleRecipe();
  balanced.class_weighting = ClassWeighting::kBalanced;
  TrainingRecipe explicit_weights = ExampleRecipe();
  explicit_weights.class_weighting = ClassWeighting::kExplicit;
  explicit_weights.class_weights = {{"1", 40.0 / (2 * 8)}, {"0", 40.0 / (2 * 32)}};
  const absl::StatusOr<TrainedModel> first = TrainExample(balanced, data);
  const absl::StatusOr<TrainedModel> second = TrainExample(explicit_weights, data);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(SaveWitness(first->witness), SaveWitness(second->witness));
}

TEST(RecipeTest, PrecomputedKernelsPredictWithTheColumnsOfTheDataSet) {
  Dataset data = ClassificationData(30, 2, 2, 1);
  const RowMatrix x = data.blocks[0].values.view();
  data.squares.push_back({"gram", SquareKind::kKernel, SharedMatrix(RowMatrix(x * x.transpose()))});
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels = {KernelGrid()};
  recipe.kernels[0].prototype.type = KernelType::kPrecomputed;
  recipe.kernels[0].prototype.block = "gram";
  recipe.validation = {ValidationKind::kHoldOut, 0.3, 0};
  TrainingRecipe linear = recipe;
  linear.kernels[0].prototype.type = KernelType::kLinear;
  linear.kernels[0].prototype.block = "";
  linear.preprocessing.scaling = Scaling::kNone;
  const std::shared_ptr<const Model> precomputed = ExampleModel(recipe, data);
  const std::shared_ptr<const Model> computed = ExampleModel(linear, data);
  EXPECT_EQ(precomputed->num_square_columns, 30);
  const absl::StatusOr<Prediction> a = PredictRows(precomputed, data);
  const absl::StatusOr<Prediction> b = PredictRows(computed, data);
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  EXPECT_LT((a->decision_values - b->decision_values).cwiseAbs().maxCoeff(), 1e-8);
  EXPECT_EQ(MetricsOf(*precomputed), MetricsOf(*computed));
}

TEST(RecipeTest, ModelOnOtherDataIsRefused) {
  const TrainingRecipe recipe = ExampleRecipe();
  const Dataset data = ClassificationData(40, 2, 2, 1);
  const absl::StatusOr<TrainedModel> trained = TrainExample(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  RunContext context;
  const Dataset fewer = ClassificationData(38, 2, 2, 1);
  EXPECT_EQ(VerifyModel(ExampleRun(recipe, fewer), trained->model, trained->witness, context)
                .status()
                .code(),
            absl::StatusCode::kFailedPrecondition);
  const Dataset other = ClassificationData(40, 2, 2, 99);
  const absl::Status status =
      VerifyModel(ExampleRun(recipe, other), trained->model, trained->witness, context).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_EQ(GetReason(status), "WITNESS_MISMATCH");  // the witness is of these rows of other data
  Model changed = trained->model;
  ChangeTerm<KernelTerm>(changed.function,
                         [](KernelTerm& term) { term.coefficients.coeffs()(0) *= 1.001; });
  const absl::Status of_this =
      VerifyModel(ExampleRun(recipe, data), changed, trained->witness, context).status();
  EXPECT_EQ(GetReason(of_this), "WITNESS_MISMATCH");
  EXPECT_EQ(of_this.message().find("version"), std::string_view::npos) << of_this;
  changed.code_version = "0.0.1";
  const absl::Status of_before =
      VerifyModel(ExampleRun(recipe, data), changed, trained->witness, context).status();
  EXPECT_EQ(GetReason(of_before), "WITNESS_MISMATCH");
  EXPECT_NE(of_before.message().find("trained by version 0.0.1"), std::string_view::npos)
      << of_before;
}

}  // namespace
}  // namespace mercer
