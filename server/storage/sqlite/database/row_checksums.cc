#include "server/storage/sqlite/database/row_checksums.h"

#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/encoding/crc32c.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

constexpr char kColumn[] = "checksum";

std::string_view BytesOf(sqlite3_value* value) {
  const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
  const int size = sqlite3_value_bytes(value);
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, static_cast<size_t>(size));
}

uint32_t AddNumber(uint64_t number, uint32_t checksum) {
  char bytes[sizeof number];
  for (char& byte : bytes) {
    byte = static_cast<char>(number & 0xff);
    number >>= 8;
  }
  return Crc32c({bytes, sizeof bytes}, checksum);
}

// The type, and the number or the length with the bytes: no two rows give the same sequence.
uint32_t AddValue(sqlite3_value* value, uint32_t checksum) {
  const int type = sqlite3_value_type(value);
  checksum = AddNumber(static_cast<uint64_t>(type), checksum);
  switch (type) {
    case SQLITE_NULL:
      return checksum;
    case SQLITE_INTEGER:
      return AddNumber(static_cast<uint64_t>(sqlite3_value_int64(value)), checksum);
    default: {
      const std::string_view bytes = BytesOf(value);
      return Crc32c(bytes, AddNumber(bytes.size(), checksum));
    }
  }
}

uint32_t ChecksumOf(sqlite3_value* table, int count, sqlite3_value** values) {
  uint32_t checksum = AddValue(table, 0);
  for (int i = 0; i < count; ++i) {
    checksum = AddValue(values[i], checksum);
  }
  return checksum;
}

void RowChecksum(sqlite3_context* context, int count, sqlite3_value** values) {
  if (count < 1) {
    sqlite3_result_error(context, "row_checksum needs the name of a table", -1);
    return;
  }
  sqlite3_result_int64(context, ChecksumOf(values[0], count - 1, values + 1));
}

void CheckRow(sqlite3_context* context, int count, sqlite3_value** values) {
  if (count < 3) {
    sqlite3_result_error(context, "check_row needs a table, a checksum and keys", -1);
    return;
  }
  if (sqlite3_value_type(values[1]) == SQLITE_INTEGER &&
      sqlite3_value_int64(values[1]) == ChecksumOf(values[0], count - 3, values + 3)) {
    sqlite3_result_int(context, 1);
    return;
  }
  const std::string message = absl::StrCat("a row of the table ", std::string(BytesOf(values[0])),
                                           " is damaged: ", std::string(BytesOf(values[2])));
  sqlite3_result_error(context, message.c_str(), -1);
  sqlite3_result_error_code(context, SQLITE_CORRUPT);
}

struct Columns {
  std::vector<std::string> all;   // but the checksum
  std::vector<std::string> keys;  // of the primary key

  // All of them, each after `prefix`.
  std::string List(const char* prefix) const {
    return absl::StrJoin(all, ", ", [&](std::string* out, const std::string& column) {
      absl::StrAppend(out, prefix, column);
    });
  }
  // SQL of a text that names a row: "job=3 sequence=17".
  std::string Name(const char* prefix) const {
    return absl::StrJoin(keys, " || ' ' || ", [&](std::string* out, const std::string& key) {
      absl::StrAppend(out, "'", key, "=' || ", prefix, key);
    });
  }
  std::string IsRow(const char* prefix) const {
    return absl::StrJoin(keys, " AND ", [&](std::string* out, const std::string& key) {
      absl::StrAppend(out, key, " = ", prefix, key);
    });
  }
};

absl::StatusOr<Columns> ColumnsOf(Connection& connection, const std::string& table) {
  Columns columns;
  const auto add = [&](const Statement& row) {
    if (row.Bytes(0) != kColumn) {
      columns.all.push_back(row.Bytes(0));
    }
    if (row.Int64(1) > 0) {
      columns.keys.push_back(row.Bytes(0));
    }
    return absl::OkStatus();
  };
  MERCER_RETURN_IF_ERROR(connection.ForEachRow(
      add, "SELECT name, pk FROM pragma_table_info(?, 'main') ORDER BY cid", table));
  return columns;
}

std::string CheckSql(const std::string& table, const Columns& columns, const char* prefix) {
  return absl::StrCat("check_row('", table, "', ", prefix, kColumn, ", ", columns.Name(prefix),
                      ", ", columns.List(prefix), ")");
}

