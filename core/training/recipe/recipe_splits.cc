#include "core/training/recipe/recipe_splits.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/index_range.h"
#include "core/base/process/polled_sort.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/data/splits/split_columns.h"
#include "core/data/table/reader_errors.h"
#include "core/data/table/text_kind.h"
#include "core/training/recipe/recipe_problem.h"

namespace mercer {
namespace {

std::vector<Index> AllRows(const Dataset& dataset) { return IndexRange(0, dataset.rows); }

absl::Status CheckRegressionTargets(const RoleColumn& target) {
  for (Index row = 0; row < target.values.size(); ++row) {
    if (!std::isfinite(target.values(row))) {
      return MissingTarget(target, row);
    }
  }
  return absl::OkStatus();
}

// `status` as a violation of `field`, with its reason and metadata.
absl::Status InField(std::string_view field, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status) || !GetReason(status).empty()) {
    return status;  // names row and column already
  }
  return FieldError(field, std::string(status.message()));
}

class SplitMaker {
 public:
  // `tasks` may be null.
  SplitMaker(const TrainingRecipe& recipe, const Dataset& dataset, const RoleColumn& target,
             const RoleColumn* tasks, const RunContext& context)
      : recipe_(recipe), dataset_(dataset), target_(target), tasks_(tasks), context_(context) {}

  absl::StatusOr<std::vector<Split>> Make() {
    MERCER_ASSIGN_OR_RETURN(groups_, OnlyColumn(ColumnRole::kGroup));
    MERCER_ASSIGN_OR_RETURN(parts_, OnlyColumn(ColumnRole::kSplit));
    if (parts_ != nullptr) {
      return Given();
    }
    if (recipe_.kind == TargetKind::kClassification) {
      MERCER_ASSIGN_OR_RETURN(
          const OutputCoding coding,
          OutputCoding::FromLabels(target_, AllRows(dataset_), recipe_.coding, context_));
      MERCER_ASSIGN_OR_RETURN(classes_, coding.Classes(target_, context_));
    }
    if (tasks_ != nullptr) {
      MERCER_RETURN_IF_ERROR(DivideByTasks());
    }
    std::vector<int> codes;
    if (groups_ != nullptr) {
      MERCER_ASSIGN_OR_RETURN(codes, GroupCodes(*groups_, context_));
    }
    return recipe_.validation.kind == ValidationKind::kHoldOut ? DrawHoldOut(codes)
                                                               : DrawFolds(codes);
  }

 private:
  // Makes the classes of the splits those of each task apart.
  absl::Status DivideByTasks() {
    MERCER_ASSIGN_OR_RETURN(const TaskCoding coding, TaskCoding::FromAllRows(*tasks_, context_));
    MERCER_ASSIGN_OR_RETURN(const std::vector<int> tasks, coding.Tasks(*tasks_, context_));
    classes_.resize(tasks.size(), 0);
    for (size_t row = 0; row < tasks.size(); ++row) {
      classes_[row] = classes_[row] * static_cast<int>(coding.num_tasks()) + tasks[row];
    }
    return absl::OkStatus();
  }

  // The only column of that role; null when the data set has none.
  absl::StatusOr<const RoleColumn*> OnlyColumn(ColumnRole role) const {
    const RoleColumn* only = nullptr;
    for (const RoleColumn& column : dataset_.role_columns) {
      if (column.role == role && only != nullptr) {
        return FieldError("validation",
                          absl::StrCat("the data set has two columns with the role ",
                                       std::string(ColumnRoleName(role)), ", '", only->schema.name,
                                       "' and '", column.schema.name, "'"));
      }
      only = column.role == role ? &column : only;
    }
    return only;
  }

  absl::StatusOr<std::vector<Split>> Given() const {
    const std::string& name = parts_->schema.name;
    std::vector<Split> splits;
    if (recipe_.validation.kind == ValidationKind::kHoldOut) {
      if (recipe_.validation.fraction.has_value()) {
        return FieldError("validation.fraction",
                          absl::StrCat("column '", name,
                                       "' with the role split says which rows are held out; leave "
                                       "the fraction out"));
      }
      absl::StatusOr<Split> split = GivenHoldOut(*parts_, context_);
      if (!split.ok()) {
        return InField("validation", split.status());
      }
      splits.push_back(*std::move(split));
    } else {
      absl::StatusOr<std::vector<Split>> folds = GivenFolds(*parts_, context_);
      if (!folds.ok()) {
        return InField("validation", folds.status());
      }
      splits = *std::move(folds);
      const int count = static_cast<int>(splits.size());
      if (recipe_.validation.folds.value_or(count) != count) {
        return FieldError("validation.folds",
                          absl::StrCat("column '", name, "' with the role split has ", count,
                                       " folds, not ", *recipe_.validation.folds));
      }
    }
    if (groups_ != nullptr) {
      MERCER_RETURN_IF_ERROR(CheckGroupsWhole(*groups_, *parts_, context_));
    }
    MERCER_RETURN_IF_ERROR(CheckClasses(splits));
    return splits;
  }

