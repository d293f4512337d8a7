#include "core/kernels/spec/kernel_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/spec/kernel_errors.h"
#include "tests/core/kernels/kernel_test_data.h"

namespace mercer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

KernelGrid NamedGaussians(const std::string& name, const std::vector<double>& bandwidths) {
  KernelGrid grid;
  grid.prototype = MakeSpec(KernelType::kGaussian, "x");
  grid.prototype.labels.name = name;
  grid.bandwidths = bandwidths;
  return grid;
}

absl::StatusOr<std::vector<KernelSpec>> Expanded(const std::vector<KernelGrid>& grids) {
  RunContext context;
  return ExpandKernels(grids, *MixedData(50, 2), {}, 1, context);
}

std::vector<std::string> NamesOf(const std::vector<KernelGrid>& grids) {
  const absl::StatusOr<std::vector<KernelSpec>> kernels = Expanded(grids);
  EXPECT_TRUE(kernels.ok()) << kernels.status();
  std::vector<std::string> names;
  for (const KernelSpec& kernel : kernels.ok() ? *kernels : std::vector<KernelSpec>()) {
    names.push_back(KernelName(kernel));
  }
  return names;
}

TEST(KernelLabelsTest, OneKernelHasTheNameAndSeveralHaveWhatTellsThemApart) {
  EXPECT_THAT(NamesOf({NamedGaussians("hue", {0.5})}), ElementsAre("hue"));
  EXPECT_THAT(NamesOf({NamedGaussians("hue", {0.5, 2})}),
              ElementsAre("hue(bandwidth=0.5)", "hue(bandwidth=2)"));
  EXPECT_THAT(NamesOf({NamedGaussians("", {0.5, 2})}),
              ElementsAre("gaussian(bandwidth=0.5, block=x)", "gaussian(bandwidth=2, block=x)"));
  KernelGrid grid = NamedGaussians("hue", {0.5});
  grid.prototype.columns = {"x1", "x3"};
  EXPECT_THAT(NamesOf({grid}), ElementsAre("hue"));
  grid.per_column = true;
  EXPECT_THAT(NamesOf({grid}), ElementsAre("hue(columns=x1)", "hue(columns=x3)"));
  grid.bandwidths = {1, 4};
  EXPECT_THAT(NamesOf({grid}),
              ElementsAre("hue(bandwidth=1, columns=x1)", "hue(bandwidth=4, columns=x1)",
                          "hue(bandwidth=1, columns=x3)", "hue(bandwidth=4, columns=x3)"));
  grid.prototype.columns = {"x3"};
  grid.bandwidths = {1};
  EXPECT_THAT(NamesOf({grid}), ElementsAre("hue"));
}

// A name that tells a bandwidth of the data would be another one in every fold.
TEST(KernelLabelsTest, TheMedianAloneNeedsNoBandwidthInItsName) {
  KernelGrid grid = NamedGaussians("hue", {2.0});
  grid.rule = BandwidthRule::kMedianMultiples;
  EXPECT_THAT(NamesOf({grid}), ElementsAre("hue"));
}

TEST(KernelLabelsTest, NoTwoKernelsHaveOneName) {
  const auto refused = [](const std::vector<KernelGrid>& grids) {
    const absl::Status status = Expanded(grids).status();
    const std::vector<FieldViolation> violations = GetFieldViolations(status);
    EXPECT_EQ(violations.size(), 1U) << status;
    return violations.empty() ? FieldViolation() : violations[0];
  };
  const FieldViolation two = refused(
      {NamedGaussians("hue", {1}), NamedGaussians("shape", {1}), NamedGaussians("hue", {2})});
  EXPECT_EQ(two.field, "kernels[2].name");
  EXPECT_EQ(two.description,
            "two kernels would have the name 'hue', one of kernels[0] and one of kernels[2]");
  EXPECT_EQ(refused({NamedGaussians("hue", {1, 1})}).description,
            "two kernels would have the name 'hue(bandwidth=1)', one of kernels[0] and one of "
            "kernels[0]");
  // Nor that of a kernel without one, whichever comes first.
  const std::string described = "gaussian(bandwidth=1, block=x)";
  EXPECT_EQ(refused({NamedGaussians("", {1}), NamedGaussians(described, {2})}).field,
            "kernels[1].name");
  EXPECT_EQ(refused({NamedGaussians(described, {2}), NamedGaussians("", {1})}).field,
            "kernels[0].name");
  // Families of one name whose kernels differ, and equal kernels of different names.
  EXPECT_THAT(
      NamesOf({NamedGaussians("hue", {1, 2}), NamedGaussians("hue", {4, 8})}),
      ElementsAre("hue(bandwidth=1)", "hue(bandwidth=2)", "hue(bandwidth=4)", "hue(bandwidth=8)"));
  EXPECT_THAT(NamesOf({NamedGaussians("a", {1}), NamedGaussians("b", {1})}), ElementsAre("a", "b"));
}

TEST(KernelLabelsTest, EqualKernelsWithoutNamesAreNumbered) {
  const std::string described = "gaussian(bandwidth=1, block=x)";
  EXPECT_THAT(NamesOf({NamedGaussians("", {1}), NamedGaussians("", {1, 2, 1})}),
              ElementsAre(described, described + " (2)", "gaussian(bandwidth=2, block=x)",
                          described + " (3)"));
  EXPECT_THAT(NamesOf({NamedGaussians("", {1}), NamedGaussians(described + " (2)", {2}),
                       NamedGaussians("", {1})}),
              ElementsAre(described, described + " (2)", described + " (3)"));
  KernelGrid other = NamedGaussians("", {1});
  other.prototype.labels.group = "other";
  EXPECT_THAT(NamesOf({NamedGaussians("", {1}), other}),
              ElementsAre(described, described + " (2)"));
}

