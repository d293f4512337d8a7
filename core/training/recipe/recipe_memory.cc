#include <algorithm>
#include <functional>
#include <optional>

#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/training/recipe/recipe.h"
#include "core/training/recipe/recipe_plan.h"
#include "core/training/recipe/recipe_problem.h"
#include "core/training/recipe/recipe_shape.h"

namespace mercer {
namespace {

// Folds keep the numbers of their rows.
absl::StatusOr<ByteCount> SplitBytes(const TrainingRecipe& recipe, const Dataset& dataset,
                                     const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const Index folds, CountFolds(recipe, dataset, context));
  const Index splits = recipe.validation.kind == ValidationKind::kHoldOut ? 1 : folds;
  return ByteCount(splits) * ByteCount(dataset.rows) * ByteCount(sizeof(Index));
}

// What describes a kernel, with the longest labels that one of the recipe has: of a family its name
// has more behind it.
ByteCount KernelBytes(const TrainingRecipe& recipe) {
  constexpr size_t kBehindName = 64;
  size_t longest = 0;
  for (const KernelGrid& grid : recipe.kernels) {
    const auto& [name, group] = grid.prototype.labels;
    longest = std::max(longest, (name.empty() ? 0 : name.size() + kBehindName) + group.size());
  }
  return ByteCount(sizeof(KernelSpec)) + ByteCount(longest);
}

// What the outputs of a run keep between their turns: the state of a solver, of at most 11 vectors
// (svm), and a solution of row numbers, coefficients and dual, with the kernels' names and
// descriptions; features and gradients.
ByteCount RestingBytes(const ProblemShape& shape, ByteCount kernel, ByteCount features) {
  constexpr Index kVectors = 16;
  return ByteCount(shape.outputs) *
             (ByteCount(kVectors) * ByteCount(shape.rows) * ByteCount(sizeof(double)) +
              ByteCount(shape.kernels) * ByteCount(2) * kernel) +
         features;
}

// Outputs at rest, and while a checkpoint is made their state as the training loop has it, as the
// recipe has it, and framed.
constexpr Index kStateCopies = 4;

// What the function, one of the learner's, says of that training of the recipe of which it says
// most; 0 when it is empty.
absl::StatusOr<size_t> MostOfTrainings(
    const std::function<absl::StatusOr<size_t>(const OptionValues&, const ProblemShape&)>& function,
    const LearnerEntry& entry, const TrainingRecipe& recipe, const ProblemShape& shape) {
  size_t most = 0;
  if (!function) {
    return most;
  }
  for (const OptionValues& given : OptionsOfTrainings(recipe)) {
    MERCER_ASSIGN_OR_RETURN(const OptionValues options, CompleteOptions(entry, given));
    MERCER_ASSIGN_OR_RETURN(const size_t found, function(options, shape));
    most = std::max(most, found);
  }
  return most;
}

// Whether every output is a run of its own.
bool HasParts(const LearnerEntry& entry, const TrainingRecipe& recipe, const ProblemShape& shape) {
  return shape.outputs > 1 && shape.tasks == 1 && !HasOneRun(entry, recipe);
}

// Bytes of one of several parts, kernels of its own and those of its verification among them.
absl::StatusOr<ByteCount> PartBytes(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                    ProblemShape shape) {
  shape.outputs = 1;
  MERCER_ASSIGN_OR_RETURN(const size_t bytes,
                          MostOfTrainings(entry.estimate_memory, entry, recipe, shape));
  return ByteCount(bytes);
}

// Tables of a model: its own and the point's, as they are encoded, twice while they are framed, and
// the message of them.
constexpr Index kTableCopies = 5;

// A path keeps the last solution, as a point and encoded, and the best model and its witness,
// encoded.
constexpr Index kPathCopies = 4;
// How many copies there are of each model that is kept beside the best, encoded: as the checkpoint
// that the run began with has it, as the recipe has it, and twice while a checkpoint is made.
constexpr Index kKeptCopies = 4;

// Model and witness of the training that needs most, but for rows and basis: features, tables,
// kernels, columns, metrics of the path.
absl::StatusOr<ByteCount> SummaryBytes(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                       const ProblemShape& shape) {
  constexpr ByteCount kColumnBytes(192);  // name and statistics, or name of a category
  constexpr ByteCount kMetricBytes(64);
  constexpr Index kMetrics = 10;  // of a value of the path; of each task
  MERCER_ASSIGN_OR_RETURN(const size_t feature_numbers,
                          MostOfTrainings(entry.feature_numbers, entry, recipe, shape));
  MERCER_ASSIGN_OR_RETURN(const size_t table_bytes,
                          MostOfTrainings(entry.table_bytes, entry, recipe, shape));
  const ByteCount number(sizeof(double));
  const ByteCount kernel = KernelBytes(recipe) + ByteCount(2) * ByteCount(shape.outputs) * number;
  const ByteCount metrics =
      ByteCount(recipe.path->values.size()) * ByteCount(kMetrics) * ByteCount(1 + shape.tasks);
  return ByteCount(feature_numbers) * number + ByteCount(table_bytes) +
         ByteCount(shape.kernels) * kernel + ByteCount(shape.columns) * kColumnBytes +
         metrics * kMetricBytes;
}

// What a path keeps of trainings that are done; `solution`: rows and basis of one.
absl::StatusOr<ByteCount> PathBytes(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                    const ProblemShape& shape, ByteCount solution) {
  if (!recipe.path.has_value()) {
    return ByteCount(0);
  }
  MERCER_ASSIGN_OR_RETURN(const ByteCount summary, SummaryBytes(entry, recipe, shape));
  const auto values = static_cast<Index>(recipe.path->values.size());
  const Index copies = kPathCopies + (recipe.path->keep_all ? kKeptCopies * values : 0);
  return (solution + summary) * ByteCount(copies);
}

}  // namespace

