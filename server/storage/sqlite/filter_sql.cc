#include "server/storage/sqlite/filter_sql.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// Behind every name: names are of lower-case letters, digits, '-' and '_'.
constexpr char kBehindNames[] = "~";

int Depth(const FilterNode& node) {
  int deepest = 0;
  for (const FilterNode& child : node.children) {
    deepest = std::max(deepest, Depth(child));
  }
  return deepest + 1;
}

class FilterTranslator {
 public:
  explicit FilterTranslator(absl::Span<const FieldSql> fields) : fields_(fields) {}

  absl::Status Add(const FilterNode& node) {
    switch (node.kind) {
      case FilterNode::Kind::kAll:
        return AddJoined(node, " AND ", "1");
      case FilterNode::Kind::kAny:
        return AddJoined(node, " OR ", "0");
      case FilterNode::Kind::kNot:
        condition_.sql += "NOT ";
        return Add(node.children.front());
      case FilterNode::Kind::kComparison:
        return AddComparison(node);
    }
    return absl::InternalError("a filter of an unknown kind");
  }

  FilterCondition Take() { return std::move(condition_); }

 private:
  // The deepest child comes first: what stands before a nested one waits on the stack of SQLite's parser, which has room for 100.
  absl::Status AddJoined(const FilterNode& node, std::string_view word, std::string_view none) {
    std::vector<std::pair<int, const FilterNode*>> children;
    for (const FilterNode& child : node.children) {
      children.emplace_back(-Depth(child), &child);
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    condition_.sql += "(";
    std::string_view before = "";
    for (const auto& [depth, child] : children) {
      condition_.sql += before;
      MERCER_RETURN_IF_ERROR(Add(*child));
      before = word;
    }
    condition_.sql += node.children.empty() ? none : "";
    condition_.sql += ")";
    return absl::OkStatus();
  }

  absl::Status AddComparison(const FilterNode& node) {
    const auto* const found =
        std::find_if(fields_.begin(), fields_.end(),
                     [&](const FieldSql& sql) { return sql.field == node.field; });
    if (found == fields_.end()) {
      return absl::InternalError(absl::StrCat("database: no column for the field ", node.field));
    }
    if (node.comparison == Comparison::kPresent) {
      AddPresence(*found, node);
      return absl::OkStatus();
    }
    condition_.sql += node.comparison == Comparison::kNotEqual ? "(NOT " : "(";
    if (found->column.empty()) {
      absl::StrAppend(&condition_.sql, "(", std::string(found->equal), ")");
    } else {
      // NULL is absent.
      absl::StrAppend(&condition_.sql, "IFNULL(", std::string(found->column),
                      OperatorOf(node.comparison), "?, 0)");
    }
    condition_.sql += ")";
    AddValues(*found, node);
    return absl::OkStatus();
  }

  void AddPresence(const FieldSql& field, const FilterNode& node) {
    if (field.column.empty()) {
      absl::StrAppend(&condition_.sql, "(", std::string(field.present), ")");
    } else {
      absl::StrAppend(&condition_.sql, "(IFNULL(", std::string(field.column), ", '') <> '')");
    }
    if (field.values == FieldSql::Values::kKeyAndText) {
      condition_.parameters.emplace_back(node.key);
    }
  }

  void AddValues(const FieldSql& field, const FilterNode& node) {
    switch (field.values) {
      case FieldSql::Values::kText:
        condition_.parameters.emplace_back(node.value.text);
        return;
      case FieldSql::Values::kNumber:
        condition_.parameters.emplace_back(node.value.number);
        return;
      case FieldSql::Values::kTextAndNumber:
        condition_.parameters.emplace_back(node.value.text);
        condition_.parameters.emplace_back(node.value.number);
        return;
      case FieldSql::Values::kKeyAndText:
        condition_.parameters.emplace_back(node.key);
        condition_.parameters.emplace_back(node.value.text);
        return;
    }
  }

  static const char* OperatorOf(Comparison comparison) {
    switch (comparison) {
      case Comparison::kLess:
        return " < ";
      case Comparison::kLessOrEqual:
        return " <= ";
      case Comparison::kGreater:
        return " > ";
      case Comparison::kGreaterOrEqual:
        return " >= ";
      default:
        return " = ";
    }
  }

  absl::Span<const FieldSql> fields_;
  FilterCondition condition_;
};

}  // namespace

FilterNode LabelIs(const std::string& key, const std::string& value) {
  FilterNode node;
  node.field = "labels";
  node.key = key;
  node.value.text = value;
  return node;
}

absl::StatusOr<FilterCondition> TranslateFilter(const FilterNode& filter,
                                                absl::Span<const FieldSql> fields) {
  FilterTranslator translator(fields);
  MERCER_RETURN_IF_ERROR(translator.Add(filter));
  return translator.Take();
}

void BindParameters(const std::vector<FilterParameter>& parameters, Statement& statement) {
  for (const FilterParameter& parameter : parameters) {
    std::visit([&statement](const auto& value) { statement.Bind(value); }, parameter);
  }
}

absl::StatusOr<FoundRows> FindRows(Statement& select, int limit, int max_rows) {
  FoundRows found;
  std::string last;
  for (int rows = 0;; ++rows) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return found;
    }
    const bool passes = select.Int64(2) != 0;
    if (rows == max_rows || (passes && static_cast<int>(found.numbers.size()) == limit)) {
      found.next = std::move(last);
      return found;
    }
    if (passes) {
      found.numbers.push_back(select.Int64(0));
    }
    last = select.Bytes(1);
  }
}

absl::StatusOr<FilterParameter> StartByNumber(std::string_view after, bool descending) {
  int64_t number = descending ? std::numeric_limits<int64_t>::max() : 0;
  if (!after.empty() && !absl::SimpleAtoi(absl::string_view(after.data(), after.size()), &number)) {
    return WithReason(absl::InvalidArgumentError("page_token: no number"), "BAD_PAGE_TOKEN");
  }
  return number;
}

absl::StatusOr<FilterParameter> StartByName(std::string_view after, bool descending) {
  return std::string(after.empty() && descending ? std::string_view(kBehindNames) : after);
}

std::string KeyText(const KeyPair& key) {
  return absl::StrCat(std::string(key.first), " || '/' || ", std::string(key.second));
}

std::string BehindPair(const KeyPair& key, bool descending) {
  const std::string first(key.first);
  const std::string second(key.second);
  const char* const order = descending ? " DESC" : "";
  const char* const behind = descending ? " < ?" : " > ?";
  return absl::StrCat(first, descending ? " <= ?" : " >= ?", " AND (", first, behind, " OR ",
                      second, behind, ") ORDER BY ", first, order, ", ", second, order);
}

absl::StatusOr<std::vector<FilterParameter>> StartByPair(const KeyPair& key, std::string_view after,
                                                         bool descending) {
  const size_t slash = std::min(after.rfind('/'), after.size());
  const std::string_view first = after.substr(0, slash);
  const std::string_view second = after.substr(std::min(slash + 1, after.size()));
  MERCER_ASSIGN_OR_RETURN(const FilterParameter start, key.is_name
                                                           ? StartByName(first, descending)
                                                           : StartByNumber(first, descending));
  MERCER_ASSIGN_OR_RETURN(const FilterParameter number, StartByNumber(second, descending));
  return std::vector<FilterParameter>{start, start, number};
}

}  // namespace mercer::server
