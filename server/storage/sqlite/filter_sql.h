// Filters as SQL: the text is made of constants of this program alone, every value of the filter is a parameter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "server/storage/list_filter.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// Where a field is in the tables.
struct FieldSql {
  enum class Values : uint8_t { kText, kNumber, kTextAndNumber, kKeyAndText };

  std::string_view field;
  Values values = Values::kText;  // what is bound for a comparison; for a presence, the key alone
  std::string_view column = "";   // present when neither NULL nor empty
  // Without a column: whether it is equal to, or has, the values; whether it is present.
  std::string_view equal = "";
  std::string_view present = "";
};

// A comparison of the field `labels`.
FilterNode LabelIs(const std::string& key, const std::string& value);

using FilterParameter = std::variant<int64_t, std::string>;

// An expression that is 0 or 1 for every row.
struct FilterCondition {
  std::string sql;
  std::vector<FilterParameter> parameters;  // in order
};

// Errors: kInternal (a field that is not in `fields`).
absl::StatusOr<FilterCondition> TranslateFilter(const FilterNode& filter,
                                                absl::Span<const FieldSql> fields);

void BindParameters(const std::vector<FilterParameter>& parameters, Statement& statement);

struct FoundRows {
  std::vector<int64_t> numbers;
  std::string next;  // the key to go on behind; empty: there are no more
};

// Of a statement whose rows are (number, key, whether it passes), in the order of the keys: the numbers of the first `limit`
// that pass, or of fewer, because so many rows were looked at.
absl::StatusOr<FoundRows> FindRows(Statement& select, int limit, int max_rows);

// What a walk in the order of the keys begins behind, or before when it descends. `after` empty: with the first row. Errors:
// kInvalidArgument (no number; reason BAD_PAGE_TOKEN).
absl::StatusOr<FilterParameter> StartByNumber(std::string_view after, bool descending);
absl::StatusOr<FilterParameter> StartByName(std::string_view after, bool descending);

// A key of two columns, for walks whose first column alone does not tell all rows apart.
struct KeyPair {
  std::string_view first;   // a number, or a name
  std::string_view second;  // a number
  bool is_name = false;
};
// The key as an expression.
std::string KeyText(const KeyPair& key);
// The condition and order of a walk that begins where the values of StartByPair say, which are its parameters.
std::string BehindPair(const KeyPair& key, bool descending);
// Errors: as StartByNumber.
absl::StatusOr<std::vector<FilterParameter>> StartByPair(const KeyPair& key, std::string_view after,
                                                         bool descending);

}  // namespace mercer::server
