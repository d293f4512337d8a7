#include "client/cpp/cli/filter_picture.h"

#include <gtest/gtest.h>

namespace mercer::client {
namespace {

// Filters on patches of 16 x 16 pixels with a weight of one output each.
v1::ModelVersion ModelOf(const std::vector<std::vector<double>>& filters,
                         const std::vector<double>& weights) {
  v1::ModelVersion model;
  v1::FeatureTerm& term = *model.mutable_function()->add_feature_terms();
  term.mutable_gabor()->set_patch_size(16);
  v1::Matrix& parameters = *term.mutable_gabor()->mutable_filters();
  parameters.set_rows(static_cast<int64_t>(filters.size()));
  parameters.set_columns(4);
  for (const std::vector<double>& filter : filters) {
    parameters.mutable_values()->Add(filter.begin(), filter.end());
  }
  v1::Matrix& of_features = *model.mutable_feature_weights()->mutable_weights();
  of_features.set_rows(static_cast<int64_t>(weights.size()));
  of_features.set_columns(1);
  of_features.mutable_values()->Add(weights.begin(), weights.end());
  return model;
}

// A wave of period 8 along the rows of the patch, which changes sign every 4 pixels: 16 of the picture.
TEST(FilterPictureTest, WavesRunAsTheirAngleSays) {
  const absl::StatusOr<GrayImage> image = DrawFilters(ModelOf({{1e3, 1e3, 0.125, 0}}, {1}));
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->rows, 64);
  EXPECT_EQ(image->columns, 64);
  EXPECT_GT(image->pixel(32, 5), 250);
  EXPECT_LT(image->pixel(16, 5), 5);
  EXPECT_LT(image->pixel(48, 60), 5);
  for (Index row = 0; row < 64; ++row) {
    EXPECT_EQ(image->pixel(row, 0), image->pixel(row, 63));
  }
  // A Gaussian window leaves grey at the border.
  const absl::StatusOr<GrayImage> narrow = DrawFilters(ModelOf({{1, 1, 0.125, 0}}, {1}));
  ASSERT_TRUE(narrow.ok()) << narrow.status();
  EXPECT_NEAR(narrow->pixel(0, 0), 128, 1);
}

TEST(FilterPictureTest, TheMostImportantComesFirst) {
  const std::vector<double> flat = {1e3, 1e3, 0, 0};    // white
  const std::vector<double> window = {0.5, 0.5, 0, 0};  // grey but for its middle
  const absl::StatusOr<GrayImage> image = DrawFilters(ModelOf({window, flat, window}, {0.1, 2, 1}));
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->rows, 132);
  EXPECT_EQ(image->columns, 132);
  EXPECT_EQ(image->pixel(0, 0), 255);
  EXPECT_NEAR(image->pixel(0, 68), 128, 1);
  EXPECT_NEAR(image->pixel(68, 0), 128, 1);
  EXPECT_EQ(image->pixel(100, 100), 255) << "nothing is drawn there";
}

TEST(FilterPictureTest, OtherModelsAreRefused) {
  EXPECT_EQ(DrawFilters(v1::ModelVersion()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(DrawFilters(ModelOf({{1, 1, 1}}, {1})).status().code(), absl::StatusCode::kInternal);
}

TEST(FilterPictureTest, PngFilesReadBackAsTheyWere) {
  const absl::StatusOr<GrayImage> image = DrawFilters(ModelOf({{2, 3, 0.2, 1}}, {1}));
  ASSERT_TRUE(image.ok()) << image.status();
  const absl::StatusOr<std::string> file = EncodePng(*image);
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<GrayImage> read = ReadGrayImage(*file);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->rows, image->rows);
  EXPECT_EQ(read->pixels, image->pixels);
}

}  // namespace
}  // namespace mercer::client
