// One SQLite connection with prepared statements. Values are always bound, never pasted into the
// text.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <sqlite3.h>

namespace mercer::server {

// kUnavailable (busy), kResourceExhausted (DISK_FULL), kDataLoss (DATABASE_DAMAGED),
// kFailedPrecondition (STORAGE_READ_ONLY), kCancelled (interrupted), else kInternal, from the connection's last error.
absl::Status SqliteError(sqlite3* database, int code, const std::string& what);

// A prepared statement on loan; goes back, reset, when destroyed, or ends if nobody keeps it. Parameters are bound in order;
// the first error of a Bind is returned by Step.
class Statement {
 public:
  enum class Kept : uint8_t { kByConnection, kNowhere };

  Statement(sqlite3* database, sqlite3_stmt* statement, Kept kept = Kept::kByConnection)
      : database_(database), statement_(statement), kept_(kept) {}
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;

  Statement& Bind(int64_t value);
  Statement& Bind(std::string_view text);
  Statement& Bind(const std::string& text) { return Bind(std::string_view(text)); }
  Statement& BindBlob(std::string_view bytes);
  Statement& BindNull();
  Statement& BindTime(absl::Time time);  // infinite ones as NULL

  // True: there is a row. False: the statement is done.
  absl::StatusOr<bool> Step();
  // For statements whose rows do not matter.
  absl::Status Run();

  bool IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  int64_t Int64(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string Bytes(int column) const;  // text or blob; NULL is empty
  absl::Time Time(int column) const;    // NULL is InfinitePast

 private:
  void Check(int code);

  sqlite3* database_;
  sqlite3_stmt* statement_;
  Kept kept_;
  int next_parameter_ = 1;
  int bind_error_ = SQLITE_OK;
};

// Used by one thread at a time.
class Connection {
 public:
  enum class Mode : uint8_t {
    kReadWrite,
    kReadOnly,
    kImmutable,  // no file is written, not even beside it: for a database that nobody changes and that has no WAL
  };

  // Sets the journal to WAL and synchronous to FULL (kReadWrite). Errors: kFailedPrecondition
  // (reason STORAGE_READ_ONLY: kReadWrite is not allowed), kDataLoss (reason DATABASE_DAMAGED).
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& path, Mode mode);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Prepared once per text, then reused. Two loans of the same text at the same time are an error
  // of the caller (kInternal).
  absl::StatusOr<Statement> Prepare(std::string_view sql);
  // For texts of which there is no end, because a request shapes them: nothing is kept.
  absl::StatusOr<Statement> PrepareOnce(std::string_view sql);
  // One or more statements without parameters.
  absl::Status Execute(const std::string& script);

  // Whether this connection, when it is the last to close, moves the changes from the WAL into the
  // database file. Off at first: a database that is refused stays as it is, for whoever repairs it.
  void CheckpointOnClose(bool on);

  int64_t last_row_id() const { return sqlite3_last_insert_rowid(database_); }
  int64_t changes() const { return sqlite3_changes64(database_); }
  bool in_transaction() const { return sqlite3_get_autocommit(database_) == 0; }
  sqlite3* handle() const { return database_; }

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  explicit Connection(sqlite3* database) : database_(database) {}

  sqlite3* database_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalizer>, std::less<>> statements_;
};

}  // namespace mercer::server
