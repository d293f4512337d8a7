#include "server/storage/sqlite/database/connection.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;

enum class Colour : uint8_t { kRed = 1, kGreen = 2 };

class ConnectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / absl::StrCat("mercer-connection-", getpid());
    std::filesystem::create_directories(folder_);
    auto opened = Connection::Open(folder_ / "mercer.db", Connection::Mode::kReadWrite);
    ASSERT_TRUE(opened.ok()) << opened.status();
    connection_ = *std::move(opened);
    ASSERT_TRUE(connection_->Execute("CREATE TABLE numbers(value INTEGER PRIMARY KEY)").ok());
  }

  void TearDown() override {
    connection_.reset();
    std::filesystem::remove_all(folder_);
  }

  // The type and the value that SQLite is given.
  template <typename T>
  std::string Bound(const T& value) {
    const auto found = connection_->SelectFirst<std::tuple<std::string, std::string>>(
        "SELECT typeof(?1), quote(?1)", value);
    return found.ok() ? absl::StrCat(std::get<0>(**found), " ", std::get<1>(**found))
                      : found.status().ToString();
  }

  std::filesystem::path folder_;
  std::unique_ptr<Connection> connection_;
};

TEST_F(ConnectionTest, ValuesAreBoundAsTheirTypeSays) {
  EXPECT_EQ(Bound(int64_t{-3}), "integer -3");
  EXPECT_EQ(Bound(true), "integer 1");
  EXPECT_EQ(Bound(Colour::kGreen), "integer 2");
  EXPECT_EQ(Bound("it's"), "text 'it''s'");
  EXPECT_EQ(Bound(std::string()), "text ''");
  EXPECT_EQ(Bound(std::string_view()), "text ''");
  EXPECT_EQ(Bound(Blob{"a"}), "blob X'61'");
  EXPECT_EQ(Bound(Blob{}), "blob X''");
  EXPECT_EQ(Bound(TextOrNull{"a"}), "text 'a'");
  EXPECT_EQ(Bound(TextOrNull{""}), "null NULL");
  EXPECT_EQ(Bound(absl::FromUnixMicros(7)), "integer 7");
  EXPECT_EQ(Bound(absl::InfinitePast()), "null NULL");
  EXPECT_EQ(Bound(absl::InfiniteFuture()), "null NULL");
  EXPECT_EQ(Bound(std::optional<std::string>("a")), "text 'a'");
  EXPECT_EQ(Bound(std::optional<std::string>()), "null NULL");
  EXPECT_EQ(Bound(SqlValues{std::string("a")}), "text 'a'");
}

TEST_F(ConnectionTest, ColumnsFillFieldsAsTheirTypeSays) {
  const auto read = [](const Statement& row) {
    std::tuple<int32_t, bool, Colour, std::string, absl::Time, absl::Time, std::optional<int>,
               std::optional<int>>
        fields;
    std::apply([&](auto&... field) { row.Read(field...); }, fields);
    return fields;
  };
  const auto found = connection_->SelectFirst(read, "SELECT -5, 1, 2, X'610062', 7, NULL, NULL, 0");
  ASSERT_TRUE(found.ok() && found->has_value()) << found.status();
  EXPECT_EQ(**found,
            std::tuple(-5, true, Colour::kGreen, std::string("a\0b", 3), absl::FromUnixMicros(7),
                       absl::InfinitePast(), std::optional<int>(), std::optional<int>(0)));
}

TEST_F(ConnectionTest, ChangesTellTheirRowsAndSelectionsThatThereAreNone) {
  EXPECT_EQ(*connection_->Change("INSERT INTO numbers VALUES (?), (?), (?)", 3, 1, 2), 3);
  EXPECT_EQ(*connection_->Change("INSERT INTO numbers VALUES (?) ON CONFLICT DO NOTHING", 3), 0);
  EXPECT_THAT(*connection_->SelectAll<int64_t>("SELECT value FROM numbers ORDER BY 1"),
              ElementsAre(1, 2, 3));
  const char* const one = "SELECT value FROM numbers WHERE value = ?";
  EXPECT_EQ(*connection_->SelectFirst<int64_t>(one, 2), 2);
  EXPECT_EQ(*connection_->SelectFirst<int64_t>(one, 5), std::nullopt);
  EXPECT_EQ(*connection_->SelectValue<int64_t>(one, 5), 0);
  const auto refuse = [] { return absl::NotFoundError("no such number"); };
  EXPECT_EQ(*FoundOr(connection_->SelectFirst<int64_t>(one, 2), refuse), 2);
  EXPECT_EQ(FoundOr(connection_->SelectFirst<int64_t>(one, 5), refuse).status(), refuse());
}

// The text is prepared once, and may be run again at once: also after an error, or with rows left.
TEST_F(ConnectionTest, StatementsAreKeptAndReset) {
  const std::string sql =
      "WITH all_of(n) AS (VALUES (1), (2), (3)) SELECT n FROM all_of WHERE n > ?";
  const auto statements = [this] {
    int count = 0;
    for (sqlite3_stmt* one = nullptr;
         (one = sqlite3_next_stmt(connection_->handle(), one)) != nullptr; ++count) {
      EXPECT_EQ(sqlite3_stmt_busy(one), 0) << sqlite3_sql(one);
    }
    return count;
  };
  const int before = statements();
  int visited = 0;
  const auto stop = [&](const Statement&) { return absl::CancelledError(absl::StrCat(++visited)); };
  EXPECT_EQ(connection_->ForEachRow(stop, sql, 0), absl::CancelledError("1"));
  const auto refuse = [](const Statement&) -> absl::StatusOr<int> {
    return absl::AbortedError("refused");
  };
  EXPECT_EQ(connection_->SelectFirst(refuse, sql, 0).status(), absl::AbortedError("refused"));
  EXPECT_EQ(connection_->SelectAll(refuse, sql, 0).status(), absl::AbortedError("refused"));
  EXPECT_EQ(*connection_->SelectFirst<int>(sql, 1), 2);
  EXPECT_THAT(*connection_->SelectAll<int>(sql, 1), ElementsAre(2, 3));
  EXPECT_EQ(statements(), before + 1);
}

// Another connection's change in between is not seen.
TEST_F(ConnectionTest, WhatAReaderAsksIsOfTheSameMoment) {
  auto other = Connection::Open(folder_ / "mercer.db", Connection::Mode::kReadWrite);
  ASSERT_TRUE(other.ok()) << other.status();
  const char* const count = "SELECT COUNT(*) FROM numbers";
  const auto read = [&](const Statement& row) -> absl::StatusOr<std::pair<int64_t, int64_t>> {
    MERCER_RETURN_IF_ERROR((*other)->Run("INSERT INTO numbers VALUES (?)", 1));
    MERCER_ASSIGN_OR_RETURN(const int64_t again, connection_->SelectValue<int64_t>(count));
    return std::pair(row.Int64(0), again);
  };
  const auto found = connection_->SelectFirst(read, "SELECT COUNT(*), 'first' FROM numbers");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(*connection_->SelectValue<int64_t>(count), 1);
}

}  // namespace
}  // namespace mercer::server
