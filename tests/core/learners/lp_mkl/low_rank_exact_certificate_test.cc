// How far a solution with kernels of low rank is from the one with the kernels themselves.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/training/run/verification.h"
#include "tests/core/learners/lp_mkl/low_rank_problems.h"

namespace mercer::lp_mkl {
namespace {

const std::vector<double> kCertifiedWidths = {0.5, 1.0, 2.0};

TrainingProblem CloudProblem() {
  const Cloud cloud = OverlappingClouds(90, 3, 8);
  return GaussianProblem(cloud.x, cloud.labels, kCertifiedWidths);
}

struct Measured {
  Fit fit;
  std::vector<Metric> metrics;
};

Measured TrainAndMeasure(const TrainingProblem& problem, OptionValues options, int64_t landmarks,
                         bool exact_certificate = true) {
  options = OnLandmarks(landmarks, std::move(options));
  options["exact_certificate"] = exact_certificate;
  Measured measured{MustTrain(problem, options, 1e-6), {}};
  RunContext context;
  const auto verified = VerifyFunction(Entry(), options, problem, measured.fit.point.function,
                                       measured.fit.point.witness, context);
  EXPECT_TRUE(verified.ok()) << verified.status();
  measured.metrics = verified.ok() ? verified->metrics : std::vector<Metric>();
  return measured;
}

// NaN where there is none of that name.
double Find(const Measured& measured, const std::string& name) {
  for (const Metric& metric : measured.metrics) {
    if (metric.name == name) {
      return metric.value;
    }
  }
  return std::nan("");
}

// |f - g| of f = sum_k a(k) K_k u, g = sum_k b(k) K_k v in the norm (sum_k |f_k|^r)^(1/r).
double Distance(const std::vector<Matrix>& grams, double p, const Fit& f, const Fit& g) {
  const double r = std::isinf(p) ? 2.0 : 2 * p / (p + 1);
  double sum = 0;
  for (size_t k = 0; k < grams.size(); ++k) {
    const auto i = static_cast<Index>(k);
    const Vector difference = f.weights()(i) * f.dual() - g.weights()(i) * g.dual();
    sum += std::pow(std::max(0.0, difference.dot(grams[k] * difference)), r / 2);
  }
  return std::pow(sum, 1 / r);
}

std::vector<Matrix> Grams(const TrainingProblem& problem) {
  const RowMatrix x = problem.tasks[0].inputs->blocks[0].values.view();
  std::vector<Matrix> grams;
  for (const double width : kCertifiedWidths) {
    grams.push_back(GaussianGram(x, x, width));
  }
  return grams;
}

TEST(LowRankExactCertificateTest, TheDistanceToTheExactSolutionIsWithinItsBound) {
  const TrainingProblem problem = CloudProblem();
  const std::vector<Matrix> grams = Grams(problem);
  for (const double p : {1.1, 2.0, kInfinity}) {
    for (const double C : {0.1, 10.0}) {
      const OptionValues options = {{"p", p}, {"C", C}};
      const Fit exact = MustTrain(problem, options, 1e-10);
      const Fit nothing = [&] {
        Fit zero = exact;
        zero.point.witness.tasks[0].dual.setZero();
        return zero;
      }();
      for (const int64_t landmarks : {4, 15, 40}) {
        const Measured measured = TrainAndMeasure(problem, options, landmarks);
        const std::string what = "p " + std::to_string(p) + ", C " + std::to_string(C) + ", " +
                                 std::to_string(landmarks) + " landmarks";
        const double relative =
            Distance(grams, p, measured.fit, exact) / Distance(grams, p, measured.fit, nothing);
        // The exact solution itself is known to a gap of 1e-10 only.
        EXPECT_LE(relative, Find(measured, "exact_kernels.relative_distance") + 1e-4) << what;
        EXPECT_GE(Find(measured, "exact_kernels.relative_gap"), -1e-12) << what;
      }
    }
  }
}

TEST(LowRankExactCertificateTest, BoundsAreThoseOfTheExactProblem) {
  const TrainingProblem problem = CloudProblem();
  const OptionValues options = {{"p", 2.0}, {"C", 1.0}};
  const Measured measured = TrainAndMeasure(problem, options, 20);
  RunContext context;
  const auto exact = VerifyWitness(Entry(), options, problem, measured.fit.point.witness, context);
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_EQ(Find(measured, "exact_kernels.relative_gap"), exact->accuracy);
  const Fit optimum = MustTrain(problem, options, 1e-8);
  EXPECT_LE(exact->dual, optimum.certificate.primal);
  EXPECT_GE(exact->primal, optimum.certificate.dual);
}

// The bound divides by r - 1 = (p - 1) / (p + 1).
TEST(LowRankExactCertificateTest, TheBoundOfTheDistanceKeepsItsDigitsNextToOne) {
  const TrainingProblem problem = CloudProblem();
  const std::vector<Matrix> grams = Grams(problem);
  for (const double above_one : {0x1p-52, 0x1p-46, 0x1p-20, 1.0}) {
    const double p = 1.0 + above_one;
    const OptionValues options = {{"p", p}, {"C", 1.0}};
    const Measured measured = TrainAndMeasure(problem, options, 10);
    RunContext context;
    const auto exact =
        VerifyWitness(Entry(), options, problem, measured.fit.point.witness, context);
    ASSERT_TRUE(exact.ok()) << exact.status();
    Fit nothing = measured.fit;
    nothing.point.witness.tasks[0].dual.setZero();
    const double size = Distance(grams, p, measured.fit, nothing);
    const double bound = std::sqrt(2 * exact->gap() / (above_one / (2 + above_one))) / size;
    EXPECT_NEAR(Find(measured, "exact_kernels.relative_distance"), bound, 1e-6 * bound)
        << above_one;
  }
}

TEST(LowRankExactCertificateTest, MoreLandmarksComeCloser) {
  const TrainingProblem problem = CloudProblem();
  double before = kInfinity;
  for (const int64_t landmarks : {5, 20, 45, 90}) {
    const Measured measured = TrainAndMeasure(problem, {{"C", 1.0}}, landmarks);
    const double gap = Find(measured, "exact_kernels.relative_gap");
    EXPECT_LT(gap, before) << landmarks;
    before = gap;
    if (landmarks == 90) {
      EXPECT_LT(gap, 1e-5);
      EXPECT_LT(Find(measured, "exact_kernels.value_difference"), 1e-4);
    }
  }
}

TEST(LowRankExactCertificateTest, RankAndDroppedShareAreKnownWithoutIt) {
  const TrainingProblem problem = CloudProblem();
  // At which nothing more may be left out of kernels that the landmarks represent badly.
  const OptionValues options = {{"compression_tolerance", 1e-13}};
  const Measured measured = TrainAndMeasure(problem, options, 20, false);
  EXPECT_GE(Find(measured, "low_rank.joint_rank"), 20);
  EXPECT_LE(Find(measured, "low_rank.joint_rank"), 60);
  EXPECT_LE(Find(measured, "low_rank.dropped_share"), 1e-8);
  EXPECT_TRUE(std::isnan(Find(measured, "exact_kernels.relative_gap")));
  EXPECT_EQ(measured.metrics.size(), 2u);
}

TEST(LowRankExactCertificateTest, ItsPassOverAllPairsIsInTheEstimateOfWork) {
  ProblemShape shape;
  shape.rows = 20'000;
  shape.columns = 10;
  shape.kernels = 5;
  OptionValues options = OnLandmarks(100, {});
  const LearnerWork without = *Entry().estimate_work(options, shape);
  options["exact_certificate"] = true;
  const LearnerWork with = *Entry().estimate_work(options, shape);
  EXPECT_GE(with.verification[WorkKind::kKernelValues],
            without.verification[WorkKind::kKernelValues] + 5 * 0.5 * 20'000.0 * 20'000.0);
  EXPECT_EQ(with.training[WorkKind::kKernelValues], without.training[WorkKind::kKernelValues]);
}

}  // namespace
}  // namespace mercer::lp_mkl
