#include "core/io/images/image_patches.h"

#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/data/table/dataset.h"
#include "tests/support/field_violation.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

using testing::HasSubstr;

// Pixel (row, column) is 100 row + column.
GrayImage Numbered(Index rows, Index columns) {
  GrayImage image;
  image.rows = rows;
  image.columns = columns;
  image.maximum = 65535;
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < columns; ++column) {
      image.pixels.push_back(static_cast<uint16_t>(100 * row + column));
    }
  }
  return image;
}

PatchSpec Squares(Index size, Index stride = 1) {
  PatchSpec spec;
  spec.rows = size;
  spec.columns = size;
  spec.stride = stride;
  return spec;
}

struct LabelledImage {
  std::string label;
  GrayImage image;
};

// What is said of images before they are read; "0", "1", ... are their names.
class Entries {
 public:
  explicit Entries(const std::vector<LabelledImage>& images) {
    for (size_t i = 0; i < images.size(); ++i) {
      names_.push_back(std::to_string(i));
    }
    for (size_t i = 0; i < images.size(); ++i) {
      const auto& [label, image] = images[i];
      entries_.push_back({names_[i], label, {image.rows, image.columns}});
    }
  }
  const std::vector<ImageEntry>& get() const { return entries_; }

 private:
  std::vector<std::string> names_;
  std::vector<ImageEntry> entries_;
};

absl::StatusOr<Dataset> MakeDataset(const std::vector<LabelledImage>& images, const PatchSpec& spec,
                                    const std::string& target_name) {
  const Entries entries(images);
  return MakePatchDataset(entries.get(), spec, {target_name, ""},
                          [&](size_t i) { return images[i].image; });
}

TEST(ImagePatchesTest, AGridHasEveryPlaceWhereAPatchFits) {
  const auto places = PatchPlaces(Squares(2), 3, 4, 0);
  ASSERT_TRUE(places.ok());
  EXPECT_EQ(*places, (std::vector<PatchPlace>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
  EXPECT_EQ(*PatchPlaces(Squares(2, 2), 3, 5, 0), (std::vector<PatchPlace>{{0, 0}, {0, 2}}));
  EXPECT_EQ(*PatchPlaces(Squares(2, 100), 3, 5, 0), (std::vector<PatchPlace>{{0, 0}}));
  EXPECT_EQ(PatchPlaces(Squares(16), 300, 300, 0)->size(), 285U * 285U);
}

TEST(ImagePatchesTest, ARegionHoldsItsPatches) {
  PatchSpec spec = Squares(2);
  spec.region = {1, 2, 3, 2};
  EXPECT_EQ(*PatchPlaces(spec, 10, 10, 0), (std::vector<PatchPlace>{{1, 2}, {2, 2}}));
  spec.region = {8, 7, 0, 0};
  EXPECT_EQ(*PatchPlaces(spec, 10, 10, 0), (std::vector<PatchPlace>{{8, 7}, {8, 8}}));
}

TEST(ImagePatchesTest, APatchOfTheWholeImageIsItsOnlyOne) {
  for (const auto& [rows, columns] : {std::pair<Index, Index>{5, 7}, {7, 5}, {1, 1}}) {
    PatchSpec spec;
    spec.rows = 0;
    spec.columns = 0;
    EXPECT_EQ(*PatchPlaces(spec, rows, columns, 0), (std::vector<PatchPlace>{{0, 0}}));
    spec.rows = rows;
    spec.columns = columns;
    EXPECT_EQ(*PatchPlaces(spec, rows, columns, 0), (std::vector<PatchPlace>{{0, 0}}));
  }
}

TEST(ImagePatchesTest, LargerPatchesThanTheImageAreRefused) {
  for (const auto& [rows, columns] : {std::pair<Index, Index>{15, 300}, {300, 15}, {1, 1}}) {
    const absl::Status status = PatchPlaces(Squares(16), rows, columns, 0).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Violation(status, "rows") != "", rows < 16);
    EXPECT_EQ(Violation(status, "columns") != "", columns < 16);
  }
  PatchSpec spec = Squares(3);
  spec.region = {0, 0, 2, 5};
  EXPECT_NE(Violation(PatchPlaces(spec, 10, 10, 0).status(), "rows"), "");
}

TEST(ImagePatchesTest, RefusesWhatLiesBeyondTheImage) {
  PatchSpec spec = Squares(1);
  spec.region = {10, 0, 0, 0};
  EXPECT_NE(Violation(PatchPlaces(spec, 10, 10, 0).status(), "region.row"), "");
  spec.region = {0, -1, 0, 0};
  EXPECT_NE(Violation(PatchPlaces(spec, 10, 10, 0).status(), "region.column"), "");
  spec.region = {4, 0, 7, 0};
  EXPECT_NE(Violation(PatchPlaces(spec, 10, 10, 0).status(), "region.rows"), "");
  spec.region = {0, 0, 0, -1};
  EXPECT_NE(Violation(PatchPlaces(spec, 10, 10, 0).status(), "region.columns"), "");
  spec = Squares(-1, 0);
  spec.count = -1;
  const absl::Status status = PatchPlaces(spec, 10, 10, 0).status();
  for (const std::string field : {"rows", "columns", "stride", "count"}) {
    EXPECT_NE(Violation(status, field), "") << field;
  }
}

TEST(ImagePatchesTest, RandomPlacesAreDifferentAndAFunctionOfTheSeed) {
  PatchSpec spec = Squares(3, 2);
  spec.count = 40;
  spec.seed = 7;
  const auto places = PatchPlaces(spec, 30, 21, 0);
  ASSERT_TRUE(places.ok());
  ASSERT_EQ(places->size(), 40U);
  std::set<std::pair<Index, Index>> different;
  for (const PatchPlace& place : *places) {
    EXPECT_TRUE(place.row % 2 == 0 && place.row <= 27) << place.row;
    EXPECT_TRUE(place.column % 2 == 0 && place.column <= 18) << place.column;
    different.insert({place.row, place.column});
  }
  EXPECT_EQ(different.size(), 40U);
  EXPECT_EQ(*PatchPlaces(spec, 30, 21, 0), *places);
  EXPECT_NE(*PatchPlaces(spec, 30, 21, 1), *places);
  spec.seed = 8;
  EXPECT_NE(*PatchPlaces(spec, 30, 21, 0), *places);
  spec.count = 14 * 10;
  PatchSpec grid = spec;
  grid.count = 0;
  EXPECT_EQ(*PatchPlaces(spec, 30, 21, 0), *PatchPlaces(grid, 30, 21, 0)) << "all there are";
  spec.count = 14 * 10 + 1;
  EXPECT_NE(Violation(PatchPlaces(spec, 30, 21, 0).status(), "count"), "");
}

TEST(ImagePatchesTest, EveryPlaceIsAsLikely) {
  PatchSpec spec = Squares(1);
  spec.count = 3;
  std::vector<int> drawn(10, 0);
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    spec.seed = seed;
    const auto places = PatchPlaces(spec, 2, 5, 0);
    ASSERT_TRUE(places.ok());
    for (const PatchPlace& place : *places) {
      ++drawn[static_cast<size_t>(5 * place.row + place.column)];
    }
  }
  for (const int count : drawn) {
    EXPECT_NEAR(count, 600, 4.5 * 20.5);  // standard deviation sqrt(2000 * 0.3 * 0.7) = 20.5
  }
}

