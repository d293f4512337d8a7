#include "client/cpp/image_folder.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mercer::client {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

class ImageFolderTest : public testing::Test {
 protected:
  ImageFolderTest() : folder_(testing::TempDir() + "/image_folder." + std::to_string(getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ImageFolderTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  // "label: name" of each, in their order.
  std::vector<std::string> Find() const {
    const auto found = FindImages(folder_);
    EXPECT_TRUE(found.ok()) << found.status();
    std::vector<std::string> images;
    for (const FolderImage& image : found->images) {
      images.push_back(image.label + ": " + image.name);
    }
    return images;
  }
  void ExpectRefused(const std::string& why) const {
    const auto found = FindImages(folder_);
    EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument) << found.status();
    EXPECT_THAT(std::string(found.status().message()), HasSubstr(why));
  }

  fs::path folder_;
};

TEST_F(ImageFolderTest, SubfoldersAreTheClasses) {
  Write("sand/b.png", "1");
  Write("sand/a.PGM", "22");
  Write("grass/deep/er/x.pgm", "333");
  Write("grass/.hidden/y.pgm", "4");
  Write("grass/.z.pgm", "5");
  Write("grass/readme.txt", "6");
  Write("licence", "7");
  Write(".thumbnails/t.png", "8");
  EXPECT_EQ(Find(), (std::vector<std::string>{"grass: grass/deep/er/x.pgm", "sand: sand/a.PGM",
                                              "sand: sand/b.png"}));
  const auto found = FindImages(folder_);
  EXPECT_EQ(found->left_out, 2u);
  EXPECT_EQ(found->images[0].bytes, 3);
}

TEST_F(ImageFolderTest, ImagesOfTheFolderItselfHaveNoClass) {
  Write("b.pgm", "1");
  Write("a.png", "2");
  EXPECT_EQ(Find(), (std::vector<std::string>{": a.png", ": b.pgm"}));
}

TEST_F(ImageFolderTest, WhatHasNoImageOrNoClassIsRefused) {
  EXPECT_EQ(FindImages(folder_ / "none").status().code(), absl::StatusCode::kNotFound);
  ExpectRefused("there is no .pgm or .png file in '" + folder_.string() + "'");
  Write("sand/a.pgm", "1");
  Write("jpegs/a.jpg", "1");
  ExpectRefused("there is no .pgm or .png file in '" + (folder_ / "jpegs").string() + "'");
  fs::remove_all(folder_ / "jpegs");
  Write("loose.pgm", "1");
  ExpectRefused("loose.pgm' has no class");
  EXPECT_EQ(FindImages(folder_ / "loose.pgm").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ImageFolderTest, EmptyImagesAndNamesThatAreNoTextAreRefused) {
  Write("sand/a.pgm", "");
  ExpectRefused("a.pgm' is empty");
  fs::remove_all(folder_ / "sand");
  Write("sand/\xff.pgm", "1");
  ExpectRefused("is not UTF-8");
}

TEST_F(ImageFolderTest, BytesFollowEachOther) {
  Write("s/a.pgm", "first");
  Write("s/b.pgm", "second");
  const UploadSource source = ImageSource(FindImages(folder_)->images);
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto bytes = source();
    ASSERT_TRUE(bytes.ok());
    std::string all;
    char buffer[4];
    for (absl::StatusOr<size_t> size = 1; size.ok() && *size > 0; all.append(buffer, *size)) {
      size = (*bytes)->Read(buffer, sizeof(buffer));
      ASSERT_TRUE(size.ok()) << size.status();
    }
    EXPECT_EQ(all, "firstsecond");
  }
}

TEST_F(ImageFolderTest, AnImageThatChangesIsNotSent) {
  for (const char* changed : {"firs", "first and more"}) {
    Write("a.pgm", "first");
    Write("b.pgm", "second");
    const UploadSource source = ImageSource(FindImages(folder_)->images);
    Write("a.pgm", changed);
    auto bytes = source();
    ASSERT_TRUE(bytes.ok());
    char buffer[100];
    absl::StatusOr<size_t> size = 1;
    while (size.ok() && *size > 0) {
      size = (*bytes)->Read(buffer, sizeof(buffer));
    }
    EXPECT_THAT(std::string(size.status().message()), HasSubstr("a.pgm' has changed")) << changed;
  }
}

}  // namespace
}  // namespace mercer::client
