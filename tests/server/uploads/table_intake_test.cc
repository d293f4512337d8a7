// Tables that are taken in while their bytes come must make what they make when they are read from their files.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "core/base/status/status_macros.h"
#include "core/io/store/dataset_file.h"
#include "server/digest/sha256.h"
#include "server/uploads/dataset_upload.h"
#include "tests/server/uploads/upload_fixture.h"

namespace mercer::server {
namespace {

constexpr Index kRows = 70'001;
constexpr Index kColumns = 9;
constexpr int kTarget = 3;
constexpr int kCategorical = 5;

bool NeverCancelled() { return false; }

class TableIntakeTest : public UploadFolderTest {
 protected:
  TableIntakeTest() : table_(kRows, kColumns) {
    std::mt19937 random(7);
    for (Index i = 0; i < table_.size(); ++i) {
      table_.data()[i] = i % 11 == 0 ? -0.0 : std::ldexp(static_cast<double>(random()), -20);
    }
    for (Index row = 0; row < kRows; ++row) {
      table_(row, kCategorical) = static_cast<double>(random() % 3);
    }
    table_.row(500) = table_.row(400);
    v1::DenseFormat& dense = *format();
    dense.set_rows(kRows);
    for (Index c = 0; c < kColumns; ++c) {
      dense.add_columns()->set_name("x" + std::to_string(c));
    }
    dense.mutable_columns(kTarget)->set_role(v1::COLUMN_ROLE_TARGET);
    for (const char* category : {"red", "green", "blue"}) {
      dense.mutable_columns(kCategorical)->add_categories(category);
    }
  }

  v1::DenseFormat* format() {
    return header_.parts_size() == 0 ? header_.add_parts()->mutable_dense()
                                     : header_.mutable_parts(0)->mutable_dense();
  }

  std::string_view Bytes() const {
    return {reinterpret_cast<const char*>(table_.data()),
            static_cast<size_t>(table_.size()) * sizeof(double)};
  }

  // Sends the bytes in pieces of up to `piece` bytes.
  absl::Status Send(DatasetUpload& upload, size_t begin, size_t end, size_t piece) {
    for (size_t at = begin; at < end; at += piece) {
      v1::UploadDatasetRequest message;
      message.mutable_chunk()->set_data(std::string(Bytes().substr(at, std::min(piece, end - at))));
      message.mutable_chunk()->set_offset(static_cast<int64_t>(at));
      MERCER_RETURN_IF_ERROR(upload.Add(message));
    }
    return absl::OkStatus();
  }

  absl::Status SendHeader(DatasetUpload& upload) {
    v1::UploadDatasetRequest message;
    *message.mutable_header() = header_;
    return upload.Add(message);
  }

  absl::StatusOr<v1::Dataset> Upload(size_t piece) {
    DatasetUpload upload(context_);
    MERCER_RETURN_IF_ERROR(SendHeader(upload));
    taken_in_ = FilesIn("blobs/tmp") == 1;
    MERCER_RETURN_IF_ERROR(Send(upload, 0, Bytes().size(), piece));
    return upload.Finish(NeverCancelled);
  }

  // The number of rows is not known before their end.
  absl::StatusOr<v1::Dataset> UploadToBeRead() {
    const v1::UploadHeader header = header_;
    format()->set_rows(0);
    absl::StatusOr<v1::Dataset> dataset = Upload(size_t{1} << 20);
    header_ = header;
    EXPECT_FALSE(taken_in_);
    return dataset;
  }

  // All but what is about the one upload.
  static std::string Meaning(v1::Dataset dataset) {
    dataset.clear_name();
    dataset.clear_create_time();
    dataset.clear_etag();
    return dataset.DebugString();
  }

  void ExpectSameEitherWay() {
    const auto expected = UploadToBeRead();
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (const size_t piece : {size_t{4099}, size_t{1} << 20, size_t{4} << 20}) {
      const auto found = Upload(piece);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_TRUE(taken_in_);
      EXPECT_EQ(Meaning(*found), Meaning(*expected)) << "in pieces of " << piece;
    }
    EXPECT_EQ(FilesIn("blobs/tmp") + FilesIn("uploads"), 0u);
  }

  void ExpectSameRefusalEitherWay(const std::string& words) {
    const auto expected = UploadToBeRead();
    EXPECT_NE(expected.status().message().find(words), std::string::npos) << expected.status();
    const auto found = Upload(size_t{1} << 20);
    EXPECT_TRUE(taken_in_);
    EXPECT_EQ(found.status(), expected.status());
    EXPECT_EQ(FilesIn("blobs") + FilesIn("uploads"), 0u);
  }

