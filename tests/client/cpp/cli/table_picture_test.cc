#include "client/cpp/cli/table_picture.h"

#include <gtest/gtest.h>

namespace mercer::client {
namespace {

v1::ModelVersion Covariance() {
  v1::ModelVersion model;
  model.add_tables()->set_name("ranking");
  v1::ModelTable& table = *model.add_tables();
  table.set_drawing(v1::TABLE_DRAWING_HEAT_MAP);
  table.mutable_values()->set_rows(2);
  table.mutable_values()->set_columns(2);
  for (const double value : {4.0, -2.0, -4.0, 0.0}) {
    table.mutable_values()->add_values(value);
  }
  return model;
}

TEST(TablePictureTest, GreyIsZeroAndTheLargestMagnitudeIsBlackOrWhite) {
  const absl::StatusOr<GrayImage> image = DrawHeatMap(Covariance());
  ASSERT_TRUE(image.ok()) << image.status();
  ASSERT_EQ(image->rows, 32);
  ASSERT_EQ(image->columns, 32);
  const auto pixel = [&](Index row, Index column) {
    return image->pixels[static_cast<size_t>(row * image->columns + column)];
  };
  EXPECT_EQ(pixel(0, 0), 255);
  EXPECT_EQ(pixel(15, 15), 255);
  EXPECT_EQ(pixel(0, 16), 64);
  EXPECT_EQ(pixel(31, 0), 0);
  EXPECT_EQ(pixel(31, 31), 128);
}

TEST(TablePictureTest, AModelWithoutOneSaysSo) {
  v1::ModelVersion model;
  model.add_tables()->set_name("ranking");
  EXPECT_TRUE(absl::IsFailedPrecondition(DrawHeatMap(model).status()));
}

TEST(TablePictureTest, NumbersThatDoNotFitAreAnError) {
  v1::ModelVersion model = Covariance();
  model.mutable_tables(1)->mutable_values()->set_rows(int64_t{1} << 40);
  EXPECT_TRUE(absl::IsInternal(DrawHeatMap(model).status()));
}

}  // namespace
}  // namespace mercer::client
