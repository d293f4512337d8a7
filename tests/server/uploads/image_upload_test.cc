// Uploads of images: what becomes of them, and what is refused.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/digest/sha256.h"
#include "tests/server/uploads/image_upload_fixture.h"

namespace mercer::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(ImageUploadTest, PatchesBecomeRowsAndLabelsTheTarget) {
  v1::UploadHeader header =
      HeaderOf({{"sand/1.pgm", "sand", Pgm(3, 3)}, {"grass/1.pgm", "grass", Pgm(2, 4, 100)}});
  v1::ImagesFormat& format = *header.mutable_parts(0)->mutable_images();
  *format.mutable_patch() = Squares(2);
  format.set_target_name("texture");
  const auto dataset = Upload(header, Pgm(3, 3) + Pgm(2, 4, 100));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  RowMatrix expected(7, 4);
  expected << 0, 1, 10, 11, 1, 2, 11, 12, 10, 11, 20, 21, 11, 12, 21, 22,  //
      100, 101, 110, 111, 101, 102, 111, 112, 102, 103, 112, 113;
  EXPECT_EQ(StoredPixels(*dataset), expected);
  ASSERT_EQ(dataset->role_columns_size(), 1);
  const v1::Column& target = dataset->role_columns(0);
  EXPECT_EQ(target.name(), "texture");
  EXPECT_EQ(target.role(), v1::COLUMN_ROLE_TARGET);
  ASSERT_EQ(target.value_counts_size(), 2);
  EXPECT_EQ(target.value_counts(0).value(), "sand");
  EXPECT_EQ(target.value_counts(0).count(), 4);
  EXPECT_EQ(target.value_counts(1).value(), "grass");
  EXPECT_EQ(dataset->blocks(0).columns(2).name(), "pixel_2_1");
  EXPECT_EQ(FilesIn("uploads"), 0u);
}

TEST_F(ImageUploadTest, WholeImagesWithoutLabelsAreRowsToPredict) {
  const std::vector<NamedImage> images = {{"a", "", Pgm(2, 3)}, {"b", "", BlackPng(2, 3)}};
  const auto dataset = Upload(HeaderOf(images), BytesOf(images));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(StoredPixels(*dataset),
            (RowMatrix(2, 6) << 0, 1, 2, 10, 11, 12, 0, 0, 0, 0, 0, 0).finished());
  EXPECT_EQ(dataset->role_columns_size(), 0);
}

TEST_F(ImageUploadTest, TargetIsNamedLabelUnlessTheHeaderSaysAnother) {
  const auto dataset = Upload(HeaderOf({{"a", "x", Pgm(2, 2)}}), Pgm(2, 2));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->role_columns(0).name(), "label");
}

TEST_F(ImageUploadTest, NamesOfImagesAreAGroupWhereTheHeaderNamesIt) {
  v1::UploadHeader header = HeaderOf({{"a.pgm", "", Pgm(2, 2)}, {"b.pgm", "", Pgm(2, 2)}});
  header.mutable_parts(0)->mutable_images()->set_group_name("file");
  const auto dataset = Upload(header, Pgm(2, 2) + Pgm(2, 2));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ(dataset->role_columns_size(), 1);
  EXPECT_EQ(dataset->role_columns(0).name(), "file");
  EXPECT_EQ(dataset->role_columns(0).role(), v1::COLUMN_ROLE_GROUP);
}

TEST_F(ImageUploadTest, PatchesAre16By16AtEveryPixelUnlessTheHeaderSaysOtherwise) {
  const std::vector<NamedImage> images = {{"a", "x", BlackPng(20, 18)}};
  const auto dataset = Upload(images, v1::PatchSpec());
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows(), 5 * 3);
  EXPECT_EQ(dataset->num_columns(), 256);
}

TEST_F(ImageUploadTest, RegionAndStrideChooseThePlaces) {
  v1::PatchSpec patch = Squares(2, 2);
  patch.mutable_region()->set_row(1);
  patch.mutable_region()->set_column(2);
  patch.mutable_region()->set_rows(4);
  patch.mutable_region()->set_columns(3);
  const auto dataset = Upload({{"a", "x", Pgm(8, 8)}}, patch);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(StoredPixels(*dataset), (RowMatrix(2, 4) << 12, 13, 22, 23, 32, 33, 42, 43).finished());
  patch.set_rows(0);
  patch.set_columns(0);
  EXPECT_EQ(StoredPixels(*Upload({{"a", "x", Pgm(8, 8)}}, patch)),
            (RowMatrix(1, 12) << 12, 13, 14, 22, 23, 24, 32, 33, 34, 42, 43, 44).finished());
}

