// Uploads over files that fail: at every single call that changes a file, for a moment or for long, and with the process
// or the power going away before it, or right after the failure. What was said to be there is there, and the rest can be
// sent again, to the same data set, without help.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/encoding/crc32c.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/api/dataset_handlers.h"
#include "server/digest/sha256.h"
#include "server/storage/sqlite/sqlite_storage.h"
#include "server/uploads/dataset_upload.h"
#include "tests/fault/files/file_faults.h"
#include "tests/support/fast_folder.h"
#include "tests/support/thorough.h"

namespace mercer::server {
namespace {

constexpr char kUpload[] = "uploads/u";
constexpr int kRows = 4;
constexpr int64_t kTableBytes = kRows * 8;
constexpr int64_t kSquareBytes = kRows * kRows * 8;
constexpr int64_t kTotalBytes = kTableBytes + 2 * kSquareBytes;
constexpr int64_t kChunkBytes = 40;
// Where the streams of an upload end; the last one brings the rest. They end within each part and at the end of one.
constexpr int64_t kStreamEnds[] = {20, kTableBytes, kTableBytes + 50, kTotalBytes - 30,
                                   kTotalBytes};
constexpr int64_t kUnknown = -1;  // there need not be an upload

const std::string& Content() {
  static const std::string content = [] {
    std::vector<double> values;
    for (int i = 0; i < kRows; ++i) {
      values.push_back(i);
    }
    for (int i = 0; i < 2 * kRows * kRows; ++i) {
      values.push_back((i % (kRows * kRows)) % (kRows + 1) == 0 ? 1 + i / (kRows * kRows) : 0.25);
    }
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 8);
  }();
  return content;
}

v1::UploadDatasetRequest Header() {
  v1::UploadDatasetRequest message;
  v1::UploadHeader& header = *message.mutable_header();
  header.set_dataset_id("numbers");
  header.set_upload_id("u");
  header.set_sha256(Sha256Hex(Content()));
  header.set_total_bytes(kTotalBytes);
  header.add_parts()->mutable_dense()->add_columns()->set_name("x");
  for (const char* name : {"first", "second"}) {
    v1::SquareFormat& square = *header.add_parts()->mutable_square();
    square.set_name(name);
    square.set_kind(v1::SQUARE_KIND_KERNEL);
  }
  return message;
}

// The bytes from a position on, up to the end of their part.
v1::UploadDatasetRequest ChunkAt(int64_t position, int64_t end) {
  const int64_t behind_table = position - kTableBytes;
  const int part = behind_table < 0 ? 0 : 1 + static_cast<int>(behind_table / kSquareBytes);
  const int64_t part_begin = part == 0 ? 0 : kTableBytes + (part - 1) * kSquareBytes;
  const int64_t part_end = part == 0 ? kTableBytes : part_begin + kSquareBytes;
  const int64_t size = std::min({kChunkBytes, end - position, part_end - position});
  v1::UploadDatasetRequest message;
  v1::UploadChunk& chunk = *message.mutable_chunk();
  chunk.set_part(part);
  chunk.set_offset(position - part_begin);
  chunk.set_data(Content().substr(static_cast<size_t>(position), static_cast<size_t>(size)));
  return message;
}

// The part of a server that takes uploads, in a folder that is there.
class UploadServer {
 public:
  static absl::StatusOr<std::unique_ptr<UploadServer>> Open(const std::string& folder) {
    auto server = std::make_unique<UploadServer>();
    SqliteOptions options;
    options.folder = folder;
    options.num_readers = 1;
    MERCER_ASSIGN_OR_RETURN(server->storage_, OpenSqliteStorage(options));
    MERCER_ASSIGN_OR_RETURN(server->blobs_, OpenBlobStore(folder + "/blobs"));
    MERCER_RETURN_IF_ERROR(PosixFileSystem().MakeFolder(folder + "/uploads"));
    MERCER_RETURN_IF_ERROR(PosixFileSystem().SyncFolder(folder));
    server->context_.storage = server->storage_.get();
    server->context_.blobs = server->blobs_.get();
    server->context_.upload_folder = folder + "/uploads";
    MERCER_RETURN_IF_ERROR(RecoverUploads(server->context_));
    return server;
  }

