#include "core/kernels/spec/kernel_spec.h"

#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/kernels/gram/kernel_grid.h"
#include "core/kernels/spec/kernel_formula.h"
#include "tests/core/kernels/kernel_test_data.h"

namespace mercer {
namespace {

std::vector<std::string> Fields(const absl::Status& status) {
  std::vector<std::string> fields;
  for (const FieldViolation& violation : GetFieldViolations(status)) {
    fields.push_back(violation.field);
  }
  return fields;
}

// The bytes of docs/formats/model.md.
std::string Encoded(const KernelSpec& spec, uint8_t type, int64_t degree, uint8_t scaling) {
  ByteWriter writer;
  writer.WriteUint8(type);
  writer.WriteDouble(spec.bandwidth);
  writer.WriteInt64(degree);
  writer.WriteDouble(spec.scale);
  writer.WriteDouble(spec.offset);
  writer.WriteString(spec.block);
  writer.WriteStrings(spec.columns);
  writer.WriteBool(spec.normalization.unit_diagonal);
  writer.WriteUint8(scaling);
  return std::move(writer).Take();
}

TEST(KernelSpecTest, SavedSpecsAreThoseOfTheFormat) {
  std::vector<KernelSpec> specs = MixedKernels();
  specs[0].degree = 7;
  specs[0].scale = 0.1;
  specs[0].offset = 0.3;
  for (const KernelSpec& spec : specs) {
    const std::string bytes = Encoded(spec, static_cast<uint8_t>(spec.type), spec.degree,
                                      static_cast<uint8_t>(spec.normalization.scaling));
    EXPECT_EQ(SaveFields(spec), bytes) << KernelName(spec);
    KernelSpec read;
    ASSERT_TRUE(LoadFields(bytes, read));
    EXPECT_EQ(read, spec) << KernelName(spec);
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(LoadFields(std::string_view(bytes).substr(0, length), read))
          << "cut after " << length << " bytes";
    }
  }
}

// Models and requests hold these numbers.
TEST(KernelSpecTest, TheNumbersOfKernelsNeverChange) {
  const std::vector<std::string_view> names = {
      "linear",    "polynomial",  "gaussian", "laplacian", "chi_square",
      "euclidean", "precomputed", "distance", "hellinger", "intersection"};
  ASSERT_GE(AllFormulas().size(), names.size());
  for (size_t k = 0; k < names.size(); ++k) {
    EXPECT_EQ(KernelTypeName(static_cast<KernelType>(k)), names[k]);
  }
}

TEST(KernelSpecTest, TheKernelsOfTheTestsHaveEveryType) {
  std::set<KernelType> types;
  for (const KernelSpec& spec : MixedKernels()) {
    types.insert(spec.type);
  }
  EXPECT_EQ(types.size(), AllFormulas().size());
}

TEST(KernelSpecTest, DamagedSpecsAreRefused) {
  const auto refused = [](uint8_t type, int64_t degree, uint8_t scaling) {
    KernelSpec read;
    return !LoadFields(Encoded(KernelSpec(), type, degree, scaling), read);
  };
  const auto last = static_cast<uint8_t>(AllFormulas().size() - 1);
  EXPECT_FALSE(refused(last, std::numeric_limits<int>::max(), 4));
  EXPECT_TRUE(refused(static_cast<uint8_t>(last + 1), 3, 4));
  EXPECT_TRUE(refused(last, -1, 4));
  EXPECT_TRUE(refused(last, int64_t{1} << 32, 4));
  EXPECT_TRUE(refused(last, 3, 5));
}

TEST(KernelSpecTest, NamesTellKernelsApart) {
  std::vector<KernelSpec> specs = MixedKernels();
  specs.push_back(specs[0]);
  specs.back().bandwidth = std::nextafter(specs[0].bandwidth, 1.0);
  std::set<std::string> names;
  for (const KernelSpec& spec : specs) {
    names.insert(KernelName(spec));
  }
  EXPECT_EQ(names.size(), specs.size());
  EXPECT_EQ(KernelName(MakeSpec(KernelType::kGaussian, "", 1.5)), "gaussian(bandwidth=1.5)");
  EXPECT_EQ(KernelName(MakeSpec(KernelType::kLinear, "")), "linear");
}

TEST(KernelSpecTest, ParametersOutOfRangeAreNamed) {
  for (const double bandwidth : {0.0, -1.0, kInfinity, std::nan("")}) {
    EXPECT_EQ(Fields(ValidateKernelSpec(MakeSpec(KernelType::kLaplacian, "", bandwidth))),
              std::vector<std::string>{"bandwidth"})
        << bandwidth;
    EXPECT_TRUE(ValidateKernelSpec(MakeSpec(KernelType::kLinear, "", bandwidth)).ok())
        << "not used by the linear kernel";
  }
  KernelSpec polynomial = MakeSpec(KernelType::kPolynomial, "");
  polynomial.degree = 21;
  polynomial.scale = 0;
  polynomial.offset = -1;
  EXPECT_EQ(Fields(ValidateKernelSpec(polynomial)),
            (std::vector<std::string>{"degree", "scale", "offset"}));
  KernelSpec square = MakeSpec(KernelType::kPrecomputed, "K");
  square.normalization.unit_diagonal = true;
  square.columns = {"a"};
  EXPECT_EQ(Fields(ValidateKernelSpec(square)),
            (std::vector<std::string>{"columns", "normalization.unit_diagonal"}));
}

class KernelGridTest : public testing::Test {
 protected:
  std::vector<KernelSpec> Expand(const std::vector<KernelGrid>& grids) {
    auto kernels = ExpandKernels(grids, *data_, {}, 1, context_);
    EXPECT_TRUE(kernels.ok()) << kernels.status();
    return kernels.ok() ? *kernels : std::vector<KernelSpec>();
  }
  absl::Status Refused(const std::vector<KernelGrid>& grids) {
    return ExpandKernels(grids, *data_, {}, 1, context_).status();
  }

