#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "core/base/status/status_macros.h"
#include "core/training/recipe/default_kernels.h"
#include "core/training/recipe/recipe.h"
#include "core/training/recipe/recipe_plan.h"
#include "core/training/recipe/recipe_problem.h"
#include "core/training/recipe/recipe_shape.h"

namespace mercer {
namespace {

// The median heuristic looks at this many rows at most.
constexpr double kMedianRows = 2000;
// How many times a row of the table is copied, and read or written again, while it is prepared,
// selected and checked.
constexpr double kCopiesOfTable = 2;
constexpr double kPassesOfTable = 6;

double Pairs(double rows) { return 0.5 * rows * rows; }

// The work of computing the distances of all kernels' sources once.
WorkCount FamilyWork(const ProblemShape& shape) {
  WorkCount work = shape.pair_columns;
  work[WorkKind::kEntries] = static_cast<double>(shape.sources);
  work *= Pairs(static_cast<double>(shape.rows));
  return work;
}

bool UsesMedian(const LearnerEntry& entry, const TrainingRecipe& recipe, const Dataset& dataset) {
  const std::vector<KernelGrid> kernels = KernelsOrDefault(entry, recipe, dataset);
  return std::any_of(kernels.begin(), kernels.end(), [](const KernelGrid& grid) {
    return grid.rule == BandwidthRule::kMedianMultiples;
  });
}

// The work of trainings on shape.rows of the rows, and of the predictions of the others.
class PhaseEstimate {
 public:
  PhaseEstimate(const LearnerEntry& entry, const TrainingRecipe& recipe, const Dataset& dataset,
                const RunningConditions& conditions, Index parts_at_once)
      : entry_(entry),
        recipe_(recipe),
        dataset_(dataset),
        conditions_(conditions),
        parts_at_once_(parts_at_once) {}

  // Adds every training of a path, as if its solver began anew.
  absl::Status AddAll(const ProblemShape& shape) { return Add(OptionsOfTrainings(recipe_), shape); }

  // Adds that training of a path which takes longest: the one that a model is trained with after
  // the folds may be any.
  absl::Status AddLargest(const ProblemShape& shape) {
    PhaseEstimate largest(entry_, recipe_, dataset_, conditions_, parts_at_once_);
    for (const OptionValues& given : OptionsOfTrainings(recipe_)) {
      PhaseEstimate one(entry_, recipe_, dataset_, conditions_, parts_at_once_);
      MERCER_RETURN_IF_ERROR(one.Add({given}, shape));
      if (one.training_ >= largest.training_) {
        largest.training_ = one.training_;
        largest.verification_ = one.verification_;
      }
    }
    training_ += largest.training_;
    verification_ += largest.verification_;
    return absl::OkStatus();
  }

  // Counts a test of the ranking with every training that is added from now on, if there is one.
  void TestRankings() { tests_ranking_ = recipe_.ranking_test.has_value(); }

  double training_seconds() const { return training_; }
  double verification_seconds() const { return verification_; }

 private:
  double Seconds(const WorkCount& work) const {
    return SecondsOf(work, conditions_.rates, conditions_.threads);
  }

  // Adds trainings with these options, one after the other on the same rows.
  absl::Status Add(const std::vector<OptionValues>& trainings, const ProblemShape& shape) {
    LearnerWork work;
    for (const OptionValues& given : trainings) {
      MERCER_ASSIGN_OR_RETURN(const LearnerWork one, WorkOfTraining(given, shape));
      work.training += one.training;
      work.verification += one.verification;
      work.shared = one.shared;
      work.shared_bytes = one.shared_bytes;
    }
    work.shared *= CountShared(shape, static_cast<double>(trainings.size()), work.shared_bytes);
    work.training += work.shared;
    ReplaceFamilies(shape, work);
    work.training += Preparation(shape);
    training_ += Seconds(work.training);
    verification_ += Seconds(work.verification);
    return absl::OkStatus();
  }

  // Of all outputs, but for what is shared.
  absl::StatusOr<LearnerWork> WorkOfTraining(const OptionValues& given,
                                             const ProblemShape& shape) const {
    MERCER_ASSIGN_OR_RETURN(const OptionValues options, CompleteOptions(entry_, given));
    MERCER_ASSIGN_OR_RETURN(LearnerWork work, entry_.estimate_work(options, shape));
    const double parts = NumParts(shape);
    work.training *= parts;
    // What no threads share within a part, parts side by side do; the first one is by itself.
    const double side_by_side =
        static_cast<double>(std::min<Index>(parts_at_once_, std::max(conditions_.threads, 1)));
    work.training[WorkKind::kPairSteps] *= (1 + (parts - 1) / side_by_side) / parts;
    work.verification *= parts;
    work.verification += Evaluation(options, shape);
    return work;
  }

  // Outputs that are trainings of their own.
  double NumParts(const ProblemShape& shape) const {
    const bool one_run = shape.tasks > 1 || HasOneRun(entry_, recipe_);
    return one_run ? 1.0 : static_cast<double>(shape.outputs);
  }

  bool OutputsHaveOwnRows(const ProblemShape& shape) const {
    return recipe_.coding == CodingChoice::kOneVsOne && NumParts(shape) > 1;
  }

  // How often so many trainings, of which each has a part for each output, do what they share: a
  // problem keeps that of the last rows, and the cache what fits. A verification finds it as long as
  // no other part has come in between.
  double CountShared(const ProblemShape& shape, double trainings, double bytes) const {
    const double parts = NumParts(shape);
    const double sets = OutputsHaveOwnRows(shape) ? parts : 1.0;
    const bool kept =
        bytes > 0 ? sets * bytes <= static_cast<double>(conditions_.cache_bytes) : sets == 1;
    return kept ? sets : trainings * parts * (parts > 1 ? 2 : 1);
  }

