// What one caller may take of the space of unfinished uploads, and how callers see and drop what they have begun.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/crc32c.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/api/dataset_handlers.h"
#include "server/uploads/dataset_upload.h"
#include "tests/server/uploads/upload_fixture.h"
#include "tests/support/server/real_file_system.h"

namespace mercer::server {
namespace {

constexpr char kTwoRows[] = "a\n1\n2\n";
constexpr int64_t kTwoRowsBytes = sizeof(kTwoRows) - 1;

class UploadLimitsTest : public UploadFolderTest {
 protected:
  void StartAgain() {
    context_.uploads = std::make_shared<UnfinishedUploads>();
    const absl::Status recovered = RecoverUploads(context_);
    EXPECT_TRUE(recovered.ok()) << recovered;
  }
  static v1::UploadDatasetRequest Header(const std::string& upload_id) {
    v1::UploadDatasetRequest message;
    v1::UploadHeader& header = *message.mutable_header();
    header.set_upload_id(upload_id);
    header.set_display_name("file of " + upload_id);
    header.set_sha256(upload_id.empty() ? "" : Sha256Hex(kTwoRows));
    header.set_total_bytes(upload_id.empty() ? 0 : kTwoRowsBytes);
    header.add_parts()->mutable_csv();
    return message;
  }
  // A stream that brings the first bytes and ends.
  absl::Status Begin(const std::string& caller, const std::string& upload_id) const {
    DatasetUpload upload(context_, caller);
    MERCER_RETURN_IF_ERROR(upload.Add(Header(upload_id)));
    v1::UploadDatasetRequest bytes;
    bytes.mutable_chunk()->set_offset(0);
    bytes.mutable_chunk()->set_data(std::string(kTwoRows, 3));
    return upload.Add(bytes);
  }
  absl::StatusOr<v1::Dataset> Finish(const std::string& caller,
                                     const std::string& upload_id) const {
    DatasetUpload upload(context_, caller);
    MERCER_RETURN_IF_ERROR(upload.Add(Header(upload_id)));
    v1::UploadDatasetRequest bytes;
    bytes.mutable_chunk()->set_offset(0);
    bytes.mutable_chunk()->set_data(kTwoRows);
    MERCER_RETURN_IF_ERROR(upload.Add(bytes));
    return upload.Finish([] { return false; });
  }
  static CallInfo CallOf(const std::string& caller) {
    CallInfo call;
    call.caller.name = caller;
    return call;
  }
  absl::Status Drop(const std::string& caller, const std::string& upload_id) const {
    v1::DeleteUploadRequest request;
    request.set_name("uploads/" + upload_id);
    return DatasetHandlers(context_).DeleteUpload(request, CallOf(caller)).status();
  }
  void RenameFiles(const std::string& from, const std::string& to) const {
    for (const char* end : {".journal", ".0"}) {
      std::filesystem::rename(folder_ / "uploads" / (from + end), folder_ / "uploads" / (to + end));
    }
  }
  // "uploads/id of caller", page by page.
  std::vector<std::string> List(int page_size) const {
    std::vector<std::string> listed;
    v1::ListUploadsRequest request;
    request.set_page_size(page_size);
    do {
      const auto page = DatasetHandlers(context_).ListUploads(request);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) {
        break;
      }
      EXPECT_LE(page->uploads_size(), page_size);
      for (const v1::Upload& upload : page->uploads()) {
        listed.push_back(upload.name() + " of " + upload.caller());
      }
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    return listed;
  }
};

// A disk that fills as bytes are asked about.
class FillingDisk final : public RealFileSystem {
 public:
  int64_t free_bytes = 0;
  int64_t lost_per_look = 0;

