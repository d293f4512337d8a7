#include "core/kernels/lowrank/nystrom.h"

#include <string>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "tests/core/kernels/low_rank_test_data.h"
#include "tests/support/cancelled_work.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

constexpr Index kTrainingRows = 90;

NystromFeatures Features(const Landmarks& landmarks, const std::vector<KernelSpec>& kernels,
                         const NystromOptions& options = {}) {
  RunContext context;
  auto features = NystromFeatures::Make(landmarks, kernels, options, context);
  EXPECT_TRUE(features.ok()) << features.status();
  return *std::move(features);
}

// V_k V_k' over the rows of `x`.
Matrix Approximation(const NystromFeatures& features, const PreparedData& x, Index k) {
  RunContext context;
  const Matrix of_kernel = FeaturesOf(features, AllFeatures(features, x, context), k);
  return of_kernel.transpose() * of_kernel;
}

std::vector<KernelSpec> KernelsWithoutScaling() {
  std::vector<KernelSpec> kernels = MixedKernels();
  for (KernelSpec& kernel : kernels) {
    kernel.normalization.scaling = KernelScaling::kNone;
  }
  return kernels;
}

std::string NameOfKernel(size_t k) { return KernelName(KernelsWithoutScaling()[k]); }

TEST(NystromTest, GaussiansOfTheFixtureHaveItsRanksAndItsApproximation) {
  const nlohmann::json fixture = ReadFixtureFile("lowrank-lp-mkl/gaussian_nystrom.json");
  const nlohmann::json& input = fixture["input"];
  const auto data = BlockOf(JsonMatrix(input["X"]));
  const Landmarks landmarks =
      LandmarksFromRows(*data, input["landmarks"].get<std::vector<Index>>());
  const NystromFeatures features =
      Features(landmarks, GaussiansOfX(input["sigma"].get<std::vector<double>>()),
               {input["rank"].get<Index>(), input["eigen_rtol"].get<double>()});
  const nlohmann::json& expected = fixture["expected"]["nystrom"];
  ASSERT_EQ(features.num_kernels(), 4);
  EXPECT_EQ(features.map(0).rows(), 14);
  for (Index k = 0; k < 4; ++k) {
    EXPECT_EQ(features.map(k).cols(), expected["ranks"][static_cast<size_t>(k)].get<Index>());
    EXPECT_EQ(features.first_feature(k + 1) - features.first_feature(k), features.map(k).cols());
  }
  EXPECT_EQ(features.first_feature(4), features.num_features());
  ExpectMatrixNear(Approximation(features, *data, 0),
                   JsonMatrix(expected["first_approximate_kernel"]), 1e-12, "V_1 V_1'");
}

TEST(NystromTest, EveryKernelTypeEqualsItsDefinition) {
  const auto data = MixedData(kTrainingRows, 3);
  const Landmarks landmarks = LandmarksFromRows(*data, {0, 3, 4, 17, 30, 31, 44, 58, 71, 80, 89});
  const NystromOptions options{0, 1e-9};
  const NystromFeatures features = Features(landmarks, KernelsWithoutScaling(), options);
  for (size_t k = 0; k < KernelsWithoutScaling().size(); ++k) {
    ExpectMatrixNear(Approximation(features, *data, static_cast<Index>(k)),
                     NaiveNystrom(KernelsWithoutScaling()[k], *data, landmarks, options), 1e-8,
                     NameOfKernel(k));
  }
}

TEST(NystromTest, LandmarksSeeTheKernelItself) {
  const auto data = MixedData(kTrainingRows, 3);
  const Landmarks landmarks = LandmarksFromRows(*data, {2, 5, 6, 20, 40, 41, 70, 88});
  const NystromFeatures features = Features(landmarks, KernelsWithoutScaling());
  for (size_t k = 0; k < KernelsWithoutScaling().size(); ++k) {
    ExpectMatrixNear(
        Approximation(features, *landmarks.data, static_cast<Index>(k)),
        NaiveCross(KernelsWithoutScaling()[k], *landmarks.data, *landmarks.data, landmarks.rows),
        1e-8, NameOfKernel(k));
  }
}

