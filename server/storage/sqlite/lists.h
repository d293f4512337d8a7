// Lists: filters as SQL, walks along an index, pages. The texts are made of constants of this program alone, every value of a
// request is a parameter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/status/status_macros.h"
#include "server/storage/list_filter.h"
#include "server/storage/page_token.h"
#include "server/storage/records.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// Where a field is in the tables.
struct FieldSql {
  enum class Kind : uint8_t {
    kText,     // `sql` is a column; present when neither NULL nor empty
    kNumber,   // the same
    kNames,    // those of the rows "table WHERE condition"; `part` is the name of one
    kLabels,   // those of the rows "table WHERE condition"
    kVersion,  // `sql` is the column of the model's name, `part` of the version, 0 or NULL for none
  };

  std::string_view field;
  Kind kind = Kind::kText;
  std::string_view sql = "";
  std::string_view part = "";
};

// What a list's typed conditions are as a filter: a comparison that is an equality.
FilterNode FieldIs(std::string_view field, FilterValue value);
// The query's filter and the labels as one, whose children are all to hold.
FilterNode WholeFilter(const ListQuery& query, const Labels& labels = {});

// Tells the labels from others, for page tokens.
std::string DescribeLabels(const Labels& labels);

// What tells all rows apart and orders them: a column, or two of which the second is a number.
struct ListKey {
  std::string_view first;
  std::string_view second = "";
  bool is_name = false;  // the first one; else a number
};

// A walk in the order of the list. An index should give it for each of `parts`, which are merged.
struct ListWalk {
  std::string_view number;  // the column of the rows' numbers
  ListKey key;
  bool descending = false;
  std::string_view shown = "1";  // what holds for the rows that lists have
  // "table WHERE condition AND ", or without a condition, and its parameters.
  std::vector<std::pair<std::string, SqlValues>> parts = {};
};

struct FoundRows {
  std::vector<int64_t> numbers;
  std::string next;  // the key to go on behind; empty: there are no more
};

// The numbers of the first `limit` rows that pass, behind the key `after` (empty: from the start), or of fewer, because
// `max_rows` were looked at. Errors: kInvalidArgument (`after`; reason BAD_PAGE_TOKEN), kInternal (a field that is not in
// `fields`).
absl::StatusOr<FoundRows> FindRows(Connection& connection, const ListWalk& walk,
                                   const FilterNode& filter, absl::Span<const FieldSql> fields,
                                   std::string_view after, int limit, int max_rows);

// One page of the list that `query` names. find(after, limit) answers FoundRows, read(number) the record of a row,
// or none when it was deleted since.
template <typename Record, typename Find, typename Read>
absl::StatusOr<Page<Record>> ReadPage(const PageRequest& request, const std::string& query,
                                      const Find& find, const Read& read) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(request));
  MERCER_ASSIGN_OR_RETURN(const std::string after, ReadPageToken(query, request.token));
  MERCER_ASSIGN_OR_RETURN(const FoundRows found, find(after, size));
  Page<Record> page;
  if (!found.next.empty()) {
    page.next_token = MakePageToken(query, found.next);
  }
  for (const int64_t number : found.numbers) {
    MERCER_ASSIGN_OR_RETURN(std::optional<Record> record, read(number));
    if (record.has_value()) {
      page.items.push_back(*std::move(record));
    }
  }
  return page;
}

}  // namespace mercer::server
