// Patches of grayscale images as rows of data: those on a grid of places, or some at random places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/data/table/dataset.h"
#include "core/io/images/gray_image.h"

namespace mercer {

// A rectangle of pixels; `row` and `column` of its first one count from 0. rows or columns 0: up to
// the image's end.
struct ImageRegion {
  Index row = 0;
  Index column = 0;
  Index rows = 0;
  Index columns = 0;
};

struct PatchSpec {
  // The size of a patch in pixels. Where it is 0, the patch is as large as the whole region, which
  // makes one row of an image.
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

// The places of an image's patches, row by row. `number` is the image's number among those of a
// data set: each has random places of its own. Errors: kInvalidArgument naming the fields of the
// spec, for a region beyond the image, a patch that is larger than the region, more patches than
// there are places.
absl::StatusOr<std::vector<PatchPlace>> PatchPlaces(const PatchSpec& spec, Index image_rows,
                                                    Index image_columns, uint64_t number);

// An image of a data set before its pixels are read. The texts outlive it.
struct ImageEntry {
  std::string_view name;
  std::string_view label;
  ImageSize size;
};

// What the patches of some images make together.
struct PatchTotals {
  Index patches = 0;
  Index rows = 0;  // of each patch, in pixels
  Index columns = 0;
  // How much memory MakePatchDataset takes of it at most, in bytes; at most 2^62 is said.
  int64_t bytes = 0;

  Index pixels() const { return rows * columns; }
};

// Errors: kInvalidArgument, `patch.<field of the spec>` with the name of an image that it does not
// suit; `files[i]` for an image of another size than the first one, where patches are whole images;
// `files` for none.
absl::StatusOr<PatchTotals> CountPatches(absl::Span<const ImageEntry> images,
                                         const PatchSpec& spec);

// Reads the pixels of the image at this position of the list.
using ImageReader = std::function<absl::StatusOr<GrayImage>(size_t position)>;

// Names of the categorical columns beside the pixels; with an empty name there is no such column.
struct PatchColumnNames {
  std::string_view target;  // that of the images' labels, which has the role target
  // That of the images' names, which has the role group: the patches of an image belong together.
  std::string_view group;
};

// One row for each patch, its pixels row by row in the block "pixels" with columns "pixel_1_1",
// "pixel_1_2", ..., image after image. `read` is called once for each image, in their order; one
// image at a time is in memory. Errors: those of CountPatches and `read`; kInternal when an image
// is not of the size that was said.
absl::StatusOr<Dataset> MakePatchDataset(absl::Span<const ImageEntry> images, const PatchSpec& spec,
                                         const PatchColumnNames& names, const ImageReader& read);

}  // namespace mercer
