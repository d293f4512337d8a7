// Uploads that are broken off and resumed, by streams that come and go and by servers that are started again.
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>
#include <utility>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "core/base/encoding/crc32c.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/api/dataset_handlers.h"
#include "server/uploads/dataset_upload.h"
#include "tests/server/uploads/upload_fixture.h"

namespace mercer::server {
namespace {

// Set by hand.
class StillClock final : public Clock {
 public:
  absl::Time Now() const override { return now + jump; }
  absl::Duration Monotonic() const override { return now - absl::UnixEpoch(); }
  absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  absl::Duration jump = absl::ZeroDuration();  // of the wall clock
};

class ResumableUploadTest : public UploadFolderTest {
 protected:
  ResumableUploadTest() {
    context_.clock = &clock_;
    header_.set_upload_id("u1");
    header_.set_sha256(Sha256Hex(kCsv));
    header_.set_total_bytes(static_cast<int64_t>(kCsv.size()));
    header_.add_parts()->mutable_csv();
  }
  // Its uploads look at the clock to the end.
  ~ResumableUploadTest() override { context_ = DatasetContext(); }

  // What a new process finds of the uploads.
  void StartAgain() {
    context_.uploads = std::make_shared<UnfinishedUploads>();
    const absl::Status recovered = context_.uploads->Recover(PolicyOfUploads(context_));
    EXPECT_TRUE(recovered.ok()) << recovered;
  }

  v1::UploadDatasetRequest Header() const {
    v1::UploadDatasetRequest message;
    *message.mutable_header() = header_;
    return message;
  }
  static v1::UploadDatasetRequest Chunk(size_t begin, size_t end, int part = 0) {
    v1::UploadDatasetRequest message;
    message.mutable_chunk()->set_part(part);
    message.mutable_chunk()->set_offset(static_cast<int64_t>(begin));
    message.mutable_chunk()->set_data(kCsv.substr(begin, end - begin));
    return message;
  }
  absl::StatusOr<v1::Dataset> Upload(const std::vector<v1::UploadDatasetRequest>& messages) {
    DatasetUpload upload(context_);
    for (const v1::UploadDatasetRequest& message : messages) {
      MERCER_RETURN_IF_ERROR(upload.Add(message));
    }
    return upload.Finish([] { return false; });
  }
  // A stream that brings these bytes and breaks.
  void Break(size_t begin, size_t end) {
    DatasetUpload upload(context_);
    ASSERT_TRUE(upload.Add(Header()).ok());
    const absl::Status added = upload.Add(Chunk(begin, end));
    ASSERT_TRUE(added.ok()) << added;
  }
  absl::StatusOr<v1::Upload> Get(const std::string& id = "u1") const {
    v1::GetUploadRequest request;
    request.set_name("uploads/" + id);
    return DatasetHandlers(context_).GetUpload(request);
  }
  int64_t Received() const {
    const auto upload = Get();
    return upload.ok() ? upload->received_bytes() : -1;
  }
  void AppendToFile(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / "uploads" / name, std::ios::app | std::ios::binary) << bytes;
  }

  static inline const std::string kCsv = "a,b,y\n1,red,0\n2,blue,1\n3,red,1\n";

