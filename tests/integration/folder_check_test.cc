// The inspection of data folders as servers leave them, and of what has been done to them since.
#include "server/maintenance/folder_check.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "core/base/status/errors.h"
#include "server/app/commands.h"
#include "server/digest/sha256.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/row_checksums.h"
#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class FolderCheckTest : public ServerTest {
 protected:
  // A folder with two data sets, two models of one name, a job that was broken off and one that waits.
  void MakeFolder() {
    ServerOptions options;
    options.workers = 1;
    StartServer(options);
    v1::Dataset dataset;
    ASSERT_TRUE(Upload(CloudsCsv(60, 3, 1), "clouds", &dataset).ok());
    v1::TrainRequest request = MakeRequest(dataset.name());
    request.set_model("models/twice");
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(WaitForEnd(TrainOk(request).name()).state(), v1::JOB_STATE_SUCCEEDED);
    }
    v1::Dataset large;
    ASSERT_TRUE(Upload(CloudsCsv(600, 3, 2), "large", &large).ok());
    WaitForStart(TrainOk(MakeEndlessRequest(large.name())).name());
    TrainOk(request);
    DrainServer();
  }

  // With checksums that fit, unless a row is to look as if the disk had changed it.
  void Execute(const std::string& sql, bool with_checksums = true) const {
    const auto connection = Connection::Open(folder_ / "mercer.db", Connection::Mode::kReadWrite);
    ASSERT_TRUE(connection.ok()) << connection.status();
    const absl::Status done = (*connection)->Execute(sql);
    EXPECT_TRUE(done.ok()) << sql << ": " << done;
    if (with_checksums) {
      EXPECT_TRUE(RefreshChecksums(**connection).ok());
    }
    (*connection)->CheckpointOnClose(true);
  }

  FolderReport Check(bool repair = false) {
    findings_.clear();
    FolderCheckOptions options;
    options.data_dir = folder_;
    options.repair = repair;
    const auto report = CheckFolder(options, [this](const Finding& finding) {
      EXPECT_NE(finding.subject, "");
      EXPECT_NE(finding.meaning, "");
      EXPECT_NE(finding.action, "");
      findings_.push_back(absl::StrCat(finding.reason, " ", finding.subject));
    });
    EXPECT_TRUE(report.ok()) << report.status();
    return report.value_or(FolderReport());
  }

  // Every regular file with the digest of its content.
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) {
        std::ifstream file(entry.path(), std::ios::binary);
        files[entry.path()] = Sha256Hex(std::string((std::istreambuf_iterator<char>(file)), {}));
      }
    }
    return files;
  }

  // The file of the only blob that the statement selects.
  std::filesystem::path BlobFile(const std::string& select) const {
    sqlite3* connection = nullptr;
    EXPECT_EQ(sqlite3_open((folder_ / "mercer.db").c_str(), &connection), SQLITE_OK);
    std::string digest;
    EXPECT_EQ(sqlite3_exec(
                  connection, select.c_str(),
                  [](void* result, int, char** values, char**) {
                    *static_cast<std::string*>(result) = values[0];
                    return 0;
                  },
                  &digest, nullptr),
              SQLITE_OK);
    sqlite3_close(connection);
    return folder_ / "blobs" / digest.substr(0, 2) / digest;
  }

  std::vector<std::string> findings_;
};

TEST_F(FolderCheckTest, FolderOfAStoppedServerIsCleanAndStaysAsItIs) {
  MakeFolder();
  const auto before = Files();
  const FolderReport report = Check();
  EXPECT_THAT(findings_, IsEmpty());
  EXPECT_EQ(report.num_errors, 0);
  EXPECT_EQ(static_cast<size_t>(report.num_blobs), FilesIn("blobs"));
  EXPECT_EQ(Files(), before);
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunCheck(folder_, false, out, err), 0);
  EXPECT_THAT(out.str(), HasSubstr("0 errors"));
}

TEST_F(FolderCheckTest, FolderOfAKilledServerHasNoErrors) {
  ServerOptions options;
  StartServer(options);
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(600, 3, 1), "clouds", &dataset).ok());
  WaitForStart(TrainOk(MakeEndlessRequest(dataset.name())).name());
  KillServer();
  EXPECT_EQ(Check().num_errors, 0) << testing::PrintToString(findings_);
}

TEST_F(FolderCheckTest, FolderInUseIsRefused) {
  StartServer();
  FolderCheckOptions options;
  options.data_dir = folder_;
  const absl::Status refused = CheckFolder(options, [](const Finding&) {}).status();
  EXPECT_EQ(GetReason(refused), "DATA_FOLDER_LOCKED");
  options.repair = true;
  EXPECT_EQ(GetReason(CheckFolder(options, [](const Finding&) {}).status()), "DATA_FOLDER_LOCKED");
}