  // One stream. OK when it ends before the last byte; with the last one, when the data set is there.
  absl::Status Send(int64_t begin, int64_t end) {
    DatasetUpload upload(context_);
    MERCER_RETURN_IF_ERROR(upload.Add(Header()));
    while (begin < end && upload.finished() == nullptr) {
      const v1::UploadDatasetRequest chunk = ChunkAt(begin, end);
      MERCER_RETURN_IF_ERROR(upload.Add(chunk));
      begin += static_cast<int64_t>(chunk.chunk().data().size());
    }
    return end < kTotalBytes ? absl::OkStatus() : upload.Finish([] { return false; }).status();
  }
  absl::Status Drop() {
    v1::DeleteUploadRequest request;
    request.set_name(kUpload);
    return DatasetHandlers(context_).DeleteUpload(request).status();
  }
  // How much is there: kUnknown without an upload, more than all when the data set is.
  int64_t Received() const {
    v1::GetUploadRequest request;
    request.set_name(kUpload);
    const absl::StatusOr<v1::Upload> upload = DatasetHandlers(context_).GetUpload(request);
    EXPECT_TRUE(upload.ok() || absl::IsNotFound(upload.status())) << upload.status();
    if (!upload.ok()) {
      return kUnknown;
    }
    return upload->dataset().empty() ? upload->received_bytes() : kTotalBytes + 1;
  }
  // What a finished upload is, and leaves.
  void ExpectDataset(const std::string& folder) const {
    v1::GetDatasetRequest request;
    request.set_name("datasets/numbers");
    const absl::StatusOr<v1::Dataset> dataset = DatasetHandlers(context_).GetDataset(request);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ(dataset->rows(), kRows);
    const auto blobs = blobs_->List();
    ASSERT_TRUE(blobs.ok()) << blobs.status();
    EXPECT_EQ(*blobs, std::vector<BlobDigest>{dataset->digest()});
    EXPECT_TRUE(blobs_->Read(dataset->digest()).ok());
    EXPECT_TRUE(std::filesystem::is_empty(folder + "/uploads"));
    EXPECT_EQ(context_.uploads->taken_bytes(), 0);
  }

 private:
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<BlobStore> blobs_;
  DatasetContext context_;
};

// What a disk holds, and what had been said of it.
struct Remains {
  std::string what;
  std::filesystem::path folder;
  int64_t acknowledged;
  int64_t sent;
  bool may_be_dropped;
};

class UploadFaultsTest : public testing::Test {
 protected:
  UploadFaultsTest() : folder_(FastFolder() / absl::StrCat("mercer-upload-faults-", getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "copies");
  }
  ~UploadFaultsTest() override { std::filesystem::remove_all(folder_); }

  std::string MakeFolder(const std::string& name) const {
    std::filesystem::remove_all(folder_ / name);
    std::filesystem::create_directories(folder_ / name);
    return folder_ / name;
  }
  // Only while no call is under way.
  void Keep(const FileFaults& faults, const std::string& folder, const std::string& when) {
    const auto add = [&](const std::string& end) {
      remains_.push_back({absl::StrCat(end, when),
                          folder_ / "copies" / absl::StrCat(remains_.size()), acknowledged_, sent_,
                          may_be_dropped_});
      return remains_.back().folder;
    };
    std::filesystem::copy(folder, add("killed "), std::filesystem::copy_options::recursive);
    faults.WriteAfterPowerLoss(add("power lost "), nullptr);
    faults.WriteAfterPowerLoss(add("power lost, some of the rest written, "), &random_);
  }
  // What was kept is as much as was said, and a server goes on with it.
  void ExpectAllGoOn() {
    for (const Remains& remains : remains_) {
      SCOPED_TRACE(remains.what);
      ExpectGoesOn(remains);
      std::filesystem::remove_all(remains.folder);
      ASSERT_FALSE(HasFailure());
    }
    remains_.clear();
  }
  static void ExpectGoesOn(const Remains& remains);
  // Sends the whole over all failures, which end with the first that is seen; `on_error` is told of it.
  void Insist(UploadServer& server, const std::function<void(const absl::Status&)>& on_error);
  void FailEach(int64_t count, int error);

