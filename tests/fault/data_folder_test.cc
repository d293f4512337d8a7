// Data folders that a server must refuse, with a sentence that says why, and leave as they are.
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "server/digest/sha256.h"
#include "tests/fault/fault_fixture.h"

namespace mercer::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string ReadBytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

// Of a file; says less than its bytes when two differ.
std::string Digest(const std::filesystem::path& path) { return Sha256Hex(ReadBytes(path)); }

void WriteBytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
}

void Execute(const std::filesystem::path& database, const std::string& sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(database.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(connection);
  sqlite3_close(connection);
}

class DataFolderTest : public FaultTest {
 protected:
  std::filesystem::path Database() const { return folder_ / "data" / "mercer.db"; }

  // Expects that the server ends with an error; what it says about that.
  static std::string ExpectRefusal(const ServerProcessOptions& options) {
    ServerProcess server(options);
    EXPECT_FALSE(server.WaitUntilListening()) << "it listens on " << server.address();
    server.Terminate();
    EXPECT_EQ(server.WaitForExit(), 1) << server.Log();
    const std::string log = server.Log();
    const size_t begin = log.find("mercer-server: ");
    EXPECT_NE(begin, std::string::npos) << log;
    return begin == std::string::npos ? log : log.substr(begin);
  }

  // A folder as a server leaves it that has made one model.
  void MakeUsedFolder() const {
    ServerProcess server(Options("data"));
    ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
    {
      client::Client client(OneTry(server.address()));
      UploadClouds(client);
      TrainToEnd(client, CloudsRequest());
    }
    server.Terminate();
    EXPECT_EQ(server.WaitForExit(), 0) << server.Log();
  }

  // Damages the file, expects a refusal, and that the server has not written to any file of the
  // database and has not deleted a blob; then that the undamaged file serves again.
  void ExpectDamageRefused(const std::function<std::string(std::string)>& damage,
                           const testing::Matcher<std::string>& complaint) {
    const std::string intact = ReadBytes(Database());
    ASSERT_GT(intact.size(), 16u << 10);
    const size_t blobs = CountFiles("data/blobs");
    const std::string damaged = damage(intact);
    WriteBytes(Database(), damaged);
    EXPECT_THAT(ExpectRefusal(Options("data")), complaint);
    EXPECT_EQ(Digest(Database()), Sha256Hex(damaged)) << "the server has changed the damaged file";
    EXPECT_EQ(CountFiles("data/blobs"), blobs);
    std::filesystem::remove(folder_ / "data" / "mercer.db-wal");
    std::filesystem::remove(folder_ / "data" / "mercer.db-shm");
    WriteBytes(Database(), intact);
    ExpectServes();
  }

  void ExpectServes() const {
    ServerProcess server(Options("data"));
    ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
    EXPECT_TRUE(client::Client(OneTry(server.address()))
                    .GetDataset("datasets/clouds", v1::DATASET_VIEW_BASIC)
                    .ok());
    server.Terminate();
    EXPECT_EQ(server.WaitForExit(), 0) << server.Log();
  }
};

TEST_F(DataFolderTest, SecondServerOnTheFolderIsRefused) {
  ServerProcess first(Options("data"));
  ASSERT_TRUE(first.WaitUntilListening()) << first.Log();
  EXPECT_THAT(ExpectRefusal(Options("data")),
              AllOf(HasSubstr(folder_ / "data"), HasSubstr("is used by another server"),
                    HasSubstr(absl::StrCat("process ", first.pid()))));
  client::Client client(OneTry(first.address()));
  EXPECT_EQ(UploadClouds(client).rows(), 150) << "the first server still serves";
}

TEST_F(DataFolderTest, FolderOfAKilledServerIsFree) {
  {
    ServerProcess first(Options("data"));
    ASSERT_TRUE(first.WaitUntilListening()) << first.Log();
  }
  ServerProcess second(Options("data"));
  EXPECT_TRUE(second.WaitUntilListening()) << second.Log();
}

TEST_F(DataFolderTest, SignalRightAfterTheStartDrains) {
  for (int i = 0; i < 20; ++i) {
    ServerProcess server(Options("data"));
    ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
    server.Terminate();
    ASSERT_EQ(server.WaitForExit(), 0) << "in try " << i << "\n" << server.Log();
  }
}

TEST_F(DataFolderTest, PortInUseIsRefused) {
  ServerProcess first(Options("data"));
  ASSERT_TRUE(first.WaitUntilListening()) << first.Log();
  ServerProcessOptions options = Options("other");
  options.listen = first.address();
  EXPECT_THAT(ExpectRefusal(options), AllOf(HasSubstr(first.address()), HasSubstr("in use")));
}

TEST_F(DataFolderTest, FileInPlaceOfTheFolderIsRefused) {
  WriteBytes(folder_ / "data", "not a folder");
  EXPECT_THAT(ExpectRefusal(Options("data")), HasSubstr(folder_ / "data"));
  EXPECT_EQ(ReadBytes(folder_ / "data"), "not a folder");
  EXPECT_THAT(ExpectRefusal(Options("data/below")), HasSubstr(folder_ / "data/below"));
}

TEST_F(DataFolderTest, ReadOnlyFolderIsRefused) {
  std::filesystem::create_directory(folder_ / "data");
  using std::filesystem::perms;
  std::filesystem::permissions(folder_, perms::owner_all | perms::others_read | perms::others_exec);
  std::filesystem::permissions(folder_ / "data", perms::owner_read | perms::owner_exec |
                                                     perms::others_read | perms::others_exec);
  ServerProcessOptions options = Options("data");
  options.unprivileged = true;
  EXPECT_THAT(ExpectRefusal(options),
              AllOf(HasSubstr(folder_ / "data"), HasSubstr("Permission denied")));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "data"));
  options.data_dir = folder_ / "data" / "new";
  EXPECT_THAT(ExpectRefusal(options),
              AllOf(HasSubstr(folder_ / "data" / "new"), HasSubstr("Permission denied")));
}