TEST(NystromTest, AllRowsAsLandmarksReproduceTheExactKernel) {
  const auto data = MixedData(kTrainingRows, 3);
  const NystromFeatures features =
      Features(LandmarksFromRows(*data, AllRowsOf(*data)), KernelsWithoutScaling(), {0, 1e-14});
  for (size_t k = 0; k < KernelsWithoutScaling().size(); ++k) {
    ExpectMatrixNear(Approximation(features, *data, static_cast<Index>(k)),
                     NaiveGram(KernelsWithoutScaling()[k], *data, AllRowsOf(*data)), 1e-6,
                     NameOfKernel(k));
  }
}

TEST(NystromTest, TheApproximationIsBelowTheKernel) {
  const auto data = MixedData(kTrainingRows, 3);
  const NystromFeatures features =
      Features(LandmarksFromRows(*data, {1, 2, 30, 45, 61, 77}), KernelsWithoutScaling());
  for (size_t k = 0; k < KernelsWithoutScaling().size(); ++k) {
    const Matrix gram = NaiveGram(KernelsWithoutScaling()[k], *data, AllRowsOf(*data));
    const Matrix dropped = gram - Approximation(features, *data, static_cast<Index>(k));
    const Vector eigenvalues =
        Eigen::SelfAdjointEigenSolver<Matrix>(dropped, Eigen::EigenvaluesOnly).eigenvalues();
    EXPECT_GE(eigenvalues.minCoeff(), -1e-8 * gram.cwiseAbs().maxCoeff()) << NameOfKernel(k);
  }
}

TEST(NystromTest, TheRankIsCappedAtTheLargestEigenvalues) {
  const auto data = MixedData(kTrainingRows, 4);
  const Landmarks landmarks = LandmarksFromRows(*data, {0, 9, 18, 27, 36, 45, 54, 63, 72, 81});
  const NystromOptions options{4, 1e-10};
  const NystromFeatures features = Features(landmarks, KernelsWithoutScaling(), options);
  for (size_t k = 0; k < KernelsWithoutScaling().size(); ++k) {
    EXPECT_LE(features.map(static_cast<Index>(k)).cols(), 4) << NameOfKernel(k);
    ExpectMatrixNear(Approximation(features, *data, static_cast<Index>(k)),
                     NaiveNystrom(KernelsWithoutScaling()[k], *data, landmarks, options), 1e-8,
                     NameOfKernel(k));
  }
  EXPECT_EQ(Features(landmarks, GaussiansOfX({0.7}), {1000, 1e-10}).num_features(), 10)
      << "never more than landmarks";
}

TEST(NystromTest, AThresholdDropsSmallEigenvalues) {
  const auto data = BlockOf(RandomRows(40, 3, 5));
  const Landmarks landmarks = LandmarksFromRows(*data, AllRowsOf(*data));
  Index before = 41;
  for (const double threshold : {1e-12, 1e-8, 1e-5, 1e-2}) {
    const Matrix inner =
        NaiveCross(GaussiansOfX({3.0})[0], *landmarks.data, *landmarks.data, landmarks.rows);
    const Vector values = Eigen::SelfAdjointEigenSolver<Matrix>(inner).eigenvalues();
    const Index expected = (values.array() > threshold * 40 * values(39)).count();
    const Index rank = Features(landmarks, GaussiansOfX({3.0}), {0, threshold}).num_features();
    EXPECT_EQ(rank, expected) << threshold;
    EXPECT_LT(rank, before) << threshold;
    before = rank;
  }
}

