// The subproblem of the proximal Newton methods over more rows than a block, on any number of threads.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/base/process/run_context.h"
#include "core/solvers/svm/svm_newton_model.h"

namespace mercer {
namespace {

constexpr Index kModelRows = 20'000;
constexpr double kModelStep = 0.7;

struct ModelParts {
  SvmDualBox box;
  Vector center;
  Vector scores;
  Vector change;
};

ModelParts RandomParts(LossKind kind) {
  RandomStream random(11, "proximal model");
  Vector labels(kModelRows);
  Vector costs(kModelRows);
  ModelParts parts{{}, Vector(kModelRows), Vector(kModelRows), Vector(kModelRows)};
  for (Index i = 0; i < kModelRows; ++i) {
    labels(i) = random.Uniform() < 0.4 ? 1.0 : -1.0;
    costs(i) = 0.1 + random.Uniform();
    parts.center(i) = 0.3 * labels(i) * random.Uniform();
    parts.scores(i) = random.Normal();
    parts.change(i) = random.Normal();
  }
  parts.box = *MakeSvmDualBox(**MakeLoss(kind, 0.2), labels, costs);
  return parts;
}

// As the header defines it, row by row.
double MaximizerOf(const ModelParts& parts, Index i, double score, double bias) {
  double point = parts.center(i) + kModelStep * (parts.box.targets(i) - score - bias);
  const double flat = kModelStep * parts.box.epsilon;
  point = std::copysign(std::max(0.0, std::abs(point) - flat), point);
  return std::clamp(point, parts.box.lower(i), parts.box.upper(i));
}

class ProximalModelTest : public ::testing::TestWithParam<LossKind> {
 protected:
  const ModelParts parts_ = RandomParts(GetParam());
  const RunContext one_{CancellationToken(), 1, nullptr};
  const RunContext two_{CancellationToken(), 2, nullptr};

  std::vector<ProximalModel> Models() const {
    return {{parts_.box, parts_.center, kModelStep, nullptr},
            {parts_.box, parts_.center, kModelStep, &one_},
            {parts_.box, parts_.center, kModelStep, &two_}};
  }
};

TEST_P(ProximalModelTest, MaximisersAreThoseOfTheDefinition) {
  for (const ProximalModel& model : Models()) {
    Vector dual;
    model.DualPoint(parts_.scores, 0.3, dual);
    double along = 0;
    for (Index i = 0; i < kModelRows; ++i) {
      ASSERT_NEAR(dual(i), MaximizerOf(parts_, i, parts_.scores(i), 0.3), 1e-15) << i;
      along +=
          parts_.change(i) * MaximizerOf(parts_, i, parts_.scores(i) + 0.5 * parts_.change(i), 0.3);
    }
    EXPECT_NEAR(model.DualAlong(parts_.scores, 0.3, parts_.change, 0.5), along,
                1e-12 * parts_.change.lpNorm<1>());
  }
}

TEST_P(ProximalModelTest, BalancedDualSumsToZeroInsideItsBox) {
  for (const ProximalModel& model : Models()) {
    Vector dual;
    const double bias = *model.BalanceDual(parts_.scores, 0.0, dual, RunContext());
    EXPECT_TRUE(std::isfinite(bias));
    EXPECT_NEAR(dual.sum(), 0, 1e-12 * dual.lpNorm<1>());
    EXPECT_GE((dual - parts_.box.lower).minCoeff(), 0);
    EXPECT_GE((parts_.box.upper - dual).minCoeff(), 0);
  }
}

TEST_P(ProximalModelTest, BitsDoNotDependOnTheThreads) {
  std::vector<Vector> duals;
  std::vector<double> numbers;
  for (const ProximalModel& model : Models()) {
    Vector dual;
    numbers.push_back(*model.BalanceDual(parts_.scores, 0.1, dual, RunContext()));
    numbers.push_back(model.DualAlong(parts_.scores, 0.1, parts_.change, 0.25));
    duals.push_back(dual);
  }
  for (size_t model = 1; model < duals.size(); ++model) {
    EXPECT_TRUE(duals[model] == duals[0]);
    EXPECT_EQ(numbers[2 * model], numbers[0]);
    EXPECT_EQ(numbers[2 * model + 1], numbers[1]);
  }
}

TEST_P(ProximalModelTest, ACancelledSearchForTheBiasSaysSo) {
  const RunContext context;
  context.cancellation().Cancel();
  Vector dual;
  EXPECT_TRUE(
      absl::IsCancelled(Models()[0].BalanceDual(parts_.scores, 0.0, dual, context).status()));
}

TEST(MinimizeOnRayTest, ACancelledSearchTriesNothingMore) {
  const RunContext context;
  int trials = 0;
  const auto slope = [&](double t) {
    if (++trials == 3) {
      context.cancellation().Cancel();
    }
    return t < 0.3 ? -1.0 : 5.0;
  };
  EXPECT_TRUE(absl::IsCancelled(MinimizeOnRay(slope, context).status()));
  EXPECT_EQ(trials, 3);
}

INSTANTIATE_TEST_SUITE_P(Losses, ProximalModelTest,
                         ::testing::Values(LossKind::kHinge, LossKind::kEpsilonInsensitive));

}  // namespace
}  // namespace mercer
