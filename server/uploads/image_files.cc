#include "server/uploads/image_files.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/shorten.h"
#include "core/base/status/status_macros.h"
#include "core/io/images/gray_image.h"
#include "core/io/images/image_patches.h"
#include "server/blobs/file_system.h"
#include "server/uploads/upload_files.h"

namespace mercer::server {
namespace {

constexpr int kMaxImages = 1'000'000;
constexpr char kPath[] = "header.parts[0].images";

bool HasLabels(const v1::ImagesFormat& format) {
  return std::any_of(format.files().begin(), format.files().end(),
                     [](const v1::ImageFile& file) { return !file.label().empty(); });
}

// Empty: there is no target.
std::string TargetName(const v1::ImagesFormat& format) {
  const std::string& name = format.target_name();
  return !HasLabels(format) ? "" : name.empty() ? "label" : name;
}

PatchSpec ReadPatchSpec(const v1::ImagesFormat& format) {
  PatchSpec spec;
  if (!format.has_patch()) {
    spec.rows = 0;
    spec.columns = 0;
    return spec;
  }
  const v1::PatchSpec& patch = format.patch();
  spec.rows = patch.has_rows() ? patch.rows() : spec.rows;
  spec.columns = patch.has_columns() ? patch.columns() : spec.columns;
  spec.stride = patch.stride() != 0 ? patch.stride() : spec.stride;
  spec.count = patch.count();
  spec.seed = patch.seed();
  const v1::ImageRegion& region = patch.region();
  spec.region = {region.row(), region.column(), region.rows(), region.columns()};
  return spec;
}

void CheckPatch(const v1::PatchSpec& patch, const std::string& path, FieldViolations& violations) {
  const auto check = [&](std::string_view field, int64_t value) {
    violations.Check(value >= 0, absl::StrCat(path, ".", std::string(field)),
                     absl::StrCat("must be >= 0, is ", value));
  };
  check("rows", patch.rows());
  check("columns", patch.columns());
  check("stride", patch.stride());
  check("count", patch.count());
  const v1::ImageRegion& region = patch.region();
  check("region.row", region.row());
  check("region.column", region.column());
  check("region.rows", region.rows());
  check("region.columns", region.columns());
}

// The images of a part before their pixels are read.
struct ImagePlan {
  std::shared_ptr<const MappedFile> file;
  std::vector<std::string_view> contents;  // of each image
  std::vector<ImageEntry> images;
  PatchSpec spec;
  int64_t bytes = 0;  // of memory, at most
};

// Says which image is bad.
absl::Status OfImage(const v1::ImageFile& file, const absl::Status& status) {
  if (GetReason(status) != "BAD_IMAGE") {
    return status;
  }
  return WithReason(
      absl::Status(status.code(), absl::StrCat("image '", Shorten(file.name(), kQuotedBytes),
                                               "': ", status.message())),
      "BAD_IMAGE", {{"image", file.name()}});
}

absl::Status CutContents(const v1::ImagesFormat& format, ImagePlan& plan) {
  std::string_view rest = plan.file->contents();
  const size_t received = rest.size();
  for (const v1::ImageFile& file : format.files()) {
    const auto size = static_cast<size_t>(file.size_bytes());
    if (size > rest.size()) {
      return BadSize(absl::StrCat("the images: ", received,
                                  " bytes came, which end before those of '",
                                  Shorten(file.name(), kQuotedBytes), "'"));
    }
    plan.contents.push_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  return rest.empty() ? absl::OkStatus()
                      : BadSize(absl::StrCat("the images: ", received - rest.size(),
                                             " bytes were announced, ", received, " came"));
}

int64_t PlannedBytes(const PatchTotals& totals, size_t images) {
  constexpr int64_t kPerRow = 64;      // its hash, and what is found out of the data set afterwards
  constexpr int64_t kPerColumn = 896;  // its scan and description; its name is in the totals
  constexpr int64_t kPerImage = sizeof(std::string_view) + sizeof(ImageEntry);
  // Each term is below 2^62.
  return std::min(totals.bytes, int64_t{1} << 61) + kPerRow * totals.patches +
         kPerColumn * totals.pixels() + kPerImage * static_cast<int64_t>(images);
}

absl::StatusOr<ImagePlan> PlanImages(const v1::ImagesFormat& format, const std::string& path,
                                     int64_t max_bytes) {
  ImagePlan plan;
  plan.spec = ReadPatchSpec(format);
  MERCER_ASSIGN_OR_RETURN(plan.file, PosixFileSystem().Map(path));
  MERCER_RETURN_IF_ERROR(CutContents(format, plan));
  for (int i = 0; i < format.files_size(); ++i) {
    const v1::ImageFile& file = format.files(i);
    const absl::StatusOr<ImageSize> size = ReadGrayImageSize(plan.contents[static_cast<size_t>(i)]);
    if (!size.ok()) {
      return OfImage(file, size.status());
    }
    plan.images.push_back({file.name(), file.label(), *size});
  }
  const absl::StatusOr<PatchTotals> totals = CountPatches(plan.images, plan.spec);
  if (!totals.ok()) {
    FieldViolations violations;
    violations.AddAll(kPath, totals.status());
    return violations.ToStatus();
  }
  plan.bytes = PlannedBytes(*totals, plan.images.size());
  if (plan.bytes > max_bytes) {
    return DatasetTooLarge(
        absl::StrCat("the memory for ", totals->patches, " patches of ", totals->rows, " x ",
                     totals->columns, " pixels and the largest image, ", plan.bytes, " bytes,"),
        max_bytes);
  }
  return plan;
}

}  // namespace

void CheckImagesFormat(const v1::ImagesFormat& format, const std::string& path,
                       FieldViolations& violations) {
  violations.Check(format.files_size() > 0, path + ".files", "is missing");
  if (!violations.Check(
          format.files_size() <= kMaxImages, path + ".files",
          absl::StrCat("must be at most ", kMaxImages, ", are ", format.files_size()))) {
    return;
  }
  const bool labelled = HasLabels(format);
  for (int i = 0; i < format.files_size(); ++i) {
    const v1::ImageFile& file = format.files(i);
    const bool good =
        !file.name().empty() && file.size_bytes() >= 1 && (!labelled || !file.label().empty());
    if (!good) {
      const std::string place = absl::StrCat(path, ".files[", i, "]");
      violations.Check(!file.name().empty(), place + ".name", "is missing");
      violations.Check(file.size_bytes() >= 1, place + ".size_bytes",
                       absl::StrCat("must be >= 1, is ", file.size_bytes()));
      violations.Check(!labelled || !file.label().empty(), place + ".label",
                       "is missing; other images have one");
    }
  }
  violations.Check(labelled || format.target_name().empty(), path + ".target_name",
                   "is given, but no image has a label");
  violations.Check(format.group_name().empty() || format.group_name() != TargetName(format),
                   path + ".group_name", "is the name of the target");
  if (format.has_patch()) {
    CheckPatch(format.patch(), path + ".patch", violations);
  }
}

absl::Status CheckAnnouncedImages(const v1::ImagesFormat& format, int64_t limit_bytes) {
  // As real numbers: sums and products may not fit.
  const auto limit = static_cast<double>(limit_bytes);
  double bytes = 0;
  for (const v1::ImageFile& file : format.files()) {
    bytes += static_cast<double>(file.size_bytes());
  }
  if (bytes > limit) {
    return DatasetTooLarge("the sum of the images' sizes", limit_bytes);
  }
  const PatchSpec spec = ReadPatchSpec(format);
  const double pixels = static_cast<double>(format.files_size()) * static_cast<double>(spec.count) *
                        static_cast<double>(spec.rows) * static_cast<double>(spec.columns);
  return pixels * sizeof(double) > limit
             ? DatasetTooLarge(absl::StrCat("the table of ", spec.count, " patches of ", spec.rows,
                                            " x ", spec.columns, " pixels of each image"),
                               limit_bytes)
             : absl::OkStatus();
}

absl::StatusOr<int64_t> ImageParseBytes(const v1::ImagesFormat& format, const std::string& file,
                                        int64_t max_bytes) {
  MERCER_ASSIGN_OR_RETURN(const ImagePlan plan, PlanImages(format, file, max_bytes));
  return plan.bytes;
}

absl::StatusOr<Dataset> ReadImages(const v1::ImagesFormat& format, const std::string& file,
                                   int64_t max_bytes, const std::function<bool()>& is_cancelled) {
  MERCER_ASSIGN_OR_RETURN(const ImagePlan plan, PlanImages(format, file, max_bytes));
  const auto read = [&](size_t position) -> absl::StatusOr<GrayImage> {
    MERCER_RETURN_IF_ERROR(CheckWanted(is_cancelled));
    absl::StatusOr<GrayImage> image = ReadGrayImage(plan.contents[position]);
    return image.ok() ? std::move(image)
                      : OfImage(format.files(static_cast<int>(position)), image.status());
  };
  const std::string target_name = TargetName(format);
  return MakePatchDataset(plan.images, plan.spec, {target_name, format.group_name()}, read);
}

}  // namespace mercer::server
