// What every solver of an SVM with a fixed kernel of explicit features owes: the optimum of slow, independent solvers within its
// certified gap, feasible duals, bounds that hold at every step, the same bits from every state, and an end.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "absl/strings/escaping.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/solvers/svm/smo.h"
#include "tests/core/solvers/factor_test_problems.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

constexpr double kCosts[] = {1e-6, 1e-3, 1.0, 1e3, 1e6};

class SvmSolverConformance : public testing::TestWithParam<size_t> {
 protected:
  const SolverCase& solver_case() const { return SolverCases()[GetParam()]; }
  std::unique_ptr<SvmSolver> Make(const FactorInstance& instance, double relative_gap) const {
    return solver_case().make(instance, relative_gap);
  }
  // To its end.
  std::unique_ptr<SvmSolver> Solve(const FactorInstance& instance, double relative_gap) const {
    RunContext context;
    std::unique_ptr<SvmSolver> solver = Make(instance, relative_gap);
    EXPECT_EQ(solver->Start(instance.problem, {}, context), absl::OkStatus());
    EXPECT_EQ(solver->Run(context), absl::OkStatus());
    return solver;
  }
};

INSTANTIATE_TEST_SUITE_P(Solvers, SvmSolverConformance,
                         testing::Range<size_t>(0, SolverCases().size()),
                         [](const auto& parameter) { return SolverCases()[parameter.param].name; });

// Feasible, with the products of this very dual.
void ExpectFeasibleSolution(const SvmSolver& solver, const FactorInstance& instance) {
  const SvmProblem& problem = instance.problem;
  for (Index i = 0; i < problem.targets.size(); ++i) {
    const Interval box = problem.loss->DualBox(problem.targets(i), problem.costs(i));
    ASSERT_TRUE(solver.dual()(i) >= box.low && solver.dual()(i) <= box.high) << i;
  }
  EXPECT_NEAR(solver.dual().sum(), 0.0, 1e-9 * solver.dual().cwiseAbs().sum());
  EXPECT_EQ(solver.dual()(0), 0.0);
  EXPECT_LT((*instance.gram * solver.dual() - solver.scores()).cwiseAbs().maxCoeff(),
            1e-9 * std::max(1.0, solver.dual().lpNorm<1>()));
}

// Once for each kernel and problem.
SvmCertificate BoundsOfSmo(const FactorInstance& instance, double relative_gap) {
  static auto& known = *new std::map<std::tuple<double, double, LossKind, double>, SvmCertificate>;
  const SvmProblem& problem = instance.problem;
  const auto key = std::make_tuple(instance.gram->squaredNorm(), problem.costs.maxCoeff(),
                                   problem.loss->kind(), relative_gap);
  if (known.find(key) == known.end()) {
    SmoSolver smo(*instance.dense, {.relative_gap = relative_gap});
    RunContext context;
    EXPECT_EQ(smo.Start({problem.loss, problem.targets, problem.costs}, {}, context),
              absl::OkStatus());
    EXPECT_EQ(smo.Run(context), absl::OkStatus());
    known[key] = smo.certificate();
  }
  return known[key];
}

// SMO solves each problem once for all solvers.
class SvmSolverOptimum : public testing::TestWithParam<std::tuple<LossKind, size_t>> {
 protected:
  void ExpectThatOfSmo(const SolverCase& solver_case) const;
};

INSTANTIATE_TEST_SUITE_P(
    Solvers, SvmSolverOptimum,
    testing::Combine(testing::Values(LossKind::kHinge, LossKind::kEpsilonInsensitive),
                     testing::Range<size_t>(0, 5)),
    [](const auto& parameters) {
      return (std::get<0>(parameters.param) == LossKind::kHinge ? "Hinge" : "Insensitive") +
             std::to_string(std::get<1>(parameters.param));
    });

TEST_P(SvmSolverOptimum, IsThatOfSmoWithinTheGap) {
  for (const SolverCase& solver_case : SolverCases()) {
    SCOPED_TRACE(solver_case.name);
    ExpectThatOfSmo(solver_case);
  }
}

