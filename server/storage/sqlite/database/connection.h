// One SQLite connection with prepared statements. Values are always bound, never pasted into the
// text.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <sqlite3.h>

#include "core/base/numeric/variant.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {

// kUnavailable (busy), kResourceExhausted (DISK_FULL), kDataLoss (DATABASE_DAMAGED),
// kFailedPrecondition (STORAGE_READ_ONLY), kCancelled (interrupted), else kInternal, from the connection's last error.
absl::Status SqliteError(sqlite3* database, int code, const std::string& what);

// Values that are not bound as their type says.
struct Blob {
  std::string_view bytes;
};
struct TextOrNull {
  std::string_view text;  // NULL when it is empty
};
// What a request shapes: as many parameters as there are.
using SqlValue = Variant<int64_t, std::string>;
using SqlValues = std::vector<SqlValue>;

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

  // Numbers, enumerators and truth values as integers; times as microseconds, infinite ones as NULL; absent values as
  // NULL.
  template <typename T>
  Statement& Bind(const T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      BindInteger(static_cast<int64_t>(value));
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      BindText(value);
    } else {
      BindOther(value);
    }
    return *this;
  }

  // True: there is a row. False: the statement is done.
  absl::StatusOr<bool> Step();
  // For statements whose rows do not matter.
  absl::Status Run();

  bool IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  int64_t Int64(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string Bytes(int column) const;  // text or blob; NULL is empty
  absl::Time Time(int column) const;    // NULL is InfinitePast

  // The columns from the first one on, each as the type of its field; an optional one is absent when it is NULL.
  template <typename... Fields>
  void Read(Fields&... fields) const {
    int column = 0;
    (ReadColumn(column++, fields), ...);
  }

 private:
  void Check(int code);
  void BindInteger(int64_t value);
  void BindText(std::string_view text);
  void BindNull();
  void BindOther(absl::Time time);
  void BindOther(Blob blob);
  void BindOther(TextOrNull value);
  void BindOther(const SqlValues& values);
  template <typename T>
  void BindOther(const std::optional<T>& value) {
    if (value.has_value()) {
      Bind(*value);
    } else {
      BindNull();
    }
  }

  void ReadColumn(int column, std::string& field) const { field = Bytes(column); }
  void ReadColumn(int column, absl::Time& field) const { field = Time(column); }
  void ReadColumn(int column, bool& field) const { field = Int64(column) != 0; }
  template <typename T>
  void ReadColumn(int column, T& field) const {
    field = static_cast<T>(Int64(column));
  }
  template <typename T>
  void ReadColumn(int column, std::optional<T>& field) const {
    if (!IsNull(column)) {
      ReadColumn(column, field.emplace());
    }
  }

  sqlite3* database_;
  sqlite3_stmt* statement_;
  Kept kept_;
  int next_parameter_ = 1;
  int bind_error_ = SQLITE_OK;
};

// What makes a record of a row: a function that answers it, or why there is none.
template <typename Reader>
concept RowReader = std::invocable<Reader&, const Statement&>;

template <typename T>
struct StatusOrOf {
  using Type = absl::StatusOr<T>;
};
template <typename T>
struct StatusOrOf<absl::StatusOr<T>> {
  using Type = absl::StatusOr<T>;
};
template <RowReader Reader>
using RowAnswer = typename StatusOrOf<std::invoke_result_t<Reader&, const Statement&>>::Type;
template <RowReader Reader>
using RecordOf = typename RowAnswer<Reader>::value_type;

// The first column, or the first ones as a tuple.
template <typename Columns>
Columns ReadColumns(const Statement& row) {
  Columns columns{};
  if constexpr (requires { std::tuple_size<Columns>::value; }) {
    std::apply([&row](auto&... fields) { row.Read(fields...); }, columns);
  } else {
    row.Read(columns);
  }
  return columns;
}

