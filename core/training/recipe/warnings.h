// What the user of a model should know although its training succeeded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"
#include "core/training/model/model.h"
#include "core/training/recipe/recipe.h"

namespace mercer {

enum class WarningCode : uint8_t {
  kBelowBaseline = 0,       // always the same answer would have scored better
  kLimitReached = 1,        // a limit ended the search for features
  kGapNotReached = 2,       // the training ended before the gap that was asked for
  kIdentifierColumn = 3,    // a feature says which row it is, and nothing about it
  kNumericTarget = 4,       // the request left open whether the target is a class or a number
  kOptionChosen = 5,        // the request left an option open that validation has to choose
  kValidationEnded = 6,     // the training ended before its validation was through
  kConstantColumn = 7,      // a column has one value, and so no kernel of its own
  kTextColumn = 8,          // numbers, dates or sentences that were read as texts
  kRareClasses = 9,         // classes of very few rows
  kUnbalancedClasses = 10,  // of two classes, which weigh the same, one has nearly all rows
  kSimilarCategories = 11,  // that differ in blanks around them or in capitals alone
  kConstantFunction = 12,   // a classifier that uses nothing of its rows: always the same answer
  kExactIsCheaper = 13,     // than the approximation that was asked for
};

struct TrainingWarning {
  WarningCode code = WarningCode::kBelowBaseline;
  std::string message;  // sentences for people, the same for every client
  std::map<std::string, std::string> values = {};  // what the sentences name: "column", "accuracy"
};

// The warnings about `model`, which `recipe` made of `dataset`, in the order of the codes. Reads
// the first rows of every feature, and all of those that may be identifiers.
std::vector<TrainingWarning> FindWarnings(const TrainingRecipe& recipe, const Dataset& dataset,
                                          const Model& model);

// What can be said of the data before anything is trained: columns of texts that are no categories,
// and rare or unbalanced classes of `target`. Reads the target, and some of the categories of each
// column. Errors: kCancelled.
absl::StatusOr<std::vector<TrainingWarning>> FindDataWarnings(const TrainingRecipe& recipe,
                                                              const Dataset& dataset,
                                                              const RoleColumn& target,
                                                              const RunContext& context);

}  // namespace mercer
