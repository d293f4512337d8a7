// What a list shows and in which order, as texts say it: a subset of AIP-160 (filters) and AIP-132 (orders).
//
//   state = FAILED AND labels.team:vision AND NOT (learner = lp_mkl OR create_time < 2026-01-31T12:00:00Z)
//
//   all        = any { "AND" any }           as in AIP-160, OR binds more tightly than AND
//   any        = term { "OR" term }
//   term       = [ "NOT" | "-" ] ( "(" all ")" | comparison )
//   comparison = field [ "." key ] ( "=" | "!=" | "<" | "<=" | ">" | ">=" | ":" ) value
//   value      = a text in single or double quotes, in which \ goes before quotes and itself, or without them up to a space,
//                a parenthesis or one of = < > !
//
// `a != b` is NOT a = b. What is absent fulfils no other comparison; a text that is absent is the empty one. `field:*` says
// that the field is not absent, `labels:key` that there is a label of that key; any other ':' is a '='. A text is read once,
// against the fields of the resource, and has then a meaning in which nothing can fail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace mercer::server {

inline constexpr size_t kMaxFilterBytes = 4096;
inline constexpr int kMaxFilterDepth = 20;  // parentheses within parentheses
inline constexpr int kMaxComparisons = 64;

// What a value says to the store: a text, a number, or both. Times are microseconds since 1970, UTC.
struct FilterValue {
  std::string text;
  int64_t number = 0;

  friend bool operator==(const FilterValue&, const FilterValue&) = default;
};

// A field that filters may name.
struct ListField {
  enum class Kind : uint8_t {
    kText,    // every comparison
    kNumber,  // every comparison; never absent
    kTime,    // every comparison
    kWord,    // one of a few; = and !=; never absent
    kName,    // of a resource; = and !=
    kNames,   // several; `names = name`: one of them is
    kLabels,  // with a key; = and !=
  };

  std::string_view name;
  Kind kind = Kind::kText;
  // What a text means, or an error that says what it must be. None: of times and numbers what they are, else itself.
  absl::StatusOr<FilterValue> (*read)(std::string_view text) = nullptr;
};

enum class Comparison : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kPresent,
};
// "=", "!=", ...; ":" for kPresent.
std::string_view SymbolOf(Comparison comparison);

struct FilterNode {
  enum class Kind : uint8_t { kAll, kAny, kNot, kComparison };

  Kind kind = Kind::kComparison;
  std::vector<FilterNode> children;  // kAll, kAny: at least one; kNot: one
  // kComparison alone:
  std::string field;
  std::string key;  // of a label
  Comparison comparison = Comparison::kEqual;
  std::string text;   // as it was written, without quotes
  FilterValue value;  // what it means

  friend bool operator==(const FilterNode&, const FilterNode&) = default;
};

// Errors: kInvalidArgument (reason BAD_FILTER, metadata "character", from 1; a violation of the field `filter`).
absl::StatusOr<FilterNode> ParseFilter(std::string_view text, absl::Span<const ListField> fields);

// A text that is read as the same tree.
std::string PrintFilter(const FilterNode& node);

struct ListOrder {
  enum class Key : uint8_t {
    kDefault,
    kCreateTime,
    kName,
    kUpdateTime,
    kEndTime,
    kPriority,
    kSizeBytes,
    kRows,
  };

  Key key = Key::kDefault;
  bool descending = false;

  friend bool operator==(const ListOrder&, const ListOrder&) = default;
};

// One of `keys` by the name of its field, as "create_time", with " desc" or " asc" behind it; empty: the list's own order. Errors:
// kInvalidArgument (reason BAD_ORDER_BY; a violation of the field `order_by`).
absl::StatusOr<ListOrder> ParseListOrder(std::string_view text,
                                         absl::Span<const ListOrder::Key> keys);

// What a list shows beside its typed conditions.
struct ListQuery {
  std::optional<FilterNode> filter;
  ListOrder order = {};
  // One read looks at so many rows. A page that ends for that is shorter than was asked for, and has a token.
  int rows_at_once = 5000;

  bool IsDefault() const { return !filter.has_value() && order == ListOrder{}; }
};

// Tells the query from others, for page tokens; empty when it is the default.
std::string DescribeListQuery(const ListQuery& query);

}  // namespace mercer::server
