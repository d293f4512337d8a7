// From every stored database to the present schema, also when the process dies on the way.
#include "server/storage/sqlite/database/migrations.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/encoding/bytes.h"
#include "core/base/status/errors.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/database_check.h"
#include "server/storage/sqlite/database/row_checksums.h"
#include "server/storage/sqlite/sqlite_storage.h"
#include "tests/support/fast_folder.h"
#include "tests/support/sanitized.h"
#include "tests/support/server/stored_schemas.h"
#include "tests/support/thorough.h"

namespace mercer::server {
namespace {

constexpr absl::Time kTime = absl::FromUnixSeconds(1'700'000'000);
constexpr int kDied = 9;
constexpr int kMaxStatements = 10'000;
constexpr int kStride = kSanitized ? 11 : 7;  // of the statements of a migration

class MigrationsTest : public ::testing::Test {
 protected:
  MigrationsTest() {
    folder_ = FastFolder() /
              absl::StrCat("mercer-migrations-", getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    Clear();
  }
  ~MigrationsTest() override { std::filesystem::remove_all(folder_); }

  void Clear() const {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  std::string path() const { return folder_ / "mercer.db"; }

  std::unique_ptr<Connection> Connect() const {
    auto connection = Connection::Open(path(), Connection::Mode::kReadWrite);
    EXPECT_TRUE(connection.ok()) << connection.status();
    return *std::move(connection);
  }
  void Load(const StoredSchema& schema) const {
    Clear();
    const std::unique_ptr<Connection> connection = Connect();
    ASSERT_TRUE(connection->Execute("PRAGMA foreign_keys = OFF").ok());
    const absl::Status loaded = connection->Execute(schema.script);
    ASSERT_TRUE(loaded.ok()) << loaded;
    EXPECT_EQ(*ReadSchemaVersion(*connection), schema.version);
  }

  // Tables, indexes and rows, as text.
  static std::vector<std::string> Describe(Connection& connection) {
    std::vector<std::string> lines;
    std::vector<std::string> tables;
    const auto add_all = [&](const std::string& sql, std::vector<std::string>& result) {
      auto select = connection.Prepare(sql);
      ASSERT_TRUE(select.ok()) << select.status();
      for (auto more = select->Step(); more.ok() && *more; more = select->Step()) {
        result.push_back(select->Bytes(0));
      }
    };
    add_all("SELECT name || ': ' || COALESCE(sql, '') FROM sqlite_schema ORDER BY name", lines);
    add_all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name", tables);
    for (const std::string& table : tables) {
      add_all(absl::StrCat("SELECT '", table, " ' || COUNT(*) FROM ", table), lines);
    }
    return lines;
  }

  // Migrates in a process of its own, which dies before its statement number `statement`, from 1. False when it has
  // come to its end before that.
  bool DiesAtStatement(int statement) const {
    const pid_t child = fork();
    if (child == 0) {
      auto connection = Connection::Open(path(), Connection::Mode::kReadWrite);
      int left = statement;
      sqlite3_trace_v2((*connection)->handle(), SQLITE_TRACE_STMT,
                       [](unsigned, void* counter, void*, void*) {
                         if (--*static_cast<int*>(counter) == 0) {
                           _exit(kDied);
                         }
                         return 0;
                       },
                       &left);
      _exit(MigrateDatabase(**connection, kTime).ok() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_THAT(WEXITSTATUS(status), ::testing::AnyOf(0, kDied));
    return WEXITSTATUS(status) == kDied;
  }

  static void ExpectSound(Connection& connection) {
    const absl::Status file = CheckDatabaseFile(connection, [](const Finding& finding) {
      EXPECT_EQ(finding.severity, Severity::kNote) << finding.reason << ": " << finding.meaning;
    });
    EXPECT_TRUE(file.ok()) << file;
  }

  std::filesystem::path folder_;
};

TEST_F(MigrationsTest, EveryReleasedSchemaIsStored) {
  const std::vector<StoredSchema> schemas = StoredSchemas();
  for (size_t i = 0; i < schemas.size(); ++i) {
    EXPECT_EQ(schemas[i].version, static_cast<int64_t>(i));
  }
  EXPECT_EQ(schemas.back().version, kReleasedSchema);
  EXPECT_LE(kReleasedSchema, CurrentSchemaVersion());
}

TEST_F(MigrationsTest, EveryStoredDatabaseIsReadableAfterwards) {
  for (const StoredSchema& schema : StoredSchemas()) {
    SCOPED_TRACE(schema.version);
    Load(schema);
    {
      const std::unique_ptr<Connection> connection = Connect();
      ASSERT_TRUE(MigrateDatabase(*connection, kTime).ok());
      EXPECT_EQ(*ReadSchemaVersion(*connection), CurrentSchemaVersion());
      ExpectSound(*connection);
      const absl::Status rows = CheckDatabaseRows(*connection, [](const Finding& finding) {
        ADD_FAILURE() << finding.reason << " " << finding.subject << ": " << finding.meaning;
      });
      EXPECT_TRUE(rows.ok()) << rows;
    }
    SqliteOptions options;
    options.folder = folder_;
    auto storage = OpenSqliteStorage(options);
    ASSERT_TRUE(storage.ok()) << storage.status();
    const auto jobs = (*storage)->jobs().ListJobs({}, PageRequest());
    ASSERT_TRUE(jobs.ok()) << jobs.status();
    const auto datasets = (*storage)->datasets().ListDatasets(PageRequest());
    ASSERT_TRUE(datasets.ok()) << datasets.status();
    const auto models = (*storage)->models().ListModels(PageRequest());
    ASSERT_TRUE(models.ok()) << models.status();
    EXPECT_EQ(jobs->items.empty(), schema.version == 0);
    EXPECT_EQ(datasets->items.empty(), schema.version == 0);
    EXPECT_EQ(models->items.empty(), schema.version == 0);
    for (const JobRecord& job : jobs->items) {
      EXPECT_FALSE(job.request.empty());
      EXPECT_FALSE(job.dataset_ids.empty());
      const auto events = (*storage)->events().Read(job.id, 0, 1000);
      ASSERT_TRUE(events.ok()) << events.status();
      ASSERT_TRUE(job.last_event.has_value());
      EXPECT_EQ(events->back(), *job.last_event);
      EXPECT_EQ((*storage)->jobs().ListAttempts(job.id)->size(), static_cast<size_t>(job.attempt));
    }
    for (const ModelRecord& model : models->items) {
      for (int64_t version = 1; version <= model.newest_version; ++version) {
        const auto record = (*storage)->models().GetVersion(model.name, version);
        ASSERT_TRUE(record.ok()) << record.status();
        EXPECT_FALSE(record->summary.empty());
      }
    }
    EXPECT_TRUE((*storage)->ReferencedBlobs().ok());
  }
}

TEST_F(MigrationsTest, RowsOfTheFirstSchemaStayWhatTheyWere) {
  Load(StoredSchemas()[1]);
  SqliteOptions options;
  options.folder = folder_;
  auto storage = OpenSqliteStorage(options);
  ASSERT_TRUE(storage.ok()) << storage.status();
  const auto counts = (*storage)->jobs().CountJobs();
  ASSERT_TRUE(counts.ok()) << counts.status();
  const std::map<JobState, int64_t> expected = {{JobState::kQueued, 1},
                                                {JobState::kRunning, 1},
                                                {JobState::kSucceeded, 2},
                                                {JobState::kFailed, 1},
                                                {JobState::kCancelled, 1}};
  EXPECT_EQ(*counts, expected);
  const auto dataset = (*storage)->datasets().GetDataset("clouds");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows, 40);
  EXPECT_EQ(dataset->labels, (Labels{{"team", "blue"}}));
  const auto model = (*storage)->models().GetModel("spam");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->newest_version, 2);
  EXPECT_EQ(model->display_name, "");
  EXPECT_EQ(ModelEtag(*model), "1");
  ModelUpdate update;
  update.model = "spam";
  update.labels = Labels{{"team", "mail"}};
  update.etag = "1";
  update.now = absl::FromUnixSeconds(2'000'000'000);
  const auto updated = (*storage)->models().UpdateModel(update);
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(updated->labels, (Labels{{"team", "mail"}}));
  EXPECT_EQ((*storage)->models().GetVersion("spam", 1)->learner, "lp_mkl");
  // The two of each model are apart, and the three data sets.
  EXPECT_EQ((*storage)->ReferencedBlobs()->size(), 7u);
}

// The schema before owners: request_ids were one name space.
constexpr int64_t kSchemaWithoutOwners = 6;

TEST_F(MigrationsTest, RequestIdsOfBeforeStayTheirCallers) {
  Load(StoredSchemas()[1]);
  {
    const std::unique_ptr<Connection> connection = Connect();
    ASSERT_TRUE(MigrateDatabaseTo(*connection, kSchemaWithoutOwners, kTime).ok());
    const absl::Status changed = connection->Execute(R"sql(
      UPDATE jobs SET caller = 'ada', request_id = 'r', request_digest = 'd', model_name = 'spam'
        WHERE number = (SELECT MIN(number) FROM jobs);
      INSERT INTO alias_changes(model, alias, sequence, time, caller, from_version, to_version,
                                request_id, request_digest)
        SELECT number, 'live', 1, 1, 'ada', 0, 1, 'move', 'd' FROM models WHERE name = 'spam';
    )sql");
    ASSERT_TRUE(changed.ok()) << changed;
    ASSERT_TRUE(RefreshChecksums(*connection).ok());
  }
  SqliteOptions options;
  options.folder = folder_;
  auto storage = OpenSqliteStorage(options);
  ASSERT_TRUE(storage.ok()) << storage.status();
  JobStore& jobs = (*storage)->jobs();
  const auto found = jobs.FindRequest("ada", "r", "d");
  ASSERT_TRUE(found.ok() && found->has_value()) << found.status();
  EXPECT_EQ((*found)->caller, "ada");
  EXPECT_EQ((*found)->request_id, "r");
  EXPECT_FALSE(jobs.FindRequest("bob", "r", "d")->has_value());
  EXPECT_EQ((*(*storage)->models().FindMove("ada", "move", "d"))->version, 1);
  EXPECT_FALSE((*(*storage)->models().FindMove("bob", "move", "d")).has_value());
  EXPECT_EQ((*storage)->datasets().GetDataset("clouds")->owner, "");
  EXPECT_EQ((*storage)->models().GetModel("spam")->owner, "") << "whoever may train may go on";
  NewJob job;
  job.id = "of-bob";
  job.caller = "bob";
  job.request = "request";
  job.request_id = "r";
  job.request_digest = "another";
  job.dataset_ids = {"clouds"};
  job.model_name = "new";
  job.now = kTime;
  job.event = {0, "queued"};
  const auto created = jobs.CreateJob(job);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_TRUE(created->created);
}

// The schema before keys of uploads: their ids stood in what is told of the data sets.
constexpr int64_t kSchemaWithoutUploadKeys = 8;

std::string InfoOf(const std::string& request_id, const std::string& upload_id) {
  ByteWriter info;
  for (const std::string& text :
       {std::string("description\0", 12), request_id, std::string("digest"), upload_id}) {
    info.WriteString(text);
  }
  return std::move(info).Take();
}

class UploadIdsTest : public MigrationsTest {
 protected:
  // As a server of that schema has left it.
  void MakeDatabase() const {
    Load(StoredSchemas()[1]);
    const std::unique_ptr<Connection> connection = Connect();
    ASSERT_TRUE(MigrateDatabaseTo(*connection, kSchemaWithoutUploadKeys, kTime).ok());
    ByteWriter earliest;  // without an upload_id
    earliest.WriteString("description");
    earliest.WriteString("r-earliest");
    earliest.WriteString("digest");
    Add(*connection, "earliest", "", earliest.bytes());
    Add(*connection, "of-anyone", "anyone", InfoOf("", "u-anyone"));
    Add(*connection, "of-ada", "ada", InfoOf("r", "u"));
    Add(*connection, "of-bob", "bob", InfoOf("r", "u"));
    Add(*connection, "older", "cid", InfoOf("twice", "u-older"));
    Add(*connection, "newer", "cid", InfoOf("twice", ""));
    Add(*connection, "hidden", "cid", InfoOf("r-hidden", ""));
    Add(*connection, "damaged", "cid", InfoOf("r-damaged", "").substr(0, 30));
    ASSERT_TRUE(connection->Execute("UPDATE datasets SET hidden = 1 WHERE id = 'hidden'").ok());
    ASSERT_TRUE(RefreshChecksums(*connection).ok());
  }
  static void Add(Connection& connection, const std::string& id, const std::string& owner,
                  const std::string& info) {
    const absl::Status added = connection.Run(
        "INSERT INTO datasets(id, display_name, blob, size_bytes, row_count, info, create_time, "
        "owner) VALUES (?1, ?1, ?1, 1, 1, ?2, 1, ?3)",
        id, Blob{info}, owner);
    ASSERT_TRUE(added.ok()) << added;
  }
  std::map<std::string, std::string> IdsByKey() const {
    const std::unique_ptr<Connection> connection = Connect();
    using Row = std::pair<std::string, std::string>;
    const auto rows = connection->SelectAll<Row>(
        "SELECT request_key, id FROM datasets WHERE request_key IS NOT NULL UNION ALL SELECT "
        "upload_key, id FROM datasets WHERE upload_key IS NOT NULL");
    EXPECT_TRUE(rows.ok()) << rows.status();
    return {rows->begin(), rows->end()};
  }
  const std::map<std::string, std::string> expected_ = {
      // Those of the stored database.
      {"\nrequest\n8204614937986c0508955d48c8781433", "clouds"},
      {"\nrequest\n0dc57088cba8d24e996df933e830dbc8", "one"},
      {"\nrequest\n80f6580492f6a65c99943ea8cbd0387e", "big"},
      {"\nrequest\nr-earliest", "earliest"},
      {"\nupload\nu-anyone", "of-anyone"},
      {"ada\nrequest\nr", "of-ada"},
      {"ada\nupload\nu", "of-ada"},
      {"bob\nrequest\nr", "of-bob"},
      {"bob\nupload\nu", "of-bob"},
      {"cid\nrequest\ntwice", "newer"},
      {"cid\nupload\nu-older", "older"}};
};

TEST_F(UploadIdsTest, ThoseOfBeforeAreKeptUniqueByTheDatabase) {
  MakeDatabase();
  SqliteOptions options;
  options.folder = folder_;
  auto storage = OpenSqliteStorage(options);
  ASSERT_TRUE(storage.ok()) << storage.status();
  EXPECT_EQ(IdsByKey(), expected_);
  const auto found = (*storage)->datasets().FindByKey("ada\nupload\nu");
  ASSERT_TRUE(found.ok() && found->has_value()) << found.status();
  EXPECT_EQ((*found)->id, "of-ada");
  DatasetRecord again;
  again.id = "again";
  again.upload_key = "ada\nupload\nu";
  EXPECT_EQ(GetReason((*storage)->datasets().CreateDataset(again).status()), "UPLOAD_KNOWN");
}

TEST_F(UploadIdsTest, WhatAnUploadHasAKeyForSinceIsLeftToIt) {
  MakeDatabase();
  {
    const std::unique_ptr<Connection> connection = Connect();
    ASSERT_TRUE(MigrateDatabaseTo(*connection, kSchemaWithoutUploadKeys + 1, kTime).ok());
    Add(*connection, "since", "ada", InfoOf("", "u"));
    ASSERT_TRUE(
        connection->Run("UPDATE datasets SET upload_key = ? WHERE id = 'since'", "ada\nupload\nu")
            .ok());
    ASSERT_TRUE(RefreshChecksums(*connection).ok());
    ASSERT_TRUE(MigrateDatabase(*connection, kTime).ok());
  }
  std::map<std::string, std::string> expected = expected_;
  expected["ada\nupload\nu"] = "since";
  EXPECT_EQ(IdsByKey(), expected);
}

TEST_F(UploadIdsTest, KilledOnTheWayTheyAreMovedByTheNextStart) {
  bool died = true;
  for (int statement = 1; died; ++statement) {
    if (!SweepStopsAt(statement, kStride)) {
      continue;
    }
    SCOPED_TRACE(statement);
    ASSERT_LT(statement, kMaxStatements);
    MakeDatabase();
    died = DiesAtStatement(statement);
    ASSERT_TRUE(MigrateDatabase(*Connect(), kTime).ok());
    EXPECT_EQ(IdsByKey(), expected_);
    ExpectSound(*Connect());
  }
}

// The schema before jobs had names and versions of their own: requests said them.
constexpr int64_t kSchemaWithoutNames = 11;

TEST_F(MigrationsTest, NamesAndUsedModelsOfJobsAreReadFromTheirRequests) {
  Load(StoredSchemas()[1]);
  const std::unique_ptr<Connection> connection = Connect();
  ASSERT_TRUE(MigrateDatabaseTo(*connection, kSchemaWithoutNames, kTime).ok());
  const std::string request =
      "\x0a\x14"
      "models/m/versions/12"
      "\x42\x04"
      "name";
  const absl::Status changed = connection->Run(
      "UPDATE job_requests SET request = ? WHERE job = (SELECT MIN(number) FROM jobs)",
      Blob{request});
  ASSERT_TRUE(changed.ok()) << changed;
  ASSERT_TRUE(connection
                  ->Execute("UPDATE jobs SET kind = 2, learner = '' WHERE number = (SELECT "
                            "MIN(number) FROM jobs)")
                  .ok());
  ASSERT_TRUE(RefreshChecksums(*connection).ok());
  ASSERT_TRUE(MigrateDatabase(*connection, kTime).ok());
  using Row = std::tuple<std::string, std::string, int64_t>;
  const auto rows = connection->SelectAll<Row>(
      "SELECT display_name, used_model, used_version FROM jobs ORDER BY number");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->front(), Row("name", "m", 12));
  EXPECT_EQ(std::get<1>(rows->back()), "") << "a training uses no model";
  ExpectSound(*connection);
}

TEST_F(MigrationsTest, DataSetsOfVersionsAreReadFromTheirSummaries) {
  Load(StoredSchemas()[1]);
  const std::unique_ptr<Connection> connection = Connect();
  ASSERT_TRUE(MigrateDatabase(*connection, kTime).ok());
  using Row = std::tuple<int64_t, int64_t, std::string>;
  const auto found = connection->SelectAll<Row>(
      "SELECT version, position, dataset_id FROM version_datasets ORDER BY 1, 2");
  const auto of_jobs = connection->SelectAll<Row>(
      "SELECT versions.number, position, dataset_id FROM versions JOIN jobs ON id = job_id JOIN "
      "job_datasets ON job = jobs.number ORDER BY 1, 2");
  ASSERT_TRUE(found.ok() && of_jobs.ok());
  EXPECT_FALSE(of_jobs->empty());
  EXPECT_EQ(*found, *of_jobs) << "the jobs are still there";
  ExpectSound(*connection);
}

TEST_F(MigrationsTest, RowsThatWereDamagedStayDamaged) {
  Load(StoredSchemas()[1]);
  const std::unique_ptr<Connection> connection = Connect();
  ASSERT_TRUE(MigrateDatabaseTo(*connection, kSchemaWithoutOwners, kTime).ok());
  // As a bit that flips in the file: without the triggers that keep the checksums.
  ASSERT_TRUE(connection
                  ->Execute("UPDATE models SET description = 'x' WHERE name = 'spam'; UPDATE "
                            "events SET time = time + 1 WHERE (job, sequence) = "
                            "(SELECT job, sequence FROM events ORDER BY job, sequence LIMIT 1)")
                  .ok());
  const auto damaged = [&] {
    std::vector<std::string> tables;
    EXPECT_TRUE(FindDamagedRows(*connection, [&](const std::string& table, const std::string&) {
                  tables.push_back(table);
                }).ok());
    return tables;
  };
  EXPECT_THAT(damaged(), ::testing::ElementsAre("events", "models"));
  ASSERT_TRUE(MigrateDatabase(*connection, kTime).ok());
  EXPECT_THAT(damaged(), ::testing::ElementsAre("events", "models"));
}

TEST_F(MigrationsTest, SuccessWithoutAModelIsFoundBeforeJobsHadKinds) {
  Load(StoredSchemas()[1]);
  const std::unique_ptr<Connection> connection = Connect();
  ASSERT_TRUE(MigrateDatabaseTo(*connection, kSchemaWithKinds - 1, kTime).ok());
  ASSERT_TRUE(connection->Execute("UPDATE jobs SET model_version = 0 WHERE state = 5").ok());
  std::vector<std::string> reasons;
  ASSERT_TRUE(CheckDatabaseRows(*connection, [&](const Finding& finding) {
                reasons.push_back(finding.reason);
              }).ok());
  EXPECT_THAT(reasons, ::testing::Contains("MODEL_BROKEN"));
}

TEST_F(MigrationsTest, KilledAtAnyStatementLeavesTheOldOrTheNew) {
  for (const StoredSchema& schema : StoredSchemas()) {
    Load(schema);
    std::vector<std::string> expected;
    {
      const std::unique_ptr<Connection> connection = Connect();
      ASSERT_TRUE(MigrateDatabase(*connection, kTime).ok());
      expected = Describe(*connection);
    }
    bool died = true;
    int deaths = 0;
    for (int statement = 1; died; ++statement) {
      if (!SweepStopsAt(statement + schema.version, kStride)) {
        continue;
      }
      ASSERT_LT(statement, kMaxStatements);
      SCOPED_TRACE(absl::StrCat("schema ", schema.version, ", statement ", statement));
      Load(schema);
      died = DiesAtStatement(statement);
      deaths += died ? 1 : 0;
      const std::unique_ptr<Connection> connection = Connect();
      const absl::StatusOr<int64_t> version = ReadSchemaVersion(*connection);
      ASSERT_TRUE(version.ok()) << version.status();
      EXPECT_GE(*version, schema.version);
      EXPECT_LE(*version, CurrentSchemaVersion());
      ExpectSound(*connection);
      const absl::Status again = MigrateDatabase(*connection, kTime);
      ASSERT_TRUE(again.ok()) << again;
      EXPECT_EQ(Describe(*connection), expected);
    }
    EXPECT_TRUE(deaths > 0 || schema.version == CurrentSchemaVersion()) << schema.version;
  }
}

}  // namespace
}  // namespace mercer::server
