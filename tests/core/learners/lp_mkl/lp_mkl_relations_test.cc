// lp_mkl against other ways to the same solution: an independent dense solver, the plain support
// vector machine, closed forms of the weights, the penalised form, other codings. Items of
// docs/mathematics/lp_mkl.md, section 10.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/learners/svm/svm.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/svm/smo.h"
#include "core/training/run/composite_learner.h"
#include "tests/core/learners/lp_mkl/lp_mkl_problems.h"
#include "tests/core/learners/lp_mkl/lp_mkl_reference.h"
#include "tests/support/learner_runs.h"

namespace mercer::lp_mkl {
namespace {

const std::vector<double> kThreeWidths = {0.5, 1.5, 5.0};

std::vector<Matrix> ThreeGrams(const RowMatrix& x) {
  std::vector<Matrix> grams;
  for (const double width : kThreeWidths) {
    grams.push_back(GaussianGram(x, x, width));
  }
  return grams;
}

Vector SmoothTargets(const RowMatrix& x) {
  return 3.0 * x.col(0).array().sin() + x.col(1).array() * 0.7 +
         0.2 * (9.0 * x.col(0)).array().cos();
}

// The dual of the learner and that of the reference have the same value, and the same weights.
TEST(LpMklRelationsTest, RegressionAgreesWithProjectedGradientOnTheDual) {
  const Cloud cloud = OverlappingClouds(18, 2, 31);
  const Vector targets = SmoothTargets(cloud.x);
  for (const double p : {1.2, 2.0, 5.0, kInfinity}) {
    for (const double cost : {0.5, 20.0}) {
      for (const double epsilon : {0.0, 0.3}) {
        const ReferenceSolution reference =
            SolveReference({ThreeGrams(cloud.x), targets, p, cost, epsilon});
        TrainingProblem problem = GaussianProblem(cloud.x, targets, kThreeWidths);
        problem.kind = TargetKind::kRegression;
        const Fit fit = MustTrain(problem, {{"p", p}, {"C", cost}, {"epsilon", epsilon}}, 1e-8);
        SCOPED_TRACE(testing::Message() << "p = " << p << " C = " << cost << " e = " << epsilon);
        EXPECT_NEAR(fit.certificate.primal, reference.value, 1e-6 * reference.value);
        EXPECT_NEAR(fit.certificate.dual, reference.value, 1e-6 * reference.value);
        const Vector weights =
            ReferenceWeights({ThreeGrams(cloud.x), targets, p, cost, epsilon}, reference.dual);
        EXPECT_LE((fit.weights() - weights).lpNorm<Eigen::Infinity>(), 1e-2)
            << fit.weights().transpose() << " instead of " << weights.transpose();
      }
    }
  }
}

// p = inf weighs every kernel 1, and a single kernel has nothing to share: both are the learner
// `svm`.
TEST(LpMklRelationsTest, InfinitePAndASingleKernelAreTheLearnerSvm) {
  for (const TargetKind kind : {TargetKind::kClassification, TargetKind::kRegression}) {
    for (const size_t kernels : {size_t{1}, kThreeWidths.size()}) {
      TrainingProblem problem = ToyProblem(
          kind, 60, 2, {kThreeWidths.begin(), kThreeWidths.begin() + static_cast<int>(kernels)});
      problem.relative_gap = 1e-8;
      const absl::StatusOr<TrainingOutcome> plain = RunToGap(svm::Entry(), {{"C", 3.0}}, problem);
      ASSERT_TRUE(plain.ok()) << plain.status();
      for (const double p : {1.0, 2.0, kInfinity}) {
        if (kernels > 1 && !std::isinf(p)) {
          continue;
        }
        const Fit fit = MustTrain(problem, {{"p", p}, {"C", 3.0}}, 1e-8);
        EXPECT_EQ(fit.weights(), Vector::Ones(static_cast<Index>(kernels))) << "p = " << p;
        EXPECT_NEAR(fit.certificate.primal, plain->certificate.primal,
                    1e-7 * plain->certificate.primal);
        const Matrix gram = SumOfGaussians(problem);
        const Vector difference = gram * (fit.dual() - plain->point.witness.tasks[0].dual.col(0));
        EXPECT_LE(difference.lpNorm<Eigen::Infinity>(), 3e-3) << "p = " << p;
        EXPECT_NEAR(fit.bias(), plain->point.function.bias(0), 3e-3) << "p = " << p;
      }
    }
  }
}

TEST(LpMklRelationsTest, PermutedKernelsPermuteTheWeights) {
  const Cloud cloud = OverlappingClouds(60, 2, 32);
  const std::vector<size_t> order = {2, 0, 1};
  std::vector<double> permuted;
  for (const size_t k : order) {
    permuted.push_back(kThreeWidths[k]);
  }
  for (const double p : {1.0, 1.5, 4.0}) {
    const Fit fit = MustTrain(GaussianProblem(cloud.x, cloud.labels, kThreeWidths),
                              {{"p", p}, {"C", 5.0}}, 1e-9);
    const Fit other =
        MustTrain(GaussianProblem(cloud.x, cloud.labels, permuted), {{"p", p}, {"C", 5.0}}, 1e-9);
    EXPECT_NEAR(fit.certificate.primal, other.certificate.primal, 1e-8 * fit.certificate.primal);
    for (size_t k = 0; k < order.size(); ++k) {
      EXPECT_NEAR(other.weights()(static_cast<Index>(k)),
                  fit.weights()(static_cast<Index>(order[k])), 1e-3)
          << "p = " << p << " kernel " << k;
    }
  }
}

// A kernel given twice: the two share what it would have alone, and those beside it keep theirs (p
// = 1: only the sum is determined).
TEST(LpMklRelationsTest, IdenticalKernelsShareTheirWeight) {
  const Cloud cloud = OverlappingClouds(60, 2, 33);
  for (const double p : {1.3, 2.0}) {
    const Fit fit = MustTrain(GaussianProblem(cloud.x, cloud.labels, {0.5, 1.5, 1.5, 5.0}),
                              {{"p", p}, {"C", 5.0}}, 1e-9);
    EXPECT_NEAR(fit.weights()(1), fit.weights()(2), 1e-6) << "p = " << p;
    EXPECT_GT(fit.weights()(1), 0.01) << "p = " << p;
  }
  const Fit once = MustTrain(GaussianProblem(cloud.x, cloud.labels, {0.5, 1.5, 5.0}),
                             {{"p", 1.0}, {"C", 5.0}}, 1e-9);
  const Fit twice = MustTrain(GaussianProblem(cloud.x, cloud.labels, {0.5, 1.5, 1.5, 5.0}),
                              {{"p", 1.0}, {"C", 5.0}}, 1e-9);
  EXPECT_NEAR(once.certificate.primal, twice.certificate.primal, 1e-8 * once.certificate.primal);
  EXPECT_NEAR(twice.weights()(1) + twice.weights()(2), once.weights()(1), 1e-3);
}

// Item 5: with exact SVMs the closed form of the weights never raises the SVM's optimum.
TEST(LpMklRelationsTest, AlternationWithTheClosedFormNeverRaisesTheOptimum) {
  const Cloud cloud = OverlappingClouds(40, 2, 34);
  const std::vector<Matrix> grams = ThreeGrams(cloud.x);
  for (const double p : {1.0, 1.5, 3.0}) {
    Vector weights = UniformWeights(3, p);
    double previous = kInfinity;
    double first = 0;
    for (int round = 0; round < 25; ++round) {
      auto gram = std::make_shared<Matrix>(Matrix::Zero(40, 40));
      for (size_t k = 0; k < grams.size(); ++k) {
        *gram += weights(static_cast<Index>(k)) * grams[k];
      }
      const DenseKernelOperator kernel(gram);
      SmoOptions options;
      options.relative_gap = 1e-12;
      SmoSolver solver(kernel, options);
      RunContext context;
      const SvmProblem problem{*MakeLoss(LossKind::kHinge), cloud.labels,
                               Vector::Constant(40, 5.0)};
      ASSERT_TRUE(solver.Start(problem, {}, context).ok());
      ASSERT_TRUE(solver.Run(context).ok());
      const double optimum = solver.certificate().dual;
      EXPECT_LE(optimum, previous * (1 + 1e-11)) << "p = " << p << " round " << round;
      previous = optimum;
      first = round == 0 ? optimum : first;
      Vector norms(3);
      for (Index k = 0; k < 3; ++k) {
        norms(k) = weights(k) *
                   std::sqrt(solver.dual().dot(grams[static_cast<size_t>(k)] * solver.dual()));
      }
      weights = WeightsFromNorms(norms, p, weights);
      EXPECT_NEAR(LpNorm(weights, p), 1.0, 1e-12);
    }
    const Fit fit = MustTrain(GaussianProblem(cloud.x, cloud.labels, kThreeWidths),
                              {{"p", p}, {"C", 5.0}}, 1e-8);
    EXPECT_GE(previous, fit.certificate.dual * (1 - 1e-9)) << "p = " << p;
    EXPECT_LT(previous, first) << "p = " << p;
  }
}

// Item 9: the constrained solution for C' is, scaled, the solution of the penalised form with
// C = C' / tau and the lambda for which |d|_p = tau: its primal and dual value
// (docs/mathematics/lp_mkl.md, section 7) meet there.
TEST(LpMklRelationsTest, PenalisedAndConstrainedFormCoincide) {
  const Cloud cloud = OverlappingClouds(40, 2, 35);
  const std::vector<Matrix> grams = ThreeGrams(cloud.x);
  constexpr double kConstrainedCost = 4.0;
  for (const double p : {1.3, 2.0, 4.0}) {
    const Fit fit = MustTrain(GaussianProblem(cloud.x, cloud.labels, kThreeWidths),
                              {{"p", p}, {"C", kConstrainedCost}}, 1e-10);
    Vector values = Vector::Constant(40, fit.bias());
    Vector energies(3);
    for (Index k = 0; k < 3; ++k) {
      const Vector product = grams[static_cast<size_t>(k)] * fit.dual();
      energies(k) = fit.dual().dot(product);
      values += fit.weights()(k) * product;
    }
    const double risk = (1.0 - cloud.labels.array() * values.array()).max(0.0).sum();
    const Vector norms = fit.weights().array() * energies.array().sqrt();
    const double squared_norm = 2 * HalfSquaredBlockNorm(norms, p);
    for (const double tau : {0.4, 1.7}) {
      const double lambda = squared_norm / (2 * tau * tau * tau);
      const double cost = kConstrainedCost / tau;
      const Vector alpha = fit.dual() / tau;
      const double energy_norm = LpNorm(energies, DualExponent(p)) / (tau * tau);
      const double primal =
          1.5 * std::cbrt(lambda) * std::pow(squared_norm / 2, 2.0 / 3.0) + cost * risk;
      const double dual = cloud.labels.dot(alpha) - energy_norm * energy_norm / (8 * lambda);
      EXPECT_NEAR(primal, dual, 1e-7 * primal) << "p = " << p << " tau = " << tau;
    }
  }
}

// Item 10: for separable data the optimum no longer depends on a large C.
TEST(LpMklRelationsTest, OptimumOfSeparableDataIsConstantBeyondSomeCost) {
  Cloud cloud = OverlappingClouds(30, 2, 36);
  for (Index i = 0; i < 30; ++i) {
    cloud.x(i, 0) += 3.0 * cloud.labels(i);
  }
  for (const double p : {1.0, 2.0}) {
    std::vector<double> optima;
    for (const double cost : {1e3, 1e5, 1e7}) {
      const Fit fit = MustTrain(GaussianProblem(cloud.x, cloud.labels, kThreeWidths),
                                {{"p", p}, {"C", cost}}, 1e-8);
      optima.push_back(fit.certificate.dual);
      EXPECT_LT(fit.dual().lpNorm<Eigen::Infinity>(), cost) << "p = " << p;
    }
    EXPECT_NEAR(optima[1], optima[0], 1e-6 * optima[0]) << "p = " << p;
    EXPECT_NEAR(optima[2], optima[0], 1e-6 * optima[0]) << "p = " << p;
  }
}

// Item 11: one-vs-all of two classes is the binary problem and its mirror image.
TEST(LpMklRelationsTest, OneVsAllOfTwoClassesIsTheBinaryProblemTwice) {
  const Cloud cloud = OverlappingClouds(50, 2, 37);
  TrainingProblem binary = GaussianProblem(cloud.x, cloud.labels, kThreeWidths);
  binary.relative_gap = 1e-9;
  TrainingProblem both = binary;
  both.tasks[0].targets.resize(50, 2);
  both.tasks[0].targets << -cloud.labels, cloud.labels;
  const LearnerEntry entry = Entry();
  const OptionValues options = {{"C", 5.0}};
  const std::unique_ptr<Learner> composite = MakeCompositeLearner(entry, options);
  const absl::StatusOr<TrainingOutcome> pair = RunToGap(entry, options, *composite, both);
  ASSERT_TRUE(pair.ok()) << pair.status();
  const Fit fit = MustTrain(binary, options, 1e-9);
  TrainingProblem mirrored = binary;
  mirrored.tasks[0].targets = -binary.tasks[0].targets;
  const Fit mirror = MustTrain(mirrored, options, 1e-9);
  const std::vector<Witness>& parts = pair->point.witness.children;
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].tasks[0].dual.col(0), mirror.dual());
  EXPECT_EQ(pair->point.function.bias(0), mirror.bias());
  // The second output begins at the kernel weights of the first: the same optimum by another way.
  for (const Index output : {0, 1}) {
    const double sign = output == 0 ? -1 : 1;
    const Vector dual = parts[static_cast<size_t>(output)].tasks[0].dual.col(0);
    EXPECT_LE((dual - sign * fit.dual()).lpNorm<Eigen::Infinity>(), 1e-2) << output;
    EXPECT_NEAR(pair->point.function.bias(output), sign * fit.bias(), 1e-3) << output;
    const Vector weights = pair->point.summary.kernel_weights.col(output);
    EXPECT_LE((weights - fit.weights()).lpNorm<Eigen::Infinity>(), 1e-3) << output;
    const OutputBounds& bounds = pair->certificate.outputs[static_cast<size_t>(output)];
    EXPECT_NEAR(bounds.primal, fit.certificate.primal, 1e-8 * fit.certificate.primal) << output;
    EXPECT_LE(bounds.dual, fit.certificate.primal * (1 + 1e-12)) << output;
    EXPECT_GE(bounds.primal, fit.certificate.dual * (1 - 1e-12)) << output;
  }
}

}  // namespace
}  // namespace mercer::lp_mkl
