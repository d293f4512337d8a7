// Rows and landmarks that leave little to tell apart: kernels of low rank have to give the optima that are known.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "tests/core/learners/lp_mkl/low_rank_problems.h"

namespace mercer::lp_mkl {
namespace {

constexpr double kRowsGap = 1e-5;

RowMatrix Stacked(const RowMatrix& upper, const RowMatrix& lower) {
  RowMatrix stacked(upper.rows() + lower.rows(), upper.cols());
  stacked << upper, lower;
  return stacked;
}

Vector JoinedLabels(const Vector& first, const Vector& second) {
  Vector joined(first.size() + second.size());
  joined << first, second;
  return joined;
}

void ExpectSameFit(const Fit& fit, const Fit& expected, const std::string& what) {
  EXPECT_EQ(fit.certificate.primal, expected.certificate.primal) << what;
  EXPECT_EQ(fit.certificate.dual, expected.certificate.dual) << what;
  EXPECT_EQ(fit.weights(), expected.weights()) << what;
  EXPECT_EQ(fit.dual(), expected.dual()) << what;
}

TEST(LowRankRowsTest, MoreLandmarksThanRowsAreAllRowsHoweverSelected) {
  const Cloud cloud = OverlappingClouds(50, 2, 3);
  const TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {0.5, 2.0});
  const Fit all = MustTrain(problem, OnLandmarks(50, {{"C", 10.0}}), kRowsGap);
  for (const std::string& selection : LandmarkSelections()) {
    for (const int64_t landmarks : {50, 51, 10'000}) {
      const OptionValues options = SelectedBy(selection, OnLandmarks(landmarks, {{"C", 10.0}}));
      const std::string what = selection + ", " + std::to_string(landmarks);
      const Fit fit = MustTrain(problem, options, kRowsGap);
      if (selection == "factors") {  // of the same kernels in another order
        EXPECT_NEAR(fit.certificate.primal, all.certificate.primal,
                    2 * kRowsGap * all.certificate.primal)
            << what;
      } else {
        ExpectSameFit(fit, all, what);
      }
    }
  }
}

TEST(LowRankRowsTest, RankZeroIsAsManyAsThereAreLandmarks) {
  const Cloud cloud = OverlappingClouds(80, 2, 3);
  const TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {0.5, 2.0});
  const OptionValues options = OnLandmarks(20, {{"C", 10.0}});
  const Fit whole = MustTrain(problem, options, kRowsGap);
  for (const int64_t rank : {0, 20, 21, 10'000}) {
    OptionValues with_rank = options;
    with_rank["rank"] = rank;
    ExpectSameFit(MustTrain(problem, with_rank, kRowsGap), whole, std::to_string(rank));
  }
  OptionValues of_two = options;
  of_two["rank"] = int64_t{2};
  const Fit small = MustTrain(problem, of_two, kRowsGap);
  ExpectHonest(small, problem, kRowsGap, "rank 2");
  EXPECT_GT(small.certificate.dual, whole.certificate.primal);  // fewer functions
}

TEST(LowRankRowsTest, NegativeRankIsRefusedByName) {
  const absl::Status status = Entry().create(OnLandmarks(5, {{"rank", int64_t{-1}}})).status();
  ASSERT_EQ(GetFieldViolations(status).size(), 1u) << status;
  EXPECT_EQ(GetFieldViolations(status)[0].field, "rank");
}

TEST(LowRankRowsTest, OwnLandmarksAreForWhatLooksAtKernels) {
  for (const char* selection : {"uniform", "k_means"}) {
    OptionValues options = SelectedBy(selection, OnLandmarks(5, {}));
    options["own_landmarks"] = true;
    const absl::Status status = Entry().create(options).status();
    ASSERT_EQ(GetFieldViolations(status).size(), 1u) << status;
    EXPECT_EQ(GetFieldViolations(status)[0].field, "own_landmarks");
  }
  EXPECT_TRUE(Entry().create({{"own_landmarks", true}}).ok()) << "no landmarks, as of the others";
}

// Every row twice at a cost is every row once at twice the cost.
TEST(LowRankRowsTest, RowsThatAreThereTwiceCountTwice) {
  const Cloud cloud = OverlappingClouds(60, 2, 3);
  const TrainingProblem once = GaussianProblem(cloud.x, cloud.labels, {0.5, 2.0});
  const TrainingProblem twice = GaussianProblem(
      Stacked(cloud.x, cloud.x), JoinedLabels(cloud.labels, cloud.labels), {0.5, 2.0});
  const double expected =
      MustTrain(once, OnLandmarks(1000, {{"C", 20.0}}), 1e-7).certificate.primal;
  for (const std::string& selection : LandmarkSelections()) {
    const Fit fit = MustTrain(twice, SelectedBy(selection, OnLandmarks(1000, {{"C", 10.0}})), 1e-7);
    EXPECT_NEAR(fit.certificate.primal, expected, 1e-5 * expected) << selection;
    const Fit few =
        MustTrain(twice, SelectedBy(selection, OnLandmarks(80, {{"C", 10.0}})), kRowsGap);
    ExpectHonest(few, twice, kRowsGap, selection);
    // Kernels below the whole ones leave no smaller optimum; 60 different rows are no more than 80 draws.
    EXPECT_GE(few.certificate.primal, expected * (1 - 1e-5)) << selection;
  }
}

// Of pivots a row that is there already is never one: 80 landmarks find all 60 different rows.
TEST(LowRankRowsTest, PivotsFindEveryRowThatIsDifferent) {
  const Cloud cloud = OverlappingClouds(60, 2, 3);
  const TrainingProblem twice =
      GaussianProblem(Stacked(cloud.x, cloud.x), JoinedLabels(cloud.labels, cloud.labels), {0.5});
  const OptionValues whole = OnLandmarks(1000, {{"C", 10.0}});
  const OptionValues pivots = SelectedBy("pivoted_cholesky", OnLandmarks(80, {{"C", 10.0}}));
  const double expected = MustTrain(twice, whole, kRowsGap).certificate.primal;
  EXPECT_NEAR(MustTrain(twice, pivots, kRowsGap).certificate.primal, expected, 1e-4 * expected);
}

TEST(LowRankRowsTest, EqualRowsLeaveAConstant) {
  const Vector labels = OverlappingClouds(90, 2, 3).labels;
  const double expected = OptimumOfConstants(labels, 3.0);
  for (const double value : {0.0, 1.0, -1e100}) {
    const RowMatrix x = RowMatrix::Constant(90, 2, value);
    const TrainingProblem problem = GaussianProblem(x, labels, {1e-6, 1.0, 1e6});
    for (const std::string& selection : LandmarkSelections()) {
      for (const int64_t landmarks : {1, 30, 500}) {
        const std::string what = selection + ", " + std::to_string(landmarks);
        const Fit fit = MustTrain(
            problem, SelectedBy(selection, OnLandmarks(landmarks, {{"C", 3.0}})), kRowsGap);
        ExpectHonest(fit, problem, kRowsGap, what);
        EXPECT_NEAR(fit.certificate.primal, expected, 1e-4 * expected) << what;
      }
    }
  }
}

TEST(LowRankRowsTest, ColumnsWithoutAValueOrADifferenceLeaveAConstant) {
  const Vector labels = OverlappingClouds(70, 2, 3).labels;
  const double expected = OptimumOfConstants(labels, 2.0);
  const std::vector<std::vector<KernelType>> types = {
      {KernelType::kLinear},
      {KernelType::kLinear, KernelType::kGaussian},
      {KernelType::kPolynomial, KernelType::kLaplacian, KernelType::kLinear}};
  for (const double value : {0.0, 4.0}) {
    for (size_t t = 0; t < types.size(); ++t) {
      const TrainingProblem problem =
          ProblemOfTypes(RowMatrix::Constant(70, 3, value), labels, types[t]);
      for (const std::string& selection : LandmarkSelections()) {
        const std::string what =
            selection + ", " + std::to_string(value) + ", " + std::to_string(t);
        const Fit fit =
            MustTrain(problem, SelectedBy(selection, OnLandmarks(20, {{"C", 2.0}})), kRowsGap);
        ExpectHonest(fit, problem, kRowsGap, what);
        EXPECT_NEAR(fit.certificate.primal, expected, 1e-4 * expected) << what;
      }
    }
  }
}

// A column of zeros and one of a constant beside one that matters change no distance.
TEST(LowRankRowsTest, ConstantColumnsBesideOthersChangeNothing) {
  const Cloud cloud = OverlappingClouds(100, 2, 3);
  RowMatrix padded = RowMatrix::Zero(100, 4);
  padded.leftCols(2) = cloud.x;
  padded.col(3).setConstant(7.0);
  const OptionValues options = OnLandmarks(25, {{"C", 10.0}});
  const double expected =
      MustTrain(GaussianProblem(cloud.x, cloud.labels, {0.5, 2.0}), options, 1e-7)
          .certificate.primal;
  const Fit fit = MustTrain(GaussianProblem(padded, cloud.labels, {0.5, 2.0}), options, 1e-7);
  EXPECT_NEAR(fit.certificate.primal, expected, 1e-5 * expected);
}

// Two rows at a distance: a_1 = a_2 = min(C, 1 / (1 - k)), the optimum 2 a - a^2 (1 - k).
TEST(LowRankRowsTest, OneRowPerClassHasTheOptimumOfTwoRows) {
  const RowMatrix x{{0.0, 0.0}, {1.0, 0.5}};
  const double k = GaussianGram(x.topRows(1), x.bottomRows(1), 1.0)(0, 0);
  const TrainingProblem problem = GaussianProblem(x, Vector{{-1, 1}}, {1.0});
  for (const std::string& selection : LandmarkSelections()) {
    for (const double C : {0.1, 1.0, 100.0}) {
      const double a = std::min(C, 1 / (1 - k));
      const double expected = 2 * a - a * a * (1 - k);
      const Fit fit =
          MustTrain(problem, SelectedBy(selection, OnLandmarks(5, {{"C", C}})), kRowsGap);
      EXPECT_NEAR(fit.certificate.primal, expected, 1e-4 * expected) << selection << ", " << C;
    }
  }
}

TEST(LowRankRowsTest, OneRowOfAClassAmongMany) {
  Cloud cloud = OverlappingClouds(300, 2, 3);
  cloud.labels.setConstant(-1);
  cloud.labels(299) = 1;
  const TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {0.5, 2.0});
  for (const std::string& selection : LandmarkSelections()) {
    const Fit fit =
        MustTrain(problem, SelectedBy(selection, OnLandmarks(20, {{"C", 100.0}})), kRowsGap);
    ExpectHonest(fit, problem, kRowsGap, selection);
    EXPECT_LE(fit.certificate.primal, 200.0 * (1 + 1e-12)) << selection;  // that of a constant
  }
}

// All rows of one class before those of the other, more of each than rows that are streamed at a time. With all rows as landmarks the
// kernels, and so the optimum, do not depend on their order.
TEST(LowRankRowsTest, SortedLabelsHaveTheOptimumOfMixedOnes) {
  const Cloud mixed = OverlappingClouds(560, 2, 3);
  Cloud sorted = mixed;
  Index next = 0;
  for (const double label : {-1.0, 1.0}) {
    for (Index i = 0; i < mixed.labels.size(); ++i) {
      if (mixed.labels(i) == label) {
        sorted.x.row(next) = mixed.x.row(i);
        sorted.labels(next++) = label;
      }
    }
  }
  ASSERT_EQ(sorted.labels.head(257), Vector::Constant(257, -1.0));
  ASSERT_EQ(sorted.labels.tail(257), Vector::Constant(257, 1.0));
  const TrainingProblem problem = GaussianProblem(sorted.x, sorted.labels, {2.0});
  const OptionValues all = OnLandmarks(560, {{"C", 10.0}});
  const double expected =
      MustTrain(GaussianProblem(mixed.x, mixed.labels, {2.0}), all, kRowsGap).certificate.primal;
  EXPECT_NEAR(MustTrain(problem, all, kRowsGap).certificate.primal, expected, 3e-5 * expected);
  for (const std::string& selection : LandmarkSelections()) {
    const Fit fit =
        MustTrain(problem, SelectedBy(selection, OnLandmarks(30, {{"C", 10.0}})), kRowsGap);
    ExpectHonest(fit, problem, kRowsGap, selection);
    EXPECT_LT(fit.certificate.primal, 0.9 * OptimumOfConstants(sorted.labels, 10.0)) << selection;
  }
}

}  // namespace
}  // namespace mercer::lp_mkl
