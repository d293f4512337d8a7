#include "core/data/image_patches.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "core/base/errors.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"

namespace mercer {
namespace {

// One direction of the grid of places: `count` of them from `first` on, patches of `size` pixels.
struct GridSide {
  Index first = 0;
  Index count = 0;
  Index size = 0;
};

struct PatchGrid {
  GridSide rows;
  GridSide columns;

  Index count() const { return rows.count * columns.count; }
};

// What one direction of an image and a spec says.
struct SideSpec {
  std::string place;  // "row"
  std::string side;   // "rows"
  Index image = 0;
  Index start = 0;
  Index region = 0;
  Index patch = 0;
};

GridSide MakeSide(const SideSpec& spec, Index stride, FieldViolations& violations) {
  const auto& [place, side, image, start, region, patch] = spec;
  if (!violations.Check(start >= 0 && start < image, absl::StrCat("region.", place),
                        absl::StrCat("must be in 0 .. ", image - 1, ", is ", start)) ||
      !violations.Check(
          region >= 0 && region <= image - start, absl::StrCat("region.", side),
          absl::StrCat("must be in 0 .. ", image - start, " from there, is ", region))) {
    return {};
  }
  const Index within = region > 0 ? region : image - start;
  if (!violations.Check(patch >= 0 && patch <= within, side,
                        absl::StrCat("a patch must fit into the region's ", within, " ", side,
                                     ", has ", patch))) {
    return {};
  }
  const Index size = patch > 0 ? patch : within;
  return {start, (within - size) / std::max<Index>(1, stride) + 1, size};
}

absl::StatusOr<PatchGrid> MakeGrid(const PatchSpec& spec, Index image_rows, Index image_columns) {
  FieldViolations violations;
  PatchGrid grid;
  const ImageRegion& region = spec.region;
  grid.rows = MakeSide({"row", "rows", image_rows, region.row, region.rows, spec.rows}, spec.stride,
                       violations);
  grid.columns =
      MakeSide({"column", "columns", image_columns, region.column, region.columns, spec.columns},
               spec.stride, violations);
  violations.Check(spec.stride >= 1, "stride", absl::StrCat("must be >= 1, is ", spec.stride));
  violations.Check(spec.count >= 0, "count", absl::StrCat("must be >= 0, is ", spec.count));
  if (violations.empty()) {
    violations.Check(spec.count <= grid.count(), "count",
                     absl::StrCat("there are ", grid.count(), " places, fewer than ", spec.count));
  }
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return grid;
}

// `count` different numbers below `bound`, ascending (Floyd's algorithm).
std::vector<Index> DrawPlaces(Index bound, Index count, uint64_t seed, uint64_t number) {
  RandomStream stream(seed, "image-patches", number);
  absl::flat_hash_set<Index> drawn;
  for (Index last = bound - count; last < bound; ++last) {
    const auto place = static_cast<Index>(stream.Below(static_cast<uint64_t>(last) + 1));
    if (!drawn.insert(place).second) {
      drawn.insert(last);
    }
  }
  std::vector<Index> places(drawn.begin(), drawn.end());
  std::sort(places.begin(), places.end());
  return places;
}

// The patches of all images together, and their size.
struct PatchTotals {
  Index patches = 0;
  Index rows = 0;
  Index columns = 0;
};

absl::StatusOr<PatchTotals> CountAll(absl::Span<const LabelledImage> images, const PatchSpec& spec,
                                     size_t max_bytes) {
  FieldViolations violations;
  violations.Check(!images.empty(), "images", "there must be at least one");
  PatchTotals totals;
  for (size_t i = 0; i < images.size(); ++i) {
    const std::string name = absl::StrCat("images[", i, "]");
    const auto grid = MakeGrid(spec, images[i].image.rows, images[i].image.columns);
    if (!grid.ok()) {
      violations.AddAll(name, grid.status());
      continue;
    }
    if (totals.patches == 0) {
      totals.rows = grid->rows.size;
      totals.columns = grid->columns.size;
    }
    violations.Check(grid->rows.size == totals.rows && grid->columns.size == totals.columns, name,
                     absl::StrCat("has ", grid->rows.size, " x ", grid->columns.size,
                                  " pixels, those before it ", totals.rows, " x ", totals.columns));
    totals.patches += spec.count > 0 ? spec.count : grid->count();
  }
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  const size_t row_bytes =
      std::max<size_t>(1, static_cast<size_t>(totals.rows * totals.columns)) * sizeof(double);
  if (static_cast<size_t>(totals.patches) > max_bytes / row_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(totals.patches, " patches take more than ", max_bytes, " bytes of memory"));
  }
  return totals;
}

void CopyPatch(const GrayImage& image, const PatchPlace& place, const PatchTotals& size,
               double* target) {
  for (Index row = 0; row < size.rows; ++row) {
    const uint16_t* pixels = image.pixels.data() + (place.row + row) * image.columns + place.column;
    target = std::copy_n(pixels, size.columns, target);
  }
}

FeatureBlock PixelBlock(const PatchTotals& size, RowMatrix values) {
  FeatureBlock block;
  block.name = "pixels";
  for (Index row = 1; row <= size.rows; ++row) {
    for (Index column = 1; column <= size.columns; ++column) {
      block.columns.push_back({absl::StrCat("pixel_", row, "_", column), false, {}});
    }
  }
  block.values = SharedMatrix(std::move(values));
  return block;
}

// The code of `label`, which is added when it is new.
double LabelCode(const std::string& label, std::vector<std::string>& categories) {
  const auto found = std::find(categories.begin(), categories.end(), label);
  const auto code = static_cast<double>(found - categories.begin());
  if (found == categories.end()) {
    categories.push_back(label);
  }
  return code;
}

}  // namespace

