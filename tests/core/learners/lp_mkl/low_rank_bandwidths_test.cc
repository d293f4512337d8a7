// Bandwidths at which a kernel is the identity, or a constant: the optima are known in closed form.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/learners/lp_mkl/low_rank_problems.h"

namespace mercer::lp_mkl {
namespace {

constexpr double kBandwidthGap = 1e-5;

// Rows no two of which are near, half of each class.
TrainingProblem BalancedProblem(KernelType type, const std::vector<double>& bandwidths) {
  Cloud cloud = OverlappingClouds(60, 3, 3);
  for (Index i = 0; i < cloud.labels.size(); ++i) {
    cloud.labels(i) = i % 2 == 0 ? 1.0 : -1.0;
  }
  TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, bandwidths);
  for (KernelSpec& kernel : problem.kernels) {
    kernel.type = type;
  }
  return problem;
}

// Of `scale` times the identity on `rows` rows, half of each class: a_i = min(C, 1 / scale).
double OptimumOfIdentity(double rows, double scale, double cost) {
  const double a = std::min(cost, 1 / scale);
  return rows * (a - 0.5 * scale * a * a);
}

const std::vector<KernelType>& TypesWithBandwidth() {
  static const auto& types = *new std::vector<KernelType>{
      KernelType::kGaussian, KernelType::kLaplacian, KernelType::kEuclidean};
  return types;
}

constexpr double kSmallest = std::numeric_limits<double>::min();
constexpr double kLargest = std::numeric_limits<double>::max();

TEST(LowRankBandwidthsTest, NarrowKernelsAreTheIdentity) {
  for (const KernelType type : TypesWithBandwidth()) {
    for (const double bandwidth : {kSmallest, 1e-200, 1e-9}) {
      for (const double C : {0.1, 10.0}) {
        const TrainingProblem one = BalancedProblem(type, {bandwidth});
        const TrainingProblem two = BalancedProblem(type, {bandwidth, 2 * bandwidth});
        const std::string what = KernelName(one.kernels[0]);
        const OptionValues options = OnLandmarks(60, {{"C", C}, {"p", 2.0}});
        const double of_one = OptimumOfIdentity(60, 1, C);
        EXPECT_NEAR(MustTrain(one, options, kBandwidthGap).certificate.primal, of_one,
                    1e-4 * of_one)
            << what;
        // Weights of 1 / sqrt(2) each.
        const double of_two = OptimumOfIdentity(60, std::sqrt(2.0), C);
        EXPECT_NEAR(MustTrain(two, options, kBandwidthGap).certificate.primal, of_two,
                    1e-4 * of_two)
            << what;
      }
    }
  }
}

TEST(LowRankBandwidthsTest, WideKernelsAreAConstant) {
  for (const KernelType type : TypesWithBandwidth()) {
    for (const double bandwidth : {1e18, 1e200, kLargest}) {
      const TrainingProblem problem = BalancedProblem(type, {bandwidth, 0.5 * bandwidth});
      for (const std::string& selection : LandmarkSelections()) {
        const std::string what = KernelName(problem.kernels[0]) + ", " + selection;
        const Fit fit =
            MustTrain(problem, SelectedBy(selection, OnLandmarks(20, {{"C", 5.0}})), kBandwidthGap);
        ExpectHonest(fit, problem, kBandwidthGap, what);
        EXPECT_NEAR(fit.certificate.primal, 300.0, 0.03) << what;
      }
    }
  }
}

// A constant takes nothing from the identity: its energy is that of the bias, 0, and the norm of the function that of the identity alone.
TEST(LowRankBandwidthsTest, IdentityBesideAConstantHasItsOwnOptimum) {
  for (const double p : {1.0, 2.0}) {
    const TrainingProblem problem = BalancedProblem(KernelType::kGaussian, {1e-9, 1e18});
    const Fit fit = MustTrain(problem, OnLandmarks(60, {{"C", 5.0}, {"p", p}}), kBandwidthGap);
    const double expected = OptimumOfIdentity(60, 1, 5.0);
    EXPECT_NEAR(fit.certificate.primal, expected, 1e-4 * expected) << p;
  }
}

// Only the landmarks' own rows have a value then, and none for centres that are no rows.
TEST(LowRankBandwidthsTest, NarrowKernelsOnFewLandmarksEndHonestly) {
  for (const std::string& selection : LandmarkSelections()) {
    for (const std::vector<double>& bandwidths :
         {std::vector<double>{1e-9}, std::vector<double>{1e-9, 1e-3, 1.0, 1e18}}) {
      const TrainingProblem problem = BalancedProblem(KernelType::kGaussian, bandwidths);
      const std::string what = selection + ", " + std::to_string(bandwidths.size());
      const Fit fit =
          MustTrain(problem, SelectedBy(selection, OnLandmarks(20, {{"C", 5.0}})), kBandwidthGap);
      ExpectHonest(fit, problem, kBandwidthGap, what);
      EXPECT_LE(fit.certificate.primal, 300.0 * (1 + 1e-9)) << what;
    }
  }
}

}  // namespace
}  // namespace mercer::lp_mkl
