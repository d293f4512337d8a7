// Several outputs: each starts from the kernel weights of the one before.
#include <gtest/gtest.h>

#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/training/run/composite_learner.h"
#include "core/training/run/run_training.h"
#include "tests/core/training/scripted_learner.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

constexpr int kClasses = 6;

// One-vs-all over kClasses classes and five kernels of which one or two fit.
TrainingProblem ManyClasses() {
  const Dataset data = ClassificationData(180, 4, kClasses, 5);
  Matrix targets = Matrix::Constant(180, kClasses, -1);
  for (Index i = 0; i < 180; ++i) {
    targets(i, i % kClasses) = 1;
  }
  return MakeProblem(TargetKind::kClassification, RowMatrix(data.blocks[0].values.view()), targets,
                     {0.1, 0.5, 1.0, 2.0, 20.0});
}

struct Trained {
  TrainingOutcome outcome;
  std::vector<std::string> checkpoints;
};

Trained Train(const TrainingProblem& problem, std::string_view state = {}) {
  const LearnerEntry entry = lp_mkl::Entry();
  const OptionValues options = {{"p", 1.2}, {"C", 10.0}};
  const RunLimits limits;
  const bool composite = problem.tasks[0].targets.cols() > 1;
  std::unique_ptr<Learner> learner =
      composite ? MakeCompositeLearner(entry, options) : *entry.create(options);
  RunContext context;
  RecordingObserver observer;
  observer.wants_checkpoints = composite && state.empty();
  absl::StatusOr<TrainingOutcome> outcome =
      RunTraining(entry, options, *learner, problem, limits, state, context, observer);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return {outcome.ok() ? *std::move(outcome) : TrainingOutcome(), observer.checkpoints};
}

TEST(LpMklOutputsTest, WarmStartsSaveStepsAndCertifyTheSameOptimum) {
  const TrainingProblem problem = ManyClasses();
  const Trained together = Train(problem);
  EXPECT_LE(together.outcome.certificate.worst_accuracy, 1e-3);
  double primal = 0;
  double dual = 0;
  int64_t steps_alone = 0;
  for (const TrainingProblem& part : SplitOutputs(problem)) {
    const Trained alone = Train(part);
    primal += alone.outcome.certificate.primal;
    dual += alone.outcome.certificate.dual;
    steps_alone += alone.outcome.iterations;
  }
  // Both intervals hold the optimum.
  EXPECT_LE(together.outcome.certificate.dual, primal);
  EXPECT_LE(dual, together.outcome.certificate.primal);
  // A composite puts every output but the last to rest in a step of its own.
  EXPECT_LT(together.outcome.iterations - (kClasses - 1), steps_alone);
}

TEST(LpMklOutputsTest, EveryCheckpointLeadsToTheSameBits) {
  const TrainingProblem problem = ManyClasses();
  const Trained straight = Train(problem);
  ASSERT_GT(straight.checkpoints.size(), 12u);
  for (size_t i = 0; i < straight.checkpoints.size(); ++i) {
    const Trained resumed = Train(problem, straight.checkpoints[i]);
    EXPECT_EQ(SaveWitness(resumed.outcome.point.witness),
              SaveWitness(straight.outcome.point.witness))
        << "from checkpoint " << i;
  }
}

}  // namespace
}  // namespace mercer