  StillClock clock_;
  v1::UploadHeader header_;
};

TEST_F(ResumableUploadTest, GoesOnWhereTheStreamBroke) {
  Break(0, 10);
  const auto upload = Get();
  ASSERT_TRUE(upload.ok()) << upload.status();
  EXPECT_EQ(upload->received_bytes(), 10);
  EXPECT_EQ(upload->offset(), 10);
  EXPECT_EQ(upload->part(), 0);
  EXPECT_EQ(upload->total_bytes(), static_cast<int64_t>(kCsv.size()));
  EXPECT_EQ(upload->expire_time().seconds(), 1'700'000'000 + 24 * 3600);
  const auto dataset = Upload({Header(), Chunk(10, kCsv.size())});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows(), 3);
  EXPECT_EQ(FilesIn("uploads"), 0u);
  EXPECT_TRUE(context_.uploads->List("", 1).items.empty());
  EXPECT_EQ(context_.uploads->taken_bytes(), 0);
}

TEST_F(ResumableUploadTest, EveryCutAndEveryRestartGivesTheSameDataSet) {
  header_.clear_upload_id();
  const auto plain = Upload({Header(), Chunk(0, kCsv.size())});
  ASSERT_TRUE(plain.ok()) << plain.status();
  for (size_t cut = 1; cut < kCsv.size(); ++cut) {
    header_.set_upload_id("cut" + std::to_string(cut));
    Break(0, cut);
    if (cut % 2 == 0) {
      StartAgain();
    }
    const auto resumed = Upload({Header(), Chunk(cut, kCsv.size())});
    ASSERT_TRUE(resumed.ok()) << cut << ": " << resumed.status();
    EXPECT_EQ(resumed->digest(), plain->digest()) << cut;
  }
  EXPECT_EQ(FilesIn("blobs"), 1u) << "the same content is stored once";
}

TEST_F(ResumableUploadTest, BytesThatNobodyVouchedForAreCutOff) {
  Break(0, 12);
  StartAgain();
  AppendToFile("r-u1@.0", "garbage");
  AppendToFile("r-u1@.journal", "torn");
  AppendToFile("r-u1@.1", "a part that was begun in the last moment");
  AppendToFile("0123456789abcdef.0", "of an upload that could not be resumed");
  StartAgain();
  EXPECT_EQ(Received(), 12);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "uploads/r-u1@.0"), 12u);
  EXPECT_EQ(FilesIn("uploads"), 2u);
  const auto dataset = Upload({Header(), Chunk(12, kCsv.size())});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
}

// All that a crash can leave of a journal.
TEST_F(ResumableUploadTest, JournalCutAnywhereGivesAnEarlierStateOrNone) {
  for (size_t end = 4; end <= 16; end += 4) {
    Break(end - 4, end);
  }
  const std::filesystem::path journal = folder_ / "uploads/r-u1@.journal";
  const auto whole = std::filesystem::file_size(journal);
  int64_t last = 16;
  std::set<int64_t> seen;
  for (auto size = whole; size-- > 0;) {
    std::filesystem::resize_file(journal, size);
    StartAgain();
    const int64_t received = Received();
    EXPECT_LE(received, last) << size;
    if (received < 0) {
      EXPECT_EQ(FilesIn("uploads"), 0u) << size;
      break;
    }
    seen.insert(received);
    last = received;
  }
  EXPECT_THAT(seen, testing::ElementsAre(0, 4, 8, 12));
}