void SvmSolverOptimum::ExpectThatOfSmo(const SolverCase& solver_case) const {
  const auto [kind, cost] = GetParam();
  const double reach = solver_case.Reach(kind, cost);
  const bool slow = kCosts[cost] > 1;  // for SMO
  for (uint64_t seed = 0; seed < (slow ? 1 : 3); ++seed) {
    const FactorInstance instance =
        MakeFactorInstance({.kind = kind, .cost = kCosts[cost], .seed = seed});
    RunContext context;
    const std::unique_ptr<SvmSolver> solver = solver_case.make(instance, 1e-8);
    ASSERT_EQ(solver->Start(instance.problem, {}, context), absl::OkStatus());
    ASSERT_EQ(solver->Run(context), absl::OkStatus());
    const double gap = solver->certificate().RelativeGap();
    EXPECT_LE(gap, reach);
    EXPECT_EQ(solver->stop() == SvmStop::kRelativeGap, gap <= 1e-8);
    ExpectFeasibleSolution(*solver, instance);
    const SvmCertificate smo = BoundsOfSmo(instance, slow ? 1e-2 : 1e-6);
    const double scale = std::abs(smo.primal);
    EXPECT_LE(solver->certificate().dual, smo.primal + 1e-9 * scale);
    EXPECT_GE(solver->certificate().primal, smo.dual - 1e-9 * scale);
  }
}

// With the best weights the optimum of the SVM is that of the whole problem, which a cone solver has found.
TEST_P(SvmSolverConformance, SolvesTheFixturesAtTheirBestWeights) {
  for (const char* name :
       {"lowrank_p1", "lowrank_p1_1", "lowrank_p2_bigC", "lowrank_p4_imbalanced"}) {
    SCOPED_TRACE(name);
    const nlohmann::json fixture = ReadFixtureFile(std::string("lowrank-lp-mkl/") + name + ".json");
    const nlohmann::json& input = fixture["input"];
    const Vector weights = JsonVector(fixture["expected"]["weights"]);
    const Vector labels = JsonVector(input["y"]);
    Matrix features(labels.size(), 0);
    Vector scales(0);
    for (Index k = 0; k < weights.size(); ++k) {
      const Matrix block = JsonMatrix(input["V"][static_cast<size_t>(k)]);
      features.conservativeResize(Eigen::NoChange, features.cols() + block.cols());
      features.rightCols(block.cols()) = block;
      scales.conservativeResize(features.cols());
      scales.tail(block.cols()).setConstant(std::sqrt(weights(k)));
    }
    FactorInstance instance{FactorRows(labels.size(), features.cols()), scales.asDiagonal()};
    for (Index i = 0; i < labels.size(); ++i) {
      instance.rows.SetRow(i, features.row(i).transpose());
    }
    const double cost = input["C"];
    instance.problem = {*MakeLoss(LossKind::kHinge), labels, Vector::Constant(labels.size(), cost)};
    FormGram(instance, weights.size());
    const bool huge = cost > 10;
    const double gap = huge ? solver_case().Reach(LossKind::kHinge, 3) : 1e-7;
    const std::unique_ptr<SvmSolver> solver = Solve(instance, gap);
    EXPECT_LE(solver->certificate().RelativeGap(), gap);
    // Features are rounded to single precision.
    const double objective = fixture["expected"]["objective"];
    EXPECT_LE(solver->certificate().dual, objective * (1 + 1e-6));
    EXPECT_GE(solver->certificate().primal, objective * (1 - 1e-6));
  }
}

TEST_P(SvmSolverConformance, BoundsHoldAtEveryStepAndBracketTheOptimum) {
  const FactorInstance instance = MakeFactorInstance({.rows = 120, .cost = 20.0});
  const SvmCertificate smo = BoundsOfSmo(instance, 1e-6);
  const double scale = smo.primal;
  RunContext context;
  const std::unique_ptr<SvmSolver> solver = Make(instance, 1e-6);
  ASSERT_EQ(solver->Start(instance.problem, {}, context), absl::OkStatus());
  for (int step = 0; step < 400 && !solver->done(); ++step) {
    ASSERT_EQ(solver->Step(1, context), absl::OkStatus());
    const auto certificate =
        CertifySvm(*instance.problem.loss, instance.problem.targets, instance.problem.costs,
                   solver->dual(), *instance.gram * solver->dual());
    ASSERT_TRUE(certificate.ok()) << certificate.status();
    ASSERT_GE(certificate->Gap(), -1e-10 * scale) << step;
    ASSERT_LE(certificate->dual, smo.primal + 1e-9 * scale) << step;
    ASSERT_GE(certificate->primal, smo.dual - 1e-9 * scale) << step;
  }
}