std::string ChecksumSql(const std::string& table, const Columns& columns, const char* prefix) {
  return absl::StrCat("row_checksum('", table, "', ", columns.List(prefix), ")");
}

absl::Status ForTables(
    Connection& connection,
    absl::FunctionRef<absl::Status(const std::string& table, const Columns& columns)> visit) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> tables, ChecksummedTables(connection));
  for (const std::string& table : tables) {
    MERCER_ASSIGN_OR_RETURN(const Columns columns, ColumnsOf(connection, table));
    MERCER_RETURN_IF_ERROR(visit(table, columns));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddChecksumFunctions(sqlite3* database) {
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  int code = sqlite3_create_function_v2(database, "row_checksum", -1, kFlags, nullptr, RowChecksum,
                                        nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) {
    code = sqlite3_create_function_v2(database, "check_row", -1, kFlags, nullptr, CheckRow, nullptr,
                                      nullptr, nullptr);
  }
  return code == SQLITE_OK ? absl::OkStatus() : SqliteError(database, code, "adding functions");
}

absl::StatusOr<std::vector<std::string>> ChecksummedTables(Connection& connection) {
  return connection.SelectAll<std::string>(
      "SELECT m.name FROM main.sqlite_schema AS m, pragma_table_info(m.name, 'main') AS c WHERE "
      "m.type = 'table' AND c.name = 'checksum' ORDER BY 1");
}

absl::Status RefreshChecksums(Connection& connection, const std::vector<RowName>& damaged) {
  return ForTables(
      connection, [&](const std::string& table, const Columns& columns) -> absl::Status {
        const std::string checksum = ChecksumSql(table, columns, "");
        MERCER_RETURN_IF_ERROR(connection.Execute(absl::StrCat(
            "UPDATE ", table, " SET checksum = ", checksum, " WHERE checksum IS NOT ", checksum)));
        for (const RowName& name : damaged) {
          if (name.table == table) {
            MERCER_RETURN_IF_ERROR(
                connection.Run(absl::StrCat("UPDATE ", table, " SET checksum = checksum + 1 WHERE ",
                                            columns.Name(""), " = ?"),
                               name.row));
          }
        }
        return absl::OkStatus();
      });
}

// The check is a subquery, into which SQLite does not carry constants: of "WHERE version = 1" it would check the row with
// the version 1, whichever it has.
absl::Status AddCheckedViews(Connection& connection) {
  MERCER_RETURN_IF_ERROR(connection.Execute("PRAGMA temp_store = MEMORY"));
  return ForTables(connection, [&](const std::string& table, const Columns& columns) {
    return connection.Execute(absl::StrCat("CREATE TEMP VIEW checked_", table, " AS SELECT ",
                                           columns.List(""), " FROM main.", table,
                                           " WHERE (SELECT ", CheckSql(table, columns, ""), ")"));
  });
}

absl::Status AddChecksumTriggers(Connection& connection) {
  MERCER_RETURN_IF_ERROR(connection.Execute("PRAGMA temp_store = MEMORY"));
  return ForTables(connection, [&](const std::string& table, const Columns& columns) {
    const std::string store = absl::StrCat(" BEGIN UPDATE ", table,
                                           " SET checksum = ", ChecksumSql(table, columns, "NEW."),
                                           " WHERE ", columns.IsRow("NEW."), "; END;\n");
    const std::string changes = absl::StrCat("UPDATE OF ", columns.List(""), " ON main.", table);
    return connection.Execute(
        absl::StrCat("CREATE TEMP TRIGGER ", table, "_inserted AFTER INSERT ON main.", table, store,
                     "CREATE TEMP TRIGGER ", table, "_before BEFORE ", changes, " BEGIN SELECT ",
                     CheckSql(table, columns, "OLD."), "; END;\n", "CREATE TEMP TRIGGER ", table,
                     "_after AFTER ", changes, store));
  });
}

absl::Status FindDamagedRows(
    Connection& connection,
    absl::FunctionRef<void(const std::string& table, const std::string& row)> sink) {
  return ForTables(connection, [&](const std::string& table, const Columns& columns) {
    return connection.ForEachRow(
        [&](const Statement& row) {
          sink(table, row.Bytes(0));
          return absl::OkStatus();
        },
        absl::StrCat("SELECT ", columns.Name(""), " FROM main.", table, " WHERE checksum IS NOT ",
                     ChecksumSql(table, columns, "")));
  });
}

}  // namespace mercer::server
