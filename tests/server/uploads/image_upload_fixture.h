// Uploads of images made by the test.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/status_macros.h"
#include "core/io/store/dataset_file.h"
#include "server/uploads/dataset_upload.h"
#include "tests/server/uploads/upload_fixture.h"
#include "tests/support/field_violation.h"
#include "tests/support/image_bytes.h"

namespace mercer::server {

struct NamedImage {
  std::string name;
  std::string label;
  std::string bytes;
};

// Pixel (row, column) is first + 10 row + column.
inline std::string Pgm(int rows, int columns, int first = 0) {
  std::string bytes = "P5 " + std::to_string(columns) + " " + std::to_string(rows) + " 255\n";
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      bytes.push_back(static_cast<char>(first + 10 * row + column));
    }
  }
  return bytes;
}

inline std::string BlackPng(uint32_t rows, uint32_t columns) {
  PngParts parts;
  parts.rows = rows;
  parts.columns = columns;
  parts.scanlines = std::string(size_t{rows} * (columns + 1), '\0');
  return Png(parts);
}

inline v1::UploadHeader HeaderOf(const std::vector<NamedImage>& images) {
  v1::UploadHeader header;
  v1::ImagesFormat& format = *header.add_parts()->mutable_images();
  for (const auto& [name, label, bytes] : images) {
    v1::ImageFile& file = *format.add_files();
    file.set_name(name);
    file.set_label(label);
    file.set_size_bytes(static_cast<int64_t>(bytes.size()));
  }
  return header;
}

inline v1::PatchSpec Squares(int64_t size, int64_t stride = 0) {
  v1::PatchSpec patch;
  patch.set_rows(size);
  patch.set_columns(size);
  patch.set_stride(stride);
  return patch;
}

inline std::string BytesOf(const std::vector<NamedImage>& images) {
  std::string bytes;
  for (const NamedImage& image : images) {
    bytes += image.bytes;
  }
  return bytes;
}

class ImageUploadTest : public UploadFolderTest {
 protected:
  static v1::UploadDatasetRequest Chunk(int part, const std::string& bytes) {
    v1::UploadDatasetRequest message;
    message.mutable_chunk()->set_part(part);
    message.mutable_chunk()->set_data(bytes);
    return message;
  }
  absl::StatusOr<v1::Dataset> Send(const v1::UploadHeader& header,
                                   const std::vector<std::string>& parts,
                                   const std::function<bool()>& is_cancelled) const {
    DatasetUpload upload(context_);
    v1::UploadDatasetRequest first;
    *first.mutable_header() = header;
    MERCER_RETURN_IF_ERROR(upload.Add(first));
    for (size_t part = 0; part < parts.size(); ++part) {
      MERCER_RETURN_IF_ERROR(upload.Add(Chunk(static_cast<int>(part), parts[part])));
    }
    return upload.Finish(is_cancelled);
  }
  absl::StatusOr<v1::Dataset> Upload(const v1::UploadHeader& header,
                                     const std::string& bytes) const {
    return Send(header, {bytes}, [] { return false; });
  }
  absl::StatusOr<v1::Dataset> Upload(const std::vector<NamedImage>& images,
                                     const v1::PatchSpec& patch) const {
    v1::UploadHeader header = HeaderOf(images);
    *header.mutable_parts(0)->mutable_images()->mutable_patch() = patch;
    return Upload(header, BytesOf(images));
  }
  RowMatrix StoredPixels(const v1::Dataset& dataset) const {
    const auto path = blobs_->VerifiedPath(dataset.digest());
    EXPECT_TRUE(path.ok()) << path.status();
    const auto content = mercer::OpenDataset(*path);
    EXPECT_TRUE(content.ok()) << content.status();
    return content->FindBlock("pixels")->values.view();
  }
  void ExpectNothingStored() const {
    EXPECT_EQ(FilesIn("uploads"), 0u);
    EXPECT_EQ(FilesIn("blobs"), 0u);
  }
  // `field` below the images is wrong; returns what is said of it.
  static std::string Said(const absl::Status& status, const std::string& field) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return Violation(status, "header.parts[0].images." + field);
  }
};

}  // namespace mercer::server
