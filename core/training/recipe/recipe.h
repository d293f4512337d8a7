// From a request to a model: target, output coding, preprocessing, split, kernels, training,
// verification, metrics.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/memory/scratch_space.h"
#include "core/base/process/run_context.h"
#include "core/base/status/options.h"
#include "core/data/preprocess/preprocessing.h"
#include "core/data/splits/splits.h"
#include "core/data/table/dataset.h"
#include "core/kernels/spec/kernel_spec.h"
#include "core/training/contract/learner.h"
#include "core/training/model/model.h"
#include "core/training/run/ranking_tester.h"
#include "core/training/run/run_training.h"
#include "core/training/run/selection_stability.h"

namespace mercer {

enum class ValidationKind : uint8_t { kNone = 0, kHoldOut = 1, kFolds = 2 };

inline constexpr double kDefaultHoldOutFraction = 0.25;
inline constexpr int kDefaultFolds = 5;

struct ValidationOptions {
  ValidationKind kind = ValidationKind::kNone;
  // For kHoldOut the share of rows held out, in (0, 1). Absent: the default, or the rows that a
  // column with the role split names, beside which it must be absent.
  std::optional<double> fraction;
  // For kFolds their number, 2 .. rows (groups). Absent: the default, or the number of folds in a
  // column with the role split, of which it must not differ. The model itself is trained on all
  // rows.
  std::optional<int> folds;
};

// Values of an option that a run goes through in turn; it keeps the best by validation
// (recipe_plan.h).
struct OptionPath {
  std::string option;          // that takes real numbers
  std::vector<double> values;  // 1 to 1000, in the order of the run
  bool keep_all = false;       // the models of the others too; at most 100 values
};

// kStandardize: the learner sees targets of a regression with mean 0 and deviation 1 over the
// training rows; function, metrics and certificate are in the user's unit (target_unit.h).
enum class TargetScaling : uint8_t { kStandardize = 0, kNone = 1 };

enum class ClassWeighting : uint8_t { kNone = 0, kBalanced = 1, kExplicit = 2 };

struct TrainingRecipe {
  std::string learner;
  OptionValues options;
  std::vector<KernelGrid> kernels;
  std::string target;  // name of the target column; empty: the only column with that role
  // Name of the column that says which task a row is of; empty: all rows are of one. Absent: the
  // only column with that role, for learners of several tasks.
  std::optional<std::string> task;
  // Classification unless the target column is numeric and this says regression.
  TargetKind kind = TargetKind::kClassification;
  TargetScaling target_scaling = TargetScaling::kNone;  // of regressions; what requests leave open
                                                        // is the service's business
  CodingChoice coding = CodingChoice::kAuto;
  PreprocessingOptions preprocessing;
  ValidationOptions validation;
  std::optional<OptionPath> path;  // needs a validation
  // Further trainings on parts of the model's rows, of learners of kernels.
  std::optional<StabilityOptions> stability;
  // Of learners that rank columns: a test on the rows that a validation holds out, which it needs.
  std::optional<RankingTestOptions> ranking_test;
  // How classes are weighted; kBalanced: n / (classes * rows of the class), in each task by itself.
  ClassWeighting class_weighting = ClassWeighting::kNone;
  // For kExplicit the weights by label, >= 0; classes that are not named weigh 1.
  std::map<std::string, double> class_weights;
  uint64_t seed = 0;
  RunLimits limits;
};

// Everything that can be checked without the rows: option ranges, kernel parameters, validation,
// limits. Violations are named as in TrainingRecipe ("kernels[3].bandwidth", "options.C", ...).
absl::Status ValidateRecipe(const LearnerEntry& entry, const TrainingRecipe& recipe);

// Upper bound on the bytes of memory of a run with that scratch space (null: without), the data
// set's own included. What is in files, of the data set or of the scratch space, counts nothing:
// the system gives its memory to others when they need it.
absl::StatusOr<size_t> EstimateRecipeMemory(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                            const Dataset& dataset, const RunContext& context,
                                            const ScratchSpace* scratch = nullptr);

// A model of a path that is not its best.
struct PathModel {
  double value = 0;     // of the path's option
  std::string model;    // as SaveModel gives it
  std::string witness;  // as SaveWitness gives it
};

struct TrainedModel {
  Model model;
  Witness witness;
  // The other models of a path that keeps all, in the order of its values; a run that was ended
  // early may lack some.
  std::vector<PathModel> others;
};

// The machine that a recipe is to run on.
struct RunningConditions {
  WorkCount rates;  // of one thread (machine_rates.h)
  int threads = 1;
  size_t cache_bytes = 0;  // of the shared cache
};

// Seconds that the run will take, >= 0; infinite for absurd sizes. Counts of operations times what
// each takes: right within a factor of about 3 for usual data, of which it looks at nothing but the
// sizes. Never more than the time limit allows, the verification after it aside.
absl::StatusOr<double> EstimateRecipeSeconds(const LearnerEntry& entry,
                                             const TrainingRecipe& recipe, const Dataset& dataset,
                                             const RunningConditions& conditions,
                                             const RunContext& context);

// Trains. Deterministic in (recipe, dataset): the same bits for every number of threads and after
// any number of interruptions. `state` is empty, or the last string given to the observer's
// OnCheckpoint. `code_version` is recorded in model and checkpoints; a checkpoint of another
// version is kFailedPrecondition with reason OTHER_VERSION. `dataset_digest` names the content of
// the data set for caches; may be empty. recipe_plan.h says which trainings there are. Metrics of
// the model with folds: the means over them, "folds.accuracy". With a path the table kPathTable has
// a row for each value that was tried: the score, "accuracy" or "rmse", of several folds its
// deviation, "active_terms" (kernels or features with a weight), "relative_gap" and more, of folds
// their means; the metric "path.best" says which value is best, from 1, and of a path that keeps
// all "path.number" which one the model is of. With `stability` the table kStabilityTable has a row
// for each kernel, with `ranking_test` the table kRankingTestTable one for each number of columns, or
// the metric kRankingTestLeftOut says that limit or stop came before it.
//
// A run that is stopped or out of time ends with the best so far, and its metrics kFoldsLeftOut or
// kValuesLeftOut say so. Where the model comes after folds, it is then trained with the value that
// is best by the folds that are through, or, when none is, by what there is of the first. It has as
// much of a limit of time for that as each fold has, and after a stop kTimeAfterStop; when that is
// too short, the model is constant. Parts of the rows that are not through, or that cannot be
// trained on, do not count in the table; without any there is none. Other errors: kInvalidArgument
// (data that cannot be trained on), kCancelled, kFailedPrecondition with reason NO_MODEL (nothing
// was trained).
struct RecipeRun {
  const LearnerEntry* entry = nullptr;
  const TrainingRecipe* recipe = nullptr;
  const Dataset* dataset = nullptr;
  std::string dataset_digest;
  std::string code_version;
};
inline constexpr char kPathTable[] = "path";
// Of a model whose precomputed kernels were repaired: the eigenvalues that were found.
inline constexpr char kRepairsTable[] = "square_repairs";
inline constexpr char kDeviationSuffix[] = " deviation";
absl::StatusOr<TrainedModel> RunRecipe(const RecipeRun& run, std::string_view state,
                                       RunContext& context, RunObserver& observer);

// Recomputes the certificate of a trained model from its data set, recipe and witness, and checks
// that the model's function is that of the witness. Errors: kFailedPrecondition (witness or data do
// not fit the model), kCancelled.
absl::StatusOr<Certificate> VerifyModel(const RecipeRun& run, const Model& model,
                                        const Witness& witness, RunContext& context);

}  // namespace mercer