// A description may name thousands of columns, a name has a hundred bytes.
TEST(KernelLabelsTest, EqualKernelsOfLongDescriptionsAreNumberedByTheirType) {
  KernelGrid grid = NamedGaussians("", {1.0 / 3, 1.0 / 3, 1.0 / 7, 1.0 / 7});
  grid.prototype.columns = {"x1", "x2", "x3"};
  grid.prototype.normalization = {.unit_diagonal = true, .scaling = KernelScaling::kVariance};
  const std::vector<std::string> names = NamesOf({grid});
  ASSERT_EQ(names.size(), 4U);
  EXPECT_GT(names[0].size() + 8, kMaxLabelBytes);
  EXPECT_EQ(names[1], "gaussian (2)");
  EXPECT_EQ(names[3], "gaussian (3)");
}

TEST(KernelLabelsTest, LabelsAreShortTextsWithoutControlCharacters) {
  EXPECT_TRUE(ValidateKernelLabels({}).ok());
  EXPECT_TRUE(ValidateKernelLabels({"Größe, (1)", std::string(kMaxLabelBytes, 'g')}).ok());
  const auto fields = [](const KernelLabels& labels) {
    std::vector<std::string> found;
    for (const FieldViolation& violation : GetFieldViolations(ValidateKernelLabels(labels))) {
      found.push_back(violation.field);
    }
    return found;
  };
  const std::string long_text(kMaxLabelBytes + 1, 'g');
  EXPECT_THAT(fields({long_text, long_text}), ElementsAre("name", "group"));
  for (const std::string& text :
       {std::string("a\nb"), std::string("\x1b[2J"), std::string("a\0b", 3), std::string("\x7f"),
        std::string("\xff")}) {
    EXPECT_THAT(fields({text, ""}), ElementsAre("name"));
    EXPECT_THAT(fields({"", text}), ElementsAre("group"));
  }
  EXPECT_THAT(fields({"bias", "bias"}), ElementsAre("name"));
  KernelGrid grid = NamedGaussians(long_text, {1});
  const std::vector<FieldViolation> found = GetFieldViolations(Expanded({grid}).status());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].field, "kernels[0].name");
  EXPECT_EQ(found[0].description, "has 101 bytes, may have 100");
}

TEST(KernelLabelsTest, GroupsStandInTheOrderOfTheirFirstKernels) {
  KernelGrid colour = NamedGaussians("", {1, 2});
  colour.prototype.labels.group = "colour";
  KernelGrid shape = NamedGaussians("", {4});
  shape.prototype.labels.group = "shape";
  const KernelGrid none = NamedGaussians("", {8});
  KernelGrid more = NamedGaussians("", {16});
  more.prototype.labels.group = "colour";
  const auto kernels = Expanded({shape, colour, none, more});
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  const KernelGroups groups = GroupsOf(*kernels);
  EXPECT_THAT(groups.names, ElementsAre("shape", "colour", ""));
  EXPECT_THAT(groups.group_of, ElementsAre(0, 1, 1, 2, 1));
  const KernelGroups one = GroupsOf(MixedKernels());
  EXPECT_THAT(one.names, ElementsAre(""));
  EXPECT_EQ(one.group_of, std::vector<Index>(MixedKernels().size(), 0));
  EXPECT_EQ(GroupsOf({}).num_groups(), 0);
}

TEST(KernelLabelsTest, WhatIsSavedOfAKernelForCachesHasNoLabels) {
  KernelSpec kernel = MakeSpec(KernelType::kGaussian, "x");
  KernelSpec labelled = kernel;
  labelled.labels = {"hue", "colour"};
  EXPECT_EQ(SaveFields(labelled), SaveFields(kernel));
  EXPECT_NE(labelled, kernel);
  EXPECT_EQ(KernelName(labelled), "hue");
  EXPECT_EQ(DescribeKernel(labelled), KernelName(kernel));
}

TEST(KernelLabelsTest, ErrorsOfAKernelHaveItsName) {
  KernelSpec unit = MakeSpec(KernelType::kLinear, "x");
  unit.normalization.unit_diagonal = true;
  std::shared_ptr<PreparedData> data = MixedData(20, 2);
  data->blocks[0].values = SharedMatrix(RowMatrix(RowMatrix::Zero(20, 5)));
  RunContext context;
  const auto error = [&](const std::string& name) {
    unit.labels.name = name;
    return MakeExactKernelFamily(data, {}, {MakeSpec(KernelType::kGaussian, "x"), unit}, context)
        .status();
  };
  EXPECT_THAT(std::string(error("").message()), testing::StartsWith("kernels[1]: row 1"));
  const absl::Status named = error("hue");
  EXPECT_THAT(std::string(named.message()), testing::StartsWith("kernels[1] 'hue': row 1"));
  EXPECT_THAT(GetErrorMetadata(named), testing::Contains(testing::Pair("kernel", "kernels[1]")));
  unit.labels.group = "colours";
  EXPECT_THAT(std::string(error("hue").message()),
              testing::StartsWith("kernels[1] 'hue' of group 'colours': row 1"));
  EXPECT_THAT(std::string(error("").message()),
              testing::StartsWith("kernels[1] of group 'colours': row 1"));
}

}  // namespace
}  // namespace mercer