TEST_F(FolderCheckTest, WhatIsNoDataFolderIsRefused) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunCheck(folder_ / "nothing", false, out, err), 1);
  EXPECT_THAT(err.str(), HasSubstr("there is no folder"));
  std::filesystem::create_directories(folder_);
  EXPECT_EQ(RunCheck(folder_, true, out, err), 1);
  EXPECT_THAT(err.str(), HasSubstr("no mercer.db"));
}

TEST_F(FolderCheckTest, RowsThatContradictEachOtherAreFound) {
  MakeFolder();
  const std::string copy = folder_.string() + ".copy";
  std::filesystem::remove_all(copy);
  std::filesystem::copy_file(folder_ / "mercer.db", copy);
  const std::vector<std::pair<std::string, std::string>> defects = {
      {"DELETE FROM events WHERE job = 1 AND sequence = 2", "EVENTS_BROKEN job "},
      {"UPDATE jobs SET last_sequence = last_sequence + 1 WHERE number = 1", "EVENTS_BROKEN job "},
      {"UPDATE jobs SET last_payload = x'00' WHERE number = 2", "EVENTS_BROKEN job "},
      {"UPDATE events SET payload = x'ffff' WHERE job = 1 AND sequence = 2", "EVENT_DAMAGED job "},
      {"UPDATE jobs SET state = 9 WHERE number = 4", "STATE_UNKNOWN job "},
      {"UPDATE jobs SET state = 2 WHERE number = 4", "LEASE_BROKEN job "},
      {"UPDATE jobs SET state = 2 WHERE number = 4", "ATTEMPTS_BROKEN job "},
      {"UPDATE jobs SET attempt = 7 WHERE number = 1", "ATTEMPTS_BROKEN job "},
      {"UPDATE attempts SET reason = 0 WHERE job = 1", "ATTEMPTS_BROKEN job "},
      {"UPDATE jobs SET lease_worker = 'w' WHERE number = 1", "LEASE_BROKEN job "},
      {"UPDATE jobs SET end_time = NULL WHERE number = 1", "END_BROKEN job "},
      {"UPDATE jobs SET state = 6, model_version = 0 WHERE number = 1", "END_BROKEN job "},
      {"UPDATE jobs SET model_version = 0 WHERE number = 1", "MODEL_BROKEN job "},
      {"UPDATE jobs SET model_version = 2 WHERE number = 1", "MODEL_BROKEN job "},
      {"UPDATE jobs SET result = x'01' WHERE number = 1", "RESULT_BROKEN job "},
      {"UPDATE jobs SET state = 7 WHERE number = 4", "EVENTS_BROKEN job "},
      {"INSERT INTO checkpoints(job, attempt, iteration, code_version, blob, create_time) SELECT "
       "1, 1, 1, '', blob, 1 FROM datasets WHERE id = 'clouds'",
       "CHECKPOINT_LEFT job "},
      {"DELETE FROM datasets", "DATASET_GONE job "},
      {"DELETE FROM job_requests WHERE job = 4", "REQUEST_GONE job "},
      {"UPDATE job_requests SET request = x'ffff' WHERE job = 4", "STORED_REQUEST_DAMAGED job "},
      {"UPDATE datasets SET info = x'ffff'", "STORED_INFO_DAMAGED data set clouds"},
      {"UPDATE versions SET summary = x'ffff' WHERE version = 2",
       "STORED_SUMMARY_DAMAGED model twice version 2"},
      {"UPDATE models SET next_version = 2 WHERE name = 'twice'", "VERSION_COUNTER model twice"},
      {"INSERT INTO aliases(model, alias, version, etag, update_time) SELECT number, 'best', 9, "
       "'e', 1 "
       "FROM models WHERE name = 'twice'",
       "ALIAS_DANGLING model twice@best"},
      {"UPDATE sqlite_sequence SET seq = 1 WHERE name = 'jobs'", "ROW_COUNTER table jobs"},
      {"PRAGMA foreign_keys = OFF; INSERT INTO job_labels(owner, key, value) VALUES (99, 'a', 'b')",
       "FOREIGN_KEY_BROKEN table job_labels"},
      {"UPDATE datasets SET size_bytes = 1", "BLOB_SIZE data set clouds"},
      {"UPDATE versions SET (model_blob, model_bytes) = (SELECT blob, size_bytes FROM datasets "
       "WHERE "
       "id = 'clouds') WHERE version = 1",
       "BLOB_UNREADABLE model twice/versions/1"},
  };
  for (const auto& [sql, finding] : defects) {
    SCOPED_TRACE(sql);
    Execute(sql);
    EXPECT_GT(Check().num_errors, 0);
    EXPECT_THAT(findings_, Contains(HasSubstr(finding)));
    std::filesystem::remove(folder_ / "mercer.db-wal");
    std::filesystem::remove(folder_ / "mercer.db-shm");
    std::filesystem::copy_file(copy, folder_ / "mercer.db",
                               std::filesystem::copy_options::overwrite_existing);
  }
  EXPECT_EQ(Check().num_errors, 0) << testing::PrintToString(findings_);
  std::filesystem::remove_all(copy);
}

