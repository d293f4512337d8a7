// From every stored database to the present schema, also when the process dies on the way.
#include "server/storage/sqlite/migrations.h"

#include <filesystem>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/storage/sqlite/connection.h"
#include "server/storage/sqlite/database_check.h"
#include "server/storage/sqlite/sqlite_storage.h"
#include "tests/support/server/stored_schemas.h"

namespace mercer::server {
namespace {

constexpr absl::Time kTime = absl::FromUnixSeconds(1'700'000'000);
constexpr int kDied = 9;
constexpr int kMaxStatements = 10'000;

class MigrationsTest : public ::testing::Test {
 protected:
  MigrationsTest() {
    folder_ = std::filesystem::temp_directory_path() /
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
  EXPECT_EQ((*storage)->models().GetVersion("spam", 1)->learner, "lp_mkl");
  // The two of each model are apart, and the three data sets.
  EXPECT_EQ((*storage)->ReferencedBlobs()->size(), 7u);
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
    for (int statement = 1; died; ++statement) {
      ASSERT_LT(statement, kMaxStatements);
      SCOPED_TRACE(absl::StrCat("schema ", schema.version, ", statement ", statement));
      Load(schema);
      died = DiesAtStatement(statement);
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
  }
}

}  // namespace
}  // namespace mercer::server