absl::StatusOr<Index> PartsAtOnce(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                  const ProblemShape& shape) {
  // Threads of usual machines have enough to do, and a step of all is over within two seconds.
  constexpr size_t kMost = 8;
  // What small servers have.
  constexpr size_t kBytes = size_t{128} << 20;
  // Those of one-vs-all have all rows, which keep the threads of one part busy, and their caches
  // side by side cost more time than they spare.
  if (!entry.estimate_memory || recipe.coding != CodingChoice::kOneVsOne ||
      !HasParts(entry, recipe, shape)) {
    return Index{1};
  }
  ProblemShape in_memory = shape;
  in_memory.columns_in_files = 0;
  MERCER_ASSIGN_OR_RETURN(const ByteCount part, PartBytes(entry, recipe, in_memory));
  const size_t fitting = kBytes / std::max<size_t>(part.value(), 1);
  return static_cast<Index>(
      std::clamp(fitting, size_t{1}, std::min(kMost, static_cast<size_t>(shape.outputs))));
}

absl::StatusOr<size_t> EstimateRecipeMemory(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                            const Dataset& dataset, const RunContext& context,
                                            const ScratchSpace* scratch) {
  MERCER_ASSIGN_OR_RETURN(const OptionValues options, CompleteOptions(entry, recipe.options));
  MERCER_ASSIGN_OR_RETURN(const ProblemShape shape,
                          ShapeOfRecipe(entry, recipe, dataset, context, scratch));
  MERCER_ASSIGN_OR_RETURN(size_t learner_bytes,
                          MostOfTrainings(entry.estimate_memory, entry, recipe, shape));
  if (recipe.ranking_test.has_value()) {
    // The function of the model stands beside it.
    MERCER_ASSIGN_OR_RETURN(const size_t numbers,
                            MostOfTrainings(entry.feature_numbers, entry, recipe, shape));
    const ByteCount test(EstimateRankingTestMemory(*recipe.ranking_test, shape, dataset.rows));
    learner_bytes = std::max(learner_bytes,
                             (test + ByteCount(2 * sizeof(double)) * ByteCount(numbers)).value());
  }
  MERCER_ASSIGN_OR_RETURN(const size_t of_tables,
                          MostOfTrainings(entry.table_bytes, entry, recipe, shape));
  MERCER_ASSIGN_OR_RETURN(const Index parts_at_once, PartsAtOnce(entry, recipe, shape));
  MERCER_ASSIGN_OR_RETURN(const ByteCount part_bytes, PartBytes(entry, recipe, shape));
  const ByteCount side_by_side = ByteCount(parts_at_once - 1) * part_bytes;

  const ByteCount rows(dataset.rows);
  const ByteCount outputs(shape.outputs);
  const ByteCount number(sizeof(double));
  const std::optional<Index> of_basis =
      entry.basis_rows ? entry.basis_rows(options, shape) : std::nullopt;
  const ByteCount basis_rows(of_basis.value_or(dataset.rows));
  // The prepared table; the basis of the model, and the model's encoded form, twice while it is
  // framed. Outputs at rest hold no rows of the table.
  ByteCount table_bytes = (rows * ByteCount(shape.columns - shape.columns_in_files) +
                           ByteCount(3) * basis_rows * ByteCount(shape.columns)) *
                          number;
  for (const SquareBlock& square : dataset.squares) {
    table_bytes =
        table_bytes + ByteCount(square.values.rows()) * ByteCount(square.values.cols()) * number;
    if (square.kind == SquareKind::kKernel &&
        recipe.preprocessing.square_repair != SquareRepairRule::kNone) {
      table_bytes = table_bytes + ByteCount(SquareRepairBytes(dataset.rows));
    }
  }
  // Targets, decision values, coefficients and witness of the merged model; and the outputs at
  // rest.
  const bool joint = shape.tasks > 1 || HasOneRun(entry, recipe);
  MERCER_ASSIGN_OR_RETURN(const size_t feature_numbers,
                          MostOfTrainings(entry.feature_numbers, entry, recipe, shape));
  const ByteCount features = shape.outputs > 1 ? ByteCount(feature_numbers) * number : ByteCount(0);
  const ByteCount resting =
      joint ? ByteCount(0) : RestingBytes(shape, KernelBytes(recipe), features);
  const ByteCount outputs_of_row(shape.outputs_of_row());
  const ByteCount solution = rows * outputs_of_row * ByteCount(2) * number +
                             basis_rows * ByteCount(shape.columns) * number;
  // Trainings on parts of the rows have targets and costs of their own beside those.
  const ByteCount row_copies(recipe.stability.has_value() ? 12 : 8);
  const ByteCount output_bytes =
      row_copies * rows * outputs_of_row * number + resting * ByteCount(kStateCopies);
  MERCER_ASSIGN_OR_RETURN(const ByteCount path_bytes, PathBytes(entry, recipe, shape, solution));
  MERCER_ASSIGN_OR_RETURN(const ByteCount split_bytes, SplitBytes(recipe, dataset, context));
  const ByteCount kernel_bytes = ByteCount(shape.kernels) * (ByteCount(3) * KernelBytes(recipe) +
                                                             ByteCount(4) * outputs * number);
  const ByteCount table_copies(kTableCopies + (joint ? 0 : kStateCopies));
  // What rows take on their way to the scratch space.
  constexpr ByteCount kWriterBytes(size_t{8} << 20);
  const ByteCount in_files = rows * ByteCount(shape.columns_in_files) * number;
  const ByteCount fixed_bytes = ByteCount(size_t{1} << 20) + std::min(kWriterBytes, in_files);
  return (ByteCount(learner_bytes) + side_by_side + ByteCount(dataset.MemoryBytes()) + table_bytes +
          output_bytes + path_bytes + kernel_bytes + ByteCount(of_tables) * table_copies +
          split_bytes + fixed_bytes)
      .value();
}

}  // namespace mercer
