// A database that cannot grow: what was answered stays, what frees room goes on, and it is over when there is room.
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/migrations.h"
#include "server/storage/sqlite/database/reader_pool.h"
#include "server/storage/sqlite/database/row_checksums.h"
#include "server/storage/sqlite/database/write_queue.h"
#include "server/storage/sqlite/dataset_rows.h"

namespace mercer::server {
namespace {

template <typename Function, typename... Arguments>
absl::Status Change(WriteQueue& queue, Function change, const Arguments&... arguments) {
  absl::Status status;
  absl::Notification ready;
  // Moved: a status that two threads share is counted by a library that the thread sanitizer does not look into.
  const auto done = [&](absl::StatusOr<DatasetRecord> answer) {
    status = std::move(answer).status();
    ready.Notify();
  };
  SubmitChange<DatasetRecord>(queue, done, change, arguments...);
  ready.WaitForNotification();
  return status;
}

TEST(FullDatabaseTest, KeepsWhatItAnsweredAndRecovers) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / absl::StrCat("mercer-full-", getpid());
  std::filesystem::create_directories(folder);
  const std::string path = folder / "mercer.db";
  auto connection = Connection::Open(path, Connection::Mode::kReadWrite);
  ASSERT_TRUE(connection.ok()) << connection.status();
  ASSERT_TRUE(MigrateDatabase(**connection, absl::Now()).ok());
  ASSERT_TRUE(AddChecksumTriggers(**connection).ok());
  ASSERT_TRUE(AddCheckedViews(**connection).ok());
  auto readers = ReaderPool::Open(path, 1);
  ASSERT_TRUE(readers.ok()) << readers.status();
  int64_t pages = 0;
  {
    auto count = (*connection)->Prepare("PRAGMA page_count");
    ASSERT_TRUE(count.ok() && count->Step().ok());
    pages = count->Int64(0);
  }
  const auto limit_pages = [&](int64_t limit) {
    ASSERT_TRUE((*connection)->Execute(absl::StrCat("PRAGMA max_page_count = ", limit)).ok());
  };
  limit_pages(pages + 20);
  const auto make = [](int i) {
    DatasetRecord dataset;
    dataset.id = absl::StrCat("d", i);
    dataset.info = std::string(3000, 'x');
    dataset.create_time = absl::FromUnixSeconds(1);
    return dataset;
  };
  int stored = 0;
  {
    WriteQueue queue(connection->get(), 16);
    absl::Status status;
    while ((status = Change(queue, InsertDataset, make(stored), 0)).ok()) {
      ASSERT_LT(++stored, 1000);
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_EQ(GetReason(status), "DISK_FULL");
    ASSERT_GT(stored, 2);
    EXPECT_EQ(GetReason(Change(queue, InsertDataset, make(stored), 0)), "DISK_FULL");
    const ReaderPool::Loan reader = (*readers)->Borrow();
    for (int i = 0; i < stored; ++i) {
      EXPECT_TRUE(ReadDataset(*reader, absl::StrCat("d", i)).ok()) << i;
    }
    EXPECT_TRUE(absl::IsNotFound(ReadDataset(*reader, absl::StrCat("d", stored)).status()));
    // A deletion needs no page, and its pages serve the next data set.
    EXPECT_TRUE(Change(queue, RemoveDataset, std::string("d0"), OwnerCheck()).ok());
    EXPECT_TRUE(Change(queue, InsertDataset, make(stored), 0).ok());
    EXPECT_EQ(GetReason(Change(queue, InsertDataset, make(stored + 1), 0)), "DISK_FULL");
  }
  limit_pages(pages + 1000);
  {
    WriteQueue queue(connection->get(), 16);
    EXPECT_TRUE(Change(queue, InsertDataset, make(stored + 1), 0).ok()) << "there is room again";
  }
  readers->reset();
  connection->reset();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace mercer::server
