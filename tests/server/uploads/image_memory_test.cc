// What uploads of images take of memory, whatever their files say.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/uploads/upload_files.h"
#include "tests/server/uploads/image_upload_fixture.h"
#include "tests/support/peak_growth.h"

namespace mercer::server {
namespace {

using ImageMemoryTest = ImageUploadTest;

// 64 KiB of files whose pixels, or patches, are larger than the limit.
TEST_F(ImageMemoryTest, SmallFilesOfLargeImagesTakeNoMoreThanTheLimit) {
  context_.limits.dataset_bytes = int64_t{32} << 20;
  const std::vector<NamedImage> wide = {{"a", "x", BlackPng(8000, 8000)}};
  const std::vector<NamedImage> small = {{"a", "x", BlackPng(500, 500)}};
  v1::PatchSpec corner = Squares(2);
  corner.set_count(1);
  for (const auto& [images, patch] :
       {std::pair(wide, corner), {small, v1::PatchSpec()}, {small, Squares(1)}}) {
    ASSERT_LT(images[0].bytes.size(), 70'000u);
    absl::Status status;
    const auto upload = [&, &images = images, &patch = patch] {
      status = Upload(images, patch).status();
      return GetReason(status) == "DATASET_TOO_LARGE";
    };
    EXPECT_TRUE(upload()) << status;
    if (kGrowthIsMemoryHeld) {
      EXPECT_LE(PeakGrowth(upload), context_.limits.dataset_bytes);
    }
  }
  ExpectNothingStored();
  corner.set_rows(100);
  EXPECT_TRUE(Upload(small, corner).ok());
}

TEST_F(ImageMemoryTest, ReadingTakesNoMoreMemoryThanItsShareOfTheBudget) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP();
  }
  const std::vector<NamedImage> images = {{"a", "x", BlackPng(1500, 1000)},
                                          {"b", "y", BlackPng(400, 2000)}};
  v1::PatchSpec drawn = Squares(1);
  drawn.set_count(400'000);
  for (const v1::PatchSpec& patch : {Squares(16, 16), drawn, Squares(100, 50)}) {
    v1::UploadHeader header = HeaderOf(images);
    *header.mutable_parts(0)->mutable_images()->mutable_patch() = patch;
    UploadFiles files((folder_ / "uploads/parts").string());
    ASSERT_TRUE(files.BeginPart().ok() && files.Append(BytesOf(images)).ok() && files.Close().ok());
    const auto share = ParseBytes(header.parts(), files, context_.limits.dataset_bytes);
    ASSERT_TRUE(share.ok()) << share.status();
    const int64_t growth = PeakGrowth([&] {
      return ReadUploadedParts(header.parts(), files, context_.limits.dataset_bytes,
                               [] { return false; })
          .ok();
    });
    ASSERT_GT(growth, 0);
    EXPECT_LE(growth, *share + kCodeAndStacks) << patch.rows();
  }
}

}  // namespace
}  // namespace mercer::server