  const std::filesystem::path folder_;
  std::vector<Remains> remains_;
  std::mt19937_64 random_{1};
  int64_t acknowledged_ = kUnknown;
  int64_t sent_ = 0;
  bool may_be_dropped_ = false;
};

void UploadFaultsTest::ExpectGoesOn(const Remains& remains) {
  const auto server = UploadServer::Open(remains.folder);
  ASSERT_TRUE(server.ok()) << server.status();
  const int64_t received = (*server)->Received();
  EXPECT_TRUE(received >= remains.acknowledged || (remains.may_be_dropped && received == kUnknown))
      << received << " bytes of " << remains.acknowledged;
  EXPECT_TRUE(received <= remains.sent || (received > kTotalBytes && remains.sent == kTotalBytes))
      << received << " bytes of " << remains.sent;
  const absl::Status finished =
      (*server)->Send(std::clamp(received, int64_t{0}, kTotalBytes), kTotalBytes);
  EXPECT_TRUE(finished.ok()) << finished;
  (*server)->ExpectDataset(remains.folder);
}

void UploadFaultsTest::Insist(UploadServer& server,
                              const std::function<void(const absl::Status&)>& on_error) {
  acknowledged_ = kUnknown;
  sent_ = 0;
  for (const int64_t end : kStreamEnds) {
    absl::Status sent = absl::UnknownError("not sent");
    for (int tries = 0; !sent.ok() && tries < 3; ++tries) {
      const int64_t begin = server.Received();
      ASSERT_GE(begin, acknowledged_);
      sent_ = end;
      sent = server.Send(std::clamp(begin, int64_t{0}, end), end);
      // A stream that has broken off says nothing of its last bytes: they may be gone.
      const int64_t received = server.Received();
      ASSERT_GE(received, acknowledged_) << sent;
      acknowledged_ = received;
      if (sent.ok() && received < end) {
        sent = absl::UnavailableError("the end of the stream was not written down");
      }
      if (!sent.ok()) {
        on_error(sent);
      }
    }
    ASSERT_TRUE(sent.ok()) << "up to " << end << ": " << sent;
  }
}

TEST_F(UploadFaultsTest, EndBeforeAnyCallLosesNothingAcknowledged) {
  const std::string folder = MakeFolder("data");
  {
    FileFaults faults(folder);
    auto server = UploadServer::Open(folder);
    ASSERT_TRUE(server.ok()) << server.status();
    faults.set_before_call([&](int64_t number, const std::string& what) {
      if (SweepStopsAt(number, kSweepStride)) {
        Keep(faults, folder, absl::StrCat("before call ", number, ": ", what));
      }
    });
    Insist(**server, [](const absl::Status& error) { FAIL() << error; });
    Keep(faults, folder, "at the end");
  }
  EXPECT_GT(remains_.size(), 3 * 40U / (IsThorough() ? 1 : kSweepStride));
  ExpectAllGoOn();
}

TEST_F(UploadFaultsTest, DroppedUploadIsThereOrNotAndNeverComesBack) {
  const std::string folder = MakeFolder("data");
  {
    FileFaults faults(folder);
    auto server = UploadServer::Open(folder);
    ASSERT_TRUE(server.ok()) << server.status();
    ASSERT_TRUE((*server)->Send(0, kTableBytes + 50).ok());
    acknowledged_ = sent_ = kTableBytes + 50;
    may_be_dropped_ = true;
    faults.set_before_call([&](int64_t number, const std::string& what) {
      Keep(faults, folder, absl::StrCat("before call ", number, ": ", what));
    });
    const absl::Status dropped = (*server)->Drop();
    ASSERT_TRUE(dropped.ok()) << dropped;
    acknowledged_ = sent_ = kUnknown;
    Keep(faults, folder, "at the end");
  }
  ExpectAllGoOn();
}

// The failure is told or mended; the process may end right after it.
void UploadFaultsTest::FailEach(int64_t count, int error) {
  int64_t calls = 1;
  for (int64_t first = 1; first <= calls && !HasFailure(); ++first) {
    if (!SweepStopsAt(first, kSweepStride)) {
      continue;
    }
    const std::string folder = MakeFolder("data");
    auto server = UploadServer::Open(folder);
    ASSERT_TRUE(server.ok()) << server.status();
    {
      FileFaults faults(folder);
      std::string failed = "none";
      faults.set_before_call([&](int64_t number, const std::string& what) {
        failed = number == first ? what : failed;
      });
      faults.Fail({first, count, error});
      const auto on_error = [&](const absl::Status& status) {
        EXPECT_FALSE(absl::IsAlreadyExists(status) || absl::IsNotFound(status)) << status;
        Keep(faults, folder, absl::StrCat("after the failure of call ", first, ": ", failed));
        faults.Heal();
      };
      Insist(**server, on_error);
      calls = std::max(calls, faults.calls());
      faults.Heal();
      SCOPED_TRACE(absl::StrCat("call ", first, " of ", calls, ", failed: ", failed));
      EXPECT_GT((*server)->Received(), kTotalBytes);
      Keep(faults, folder, absl::StrCat("at the end, failed: ", failed));
    }
    ExpectAllGoOn();
  }
  EXPECT_GT(calls, 40);
}

TEST_F(UploadFaultsTest, FailureOfAnyCallLosesNothingAcknowledged) { FailEach(1, EIO); }

TEST_F(UploadFaultsTest, FullDiskAtAnyCallLosesNothingAcknowledged) {
  FailEach(FileFaults::kForEver, ENOSPC);
}

TEST_F(UploadFaultsTest, FailedDropIsToldAndMayBeAskedForAgain) {
  int64_t calls = 1;
  for (int64_t first = 1; first <= calls && !HasFailure(); ++first) {
    const std::string folder = MakeFolder("data");
    auto server = UploadServer::Open(folder);
    ASSERT_TRUE(server.ok()) << server.status();
    ASSERT_TRUE((*server)->Send(0, kTableBytes + 50).ok());
    FileFaults faults(folder);
    std::string failed = "none";
    faults.set_before_call(
        [&](int64_t number, const std::string& what) { failed = number == first ? what : failed; });
    faults.Fail({first, 1, EIO});
    const absl::Status dropped = (*server)->Drop();
    faults.Heal();
    calls = std::max(calls, faults.calls());
    SCOPED_TRACE(absl::StrCat("call ", first, " of ", calls, ", failed: ", failed));
    if (!dropped.ok()) {
      const absl::Status again = (*server)->Drop();
      EXPECT_TRUE(again.ok() || absl::IsNotFound(again)) << again;
    }
    EXPECT_EQ((*server)->Received(), kUnknown);
    const absl::Status sent = (*server)->Send(0, kTotalBytes);
    EXPECT_TRUE(sent.ok()) << sent;
    (*server)->ExpectDataset(folder);
  }
}

TEST_F(UploadFaultsTest, ShortWritesChangeNothing) {
  const std::string folder = MakeFolder("data");
  FileFaults faults(folder);
  faults.set_short_writes(true);
  auto server = UploadServer::Open(folder);
  ASSERT_TRUE(server.ok()) << server.status();
  Insist(**server, [](const absl::Status& error) { FAIL() << error; });
  (*server)->ExpectDataset(folder);
}

}  // namespace
}  // namespace mercer::server
