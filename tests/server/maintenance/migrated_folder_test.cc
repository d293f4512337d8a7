// What the rows of earlier versions hold is understood by this one.
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "server/maintenance/checks.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/migrations.h"
#include "tests/support/server/stored_schemas.h"

namespace mercer::server {
namespace {

TEST(MigratedFolderTest, EveryStoredMessageIsUnderstood) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / absl::StrCat("mercer-migrated-", getpid());
  for (const StoredSchema& schema : StoredSchemas()) {
    SCOPED_TRACE(schema.version);
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    auto connection = Connection::Open(folder / "mercer.db", Connection::Mode::kReadWrite);
    ASSERT_TRUE(connection.ok()) << connection.status();
    ASSERT_TRUE((*connection)->Execute("PRAGMA foreign_keys = OFF").ok());
    ASSERT_TRUE((*connection)->Execute(schema.script).ok());
    ASSERT_TRUE(MigrateDatabase(**connection, absl::Now()).ok());
    const absl::Status checked = CheckPayloads(**connection, [](const Finding& finding) {
      ADD_FAILURE() << finding.reason << " " << finding.subject << ": " << finding.meaning;
    });
    EXPECT_TRUE(checked.ok()) << checked;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace mercer::server