TEST_F(ImageUploadTest, RandomPatchesAreAFunctionOfTheSeed) {
  const std::vector<NamedImage> images = {{"a", "x", Pgm(12, 10)}, {"b", "y", Pgm(12, 10)}};
  v1::PatchSpec patch = Squares(2);
  patch.set_count(9);
  patch.set_seed(3);
  const auto dataset = Upload(images, patch);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows(), 18);
  EXPECT_EQ(Upload(images, patch)->digest(), dataset->digest());
  patch.set_seed(4);
  EXPECT_NE(Upload(images, patch)->digest(), dataset->digest());
}

TEST_F(ImageUploadTest, SquaresMayFollow) {
  v1::UploadHeader header = HeaderOf({{"a", "x", Pgm(2, 2)}, {"b", "y", Pgm(2, 2)}});
  v1::SquareFormat& square = *header.add_parts()->mutable_square();
  square.set_name("similarity");
  square.set_kind(v1::SQUARE_KIND_KERNEL);
  const double values[] = {1, 0, 0, 1};
  const auto dataset =
      Send(header, {Pgm(2, 2) + Pgm(2, 2), {reinterpret_cast<const char*>(values), sizeof(values)}},
           [] { return false; });
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->squares(0).columns(), 2);
}

TEST_F(ImageUploadTest, EveryBadFieldOfTheHeaderIsNamed) {
  v1::UploadHeader header =
      HeaderOf({{"a", "x", "1"}, {"", "x", "1"}, {"c", "", "1"}, {"d", "x", ""}});
  v1::PatchSpec& patch = *header.mutable_parts(0)->mutable_images()->mutable_patch();
  patch = Squares(-1, -2);
  patch.set_count(-3);
  patch.mutable_region()->set_row(-4);
  patch.mutable_region()->set_column(-5);
  patch.mutable_region()->set_rows(-6);
  patch.mutable_region()->set_columns(-7);
  const absl::Status status = Upload(header, "111").status();
  for (const char* field : {"files[1].name", "files[2].label", "files[3].size_bytes", "patch.rows",
                            "patch.columns", "patch.stride", "patch.count", "patch.region.row",
                            "patch.region.column", "patch.region.rows", "patch.region.columns"}) {
    EXPECT_NE(Said(status, field), "") << field;
  }
  EXPECT_EQ(GetFieldViolations(status).size(), 11u);
  EXPECT_NE(Said(Upload(HeaderOf({}), "").status(), "files"), "");
  v1::UploadHeader unlabelled = HeaderOf({{"a", "", "1"}});
  unlabelled.mutable_parts(0)->mutable_images()->set_target_name("y");
  EXPECT_NE(Said(Upload(unlabelled, "1").status(), "target_name"), "");
  v1::UploadHeader twice = HeaderOf({{"a", "x", "1"}});
  twice.mutable_parts(0)->mutable_images()->set_group_name("label");
  EXPECT_NE(Said(Upload(twice, "1").status(), "group_name"), "");
}

