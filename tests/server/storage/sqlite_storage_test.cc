// What SQLite adds to the conformance suite: durability, migrations, locking, damage, the writer's
// batches.
#include "server/storage/sqlite/sqlite_storage.h"

#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/migrations.h"
#include "server/storage/sqlite/database/write_queue.h"

namespace mercer::server {
namespace {

using ::testing::HasSubstr;

class SqliteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              absl::StrCat("mercer-sqlite-", getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/mercer.db"; }
  absl::StatusOr<std::unique_ptr<Storage>> Open() const {
    SqliteOptions options;
    options.folder = folder_;
    return OpenSqliteStorage(options);
  }
  static DatasetRecord MakeDataset(const std::string& id) {
    DatasetRecord dataset;
    dataset.id = id;
    dataset.blob = "blob";
    dataset.create_time = absl::FromUnixSeconds(1);
    return dataset;
  }

  std::string folder_;
};

TEST_F(SqliteTest, KeepsWhatWasAcknowledged) {
  {
    auto storage = Open();
    ASSERT_TRUE(storage.ok()) << storage.status();
    ASSERT_TRUE((*storage)->datasets().CreateDataset(MakeDataset("data")).ok());
  }
  auto storage = Open();
  ASSERT_TRUE(storage.ok()) << storage.status();
  EXPECT_TRUE((*storage)->datasets().GetDataset("data").ok());
}

TEST_F(SqliteTest, SecondServerIsRefused) {
  auto first = Open();
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status refused = Open().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetReason(refused), "DATA_FOLDER_LOCKED");
  EXPECT_THAT(std::string(refused.message()), HasSubstr(absl::StrCat("process ", getpid())));
  first->reset();
  EXPECT_TRUE(Open().ok());
}

TEST_F(SqliteTest, NewerSchemaIsRefused) {
  ASSERT_TRUE(Open().ok());
  {
    auto connection = Connection::Open(path(), Connection::Mode::kReadWrite);
    ASSERT_TRUE((*connection)->Execute("INSERT INTO schema_versions VALUES (1000, 0)").ok());
  }
  const absl::Status refused = Open().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetReason(refused), "NEWER_SCHEMA");
}

TEST_F(SqliteTest, SchemaOfANegativeVersionIsDataLoss) {
  ASSERT_TRUE(Open().ok());
  {
    auto connection = Connection::Open(path(), Connection::Mode::kReadWrite);
    ASSERT_TRUE((*connection)->Execute("DELETE FROM schema_versions").ok());
    ASSERT_TRUE((*connection)->Execute("INSERT INTO schema_versions VALUES (-1, 0)").ok());
  }
  const absl::Status refused = Open().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << refused;
  EXPECT_EQ(GetReason(refused), "DATABASE_DAMAGED");
}

TEST_F(SqliteTest, MigrationIsDoneOnce) {
  ASSERT_TRUE(Open().ok());
  auto connection = Connection::Open(path(), Connection::Mode::kReadWrite);
  EXPECT_TRUE(MigrateDatabase(**connection, absl::FromUnixSeconds(5)).ok());
  auto count = (*connection)->Prepare("SELECT COUNT(*), MAX(version) FROM schema_versions");
  ASSERT_TRUE(*count->Step());
  EXPECT_EQ(count->Int64(0), CurrentSchemaVersion());
  EXPECT_EQ(count->Int64(1), CurrentSchemaVersion());
}

TEST_F(SqliteTest, RubbishInsteadOfADatabaseIsDataLoss) {
  std::ofstream(path()) << std::string(10000, 'x');
  const absl::Status refused = Open().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << refused;
  EXPECT_EQ(GetReason(refused), "DATABASE_DAMAGED");
}

TEST_F(SqliteTest, DamagedPageIsDataLoss) {
  {
    auto storage = Open();
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE((*storage)->datasets().CreateDataset(MakeDataset(absl::StrCat("data-", i))).ok());
    }
  }
  {
    // Every page after the first two: rows and indices, whichever they are.
    const auto size = std::filesystem::file_size(path());
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    for (std::uintmax_t page = 2 * 4096; page < size; page += 4096) {
      file.seekp(static_cast<std::streamoff>(page));
      file << std::string(64, '\x5a');
    }
  }
  const absl::Status refused = Open().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << refused;
  EXPECT_EQ(GetReason(refused), "DATABASE_DAMAGED");
}

