// The loop over machines of fixed weights: the same problem by different sets of weights, one of
// which has weights that maximise.
#include "core/solvers/mkl/mkl_loop.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/objectives/lp_weights.h"
#include "tests/core/solvers/smo_mkl_problems.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

// The mixed norm of groups of kernels: |f| is the largest sum of norms of a group. With
// weights(k) = inner(k) / outer(group of k) the weights of a group sum to 1 / outer, so that the
// set is that of weights whose groups' sums have reciprocals of sum 1.
class MixedNormByHand : public WeightRegularizer {
 public:
  explicit MixedNormByHand(std::vector<Index> group_of) : group_of_(std::move(group_of)) {}

  double HalfSquaredNorm(ConstVectorRef norms) const override {
    const double largest = Sums(norms).maxCoeff();
    return 0.5 * largest * largest;
  }
  double Support(ConstVectorRef energies) const override {
    Vector largest = Vector::Zero(num_groups());
    for (Index k = 0; k < energies.size(); ++k) {
      double& of_group = largest(Group(k));
      of_group = std::max(of_group, energies(k));
    }
    return std::pow(largest.cwiseSqrt().sum(), 2);
  }
  bool has_maximisers() const override { return true; }
  bool AreFixed(Index num_kernels) const override { return num_kernels == 1; }
  bool is_sparse() const override { return false; }
  Vector Normalized(const Vector& weights) const override {
    return Sums(weights).cwiseInverse().sum() * weights;
  }
  Vector ClosedForm(const Vector& weights, const Vector& energies) const override {
    return Move(weights, energies.cwiseSqrt(), energies);
  }
  Vector OverRelaxed(const Vector& weights, const Vector& energies) const override {
    return Move(weights, energies, energies);
  }
  double OverRelaxedRate() const override { return 1; }
  std::vector<Index> Candidates(const Vector& weights, const Vector& /*energies*/) const override {
    std::vector<Index> all;
    for (Index k = 0; k < weights.size(); ++k) {
      all.push_back(k);
    }
    return all;
  }
  absl::StatusOr<std::optional<Vector>> SolveModel(const WeightModel& /*model*/,
                                                   const std::vector<Index>& /*candidates*/,
                                                   const RunContext& /*context*/) const override {
    return std::optional<Vector>();
  }

 private:
  Index Group(Index k) const { return group_of_[static_cast<size_t>(k)]; }
  Index num_groups() const { return 1 + *std::max_element(group_of_.begin(), group_of_.end()); }
  Vector Sums(ConstVectorRef values) const {
    Vector sums = Vector::Zero(num_groups());
    for (Index k = 0; k < values.size(); ++k) {
      sums(Group(k)) += values(k);
    }
    return sums;
  }
  // Inner weights times `factors`, of sum 1 in each group; outer weights are the square roots of
  // the groups' energies, of sum 1.
  Vector Move(const Vector& weights, const Vector& factors, const Vector& energies) const {
    Vector inner = weights.cwiseProduct(factors);
    const Vector sums = Sums(inner);
    for (Index k = 0; k < inner.size(); ++k) {
      inner(k) /= sums(Group(k));
    }
    const Vector roots = Sums(inner.cwiseProduct(energies)).cwiseSqrt();
    for (Index k = 0; k < inner.size(); ++k) {
      inner(k) *= roots.sum() / roots(Group(k));
    }
    return inner;
  }

  const std::vector<Index> group_of_;
};

struct Solution {
  MklState state;
  int machines = 0;
};

Solution Solve(const WeightRegularizer& regularizer, const SmoMklCase& given, double target,
               const MklLoopOptions& options = {}) {
  Solution solution;
  MklState& state = solution.state;
  state.dual = Vector::Zero(given.family.size());
  MklLoop loop(regularizer, given.problem, options, state);
  loop.Begin(regularizer.Normalized(Vector::Ones(given.family.num_kernels())), 0.1, target);
  loop.SetKernels(&given.family);
  RunContext context;
  while (state.best.gap > target && solution.machines < 500) {
    const absl::StatusOr<MklProgress> progress = loop.Solve(context);
    EXPECT_TRUE(progress.ok()) << progress.status();
    if (!progress.ok() || *progress == MklProgress::kNumericalLimit) {
      break;
    }
    if (*progress == MklProgress::kSolved) {
      ++solution.machines;
      EXPECT_EQ(loop.MoveWeights(target, context), absl::OkStatus());
    }
  }
  EXPECT_LE(state.best.gap, target);
  return solution;
}

