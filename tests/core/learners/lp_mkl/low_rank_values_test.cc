// Values near the ends of the range of numbers: an error names the kernel, or the run ends with bounds that hold.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "tests/core/learners/lp_mkl/low_rank_problems.h"

namespace mercer::lp_mkl {
namespace {

constexpr double kValuesGap = 1e-4;

void ExpectNamesKernel(const absl::StatusOr<Fit>& fit, const std::string& kernel,
                       const std::string& what) {
  ASSERT_TRUE(absl::IsInvalidArgument(fit.status())) << what << ": " << fit.status();
  EXPECT_EQ(GetReason(fit.status()), "NOT_PSD") << what;
  EXPECT_EQ(GetErrorMetadata(fit.status()), (ErrorMetadata{{"kernel", kernel}}))
      << what << ": " << fit.status();
}

TEST(LowRankValuesTest, KernelThatOverflowsIsNamed) {
  const Cloud cloud = OverlappingClouds(120, 2, 3);
  for (const RowMatrix& x : {RowMatrix(1e200 * cloud.x), RowMatrix(-1e308 * cloud.x.cwiseSign())}) {
    const TrainingProblem problem =
        ProblemOfTypes(x, cloud.labels, {KernelType::kGaussian, KernelType::kLinear});
    for (const std::string& selection : LandmarkSelections()) {
      ExpectNamesKernel(
          Train(problem, SelectedBy(selection, OnLandmarks(20, {{"C", 1.0}})), kValuesGap),
          "kernels[1]", selection);
    }
  }
}

// Among 4500 rows the landmarks and the rows that a basis is found from may all be harmless, and some kernels stand for others.
TEST(LowRankValuesTest, OneRowAmongManyThatOverflowsIsNamed) {
  for (const Index rows : {300, 4500}) {
    Cloud cloud = OverlappingClouds(rows, 2, 3);
    for (const Index row : {Index{0}, rows / 2, rows - 1}) {
      RowMatrix x = cloud.x;
      x.row(row).setConstant(1e200);
      TrainingProblem problem = GaussianProblem(x, cloud.labels, {1, 1.1, 1.2, 1.3, 1.4, 1.5});
      problem.kernels.emplace_back().type = KernelType::kLinear;
      ExpectNamesKernel(Train(problem, OnLandmarks(5, {{"C", 1.0}}), kValuesGap), "kernels[6]",
                        std::to_string(rows) + ", " + std::to_string(row));
    }
  }
}

// A kernel of the smallest numbers is one that is zero: it takes nothing from the others.
TEST(LowRankValuesTest, TinyKernelTakesNothingFromOthers) {
  const Cloud cloud = OverlappingClouds(150, 2, 3);
  const OptionValues options = OnLandmarks(30, {{"C", 10.0}, {"p", 1.0}});
  const double expected =
      MustTrain(GaussianProblem(cloud.x, cloud.labels, {1.0}), options, 1e-6).certificate.primal;
  for (const double scale : {1e-140, 1e-150, 1e-155, 1e-157, 1e-160, 1e-170}) {
    TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {1.0});
    PreparedData data = *problem.tasks[0].inputs;
    PreparedBlock tiny = data.blocks[0];
    tiny.name = "tiny";
    tiny.values = SharedMatrix(RowMatrix(scale * cloud.x));
    problem.kernels[0].block = data.blocks[0].name;
    data.blocks.push_back(tiny);
    problem.tasks[0].inputs = std::make_shared<const PreparedData>(std::move(data));
    KernelSpec& linear = problem.kernels.emplace_back();
    linear.type = KernelType::kLinear;
    linear.block = "tiny";
    const Fit fit = MustTrain(problem, options, 1e-6);
    ExpectHonest(fit, problem, 1e-6, std::to_string(std::log10(scale)));
    EXPECT_NEAR(fit.certificate.primal, expected, 1e-5 * expected) << scale;
  }
}

TEST(LowRankValuesTest, HugeFiniteKernelsAreRefusedOrEndHonestly) {
  const Cloud cloud = OverlappingClouds(60, 2, 3);
  for (const double scale : {1e20, 1e100, 1e153}) {
    for (const double C : {1e-6, 1e8}) {
      const TrainingProblem problem = ProblemOfTypes(scale * cloud.x, cloud.labels,
                                                     {KernelType::kLinear, KernelType::kGaussian});
      const absl::StatusOr<Fit> fit = Train(problem, OnLandmarks(20, {{"C", C}}), kValuesGap);
      const std::string what = std::to_string(std::log10(scale)) + ", C " + std::to_string(C);
      if (fit.ok()) {
        ExpectHonest(*fit, problem, kValuesGap, what);
      } else {
        EXPECT_TRUE(absl::IsInvalidArgument(fit.status())) << what << ": " << fit.status();
      }
    }
  }
}

TEST(LowRankValuesTest, ColumnsOfDifferentScalesEndHonestly) {
  const Cloud cloud = OverlappingClouds(60, 3, 3);
  RowMatrix x = cloud.x;
  x.col(0) *= 1e-8;
  x.col(2) *= 1e8;
  const TrainingProblem problem = ProblemOfTypes(x, cloud.labels,
                                                 {KernelType::kLinear, KernelType::kPolynomial,
                                                  KernelType::kGaussian, KernelType::kLaplacian});
  for (const std::string& selection : LandmarkSelections()) {
    for (const double C : {1e-3, 1.0}) {
      const Fit fit =
          MustTrain(problem, SelectedBy(selection, OnLandmarks(20, {{"C", C}})), kValuesGap);
      ExpectHonest(fit, problem, kValuesGap, selection + ", " + std::to_string(C));
    }
  }
}

// One option at its largest keeps every kernel: of each at least its largest eigenvalue.
TEST(LowRankValuesTest, LargestEigenvalueThresholdStillLearns) {
  const Cloud cloud = OverlappingClouds(400, 2, 3);
  const TrainingProblem problem =
      ProblemOfTypes(cloud.x, cloud.labels, {KernelType::kGaussian, KernelType::kLinear});
  const OptionValues options = OnLandmarks(150, {{"C", 10.0}, {"eigenvalue_threshold", 1e-2}});
  const Fit fit = MustTrain(problem, options, kValuesGap);
  ExpectHonest(fit, problem, kValuesGap, "threshold");
  EXPECT_LT(fit.certificate.primal, 0.95 * OptimumOfConstants(cloud.labels, 10.0));
}

}  // namespace
}  // namespace mercer::lp_mkl