  std::shared_ptr<PreparedData> data_ = MixedData(50, 2);
  RunContext context_;
};

TEST_F(KernelGridTest, ColumnSetsTimesBandwidthsInOrder) {
  KernelGrid grid;
  grid.prototype = MakeSpec(KernelType::kGaussian, "x");
  grid.per_column = true;
  grid.bandwidths = {0.5, 2.0};
  const std::vector<KernelSpec> kernels = Expand({grid});
  ASSERT_EQ(kernels.size(), 10U);
  EXPECT_EQ(kernels[0].columns, std::vector<std::string>{"x0"});
  EXPECT_EQ(kernels[0].bandwidth, 0.5);
  EXPECT_EQ(kernels[1].bandwidth, 2.0);
  EXPECT_EQ(kernels[9].columns, std::vector<std::string>{"x4"});
}

TEST_F(KernelGridTest, LogSpacedBandwidthsHaveEqualRatiosAndExactEnds) {
  KernelGrid grid;
  grid.prototype = MakeSpec(KernelType::kGaussian, "x");
  grid.rule = BandwidthRule::kLogSpaced;
  grid.min_bandwidth = 0.1;
  grid.max_bandwidth = 100.0;
  grid.count = 50;
  const std::vector<KernelSpec> kernels = Expand({grid});
  ASSERT_EQ(kernels.size(), 50U);
  EXPECT_EQ(kernels.front().bandwidth, 0.1);
  EXPECT_EQ(kernels.back().bandwidth, 100.0);
  for (size_t i = 1; i < kernels.size(); ++i) {
    EXPECT_NEAR(kernels[i].bandwidth / kernels[i - 1].bandwidth, std::pow(1000.0, 1.0 / 49), 1e-12);
  }
}

TEST_F(KernelGridTest, MedianMultiplesUseTheKernelsOwnDistance) {
  for (const KernelType type :
       {KernelType::kGaussian, KernelType::kLaplacian, KernelType::kEuclidean}) {
    KernelGrid grid;
    grid.prototype = MakeSpec(type, "x");
    grid.rule = BandwidthRule::kMedianMultiples;
    grid.bandwidths = {1.0, 4.0};
    const std::vector<KernelSpec> kernels = Expand({grid});
    std::vector<double> distances;
    const auto x = data_->blocks[0].values.view();
    for (Index i = 0; i < 50; ++i) {
      for (Index j = 0; j < i; ++j) {
        const auto difference = x.row(i) - x.row(j);
        distances.push_back(type == KernelType::kLaplacian ? difference.lpNorm<1>()
                                                           : difference.norm());
      }
    }
    std::sort(distances.begin(), distances.end());
    ASSERT_EQ(distances.size() % 2, 1U);
    ASSERT_EQ(kernels.size(), 2U);
    EXPECT_NEAR(kernels[0].bandwidth, distances[distances.size() / 2], 1e-13);
    EXPECT_NEAR(kernels[1].bandwidth, 4.0 * distances[distances.size() / 2], 1e-12);
  }
}

TEST_F(KernelGridTest, MedianOfManyRowsIsAFixedSample) {
  data_ = MixedData(2500, 3);
  KernelGrid grid;
  grid.prototype = MakeSpec(KernelType::kGaussian, "x");
  grid.rule = BandwidthRule::kMedianMultiples;
  grid.bandwidths = {1.0};
  const std::vector<KernelSpec> first = Expand({grid});
  const std::vector<KernelSpec> second = Expand({grid});
  EXPECT_EQ(first, second);
  // The median distance of five standard normal columns: root of twice the median of chi-square
  // with 5 degrees of freedom.
  EXPECT_NEAR(first[0].bandwidth, std::sqrt(2.0 * 4.351), 0.05);
}

// The rows left out are far away: one of them among the sample would show.
TEST_F(KernelGridTest, MedianOfSomeRowsIsThatOfTheseRowsAsATable) {
  for (const Index count : {50, 2600}) {
    data_ = MixedData(count, 3);
    RowMatrix values = data_->blocks[0].values.view();
    std::vector<Index> rows;
    for (Index row = 0; row < count; ++row) {
      if (row % 8 == 3) {
        values.row(row).array() += 1e6;
      } else {
        rows.push_back(row);
      }
    }
    data_->blocks[0].values = SharedMatrix(std::move(values));
    for (const KernelType type : {KernelType::kGaussian, KernelType::kDistance}) {
      KernelGrid grid;
      grid.prototype = MakeSpec(type, type == KernelType::kGaussian ? "x" : "D");
      grid.rule = BandwidthRule::kMedianMultiples;
      const auto some = ExpandKernels({grid}, *data_, rows, 1, context_);
      const auto table = ExpandKernels({grid}, SelectRows(*data_, rows, rows), {}, 1, context_);
      ASSERT_TRUE(some.ok()) << some.status();
      ASSERT_TRUE(table.ok()) << table.status();
      EXPECT_EQ(*some, *table);
    }
  }
}

TEST_F(KernelGridTest, MedianMultiplesMayBeARange) {
  KernelGrid range;
  range.prototype = MakeSpec(KernelType::kGaussian, "x");
  range.rule = BandwidthRule::kMedianMultiples;
  range.min_bandwidth = 0.25;
  range.max_bandwidth = 4;
  range.count = 3;
  EXPECT_EQ(NumBandwidths(range), 3U);
  KernelGrid list;
  list.prototype = range.prototype;
  list.rule = BandwidthRule::kMedianMultiples;
  list.bandwidths = {0.25, 1, 4};
  const std::vector<KernelSpec> spaced = Expand({range});
  const std::vector<KernelSpec> listed = Expand({list});
  ASSERT_EQ(spaced.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(spaced[i].bandwidth / listed[i].bandwidth, 1.0, 1e-15);
  }
  range.count = 0;
  EXPECT_EQ(Fields(Refused({range})), std::vector<std::string>{"kernels[0].count"});
  range.count = 2;
  range.max_bandwidth = 0.1;
  EXPECT_EQ(Fields(Refused({range})), std::vector<std::string>{"kernels[0].max_bandwidth"});
}

// Five of 50 rows differ from the others by 3: 225 of the 1225 distances are 3, the rest 0.
TEST_F(KernelGridTest, WhereMostPairsAreEqualTheMedianIsThatOfTheOthers) {
  RowMatrix values = RowMatrix::Ones(50, 5);
  values.col(2).head(5).array() += 3.0;
  data_->blocks[0].values = SharedMatrix(std::move(values));
  KernelGrid grid;
  grid.prototype = MakeSpec(KernelType::kGaussian, "x");
  grid.rule = BandwidthRule::kMedianMultiples;
  const std::vector<KernelSpec> kernels = Expand({grid});
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].bandwidth, 3.0);
}