TEST(NystromTest, AZeroKernelHasNoFeatures) {
  auto data = MixedData(30, 6);
  data->blocks.push_back(MakeBlock("zero", RowMatrix::Zero(30, 2)));
  const NystromFeatures features =
      Features(LandmarksFromRows(*data, {1, 8, 20}),
               {MakeSpec(KernelType::kGaussian, "x"), MakeSpec(KernelType::kLinear, "zero"),
                MakeSpec(KernelType::kGaussian, "x", 2.0)});
  EXPECT_EQ(features.map(1).cols(), 0);
  EXPECT_EQ(features.map(1).rows(), 3);
  EXPECT_EQ(features.first_feature(1), features.first_feature(2));
  EXPECT_EQ(features.num_features(), 6);
}

TEST(NystromTest, AnIndefiniteMatrixIsNamed) {
  auto data = MixedData(30, 7);
  RowMatrix indefinite = data->squares[0].values.view();
  indefinite(8, 20) += 50;
  indefinite(20, 8) += 50;
  data->squares[0].values = SharedMatrix(indefinite);
  const std::vector<KernelSpec> kernels = {MakeSpec(KernelType::kGaussian, "x"),
                                           MakeSpec(KernelType::kDistance, "D"),
                                           MakeSpec(KernelType::kPrecomputed, "K")};
  RunContext context;
  const absl::Status status =
      NystromFeatures::Make(LandmarksFromRows(*data, {1, 8, 20}), kernels, {}, context).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(GetReason(status), "NOT_PSD");
  EXPECT_NE(status.message().find("kernels[2]"), std::string::npos) << status;
  EXPECT_TRUE(NystromFeatures::Make(LandmarksFromRows(*data, {1, 2, 3}), kernels, {}, context).ok())
      << "what the landmarks do not show is not looked for";
}

TEST(NystromTest, AKernelThatOverflowsIsRefused) {
  auto data = MixedData(30, 8);
  RowMatrix values = data->blocks[0].values.view();
  values(8, 0) = 1e17;
  data->blocks[0].values = SharedMatrix(values);
  KernelSpec polynomial = MakeSpec(KernelType::kPolynomial, "x");
  polynomial.degree = 20;
  RunContext context;
  const absl::Status status =
      NystromFeatures::Make(LandmarksFromRows(*data, {1, 8, 20}),
                            {MakeSpec(KernelType::kGaussian, "x"), polynomial}, {}, context)
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_EQ(GetReason(status), "NOT_PSD");
  EXPECT_NE(status.message().find("kernels[1]"), std::string::npos) << status;
}

TEST(NystromTest, RepeatedLandmarksCountOnce) {
  const auto data = MixedData(kTrainingRows, 9);
  const Landmarks repeated = LandmarksFromRows(*data, {4, 4, 11, 50, 50, 50, 70});
  const Landmarks once = LandmarksFromRows(*data, {4, 11, 50, 70});
  const NystromFeatures features = Features(repeated, KernelsWithoutScaling());
  for (size_t k = 0; k < KernelsWithoutScaling().size(); ++k) {
    EXPECT_LE(features.map(static_cast<Index>(k)).cols(), 4) << NameOfKernel(k);
    ExpectMatrixNear(Approximation(features, *data, static_cast<Index>(k)),
                     NaiveNystrom(KernelsWithoutScaling()[k], *data, once, {}), 1e-8,
                     NameOfKernel(k));
  }
}

TEST(NystromTest, ATinyBandwidthIsTheIdentityAndAHugeOneIsConstant) {
  const auto data = BlockOf(RandomRows(20, 3, 10));
  const Landmarks landmarks = LandmarksFromRows(*data, {2, 3, 5, 7, 11});
  const NystromFeatures features = Features(landmarks, GaussiansOfX({1e-6, 1e12}));
  EXPECT_EQ(features.map(0).cols(), 5);
  EXPECT_EQ(features.map(1).cols(), 1);
  Matrix identity = Matrix::Zero(20, 20);
  for (const Index row : landmarks.rows) {
    identity(row, row) = 1;
  }
  ExpectMatrixNear(Approximation(features, *data, 0), identity, 1e-14, "identity");
  ExpectMatrixNear(Approximation(features, *data, 1), Matrix::Ones(20, 20), 1e-13, "constant");
}