TEST_F(SqliteTest, FolderThatCannotBeMadeIsRefused) {
  SqliteOptions options;
  options.folder = "/proc/mercer";
  EXPECT_FALSE(OpenSqliteStorage(options).ok());
}

class WriteQueueTest : public SqliteTest {
 protected:
  void SetUp() override {
    SqliteTest::SetUp();
    auto connection = Connection::Open(path(), Connection::Mode::kReadWrite);
    ASSERT_TRUE(connection.ok()) << connection.status();
    connection_ = *std::move(connection);
    ASSERT_TRUE(connection_->Execute("CREATE TABLE numbers(value INTEGER PRIMARY KEY)").ok());
  }

  // Fills one batch: the writer is held until all changes are queued. Answers the statuses in
  // order.
  std::vector<absl::Status> RunBatch(std::vector<WriteQueue::Change> changes, int max_batch = 256) {
    std::vector<absl::Status> answers(changes.size(), absl::UnknownError("no answer"));
    {
      WriteQueue queue(connection_.get(), max_batch);
      absl::Notification running;
      absl::Notification go;
      queue.Submit(
          [&](Connection&) {
            running.Notify();
            go.WaitForNotification();
            return absl::OkStatus();
          },
          [](const absl::Status&) {});
      running.WaitForNotification();
      for (size_t i = 0; i < changes.size(); ++i) {
        queue.Submit(std::move(changes[i]),
                     [&answers, i](absl::Status status) { answers[i] = std::move(status); });
      }
      go.Notify();
    }
    return answers;
  }
  static WriteQueue::Change Insert(int64_t value) {
    return [value](Connection& connection) {
      auto insert = connection.Prepare("INSERT INTO numbers(value) VALUES (?)");
      return insert.ok() ? insert->Bind(value).Run() : insert.status();
    };
  }
  int64_t Count() {
    auto count = connection_->Prepare("SELECT COUNT(*) FROM numbers");
    return *count->Step() ? count->Int64(0) : -1;
  }

  std::unique_ptr<Connection> connection_;
};