  v1::UploadHeader header_;
  RowMatrix table_;
  bool taken_in_ = false;
};

TEST_F(TableIntakeTest, SameDataSetHoweverTheBytesAreCut) { ExpectSameEitherWay(); }

TEST_F(TableIntakeTest, SameDataSetWithoutColumnsWithARole) {
  format()->mutable_columns(kTarget)->clear_role();
  ExpectSameEitherWay();
}

TEST_F(TableIntakeTest, SameDataSetWithColumnsInAnotherOrderThanTheFile) {
  v1::BlockColumns& block = *format()->add_blocks();
  block.set_name("all");
  for (const char* name : {"x8", "x5", "x0..x2", "x4", "x7", "x6"}) {
    block.add_columns(name);
  }
  ExpectSameEitherWay();
}

// A missing value has many forms, and one in the file.
TEST_F(TableIntakeTest, SameDataSetWithMissingValuesOfAnyForm) {
  format()->set_allow_missing(true);
  table_(3, 0) = std::numeric_limits<double>::quiet_NaN();
  table_(40'000, 1) = std::bit_cast<double>(uint64_t{0xFFF8000000000123});
  table_(40'001, kCategorical) = std::bit_cast<double>(uint64_t{0x7FFC000000000001});
  table_(9, kTarget) = std::bit_cast<double>(uint64_t{0xFFF8000000000001});
  table_.col(7).setConstant(std::numeric_limits<double>::quiet_NaN());
  ExpectSameEitherWay();
}

TEST_F(TableIntakeTest, TheNumbersAreThoseThatCame) {
  const auto uploaded = Upload(12'345);
  ASSERT_TRUE(uploaded.ok()) << uploaded.status();
  EXPECT_TRUE(taken_in_);
  const auto path = blobs_->VerifiedPath(uploaded->digest());
  ASSERT_TRUE(path.ok()) << path.status();
  const auto dataset = mercer::OpenDataset(*path);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ(dataset->rows, kRows);
  RowMatrix expected(kRows, kColumns - 1);
  expected << table_.leftCols(kTarget), table_.rightCols(kColumns - kTarget - 1);
  EXPECT_EQ(dataset->blocks[0].values.view(), expected);
  EXPECT_EQ(dataset->role_columns[0].values, table_.col(kTarget));
}

TEST_F(TableIntakeTest, AMissingValueIsRefusedInTheSameWords) {
  table_(65'000, 2) = std::numeric_limits<double>::quiet_NaN();
  ExpectSameRefusalEitherWay("row 65001, column 'x2': the value is missing");
}

TEST_F(TableIntakeTest, AMissingTargetIsRefusedInTheSameWords) {
  table_(10, kTarget) = std::numeric_limits<double>::quiet_NaN();
  ExpectSameRefusalEitherWay("row 11, column 'x3': the target is missing");
}

TEST_F(TableIntakeTest, AnInfiniteValueIsRefusedInTheSameWords) {
  table_(kRows - 1, 8) = -kInfinity;
  ExpectSameRefusalEitherWay("row 70001, column 'x8': the value is infinite");
}

TEST_F(TableIntakeTest, ACodeWithoutACategoryIsRefusedInTheSameWords) {
  table_(123, kCategorical) = 3;
  ExpectSameRefusalEitherWay("row 124, column 'x5': 3 is no code of its 3 categories");
}

TEST_F(TableIntakeTest, FewerOrMoreRowsThanAnnouncedAreRefusedInTheSameWords) {
  for (const Index announced : {kRows + 1, kRows - 1}) {
    format()->set_rows(announced);
    const auto found = Upload(size_t{1} << 20);
    EXPECT_TRUE(taken_in_);
    EXPECT_NE(found.status().message().find("rows of 9 doubles were announced, 70001 came"),
              std::string::npos)
        << found.status();
    EXPECT_EQ(FilesIn("blobs") + FilesIn("uploads"), 0u);
  }
}

TEST_F(TableIntakeTest, ABrokenUploadLeavesNothing) {
  {
    DatasetUpload upload(context_);
    ASSERT_TRUE(SendHeader(upload).ok());
    ASSERT_TRUE(Send(upload, 0, Bytes().size() / 2, size_t{1} << 20).ok());
    EXPECT_EQ(FilesIn("blobs/tmp"), 1u);
  }
  EXPECT_EQ(FilesIn("blobs") + FilesIn("uploads"), 0u);
}

TEST_F(TableIntakeTest, AnUploadThatIsResumedMakesTheSame) {
  const auto expected = UploadToBeRead();
  ASSERT_TRUE(expected.ok()) << expected.status();
  header_.set_upload_id("u");
  header_.set_sha256(Sha256Hex(Bytes()));
  header_.set_total_bytes(static_cast<int64_t>(Bytes().size()));
  const size_t half = Bytes().size() / 2;
  {
    DatasetUpload upload(context_);
    ASSERT_TRUE(SendHeader(upload).ok());
    ASSERT_TRUE(Send(upload, 0, half, size_t{1} << 20).ok());
  }
  for (const size_t begin : {half, size_t{0}, half - 1000}) {
    DatasetUpload upload(context_);
    ASSERT_TRUE(SendHeader(upload).ok());
    ASSERT_TRUE(Send(upload, begin, Bytes().size(), size_t{1} << 20).ok());
    const auto found = upload.Finish(NeverCancelled);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(Meaning(*found), Meaning(*expected)) << "from " << begin;
    ASSERT_TRUE(storage_->datasets().DeleteDataset(found->name().substr(9)).ok());
    DatasetUpload again(context_);
    ASSERT_TRUE(SendHeader(again).ok());
    ASSERT_TRUE(Send(again, 0, half, size_t{1} << 20).ok());
  }
}

// Nothing is promised of how many are taken in at the same time, but that all of them are stored.
TEST_F(TableIntakeTest, WithoutRoomInMemoryTheFilesAreRead) {
  const auto all = context_.intake_budget.TryToTake(int64_t{256} << 20, int64_t{256} << 20);
  ASSERT_TRUE(all.has_value());
  const auto uploaded = Upload(size_t{1} << 20);
  ASSERT_TRUE(uploaded.ok()) << uploaded.status();
  EXPECT_FALSE(taken_in_);
}

TEST_F(TableIntakeTest, ItsMemoryIsGivenBack) {
  ASSERT_TRUE(Upload(size_t{1} << 20).ok());
  EXPECT_TRUE(context_.intake_budget.TryToTake(int64_t{256} << 20, int64_t{256} << 20).has_value());
}

}  // namespace
}  // namespace mercer::server
