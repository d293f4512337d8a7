// Checkpoints of whole runs, model and folds: the first byte chooses the learner, the rest is the checkpoint.
#include <string>

#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/training/framed_file.h"
#include "tests/fuzz/support/training/training.h"

namespace mercer::fuzz {
namespace {

constexpr int kSteps = 3;

const Dataset& Data() {
  static const auto& dataset = *new Dataset(MixedData());
  return dataset;
}

void CheckRun(const LearnerEntry& entry, std::string_view state) {
  const TrainingRecipe recipe = FoldsRecipe(entry);
  RunContext context;
  ShortRun observer(kSteps);
  const absl::StatusOr<TrainedModel> trained =
      RunRecipe(RunOf(entry, recipe, Data()), state, context, observer);
  if (!trained.ok()) {
    // Internal: the verification has refused what was trained from a state with other numbers.
    RequireRefusal(trained.status(),
                   {absl::StatusCode::kDataLoss, absl::StatusCode::kFailedPrecondition,
                    absl::StatusCode::kInvalidArgument, absl::StatusCode::kInternal},
                   false);
    return;
  }
  Require(LoadModel(SaveModel(trained->model)).ok(), "the model of a run can be stored");
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  Input input(bytes);
  const LearnerEntry& entry = *Learners()[input.Choice(Learners().size())];
  if (input.empty()) {
    return;  // no checkpoint: a run from the start
  }
  CheckRun(entry, input.rest());
  CheckRun(entry, Resealed(input.rest()));
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (size_t i = 0; i < Learners().size(); ++i) {
    const TrainingRecipe recipe = FoldsRecipe(*Learners()[i]);
    RunContext context;
    ShortRun observer(1000);
    Require(RunRecipe(RunOf(*Learners()[i], recipe, Data()), {}, context, observer).ok(),
            "a small training works");
    const std::vector<std::string>& states = observer.checkpoints();
    if (states.empty()) {
      continue;  // every training was over in a step
    }
    for (const size_t which : {size_t{0}, states.size() / 2, states.size() - 1}) {
      seeds.push_back(std::string(1, static_cast<char>(i)) + states[which]);
    }
  }
  return seeds;
}

}  // namespace mercer::fuzz
