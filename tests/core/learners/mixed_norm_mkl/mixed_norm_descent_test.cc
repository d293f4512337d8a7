// What falls or rises from step to step of each method, with machines that are solved exactly.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/base/encoding/bytes.h"
#include "core/objectives/dual_ray.h"
#include "core/solvers/mkl/mixed_norm_methods.h"
#include "core/solvers/mkl/mkl_loop.h"
#include "core/solvers/mkl/reduced_gradient.h"
#include "tests/core/learners/mixed_norm_mkl/mixed_norm_problems.h"

namespace mercer::mixed_norm_mkl {
namespace {

constexpr double kExact = 1e-9;  // the relative gap of a machine

Matrix Combination(const std::vector<Matrix>& grams, const Vector& weights) {
  Matrix sum = Matrix::Zero(grams[0].rows(), grams[0].cols());
  for (size_t k = 0; k < grams.size(); ++k) {
    sum += weights(static_cast<Index>(k)) * grams[k];
  }
  return sum;
}

// The machine of fixed weights by the learner of one kernel, whose weight is 1.
struct ExactMachine {
  double optimum = 0;
  double linear = 0;
  Vector energies;
};
ExactMachine SolveMachine(const RandomKernels& given, const Vector& weights, double C) {
  const Fit fit = MustTrain(GroupedProblem({Combination(given.grams, weights)}, {0}, given.targets),
                            {{"C", C}}, kExact);
  const Vector dual = fit.point.witness.FindArray("lower_dual")->col(0);
  return {fit.certificate.dual, given.targets.dot(dual), EnergiesOf(given.grams, dual)};
}

Vector Next(WeightMethod& method, const Vector& weights, const ExactMachine& machine) {
  PointBounds bounds;
  bounds.primal = machine.optimum;
  bounds.dual = machine.linear - 0.5 * machine.energies.maxCoeff();
  return method.Next({weights, machine.energies, bounds, bounds.primal - bounds.dual,
                      machine.optimum, machine.optimum, machine.linear},
                     1e-6);
}

MixedNorm OneGroup(const RandomKernels& given) {
  return MixedNorm({std::vector<Index>(given.grams.size(), 0), 1}, 0);
}

TEST(MixedNormDescentTest, TheClosedFormOfOneGroupNeverRaisesTheOptimum) {
  const RandomKernels given = MakeRandomKernels(40, 3, {0.25, 1, 4, 16}, 5);
  const MixedNorm norm = OneGroup(given);
  ClosedFormMethod method(norm, 0.5);
  Vector weights = norm.Uniform();
  double last = kInfinity;
  for (int step = 0; step < 40; ++step) {
    const ExactMachine machine = SolveMachine(given, weights, 50);
    EXPECT_LE(machine.optimum, last * (1 + 2 * kExact)) << "step " << step;
    last = machine.optimum;
    weights = Next(method, weights, machine);
    EXPECT_NEAR(weights.sum(), 1, 1e-12);
  }
}

// Of the state of a method, whose fields are in the order of reduced_gradient.h.
struct SearchPoint {
  Vector weights;
  double optimum;
};
SearchPoint PointOf(const ReducedGradientMethod& method) {
  ByteWriter writer;
  method.Save(writer);
  const std::string bytes = std::move(writer).Take();
  ByteReader reader(bytes);
  reader.ReadUint8();
  reader.ReadDouble();
  SearchPoint point;
  point.weights = reader.ReadVector();
  point.optimum = reader.ReadDouble();
  return point;
}

TEST(MixedNormDescentTest, PointsOfSimpleMklNeverRaiseTheOptimum) {
  const RandomKernels given = MakeRandomKernels(30, 2, {0.25, 1, 4, 16}, 6);
  ReducedGradientMethod method(static_cast<Index>(given.grams.size()));
  Vector weights = OneGroup(given).Uniform();
  SearchPoint last{weights, kInfinity};
  int moves = 0;
  for (int machine = 0; machine < 120; ++machine) {
    weights = Next(method, weights, SolveMachine(given, weights, 50));
    const SearchPoint point = PointOf(method);
    EXPECT_LE(point.optimum, last.optimum * (1 + 2 * kExact)) << "machine " << machine;
    EXPECT_NEAR(point.weights.sum(), 1, 1e-12);
    if (point.weights != last.weights) {
      const double optimum = SolveMachine(given, point.weights, 50).optimum;
      EXPECT_NEAR(point.optimum, optimum, 2 * kExact * optimum) << "machine " << machine;
      ++moves;
    }
    last = point;
  }
  EXPECT_GE(moves, 3);
}

// The gap of the problem with the kernels that have a weight in `weights` or in `others` alone.
double RestrictedGap(const MixedNorm& norm, const std::vector<Matrix>& grams, const SvmProblem& svm,
                     const MklState& state, const PointBounds& bounds, const Vector& others) {
  const Vector& a = state.dual;
  const Vector energies = EnergiesOf(grams, a);
  const Vector in_use =
      (state.weights.array() > 0 || others.array() > 0).select(energies.array(), 0.0);
  const double linear = svm.targets.dot(a);
  const double squared = norm.Support(in_use);
  double largest = kInfinity;
  for (Index i = 0; i < a.size(); ++i) {
    largest = a(i) != 0 ? std::min(largest, svm.costs(i) / std::abs(a(i))) : largest;
  }
  const double scale = std::min(linear / squared, largest);
  const Vector function = bounds.function_scale * a;
  const Vector scores = (Combination(grams, state.weights) * function).array() + bounds.bias;
  const Vector losses = (1 - svm.targets.array() * scores.array()).cwiseMax(0.0);
  const Vector norms = state.weights.array() * EnergiesOf(grams, function).array().sqrt();
  const double primal = norm.HalfSquaredNorm(norms) + svm.costs.dot(losses);
  return (primal - scale * linear + 0.5 * scale * scale * squared) / primal;
}

TEST(MixedNormDescentTest, AcceptedStepsOfNewtonLowerTheGapOfTheKernelsInUse) {
  for (const int groups : {2, 3, 5}) {
    const RandomKernels given =
        MakeRandomKernels(50, groups, {0.1, 0.25, 0.5, 1, 2, 4, 8, 16}, 20 + groups);
    const TrainingProblem problem = GroupedProblem(given.grams, given.groups, given.targets);
    const std::vector<Index> group_of(given.groups.begin(), given.groups.end());
    const MixedNorm norm({group_of, groups}, 1e-8, 1e-7);
    const SvmProblem svm{*MakeLoss(LossKind::kHinge), given.targets,
                         Vector::Constant(given.targets.size(), 50.0)};
    RunContext context;
    const std::unique_ptr<KernelFamily> family = *MakeExactKernelFamily(
        problem.tasks[0].inputs, problem.tasks[0].rows, problem.kernels, context);
    MklState state;
    state.dual = Vector::Zero(given.targets.size());
    MklLoop loop(norm, svm, {}, state);
    loop.Begin(norm.Uniform(), 0.1, 1e-7);
    loop.SetKernels(family.get());
    int accepted = 0;
    for (int machine = 0; machine < 60 && state.best.gap > 1e-7; ++machine) {
      absl::StatusOr<MklProgress> progress = MklProgress::kSolving;
      while (progress.ok() && *progress == MklProgress::kSolving) {
        progress = loop.Solve(context);
      }
      ASSERT_TRUE(progress.ok()) << progress.status();
      const MklState solved = state;
      const PointBounds bounds = loop.bounds();
      ASSERT_EQ(loop.MoveWeights(1e-7, context), absl::OkStatus());
      const bool guarded = solved.last.newton && std::isfinite(solved.last.upper);
      if (!guarded || state.last.weights != solved.weights) {
        continue;
      }
      // The step that led to the machine was kept.
      const double now = RestrictedGap(norm, given.grams, svm, solved, bounds, solved.last.weights);
      EXPECT_LE(now, solved.last.upper * (1 + 1e-6) + 1e-12) << "machine " << machine;
      ++accepted;
    }
    EXPECT_LE(state.best.gap, 1e-7) << groups;
    EXPECT_GE(accepted, 2) << groups;
  }
}

// With fixed weights of groups the problem is that of one group whose kernels are the sums
// sum_j K_{k_j} / gamma_j over all choices of a kernel k_j of each group.
TEST(MixedNormDescentTest, ExactInnerSolutionsNeverLowerTheDualOfTheWhole) {
  constexpr double kCost = 50;
  const RandomKernels given = MakeRandomKernels(30, 2, {0.25, 1, 4}, 9);
  const double optimum =
      MustTrain(GroupedProblem(given.grams, given.groups, given.targets), {{"C", kCost}}, 1e-8)
          .objective();
  Vector gamma{{0.9, 0.1}};
  double last = -kInfinity;
  for (int outer = 0; outer < 12; ++outer) {
    std::vector<Matrix> choices;
    for (size_t first = 0; first < 3; ++first) {
      for (size_t second = 3; second < 6; ++second) {
        choices.push_back(given.grams[first] / gamma(0) + given.grams[second] / gamma(1));
      }
    }
    const Fit inner = MustTrain(GroupedProblem(choices, std::vector<int>(9, 0), given.targets),
                                {{"C", kCost}}, kExact);
    const Vector dual = inner.point.witness.FindArray("lower_dual")->col(0);
    const Vector energies = EnergiesOf(given.grams, dual);
    const Vector roots{
        {std::sqrt(energies.head(3).maxCoeff()), std::sqrt(energies.tail(3).maxCoeff())}};
    const double value = given.targets.dot(dual) - 0.5 * roots.sum() * roots.sum();
    EXPECT_GE(value, last * (1 - 1e-6)) << "step " << outer;
    last = value;
    gamma = roots / roots.sum();
  }
  EXPECT_NEAR(last, optimum, 1e-4 * optimum);
}

}  // namespace
}  // namespace mercer::mixed_norm_mkl
