// The states of learners in checkpoints: the first byte chooses learner and problem, the rest is
// the state.
#include <memory>
#include <string>

#include "core/base/process/steady_clock.h"
#include "core/base/status/status_macros.h"
#include "core/training/run/composite_learner.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/training/training.h"
#include "tests/support/toy_data.h"

namespace mercer::fuzz {
namespace {

struct Case {
  const LearnerEntry* entry = nullptr;
  TrainingProblem problem;
  bool composite = false;
};

std::vector<Case>* MakeCases() {
  constexpr Index kRows = 10;
  auto* cases = new std::vector<Case>;
  for (const LearnerEntry* entry : Learners()) {
    if (entry->classification) {
      cases->push_back({entry, ToyProblem(TargetKind::kClassification, kRows, 2, {1, 3}), false});
      Matrix targets = Matrix::Constant(kRows, 3, -1);
      for (Index i = 0; i < kRows; ++i) {
        targets(i, i % 3) = 1;
      }
      const TrainingProblem& two = cases->back().problem;
      cases->push_back({entry,
                        MakeProblem(TargetKind::kClassification,
                                    RowMatrix(two.tasks[0].inputs->blocks[0].values.view()),
                                    std::move(targets), {1, 3}),
                        true});
    }
    if (entry->regression) {
      cases->push_back({entry, ToyProblem(TargetKind::kRegression, kRows, 2, {1, 3}), false});
    }
  }
  return cases;
}

const std::vector<Case>& Cases() {
  static const auto& cases = *MakeCases();
  return cases;
}

std::unique_ptr<Learner> Make(const Case& chosen) {
  if (chosen.composite) {
    return MakeCompositeLearner(*chosen.entry, {}, {.parts_at_once = 2});
  }
  absl::StatusOr<std::unique_ptr<Learner>> learner = chosen.entry->create({});
  Require(learner.ok(), "a learner can be made with its defaults");
  return *std::move(learner);
}

// Ends a step soon, as a stop does.
class Interrupted {
 public:
  explicit Interrupted(RunContext& context)
      : interruption_(SystemSteadyClock().Monotonic() + absl::Milliseconds(20),
                      [] { return false; }),
        scope_(context, interruption_) {}

 private:
  Interruption interruption_;
  InterruptibleScope scope_;
};

absl::Status GoOn(const Case& chosen, Learner& learner) {
  RunContext context;
  const Interrupted scope(context);
  MERCER_ASSIGN_OR_RETURN(const StepReport report,
                          learner.Step(context, chosen.problem.relative_gap));
  if (report.has_model) {
    MERCER_ASSIGN_OR_RETURN(const TrainedPoint point, learner.CurrentModel(context));
    Require(point.function.num_outputs() == chosen.problem.tasks[0].targets.cols(),
            "a model has the outputs of its problem");
  }
  return absl::OkStatus();
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  Input input(bytes);
  const Case& chosen = Cases()[input.Choice(Cases().size())];
  const std::unique_ptr<Learner> learner = Make(chosen);
  RunContext context;
  const absl::Status restored = learner->RestoreState(chosen.problem, input.rest(), context);
  if (!restored.ok()) {
    RequireRefusal(restored, {absl::StatusCode::kDataLoss}, false);
    return;
  }
  const std::string saved = learner->SaveState();
  const std::unique_ptr<Learner> other = Make(chosen);
  Require(other->RestoreState(chosen.problem, saved, context).ok() && other->SaveState() == saved,
          "what was saved restores");
  const absl::Status status = GoOn(chosen, *learner);
  if (!status.ok()) {
    RequireRefusal(status,
                   {absl::StatusCode::kCancelled, absl::StatusCode::kDataLoss,
                    absl::StatusCode::kFailedPrecondition, absl::StatusCode::kInvalidArgument},
                   false);
  }
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (size_t i = 0; i < Cases().size(); ++i) {
    const std::unique_ptr<Learner> learner = Make(Cases()[i]);
    RunContext context;
    Require(learner->Start(Cases()[i].problem, nullptr).ok(), "a learner starts");
    for (int step = 0; step < 4; ++step) {
      seeds.push_back(std::string(1, static_cast<char>(i)) + learner->SaveState());
      if (!learner->Step(context, Cases()[i].problem.relative_gap).ok()) {
        break;
      }
    }
  }
  return seeds;
}

}  // namespace mercer::fuzz
