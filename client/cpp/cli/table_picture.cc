#include "client/cpp/cli/table_picture.h"

#include <algorithm>
#include <cmath>

namespace mercer::client {
namespace {

constexpr Index kMostPixels = 4096;  // of a side, which smaller squares keep to
constexpr Index kLargestSquare = 16;
constexpr double kGrey = 127.5;

}  // namespace

absl::StatusOr<GrayImage> DrawHeatMap(const v1::ModelVersion& model) {
  const auto found =
      std::find_if(model.tables().begin(), model.tables().end(), [](const v1::ModelTable& table) {
        return table.drawing() == v1::TABLE_DRAWING_HEAT_MAP && table.values().values_size() > 0;
      });
  if (found == model.tables().end()) {
    return absl::FailedPreconditionError(
        "--picture: draws Gabor filters, or a table that is a heat map, and this model has "
        "neither");
  }
  const v1::Matrix& values = found->values();
  const Index rows = values.rows();
  const Index columns = values.columns();
  if (rows < 1 || columns < 1 || rows > kMostPixels || columns > kMostPixels ||
      values.values_size() != rows * columns) {
    return absl::InternalError("the server's answer holds a table that does not fit its rows");
  }
  const Index square = std::clamp(kMostPixels / std::max(rows, columns), Index{1}, kLargestSquare);
  double largest = 0;
  for (const double value : values.values()) {
    largest = std::max(largest, std::abs(value));
  }
  GrayImage image;
  image.rows = rows * square;
  image.columns = columns * square;
  image.pixels.reserve(static_cast<size_t>(image.rows * image.columns));
  for (Index i = 0; i < image.rows; ++i) {
    for (Index j = 0; j < image.columns; ++j) {
      const double value = values.values(static_cast<int>(i / square * columns + j / square)) /
                           (largest > 0 ? largest : 1);
      image.pixels.push_back(static_cast<uint16_t>(std::lround(kGrey * (1 + value))));
    }
  }
  return image;
}

}  // namespace mercer::client