// The Gram matrix that a fixture describes.
Matrix FixtureGram(const nlohmann::json& kernel, const nlohmann::json& inputs) {
  Matrix gram;
  if (kernel["type"] == "precomputed") {
    gram = JsonMatrix(kernel["gram"]);
  } else {
    const Matrix all = JsonMatrix(inputs["features"][kernel["source"].get<std::string>()]);
    std::vector<Index> columns;
    for (Index j = 0; j < all.cols(); ++j) {
      columns.push_back(j);
    }
    const RowMatrix x = all(Eigen::all, kernel.value("columns", columns));
    gram = GaussianGram(x, 1 / kernel["width"].get<double>());
  }
  return kernel["normalisation"] == "trace" ? Matrix(gram / gram.trace()) : gram;
}

TEST(MklLoopTest, MixedNormsHaveTheOptimaOfAnIndependentSolver) {
  constexpr double kTarget = 1e-5;
  for (const char* name : {"tiny-precomputed", "grouped-gaussian", "singleton-groups"}) {
    const nlohmann::json fixture = ReadFixtureFile(std::string("mixed-norm-mkl/") + name + ".json");
    const nlohmann::json& inputs = fixture["inputs"];
    std::vector<Matrix> grams;
    std::vector<Index> groups;
    for (const nlohmann::json& kernel : inputs["kernels"]) {
      grams.push_back(FixtureGram(kernel, inputs));
      groups.push_back(kernel["group"].get<Index>());
    }
    const Vector labels = JsonVector(inputs["y"]);
    const SmoMklCase given{GramFamily(std::move(grams)),
                           {SharedLoss(LossKind::kHinge, 0.0), labels,
                            Vector::Constant(labels.size(), inputs["C"].get<double>())}};
    const BestPoint best = Solve(MixedNormByHand(groups), given, kTarget).state.best;
    const double objective = fixture["expected"]["objective"].get<double>();
    EXPECT_GE(best.primal, objective * (1 - 1e-9)) << name;
    EXPECT_LE(best.primal, objective * (1 + kTarget)) << name;
    EXPECT_LE(best.lower, objective * (1 + 1e-9)) << name;
    const Vector weights = JsonVector(fixture["expected"]["eta"]);
    EXPECT_LT((best.weights - weights).cwiseAbs().maxCoeff(), 0.05 * weights.maxCoeff()) << name;
  }
}

// One group is the l1 ball, and finer groups allow more functions of a norm.
TEST(MklLoopTest, MixedNormOfOneGroupIsTheL1Ball) {
  const double target = 1e-4;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const SmoMklCase given = MakeSmoMklCase(seed, 60, 5.0);
    const BestPoint ball = Solve(LpBall(1), given, target).state.best;
    const BestPoint one = Solve(MixedNormByHand({0, 0, 0, 0}), given, target).state.best;
    const BestPoint pairs = Solve(MixedNormByHand({0, 0, 1, 1}), given, target).state.best;
    const BestPoint singles = Solve(MixedNormByHand({0, 1, 2, 3}), given, target).state.best;
    EXPECT_LE(ball.lower, one.primal * (1 + 1e-12));
    EXPECT_LE(one.lower, ball.primal * (1 + 1e-12));
    EXPECT_LT(pairs.primal, one.lower);
    EXPECT_LT(singles.primal, pairs.lower);
  }
}

// n groups of the same kernel K are the machine of the kernel n^2 K.
TEST(MklLoopTest, GroupsOfOneKernelAreItsMachine) {
  const SmoMklCase given = MakeSmoMklCase(4, 50, 2.0);
  const Matrix gram = given.family.gram(1);
  const SmoMklCase same{GramFamily({gram, gram, gram}), given.problem};
  const SmoMklCase machine{GramFamily({9.0 * gram}), given.problem};
  const Solution groups = Solve(MixedNormByHand({0, 1, 2}), same, 1e-8);
  const BestPoint single = Solve(LpBall(1), machine, 1e-8).state.best;
  EXPECT_NEAR(groups.state.best.primal / single.primal, 1, 2e-8);
  EXPECT_LT((groups.state.best.weights - Vector::Constant(3, 3.0)).norm(), 1e-12);
}

// Each kind of step has the same fixed point; the better ones take fewer machines.
TEST(MklLoopTest, EveryKindOfStepsReachesTheOptimum) {
  const SmoMklCase given = MakeSmoMklCase(5, 80, 10.0);
  for (const double p : {1.2, 2.0, 4.0}) {
    const Solution newton = Solve(LpBall(p), given, 1e-5);
    const Solution over = Solve(LpBall(p), given, 1e-5, {.steps = WeightSteps::kOverRelaxed});
    const Solution closed = Solve(LpBall(p), given, 1e-5, {.steps = WeightSteps::kAlternation});
    EXPECT_NEAR(over.state.best.primal / newton.state.best.primal, 1, 2e-5) << p;
    EXPECT_NEAR(closed.state.best.primal / newton.state.best.primal, 1, 2e-5) << p;
    EXPECT_LE(newton.machines, over.machines) << p;
    EXPECT_LE(over.machines, closed.machines) << p;
  }
}

}  // namespace
}  // namespace mercer
