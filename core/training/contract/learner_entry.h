// A learner's line of the registry, made from its options type, its learner type and its functions
// of parsed options.
//
//   LearnerEntry Entry() {
//     return MakeEntry<RidgeOptions, RidgeLearner>(
//         {.name = "ridge", .title = "Kernel ridge", .summary = "...", .regression = true},
//         {.verify = Verify, .estimate_memory = EstimateMemory, .estimate_work = EstimateWork});
//   }
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/training/contract/learner.h"

namespace mercer {

template <typename Options, typename LearnerType>
absl::StatusOr<std::unique_ptr<Learner>> CreateLearner(const Options& options) {
  return std::make_unique<LearnerType>(options);
}

// The type of LearnerEntry::verify as a function of the options themselves; it shares nothing with
// the solver.
template <typename Options>
using Verifier = absl::StatusOr<Verification>(const Options& options,
                                              const TrainingProblem& problem,
                                              const Witness& witness, RunContext& context);

// What LearnerEntry describes, as functions of the options themselves. Null: the learner has none.
template <typename Options>
struct LearnerFunctions {
  // Null: the learner of MakeEntry's second type.
  absl::StatusOr<std::unique_ptr<Learner>> (*create)(const Options&) = nullptr;
  Verifier<Options>* verify = nullptr;
  size_t (*estimate_memory)(const Options&, const ProblemShape&) = nullptr;
  LearnerWork (*estimate_work)(const Options&, const ProblemShape&) = nullptr;
  std::optional<Index> (*basis_rows)(const Options&, const ProblemShape&) = nullptr;
  size_t (*feature_numbers)(const Options&, const ProblemShape&) = nullptr;
  size_t (*table_bytes)(const Options&, const ProblemShape&) = nullptr;
  bool (*shares_outputs)(const Options&) = nullptr;
};

// Lets `bound` parse its option values and call `function`. Values that cannot be parsed are its
// error, or no result.
template <typename Options, typename Function, typename Result, typename... Arguments>
void BindOptions(Function* function,
                 std::function<Result(const OptionValues&, Arguments...)>& bound) {
  if (function == nullptr) {
    return;
  }
  bound = [function](const OptionValues& values, Arguments... arguments) -> Result {
    const absl::StatusOr<Options> options = Options::Fields().Parse(values);
    if (options.ok()) {
      return function(*options, arguments...);
    }
    if constexpr (std::is_constructible_v<Result, absl::Status>) {
      return options.status();
    } else {
      return Result();
    }
  };
}

// `entry` holds what is said about the learner; its fields and functions are filled in.
template <typename Options, typename LearnerType = Learner>
LearnerEntry MakeEntry(LearnerEntry entry, LearnerFunctions<Options> functions) {
  if constexpr (!std::is_same_v<LearnerType, Learner>) {
    functions.create = &CreateLearner<Options, LearnerType>;
  }
  entry.fields = Options::Fields().fields();
  BindOptions<Options>(functions.create, entry.create);
  BindOptions<Options>(functions.verify, entry.verify);
  BindOptions<Options>(functions.estimate_memory, entry.estimate_memory);
  BindOptions<Options>(functions.estimate_work, entry.estimate_work);
  BindOptions<Options>(functions.basis_rows, entry.basis_rows);
  BindOptions<Options>(functions.feature_numbers, entry.feature_numbers);
  BindOptions<Options>(functions.table_bytes, entry.table_bytes);
  BindOptions<Options>(functions.shares_outputs, entry.shares_outputs);
  return entry;
}

}  // namespace mercer