TEST_F(FolderCheckTest, RowsThatTheDiskHasChangedAreFound) {
  MakeFolder();
  Execute("UPDATE events SET iteration = iteration + 64 WHERE job = 1 AND sequence = 2", false);
  Execute("UPDATE versions SET learner = 'lp_mkm' WHERE version = 1", false);
  EXPECT_EQ(Check().num_errors, 2);
  EXPECT_THAT(findings_, Contains("ROW_DAMAGED table events, row job=1 sequence=2"));
  EXPECT_THAT(findings_, Contains(HasSubstr("ROW_DAMAGED table versions, row number=")));
}

TEST_F(FolderCheckTest, DamagedDatabaseIsFound) {
  MakeFolder();
  std::fstream file(folder_ / "mercer.db", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8192);
  file << std::string(4096, '\0');
  file.close();
  EXPECT_GT(Check().num_errors, 0);
  EXPECT_THAT(findings_, Contains(HasSubstr("DATABASE_DAMAGED")));
}

TEST_F(FolderCheckTest, LeftoversAreNotesAndRemovedOnRequest) {
  MakeFolder();
  const std::string digest = Sha256Hex("nobody's");
  std::filesystem::create_directories(folder_ / "blobs" / digest.substr(0, 2));
  std::ofstream(folder_ / "blobs" / digest.substr(0, 2) / digest) << "nobody's";
  std::ofstream(folder_ / "blobs" / "tmp" / "7") << "half";
  std::ofstream(folder_ / "blobs" / "notes.txt") << "an operator's";
  FolderReport report = Check();
  EXPECT_EQ(report.num_errors, 0);
  EXPECT_EQ(report.num_notes, 3);
  EXPECT_THAT(findings_, Contains(HasSubstr("BLOB_UNREFERENCED file")));
  EXPECT_THAT(findings_, Contains(HasSubstr("TEMPORARY_FILE file")));
  EXPECT_THAT(findings_, Contains(HasSubstr("FILE_UNKNOWN file")));
  EXPECT_EQ(Check(/*repair=*/true).num_removed, 2);
  report = Check();
  EXPECT_EQ(report.num_notes, 1);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "blobs" / "notes.txt"));
}

TEST_F(FolderCheckTest, LostFilesAreMarkedAndNothingIsDeleted) {
  MakeFolder();
  const std::filesystem::path data = BlobFile("SELECT blob FROM datasets WHERE id = 'clouds'");
  const std::filesystem::path model = BlobFile("SELECT model_blob FROM versions WHERE version = 1");
  const std::filesystem::path kept = folder_ / "kept";
  std::filesystem::rename(data, kept);
  std::ofstream(model, std::ios::app) << "more";
  EXPECT_GT(Check().num_errors, 0);
  EXPECT_THAT(findings_, Contains("BLOB_MISSING data set clouds"));
  EXPECT_THAT(findings_, Contains("BLOB_DAMAGED model twice/versions/1"));
  const FolderReport repaired = Check(/*repair=*/true);
  EXPECT_GE(repaired.num_marked, 2);
  EXPECT_TRUE(std::filesystem::exists(model)) << "even of a damaged file something may be saved";
  EXPECT_GT(Check().num_errors, 0) << "what is lost stays an error";

  // A server serves the folder; who lists the data set sees what has happened.
  StartServer();
  grpc::ClientContext context;
  v1::GetDatasetRequest request;
  request.set_name("datasets/clouds");
  v1::Dataset dataset;
  ASSERT_TRUE(datasets_->GetDataset(&context, request, &dataset).ok());
  EXPECT_EQ(dataset.labels().at(kLostLabel), data.filename().string());
  DrainServer();

  std::filesystem::rename(kept, data);
  EXPECT_EQ(Check(/*repair=*/true).num_unmarked, 1) << "the data set is whole again";
}

}  // namespace
}  // namespace mercer::server