  // Folds are checked with their number elsewhere.
  absl::Status CheckClasses(const std::vector<Split>& splits) const {
    if (recipe_.kind == TargetKind::kRegression ||
        recipe_.validation.kind == ValidationKind::kFolds) {
      return absl::OkStatus();
    }
    const absl::Status coded =
        OutputCoding::FromLabels(target_, splits[0].training, recipe_.coding, context_).status();
    if (!absl::IsInvalidArgument(coded)) {
      return coded;
    }
    FieldViolations violations;
    violations.Add("validation",
                   absl::StrCat("the rows that column '", parts_->schema.name,
                                "' keeps for training cannot be trained on: ", coded.message()));
    return WithReason(violations.ToStatus(), GetReason(coded), GetErrorMetadata(coded));
  }

  absl::StatusOr<std::vector<Split>> DrawHoldOut(const std::vector<int>& groups) const {
    const double fraction = recipe_.validation.fraction.value_or(kDefaultHoldOutFraction);
    absl::StatusOr<Split> split =
        groups_ == nullptr ? HoldOutSplit(dataset_.rows, fraction, classes_, recipe_.seed, context_)
                           : GroupHoldOutSplit(groups, fraction, classes_, recipe_.seed, context_);
    if (absl::IsCancelled(split.status())) {
      return split.status();
    }
    if (!split.ok()) {
      return FieldError("validation.fraction",
                        absl::StrCat(Explain(split.status()), WhyNoRowCanBeHeldOut()));
    }
    return std::vector<Split>{*std::move(split)};
  }

  absl::StatusOr<std::vector<Split>> DrawFolds(const std::vector<int>& groups) const {
    const int count = recipe_.validation.folds.value_or(kDefaultFolds);
    absl::StatusOr<std::vector<Split>> folds =
        groups_ == nullptr ? KFoldSplits(dataset_.rows, count, classes_, recipe_.seed, context_)
                           : GroupKFoldSplits(groups, count, classes_, recipe_.seed, context_);
    if (absl::IsCancelled(folds.status())) {
      return folds.status();
    }
    if (!folds.ok()) {
      return FieldError("validation.folds", Explain(folds.status()));
    }
    return folds;
  }

  std::string Explain(const absl::Status& status) const {
    return groups_ == nullptr ? std::string(status.message())
                              : absl::StrCat("column '", groups_->schema.name,
                                             "' with the role group: ", status.message());
  }

  // Of each class at least one row is trained on: none is left where all rows are of their own.
  std::string WhyNoRowCanBeHeldOut() const {
    const std::set<int> classes(classes_.begin(), classes_.end());
    const bool are_apart = classes.size() >= 2 && classes.size() == classes_.size();
    // With tasks, each is the class of a row in its task.
    return tasks_ != nullptr || !are_apart
               ? ""
               : absl::StrCat(": every row of column ", Quoted(target_.schema.name),
                              " is of a class of its own", WhyTexts(target_.schema));
  }

  const TrainingRecipe& recipe_;
  const Dataset& dataset_;
  const RoleColumn& target_;
  const RoleColumn* tasks_;
  const RunContext& context_;
  const RoleColumn* groups_ = nullptr;
  const RoleColumn* parts_ = nullptr;
  std::vector<int> classes_;
};

}  // namespace

absl::StatusOr<std::vector<Split>> MakeSplits(const LearnerEntry& entry,
                                              const TrainingRecipe& recipe, const Dataset& dataset,
                                              const RoleColumn& target, const RunContext& context) {
  if (recipe.kind == TargetKind::kRegression) {
    MERCER_RETURN_IF_ERROR(CheckRegressionTargets(target));
  }
  if (recipe.validation.kind == ValidationKind::kNone) {
    return std::vector<Split>();
  }
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* tasks, FindTaskColumn(entry, recipe, dataset));
  return SplitMaker(recipe, dataset, target, tasks, context).Make();
}

absl::StatusOr<std::vector<double>> SortedKnown(const Vector& values, const RunContext& context) {
  std::vector<double> known;
  std::copy_if(values.begin(), values.end(), std::back_inserter(known),
               [](double value) { return !std::isnan(value); });
  MERCER_RETURN_IF_ERROR(SortPolled(known, std::less<>(), context));
  return known;
}

absl::StatusOr<size_t> CountDifferent(const Vector& values, const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(std::vector<double> known, SortedKnown(values, context));
  return static_cast<size_t>(std::unique(known.begin(), known.end()) - known.begin());
}

absl::Status CheckFoldCount(const TrainingRecipe& recipe, const Dataset& dataset,
                            const RunContext& context) {
  // A column that gives the folds says how many there are.
  if (recipe.validation.kind != ValidationKind::kFolds ||
      dataset.FindColumn(ColumnRole::kSplit) != nullptr) {
    return absl::OkStatus();
  }
  const int count = recipe.validation.folds.value_or(kDefaultFolds);
  const RoleColumn* groups = dataset.FindColumn(ColumnRole::kGroup);
  auto most = static_cast<size_t>(dataset.rows);
  if (groups != nullptr) {
    MERCER_ASSIGN_OR_RETURN(most, CountDifferent(groups->values, context));
  }
  if (count >= 2 && static_cast<size_t>(count) <= most) {
    return absl::OkStatus();
  }
  return FieldError(
      "validation.folds",
      absl::StrCat("the number of folds must be in [2, ", most, "]",
                   groups != nullptr ? ", the number of groups" : "", ", is ", count));
}

std::vector<Index> FinalTrainingRows(const TrainingRecipe& recipe, const Dataset& dataset,
                                     const std::vector<Split>& splits) {
  return recipe.validation.kind == ValidationKind::kHoldOut ? splits[0].training : AllRows(dataset);
}

}  // namespace mercer