TEST_P(SvmSolverConformance, CostsOfSamplesAreTheirOwn) {
  FactorInstance instance = MakeFactorInstance({.rows = 100});
  FactorInstance doubled = MakeFactorInstance({.rows = 100});
  // A sample of twice the cost, against a neighbour of the same features and label that makes up the other half.
  instance.rows.SetRow(6, RowOf(instance.rows, 5));
  doubled.rows.SetRow(6, RowOf(doubled.rows, 5));
  FormGram(instance, 3);
  FormGram(doubled, 3);
  for (FactorInstance* each : {&instance, &doubled}) {
    each->problem.targets(6) = each->problem.targets(5);
    each->problem.costs(9) = 0.3;
  }
  doubled.problem.costs(5) = 2.0;
  doubled.problem.costs(6) = 0.0;
  const std::unique_ptr<SvmSolver> one = Solve(instance, 1e-7);
  const std::unique_ptr<SvmSolver> other = Solve(doubled, 1e-7);
  EXPECT_NEAR(one->certificate().primal, other->certificate().primal,
              2e-7 * one->certificate().primal);
  EXPECT_EQ(other->dual()(6), 0.0);
}

TEST_P(SvmSolverConformance, ManyFeaturesOneFeatureAndManyRowsAreSolved) {
  for (const FactorShape& shape : {FactorShape{.rows = 12, .rank = 90, .cost = 1.0},
                                   FactorShape{.rows = 300, .rank = 1, .cost = 1.0},
                                   FactorShape{.rows = 2600, .rank = 17, .cost = 1.0}}) {
    const FactorInstance instance = MakeFactorInstance(shape);
    const std::unique_ptr<SvmSolver> solver = Solve(instance, 1e-5);
    EXPECT_EQ(solver->stop(), SvmStop::kRelativeGap) << shape.rows << " x " << shape.rank;
  }
}

TEST_P(SvmSolverConformance, RepeatedRowsAndFeaturesAreSolved) {
  FactorInstance instance = MakeFactorInstance({.rows = 200, .rank = 30, .cost = 2.0});
  for (Index i = 0; i < 200; ++i) {
    instance.rows.SetRow(i, RowOf(instance.rows, i % 50).head(15).replicate(2, 1));
  }
  instance.root = Matrix::Identity(30, 30);
  FormGram(instance, 3);
  const std::unique_ptr<SvmSolver> solver = Solve(instance, 1e-4);
  EXPECT_EQ(solver->stop(), SvmStop::kRelativeGap) << solver->certificate().RelativeGap();
  ExpectFeasibleSolution(*solver, instance);
}

// Without features the best function is the constant.
TEST_P(SvmSolverConformance, ZeroKernelGivesTheConstant) {
  FactorInstance instance = MakeFactorInstance({.cost = 2.0});
  instance.root.setZero();
  FormGram(instance, 3);
  const std::unique_ptr<SvmSolver> solver = Solve(instance, 1e-7);
  const Vector& y = instance.problem.targets;
  const auto positive = static_cast<double>((y.tail(y.size() - 1).array() > 0).count());
  const double minority = std::min(positive, static_cast<double>(y.size() - 1) - positive);
  EXPECT_NEAR(solver->certificate().primal, 2.0 * 2.0 * minority, 1e-6 * minority);
}

// Every solver has an end where the gap is out of reach.
TEST_P(SvmSolverConformance, UnreachableGapEndsForPrecision) {
  const FactorInstance instance = MakeFactorInstance({.rows = 60, .rank = 10, .cost = 1e4});
  const std::unique_ptr<SvmSolver> solver = Solve(instance, 0.0);
  EXPECT_EQ(solver->stop(), SvmStop::kPrecision);
  EXPECT_GE(solver->certificate().RelativeGap(), -1e-10);
  ExpectFeasibleSolution(*solver, instance);
  const std::unique_ptr<SvmSolver> restored = Make(instance, 0.0);
  RunContext context;
  ASSERT_EQ(restored->RestoreState(instance.problem, solver->SaveState(), context),
            absl::OkStatus());
  EXPECT_EQ(restored->stop(), SvmStop::kPrecision);
}