TEST_F(ImageUploadTest, BadImagesAreNamed) {
  PngParts colour;
  colour.rows = 1;
  colour.columns = 1;
  colour.color = 2;
  colour.scanlines = std::string(4, '\0');
  PngParts huge;
  huge.rows = 10'000;
  huge.columns = 10'000;
  huge.scanlines = std::string(100, '\0');
  for (const std::string& bad :
       {std::string("GIF89a"), Pgm(2, 2).substr(0, 12), BlackPng(2, 2).substr(0, 40),
        BlackPng(2, 2).substr(0, 50), Png(colour), Png(huge), std::string("P2 2 2 9\n1 2 3 x\n"),
        std::string("P5 4000 4000 255\nx")}) {
    const absl::Status status =
        Upload({{"good.pgm", "x", Pgm(2, 2)}, {"y/bad.pgm", "y", bad}}, Squares(2)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(GetReason(status), "BAD_IMAGE");
    EXPECT_THAT(std::string(status.message()), HasSubstr("image 'y/bad.pgm': "));
    EXPECT_EQ(GetErrorMetadata(status), (ErrorMetadata{{"image", "y/bad.pgm"}}));
  }
  ExpectNothingStored();
}

TEST_F(ImageUploadTest, SizesMustAddUp) {
  const v1::UploadHeader header = HeaderOf({{"a", "x", Pgm(2, 2)}, {"b", "y", Pgm(2, 2)}});
  const std::string bytes = Pgm(2, 2) + Pgm(2, 2);
  EXPECT_TRUE(Upload(header, bytes).ok());
  const absl::Status few = Upload(header, bytes.substr(1)).status();
  EXPECT_EQ(GetReason(few), "BAD_SIZE") << few;
  EXPECT_THAT(std::string(few.message()), HasSubstr("'b'"));
  EXPECT_EQ(GetReason(Upload(header, "").status()), "BAD_SIZE");
  EXPECT_EQ(GetReason(Upload(header, bytes + "x").status()), "BAD_SIZE");
}

TEST_F(ImageUploadTest, WholeImagesMustHaveOneSize) {
  const std::vector<NamedImage> images = {{"a", "x", Pgm(2, 3)}, {"wide", "x", Pgm(3, 2)}};
  EXPECT_THAT(Said(Upload(HeaderOf(images), BytesOf(images)).status(), "files[1]"),
              AllOf(HasSubstr("'wide'"), HasSubstr("3 x 2"), HasSubstr("2 x 3")));
}

TEST_F(ImageUploadTest, PatchesMustFitIntoEveryImage) {
  const std::vector<NamedImage> images = {{"large", "x", Pgm(8, 8)}, {"low", "x", Pgm(3, 8)}};
  const absl::Status high = Upload(images, Squares(4)).status();
  EXPECT_THAT(Said(high, "patch.rows"), HasSubstr("image 'low'"));
  EXPECT_EQ(GetFieldViolations(high).size(), 1u);
  v1::PatchSpec many = Squares(2);
  many.set_count(15);
  EXPECT_THAT(Said(Upload(images, many).status(), "patch.count"),
              AllOf(HasSubstr("image 'low'"), HasSubstr("14 places")));
  many.set_count(14);
  EXPECT_TRUE(Upload(images, many).ok());
  v1::PatchSpec beyond = Squares(1);
  beyond.mutable_region()->set_row(3);
  EXPECT_THAT(Said(Upload(images, beyond).status(), "patch.region.row"), HasSubstr("image 'low'"));
}

TEST_F(ImageUploadTest, WhatCannotFitIsRefusedBeforeItsBytes) {
  context_.limits.dataset_bytes = 1'000'000;
  v1::UploadHeader large = HeaderOf({{"a", "x", "1"}, {"b", "x", "1"}});
  v1::ImagesFormat& format = *large.mutable_parts(0)->mutable_images();
  for (v1::ImageFile& file : *format.mutable_files()) {
    file.set_size_bytes(int64_t{1} << 62);
  }
  v1::UploadHeader many = HeaderOf({{"a", "x", "1"}, {"b", "x", "1"}});
  many.mutable_parts(0)->mutable_images()->mutable_patch()->set_count(245);
  for (const v1::UploadHeader& header : {large, many}) {
    DatasetUpload upload(context_);
    v1::UploadDatasetRequest first;
    *first.mutable_header() = header;
    EXPECT_EQ(GetReason(upload.Add(first)), "DATASET_TOO_LARGE");
  }
  ExpectNothingStored();
}

TEST_F(ImageUploadTest, ClientThatGoesBetweenTwoImagesEndsIt) {
  std::vector<NamedImage> images(50, {"a", "x", Pgm(4, 4)});
  v1::UploadHeader header = HeaderOf(images);
  int asked_in_all = 0;
  ASSERT_TRUE(Send(header, {BytesOf(images)}, [&] {
                ++asked_in_all;
                return false;
              }).ok());
  EXPECT_GE(asked_in_all, 50);
  const size_t stored = FilesIn("blobs");
  int asked = 0;
  EXPECT_EQ(Send(header, {BytesOf(images)}, [&] { return ++asked > 20; }).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 21) << "it goes on after that";
  EXPECT_EQ(FilesIn("uploads"), 0u);
  EXPECT_EQ(FilesIn("blobs"), stored);
}

TEST_F(ImageUploadTest, UploadThatBrokeOffIsResumed) {
  const std::vector<NamedImage> images = {{"a", "x", Pgm(9, 9)}, {"b", "y", Pgm(9, 9, 7)}};
  const std::string bytes = BytesOf(images);
  const auto whole = Upload(images, Squares(3));
  ASSERT_TRUE(whole.ok()) << whole.status();
  v1::UploadDatasetRequest first;
  v1::UploadHeader& header = *first.mutable_header();
  header = HeaderOf(images);
  *header.mutable_parts(0)->mutable_images()->mutable_patch() = Squares(3);
  header.set_upload_id("u1");
  header.set_sha256(Sha256Hex(bytes));
  header.set_total_bytes(static_cast<int64_t>(bytes.size()));
  const auto chunk = [&](size_t begin, size_t end) {
    v1::UploadDatasetRequest message = Chunk(0, bytes.substr(begin, end - begin));
    message.mutable_chunk()->set_offset(static_cast<int64_t>(begin));
    return message;
  };
  {
    DatasetUpload broken(context_);
    ASSERT_TRUE(broken.Add(first).ok() && broken.Add(chunk(0, 50)).ok());
  }
  DatasetUpload resumed(context_);
  ASSERT_TRUE(resumed.Add(first).ok() && resumed.Add(chunk(50, bytes.size())).ok());
  const auto dataset = resumed.Finish([] { return false; });
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->digest(), whole->digest());
}

}  // namespace
}  // namespace mercer::server