TEST(NystromTest, CentresThatAreNoRowsServeAsLandmarks) {
  const auto data = MixedData(kTrainingRows, 11);
  PreparedData features_only = *data;
  features_only.squares.clear();
  RunContext context;
  const auto landmarks = SelectLandmarks(features_only, GaussiansOfX({1.0}),
                                         LandmarkSelection::kKMeans, 7, 1, context);
  ASSERT_TRUE(landmarks.ok()) << landmarks.status();
  const std::vector<KernelSpec> kernels = {MakeSpec(KernelType::kGaussian, "x"),
                                           MakeSpec(KernelType::kChiSquare, "h"),
                                           MakeSpec(KernelType::kLinear, "wide")};
  const NystromFeatures features = Features(*landmarks, kernels);
  for (size_t k = 0; k < kernels.size(); ++k) {
    ExpectMatrixNear(Approximation(features, *data, static_cast<Index>(k)),
                     NaiveNystrom(kernels[k], *data, *landmarks, {}), 1e-8, KernelName(kernels[k]));
  }
  EXPECT_EQ(NystromFeatures::Make(*landmarks, {MakeSpec(KernelType::kDistance, "D")}, {}, context)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument)
      << "a centre has no row of distances";
}

TEST(NystromTest, AnyRowsOfABatchHaveTheirOwnFeatures) {
  const auto data = MixedData(kTrainingRows, 12);
  const NystromFeatures features =
      Features(LandmarksFromRows(*data, {2, 30, 31, 60}), KernelsWithoutScaling());
  RunContext context;
  const Matrix all = AllFeatures(features, *data, context);
  const auto bound = features.Bind(*data, context);
  ASSERT_TRUE(bound.ok()) << bound.status();
  Matrix large = Matrix::Constant(features.num_features() + 3, 13, 7.0);
  features.Evaluate(*bound, 41, 54, large.middleRows(2, features.num_features()), context);
  ExpectMatrixNear(large.middleRows(2, features.num_features()), all.middleCols(41, 13), 1e-13,
                   "rows of a batch");
  EXPECT_TRUE((large.topRows(2).array() == 7.0).all() &&
              (large.bottomRows(1).array() == 7.0).all());
}

TEST(NystromTest, TheSameBitsForEveryNumberOfThreads) {
  const auto data = MixedData(kTrainingRows, 13);
  const Landmarks landmarks = LandmarksFromRows(*data, {2, 30, 31, 60, 80});
  RunContext three = ContextOfThreads(3);
  const auto features = NystromFeatures::Make(landmarks, KernelsWithoutScaling(), {}, three);
  ASSERT_TRUE(features.ok()) << features.status();
  const NystromFeatures expected = Features(landmarks, KernelsWithoutScaling());
  for (Index k = 0; k < expected.num_kernels(); ++k) {
    ExpectEqualBits(features->map(k), expected.map(k), NameOfKernel(static_cast<size_t>(k)));
  }
}

TEST(NystromTest, MakeEndsWithCancellation) {
  const auto data = MixedData(30, 14);
  RunContext context = CancelledContext();
  EXPECT_TRUE(absl::IsCancelled(
      NystromFeatures::Make(LandmarksFromRows(*data, {2, 3}), KernelsWithoutScaling(), {}, context)
          .status()));
}

TEST(NystromTest, MakeOfManyLandmarksEndsWithinAQuarterSecond) {
  constexpr Index kCount = kSanitized ? 200 : 1500;
  const auto data = BlockOf(UniformMatrix(kCount, 5, 4));
  const Landmarks landmarks = LandmarksFromRows(*data, IndexRange(0, kCount));
  const auto make = [&](RunContext& context) {
    return NystromFeatures::Make(landmarks, GaussiansOfX({1.0}), {}, context).status();
  };
  const double whole = WholeWork(make);
  for (const double part : {0.3, 0.5, 0.7}) {
    EXPECT_LE(WorkAfterCancel(part * whole, make), kMostWorkAfterCancel) << part << " of " << whole;
  }
}

}  // namespace
}  // namespace mercer