TEST_P(SvmSolverConformance, EveryStateLeadsToTheSameBits) {
  const FactorInstance instance = MakeFactorInstance({.rows = 700, .cost = 50.0});
  RunContext context;
  const std::unique_ptr<SvmSolver> whole = Make(instance, 1e-7);
  ASSERT_EQ(whole->Start(instance.problem, {}, context), absl::OkStatus());
  const std::unique_ptr<SvmSolver> first = Make(instance, 1e-7);
  RunContext two_threads(CancellationToken(), 2, nullptr);
  ASSERT_EQ(first->Start(instance.problem, {}, two_threads), absl::OkStatus());
  std::string state = first->SaveState();
  for (int step = 0; step < 120 && !whole->done(); ++step) {
    ASSERT_EQ(whole->Step(1, context), absl::OkStatus());
    const std::unique_ptr<SvmSolver> relay = Make(instance, 1e-7);
    ASSERT_EQ(relay->RestoreState(instance.problem, state, context), absl::OkStatus());
    ASSERT_EQ(relay->Step(1, two_threads), absl::OkStatus());
    state = relay->SaveState();
    ASSERT_TRUE(whole->SaveState() == state) << "iteration " << whole->iterations();
  }
  const std::unique_ptr<SvmSolver> last = Make(instance, 1e-7);
  ASSERT_EQ(last->RestoreState(instance.problem, state, context), absl::OkStatus());
  EXPECT_EQ(last->done(), whole->done());
  EXPECT_EQ(last->iterations(), whole->iterations());
  EXPECT_EQ(last->dual(), whole->dual());
  EXPECT_EQ(last->certificate().primal, whole->certificate().primal);
}

// Bytes that were written before states named their fields: they are read, written again as they are,
// and lead to the optimum.
TEST_P(SvmSolverConformance, StatesOfBeforeAreRead) {
  const FactorInstance instance = MakeFactorInstance({.rows = 12, .rank = 4, .cost = 5.0});
  const nlohmann::json fixture = ReadFixtureFile("../core/solvers/saved_states.json");
  const std::string state = absl::HexStringToBytes(fixture[solver_case().name].get<std::string>());
  const std::unique_ptr<SvmSolver> solver = Make(instance, 1e-6);
  RunContext context;
  ASSERT_EQ(solver->RestoreState(instance.problem, state, context), absl::OkStatus());
  EXPECT_TRUE(solver->SaveState() == state);
  ASSERT_EQ(solver->Run(context), absl::OkStatus());
  EXPECT_LE(solver->certificate().RelativeGap(), 1e-6);
}

TEST_P(SvmSolverConformance, SolverThatIsDoneWhenItStartsIsRestored) {
  const FactorInstance instance = MakeFactorInstance({.cost = 5.0});
  const std::unique_ptr<SvmSolver> exact = Solve(instance, 1e-5);
  RunContext context;
  const std::unique_ptr<SvmSolver> solver = Make(instance, 1e-3);
  ASSERT_EQ(solver->Start(instance.problem, {.dual = exact->dual()}, context), absl::OkStatus());
  ASSERT_TRUE(solver->done());
  const std::unique_ptr<SvmSolver> restored = Make(instance, 1e-3);
  ASSERT_EQ(restored->RestoreState(instance.problem, solver->SaveState(), context),
            absl::OkStatus());
  EXPECT_TRUE(restored->done());
  EXPECT_EQ(restored->dual(), solver->dual());
  EXPECT_EQ(restored->certificate().primal, solver->certificate().primal);
}

