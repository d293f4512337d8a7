#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/gram/kernel_source.h"
#include "tests/core/kernels/kernel_test_data.h"
#include "tests/support/cancelled_work.h"

namespace mercer {
namespace {

constexpr Index kBasisRows = 300;

std::vector<KernelSpec> UnscaledKernels() {
  std::vector<KernelSpec> kernels = MixedKernels();
  for (KernelSpec& kernel : kernels) {
    kernel.normalization.scaling = KernelScaling::kNone;
  }
  return kernels;
}

TEST(CrossKernelsTest, TrainingRowsReproduceTheFamily) {
  const auto data = MixedData(kBasisRows, 5);
  RunContext context;
  auto family = MakeExactKernelFamily(data, {}, MixedKernels(), context);
  ASSERT_TRUE(family.ok()) << family.status();
  auto cross = CrossKernels::Make(data, MixedKernels(), {});
  ASSERT_TRUE(cross.ok()) << cross.status();
  EXPECT_EQ(cross->num_basis(), kBasisRows);
  const Index m = (*family)->num_kernels();
  for (Index k = 0; k < m; ++k) {
    const auto gram = (*family)->Combine(Vector::Unit(m, k), context);
    ASSERT_TRUE(gram.ok()) << gram.status();
    Matrix values(kBasisRows, kBasisRows);
    const Vector weights = Vector::Unit(m, k) * (*family)->scales()(k);
    ASSERT_TRUE(CombineKernels(*cross, *data, weights, values, context).ok());
    const double error = (values - *(*gram)->Dense()).cwiseAbs().maxCoeff();
    EXPECT_LE(error, 1e-12 * (*gram)->Dense()->cwiseAbs().maxCoeff()) << "kernel " << k;
  }
}

TEST(CrossKernelsTest, NewRowsAgainstABasisOfSelectedRows) {
  const auto training = MixedData(kBasisRows, 5);
  const std::vector<Index> selected = {4, 250, 17, 0, 299};
  auto basis = std::make_shared<PreparedData>(SelectRows(*training, selected));
  basis->squares.clear();
  auto test = MixedData(70, 6);
  test->squares.clear();
  const RowMatrix square = RandomRows(70, kBasisRows, 8, true);
  test->squares.push_back({"K", SquareKind::kKernel, SharedMatrix(square)});
  test->squares.push_back({"D", SquareKind::kDistance, SharedMatrix(square)});
  auto cross = CrossKernels::Make(basis, UnscaledKernels(), selected);
  ASSERT_TRUE(cross.ok()) << cross.status();
  RunContext context;
  const auto m = static_cast<Index>(UnscaledKernels().size());
  Vector weights = Vector::LinSpaced(m, 0.2, 1.0);
  Matrix values(70, 5);
  ASSERT_TRUE(CombineKernels(*cross, *test, weights, values, context).ok());
  for (Index i = 0; i < 70; ++i) {
    for (Index j = 0; j < 5; ++j) {
      const Index row = selected[static_cast<size_t>(j)];
      long double expected = 0;
      for (Index k = 0; k < m; ++k) {
        const KernelSpec spec = UnscaledKernels()[static_cast<size_t>(k)];
        long double value = RawKernel(spec, *test, i, *training, row);
        if (spec.normalization.unit_diagonal) {
          value /= std::sqrt(RawKernel(spec, *test, i, *test, i) *
                             RawKernel(spec, *training, row, *training, row));
        }
        expected += weights(k) * value;
      }
      EXPECT_NEAR(values(i, j), static_cast<double>(expected),
                  1e-12 * std::abs(static_cast<double>(expected)) + 1e-11)
          << i << ", " << j;
    }
  }
}

TEST(CrossKernelsTest, ARowHasTheSameBitsAloneAndInABatch) {
  const auto basis = MixedData(kBasisRows, 5);
  const std::vector<KernelSpec> kernels = {MakeSpec(KernelType::kGaussian, "wide", 9.0),
                                           MakeSpec(KernelType::kLinear, "x")};
  auto cross = CrossKernels::Make(basis, kernels, {});
  ASSERT_TRUE(cross.ok()) << cross.status();
  RunContext context;
  const auto test = MixedData(90, 6);
  Matrix batch(90, kBasisRows);
  ASSERT_TRUE(CombineKernels(*cross, *test, Vector::Ones(2), batch, context).ok());
  for (const Index row : {0, 31, 89}) {
    const PreparedData alone = SelectRows(*test, {row});
    Matrix single(1, kBasisRows);
    ASSERT_TRUE(CombineKernels(*cross, alone, Vector::Ones(2), single, context).ok());
    EXPECT_TRUE((single.array() == batch.row(row).array()).all()) << "row " << row;
  }
  // Outputs with a coefficient at every basis row.
  const Matrix all = RandomRows(kBasisRows, 3, 9);
  const StripCoefficients dense(all.sparseView(), {0, 1, 2});
  Matrix together = Matrix::Zero(90, 3);
  ASSERT_TRUE(cross->AddProducts(*test, Vector::Ones(2), dense, together, context).ok());
  EXPECT_LE((together - batch * all).cwiseAbs().maxCoeff(), 1e-10);
  for (const Index row : {0, 31, 89}) {
    Matrix single = Matrix::Zero(1, 3);
    ASSERT_TRUE(
        cross->AddProducts(SelectRows(*test, {row}), Vector::Ones(2), dense, single, context).ok());
    EXPECT_EQ(single, together.row(row)) << "row " << row;
  }
}

TEST(CrossKernelsTest, KernelsOneByOneHaveTheBitsOfAllTogether) {
  const auto data = MixedData(kBasisRows, 5);
  const auto cross = CrossKernels::Make(data, UnscaledKernels(), {});
  ASSERT_TRUE(cross.ok()) << cross.status();
  RunContext context;
  const auto bound = cross->Bind(*data, context);
  ASSERT_TRUE(bound.ok()) << bound.status();
  const size_t size = 40 * static_cast<size_t>(bound->stride());
  std::vector<double> all(UnscaledKernels().size() * size);
  bound->Values(30, 70, all.data(), context);
  std::vector<int> visits(UnscaledKernels().size(), 0);
  bound->ForEachKernel(30, 70, context, [&](Index kernel, const double* values) {
    const auto k = static_cast<size_t>(kernel);
    ++visits[k];
    for (size_t row = 0; row < 40; ++row) {
      const size_t first = row * static_cast<size_t>(bound->stride());
      EXPECT_TRUE(
          std::equal(values + first, values + first + kBasisRows, all.data() + k * size + first))
          << "kernel " << k << ", row " << row;
    }
  });
  EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
}

// The largest difference between a kernel of the training rows and the same of new rows.
double DifferenceOfTrainingAndPrediction(const std::shared_ptr<const PreparedData>& data,
                                         const KernelSpec& kernel) {
  RunContext context;
  const auto family = MakeExactKernelFamily(data, {}, {kernel}, context);
  const auto cross = CrossKernels::Make(data, {kernel}, {});
  EXPECT_TRUE(family.ok() && cross.ok());
  const auto gram = (*family)->Combine(Vector::Ones(1), context);
  EXPECT_TRUE(gram.ok());
  Matrix values(data->rows, data->rows);
  EXPECT_TRUE(CombineKernels(*cross, *data, Vector::Ones(1), values, context).ok());
  return (values - *(*gram)->Dense()).cwiseAbs().maxCoeff();
}

TEST(CrossKernelsTest, OneLargeEntryCostsTheOtherRowsNoDigits) {
  for (const Index columns : {17, 40, 200}) {  // from norms, and by matrix products
    RowMatrix values = RandomRows(kBasisRows, columns, 11);
    values(123, 3) = 1e12;
    const auto data = std::make_shared<PreparedData>();
    data->rows = kBasisRows;
    data->blocks.push_back(MakeBlock("x", values));
    for (const KernelType type : {KernelType::kGaussian, KernelType::kEuclidean}) {
      EXPECT_LE(DifferenceOfTrainingAndPrediction(data, MakeSpec(type, "x", 6.0)), 1e-13)
          << columns << " columns";
    }
  }
}

TEST(CrossKernelsTest, NearDuplicatesKeepTheirDigits) {
  for (const Index columns : {17, 40, 200}) {
    RowMatrix values = RandomRows(kBasisRows, columns, 12);
    for (Index i = 0; i < kBasisRows / 2; ++i) {
      values.row(i + kBasisRows / 2) = values.row(i) + 1e-7 * RandomRows(1, columns, 13);
    }
    const auto data = std::make_shared<PreparedData>();
    data->rows = kBasisRows;
    data->blocks.push_back(MakeBlock("other", RandomRows(kBasisRows, 2, 14)));
    data->blocks.push_back(MakeBlock("x", values));
    KernelSpec some = MakeSpec(KernelType::kGaussian, "x", 1e-6);
    for (Index c = 0; c < columns; ++c) {
      if (c != 5) {
        some.columns.push_back(data->blocks[1].sources[static_cast<size_t>(c)]);
      }
    }
    EXPECT_LE(DifferenceOfTrainingAndPrediction(data, MakeSpec(KernelType::kGaussian, "x", 1e-6)),
              1e-13)
        << columns << " columns";
    EXPECT_LE(DifferenceOfTrainingAndPrediction(data, some), 1e-13) << columns << " columns";
  }
}

// Squared distances of the points 0, 1/2, 1/2, 1 of which the two equal ones are `rounded` apart;
// those of the ends `span` apart.
std::shared_ptr<PreparedData> PointsOnALine(double rounded, double span) {
  RowMatrix distances(4, 4);
  distances << 0, 0.25, 0.25, span, 0.25, 0, rounded, 0.25, 0.25, rounded, 0, 0.25, span, 0.25,
      0.25, 0;
  auto data = std::make_shared<PreparedData>();
  data->rows = 4;
  data->squares.push_back({"D", SquareKind::kDistance, SharedMatrix(distances)});
  return data;
}

TEST(CrossKernelsTest, TrainingAndPredictionAcceptTheSameDistances) {
  const KernelSpec kernel = MakeSpec(KernelType::kDistance, "D");
  RunContext context;
  for (const auto& [rounded, span, accepted] :
       {std::tuple(-0.9e-8, 1.0, true), std::tuple(-1.1e-8, 1.0, false),
        std::tuple(-0.9e-8, 1e6, true), std::tuple(-1e-6, 1e6, false)}) {
    const auto data = PointsOnALine(rounded, span);
    const auto family = MakeExactKernelFamily(data, {}, {kernel}, context);
    const auto cross = CrossKernels::Make(data, {kernel}, {});
    ASSERT_TRUE(cross.ok()) << cross.status();
    Matrix values(4, 4);
    const absl::Status predicted = CombineKernels(*cross, *data, Vector::Ones(1), values, context);
    EXPECT_EQ(family.ok(), accepted) << rounded << " of " << span;
    EXPECT_EQ(predicted.ok(), accepted) << rounded << " of " << span;
    if (accepted && predicted.ok()) {
      EXPECT_EQ(values(1, 2), 1.0) << "rounding is a distance of 0";
    }
  }
}

TEST(CrossKernelsTest, MissingBlocksAndWrongWidthsAreNamed) {
  const auto basis = MixedData(20, 5);
  auto cross = CrossKernels::Make(
      basis, {MakeSpec(KernelType::kGaussian, "x"), MakeSpec(KernelType::kPrecomputed, "K")}, {});
  ASSERT_TRUE(cross.ok()) << cross.status();
  RunContext context;
  Matrix out(20, 20);
  PreparedData without = *basis;
  without.squares.clear();
  const absl::Status missing = CombineKernels(*cross, without, Vector::Ones(2), out, context);
  ASSERT_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(GetFieldViolations(missing).size(), 1U);
  EXPECT_EQ(GetFieldViolations(missing)[0].field, "kernels[1].block");
  EXPECT_TRUE(CombineKernels(*cross, without, Vector::Unit(2, 0), out, context).ok())
      << "weight zero: not read";
  PreparedData narrow = *basis;
  narrow.squares[0].values = SharedMatrix(RandomRows(20, 19, 1));
  EXPECT_EQ(CombineKernels(*cross, narrow, Vector::Ones(2), out, context).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(CrossKernels::Make(basis, {MakeSpec(KernelType::kGaussian, "nowhere")}, {}).ok());
}

TEST(CrossKernelsTest, BadValuesOfNewRowsAreNamedFromOne) {
  const auto basis = MixedData(20, 2);
  KernelSpec unit = MakeSpec(KernelType::kLinear, "x");
  unit.normalization.unit_diagonal = true;
  const auto cross = CrossKernels::Make(
      basis, {MakeSpec(KernelType::kDistance, "D"), MakeSpec(KernelType::kChiSquare, "h"), unit},
      {});
  ASSERT_TRUE(cross.ok()) << cross.status();
  PreparedData bad = *basis;
  RowMatrix distances = bad.squares[1].values.view();
  distances(6, 2) = -1.0;
  bad.squares[1].values = SharedMatrix(distances);
  RowMatrix histograms = bad.blocks[1].values.view();
  histograms(6, 0) = -0.5;
  bad.blocks[1].values = SharedMatrix(histograms);
  RowMatrix values = bad.blocks[0].values.view();
  values.row(6).setZero();
  bad.blocks[0].values = SharedMatrix(values);
  RunContext context;
  Matrix out(20, 20);
  for (const auto& [kernel, reason] :
       {std::pair(0, "NEGATIVE_VALUE"), std::pair(1, "NEGATIVE_VALUE"),
        std::pair(2, "ZERO_DIAGONAL")}) {
    const absl::Status status = CombineKernels(*cross, bad, Vector::Unit(3, kernel), out, context);
    EXPECT_EQ(GetReason(status), reason) << status;
    EXPECT_NE(status.message().find("row 7"), std::string::npos) << status;
  }
}

// k_k(x_i, z_j) of all kernels for the rows [begin, end) of `bound`, rows x basis rows, and whether all else written is finite.
std::vector<Matrix> ValuesOfRows(const BoundCrossKernels& bound, Index begin, Index end,
                                 Index num_kernels, Index num_basis) {
  const Index rows = end - begin;
  std::vector<double> values(static_cast<size_t>(num_kernels * rows * bound.stride()), NAN);
  bound.Values(begin, end, values.data(), RunContext());
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
      << "rows from " << begin;
  std::vector<Matrix> result;
  for (Index k = 0; k < num_kernels; ++k) {
    result.push_back(RowMatrix::Map(values.data() + k * rows * bound.stride(), rows, bound.stride())
                         .leftCols(num_basis));
  }
  return result;
}

TEST(CrossKernelsTest, BoundValuesEqualTheDefinitionOfEachKernel) {
  const auto training = MixedData(kBasisRows, 5);
  const std::vector<Index> selected = {4, 250, 17, 0, 299, 31, 32, 100, 101, 7, 8};
  auto basis = std::make_shared<PreparedData>(SelectRows(*training, selected));
  basis->squares.clear();
  const std::vector<KernelSpec> kernels = UnscaledKernels();
  const auto m = static_cast<Index>(kernels.size());
  const auto cross = CrossKernels::Make(basis, kernels, selected);
  ASSERT_TRUE(cross.ok()) << cross.status();
  RunContext context;
  const auto bound = cross->Bind(*training, context);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_GE(bound->stride(), 11);
  const std::vector<Matrix> values = ValuesOfRows(*bound, 190, 263, m, 11);
  for (Index k = 0; k < m; ++k) {
    const KernelSpec& spec = kernels[static_cast<size_t>(k)];
    for (Index j = 0; j < 11; ++j) {
      const Index row = selected[static_cast<size_t>(j)];
      for (Index i = 190; i < 263; ++i) {
        long double expected = RawKernel(spec, *training, i, *training, row);
        if (spec.normalization.unit_diagonal) {
          expected /= std::sqrt(RawKernel(spec, *training, i, *training, i) *
                                RawKernel(spec, *training, row, *training, row));
        }
        EXPECT_NEAR(values[static_cast<size_t>(k)](i - 190, j), static_cast<double>(expected),
                    1e-12 * std::abs(static_cast<double>(expected)) + 1e-11)
            << "kernel " << k << ": " << i << ", " << j;
      }
    }
  }
}

TEST(CrossKernelsTest, BoundValuesOfARowHaveTheSameBitsAloneAndInABatch) {
  const auto data = MixedData(kBasisRows, 5);
  const auto m = static_cast<Index>(UnscaledKernels().size());
  const auto cross = CrossKernels::Make(data, UnscaledKernels(), {});
  ASSERT_TRUE(cross.ok()) << cross.status();
  RunContext context;
  const auto bound = cross->Bind(*data, context);
  ASSERT_TRUE(bound.ok()) << bound.status();
  const std::vector<Matrix> batch = ValuesOfRows(*bound, 0, kBasisRows, m, kBasisRows);
  for (const Index row : {0, 31, 131, 299}) {
    const std::vector<Matrix> alone = ValuesOfRows(*bound, row, row + 1, m, kBasisRows);
    for (size_t k = 0; k < alone.size(); ++k) {
      EXPECT_TRUE((alone[k].array() == batch[k].row(row).array()).all())
          << "kernel " << k << ", row " << row;
    }
  }
}

// What is left of one source's values beside the columns of a square block must not overflow in its kernel.
TEST(CrossKernelsTest, BoundValuesBeyondTheBasisAreFinite) {
  auto data = MixedData(9, 3);
  data->blocks.push_back(MakeBlock("large", 1e4 * RandomRows(9, 3, 4)));
  const std::vector<KernelSpec> kernels = {
      MakeSpec(KernelType::kLinear, "large"), MakeSpec(KernelType::kDistance, "D", 1e-3),
      MakeSpec(KernelType::kEuclidean, "x", 1e-3), MakeSpec(KernelType::kPrecomputed, "K")};
  const auto cross = CrossKernels::Make(data, kernels, {});
  ASSERT_TRUE(cross.ok()) << cross.status();
  RunContext context;
  const auto bound = cross->Bind(*data, context);
  ASSERT_TRUE(bound.ok()) << bound.status();
  ValuesOfRows(*bound, 0, 9, 4, 9);
}

TEST(CrossKernelsTest, BindNamesWhatTheRowsLack) {
  const auto basis = MixedData(20, 5);
  KernelSpec unit = MakeSpec(KernelType::kLinear, "x");
  unit.normalization.unit_diagonal = true;
  const auto cross = CrossKernels::Make(
      basis, {MakeSpec(KernelType::kChiSquare, "h"), unit, MakeSpec(KernelType::kPrecomputed, "K")},
      {});
  ASSERT_TRUE(cross.ok()) << cross.status();
  RunContext context;
  PreparedData without = *basis;
  without.squares.clear();
  const absl::Status missing = cross->Bind(without, context).status();
  ASSERT_EQ(GetFieldViolations(missing).size(), 1U) << missing;
  EXPECT_EQ(GetFieldViolations(missing)[0].field, "kernels[2].block");
  PreparedData zero = *basis;
  RowMatrix values = zero.blocks[0].values.view();
  values.row(6).setZero();
  zero.blocks[0].values = SharedMatrix(values);
  EXPECT_EQ(GetReason(cross->Bind(zero, context).status()), "ZERO_DIAGONAL");
  PreparedData negative = *basis;
  RowMatrix histograms = negative.blocks[1].values.view();
  histograms(6, 0) = -0.5;
  negative.blocks[1].values = SharedMatrix(histograms);
  EXPECT_EQ(GetReason(cross->Bind(negative, context).status()), "NEGATIVE_VALUE");
  const CancellationToken token;
  token.Cancel();
  RunContext cancelled(token, 1, nullptr);
  EXPECT_TRUE(absl::IsCancelled(cross->Bind(*basis, cancelled).status()));
}

// 40,000 kernels of a column each took 1.8 s, in which nobody looked at cancellation: all columns were looked through for each.
TEST(CrossKernelsTest, ManyKernelsFindTheirColumnsAtOnce) {
  constexpr Index kColumns = 1000;
  const auto data = std::make_shared<PreparedData>();
  data->rows = 2;
  data->blocks.push_back(MakeBlock("x", RandomRows(2, kColumns, 3)));
  std::vector<KernelSpec> kernels;
  for (Index k = 0; k < 40'000; ++k) {
    kernels.push_back(MakeSpec(KernelType::kGaussian, "x"));
    kernels.back().columns = {"x" + std::to_string(k % kColumns)};
  }
  const auto make = [&](RunContext& context) -> absl::Status {
    const auto cross = CrossKernels::Make(data, kernels, {}, context);
    return cross.ok() ? cross->Bind(*data, context).status() : cross.status();
  };
  EXPECT_LE(WholeWork(make), kMostWorkAfterCancel);
  RunContext cancelled(CancellationToken(), 1, nullptr);
  cancelled.cancellation().Cancel();
  EXPECT_TRUE(absl::IsCancelled(make(cancelled)));
}

TEST(SourceFinderTest, ColumnsAreThoseOfTheBlocksInTheirOrder) {
  PreparedData data;
  data.rows = 3;
  data.blocks.push_back(MakeBlock("x", RandomRows(3, 3, 1)));
  data.blocks.push_back(MakeBlock("y", RandomRows(3, 2, 2)));
  data.blocks[1].sources[1] = "x1";  // a name in both
  const SourceFinder finder(data);
  const auto columns = [&](const std::string& block, const std::vector<std::string>& names) {
    KernelSpec spec = MakeSpec(KernelType::kGaussian, block);
    spec.columns = names;
    const absl::StatusOr<KernelSource> source = finder.Find(spec);
    return source.ok() ? source->columns : std::vector<std::pair<Index, Index>>();
  };
  using Places = std::vector<std::pair<Index, Index>>;
  EXPECT_EQ(columns("", {}), (Places{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}}));
  EXPECT_EQ(columns("y", {}), (Places{{1, 0}, {1, 1}}));
  EXPECT_EQ(columns("", {"x2", "x1", "x2"}), (Places{{0, 1}, {0, 2}, {1, 1}}));
  EXPECT_EQ(columns("y", {"x1"}), (Places{{1, 1}}));
  EXPECT_EQ(columns("y", {"x2"}), Places{});
  EXPECT_EQ(columns("z", {}), Places{});
}

}  // namespace
}  // namespace mercer
