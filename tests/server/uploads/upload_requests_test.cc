#include "server/uploads/upload_requests.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/digest/sha256.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/row_checksums.h"
#include "server/storage/sqlite/sqlite_storage.h"
#include "server/uploads/dataset_upload.h"
#include "tests/server/uploads/upload_fixture.h"

namespace mercer::server {
namespace {

constexpr char kCsv[] = "a\n1\n2\n";
// Makes the database one of before the migration that gives keys to the ids of before.
constexpr char kBackToSchema10[] = R"sql(
DROP INDEX jobs_by_priority;
DROP INDEX jobs_by_end;
DROP INDEX datasets_by_size;
DROP INDEX datasets_by_rows;
DROP INDEX models_by_update;
DROP INDEX versions_by_size;
DROP TABLE version_datasets;
ALTER TABLE jobs DROP COLUMN end_order;
ALTER TABLE jobs DROP COLUMN used_version;
ALTER TABLE jobs DROP COLUMN used_model;
ALTER TABLE jobs DROP COLUMN revision;
ALTER TABLE jobs DROP COLUMN display_name;
ALTER TABLE datasets DROP COLUMN revision;
UPDATE datasets SET request_key = NULL, upload_key = NULL;
DELETE FROM schema_versions WHERE version >= 11;
)sql";

class UploadRequestsTest : public UploadFolderTest {
 protected:
  // A storage that is closed and opened again.
  void Open() {
    SqliteOptions options;
    options.folder = folder_;
    auto storage = OpenSqliteStorage(options);
    ASSERT_TRUE(storage.ok()) << storage.status();
    storage_ = *std::move(storage);
    context_.storage = storage_.get();
  }
  absl::StatusOr<v1::Dataset> Upload(const v1::UploadHeader& header) {
    DatasetUpload upload(context_);
    v1::UploadDatasetRequest first;
    *first.mutable_header() = header;
    v1::UploadDatasetRequest second;
    second.mutable_chunk()->set_offset(0);
    second.mutable_chunk()->set_data(kCsv);
    for (const v1::UploadDatasetRequest& message : {first, second}) {
      if (const absl::Status status = upload.Add(message); !status.ok()) {
        return status;
      }
    }
    return upload.Finish([] { return false; });
  }
};

TEST_F(UploadRequestsTest, IdsOfBeforeThereWereKeysAreAnsweredAsEver) {
  Open();
  v1::UploadHeader header;
  header.set_upload_id("u1");
  header.set_request_id("r1");
  header.set_sha256(Sha256Hex(kCsv));
  header.set_total_bytes(sizeof(kCsv) - 1);
  header.add_parts()->mutable_csv();
  const auto first = Upload(header);
  ASSERT_TRUE(first.ok()) << first.status();
  storage_.reset();
  {
    auto connection = Connection::Open(folder_ / "mercer.db", Connection::Mode::kReadWrite);
    ASSERT_TRUE(connection.ok()) << connection.status();
    const absl::Status older = (*connection)->Execute(kBackToSchema10);
    ASSERT_TRUE(older.ok()) << older;
    ASSERT_TRUE(RefreshChecksums(**connection).ok());
  }
  ASSERT_NO_FATAL_FAILURE(Open());
  const auto again = Upload(header);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->name(), first->name());
  EXPECT_EQ(FilesIn("blobs"), 1u);
  v1::UploadHeader other = header;
  other.set_display_name("another");
  EXPECT_EQ(GetReason(Upload(other).status()), "UPLOAD_ID_REUSED");
  other.set_upload_id("u2");
  EXPECT_EQ(GetReason(Upload(other).status()), "REQUEST_ID_REUSED");
}

TEST_F(UploadRequestsTest, OfManyAtTheSameTimeOneMakesItAndAllAreAnsweredWithIt) {
  std::atomic<int> made{0};
  std::vector<std::thread> streams;
  for (int i = 0; i < 8; ++i) {
    streams.emplace_back([&, i] {
      DatasetRecord record;
      record.id = absl::StrCat("set-", i);
      record.owner = "ada";
      const auto created = CreateOnce(storage_->datasets(), std::move(record), "r1", "", 0);
      ASSERT_TRUE(created.ok()) << created.status();
      made += created->created ? 1 : 0;
      EXPECT_EQ(created->record.request_key, "ada\nrequest\nr1");
    });
  }
  for (std::thread& stream : streams) {
    stream.join();
  }
  EXPECT_EQ(made, 1);
}

TEST_F(UploadRequestsTest, IdsOfNobodyAreThoseOfACallerThatIsKnownSince) {
  DatasetRecord record;
  record.id = "of-nobody";
  record.owner = "anyone";
  ASSERT_TRUE(CreateOnce(storage_->datasets(), record, "r1", "u1", 0)->created);
  record.id = "of-ada";
  record.owner = "ada";
  const auto again = CreateOnce(storage_->datasets(), record, "", "u1", 0);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->record.id, "of-nobody");
  EXPECT_EQ((*FindUpload(storage_->datasets(), "ada", "u1"))->id, "of-nobody");
  EXPECT_FALSE(FindUpload(storage_->datasets(), "ada", "u2")->has_value());
}

}  // namespace
}  // namespace mercer::server
