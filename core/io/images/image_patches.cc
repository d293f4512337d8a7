#include "core/io/images/image_patches.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"
#include "core/base/status/shorten.h"
#include "core/base/status/status_macros.h"

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
  HashSet<Index> drawn;
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

// How messages name an image: "image 'sand/1.png'".
std::string NameOf(const ImageEntry& image) {
  return absl::StrCat("image '", Shorten(image.name, kQuotedBytes), "'");
}

// Counts the patches of images, one after the other, and what they take.
class PatchCounter {
 public:
  explicit PatchCounter(const PatchSpec& spec) : spec_(spec) {}

  void Add(const ImageEntry& image) {
    const size_t position = position_++;
    const auto grid = MakeGrid(spec_, image.size.rows, image.size.columns);
    for (const FieldViolation& violation : GetFieldViolations(grid.status())) {
      violations_.Add("patch." + violation.field,
                      absl::StrCat(NameOf(image), ": ", violation.description));
    }
    if (!grid.ok()) {
      return;
    }
    if (totals_.patches == 0) {
      totals_.rows = grid->rows.size;
      totals_.columns = grid->columns.size;
    }
    if (grid->rows.size != totals_.rows || grid->columns.size != totals_.columns) {
      violations_.Add(absl::StrCat("files[", position, "]"),
                      absl::StrCat(NameOf(image), " has ", grid->rows.size, " x ",
                                   grid->columns.size, " pixels, those before it ", totals_.rows,
                                   " x ", totals_.columns, "; whole images must have one size"));
    }
    const Index patches = spec_.count > 0 ? spec_.count : grid->count();
    totals_.patches += patches;
    most_patches_ = std::max(most_patches_, patches);
    most_reading_ = std::max(most_reading_, ImageReadingBytes(image.size));
    text_bytes_ += image.label.size() + image.name.size();
  }

  absl::StatusOr<PatchTotals> Finish() {
    violations_.Check(position_ > 0, "files", "there must be at least one");
    MERCER_RETURN_IF_ERROR(violations_.ToStatus());
    totals_.bytes = Bytes();
    return totals_;
  }

 private:
  // Computed in floating point, since the product may be beyond the range of integers.
  int64_t Bytes() const {
    constexpr double kMost = static_cast<double>(int64_t{1} << 62);
    constexpr double kPerColumn = 128;  // its name and what else a column has
    constexpr double kPerPlace = 64;    // of one image's patches
    constexpr double kPerImage = 256;   // its label and its name among categories, and itself
    constexpr double kRoleColumns = 2;
    const auto patches = static_cast<double>(totals_.patches);
    const auto pixels = static_cast<double>(totals_.pixels());
    const double bytes = patches * (pixels + kRoleColumns) * sizeof(double) + pixels * kPerColumn +
                         static_cast<double>(most_patches_) * kPerPlace +
                         static_cast<double>(position_) * kPerImage +
                         static_cast<double>(text_bytes_) + static_cast<double>(most_reading_);
    return static_cast<int64_t>(std::min(bytes, kMost));
  }

  const PatchSpec& spec_;
  FieldViolations violations_;
  PatchTotals totals_;
  size_t position_ = 0;  // of the next image
  Index most_patches_ = 0;
  int64_t most_reading_ = 0;
  size_t text_bytes_ = 0;
};

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
  block.columns.reserve(static_cast<size_t>(size.pixels()));
  for (Index row = 1; row <= size.rows; ++row) {
    for (Index column = 1; column <= size.columns; ++column) {
      block.columns.push_back({absl::StrCat("pixel_", row, "_", column), false, {}});
    }
  }
  block.values = SharedMatrix(std::move(values));
  return block;
}

// A column that says something of each row's image, in as many categories as come.
class ImageColumn {
 public:
  using Text = std::string_view ImageEntry::*;

  ImageColumn(ColumnRole role, std::string_view name, Text text, Index rows) : text_(text) {
    column_.role = role;
    column_.schema.name = std::string(name);
    column_.schema.categorical = true;
    column_.values.resize(rows);
  }

