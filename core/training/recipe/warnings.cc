#include "core/training/recipe/warnings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"
#include "core/data/table/row_identifier.h"
#include "core/data/table/text_kind.h"
#include "core/training/recipe/recipe_phases.h"
#include "core/training/recipe/recipe_splits.h"
#include "core/training/run/evaluation.h"
#include "core/training/run/run_training.h"
#include "core/training/targets/label_names.h"

namespace mercer {
namespace {

constexpr size_t kMostNamed = 10;       // columns, by warnings of one kind
constexpr size_t kMostCompared = 1000;  // categories of a column
// A class with fewer rows can hardly be learned, and its part of a split not measured. Data of few
// rows are an example, whose classes may well be small.
constexpr int kFewRowsOfClass = 5;
constexpr int64_t kMinRowsOfClasses = 50;
// Of two classes the smaller one has less than a row in so many.
constexpr int64_t kFewTimes = 20;

std::string Shown(double value) { return absl::StrFormat("%.4g", value); }

// One score of the validation, and whether larger is better.
struct Score {
  const char* name;
  bool larger_is_better;
  const char* constant;  // the answer that the baseline always gives
};
constexpr std::array<Score, 2> kScores = {
    {{"accuracy", true, "the most frequent class"}, {"rmse", false, "the mean"}}};

// A place where metrics come from: the prefix "held_out." or "folds.", and what it means for
// people.
using Place = std::pair<const char*, const char*>;
constexpr std::array<Place, 2> kPlaces = {
    {{"held_out.", "On the rows held out"}, {"folds.", "Over the folds"}}};

bool IsUsed(const TrainingRecipe& recipe, const FeatureBlock& block) {
  const std::vector<std::string>& used = recipe.preprocessing.blocks;
  return used.empty() || std::find(used.begin(), used.end(), block.name) != used.end();
}

void CheckBaseline(const Model& model, std::vector<TrainingWarning>& warnings) {
  std::map<std::string, double> metrics;
  for (const Metric& metric : model.metrics) {
    metrics[metric.name] = metric.value;
  }
  for (const auto& [prefix, where] : kPlaces) {
    for (const Score& score : kScores) {
      const auto own = metrics.find(absl::StrCat(prefix, score.name));
      const auto base = metrics.find(absl::StrCat(prefix, kBaselinePrefix, score.name));
      if (own == metrics.end() || base == metrics.end() || own->second == base->second ||
          (own->second > base->second) == score.larger_is_better) {
        continue;
      }
      warnings.push_back(
          {WarningCode::kBelowBaseline,
           absl::StrCat(where, " the ", score.name, " is ", Shown(own->second), ", worse than the ",
                        Shown(base->second), " of always answering ", score.constant, "."),
           {{"metric", own->first},
            {"value", Shown(own->second)},
            {"baseline", Shown(base->second)}}});
    }
  }
}

void CheckLimits(const Model& model, std::vector<TrainingWarning>& warnings) {
  for (const Metric& metric : model.metrics) {
    if (absl::StartsWith(metric.name, kLimitPrefix)) {
      const std::string option = metric.name.substr(std::size(kLimitPrefix) - 1);
      const std::string limit = absl::StrCat(metric.value);
      warnings.push_back({WarningCode::kLimitReached,
                          absl::StrCat("The search for features ended at its limit, ", option,
                                       " = ", limit, "; a larger one may find a better model."),
                          {{"option", option}, {"limit", limit}}});
    }
  }
}

const char* EndedWhere(StopReason reason) {
  switch (reason) {
    case StopReason::kIterationLimit:
      return "at its limit of iterations";
    case StopReason::kTimeLimit:
      return "at its time limit";
    case StopReason::kStopRequested:
      return "when it was asked to stop";
    case StopReason::kNumericalLimit:
      return "where rounding allows no further progress";
    case StopReason::kConverged:
    case StopReason::kObjectiveZero:
      break;
  }
  return "";
}

// Where no kernel or feature pays for itself the best function is constant, which is a result and no
// error.
void CheckConstantFunction(const Model& model, std::vector<TrainingWarning>& warnings) {
  const bool ended_early = *EndedWhere(model.stop_reason) != '\0';
  if (model.coding.kind() == CodingKind::kRegression || ended_early ||
      !model.function.terms.empty()) {
    return;
  }
  warnings.push_back(
      {WarningCode::kConstantFunction,
       "The model uses no column, kernel or feature, so that it gives the same answer to all rows "
       "(of a task): with these options the training found no better function. Balanced class "
       "weights or a larger C may change that."});
}

void CheckGap(const TrainingRecipe& recipe, const Model& model,
              std::vector<TrainingWarning>& warnings) {
  const std::string where = EndedWhere(model.stop_reason);
  if (where.empty() || model.certificate.kind == CertificateKind::kNone) {
    return;
  }
  // Judged as RunTraining does: by the sum of all outputs, and the worst of them.
  const double accuracy = std::max(model.certificate.accuracy, model.certificate.worst_accuracy);
  if (accuracy <= recipe.limits.relative_gap) {
    return;
  }
  const std::string gap = Shown(accuracy);
  const std::string wanted = Shown(recipe.limits.relative_gap);
  warnings.push_back({WarningCode::kGapNotReached,
                      absl::StrCat("The training ended ", where, " with the gap ", gap, "; ",
                                   wanted, " was asked for."),
                      {{"gap", gap},
                       {"wanted", wanted},
                       {"stop_reason", std::string(StopReasonName(model.stop_reason))}}});
}

// Whether every column was to have a kernel as wide as its distances say, and that one among them.
bool WantsMedianOf(const TrainingRecipe& recipe, const std::string& block,
                   const std::string& column) {
  return std::any_of(recipe.kernels.begin(), recipe.kernels.end(), [&](const KernelGrid& grid) {
    const std::vector<std::string>& columns = grid.prototype.columns;
    return grid.per_column && grid.rule == BandwidthRule::kMedianMultiples &&
           (grid.prototype.block.empty() || grid.prototype.block == block) &&
           (columns.empty() || std::find(columns.begin(), columns.end(), column) != columns.end());
  });
}

bool IsConstant(const FeatureBlock& block, Index column) {
  for (Index row = 1; row < block.values.rows(); ++row) {
    if (block.values.view()(row, column) != block.values.view()(0, column)) {
      return false;
    }
  }
  return true;
}

void CheckConstantColumns(const TrainingRecipe& recipe, const Dataset& dataset,
                          std::vector<TrainingWarning>& warnings) {
  size_t found = 0;
  for (const FeatureBlock& block : dataset.blocks) {
    for (size_t column = 0; !block.is_sparse && column < block.columns.size(); ++column) {
      const std::string& name = block.columns[column].name;
      if (found < kMostNamed && IsUsed(recipe, block) && WantsMedianOf(recipe, block.name, name) &&
          IsConstant(block, static_cast<Index>(column))) {
        warnings.push_back({WarningCode::kConstantColumn,
                            absl::StrCat("Column ", Quoted(name),
                                         " has the same value in all rows, which says nothing: it "
                                         "has no kernel of its own."),
                            {{"column", name}}});
        ++found;
      }
    }
  }
}

// What follows from a validation of which so much was through.
std::string WhatIsKnown(const TrainingRecipe& recipe, const Model& model) {
  if (!recipe.path.has_value()) {
    return model.held_out.folds > 0 ? "its metrics are those of these folds"
                                    : "there are no metrics of folds";
  }
  const std::vector<ModelTable>& tables = model.summary.tables;
  const bool some = std::any_of(tables.begin(), tables.end(), [](const ModelTable& table) {
    return table.name == kPathTable && !table.rows.empty();
  });
  return absl::StrCat(recipe.path->option, some ? " was chosen by what was known by then"
                                                : " is the first value of the path");
}

void CheckValidation(const TrainingRecipe& recipe, const Model& model,
                     std::vector<TrainingWarning>& warnings) {
  const auto find = [&](std::string_view name) {
    const auto metric = std::find_if(model.metrics.begin(), model.metrics.end(),
                                     [&](const Metric& one) { return one.name == name; });
    return metric == model.metrics.end() ? 0 : static_cast<int64_t>(metric->value);
  };
  const int64_t all = find(kLeftOutOf);
  if (all == 0) {
    return;
  }
  const int64_t folds_left_out = find(kFoldsLeftOut);
  const bool of_folds = folds_left_out > 0;
  const int64_t left_out = of_folds ? folds_left_out : find(kValuesLeftOut);
  const std::string what = of_folds ? "folds" : "values";
  warnings.push_back(
      {WarningCode::kValidationEnded,
       absl::StrCat("The training ended with ", all - left_out, " of ", all, " ", what,
                    of_folds ? "" : " of the path", " through; ", WhatIsKnown(recipe, model), "."),
       {{what, absl::StrCat(all)}, {what + "_left_out", absl::StrCat(left_out)}}});
}

void CheckIdentifiers(const TrainingRecipe& recipe, const Dataset& dataset,
                      std::vector<TrainingWarning>& warnings) {
  if (!MayHoldIdentifiers(dataset)) {
    return;
  }
  size_t found = 0;
  for (const FeatureBlock& block : dataset.blocks) {
    const bool looks = IsUsed(recipe, block) && !block.is_sparse;
    for (size_t column = 0; looks && column < block.columns.size(); ++column) {
      if (found < kMostNamed && LooksLikeIdentifier(block, column)) {
        const std::string& name = block.columns[column].name;
        warnings.push_back(
            {WarningCode::kIdentifierColumn,
             absl::StrCat("Column ", Quoted(name),
                          " looks like an identifier of the rows: it was trained on, "
                          "but nothing is learned from it for others; upload it as ignored."),
             {{"column", name}}});
        ++found;
      }
    }
  }
}

// `rows` is the number of rows for a feature, and 0 for a target.
void CheckTexts(const ColumnSchema& column, Index rows, std::vector<TrainingWarning>& warnings) {
  const bool is_target = rows == 0;
  const TextKind kind =
      column.categorical ? KindOfTexts(column.categories, rows) : TextKind::kCategories;
  // Classes may well be numbers and a name.
  const bool is_usual =
      kind == TextKind::kCategories || (is_target && kind == TextKind::kNumbersBesideTexts);
  if (is_usual || warnings.size() >= kMostNamed) {
    return;
  }
  const std::string different = absl::StrCat(column.categories.size());
  warnings.push_back({WarningCode::kTextColumn,
                      absl::StrCat("Column ", Quoted(column.name), " holds ", TextKindName(kind),
                                   ", which are read as texts: each of ", different, " is a ",
                                   is_target ? "class" : "category", " of its own; ",
                                   RemedyForTexts(kind, is_target), "."),
                      {{"column", column.name}, {"different_values", different}}});
}

// The first two categories that are the same without blanks around them and capitals.
void CheckSpelling(const ColumnSchema& column, bool is_target,
                   std::vector<TrainingWarning>& warnings) {
  HashMap<std::string, size_t> seen;
  for (size_t i = 0; i < std::min(column.categories.size(), kMostCompared); ++i) {
    const std::string& second = column.categories[i];
    const auto [other, is_new] =
        seen.emplace(absl::AsciiStrToLower(absl::StripAsciiWhitespace(second)), i);
    if (is_new || warnings.size() >= kMostNamed) {
      continue;
    }
    const std::string& first = column.categories[other->second];
    warnings.push_back(
        {WarningCode::kSimilarCategories,
         absl::StrCat("Column ", Quoted(column.name), " has the ",
                      is_target ? "classes " : "categories ", Quoted(first), " and ",
                      Quoted(second),
                      ", which differ only in blanks or capitals, and are two for the model; write "
                      "them alike if they are one."),
         {{"column", column.name}, {"first", first}, {"second", second}}});
    return;
  }
}

std::string ClassName(const RoleColumn& target, double value) {
  return target.schema.categorical ? target.schema.categories[static_cast<size_t>(value)]
                                   : FormatLabel(value);
}

// A class of the target and its rows.
struct ClassRows {
  double value = 0;
  int64_t rows = 0;
};

// The classes of the target in the order of their values, with the rows of each. Errors:
// kCancelled.
absl::StatusOr<std::vector<ClassRows>> CountClasses(const RoleColumn& target,
                                                    const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<double> known, SortedKnown(target.values, context));
  std::vector<ClassRows> classes;
  for (auto begin = known.begin(); begin != known.end();) {
    const auto end = std::upper_bound(begin, known.end(), *begin);
    classes.push_back({*begin, end - begin});
    begin = end;
  }
  return classes;
}

void CheckRareClasses(const RoleColumn& target, const std::vector<ClassRows>& classes,
                      std::vector<TrainingWarning>& warnings) {
  const auto is_rare = [](const ClassRows& one) { return one.rows < kFewRowsOfClass; };
  const auto rare = std::count_if(classes.begin(), classes.end(), is_rare);
  if (rare == 0) {
    return;
  }
  const ClassRows& first = *std::find_if(classes.begin(), classes.end(), is_rare);
  const std::string few = absl::StrCat(rare);
  warnings.push_back({WarningCode::kRareClasses,
                      absl::StrCat(few, " of ", classes.size(), " classes",
                                   rare == 1 ? " has" : " have", " fewer than ", kFewRowsOfClass,
                                   " rows, among them ", Quoted(ClassName(target, first.value)),
                                   ": too few to learn them, or to measure how well."),
                      {{"classes", absl::StrCat(classes.size())}, {"rare_classes", few}}});
}

// Of two classes: what is minimised counts rows, so that the larger one can be right alone. Weights
// of rows or classes say that somebody has thought of it.
void CheckBalance(const TrainingRecipe& recipe, const Dataset& dataset, const RoleColumn& target,
                  const std::vector<ClassRows>& classes, std::vector<TrainingWarning>& warnings) {
  if (classes.size() != 2 || recipe.class_weighting != ClassWeighting::kNone ||
      dataset.FindColumn(ColumnRole::kWeight) != nullptr) {
    return;
  }
  const bool first = classes[0].rows < classes[1].rows;
  const ClassRows& few = classes[first ? 0 : 1];
  const ClassRows& many = classes[first ? 1 : 0];
  const int64_t rows = few.rows + many.rows;
  if (few.rows * kFewTimes >= rows) {
    return;
  }
  const std::string name = ClassName(target, few.value);
  warnings.push_back(
      {WarningCode::kUnbalancedClasses,
       absl::StrCat("Class ", Quoted(name), " has ", few.rows, " of ", rows,
                    " rows: whoever always answers ", Quoted(ClassName(target, many.value)),
                    " is right in all but ", few.rows,
                    ". Balanced class weights (--class-weights balanced on the command line, "
                    "class_weight='balanced' in Python) make both classes count the same."),
       {{"class", name}, {"class_rows", absl::StrCat(few.rows)}, {"rows", absl::StrCat(rows)}}});
}

absl::Status CheckClasses(const TrainingRecipe& recipe, const Dataset& dataset,
                          const RoleColumn& target, const RunContext& context,
                          std::vector<TrainingWarning>& warnings) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<ClassRows> classes, CountClasses(target, context));
  int64_t rows = 0;
  for (const ClassRows& one : classes) {
    rows += one.rows;
  }
  if (rows >= kMinRowsOfClasses) {
    CheckRareClasses(target, classes, warnings);
    CheckBalance(recipe, dataset, target, classes, warnings);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TrainingWarning>> FindDataWarnings(const TrainingRecipe& recipe,
                                                              const Dataset& dataset,
                                                              const RoleColumn& target,
                                                              const RunContext& context) {
  std::vector<TrainingWarning> warnings;
  CheckTexts(target.schema, 0, warnings);
  CheckSpelling(target.schema, /*is_target=*/true, warnings);
  for (const FeatureBlock& block : dataset.blocks) {
    for (size_t c = 0; IsUsed(recipe, block) && c < block.columns.size(); ++c) {
      CheckTexts(block.columns[c], dataset.rows, warnings);
      CheckSpelling(block.columns[c], /*is_target=*/false, warnings);
    }
  }
  if (recipe.kind == TargetKind::kClassification) {
    MERCER_RETURN_IF_ERROR(CheckClasses(recipe, dataset, target, context, warnings));
  }
  return warnings;
}

std::vector<TrainingWarning> FindWarnings(const TrainingRecipe& recipe, const Dataset& dataset,
                                          const Model& model) {
  std::vector<TrainingWarning> warnings;
  CheckBaseline(model, warnings);
  CheckLimits(model, warnings);
  CheckGap(recipe, model, warnings);
  CheckIdentifiers(recipe, dataset, warnings);
  CheckValidation(recipe, model, warnings);
  CheckConstantColumns(recipe, dataset, warnings);
  CheckConstantFunction(model, warnings);
  return warnings;
}

}  // namespace mercer