TEST_F(ResumableUploadTest, DamagedJournalIsNoUpload) {
  Break(0, 12);
  {
    std::fstream file(folder_ / "uploads/r-u1@.journal",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(40);
    file.put('?');
  }
  StartAgain();
  EXPECT_EQ(Get().status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FilesIn("uploads"), 0u);
}

TEST_F(ResumableUploadTest, GapsAndOtherBytesAreRefusedAndEqualOnesAreNot) {
  Break(0, 10);
  const auto gap = Upload({Header(), Chunk(11, 20)});
  EXPECT_EQ(GetReason(gap.status()), "BAD_UPLOAD_OFFSET") << gap.status();
  EXPECT_EQ(GetErrorMetadata(gap.status()),
            (ErrorMetadata{{"expected_part", "0"}, {"expected_offset", "10"}}));
  v1::UploadDatasetRequest other = Chunk(5, 15);
  (*other.mutable_chunk()->mutable_data())[0] ^= 1;
  EXPECT_EQ(GetReason(Upload({Header(), other}).status()), "BAD_UPLOAD_OFFSET");
  v1::UploadDatasetRequest negative = Chunk(5, 15);
  negative.mutable_chunk()->set_offset(-1);
  EXPECT_EQ(GetReason(Upload({Header(), negative}).status()), "BAD_UPLOAD_OFFSET");
  EXPECT_EQ(Received(), 10);
  const auto dataset = Upload({Header(), Chunk(0, 7), Chunk(5, 15), Chunk(15, kCsv.size())});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
}

TEST_F(ResumableUploadTest, DamagedChunkIsNotKeptAndMayComeAgain) {
  v1::UploadDatasetRequest good = Chunk(0, 10);
  good.mutable_chunk()->set_crc32c(Crc32c(kCsv.substr(0, 10)));
  v1::UploadDatasetRequest damaged = good;
  (*damaged.mutable_chunk()->mutable_data())[3] ^= 4;
  const auto refused = Upload({Header(), damaged});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(GetReason(refused.status()), "CHUNK_CHECKSUM");
  EXPECT_EQ(Received(), 0);
  const auto dataset = Upload({Header(), good, Chunk(10, kCsv.size())});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
}

TEST_F(ResumableUploadTest, StreamThatEndsTooEarlyKeepsWhatCame) {
  const auto early = Upload({Header(), Chunk(0, 10)});
  EXPECT_EQ(GetReason(early.status()), "BAD_SIZE") << early.status();
  EXPECT_EQ(Received(), 10);
  EXPECT_TRUE(Upload({Header(), Chunk(10, kCsv.size())}).ok());
}

TEST_F(ResumableUploadTest, MoreBytesThanAnnouncedAreRefused) {
  header_.set_total_bytes(12);
  const auto dataset = Upload({Header(), Chunk(0, 10), Chunk(10, 20)});
  EXPECT_EQ(GetReason(dataset.status()), "BAD_SIZE") << dataset.status();
  EXPECT_EQ(Received(), 10);
}

TEST_F(ResumableUploadTest, NewerStreamTakesOver) {
  DatasetUpload older(context_);
  ASSERT_TRUE(older.Add(Header()).ok());
  ASSERT_TRUE(older.Add(Chunk(0, 10)).ok());
  DatasetUpload newer(context_);
  ASSERT_TRUE(newer.Add(Header()).ok());
  const absl::Status late = older.Add(Chunk(10, 20));
  EXPECT_EQ(late.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(GetReason(late), "UPLOAD_TAKEN_OVER");
  EXPECT_EQ(GetReason(older.Finish([] { return false; }).status()), "UPLOAD_TAKEN_OVER");
  ASSERT_TRUE(newer.Add(Chunk(10, kCsv.size())).ok());
  EXPECT_TRUE(newer.Finish([] { return false; }).ok());
}

TEST_F(ResumableUploadTest, NobodyTakesOverWhileTheBytesAreRead) {
  DatasetUpload upload(context_);
  ASSERT_TRUE(upload.Add(Header()).ok());
  ASSERT_TRUE(upload.Add(Chunk(0, kCsv.size())).ok());
  bool asked = false;
  const auto dataset = upload.Finish([&] {
    if (!std::exchange(asked, true)) {
      DatasetUpload other(context_);
      const absl::Status refused = other.Add(Header());
      EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
      EXPECT_EQ(GetReason(refused), "UPLOAD_FINISHING");
      v1::DeleteUploadRequest request;
      request.set_name("uploads/u1");
      EXPECT_EQ(GetReason(DatasetHandlers(context_).DeleteUpload(request).status()),
                "UPLOAD_FINISHING");
    }
    return false;
  });
  EXPECT_TRUE(asked);
  EXPECT_TRUE(dataset.ok()) << dataset.status();
}

TEST_F(ResumableUploadTest, ClientThatGoesWhileTheBytesAreReadLosesNone) {
  {
    DatasetUpload upload(context_);
    ASSERT_TRUE(upload.Add(Header()).ok());
    ASSERT_TRUE(upload.Add(Chunk(0, kCsv.size())).ok());
    EXPECT_EQ(upload.Finish([] { return true; }).status().code(), absl::StatusCode::kCancelled);
  }
  EXPECT_EQ(Received(), static_cast<int64_t>(kCsv.size()));
  const auto dataset = Upload({Header()});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
}

TEST_F(ResumableUploadTest, FinishedUploadIsAnsweredWithoutItsBytes) {
  const auto first = Upload({Header(), Chunk(0, kCsv.size())});
  ASSERT_TRUE(first.ok()) << first.status();
  StartAgain();
  EXPECT_EQ(Get()->dataset(), first->name());
  DatasetUpload again(context_);
  ASSERT_TRUE(again.Add(Header()).ok());
  ASSERT_NE(again.finished(), nullptr);
  EXPECT_EQ(again.finished()->SerializeAsString(), first->SerializeAsString());
  header_.set_display_name("another meaning");
  EXPECT_EQ(GetReason(Upload({Header()}).status()), "UPLOAD_ID_REUSED");
  v1::DeleteDatasetRequest remove;
  remove.set_name(first->name());
  ASSERT_TRUE(DatasetHandlers(context_).DeleteDataset(remove).ok());
  EXPECT_EQ(Get().status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Upload({Header(), Chunk(0, kCsv.size())}).ok()) << "the id is free again";
}

TEST_F(ResumableUploadTest, OtherHeaderIsRefused) {
  Break(0, 10);
  header_.set_request_id("r2");
  Break(10, 12);  // only names the call
  header_.mutable_parts(0)->mutable_csv()->set_allow_missing(true);
  EXPECT_EQ(GetReason(Upload({Header(), Chunk(12, 20)}).status()), "UPLOAD_ID_REUSED");
  EXPECT_EQ(Received(), 12);
}

TEST_F(ResumableUploadTest, TakenIdOfADataSetIsRefusedBeforeTheBytes) {
  header_.set_dataset_id("mine");
  ASSERT_TRUE(Upload({Header(), Chunk(0, kCsv.size())}).ok());
  header_.set_upload_id("u2");
  DatasetUpload upload(context_);
  EXPECT_EQ(GetReason(upload.Add(Header())), "DATASET_EXISTS");
}

TEST_F(ResumableUploadTest, BytesThatCannotBeReadAreDropped) {
  header_.set_sha256(std::string(64, '0'));
  EXPECT_EQ(GetReason(Upload({Header(), Chunk(0, kCsv.size())}).status()), "CHECKSUM_MISMATCH");
  EXPECT_EQ(Get().status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FilesIn("uploads"), 0u);
}

TEST_F(ResumableUploadTest, UploadsExpire) {
  Break(0, 10);
  clock_.now += absl::Hours(23);
  Break(10, 11);
  clock_.now += absl::Hours(23);
  context_.uploads->RemoveExpired(PolicyOfUploads(context_));
  EXPECT_EQ(Received(), 11);
  clock_.now += absl::Hours(1);
  context_.uploads->RemoveExpired(PolicyOfUploads(context_));
  EXPECT_EQ(Get().status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FilesIn("uploads"), 0u);
  EXPECT_EQ(context_.uploads->taken_bytes(), 0);
  header_.set_upload_id("u2");
  Break(0, 10);
  clock_.now += absl::Hours(25);
  StartAgain();
  EXPECT_EQ(FilesIn("uploads"), 0u);
}

TEST_F(ResumableUploadTest, ClockThatIsSetDoesNotEndAPausedUpload) {
  Break(0, 10);
  clock_.jump = absl::Hours(1000);
  context_.uploads->RemoveExpired(PolicyOfUploads(context_));
  EXPECT_EQ(Received(), 10);
  clock_.jump = -absl::Hours(1000);
  clock_.now += absl::Hours(24);
  context_.uploads->RemoveExpired(PolicyOfUploads(context_));
  EXPECT_EQ(FilesIn("uploads"), 0u);
}

TEST_F(ResumableUploadTest, DeletedUploadEndsItsStream) {
  DatasetUpload upload(context_);
  ASSERT_TRUE(upload.Add(Header()).ok());
  v1::DeleteUploadRequest request;
  request.set_name("uploads/u1");
  ASSERT_TRUE(DatasetHandlers(context_).DeleteUpload(request).ok());
  EXPECT_EQ(GetReason(upload.Add(Chunk(0, 10))), "UPLOAD_TAKEN_OVER");
  EXPECT_EQ(DatasetHandlers(context_).DeleteUpload(request).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(FilesIn("uploads"), 0u);
}

TEST_F(ResumableUploadTest, SpaceOfAllUnfinishedUploadsIsBounded) {
  const auto size = static_cast<int64_t>(kCsv.size());
  context_.limits.upload_space_bytes = 2 * size;
  Break(0, 5);
  header_.set_upload_id("u2");
  Break(0, 5);
  header_.set_upload_id("u3");
  const auto third = Upload({Header(), Chunk(0, 5)});
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetReason(third.status()), "UPLOAD_SPACE_EXCEEDED");
  header_.clear_upload_id();
  EXPECT_EQ(GetReason(Upload({Header(), Chunk(0, kCsv.size())}).status()), "UPLOAD_SPACE_EXCEEDED");
  StartAgain();
  EXPECT_EQ(context_.uploads->taken_bytes(), 2 * size);
  header_.set_upload_id("u1");
  EXPECT_TRUE(Upload({Header(), Chunk(5, kCsv.size())}).ok());
  EXPECT_EQ(context_.uploads->taken_bytes(), size);
  header_.clear_upload_id();
  header_.set_display_name("small enough now");
  EXPECT_TRUE(Upload({Header(), Chunk(0, kCsv.size())}).ok());
}

TEST_F(ResumableUploadTest, StoredBytesAreBoundedAndEqualContentCountsOnce) {
  header_.clear_upload_id();
  const auto first = Upload({Header(), Chunk(0, kCsv.size())});
  ASSERT_TRUE(first.ok()) << first.status();
  context_.limits.stored_bytes = first->size_bytes() + 1;
  const auto equal = Upload({Header(), Chunk(0, kCsv.size())});
  ASSERT_TRUE(equal.ok()) << equal.status();
  EXPECT_NE(equal->name(), first->name());
  v1::UploadDatasetRequest other;
  other.mutable_header()->add_parts()->mutable_csv();
  v1::UploadDatasetRequest bytes;
  bytes.mutable_chunk()->set_data("a\n1\n");
  const auto refused = Upload({other, bytes});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetReason(refused.status()), "STORAGE_QUOTA_EXCEEDED");
  EXPECT_EQ(FilesIn("blobs"), 1u);
}

TEST_F(ResumableUploadTest, EqualContentIsOneBlobUntilItsLastDataSetIsDeleted) {
  header_.clear_upload_id();
  header_.set_dataset_id("one");
  ASSERT_TRUE(Upload({Header(), Chunk(0, kCsv.size())}).ok());
  header_.set_dataset_id("two");
  ASSERT_TRUE(Upload({Header(), Chunk(0, kCsv.size())}).ok());
  EXPECT_EQ(FilesIn("blobs"), 1u);
  v1::DeleteDatasetRequest remove;
  remove.set_name("datasets/one");
  ASSERT_TRUE(DatasetHandlers(context_).DeleteDataset(remove).ok());
  EXPECT_EQ(FilesIn("blobs"), 1u);
  v1::GetDatasetRequest get;
  get.set_name("datasets/two");
  const auto two = DatasetHandlers(context_).GetDataset(get);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_TRUE(blobs_->Read(two->digest()).ok());
  remove.set_name("datasets/two");
  ASSERT_TRUE(DatasetHandlers(context_).DeleteDataset(remove).ok());
  EXPECT_EQ(FilesIn("blobs"), 0u);
}

TEST_F(ResumableUploadTest, PartsAreResumedOneByOne) {
  header_.mutable_parts(0)->mutable_dense()->add_columns()->set_name("x");
  v1::SquareFormat& square = *header_.add_parts()->mutable_square();
  square.set_name("s");
  square.set_kind(v1::SQUARE_KIND_KERNEL);
  const std::vector<double> table = {1, 2};
  const std::vector<double> kernel = {1, 0.5, 0.5, 1};
  const std::string first(reinterpret_cast<const char*>(table.data()), 16);
  const std::string second(reinterpret_cast<const char*>(kernel.data()), 32);
  header_.set_sha256(Sha256Hex(first + second));
  header_.set_total_bytes(48);
  const auto piece = [&](int part, size_t begin, size_t size) {
    v1::UploadDatasetRequest message = Chunk(begin, begin, part);
    message.mutable_chunk()->set_data((part == 0 ? first : second).substr(begin, size));
    return message;
  };
  EXPECT_FALSE(Upload({Header(), piece(0, 0, 16), piece(1, 0, 8)}).ok());
  StartAgain();
  const auto upload = Get();
  ASSERT_TRUE(upload.ok()) << upload.status();
  EXPECT_EQ(upload->part(), 1);
  EXPECT_EQ(upload->offset(), 8);
  EXPECT_EQ(upload->received_bytes(), 24);
  EXPECT_EQ(GetReason(Upload({Header(), piece(1, 16, 8)}).status()), "BAD_UPLOAD_OFFSET");
  const auto dataset = Upload({Header(), piece(0, 8, 8), piece(1, 8, 24)});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows(), 2);
}

TEST_F(ResumableUploadTest, WhatAResumedUploadNeedsIsAskedFor) {
  header_.set_upload_id("../u");
  header_.clear_sha256();
  header_.clear_total_bytes();
  const auto dataset = Upload({Header()});
  std::vector<std::string> fields;
  for (const FieldViolation& violation : GetFieldViolations(dataset.status())) {
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields, testing::UnorderedElementsAre("header.upload_id", "header.sha256",
                                                    "header.total_bytes"));
  header_.set_upload_id("u1");
  header_.set_sha256(Sha256Hex(kCsv));
  header_.set_total_bytes(5);
  v1::UploadDatasetRequest chunk = Chunk(0, 5);
  chunk.mutable_chunk()->clear_offset();
  const auto without = Upload({Header(), chunk});
  ASSERT_EQ(GetFieldViolations(without.status()).size(), 1u) << without.status();
  EXPECT_EQ(GetFieldViolations(without.status())[0].field, "chunk.offset");
}

}  // namespace
}  // namespace mercer::server