TEST(ImagePatchesTest, ADataSetHasOneRowForEachPatch) {
  const std::vector<LabelledImage> images = {
      {"sand", Numbered(3, 3)}, {"grass", Numbered(2, 4)}, {"sand", Numbered(2, 2)}};
  const auto dataset = MakeDataset(images, Squares(2), "texture");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_TRUE(ValidateDataset(*dataset).ok());
  EXPECT_EQ(dataset->rows, 4 + 3 + 1);
  const FeatureBlock& block = dataset->blocks[0];
  EXPECT_EQ(block.name, "pixels");
  ASSERT_EQ(block.columns.size(), 4U);
  EXPECT_EQ(block.columns[2].name, "pixel_2_1");
  RowMatrix expected(8, 4);
  expected << 0, 1, 100, 101, 1, 2, 101, 102, 100, 101, 200, 201, 101, 102, 201, 202,  //
      0, 1, 100, 101, 1, 2, 101, 102, 2, 3, 102, 103, 0, 1, 100, 101;
  EXPECT_EQ(RowMatrix(block.values.view()), expected);
  const RoleColumn* target = dataset->FindColumn(ColumnRole::kTarget);
  ASSERT_NE(target, nullptr);
  EXPECT_EQ(target->schema.name, "texture");
  EXPECT_EQ(target->schema.categories, (std::vector<std::string>{"sand", "grass"}));
  Vector codes(8);
  codes << 0, 0, 0, 0, 1, 1, 1, 0;
  EXPECT_EQ(target->values, codes);
}

TEST(ImagePatchesTest, WholeImagesWithoutLabelsAreRowsToPredict) {
  PatchSpec spec = Squares(0);
  const auto dataset = MakeDataset({{"", Numbered(2, 3)}, {"", Numbered(2, 3)}}, spec, "");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows, 2);
  EXPECT_EQ(dataset->blocks[0].values.cols(), 6);
  EXPECT_TRUE(dataset->role_columns.empty());
}