TEST_F(KernelGridTest, AColumnOfEqualRowsHasNoKernelOfItsOwn) {
  RowMatrix values = data_->blocks[0].values.view();
  values.col(1).setConstant(7.0);
  data_->blocks[0].values = SharedMatrix(values);
  KernelGrid grid;
  grid.prototype = MakeSpec(KernelType::kGaussian, "x");
  grid.rule = BandwidthRule::kMedianMultiples;
  grid.bandwidths = {0.5, 1.0};
  grid.per_column = true;
  const std::vector<std::string>& names = data_->blocks[0].sources;
  std::vector<std::string> found;
  for (const KernelSpec& kernel : Expand({grid})) {
    found.push_back(kernel.columns.front());
  }
  EXPECT_EQ(found, (std::vector<std::string>{names[0], names[0], names[2], names[2], names[3],
                                             names[3], names[4], names[4]}));
  data_->blocks[0].values = SharedMatrix(RowMatrix(RowMatrix::Ones(50, 5)));
  EXPECT_EQ(Fields(Refused({grid})), std::vector<std::string>{"kernels[0].bandwidths"});
}

TEST_F(KernelGridTest, MedianOfEqualRowsIsAnError) {
  data_->blocks[0].values = SharedMatrix(RowMatrix(RowMatrix::Ones(50, 5)));
  KernelGrid grid;
  grid.prototype = MakeSpec(KernelType::kGaussian, "x");
  grid.rule = BandwidthRule::kMedianMultiples;
  for (const bool per_column : {false, true}) {
    grid.per_column = per_column;
    const absl::Status status = Refused({grid});
    EXPECT_EQ(GetReason(status), "ZERO_MEDIAN") << status;
    EXPECT_EQ(Fields(status), std::vector<std::string>{"kernels[0].bandwidths"});
  }
}