  absl::StatusOr<DiskSpace> Space(const std::string&) override {
    free_bytes -= lost_per_look;
    return DiskSpace{free_bytes, int64_t{1} << 40};
  }
};

void ExpectRefused(const absl::Status& status, const ErrorMetadata& metadata) {
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(GetReason(status), "UPLOAD_SPACE_EXCEEDED");
  EXPECT_EQ(GetErrorMetadata(status), metadata);
}

TEST_F(UploadLimitsTest, AnnouncedBytesMustFindRoomOnTheDisk) {
  FillingDisk files;
  const DiskGuard guard(folder_, /*min_free_bytes=*/1000, files);
  context_.disk = &guard;
  files.free_bytes = 1000 + kTwoRowsBytes - 1;
  EXPECT_EQ(GetReason(Begin("anna", "a")), "DISK_NEARLY_FULL");
  EXPECT_TRUE(List(10).empty()) << "refused before its first byte";
  files.free_bytes = 1000 + 2 * kTwoRowsBytes;
  const auto stored = Finish("anna", "a");
  ASSERT_TRUE(stored.ok()) << stored.status();
  files.free_bytes = 0;
  const auto again = Finish("anna", "a");
  ASSERT_TRUE(again.ok()) << "it is there already: " << again.status();
  EXPECT_EQ(again->name(), stored->name());
}

TEST_F(UploadLimitsTest, TableLargerThanItsTextFindsTheDiskFull) {
  FillingDisk files;
  const DiskGuard guard(folder_, /*min_free_bytes=*/1000, files);
  context_.disk = &guard;
  std::string text = "a\n";
  for (int row = 0; row < 5 << 20; ++row) {
    text += "1\n";  // two bytes, of which a number of eight is made
  }
  files.free_bytes = int64_t{1} << 40;
  DatasetUpload upload(context_, "anna");
  ASSERT_TRUE(upload.Add(Header("")).ok());
  for (size_t begin = 0; begin < text.size(); begin += size_t{1} << 20) {
    v1::UploadDatasetRequest bytes;
    bytes.mutable_chunk()->set_data(text.substr(begin, size_t{1} << 20));
    ASSERT_TRUE(upload.Add(bytes).ok());
  }
  // Room enough when it is asked first; others write too.
  files.lost_per_look = static_cast<int64_t>(text.size()) + 1;
  files.free_bytes = 1000 + 2 * static_cast<int64_t>(text.size()) + files.lost_per_look;
  EXPECT_EQ(GetReason(upload.Finish([] { return false; }).status()), "DISK_NEARLY_FULL");
  EXPECT_EQ(FilesIn("blobs"), 0u);
}

TEST_F(UploadLimitsTest, HeaderThatIsKeptIsBounded) {
  v1::UploadDatasetRequest message = Header("a");
  v1::UploadHeader& header = *message.mutable_header();
  for (int i = 0; i < 5 << 10; ++i) {
    header.mutable_parts(0)->mutable_csv()->add_categorical(std::string(1 << 10, 'x'));
  }
  const absl::Status refused = DatasetUpload(context_, "anna").Add(message);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_TRUE(List(10).empty());
}

TEST_F(UploadLimitsTest, OneCallerLeavesSpaceToTheOthers) {
  context_.limits.upload_space_bytes = 4 * kTwoRowsBytes;
  context_.limits.caller_upload_bytes = 2 * kTwoRowsBytes;
  const ErrorMetadata anna_has_all = {{"caller", "anna"},
                                      {"limit_bytes", std::to_string(2 * kTwoRowsBytes)}};
  EXPECT_TRUE(Begin("anna", "a1").ok());
  EXPECT_TRUE(Begin("anna", "a2").ok());
  ExpectRefused(Begin("anna", "a3"), anna_has_all);
  ExpectRefused(Begin("anna", ""), anna_has_all);
  EXPECT_TRUE(Begin("anna", "a1").ok()) << "the stream of one that was begun takes nothing more";
  StartAgain();
  ExpectRefused(Begin("anna", "a3"), anna_has_all);
  EXPECT_TRUE(Begin("bob", "b1").ok());
  EXPECT_TRUE(Begin("bob", "b2").ok());
  ExpectRefused(Begin("carl", "c1"), {{"limit_bytes", std::to_string(4 * kTwoRowsBytes)}});
  EXPECT_TRUE(Drop("anna", "a1").ok());
  EXPECT_TRUE(Begin("anna", "a3").ok());
  EXPECT_TRUE(Finish("bob", "b2").ok());
  EXPECT_TRUE(Begin("carl", "c1").ok());
}

TEST_F(UploadLimitsTest, NumberOfUploadsOfOneCallerIsBoundedAsTheirSpace) {
  context_.limits.upload_space_bytes = 100'000;
  context_.limits.caller_upload_bytes = 1'000;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(Begin("anna", "a" + std::to_string(i)).ok()) << i;
  }
  ExpectRefused(Begin("anna", "a10"), {{"caller", "anna"}, {"limit_uploads", "10"}});
  EXPECT_TRUE(Begin("bob", "b").ok());
}

TEST_F(UploadLimitsTest, UnfinishedUploadsAreListedAndDropped) {
  EXPECT_EQ(List(10), std::vector<std::string>());
  for (const char* id : {"c", "a", "b"}) {
    ASSERT_TRUE(Begin(std::string("caller ") + id, id).ok());
  }
  ASSERT_TRUE(Begin("somebody", "").ok()) << "one that cannot be resumed is not listed";
  const std::vector<std::string> all = {"uploads/a of caller a", "uploads/b of caller b",
                                        "uploads/c of caller c"};
  for (const int page_size : {1, 2, 3, 10}) {
    EXPECT_EQ(List(page_size), all) << page_size;
  }
  StartAgain();
  EXPECT_EQ(List(2), all) << "after a start";
  EXPECT_TRUE(Drop("caller b", "b").ok());
  EXPECT_TRUE(Finish("caller c", "c").ok());
  EXPECT_EQ(List(2), std::vector<std::string>{all[0]});
  EXPECT_EQ(FilesIn("uploads"), 2u);
}

// Equal content has equal ids, as clients make them.
TEST_F(UploadLimitsTest, EachCallerHasIdsOfHisOwn) {
  const auto get = [this](const std::string& caller, const std::string& of) {
    v1::GetUploadRequest request;
    request.set_name("uploads/u");
    request.set_caller(of);
    return DatasetHandlers(context_).GetUpload(request, CallOf(caller));
  };
  ASSERT_TRUE(Begin("anna", "u").ok());
  EXPECT_EQ(get("bob", "").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(get("bob", "anna")->received_bytes(), 3) << "whoever may read may look";
  ASSERT_TRUE(Begin("bob", "u").ok());
  const std::vector<std::string> both = {"uploads/u of anna", "uploads/u of bob"};
  EXPECT_EQ(List(1), both);
  StartAgain();
  EXPECT_EQ(List(1), both);
  const auto of_bob = Finish("bob", "u");
  ASSERT_TRUE(of_bob.ok()) << of_bob.status();
  EXPECT_EQ(List(1), std::vector<std::string>{both[0]});
  EXPECT_EQ(get("bob", "")->dataset(), of_bob->name());
  EXPECT_EQ(get("anna", "")->received_bytes(), 3) << "nobody has taken it over";
  EXPECT_EQ(Finish("bob", "u")->name(), of_bob->name());
  StartAgain();
  const auto of_anna = Finish("anna", "u");
  ASSERT_TRUE(of_anna.ok()) << of_anna.status();
  EXPECT_NE(of_anna->name(), of_bob->name());
  EXPECT_EQ(of_anna->owner(), "anna");
  EXPECT_EQ(of_bob->owner(), "bob");
  EXPECT_EQ(get("carl", "").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(UploadLimitsTest, RequestIdsAreEachCallersOwn) {
  const auto upload = [this](const std::string& caller, const std::string& content) {
    DatasetUpload stream(context_, caller);
    v1::UploadDatasetRequest message = Header("");
    message.mutable_header()->set_request_id("r");
    EXPECT_TRUE(stream.Add(message).ok());
    message.mutable_chunk()->set_data(content);
    EXPECT_TRUE(stream.Add(message).ok());
    return stream.Finish([] { return false; });
  };
  // One of a server that kept no owners.
  const auto of_nobody = upload("", "a\n0\n");
  ASSERT_TRUE(of_nobody.ok()) << of_nobody.status();
  EXPECT_EQ(upload("anna", "a\n0\n")->name(), of_nobody->name()) << "repeated after an upgrade";
  v1::DeleteDatasetRequest remove;
  remove.set_name(of_nobody->name());
  ASSERT_TRUE(DatasetHandlers(context_).DeleteDataset(remove, CallOf("anna")).ok());

  const auto of_anna = upload("anna", "a\n1\n");
  const auto of_bob = upload("bob", "a\n2\n");
  ASSERT_TRUE(of_anna.ok()) << of_anna.status();
  ASSERT_TRUE(of_bob.ok()) << of_bob.status();
  EXPECT_NE(of_anna->name(), of_bob->name());
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(upload("anna", "a\n1\n")->name(), of_anna->name());
    EXPECT_EQ(upload("bob", "a\n2\n")->name(), of_bob->name());
    EXPECT_EQ(GetReason(upload("bob", "a\n1\n").status()), "REQUEST_ID_REUSED");
    StartAgain();
  }
}

TEST_F(UploadLimitsTest, ListedUploadSaysWhatIsThere) {
  ASSERT_TRUE(Begin("anna", "a").ok());
  const auto page = DatasetHandlers(context_).ListUploads({});
  ASSERT_TRUE(page.ok() && page->uploads_size() == 1) << page.status();
  const v1::Upload& upload = page->uploads(0);
  EXPECT_EQ(upload.display_name(), "file of a");
  EXPECT_EQ(upload.total_bytes(), kTwoRowsBytes);
  EXPECT_EQ(upload.received_bytes(), 3);
  EXPECT_TRUE(upload.has_expire_time());
  v1::ListUploadsRequest foreign;
  foreign.set_page_token("bm90IG91cnM");
  EXPECT_EQ(GetReason(DatasetHandlers(context_).ListUploads(foreign).status()), "BAD_PAGE_TOKEN");
}

// The process ended between the two steps of a finish: the data set was stored, the bytes were still there.
TEST_F(UploadLimitsTest, StartRemovesWhatHasMadeItsDataSet) {
  ASSERT_TRUE(Begin("anna", "a").ok());
  const std::filesystem::path kept = folder_ / "kept";
  std::filesystem::copy(folder_ / "uploads", kept, std::filesystem::copy_options::recursive);
  const auto dataset = Finish("anna", "a");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  std::filesystem::copy(kept, folder_ / "uploads", std::filesystem::copy_options::recursive);
  StartAgain();
  EXPECT_EQ(FilesIn("uploads"), 0u);
  EXPECT_EQ(context_.uploads->taken_bytes(), 0);
  EXPECT_TRUE(Finish("anna", "a").ok());
}

// Files had no caller in their names when one id was one upload for all.
TEST_F(UploadLimitsTest, OlderNamesAreTakenUp) {
  ASSERT_TRUE(Begin("anna", "a").ok());
  RenameFiles("r-a@anna", "r-a");
  StartAgain();
  EXPECT_EQ(List(1), std::vector<std::string>{"uploads/a of anna"});
  ASSERT_TRUE(Begin("bob", "a").ok()) << "another one";
  EXPECT_EQ(FilesIn("uploads"), 4u);
  EXPECT_TRUE(Finish("anna", "a").ok());
  EXPECT_EQ(List(1), std::vector<std::string>{"uploads/a of bob"});
  EXPECT_EQ(FilesIn("uploads"), 2u);
}

// Journals of the first version name no caller: they are nobody's, and anybody may go on.
TEST_F(UploadLimitsTest, OlderJournalsAreTakenUp) {
  ASSERT_TRUE(Begin("", "a").ok());
  RenameFiles("r-a@", "r-a");
  const std::filesystem::path path = folder_ / "uploads/r-a.journal";
  std::ifstream file(path, std::ios::binary);
  const std::string journal((std::istreambuf_iterator<char>(file)), {});
  const std::string header = Header("a").header().SerializeAsString();
  const size_t records = 32 + 8 + header.size();
  ASSERT_EQ(journal.substr(records - header.size(), header.size()), header);
  ByteWriter prefix;
  prefix.WriteUint64(1);
  prefix.WriteUint64(header.size());
  prefix.WriteUint64(Crc32c(header));
  std::ofstream(path, std::ios::binary)
      << "MERCERUP" << prefix.bytes() << header << journal.substr(records);
  StartAgain();
  EXPECT_EQ(List(1), std::vector<std::string>{"uploads/a of "});
  EXPECT_TRUE(Finish("bob", "a").ok());
}

}  // namespace
}  // namespace mercer::server
