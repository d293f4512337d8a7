#include "core/kernels/gram/kernel_columns.h"

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/lowrank/incomplete_cholesky.h"
#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

std::vector<Index> AllRows(Index count) { return IndexRange(0, count); }

KernelSpec Spec(KernelType type, const std::string& block) {
  KernelSpec spec;
  spec.type = type;
  spec.block = block;
  spec.bandwidth = 1.3;
  return spec;
}

// One kernel of every type, and every normalisation.
std::vector<KernelSpec> Specs() {
  std::vector<KernelSpec> specs = {
      Spec(KernelType::kLinear, "x"),      Spec(KernelType::kPolynomial, "x"),
      Spec(KernelType::kGaussian, "x"),    Spec(KernelType::kLaplacian, "x"),
      Spec(KernelType::kChiSquare, "h"),   Spec(KernelType::kEuclidean, "x"),
      Spec(KernelType::kPrecomputed, "K"), Spec(KernelType::kDistance, "D")};
  specs[0].normalization.scaling = KernelScaling::kTrace;
  specs[1].normalization = {true, KernelScaling::kVariance};
  specs[2].normalization.scaling = KernelScaling::kCentredTrace;
  specs[3].columns = {"x1", "x3"};
  specs[6].normalization.scaling = KernelScaling::kMeanDiagonal;
  return specs;
}

TEST(KernelColumnsTest, AreThoseOfTheWholeMatrix) {
  const std::shared_ptr<PreparedData> data = MixedData(150, 3);
  RunContext context;
  std::vector<Index> some;
  for (Index i = 0; i < 150; i += 2) {
    some.push_back(i);
  }
  for (const std::vector<Index>& rows : {AllRows(150), some}) {
    const auto family = MakeExactKernelFamily(data, rows, Specs(), context);
    ASSERT_TRUE(family.ok()) << family.status();
    const auto whole = (*family)->Combine(Vector::Ones((*family)->num_kernels()), context);
    ASSERT_TRUE(whole.ok());
    const Matrix& gram = *(*whole)->Dense();
    const auto kernel = KernelSumColumns::Make(data, rows, Specs(), context);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    ExpectMatrixNear((*kernel)->scales(), (*family)->scales(), 1e-12, "scales");
    ExpectMatrixNear((*kernel)->diagonal(), gram.diagonal(), 1e-12, "diagonal");
    Matrix columns((*kernel)->size(), 3);
    ASSERT_TRUE((*kernel)->Columns({7, 0, 31}, columns, context).ok());
    ExpectMatrixNear(columns, gram(Eigen::all, std::vector<Index>{7, 0, 31}), 1e-12, "columns");
    // Some rows of them.
    const SelectedKernelColumns selected(**kernel, {31, 4, 7});
    Matrix few(3, 1);
    ASSERT_TRUE(selected.Columns({2}, few, context).ok());
    EXPECT_EQ(few(0, 0), columns(31, 0));
    EXPECT_EQ(few(2, 0), columns(7, 0));
    EXPECT_EQ(selected.diagonal()(1), (*kernel)->diagonal()(4));
  }
}

TEST(KernelColumnsTest, ErrorsNameTheKernel) {
  const std::shared_ptr<PreparedData> data = MixedData(20, 3);
  RunContext context;
  const auto message = [&](const KernelSpec& wrong) {
    return std::string(
        KernelSumColumns::Make(data, AllRows(20), {Spec(KernelType::kLinear, "x"), wrong}, context)
            .status()
            .message());
  };
  KernelSpec spec = Spec(KernelType::kGaussian, "x");
  spec.bandwidth = -1;
  EXPECT_NE(message(spec).find("kernels[1]"), std::string::npos) << message(spec);
  spec = Spec(KernelType::kGaussian, "nowhere");
  EXPECT_NE(message(spec).find("kernels[1]"), std::string::npos) << message(spec);
  spec = Spec(KernelType::kPrecomputed, "nowhere");
  EXPECT_NE(message(spec).find("kernels[1]"), std::string::npos) << message(spec);
  RowMatrix gram = data->squares[0].values.view();
  gram(3, 5) += 1;
  data->squares[0].values = SharedMatrix(gram);
  spec = Spec(KernelType::kPrecomputed, "K");
  EXPECT_NE(message(spec).find("not symmetric"), std::string::npos) << message(spec);
  gram = -gram;
  data->squares[0].values = SharedMatrix(RowMatrix(gram + gram.transpose()));
  EXPECT_NE(message(spec).find("not positive semidefinite"), std::string::npos) << message(spec);
}

TEST(IncompleteCholeskyTest, ReproducesTheColumnsOfItsPivots) {
  const Matrix features = UniformMatrix(30, 12, 2);
  const Matrix gram = features * features.transpose();
  const DenseKernelColumns kernel(gram);
  IncompleteCholesky cholesky(kernel, 4);
  RunContext context;
  const std::vector<Index> pivots = {11, 3, 29, 8};
  for (const Index pivot : pivots) {
    ASSERT_TRUE(cholesky.Append(pivot, context).ok());
  }
  const Matrix product = cholesky.factor() * cholesky.factor().transpose();
  ExpectMatrixNear(product(Eigen::all, pivots), gram(Eigen::all, pivots), 1e-13, "columns");
  ExpectMatrixNear(cholesky.diagonal(), (gram - product).diagonal(), 1e-13, "diagonal");
  const Matrix of_pivots = cholesky.factor()(pivots, Eigen::all);
  EXPECT_TRUE(of_pivots.isLowerTriangular(0));
  Vector column(30);
  ASSERT_TRUE(cholesky.ResidualColumn(5, column, context).ok());
  ExpectMatrixNear(column, (gram - product).col(5), 1e-12, "what is left");
  const Matrix factor = cholesky.factor();
  EXPECT_EQ(Matrix(std::move(cholesky).TakeFactor()), factor);
}

}  // namespace
}  // namespace mercer