absl::StatusOr<Index> PatchCount(const PatchSpec& spec, Index image_rows, Index image_columns) {
  MERCER_ASSIGN_OR_RETURN(const PatchGrid grid, MakeGrid(spec, image_rows, image_columns));
  return spec.count > 0 ? spec.count : grid.count();
}

absl::StatusOr<std::vector<PatchPlace>> PatchPlaces(const PatchSpec& spec, Index image_rows,
                                                    Index image_columns, uint64_t number) {
  MERCER_ASSIGN_OR_RETURN(const PatchGrid grid, MakeGrid(spec, image_rows, image_columns));
  const auto place = [&](Index i) {
    return PatchPlace{grid.rows.first + i / grid.columns.count * spec.stride,
                      grid.columns.first + i % grid.columns.count * spec.stride};
  };
  std::vector<PatchPlace> places;
  if (spec.count > 0) {
    for (const Index i : DrawPlaces(grid.count(), spec.count, spec.seed, number)) {
      places.push_back(place(i));
    }
    return places;
  }
  places.reserve(static_cast<size_t>(grid.count()));
  for (Index i = 0; i < grid.count(); ++i) {
    places.push_back(place(i));
  }
  return places;
}

absl::StatusOr<Dataset> MakePatchDataset(absl::Span<const LabelledImage> images,
                                         const PatchSpec& spec, std::string_view target_name,
                                         size_t max_bytes) {
  MERCER_ASSIGN_OR_RETURN(const PatchTotals totals, CountAll(images, spec, max_bytes));
  RowMatrix values(totals.patches, totals.rows * totals.columns);
  RoleColumn target;
  target.schema.name = std::string(target_name);
  target.schema.categorical = true;
  target.values.resize(totals.patches);
  Index row = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    const GrayImage& image = images[i].image;
    const double code = LabelCode(images[i].label, target.schema.categories);
    MERCER_ASSIGN_OR_RETURN(const std::vector<PatchPlace> places,
                            PatchPlaces(spec, image.rows, image.columns, i));
    for (const PatchPlace& place : places) {
      CopyPatch(image, place, totals, values.data() + row * values.cols());
      target.values(row) = code;
      ++row;
    }
  }
  Dataset dataset;
  dataset.rows = totals.patches;
  dataset.blocks.push_back(PixelBlock(totals, std::move(values)));
  if (!target_name.empty()) {
    dataset.role_columns.push_back(std::move(target));
  }
  return dataset;
}

}  // namespace mercer
