#include "core/features/feature_family_spec.h"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/core/features/feature_test_data.h"
#include "tests/support/field_violation.h"

namespace mercer {
namespace {

FeatureFamilySpec Range() {
  FeatureFamilySpec spec;
  spec.bandwidth_draw = BandwidthDraw::kUniform;
  spec.min_bandwidth = 5;
  spec.max_bandwidth = 100;
  return spec;
}

TEST(FeatureFamilySpecTest, BandwidthsMustBePositive) {
  EXPECT_TRUE(CheckFeatureFamilySpec(FeatureFamilySpec()).ok());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -1.0, kInfinity, nan}) {
    FeatureFamilySpec spec;
    spec.bandwidths = {1.0, bad};
    EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "bandwidths[1]"), "") << bad;
    spec = Range();
    spec.min_bandwidth = bad;
    EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "min_bandwidth"), "") << bad;
  }
  FeatureFamilySpec spec;
  spec.bandwidths.clear();
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "bandwidths"), "");
}

TEST(FeatureFamilySpecTest, ARangeMustNotBeEmpty) {
  FeatureFamilySpec spec = Range();
  EXPECT_TRUE(CheckFeatureFamilySpec(spec).ok());
  spec.max_bandwidth = 5;
  EXPECT_TRUE(CheckFeatureFamilySpec(spec).ok());
  for (const double bad : {4.9, kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    spec.max_bandwidth = bad;
    EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "max_bandwidth"), "") << bad;
  }
}

TEST(FeatureFamilySpecTest, CandidatesAreAtLeastOneAndBounded) {
  FeatureFamilySpec spec = Range();
  spec.bandwidths_per_round = 0;
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "bandwidths_per_round"), "");
  spec.bandwidths_per_round = 20;
  for (const int64_t bad : {int64_t{0}, int64_t{-3}, kMaxCandidatesPerRound + 1}) {
    spec.candidates_per_bandwidth = bad;
    EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "candidates_per_bandwidth"), "") << bad;
  }
  spec.candidates_per_bandwidth = 5000;
  EXPECT_TRUE(CheckFeatureFamilySpec(spec).ok());
  spec.candidates_per_bandwidth = 5001;
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "candidates_per_bandwidth"), "");
}

TEST(FeatureFamilySpecTest, UnknownWordsAreRefused) {
  FeatureFamilySpec spec;
  spec.kind = static_cast<FeatureFamilyKind>(9);
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "kind"), "");
  spec = FeatureFamilySpec();
  spec.kernel = static_cast<FourierKernel>(9);
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "kernel"), "");
  spec = FeatureFamilySpec();
  spec.bandwidth_draw = static_cast<BandwidthDraw>(9);
  EXPECT_NE(Violation(CheckFeatureFamilySpec(spec), "bandwidth_draw"), "");
}

