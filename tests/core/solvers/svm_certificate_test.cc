#include "core/solvers/svm/svm_certificate.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "tests/core/solvers/svm_test_problems.h"
#include "tests/support/counted_loss.h"

namespace mercer {
namespace {

struct Case {
  Matrix gram;
  SvmProblem problem;
};

Case MakeCase(LossKind kind, uint64_t seed) {
  const RowMatrix x = RandomFeatures(seed, 16, 2);
  const double epsilon = kind == LossKind::kEpsilonInsensitive ? 0.3 : 0.0;
  const auto loss = SharedLoss(kind, epsilon);
  return {GaussianGram(x, 0.5),
          {loss, loss->is_margin_loss() ? NoisyLabels(seed, x) : NoisyTargets(seed, x),
           Vector::Constant(16, 1.7)}};
}

double PrimalAt(const Case& task, const Vector& dual, const Vector& scores, double scale,
                double bias) {
  return 0.5 * scale * scale * dual.dot(scores) +
         task.problem.loss->TotalValue(task.problem.targets, task.problem.costs, scale * scores,
                                       scale * bias);
}

TEST(SvmCertificateTest, BoundsEncloseTheOptimumFromAnyDual) {
  for (const LossKind kind : {LossKind::kHinge, LossKind::kEpsilonInsensitive}) {
    Case task = MakeCase(kind, 31);
    const Vector optimum = SolveByPairSweeps(task.gram, task.problem);
    const double value =
        task.problem.loss->DualValue(task.problem.targets, task.problem.costs, optimum) -
        0.5 * optimum.dot(task.gram * optimum);
    RandomStream random(2, "svm-certificate-test");
    for (int trial = 0; trial < 50; ++trial) {
      Vector dual(16);
      for (Index i = 0; i < 16; ++i) {
        dual(i) = optimum(i) + 0.3 * random.Normal();
      }
      task.problem.loss->RepairDual(task.problem.targets, task.problem.costs, true, dual);
      const auto certificate = CertifySvm(*task.problem.loss, task.problem.targets,
                                          task.problem.costs, dual, task.gram * dual);
      ASSERT_TRUE(certificate.ok());
      EXPECT_GE(certificate->primal, value * (1 - 1e-10));
      EXPECT_LE(certificate->dual, value * (1 + 1e-10));
      EXPECT_LE(certificate->primal, certificate->unscaled_primal);
      EXPECT_GE(certificate->dual, certificate->unscaled_dual);
    }
  }
}

TEST(SvmCertificateTest, ClosesAtTheOptimum) {
  for (const LossKind kind : {LossKind::kHinge, LossKind::kEpsilonInsensitive}) {
    Case task = MakeCase(kind, 32);
    const Vector optimum = SolveByPairSweeps(task.gram, task.problem);
    const auto certificate = CertifySvm(*task.problem.loss, task.problem.targets,
                                        task.problem.costs, optimum, task.gram * optimum);
    ASSERT_TRUE(certificate.ok());
    EXPECT_LE(certificate->RelativeGap(), 1e-9);
    EXPECT_GE(certificate->RelativeGap(), -1e-12);
  }
}

TEST(SvmCertificateTest, ScalesBeatEveryOtherScale) {
  for (const LossKind kind : {LossKind::kHinge, LossKind::kEpsilonInsensitive}) {
    Case task = MakeCase(kind, 33);
    RandomStream random(3, "svm-certificate-test");
    for (int trial = 0; trial < 30; ++trial) {
      Vector dual(16);
      for (Index i = 0; i < 16; ++i) {
        dual(i) = (trial % 2 == 0 ? 0.1 : 2.0) * random.Normal();
      }
      task.problem.loss->RepairDual(task.problem.targets, task.problem.costs, true, dual);
      const Vector scores = task.gram * dual;
      const auto certificate =
          CertifySvm(*task.problem.loss, task.problem.targets, task.problem.costs, dual, scores);
      ASSERT_TRUE(certificate.ok());
      const double linear =
          task.problem.loss->DualValue(task.problem.targets, task.problem.costs, dual);
      for (double scale = 0; scale <= 20; scale += 0.01) {
        EXPECT_GE(PrimalAt(task, dual, scores, scale, certificate->bias.chosen),
                  certificate->primal * (1 - 1e-12))
            << scale;
        const Vector scaled = scale * dual;
        if (std::isfinite(
                task.problem.loss->DualValue(task.problem.targets, task.problem.costs, scaled))) {
          EXPECT_LE(scale * linear - 0.5 * scale * scale * dual.dot(scores),
                    certificate->dual + 1e-12)
              << scale;
        }
      }
      EXPECT_NEAR(certificate->primal,
                  PrimalAt(task, dual, scores, certificate->primal_scale, certificate->bias.chosen),
                  1e-12 * certificate->primal);
    }
  }
}

TEST(SvmCertificateTest, HugeCostNeedsTheScaledPrimal) {
  // Two samples solved to a relative error of 1e-6: at cost 1e6 the hinge term of the unscaled
  // function alone is about 1.
  const Matrix gram{{1.0, 0.0}, {0.0, 1.0}};
  const Vector dual{{1 - 1e-6, -(1 - 1e-6)}};
  const auto loss = SharedLoss(LossKind::kHinge);
  const auto certificate =
      CertifySvm(*loss, Vector{{1, -1}}, Vector::Constant(2, 1e6), dual, gram * dual);
  ASSERT_TRUE(certificate.ok());
  EXPECT_GT(certificate->unscaled_primal, 2.9);
  EXPECT_NEAR(certificate->primal, 1.0, 1e-12);
  EXPECT_NEAR(certificate->dual, 1.0, 1e-12);
}

TEST(SvmCertificateTest, RefusesWhatIsNotFeasibleOrNotFinite) {
  const auto loss = SharedLoss(LossKind::kHinge);
  const Vector targets{{1, -1}};
  const Vector costs = Vector::Ones(2);
  EXPECT_FALSE(CertifySvm(*loss, targets, costs, Vector{{2, -2}}, Vector::Zero(2)).ok());
  EXPECT_FALSE(CertifySvm(*loss, targets, costs, Vector{{1, -1}}, Vector{{kInfinity, 0}}).ok());
  EXPECT_FALSE(CertifySvm(*loss, targets, costs, Vector{{1}}, Vector::Zero(2)).ok());
}

TEST(SvmCertificateTest, ThePassOverTheBoxesOfManySamplesEndsSoonAfterACancellation) {
  constexpr Index kSamples = 3'000'000;
  constexpr Index kPiece = 1'000'000;
  Vector targets(kSamples);
  for (Index i = 0; i < kSamples; ++i) {
    targets(i) = i % 2 == 0 ? 1.0 : -1.0;
  }
  const Vector costs = Vector::Ones(kSamples);
  const Vector dual = 0.5 * targets;
  const RunContext context;
  const CountedHingeLoss loss(1, context.cancellation(), CountedHingeLoss::Calls::kBoxes);
  const auto certificate = CertifySvm(loss, targets, costs, dual, 0.25 * targets, true, context);
  EXPECT_TRUE(absl::IsCancelled(certificate.status())) << certificate.status();
  EXPECT_LE(loss.count(), kPiece);
}

}  // namespace
}  // namespace mercer
