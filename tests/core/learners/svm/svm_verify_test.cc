// The verifier against bounds that are written out here from the definition, at points that no
// solver would give.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/learners/svm/svm.h"
#include "core/training/run/verification.h"
#include "tests/support/learner_runs.h"

namespace mercer {
namespace {

constexpr double kEpsilon = 0.3;

double LossAt(TargetKind kind, double target, double value) {
  return kind == TargetKind::kClassification ? std::max(0.0, 1.0 - target * value)
                                             : std::max(0.0, std::abs(target - value) - kEpsilon);
}

// 1/2 dual'K dual + C sum_i c_i l(y_i, (K dual)_i + bias).
double PrimalAt(const TrainingProblem& problem, const Matrix& gram, double C, const Vector& dual,
                double bias) {
  const Vector values = (gram * dual).array() + bias;
  double primal = 0.5 * dual.dot(gram * dual);
  for (Index i = 0; i < values.size(); ++i) {
    primal += C * problem.tasks[0].costs(i) *
              LossAt(problem.kind, problem.tasks[0].targets(i, 0), values(i));
  }
  return primal;
}

// y'a - epsilon |a|_1 - 1/2 a'Ka of a feasible a.
double DualAt(const TrainingProblem& problem, const Matrix& gram, const Vector& a) {
  const double tube = problem.kind == TargetKind::kRegression ? kEpsilon * a.lpNorm<1>() : 0.0;
  return problem.tasks[0].targets.col(0).dot(a) - tube - 0.5 * a.dot(gram * a);
}

class SvmVerifierTest : public ::testing::TestWithParam<TargetKind> {
 protected:
  SvmVerifierTest() {
    problem_.tasks[0].costs = Vector::LinSpaced(40, 0.5, 2.0);
    problem_.relative_gap = 1e-9;
    const absl::StatusOr<TrainingOutcome> outcome = RunToGap(entry_, values_, problem_);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    optimum_ = outcome->certificate.dual;
    point_ = outcome->point;
  }

  Certificate Verify(const Vector& dual, double bias) {
    Witness witness;
    witness.tasks.push_back({dual, Vector::Constant(1, bias)});
    RunContext context;
    const absl::StatusOr<Certificate> certificate =
        VerifyWitness(entry_, values_, problem_, witness, context);
    EXPECT_TRUE(certificate.ok()) << certificate.status();
    return certificate.ok() ? *certificate : Certificate();
  }

  const LearnerEntry entry_ = svm::Entry();
  const OptionValues values_ = {{"C", 2.0}, {"epsilon", kEpsilon}};
  TrainingProblem problem_ = ToyProblem(GetParam(), 40, 2, {1.0, 3.0});
  const Matrix gram_ = SumOfGaussians(problem_);
  double optimum_ = 0;
  TrainedPoint point_;
};

// The largest a'-values on the ray through a feasible dual, found by trying.
TEST_P(SvmVerifierTest, BoundsAreThoseOfTheDefinitionAtFeasibleDuals) {
  RandomStream random(5, "feasible duals");
  const Vector solution = point_.witness.tasks[0].dual.col(0);
  for (int trial = 0; trial < 20; ++trial) {
    const Vector dual = random.Uniform() * solution;  // in the box, of sum 0
    const double bias = random.Normal();
    const Certificate certificate = Verify(dual, bias);
    const double primal = PrimalAt(problem_, gram_, 2.0, dual, bias);
    EXPECT_NEAR(certificate.primal, primal, 1e-10 * primal);
    double best = 0;
    for (double scale = 0; scale <= 1 / std::max(dual.norm() / solution.norm(), 1e-9);
         scale += 1e-3) {
      best = std::max(best, DualAt(problem_, gram_, scale * dual));
    }
    EXPECT_GE(certificate.dual, best - 1e-9 * std::abs(optimum_));
    EXPECT_LE(certificate.dual, optimum_ * (1 + 1e-8));
  }
}

TEST_P(SvmVerifierTest, CorruptedWitnessesAreBoundedHonestly) {
  const Vector solution = point_.witness.tasks[0].dual.col(0);
  const double bias = point_.witness.tasks[0].bias(0);
  RandomStream random(6, "corrupted duals");
  std::vector<Vector> corrupted = {1.5 * solution, -solution, 1e6 * solution,
                                   solution + Vector::Constant(40, 0.1)};
  for (int trial = 0; trial < 20; ++trial) {
    Vector changed = solution;
    for (Index i = 0; i < 40; ++i) {
      changed(i) += 0.3 * random.Normal();
    }
    corrupted.push_back(changed);
  }
  for (const Vector& dual : corrupted) {
    const Certificate certificate = Verify(dual, bias);
    const double primal = PrimalAt(problem_, gram_, 2.0, dual, bias);
    EXPECT_NEAR(certificate.primal, primal, 1e-10 * primal);
    EXPECT_GE(certificate.primal, optimum_ * (1 - 1e-9));
    EXPECT_LE(certificate.dual, optimum_ * (1 + 1e-8));
    EXPECT_GT(certificate.accuracy, 1e-4);
  }
  EXPECT_GT(Verify(solution, bias + 0.5).accuracy, 1e-4);
}

TEST_P(SvmVerifierTest, WitnessesOfAnotherShapeAreRefused) {
  RunContext context;
  Witness witness = point_.witness;
  witness.tasks[0].dual.conservativeResize(39, 1);
  EXPECT_EQ(entry_.verify(values_, problem_, witness, context).status().code(),
            absl::StatusCode::kFailedPrecondition);
  witness = point_.witness;
  witness.tasks[0].dual(3, 0) = std::nan("");
  EXPECT_EQ(entry_.verify(values_, problem_, witness, context).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SvmVerifierTest,
                         ::testing::Values(TargetKind::kClassification, TargetKind::kRegression),
                         [](const auto& kind) {
                           return kind.param == TargetKind::kRegression ? "Regression"
                                                                        : "Classification";
                         });

}  // namespace
}  // namespace mercer