// What was selected, or refuse(), an error, when there is no row.
template <typename Record, typename Refuse>
absl::StatusOr<Record> FoundOr(absl::StatusOr<std::optional<Record>> found, const Refuse& refuse) {
  MERCER_RETURN_IF_ERROR(found.status());
  return found->has_value() ? absl::StatusOr<Record>(**std::move(found)) : refuse();
}

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

  // `values` are bound in order, here and below.
  template <typename... Values>
  absl::StatusOr<Statement> Query(std::string_view sql, const Values&... values) {
    MERCER_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
    (statement.Bind(values), ...);
    return statement;
  }
  template <typename... Values>
  absl::Status Run(std::string_view sql, const Values&... values) {
    MERCER_ASSIGN_OR_RETURN(Statement statement, Query(sql, values...));
    return statement.Run();
  }
  // Answers how many rows it has changed.
  template <typename... Values>
  absl::StatusOr<int64_t> Change(std::string_view sql, const Values&... values) {
    MERCER_RETURN_IF_ERROR(Run(sql, values...));
    return sqlite3_changes64(database_);
  }
  // Calls visit(row), which answers a status, up to the first error.
  template <typename Visit, typename... Values>
  absl::Status ForEachRow(Visit visit, std::string_view sql, const Values&... values) {
    MERCER_ASSIGN_OR_RETURN(Statement select, Query(sql, values...));
    while (true) {
      MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
      if (!more) {
        return absl::OkStatus();
      }
      MERCER_RETURN_IF_ERROR(visit(std::as_const(select)));
    }
  }
  // Of the first row, if there is one. What `read` asks the connection is as of the same moment.
  template <RowReader Reader, typename... Values>
  absl::StatusOr<std::optional<RecordOf<Reader>>> SelectFirst(Reader read, std::string_view sql,
                                                              const Values&... values) {
    MERCER_ASSIGN_OR_RETURN(Statement select, Query(sql, values...));
    MERCER_ASSIGN_OR_RETURN(const bool found, select.Step());
    if (!found) {
      return std::nullopt;
    }
    MERCER_ASSIGN_OR_RETURN(RecordOf<Reader> record,
                            RowAnswer<Reader>(read(std::as_const(select))));
    return std::optional<RecordOf<Reader>>(std::move(record));
  }
  template <RowReader Reader, typename... Values>
  absl::StatusOr<std::vector<RecordOf<Reader>>> SelectAll(Reader read, std::string_view sql,
                                                          const Values&... values) {
    std::vector<RecordOf<Reader>> records;
    const auto add = [&](const Statement& row) -> absl::Status {
      MERCER_ASSIGN_OR_RETURN(RecordOf<Reader> record, RowAnswer<Reader>(read(row)));
      records.push_back(std::move(record));
      return absl::OkStatus();
    };
    MERCER_RETURN_IF_ERROR(ForEachRow(add, sql, values...));
    return records;
  }
  // The same of columns, as ReadColumns gives them.
  template <typename Columns, typename... Values>
  absl::StatusOr<std::optional<Columns>> SelectFirst(std::string_view sql,
                                                     const Values&... values) {
    return SelectFirst(&ReadColumns<Columns>, sql, values...);
  }
  template <typename Columns, typename... Values>
  absl::StatusOr<std::vector<Columns>> SelectAll(std::string_view sql, const Values&... values) {
    return SelectAll(&ReadColumns<Columns>, sql, values...);
  }
  // Of the first row; 0 or empty when there is none.
  template <typename Columns, typename... Values>
  absl::StatusOr<Columns> SelectValue(std::string_view sql, const Values&... values) {
    MERCER_ASSIGN_OR_RETURN(std::optional<Columns> found, SelectFirst<Columns>(sql, values...));
    return std::move(found).value_or(Columns{});
  }

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
  using OwnedStatement = std::unique_ptr<sqlite3_stmt, Finalizer>;

  explicit Connection(sqlite3* database) : database_(database) {}

  absl::StatusOr<OwnedStatement> Compile(std::string_view sql, unsigned flags) const;

  sqlite3* database_;
  std::map<std::string, OwnedStatement, std::less<>> statements_;
};

}  // namespace mercer::server