  // Distances that fit the cache are computed once for all that is done on the same rows.
  void ReplaceFamilies(const ProblemShape& shape, LearnerWork& work) const {
    const double bytes = Pairs(static_cast<double>(shape.rows)) * sizeof(double) *
                         static_cast<double>(shape.sources);
    const bool kept = shape.sources > 0 && bytes <= static_cast<double>(conditions_.cache_bytes);
    double sets = OutputsHaveOwnRows(shape) ? static_cast<double>(shape.outputs) : 1.0;
    for (WorkCount* part : {&work.training, &work.verification}) {
      double families = std::exchange((*part)[WorkKind::kFamilies], 0.0);
      if (kept && families > 0) {
        families = std::exchange(sets, 0.0);
      }
      WorkCount distances = FamilyWork(shape);
      distances *= families;
      *part += distances;
    }
  }

  WorkCount Preparation(const ProblemShape& shape) const {
    WorkCount work;
    const double entries =
        static_cast<double>(dataset_.rows) * (static_cast<double>(shape.columns) + 1);
    work[WorkKind::kEntries] = kCopiesOfTable * entries;
    work[WorkKind::kReads] = kPassesOfTable * entries;
    if (UsesMedian(entry_, recipe_, dataset_)) {
      const double pairs = Pairs(std::min(static_cast<double>(shape.rows), kMedianRows));
      WorkCount median = shape.pair_columns;
      median[WorkKind::kEntries] = 4;
      median *= pairs;
      work += median;
    }
    if (recipe_.preprocessing.square_repair != SquareRepairRule::kNone) {
      // The eigenvalues and half of the eigenvectors of each kernel, and what is added to it.
      constexpr double kCubes = 3;
      const auto rows = static_cast<double>(shape.rows);
      const auto kernels = std::count_if(
          dataset_.squares.begin(), dataset_.squares.end(),
          [](const SquareBlock& square) { return square.kind == SquareKind::kKernel; });
      work[WorkKind::kFactorOperations] =
          kCubes * rows * rows * rows * static_cast<double>(kernels);
    }
    return work;
  }

  // The work of the kernels between the rows held out and those of the model: of a few that are known
  // before, or support vectors, which most may be.
  WorkCount Evaluation(const OptionValues& options, const ProblemShape& shape) const {
    WorkCount work = shape.pair_columns;
    work[WorkKind::kKernelValues] =
        static_cast<double>(shape.kernels) * static_cast<double>(shape.outputs);
    const double held_out = static_cast<double>(dataset_.rows - shape.rows);
    const std::optional<Index> basis =
        entry_.basis_rows ? entry_.basis_rows(options, shape) : std::nullopt;
    work *= recipe_.validation.kind == ValidationKind::kNone
                ? 0.0
                : std::max(held_out, 0.0) *
                      static_cast<double>(std::min(shape.rows, basis.value_or(shape.rows)));
    if (tests_ranking_) {
      work += EstimateRankingTestWork(*recipe_.ranking_test, shape);
    }
    return work;
  }

  const LearnerEntry& entry_;
  const TrainingRecipe& recipe_;
  const Dataset& dataset_;
  const RunningConditions& conditions_;
  const Index parts_at_once_;
  bool tests_ranking_ = false;
  double training_ = 0;
  double verification_ = 0;
};

}  // namespace

absl::StatusOr<double> EstimateRecipeSeconds(const LearnerEntry& entry,
                                             const TrainingRecipe& recipe, const Dataset& dataset,
                                             const RunningConditions& conditions,
                                             const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(ProblemShape shape, ShapeOfRecipe(entry, recipe, dataset, context));
  MERCER_ASSIGN_OR_RETURN(const Index parts_at_once, PartsAtOnce(entry, recipe, shape));
  PhaseEstimate model(entry, recipe, dataset, conditions, parts_at_once);
  MERCER_ASSIGN_OR_RETURN(const Index fold_count, CountFolds(recipe, dataset, context));
  const auto count = static_cast<double>(fold_count);
  if (recipe.validation.kind == ValidationKind::kHoldOut) {
    model.TestRankings();
  }
  const bool one_of_path = count > 0 && !(recipe.path.has_value() && recipe.path->keep_all);
  MERCER_RETURN_IF_ERROR(one_of_path ? model.AddLargest(shape) : model.AddAll(shape));
  double part_seconds = 0;
  if (recipe.stability.has_value()) {
    PhaseEstimate parts(entry, recipe, dataset, conditions, parts_at_once);
    ProblemShape part = shape;
    part.rows = std::max<Index>(
        1, static_cast<Index>(recipe.stability->fraction * static_cast<double>(shape.rows)));
    MERCER_RETURN_IF_ERROR(parts.AddLargest(part));
    part_seconds =
        recipe.stability->resamples * (parts.training_seconds() + parts.verification_seconds());
  }
  PhaseEstimate folds(entry, recipe, dataset, conditions, parts_at_once);
  if (count > 0) {
    const double kept = static_cast<double>(shape.rows) * (1 - 1 / count);
    shape.rows = std::max<Index>(1, static_cast<Index>(kept));
    folds.TestRankings();
    MERCER_RETURN_IF_ERROR(folds.AddAll(shape));
  }
  const double fold_seconds =
      count > 0 ? count * (folds.training_seconds() + folds.verification_seconds()) : 0.0;
  const double limit = absl::ToDoubleSeconds(recipe.limits.max_time);
  return std::min(model.training_seconds() + fold_seconds + part_seconds, limit) +
         model.verification_seconds();
}

}  // namespace mercer