TEST_F(KernelGridTest, MedianOfHistogramsWithANegativeEntryNamesIt) {
  RowMatrix values = RowMatrix::Ones(50, 5);
  values(3, 1) = -1;
  data_->blocks[0].values = SharedMatrix(std::move(values));
  KernelGrid grid;
  grid.prototype = MakeSpec(KernelType::kChiSquare, "x");
  grid.rule = BandwidthRule::kMedianMultiples;
  const absl::Status status = Refused({grid});
  EXPECT_EQ(GetReason(status), "NEGATIVE_VALUE") << status;
  EXPECT_EQ(Fields(status), std::vector<std::string>{"kernels[0].bandwidths"});
  EXPECT_EQ(GetErrorMetadata(status).front(), (std::pair<std::string, std::string>("row", "4")));
}

TEST_F(KernelGridTest, MedianOfDistancesThatAreNotSquareIsAnError) {
  data_->squares[1].values = SharedMatrix(RandomRows(50, 3, 1, true));
  KernelGrid grid;
  grid.prototype = MakeSpec(KernelType::kDistance, "D");
  grid.rule = BandwidthRule::kMedianMultiples;
  const absl::Status status = Refused({grid});
  EXPECT_NE(status.message().find("must be square"), std::string::npos) << status;
}

TEST_F(KernelGridTest, EveryBadFieldIsNamed) {
  KernelGrid list;
  list.prototype = MakeSpec(KernelType::kGaussian, "x");
  list.bandwidths = {1.0, -2.0};
  KernelGrid spaced = list;
  spaced.rule = BandwidthRule::kLogSpaced;
  spaced.min_bandwidth = 2.0;
  spaced.max_bandwidth = 1.0;
  KernelGrid linear = list;
  linear.prototype.type = KernelType::kLinear;
  KernelGrid elsewhere;
  elsewhere.prototype = MakeSpec(KernelType::kGaussian, "nowhere");
  const std::vector<std::string> expected = {"kernels[0].bandwidths[1]", "kernels[1].max_bandwidth",
                                             "kernels[1].count", "kernels[2].bandwidths",
                                             "kernels[3].block"};
  EXPECT_EQ(Fields(Refused({list, spaced, linear, elsewhere})), expected);
}

TEST_F(KernelGridTest, NoKernelAndTooManyKernelsAreRefused) {
  EXPECT_EQ(Fields(Refused({})), std::vector<std::string>{"kernels"});
  KernelGrid grid;
  grid.prototype = MakeSpec(KernelType::kGaussian, "x");
  grid.rule = BandwidthRule::kLogSpaced;
  grid.min_bandwidth = 0.1;
  grid.max_bandwidth = 1.0;
  grid.count = 1'000'000;
  EXPECT_EQ(Fields(Refused({grid})), std::vector<std::string>{"kernels"});
  grid.count = 99'999;
  KernelGrid one;
  one.prototype = MakeSpec(KernelType::kLinear, "x");
  EXPECT_EQ(Expand({grid, one}).size(), kMaxKernels);
  EXPECT_FALSE(Refused({grid, one, one}).ok());
}

}  // namespace
}  // namespace mercer
