#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/file_format.h"
#include "client/cpp/cli/upload_parts.h"
#include "client/cpp/image_folder.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

struct ImageFlags {
  std::string folder;
  std::string patch;
  std::optional<int64_t> stride;
  std::optional<int64_t> count;
  std::optional<uint64_t> seed;
  std::vector<int64_t> region;
  std::string target;
  std::string group;
  HeaderFlags header;
};

// "16x12", or "16" for 16x16.
absl::Status SetPatchSize(const std::string& text, v1::PatchSpec& patch) {
  const std::vector<std::string> sides = absl::StrSplit(text, 'x');
  int64_t rows = 0;
  int64_t columns = 0;
  if (sides.size() > 2 || !absl::SimpleAtoi(sides.front(), &rows) ||
      !absl::SimpleAtoi(sides.back(), &columns) || rows < 1 || columns < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--patch: must be ROWSxCOLUMNS, such as 16x16, or one number for both, is '", text, "'"));
  }
  patch.set_rows(rows);
  patch.set_columns(columns);
  return absl::OkStatus();
}

// Sets nothing when whole images are wanted.
absl::Status SetPatch(const ImageFlags& flags, v1::ImagesFormat& images) {
  if (flags.patch.empty()) {
    MERCER_RETURN_IF_ERROR(RefuseFlags({{"--stride", flags.stride.has_value()},
                                        {"--count", flags.count.has_value()},
                                        {"--seed", flags.seed.has_value()}},
                                       "is about patches; --patch says how large they are"));
  } else {
    MERCER_RETURN_IF_ERROR(SetPatchSize(flags.patch, *images.mutable_patch()));
    images.mutable_patch()->set_stride(flags.stride.value_or(0));
    images.mutable_patch()->set_count(flags.count.value_or(0));
    images.mutable_patch()->set_seed(flags.seed.value_or(0));
  }
  if (!flags.region.empty()) {
    if (flags.patch.empty()) {
      images.mutable_patch()->set_rows(0);
      images.mutable_patch()->set_columns(0);
    }
    v1::ImageRegion& region = *images.mutable_patch()->mutable_region();
    region.set_row(flags.region[0]);
    region.set_column(flags.region[1]);
    region.set_rows(flags.region[2]);
    region.set_columns(flags.region[3]);
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> UploadImages(Session& session, const ImageFlags& flags) {
  UploadParts parts;
  // "textures/" is called "textures".
  const std::string folder = flags.folder.substr(0, flags.folder.find_last_not_of('/') + 1);
  MERCER_ASSIGN_OR_RETURN(parts.header, MakeHeader(flags.header, folder));
  v1::ImagesFormat& format = *parts.header.add_parts()->mutable_images();
  MERCER_RETURN_IF_ERROR(SetPatch(flags, format));
  MERCER_ASSIGN_OR_RETURN(ImageFolder found, FindImages(flags.folder));
  for (const FolderImage& image : found.images) {
    v1::ImageFile& file = *format.add_files();
    file.set_name(image.name);
    file.set_label(image.label);
    file.set_size_bytes(image.bytes);
    parts.bytes += image.bytes;
  }
  MERCER_RETURN_IF_ERROR(
      RefuseFlags({{"--target", !flags.target.empty() && found.images[0].label.empty()}},
                  "names the column of classes; FOLDER has no folder for each class"));
  format.set_target_name(flags.target);
  format.set_group_name(flags.group);
  parts.sources.push_back(ImageSource(std::move(found.images)));
  if (found.left_out > 0 && !session.json()) {
    session.err() << "files that are not named .pgm or .png, left out: " << found.left_out
                  << std::endl;
  }
  return SendUpload(session, std::move(parts));
}

}  // namespace

void AddImageUpload(CommandLine& line, CLI::App& data) {
  auto flags = std::make_shared<ImageFlags>();
  CLI::App* command =
      line.Add(data, "upload-images", "Store grayscale images, or patches of them, as a data set",
               flags, &UploadImages);
  command
      ->add_option("FOLDER", flags->folder,
                   "Holds a folder for each class, named after it, with .pgm and .png files; or "
                   "such files alone, which then have no class")
      ->required();
  command->add_option("--patch", flags->patch,
                      "ROWSxCOLUMNS: each row is a patch of this size; default: a whole image");
  command
      ->add_option("--stride", flags->stride, "From one patch to the next, in pixels; default: 1")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--count", flags->count,
                   "So many patches of each image, at random places; default: all")
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", flags->seed, "Chooses the random places; default: 0");
  command
      ->add_option("--region", flags->region,
                   "ROW,COLUMN,ROWS,COLUMNS: this part of each image alone, counted from 0; 0 ROWS "
                   "or COLUMNS: up to the image's end")
      ->delimiter(',')
      ->expected(4)
      ->check(CLI::NonNegativeNumber);
  command->add_option("--target", flags->target, "Name of the column of classes; default: label");
  command->add_option("--group", flags->group,
                      "Name of a column of the images' names: splits then keep the patches of an "
                      "image together; default: no such column");
  AddHeaderFlags(*command, flags->header, "the folder's name");
}

}  // namespace mercer::client