  void Add(const ImageEntry& image, Index rows) {
    std::vector<std::string>& categories = column_.schema.categories;
    const std::string_view text = image.*text_;
    const auto [place, is_new] = codes_.try_emplace(text, static_cast<double>(categories.size()));
    if (is_new) {
      categories.emplace_back(text);
    }
    column_.values.segment(filled_, rows).setConstant(place->second);
    filled_ += rows;
  }
  RoleColumn Take() { return std::move(column_); }

 private:
  Text text_;
  RoleColumn column_;
  HashMap<std::string_view, double> codes_;
  Index filled_ = 0;
};

std::vector<ImageColumn> ColumnsOf(const PatchColumnNames& names, Index rows) {
  std::vector<ImageColumn> columns;
  if (!names.target.empty()) {
    columns.emplace_back(ColumnRole::kTarget, names.target, &ImageEntry::label, rows);
  }
  if (!names.group.empty()) {
    columns.emplace_back(ColumnRole::kGroup, names.group, &ImageEntry::name, rows);
  }
  return columns;
}

// The rows of a data set as images fill them.
struct PatchRows {
  PatchTotals totals;
  RowMatrix values;
  Index filled = 0;

  void Add(const GrayImage& image, const std::vector<PatchPlace>& places) {
    for (const PatchPlace& place : places) {
      CopyPatch(image, place, totals, values.data() + filled * values.cols());
      ++filled;
    }
  }
};

}  // namespace

absl::StatusOr<std::vector<PatchPlace>> PatchPlaces(const PatchSpec& spec, Index image_rows,
                                                    Index image_columns, uint64_t number) {
  MERCER_ASSIGN_OR_RETURN(const PatchGrid grid, MakeGrid(spec, image_rows, image_columns));
  const auto place = [&](Index i) {
    return PatchPlace{grid.rows.first + i / grid.columns.count * spec.stride,
                      grid.columns.first + i % grid.columns.count * spec.stride};
  };
  std::vector<PatchPlace> places;
  places.reserve(static_cast<size_t>(spec.count > 0 ? spec.count : grid.count()));
  if (spec.count > 0) {
    for (const Index i : DrawPlaces(grid.count(), spec.count, spec.seed, number)) {
      places.push_back(place(i));
    }
    return places;
  }
  for (Index i = 0; i < grid.count(); ++i) {
    places.push_back(place(i));
  }
  return places;
}

absl::StatusOr<PatchTotals> CountPatches(absl::Span<const ImageEntry> images,
                                         const PatchSpec& spec) {
  PatchCounter counter(spec);
  for (const ImageEntry& image : images) {
    counter.Add(image);
  }
  return counter.Finish();
}

absl::StatusOr<Dataset> MakePatchDataset(absl::Span<const ImageEntry> images, const PatchSpec& spec,
                                         const PatchColumnNames& names, const ImageReader& read) {
  PatchRows patches;
  MERCER_ASSIGN_OR_RETURN(patches.totals, CountPatches(images, spec));
  patches.values.resize(patches.totals.patches, patches.totals.pixels());
  std::vector<ImageColumn> columns = ColumnsOf(names, patches.totals.patches);
  for (size_t i = 0; i < images.size(); ++i) {
    const ImageSize& size = images[i].size;
    MERCER_ASSIGN_OR_RETURN(const GrayImage image, read(i));
    if (image.rows != size.rows || image.columns != size.columns) {
      return absl::InternalError(absl::StrCat(NameOf(images[i]), " is not of the announced size"));
    }
    MERCER_ASSIGN_OR_RETURN(const std::vector<PatchPlace> places,
                            PatchPlaces(spec, image.rows, image.columns, i));
    patches.Add(image, places);
    for (ImageColumn& column : columns) {
      column.Add(images[i], static_cast<Index>(places.size()));
    }
  }
  Dataset dataset;
  dataset.rows = patches.totals.patches;
  dataset.blocks.push_back(PixelBlock(patches.totals, std::move(patches.values)));
  for (ImageColumn& column : columns) {
    dataset.role_columns.push_back(column.Take());
  }
  return dataset;
}

}  // namespace mercer