TEST_F(WriteQueueTest, ManyChangesShareOneCommit) {
  int commits = 0;
  sqlite3_commit_hook(
      connection_->handle(), [](void* count) { return ++*static_cast<int*>(count), 0; }, &commits);
  std::vector<WriteQueue::Change> changes;
  for (int i = 0; i < 100; ++i) {
    changes.push_back(Insert(i));
  }
  for (const absl::Status& status : RunBatch(std::move(changes), 40)) {
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(Count(), 100);
  EXPECT_EQ(commits, 4);  // that of the change which held the writer, then 40 + 40 + 20
}

TEST_F(WriteQueueTest, FailedChangeIsUndoneAndHarmsNobody) {
  std::vector<WriteQueue::Change> changes;
  changes.push_back(Insert(1));
  changes.push_back([](Connection& connection) -> absl::Status {
    EXPECT_TRUE(Insert(2)(connection).ok());
    return absl::NotFoundError("refused after a write");
  });
  changes.push_back(Insert(1));  // violates the primary key
  changes.push_back(Insert(3));
  const std::vector<absl::Status> answers = RunBatch(std::move(changes));
  EXPECT_TRUE(answers[0].ok());
  EXPECT_EQ(answers[1].code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(answers[2].code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(answers[3].ok());
  EXPECT_EQ(Count(), 2);
}

TEST_F(WriteQueueTest, ChangeThatThrowsIsUndoneAndHarmsNobody) {
  std::vector<WriteQueue::Change> changes;
  changes.push_back([](Connection& connection) -> absl::Status {
    EXPECT_TRUE(Insert(2)(connection).ok());
    throw std::bad_alloc();
  });
  changes.push_back(Insert(3));
  const std::vector<absl::Status> answers = RunBatch(std::move(changes));
  EXPECT_EQ(GetReason(answers[0]), "OUT_OF_MEMORY");
  EXPECT_TRUE(answers[1].ok()) << answers[1];
  EXPECT_EQ(Count(), 1);
}

TEST_F(WriteQueueTest, AnswerThatThrowsHarmsNobody) {
  {
    WriteQueue queue(connection_.get(), 256);
    queue.Submit(Insert(1), [](const absl::Status&) { throw std::bad_alloc(); });
    queue.Submit(Insert(2), [](const absl::Status& status) { EXPECT_TRUE(status.ok()); });
  }
  EXPECT_EQ(Count(), 2);
}

TEST_F(WriteQueueTest, FailedCommitIsToldToEveryChangeOfTheBatch) {
  std::vector<WriteQueue::Change> changes;
  changes.push_back(Insert(1));
  changes.push_back([](Connection&) { return absl::NotFoundError("its own"); });
  changes.push_back([](Connection& connection) {
    sqlite3_commit_hook(
        connection.handle(), [](void*) { return 1; }, nullptr);  // the COMMIT fails
    return Insert(2)(connection);
  });
  const std::vector<absl::Status> answers = RunBatch(std::move(changes));
  EXPECT_EQ(answers[0].code(), absl::StatusCode::kInternal) << answers[0];
  EXPECT_EQ(answers[1].code(), absl::StatusCode::kInternal);
  EXPECT_EQ(answers[2].code(), absl::StatusCode::kInternal);
  EXPECT_EQ(Count(), 0);
  sqlite3_commit_hook(connection_->handle(), nullptr, nullptr);
  std::vector<WriteQueue::Change> later;
  later.push_back(Insert(7));
  EXPECT_TRUE(RunBatch(std::move(later))[0].ok());
}

TEST_F(WriteQueueTest, RefusalForAChangeThatIsUndoneIsUndoneToo) {
  std::vector<WriteQueue::Change> changes;
  changes.push_back(Insert(1));
  // As a renewal of a lease in the batch that ends the attempt.
  changes.push_back([](Connection& connection) {
    return Insert(1)(connection).ok() ? absl::OkStatus() : absl::AbortedError("the row is taken");
  });
  changes.push_back([](Connection& connection) {
    sqlite3_commit_hook(
        connection.handle(), [](void*) { return 1; }, nullptr);  // the COMMIT fails
    return absl::OkStatus();
  });
  const std::vector<absl::Status> answers = RunBatch(std::move(changes));
  EXPECT_FALSE(absl::IsAborted(answers[1])) << "the row is free";
  EXPECT_EQ(answers[1], answers[0]);
  sqlite3_commit_hook(connection_->handle(), nullptr, nullptr);
}

TEST_F(WriteQueueTest, FullDiskIsReportedAndTheQueueGoesOn) {
  ASSERT_TRUE(
      connection_->Execute("CREATE TABLE blobs(content BLOB); PRAGMA max_page_count = 20").ok());
  std::vector<WriteQueue::Change> changes;
  changes.push_back(Insert(1));
  changes.push_back([](Connection& connection) {
    auto insert = connection.Prepare("INSERT INTO blobs(content) VALUES (zeroblob(1000000))");
    return insert.ok() ? insert->Run() : insert.status();
  });
  changes.push_back(Insert(2));
  const std::vector<absl::Status> answers = RunBatch(std::move(changes));
  EXPECT_EQ(answers[1].code(), absl::StatusCode::kResourceExhausted) << answers[1];
  EXPECT_EQ(GetReason(answers[1]), "DISK_FULL");
  // Whether SQLite undid the statement or the whole transaction: who was told OK is stored, nobody
  // else.
  EXPECT_EQ(Count(), (answers[0].ok() ? 1 : 0) + (answers[2].ok() ? 1 : 0));
  std::vector<WriteQueue::Change> later;
  later.push_back(Insert(7));
  EXPECT_TRUE(RunBatch(std::move(later))[0].ok());
}

TEST_F(WriteQueueTest, LostTransactionIsToldToEveryChangeOfTheBatch) {
  std::vector<WriteQueue::Change> changes;
  changes.push_back(Insert(1));
  changes.push_back([](Connection& connection) { return connection.Execute("ROLLBACK"); });
  changes.push_back(Insert(2));
  for (const absl::Status& status : RunBatch(std::move(changes))) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  }
  EXPECT_EQ(Count(), 0);
  std::vector<WriteQueue::Change> later;
  later.push_back(Insert(7));
  EXPECT_TRUE(RunBatch(std::move(later))[0].ok());
}

}  // namespace
}  // namespace mercer::server