TEST(FeatureFamilySpecTest, NoInputsMakeNoFeatures) {
  EXPECT_EQ(MakeFeatureFamily(FeatureFamilySpec(), 0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// A value that no field has by default.
FeatureFamilySpec Unusual() {
  FeatureFamilySpec spec;
  spec.kind = FeatureFamilyKind::kGabor;
  spec.kernel = FourierKernel::kLaplacian;
  spec.bandwidth_draw = BandwidthDraw::kLogUniform;
  spec.bandwidths = {0.5, 7.0};
  spec.min_bandwidth = 0.1;
  spec.max_bandwidth = 0.2;
  spec.bandwidths_per_round = 3;
  spec.candidates_per_bandwidth = 4;
  spec.patch_size = 9;
  spec.positions_per_side = 5;
  spec.positions = {{1, 2}, {3, 4}};
  spec.subtract_patch_mean = false;
  spec.min_scale = 1.5;
  spec.max_scale = 2.5;
  spec.min_frequency = 0.03;
  spec.max_frequency = 0.4;
  spec.candidates = 6;
  return spec;
}

// The bytes of Unusual() by docs/formats/model.md, with these positions.
std::string EncodedUnusual(const std::vector<Index>& positions) {
  ByteWriter writer;
  writer.WriteUint8(1);  // Gabor
  writer.WriteUint8(1);  // Laplacian
  writer.WriteUint8(2);  // drawn from a uniform logarithm
  writer.WriteDoubles({0.5, 7.0});
  writer.WriteDouble(0.1);
  writer.WriteDouble(0.2);
  for (const int64_t count : {3, 4, 9, 5}) {
    writer.WriteInt64(count);
  }
  writer.WriteIndices(positions);
  writer.WriteBool(false);
  for (const double value : {1.5, 2.5, 0.03, 0.4}) {
    writer.WriteDouble(value);
  }
  writer.WriteInt64(6);
  return std::move(writer).Take();
}

TEST(FeatureFamilySpecTest, SavedFormIsThatOfTheFormat) {
  const std::string bytes = EncodedUnusual({1, 2, 3, 4});
  EXPECT_EQ(SaveFields(Unusual()), bytes);
  FeatureFamilySpec read;
  ASSERT_TRUE(LoadFields(bytes, read));
  EXPECT_EQ(read, Unusual());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(LoadFields(std::string_view(bytes).substr(0, size), read)) << size;
  }
  for (const size_t word : {0U, 1U, 2U}) {
    std::string damaged = bytes;
    damaged[word] = 3;
    EXPECT_FALSE(LoadFields(damaged, read)) << word;
  }
  EXPECT_FALSE(LoadFields(EncodedUnusual({1, 2, 3}), read));
}

// What a request says of another kind is kept, be it out of range.
TEST(FeatureFamilySpecTest, FieldsOfOtherKindsMayHoldAnything) {
  FeatureFamilySpec columns;
  columns.kind = FeatureFamilyKind::kColumns;
  columns.candidates = -1;
  ASSERT_EQ(CheckFeatureFamilySpec(columns), absl::OkStatus());
  FeatureFamilySpec read;
  ASSERT_TRUE(LoadFields(SaveFields(columns), read));
  EXPECT_EQ(read, columns);
}

TEST(ColumnFamilyTest, DrawsEachColumnOfTheDataInEveryRound) {
  const auto family = Columns(3);
  EXPECT_TRUE(family->is_finite());
  const std::vector<FeatureParameters> expected = {{0.0}, {1.0}, {2.0}};
  EXPECT_EQ(Drawn(*family, 1, 0), expected);
  EXPECT_EQ(Drawn(*family, 2, 5), expected);
  const RowMatrix rows = NormalRows(4, 3, 1);
  Matrix out(4, 2);
  family->Bind({{2.0}, {0.0}})->Evaluate(rows, out);
  EXPECT_EQ(Vector(out.col(0)), Vector(rows.col(2)));
  EXPECT_EQ(Vector(out.col(1)), Vector(rows.col(0)));
  SingleMatrix single(4, 1);
  family->Bind({{1.0}})->Evaluate(rows, single);
  EXPECT_EQ(single(3, 0), static_cast<float>(rows(3, 1)));
}

TEST(ColumnFamilyTest, RefusesColumnsThatAreNotThere) {
  const auto family = Columns(3);
  EXPECT_TRUE(family->CheckParameters({2.0}).ok());
  for (const double bad : {3.0, -1.0, 0.5, kInfinity, std::nan("")}) {
    EXPECT_FALSE(family->CheckParameters({bad}).ok()) << bad;
  }
  EXPECT_FALSE(family->CheckParameters({}).ok());
  EXPECT_FALSE(family->CheckParameters({1.0, 2.0}).ok());
}

TEST(DictionaryFamilyTest, DrawsItsGroupsAndNothingElse) {
  const std::vector<FeatureParameters> groups = {{1.0, 0.5}, {2.0, -0.25}};
  const auto family = MakeDictionary(Fourier(1), groups);
  ASSERT_TRUE(family.ok());
  EXPECT_TRUE((*family)->is_finite());
  EXPECT_EQ((*family)->name(), "fourier");
  EXPECT_EQ(Drawn(**family, 1, 1), groups);
  EXPECT_EQ(Drawn(**family, 9, 7), groups);
  Matrix out(1, 4);
  (*family)->Bind(groups)->Evaluate(RowMatrix::Constant(1, 1, 2.0), out);
  EXPECT_NEAR(out(0, 0), std::cos(1.0), 1e-15);
  EXPECT_NEAR(out(0, 3), std::sin(-0.5), 1e-15);
}

TEST(DictionaryFamilyTest, NamesWrongGroups) {
  EXPECT_NE(Violation(MakeDictionary(Fourier(1), {}).status(), "groups"), "");
  EXPECT_NE(Violation(MakeDictionary(Fourier(1), {{1.0, 0.5}, {1.0}}).status(), "groups[1]"), "");
}

}  // namespace
}  // namespace mercer