TEST_F(DataFolderTest, ReadOnlyDatabaseIsRefused) {
  MakeUsedFolder();
  using std::filesystem::perms;
  const perms open_to_all = perms::all;
  std::filesystem::permissions(folder_, open_to_all);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "data")) {
    std::filesystem::permissions(entry.path(), open_to_all);
  }
  std::filesystem::permissions(folder_ / "data", open_to_all);
  std::filesystem::permissions(Database(),
                               perms::owner_read | perms::group_read | perms::others_read);
  ServerProcessOptions options = Options("data");
  options.unprivileged = true;
  EXPECT_THAT(ExpectRefusal(options), AllOf(HasSubstr(Database()), HasSubstr("read-only")));
}

TEST_F(DataFolderTest, DamagedDatabaseIsRefusedAndNotTouched) {
  MakeUsedFolder();
  const auto complaint = AllOf(HasSubstr("database"), Not(HasSubstr("read-only")));
  {
    SCOPED_TRACE("bytes overwritten in the middle");
    ExpectDamageRefused(
        [](std::string bytes) {
          return bytes.replace(bytes.size() / 4, bytes.size() / 2, bytes.size() / 2, '\x5a');
        },
        AllOf(complaint, HasSubstr("damaged")));
  }
  {
    SCOPED_TRACE("one page overwritten");
    ExpectDamageRefused([](std::string bytes) { return bytes.replace(8192, 4096, 4096, '\0'); },
                        AllOf(complaint, HasSubstr("damaged")));
  }
  {
    SCOPED_TRACE("cut off in the middle");
    ExpectDamageRefused([](std::string bytes) { return bytes.substr(0, bytes.size() / 2 + 100); },
                        complaint);
  }
  {
    SCOPED_TRACE("another file");
    ExpectDamageRefused([](const std::string& bytes) { return std::string(bytes.size(), 'x'); },
                        complaint);
  }
  {
    // A new database would make all blobs unreferenced, and unreferenced blobs are deleted.
    SCOPED_TRACE("empty");
    ExpectDamageRefused([](const std::string&) { return std::string(); },
                        AllOf(complaint, HasSubstr("blobs")));
  }
}

TEST_F(DataFolderTest, DamagedDatabaseOfAKilledServerIsNotTouched) {
  MakeUsedFolder();
  {
    ServerProcess server(Options("data"));
    ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
    client::Client client(OneTry(server.address()));
    TrainToEnd(client, CloudsRequest());
  }
  const std::filesystem::path log = folder_ / "data" / "mercer.db-wal";
  ASSERT_GT(std::filesystem::file_size(log), 0) << "the last changes before a kill are in the log";
  const std::string changes = Digest(log);
  std::string damaged = ReadBytes(Database());
  damaged.replace(4096, std::string::npos, damaged.size() - 4096, 'x');
  WriteBytes(Database(), damaged);
  EXPECT_THAT(ExpectRefusal(Options("data")), AllOf(HasSubstr("database"), HasSubstr("damaged")));
  EXPECT_EQ(Digest(Database()), Sha256Hex(damaged)) << "the server has changed the damaged file";
  EXPECT_EQ(Digest(log), changes) << "the server has changed the log";
}

TEST_F(DataFolderTest, MissingDatabaseBesideBlobsIsRefused) {
  MakeUsedFolder();
  const size_t blobs = CountFiles("data/blobs");
  std::filesystem::rename(Database(), folder_ / "kept");
  EXPECT_THAT(ExpectRefusal(Options("data")), AllOf(HasSubstr("mercer.db"), HasSubstr("blobs")));
  EXPECT_EQ(CountFiles("data/blobs"), blobs);
  EXPECT_FALSE(std::filesystem::exists(Database()));
  std::filesystem::rename(folder_ / "kept", Database());
  ExpectServes();
}

TEST_F(DataFolderTest, DatabaseOfANewerVersionIsRefused) {
  MakeUsedFolder();
  Execute(Database(), "INSERT INTO schema_versions VALUES (1000, 0)");
  const std::string before = Digest(Database());
  EXPECT_THAT(ExpectRefusal(Options("data")), AllOf(HasSubstr("1000"), HasSubstr("newer version")));
  EXPECT_EQ(Digest(Database()), before);
  Execute(Database(), "DELETE FROM schema_versions WHERE version = 1000");
  ExpectServes();
}

}  // namespace
}  // namespace mercer::server
