// Patches of grayscale images as rows of data: those on a grid of places, or some at random places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/types.h"
#include "core/data/dataset.h"
#include "core/data/gray_image.h"

namespace mercer {

// A rectangle of pixels; `row` and `column` of its first one count from 0. rows or columns 0: up to the image's end.
struct ImageRegion {
  Index row = 0;
  Index column = 0;
  Index rows = 0;
  Index columns = 0;
};

struct PatchSpec {
  // Of a patch, in pixels; each 0: the whole region, which makes one row of an image.
  Index rows = 16;
  Index columns = 16;
  // Patches lie within it.
  ImageRegion region;
  // Distance of a patch from the next one on the grid, in pixels, >= 1.
  Index stride = 1;
  // > 0: so many patches at different random places of the grid, in the grid's order; 0: all of it.
  Index count = 0;
  uint64_t seed = 0;
};

// The first pixel of a patch.
struct PatchPlace {
  Index row = 0;
  Index column = 0;

  friend bool operator==(const PatchPlace&, const PatchPlace&) = default;
};

// How many patches an image has. Errors: as of PatchPlaces.
absl::StatusOr<Index> PatchCount(const PatchSpec& spec, Index image_rows, Index image_columns);

// The places of an image's patches, row by row. `number` is the image's number among those of a data set: each has random places of
// its own. Errors: kInvalidArgument naming the fields of the spec, for a region beyond the image, a patch that is larger than the
// region, more patches than there are places.
absl::StatusOr<std::vector<PatchPlace>> PatchPlaces(const PatchSpec& spec, Index image_rows,
                                                    Index image_columns, uint64_t number);

struct LabelledImage {
  std::string label;
  GrayImage image;
};

// One row for each patch, its pixels row by row in the block "pixels" with columns "pixel_1_1", "pixel_1_2", ..., image after image.
// The images' labels become the categorical target column `target_name`, unless that is empty. Errors: those of PatchPlaces with the
// image's number (from 1); whole images of different sizes; no image. Numbers of more than `max_bytes` are kResourceExhausted.
absl::StatusOr<Dataset> MakePatchDataset(absl::Span<const LabelledImage> images,
                                         const PatchSpec& spec, std::string_view target_name,
                                         size_t max_bytes = std::numeric_limits<size_t>::max());

}  // namespace mercer