// What certifies the point of a state must not do so for seconds after a cancellation.
TEST_P(SvmSolverConformance, CancelledRestoreSaysSo) {
  const FactorInstance instance = MakeFactorInstance({.cost = 5.0});
  const std::unique_ptr<SvmSolver> solver = Solve(instance, 1e-3);
  RunContext cancelled;
  cancelled.cancellation().Cancel();
  const std::unique_ptr<SvmSolver> restored = Make(instance, 1e-3);
  const absl::Status status =
      restored->RestoreState(instance.problem, solver->SaveState(), cancelled);
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

TEST_P(SvmSolverConformance, DamagedAndForeignStatesAreRefused) {
  const FactorInstance instance = MakeFactorInstance({.cost = 5.0});
  RunContext context;
  const std::unique_ptr<SvmSolver> solver = Make(instance, 1e-9);
  ASSERT_EQ(solver->Start(instance.problem, {}, context), absl::OkStatus());
  ASSERT_EQ(solver->Step(3, context), absl::OkStatus());
  const std::string state = solver->SaveState();
  const std::unique_ptr<SvmSolver> other = Make(instance, 1e-9);
  for (size_t length = 0; length < state.size(); length += 97) {
    EXPECT_FALSE(other->RestoreState(instance.problem, state.substr(0, length), context).ok());
  }
  EXPECT_FALSE(other->RestoreState(instance.problem, state + "x", context).ok());
  EXPECT_FALSE(other->RestoreState(instance.problem, "rubbish", context).ok());
  const FactorInstance larger = MakeFactorInstance({.rows = 151});
  EXPECT_FALSE(Make(larger, 1e-9)->RestoreState(larger.problem, state, context).ok());
  for (const SolverCase& foreign : SolverCases()) {
    if (foreign.name != solver_case().name) {
      EXPECT_FALSE(
          foreign.make(instance, 1e-9)->RestoreState(instance.problem, state, context).ok())
          << foreign.name;
    }
  }
}

TEST_P(SvmSolverConformance, StartFromTheSolutionNeedsAtMostTwoSteps) {
  const FactorInstance instance = MakeFactorInstance({.cost = 1.0});
  RunContext context;
  const std::unique_ptr<SvmSolver> solver = Solve(instance, 1e-6);
  const std::unique_ptr<SvmSolver> again = Make(instance, 1e-6);
  SvmWarmStart start = solver->Successor();
  start.dual = solver->dual();
  ASSERT_EQ(again->Start(instance.problem, start, context), absl::OkStatus());
  ASSERT_EQ(again->Run(context), absl::OkStatus());
  EXPECT_LE(again->iterations(), 2);
}

TEST_P(SvmSolverConformance, BadProblemsAreRefused) {
  const FactorInstance instance = MakeFactorInstance({.rows = 20});
  RunContext context;
  const std::unique_ptr<SvmSolver> solver = Make(instance, 1e-3);
  const auto expect_refused = [&](const SvmProblem& problem) {
    EXPECT_TRUE(absl::IsInvalidArgument(solver->Start(problem, {}, context)));
  };
  SvmProblem problem = instance.problem;
  problem.targets.setOnes();
  expect_refused(problem);
  problem = instance.problem;
  problem.targets(3) = 2.0;
  expect_refused(problem);
  problem.targets(3) = NAN;
  expect_refused(problem);
  problem = instance.problem;
  problem.costs(3) = -1.0;
  expect_refused(problem);
  problem = instance.problem;
  problem.loss = *MakeLoss(LossKind::kSquare);
  expect_refused(problem);
  problem.loss = nullptr;
  expect_refused(problem);
  problem = instance.problem;
  problem.targets = instance.problem.targets.head(19);
  expect_refused(problem);
  EXPECT_TRUE(
      absl::IsInvalidArgument(solver->Start(instance.problem, {.dual = Vector::Zero(3)}, context)));
}

TEST_P(SvmSolverConformance, CancelledStepLeavesTheStateOfTheOneBefore) {
  const FactorInstance instance = MakeFactorInstance({.cost = 10.0});
  const CancellationToken token;
  RunContext context(token, 1, nullptr);
  const std::unique_ptr<SvmSolver> solver = Make(instance, 1e-9);
  ASSERT_EQ(solver->Start(instance.problem, {}, context), absl::OkStatus());
  ASSERT_EQ(solver->Step(3, context), absl::OkStatus());
  const std::string before = solver->SaveState();
  token.Cancel();
  EXPECT_TRUE(absl::IsCancelled(solver->Step(1, context)));
  EXPECT_EQ(solver->SaveState(), before);
  EXPECT_TRUE(absl::IsCancelled(Make(instance, 1e-9)->Start(instance.problem, {}, context)));
}

}  // namespace
}  // namespace mercer
