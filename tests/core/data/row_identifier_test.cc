#include "core/data/table/row_identifier.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mercer {
namespace {

constexpr Index kIdentifiedRows = 600;  // more than are looked at first

FeatureBlock NumbersNamed(const std::string& name, const std::function<double(Index)>& value) {
  FeatureBlock block;
  block.columns = {{name, false, {}}};
  RowMatrix values(kIdentifiedRows, 1);
  for (Index row = 0; row < kIdentifiedRows; ++row) {
    values(row, 0) = value(row);
  }
  block.values = SharedMatrix(values);
  return block;
}

FeatureBlock TextsOf(Index different, const std::string& before, const std::string& after) {
  FeatureBlock block =
      NumbersNamed("name", [&](Index row) { return static_cast<double>(row % different); });
  block.columns[0].categorical = true;
  for (Index i = 0; i < different; ++i) {
    block.columns[0].categories.push_back(before + std::to_string(i) + after);
  }
  return block;
}

TEST(RowIdentifierTest, NumbersOfRowsAreIdentifiers) {
  const auto up = [](Index row) { return static_cast<double>(10 + 3 * row); };
  EXPECT_TRUE(LooksLikeIdentifier(NumbersNamed("x", up), 0));
  EXPECT_TRUE(LooksLikeIdentifier(NumbersNamed("x", [&](Index row) { return -up(row); }), 0));
  // In another order: without gaps to speak of, or by its name.
  const auto shuffled = [](Index row) { return static_cast<double>(row * 7 % kIdentifiedRows); };
  EXPECT_TRUE(LooksLikeIdentifier(NumbersNamed("x", shuffled), 0));
  const auto wide = [&](Index row) { return 1000 * shuffled(row); };
  EXPECT_FALSE(LooksLikeIdentifier(NumbersNamed("x", wide), 0));
  EXPECT_TRUE(LooksLikeIdentifier(NumbersNamed("customer_id", wide), 0));
}

TEST(RowIdentifierTest, RepeatedBrokenAndMissingNumbersAreNone) {
  for (const double odd : {0.0, 7.5, std::numeric_limits<double>::quiet_NaN()}) {
    for (const Index place : {Index{1}, kIdentifiedRows - 1}) {
      const auto numbers = [&](Index row) { return row == place ? odd : static_cast<double>(row); };
      EXPECT_FALSE(LooksLikeIdentifier(NumbersNamed("id", numbers), 0)) << odd << " " << place;
    }
  }
}

TEST(RowIdentifierTest, NamesOfRowsAreIdentifiersButOtherTextsAreNot) {
  EXPECT_TRUE(LooksLikeIdentifier(TextsOf(kIdentifiedRows * 9 / 10, "r", ""), 0));
  EXPECT_FALSE(LooksLikeIdentifier(TextsOf(kIdentifiedRows * 9 / 10 - 1, "r", ""), 0));
  EXPECT_FALSE(LooksLikeIdentifier(TextsOf(kIdentifiedRows, "", ",5"), 0));
  EXPECT_FALSE(LooksLikeIdentifier(TextsOf(kIdentifiedRows, "words of a customer ", ""), 0));
}

TEST(RowIdentifierTest, FewRowsAndOnlyFeaturesAreNotLookedAt) {
  Dataset dataset;
  dataset.rows = 20;
  dataset.blocks.resize(1);
  dataset.blocks[0].values = SharedMatrix(RowMatrix::Zero(20, 2));
  EXPECT_TRUE(MayHoldIdentifiers(dataset));
  dataset.rows = 19;
  EXPECT_FALSE(MayHoldIdentifiers(dataset));
  dataset.rows = 20;
  dataset.blocks[0].values = SharedMatrix(RowMatrix::Zero(20, 1));
  EXPECT_FALSE(MayHoldIdentifiers(dataset));
}

}  // namespace
}  // namespace mercer
