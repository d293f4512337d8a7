// Conformance of regressions to their unit: what is learned is the same in metres and in millimetres.
#pragma once

#include "core/base/status/errors.h"
#include "core/training/contract/target_unit.h"
#include "core/training/recipe/recipe_problem.h"
#include "core/training/run/verification.h"
#include "tests/conformance/learner_conformance.h"

namespace mercer {

// The problem with targets factor y + offset and unequal costs, standardised.
inline TrainingProblem InUnit(TrainingProblem problem, double factor, double offset) {
  TaskData& task = problem.tasks[0];
  for (Index i = 0; i < task.costs.size(); ++i) {
    task.costs(i) = 1.0 + static_cast<double>(i % 3);
  }
  task.targets.array() = factor * task.targets.array() + offset;
  StandardizeTargets(problem);
  return problem;
}

// Where targets differ by the rounding of a unit, iterations may take another way to within the gap, of functions that differ by about
// its root. Of a deviation.
inline constexpr double kUnitTolerance = 0.01;

TEST_P(LearnerConformance, RegressionDoesNotDependOnTheUnit) {
  if (kind() != TargetKind::kRegression) {
    return;  // classes have no unit
  }
  const TrainingProblem raw = Problem(80, 9);  // patches of 3 x 3
  const PreparedData& rows = *raw.tasks[0].inputs;
  for (const OptionValues& options : ToRun(OptionVariants(entry(), kind()))) {
    SCOPED_TRACE(OptionText(options));
    const TrainingProblem problem = InUnit(raw, 1, 0);
    const absl::StatusOr<TrainingOutcome> first = Train(problem, {.options = options});
    ASSERT_TRUE(first.ok()) << first.status();
    const Vector values = Values(first->point, rows);
    EXPECT_NEAR(values.mean(), raw.tasks[0].targets.mean(), 0.5) << "in the user's unit";

    const double power = 1024;
    const absl::StatusOr<TrainingOutcome> same = Train(InUnit(raw, power, 0), {.options = options});
    ASSERT_TRUE(same.ok()) << same.status();
    EXPECT_EQ(SaveWitness(same->point.witness), SaveWitness(first->point.witness));
    EXPECT_EQ(Values(same->point, rows), Vector(power * values));
    EXPECT_EQ(same->certificate.primal, power * power * first->certificate.primal);
    EXPECT_EQ(same->certificate.dual, power * power * first->certificate.dual);
    EXPECT_EQ(same->certificate.accuracy, first->certificate.accuracy);

    const auto [factor, offset] = std::pair(-1e5, 3e7);
    const absl::StatusOr<TrainingOutcome> other =
        Train(InUnit(raw, factor, offset), {.options = options});
    ASSERT_TRUE(other.ok()) << other.status();
    const Vector expected = (factor * values.array() + offset).matrix();
    EXPECT_LE((Values(other->point, rows) - expected).cwiseAbs().maxCoeff(),
              kUnitTolerance * std::abs(factor));
    EXPECT_EQ(other->stop_reason, first->stop_reason);
  }
}

TEST_P(LearnerConformance, FunctionInAnotherUnitThanItsWitnessIsRefused) {
  if (kind() != TargetKind::kRegression) {
    return;  // classes have no unit
  }
  const TrainingProblem problem = InUnit(Problem(60, 3), 1e5, 2e5);
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const auto verify = [&](const ModelFunction& function) {
    RunContext context;
    const absl::StatusOr<OptionValues> options = CompleteOptions(entry(), {});
    return VerifyFunction(entry(), *options, problem, function, outcome->point.witness, context);
  };
  const absl::StatusOr<VerifiedFunction> whole = verify(outcome->point.function);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->certificate.primal, outcome->certificate.primal);
  ModelFunction function = outcome->point.function;
  function.bias.array() += 1.0;  // of a deviation of 1e5
  EXPECT_EQ(GetReason(verify(function).status()), "WITNESS_MISMATCH");
  function = outcome->point.function;
  function.bias.array() -= problem.unit.means(0);
  EXPECT_EQ(GetReason(verify(function).status()), "WITNESS_MISMATCH");
}

}  // namespace mercer