TEST(ImagePatchesTest, TheNamesOfTheImagesGroupTheirPatches) {
  const std::vector<LabelledImage> images = {{"a", Numbered(2, 3)}, {"a", Numbered(2, 2)}};
  const Entries entries(images);
  const auto dataset = MakePatchDataset(entries.get(), Squares(2), {"", "image"},
                                        [&](size_t i) { return images[i].image; });
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ(dataset->role_columns.size(), 1U);
  const RoleColumn& group = dataset->role_columns[0];
  EXPECT_EQ(group.role, ColumnRole::kGroup);
  EXPECT_EQ(group.schema.name, "image");
  EXPECT_EQ(group.schema.categories, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(group.values, (Vector(3) << 0, 0, 1).finished());
}

TEST(ImagePatchesTest, NamesTheImageThatDoesNotFit) {
  const absl::Status small =
      MakeDataset({{"a", Numbered(9, 9)}, {"b", Numbered(9, 3)}}, Squares(4), "y").status();
  EXPECT_THAT(Violation(small, "patch.columns"), HasSubstr("image '1': "));
  EXPECT_EQ(Violation(small, "patch.rows"), "");
  const absl::Status differing =
      MakeDataset({{"a", Numbered(3, 2)}, {"b", Numbered(3, 2)}, {"b", Numbered(2, 3)}}, Squares(0),
                  "y")
          .status();
  EXPECT_THAT(Violation(differing, "files[2]"), HasSubstr("image '2' has 2 x 3 pixels"));
  EXPECT_EQ(GetFieldViolations(differing).size(), 1U);
  EXPECT_NE(Violation(MakeDataset({}, Squares(1), "y").status(), "files"), "");
}

TEST(ImagePatchesTest, ReadsEachImageOnceInItsOrderUntilOneFails) {
  const std::vector<LabelledImage> images = {
      {"a", Numbered(2, 2)}, {"b", Numbered(2, 2)}, {"a", Numbered(2, 2)}};
  const Entries entries(images);
  std::vector<size_t> read;
  const auto read_until = [&](size_t bad) {
    read.clear();
    return MakePatchDataset(
        entries.get(), Squares(2), {"y", ""}, [&](size_t i) -> absl::StatusOr<GrayImage> {
          read.push_back(i);
          return i == bad ? absl::StatusOr<GrayImage>(ImageError("damaged")) : images[i].image;
        });
  };
  EXPECT_TRUE(read_until(3).ok());
  EXPECT_EQ(read, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(read_until(1).status(), ImageError("damaged"));
  EXPECT_EQ(read, (std::vector<size_t>{0, 1}));
}

TEST(ImagePatchesTest, AnImageOfAnotherSizeThanAnnouncedIsRefused) {
  const std::vector<LabelledImage> images = {{"a", Numbered(3, 3)}};
  const Entries entries(images);
  EXPECT_EQ(
      MakePatchDataset(entries.get(), Squares(2), {"y", ""}, [](size_t) { return Numbered(2, 3); })
          .status()
          .code(),
      absl::StatusCode::kInternal);
}

TEST(ImagePatchesTest, TotalsAreThoseOfTheDataSet) {
  const std::vector<LabelledImage> images = {{"a", Numbered(9, 7)}, {"b", Numbered(5, 4)}};
  PatchSpec spec = Squares(3, 2);
  spec.columns = 2;
  const auto totals = CountPatches(Entries(images).get(), spec);
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(totals->patches, 4 * 3 + 2 * 2);
  EXPECT_EQ(totals->pixels(), 6);
  EXPECT_EQ(MakeDataset(images, spec, "y")->rows, totals->patches);
  spec.count = 4;
  EXPECT_EQ(CountPatches(Entries(images).get(), spec)->patches, 8);
}

// 2^20 images of which each pixel is a row, and one whose patches are as wide as it is.
TEST(ImagePatchesTest, AbsurdTotalsDoNotWrapRound) {
  const std::vector<ImageEntry> many(size_t{1} << 20, {"a", "", {1 << 13, 1 << 14}});
  const auto totals = CountPatches(many, Squares(1));
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(totals->patches, int64_t{1} << 47);
  EXPECT_GE(totals->bytes, int64_t{1} << 51);
  const std::vector<ImageEntry> wide = {{"a", "", {1 << 13, 1 << 14}}};
  EXPECT_GE(CountPatches(wide, Squares(1 << 12))->bytes, int64_t{1} << 50);
  EXPECT_EQ(
      CountPatches(std::vector<ImageEntry>(size_t{1} << 14, wide[0]), Squares(1 << 12))->bytes,
      int64_t{1} << 62);
}

TEST(ImagePatchesTest, TakesNoMoreMemoryThanItSays) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP();
  }
  PatchSpec whole = Squares(0);
  PatchSpec drawn = Squares(1);
  drawn.count = 1'000'000;
  for (const auto& [spec, rows, columns, images] : {std::tuple(Squares(16, 4), 400, 600, 3),
                                                    {Squares(1), 1000, 2000, 2},
                                                    {drawn, 1500, 1500, 2},
                                                    {whole, 1000, 500, 2}}) {
    const std::vector<ImageEntry> entries(static_cast<size_t>(images), {"a", "y", {rows, columns}});
    const auto totals = CountPatches(entries, spec);
    ASSERT_TRUE(totals.ok());
    const int64_t growth = PeakGrowth([&, rows = rows, columns = columns, spec = spec] {
      return MakePatchDataset(entries, spec, {"y", "g"},
                              [&](size_t) { return Numbered(rows, columns); })
          .ok();
    });
    ASSERT_GT(growth, 0);
    EXPECT_LE(growth, totals->bytes + kCodeAndStacks) << rows;
  }
}

}  // namespace
}  // namespace mercer
