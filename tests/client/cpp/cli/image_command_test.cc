// "mercer data upload-images": what it sends, and what it refuses.
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cpp/cli/command_line_fixture.h"

namespace mercer::client {
namespace {

using testing::HasSubstr;
using Arguments = std::vector<std::string>;

class ImageCommandTest : public CommandLineTest {
 protected:
  ImageCommandTest() : folder_(testing::TempDir() + "/textures." + std::to_string(getpid())) {
    std::filesystem::remove_all(folder_);
    Write("sand/1.pgm", "P5 1 1 255\ns");
    Write("grass/1.pgm", "P5 1 1 255\ng");
    Write("grass/2.png", "png");
  }
  ~ImageCommandTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  int Upload(const Arguments& flags) {
    Arguments arguments = {"data", "upload-images", folder_};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return Run(arguments);
  }
  const v1::ImagesFormat& Sent() const { return server_.state.uploads.back().parts(0).images(); }

  std::string folder_;
};

TEST_F(ImageCommandTest, SendsTheFilesWithTheirClasses) {
  ASSERT_EQ(
      Upload({"--id", "textures", "--target", "kind", "--group", "file", "--label", "team=a"}), 0)
      << err_.str();
  EXPECT_EQ(server_.state.uploaded_bytes.back(), "P5 1 1 255\ngpngP5 1 1 255\ns");
  ASSERT_EQ(Sent().files_size(), 3);
  EXPECT_EQ(Sent().files(1).name(), "grass/2.png");
  EXPECT_EQ(Sent().files(1).label(), "grass");
  EXPECT_EQ(Sent().files(1).size_bytes(), 3);
  EXPECT_EQ(Sent().files(2).label(), "sand");
  EXPECT_EQ(Sent().target_name(), "kind");
  EXPECT_EQ(Sent().group_name(), "file");
  EXPECT_FALSE(Sent().has_patch()) << "whole images";
  const v1::UploadHeader& header = server_.state.uploads.back();
  EXPECT_EQ(header.dataset_id(), "textures");
  EXPECT_EQ(header.labels().at("team"), "a");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ImageCommandTest, DisplayNameIsThatOfTheFolder) {
  folder_ += "//";
  ASSERT_EQ(Upload({}), 0) << err_.str();
  EXPECT_EQ(server_.state.uploads.back().display_name(), "textures." + std::to_string(getpid()));
}

TEST_F(ImageCommandTest, SendsWhatMakesAPatch) {
  ASSERT_EQ(Upload({"--patch", "16x12", "--stride", "4", "--count", "1000", "--seed", "7",
                    "--region", "1,2,30,0"}),
            0)
      << err_.str();
  const v1::PatchSpec& patch = Sent().patch();
  EXPECT_EQ(patch.rows(), 16);
  EXPECT_EQ(patch.columns(), 12);
  EXPECT_EQ(patch.stride(), 4);
  EXPECT_EQ(patch.count(), 1000);
  EXPECT_EQ(patch.seed(), 7u);
  EXPECT_EQ(patch.region().row(), 1);
  EXPECT_EQ(patch.region().column(), 2);
  EXPECT_EQ(patch.region().rows(), 30);
  EXPECT_EQ(patch.region().columns(), 0);
  ASSERT_EQ(Upload({"--patch", "8"}), 0) << err_.str();
  EXPECT_EQ(patch.rows(), 16);
  EXPECT_EQ(Sent().patch().rows(), 8);
  EXPECT_EQ(Sent().patch().columns(), 8);
  EXPECT_FALSE(Sent().patch().has_region());
}

TEST_F(ImageCommandTest, ARegionWithoutPatchesIsARow) {
  ASSERT_EQ(Upload({"--region", "0,0,1,1"}), 0) << err_.str();
  EXPECT_TRUE(Sent().patch().has_rows() && Sent().patch().rows() == 0);
  EXPECT_TRUE(Sent().patch().has_columns() && Sent().patch().columns() == 0);
  EXPECT_EQ(Sent().patch().region().rows(), 1);
}

TEST_F(ImageCommandTest, FlagsThatNothingReadsAreRefused) {
  for (const std::string flag : {"--stride", "--count", "--seed"}) {
    EXPECT_EQ(Upload({flag, "2"}), 3);
    EXPECT_EQ(err_.str(),
              "error: " + flag + ": is about patches; --patch says how large they are\n");
  }
  std::filesystem::remove_all(folder_);
  Write("1.pgm", "P5 1 1 255\ns");
  EXPECT_EQ(Upload({"--target", "kind"}), 3);
  EXPECT_THAT(err_.str(), HasSubstr("--target: names the column of classes"));
  EXPECT_EQ(Upload({}), 0) << err_.str();
  EXPECT_EQ(Sent().files(0).label(), "");
  EXPECT_EQ(server_.state.uploads.size(), 1u);
}

TEST_F(ImageCommandTest, BadValuesAreRefused) {
  for (const std::string size : {"0", "16x", "x16", "1x2x3", "-1x4", "large"}) {
    EXPECT_EQ(Upload({"--patch=" + size}), 3) << size;
    EXPECT_THAT(err_.str(), HasSubstr("--patch: must be ROWSxCOLUMNS")) << size;
  }
  for (const Arguments& flags : {Arguments{"--patch", "2", "--stride", "0"},
                                 {"--patch", "2", "--count", "-1"},
                                 {"--region", "1,2,3"},
                                 {"--region", "1,2,3,-4"},
                                 {"--region", "1,2,3,4,5"}}) {
    EXPECT_EQ(Upload(flags), 2) << flags[1];
  }
  EXPECT_EQ(Run({"data", "upload-images", folder_ + "/none"}), 4);
  EXPECT_TRUE(server_.state.uploads.empty());
}

TEST_F(ImageCommandTest, OtherFilesAreLeftOutAndTold) {
  Write("grass/photo.jpg", "jpg");
  ASSERT_EQ(Upload({}), 0);
  EXPECT_EQ(err_.str(), "files that are not named .pgm or .png, left out: 1\n");
  ASSERT_EQ(Upload({"--json"}), 0);
  EXPECT_EQ(err_.str(), "");
}

}  // namespace
}  // namespace mercer::client
