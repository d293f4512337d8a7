#include "server/storage/sqlite/database/connection.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/storage/sqlite/database/row_checksums.h"

namespace mercer::server {

namespace {

// SQLite has one code for whatever goes wrong with a file: what the system said makes the difference between a full disk, a
// missing right and a broken disk.
int RefinedCode(sqlite3* database, int code) {
  const int primary = code & 0xff;
  if (database == nullptr || (primary != SQLITE_IOERR && primary != SQLITE_CANTOPEN)) {
    return primary;
  }
  switch (sqlite3_system_errno(database)) {
    case ENOSPC:
    case EDQUOT:
      return SQLITE_FULL;
    case EACCES:
    case EPERM:
    case EROFS:
      return SQLITE_READONLY;
    default:
      // Having failed to make a file, SQLite tries to open it for reading; why it failed is forgotten by then.
      return SQLITE_IOERR;
  }
}

}  // namespace

absl::Status SqliteError(sqlite3* database, int code, const std::string& what) {
  const bool damaged = (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
  const std::string message =
      absl::StrCat("database: ", damaged ? "damaged: " : "", what, ": ",
                   database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code));
  switch (RefinedCode(database, code)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return WithReason(absl::UnavailableError(message), "DATABASE_BUSY");
    case SQLITE_INTERRUPT:
      return absl::CancelledError(message);
    case SQLITE_FULL:
      return WithReason(absl::ResourceExhaustedError(message), "DISK_FULL");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return WithReason(absl::DataLossError(message), "DATABASE_DAMAGED");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return WithReason(absl::FailedPreconditionError(message), "STORAGE_READ_ONLY");
    default:
      return WithReason(absl::InternalError(message), "DATABASE_ERROR");
  }
}

Statement::~Statement() {
  if (statement_ != nullptr && kept_ == Kept::kByConnection) {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  } else {
    sqlite3_finalize(statement_);
  }
}

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      kept_(other.kept_),
      next_parameter_(other.next_parameter_),
      bind_error_(other.bind_error_) {}

void Statement::Check(int code) {
  if (bind_error_ == SQLITE_OK) {
    bind_error_ = code;
  }
}

void Statement::BindInteger(int64_t value) {
  Check(sqlite3_bind_int64(statement_, next_parameter_++, value));
}

void Statement::BindText(std::string_view text) {
  // A null pointer would bind NULL.
  const char* data = text.data() != nullptr ? text.data() : "";
  Check(sqlite3_bind_text64(statement_, next_parameter_++, data, text.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
}

void Statement::BindOther(Blob blob) {
  const char* data = blob.bytes.data() != nullptr ? blob.bytes.data() : "";
  Check(sqlite3_bind_blob64(statement_, next_parameter_++, data, blob.bytes.size(),
                            SQLITE_TRANSIENT));
}

void Statement::BindNull() { Check(sqlite3_bind_null(statement_, next_parameter_++)); }

void Statement::BindOther(TextOrNull value) {
  value.text.empty() ? BindNull() : BindText(value.text);
}

void Statement::BindOther(absl::Time time) {
  const bool infinite = time == absl::InfinitePast() || time == absl::InfiniteFuture();
  infinite ? BindNull() : BindInteger(absl::ToUnixMicros(time));
}

void Statement::BindOther(const SqlValues& values) {
  for (const SqlValue& value : values) {
    std::visit([this](const auto& one) { Bind(one); }, value);
  }
}

absl::StatusOr<bool> Statement::Step() {
  if (bind_error_ != SQLITE_OK) {
    return SqliteError(database_, bind_error_, "binding a value");
  }
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    return false;
  }
  return SqliteError(database_, code, "statement");
}

absl::Status Statement::Run() {
  bool more = true;
  while (more) {
    MERCER_ASSIGN_OR_RETURN(more, Step());
  }
  return absl::OkStatus();
}

std::string Statement::Bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::string() : std::string(data, static_cast<size_t>(size));
}

absl::Time Statement::Time(int column) const {
  return IsNull(column) ? absl::InfinitePast() : absl::FromUnixMicros(Int64(column));
}

namespace {

std::string ImmutableUri(const std::string& path) {
  const std::string escaped = absl::StrReplaceAll(path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}});
  return absl::StrCat("file:", escaped, "?immutable=1");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& path, Mode mode) {
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (mode == Mode::kReadWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                              : SQLITE_OPEN_READONLY) |
                    (mode == Mode::kImmutable ? SQLITE_OPEN_URI : 0);
  const std::string name = mode == Mode::kImmutable ? ImmutableUri(path) : path;
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &database, flags, nullptr);
  std::unique_ptr<Connection> connection(new Connection(database));
  if (code != SQLITE_OK) {
    return SqliteError(database, code, absl::StrCat("opening ", path));
  }
  // SQLite opens what it may not write for reading alone.
  if (mode == Mode::kReadWrite && sqlite3_db_readonly(database, "main") == 1) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat("database: the file ", path, " is read-only")),
        "STORAGE_READ_ONLY", {{"path", path}});
  }
  sqlite3_busy_timeout(database, 5000);
  MERCER_RETURN_IF_ERROR(AddChecksumFunctions(database));
  MERCER_RETURN_IF_ERROR(connection->Execute("PRAGMA foreign_keys = ON"));
  if (mode == Mode::kReadWrite) {
    connection->CheckpointOnClose(false);
    MERCER_RETURN_IF_ERROR(
        connection->Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"));
  }
  return connection;
}

Connection::~Connection() {
  statements_.clear();
  sqlite3_close(database_);
}

void Connection::CheckpointOnClose(bool on) {
  sqlite3_db_config(database_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, nullptr);
}

absl::StatusOr<Connection::OwnedStatement> Connection::Compile(std::string_view sql,
                                                               unsigned flags) const {
  sqlite3_stmt* compiled = nullptr;
  const int code = sqlite3_prepare_v3(database_, sql.data(), static_cast<int>(sql.size()), flags,
                                      &compiled, nullptr);
  if (code != SQLITE_OK) {
    return SqliteError(database_, code, absl::StrCat("preparing '", std::string(sql), "'"));
  }
  return OwnedStatement(compiled);
}

absl::StatusOr<Statement> Connection::Prepare(std::string_view sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    MERCER_ASSIGN_OR_RETURN(OwnedStatement compiled, Compile(sql, SQLITE_PREPARE_PERSISTENT));
    found = statements_.emplace(std::string(sql), std::move(compiled)).first;
  }
  if (sqlite3_stmt_busy(found->second.get()) != 0) {
    return absl::InternalError(
        absl::StrCat("database: statement in use: '", std::string(sql), "'"));
  }
  return Statement(database_, found->second.get());
}

absl::StatusOr<Statement> Connection::PrepareOnce(std::string_view sql) {
  MERCER_ASSIGN_OR_RETURN(OwnedStatement compiled, Compile(sql, 0));
  return Statement(database_, compiled.release(), Statement::Kept::kNowhere);
}

absl::Status Connection::Execute(const std::string& script) {
  const int code = sqlite3_exec(database_, script.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : SqliteError(database_, code, "script");
}

}  // namespace mercer::server
