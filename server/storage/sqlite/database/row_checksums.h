// Checksums of rows: a bit that flips in the database file is an error of whoever reads or changes the row, and never
// an answer.
//
// Every table of data has a column `checksum`, CRC-32C over the table's name and the values of all its other columns.
// Temporary triggers of the connection that writes keep it: none of the statements that insert or update knows of it,
// and a new column is in it without a line of code. They also check a row before it is changed, so that no change
// makes a damaged row look right. A statement that serves rows selects from checked_<table>, a temporary view that
// fails at a row whose checksum is wrong. Nothing of this is stored in the file but the column: other programs can
// read the database.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// Makes the SQL functions known that the rest stands on:
//   row_checksum(table, values...)                   the checksum
//   check_row(table, checksum, keys, values...)      1, or an error (SQLITE_CORRUPT) that names table and row, where the
//                                                    checksum is not that of the values; `keys` is for the message
absl::Status AddChecksumFunctions(sqlite3* database);

// The tables that have a column `checksum`.
absl::StatusOr<std::vector<std::string>> ChecksummedTables(Connection& connection);

struct RowName {
  std::string table;
  std::string row;  // as FindDamagedRows says it
};

// Computes the checksums of all rows anew: after a change of the schema, within its transaction. Those of the rows that were
// damaged before it are wrong afterwards, too.
absl::Status RefreshChecksums(Connection& connection, const std::vector<RowName>& damaged = {});

// checked_<table> for each of the tables, for as long as the connection is open.
absl::Status AddCheckedViews(Connection& connection);
// The triggers of a connection that writes.
absl::Status AddChecksumTriggers(Connection& connection);

// Tells `sink` of each row whose checksum is wrong: table and row.
absl::Status FindDamagedRows(
    Connection& connection,
    absl::FunctionRef<void(const std::string& table, const std::string& row)> sink);

}  // namespace mercer::server
