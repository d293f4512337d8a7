#include "server/storage/list_filter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

#include "core/base/status/errors.h"
#include "core/base/status/shorten.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

using Kind = ListField::Kind;

// In the order in which a text is compared with them: "<=" is not "<". A ':' that asks for no presence is a '='.
constexpr std::pair<std::string_view, Comparison> kComparisons[] = {
    {"!=", Comparison::kNotEqual},
    {"<=", Comparison::kLessOrEqual},
    {">=", Comparison::kGreaterOrEqual},
    {"=", Comparison::kEqual},
    {"<", Comparison::kLess},
    {">", Comparison::kGreater},
    {":", Comparison::kPresent},
};

// Of the keys of orders, by their numbers.
constexpr std::string_view kKeyNames[] = {"",         "create_time", "name",       "update_time",
                                          "end_time", "priority",    "size_bytes", "rows"};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool EndsValue(char c) {
  return IsSpace(c) || std::string_view("()=<>!\"'").find(c) != std::string_view::npos;
}

absl::Status BadFilter(std::string description, const ErrorMetadata& metadata = {}) {
  FieldViolations violations;
  violations.Add("filter", std::move(description));
  return WithReason(violations.ToStatus(), "BAD_FILTER", metadata);
}

bool IsKeyword(std::string_view word) { return word == "AND" || word == "OR" || word == "NOT"; }

bool IsOrdered(Kind kind) {
  return kind == Kind::kText || kind == Kind::kNumber || kind == Kind::kTime;
}

bool MayBeAbsent(Kind kind) { return kind != Kind::kNumber && kind != Kind::kWord; }

absl::StatusOr<FilterValue> ReadTime(std::string_view text) {
  absl::Time time;
  std::string error;
  const bool valid = absl::ParseTime(absl::RFC3339_full,
                                     absl::string_view(text.data(), text.size()), &time, &error) &&
                     time != absl::InfiniteFuture() && time != absl::InfinitePast();
  if (!valid) {
    return absl::InvalidArgumentError("must be a time as 2026-01-31T12:00:00Z");
  }
  if (absl::FromUnixMicros(absl::ToUnixMicros(time)) != time) {
    return absl::InvalidArgumentError("must be a time in whole microseconds, with a usual year");
  }
  return FilterValue{"", absl::ToUnixMicros(time)};
}

absl::StatusOr<FilterValue> ReadNumber(std::string_view text) {
  FilterValue value;
  if (!absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &value.number)) {
    return absl::InvalidArgumentError("must be a whole number");
  }
  return value;
}

absl::StatusOr<FilterValue> ReadValue(const ListField& field, std::string_view text) {
  if (field.read != nullptr) {
    return field.read(text);
  }
  switch (field.kind) {
    case Kind::kTime:
      return ReadTime(text);
    case Kind::kNumber:
      return ReadNumber(text);
    default:
      return FilterValue{std::string(text), 0};
  }
}

// A text as it stands in a filter.
struct Token {
  std::string text;
  size_t begin = 0;
  bool quoted = false;
};

// Reads by descent; each pair of parentheses is one call deeper.
class FilterParser {
 public:
  FilterParser(std::string_view text, absl::Span<const ListField> fields)
      : text_(text), fields_(fields) {}

  absl::StatusOr<FilterNode> Parse() {
    MERCER_ASSIGN_OR_RETURN(FilterNode node, ParseAll(0));
    if (!AtEnd()) {
      return Error(position_, text_[position_] == ')' ? "')' closes nothing"
                                                      : "must be AND or OR, in capitals, or the "
                                                        "end");
    }
    return node;
  }

 private:
  absl::Status Error(size_t position, std::string_view what) const {
    // Characters, not bytes: those that go on with one are not counted.
    const std::string_view before = text_.substr(0, position);
    const auto character = 1 + std::count_if(before.begin(), before.end(), [](char c) {
                             return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
                           });
    const std::string_view rest = text_.substr(std::min(position, text_.size()));
    const std::string where = rest.empty() ? "at the end"
                                           : absl::StrCat("at character ", character, ", '",
                                                          Shorten(rest, kQuotedBytes), "'");
    return BadFilter(absl::StrCat(where, ": ", std::string(what)),
                     {{"character", absl::StrCat(character)}});
  }

  void SkipSpace() {
    while (position_ < text_.size() && IsSpace(text_[position_])) {
      ++position_;
    }
  }

  bool AtEnd() {
    SkipSpace();
    return position_ == text_.size();
  }

  bool NextIs(char c) const { return position_ < text_.size() && text_[position_] == c; }

  std::string_view Word() const {
    size_t end = position_;
    while (end < text_.size() && IsWordCharacter(text_[end])) {
      ++end;
    }
    return text_.substr(position_, end - position_);
  }

  // Steps over the word if it comes next.
  bool Consume(std::string_view keyword) {
    SkipSpace();
    if (Word() != keyword) {
      return false;
    }
    position_ += keyword.size();
    return true;
  }

  absl::StatusOr<FilterNode> ParseAll(int depth) {
    return ParseJoined(FilterNode::Kind::kAll, "AND", depth, &FilterParser::ParseAny);
  }

  absl::StatusOr<FilterNode> ParseAny(int depth) {
    return ParseJoined(FilterNode::Kind::kAny, "OR", depth, &FilterParser::ParseTerm);
  }

  absl::StatusOr<FilterNode> ParseJoined(FilterNode::Kind kind, std::string_view keyword, int depth,
                                         absl::StatusOr<FilterNode> (FilterParser::*part)(int)) {
    FilterNode node;
    node.kind = kind;
    do {
      MERCER_ASSIGN_OR_RETURN(FilterNode next, (this->*part)(depth));
      node.children.push_back(std::move(next));
    } while (Consume(keyword));
    return node.children.size() == 1 ? FilterNode(std::move(node.children.front()))
                                     : std::move(node);
  }

  absl::StatusOr<FilterNode> ParseTerm(int depth) {
    bool negated = Consume("NOT");
    if (!negated && NextIs('-')) {
      negated = true;
      ++position_;
    } else {
      SkipSpace();
    }
    MERCER_ASSIGN_OR_RETURN(FilterNode inner, ParseSimple(depth));
    if (!negated) {
      return inner;
    }
    FilterNode node;
    node.kind = FilterNode::Kind::kNot;
    node.children.push_back(std::move(inner));
    return node;
  }

  absl::StatusOr<FilterNode> ParseSimple(int depth) {
    if (!NextIs('(')) {
      return ParseComparison();
    }
    const size_t begin = position_++;
    if (depth == kMaxFilterDepth) {
      return Error(begin, absl::StrCat("more than ", kMaxFilterDepth,
                                       " parentheses are within one another"));
    }
    MERCER_ASSIGN_OR_RETURN(FilterNode node, ParseAll(depth + 1));
    SkipSpace();
    if (!NextIs(')')) {
      return Error(position_, "must be AND or OR, in capitals, or ')'");
    }
    ++position_;
    return node;
  }

  absl::StatusOr<Token> ReadQuoted() {
    Token token;
    token.begin = position_;
    token.quoted = true;
    const char quote = text_[position_++];
    while (position_ < text_.size() && text_[position_] != quote) {
      if (text_[position_] == '\\') {
        ++position_;
        if (position_ == text_.size() ||
            std::string_view("\\\"'").find(text_[position_]) == std::string_view::npos) {
          return Error(position_ - 1, "only \\\\, \\\" and \\' may follow \\");
        }
      }
      token.text += text_[position_++];
    }
    if (position_ == text_.size()) {
      return Error(token.begin, "the quote is not closed");
    }
    ++position_;
    return token;
  }

  // A quoted text, or one up to what ends it.
  absl::StatusOr<Token> ReadText(bool (*ends)(char)) {
    if (NextIs('"') || NextIs('\'')) {
      return ReadQuoted();
    }
    Token token;
    token.begin = position_;
    while (position_ < text_.size() && !ends(text_[position_])) {
      token.text += text_[position_++];
    }
    return token;
  }

  absl::StatusOr<const ListField*> ReadField() {
    const std::string_view word = Word();
    for (const ListField& field : fields_) {
      if (field.name == word) {
        position_ += word.size();
        return &field;
      }
    }
    if (word.empty() || IsKeyword(word)) {
      return Error(position_, "must be a field, NOT, - or '('");
    }
    const auto name = [](std::string* out, const ListField& field) {
      out->append(field.name.data(), field.name.size());
    };
    return Error(position_, absl::StrCat("there is no field '", Shorten(word, kQuotedBytes),
                                         "'; there are ", absl::StrJoin(fields_, ", ", name)));
  }

  absl::Status ReadKey(const ListField& field, FilterNode& node) {
    if (!NextIs('.')) {
      return absl::OkStatus();
    }
    if (field.kind != Kind::kLabels) {
      return Error(position_, "only labels have keys");
    }
    ++position_;
    MERCER_ASSIGN_OR_RETURN(Token key, ReadText([](char c) { return EndsValue(c) || c == ':'; }));
    if (key.text.empty()) {
      return Error(key.begin, "the key of the label is missing");
    }
    node.key = std::move(key.text);
    return absl::OkStatus();
  }

  std::optional<Comparison> ReadOperator() {
    SkipSpace();
    for (const auto& [word, comparison] : kComparisons) {
      if (text_.substr(position_, word.size()) == word) {
        position_ += word.size();
        return comparison;
      }
    }
    return std::nullopt;
  }

  absl::StatusOr<FilterNode> ParseComparison() {
    const size_t begin = position_;
    FilterNode node;
    MERCER_ASSIGN_OR_RETURN(const ListField* const field, ReadField());
    node.field = std::string(field->name);
    MERCER_RETURN_IF_ERROR(ReadKey(*field, node));
    const std::optional<Comparison> comparison = ReadOperator();
    if (!comparison.has_value()) {
      return Error(position_, absl::StrCat("a comparison with '", node.field,
                                           "' needs =, !=, <, <=, >, >= or :"));
    }
    const bool has = *comparison == Comparison::kPresent;
    node.comparison = has ? Comparison::kEqual : *comparison;
    SkipSpace();
    MERCER_ASSIGN_OR_RETURN(Token value, ReadText(EndsValue));
    if (!value.quoted && (value.text.empty() || IsKeyword(value.text))) {
      return Error(value.begin, value.text.empty() ? "the value is missing"
                                                   : "the value is missing; quote the word if it "
                                                     "is meant");
    }
    MERCER_RETURN_IF_ERROR(Complete(*field, has, std::move(value), node));
    if (++comparisons_ > kMaxComparisons) {
      return Error(begin, absl::StrCat("there are more than ", kMaxComparisons, " comparisons"));
    }
    return node;
  }

  // Gives the comparison its value.
  absl::Status Complete(const ListField& field, bool has, Token value, FilterNode& node) const {
    const bool star = !value.quoted && value.text == "*";
    if (field.kind == Kind::kLabels && node.key.empty()) {
      if (!has || star || value.text.empty()) {
        return Error(value.begin, "say labels.key = value, or labels:key for the key alone");
      }
      node.key = std::move(value.text);
      node.comparison = Comparison::kPresent;
      return absl::OkStatus();
    }
    if (has && star) {
      node.comparison = Comparison::kPresent;
      return MayBeAbsent(field.kind)
                 ? absl::OkStatus()
                 : Error(value.begin, absl::StrCat("'", node.field, "' is never absent"));
    }
    if (!value.quoted && value.text.find('*') != std::string::npos) {
      return Error(value.begin, "there are no wildcards; quote a text with '*'");
    }
    if (node.comparison != Comparison::kEqual && node.comparison != Comparison::kNotEqual &&
        !IsOrdered(field.kind)) {
      return Error(value.begin, absl::StrCat("'", node.field, "' has no order: only =, != and :"));
    }
    absl::StatusOr<FilterValue> meaning = ReadValue(field, value.text);
    if (!meaning.ok()) {
      return Error(value.begin,
                   absl::StrCat("'", node.field, "' ", std::string(meaning.status().message())));
    }
    node.value = *std::move(meaning);
    node.text = std::move(value.text);
    return absl::OkStatus();
  }

  std::string_view text_;
  absl::Span<const ListField> fields_;
  size_t position_ = 0;
  int comparisons_ = 0;
};

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\\\""}, {"\\", "\\\\"}}), "\"");
}

std::string PrintComparison(const FilterNode& node) {
  const bool present = node.comparison == Comparison::kPresent;
  return absl::StrCat(node.field, node.key.empty() ? "" : absl::StrCat(".", Quoted(node.key)),
                      present ? "" : " ", std::string(SymbolOf(node.comparison)),
                      present ? "*" : " " + Quoted(node.text));
}

// With parentheses where they were needed to write the child there, and nowhere else: no text becomes deeper.
std::string PrintChild(FilterNode::Kind parent, const FilterNode& node) {
  const bool plain = node.kind == FilterNode::Kind::kComparison ||
                     (node.kind == FilterNode::Kind::kNot && parent != FilterNode::Kind::kNot) ||
                     (node.kind == FilterNode::Kind::kAny && parent == FilterNode::Kind::kAll);
  return plain ? PrintFilter(node) : absl::StrCat("(", PrintFilter(node), ")");
}

}  // namespace

std::string_view SymbolOf(Comparison comparison) {
  return std::find_if(std::begin(kComparisons), std::end(kComparisons),
                      [&](const auto& known) { return known.second == comparison; })
      ->first;
}

absl::StatusOr<FilterNode> ParseFilter(std::string_view text, absl::Span<const ListField> fields) {
  if (text.size() > kMaxFilterBytes) {
    return BadFilter(
        absl::StrCat("must be at most ", kMaxFilterBytes, " bytes, are ", text.size()));
  }
  return FilterParser(text, fields).Parse();
}

std::string PrintFilter(const FilterNode& node) {
  const auto print = [&node](std::string* out, const FilterNode& child) {
    out->append(PrintChild(node.kind, child));
  };
  switch (node.kind) {
    case FilterNode::Kind::kAll:
      return absl::StrJoin(node.children, " AND ", print);
    case FilterNode::Kind::kAny:
      return absl::StrJoin(node.children, " OR ", print);
    case FilterNode::Kind::kNot:
      return absl::StrCat("NOT ", PrintChild(node.kind, node.children.front()));
    case FilterNode::Kind::kComparison:
      return PrintComparison(node);
  }
  return "";
}

absl::StatusOr<ListOrder> ParseListOrder(std::string_view text,
                                         absl::Span<const ListOrder::Key> keys) {
  const std::vector<std::string> words = absl::StrSplit(absl::string_view(text.data(), text.size()),
                                                        absl::ByAnyChar(" \t"), absl::SkipEmpty());
  ListOrder order;
  if (words.empty()) {
    return order;
  }
  std::vector<std::string> names;
  for (const ListOrder::Key key : keys) {
    names.emplace_back(kKeyNames[static_cast<size_t>(key)]);
    order.key = words[0] == names.back() ? key : order.key;
  }
  order.descending = words.size() > 1 && words[1] == "desc";
  const bool valid =
      order.key != ListOrder::Key::kDefault &&
      (words.size() == 1 || (words.size() == 2 && (order.descending || words[1] == "asc")));
  if (!valid) {
    FieldViolations violations;
    violations.Add("order_by", absl::StrCat("must be one of ", absl::StrJoin(names, ", "),
                                            ", with ' desc' behind it for the other direction, "
                                            "is '",
                                            Shorten(text, kQuotedBytes), "'"));
    return WithReason(violations.ToStatus(), "BAD_ORDER_BY");
  }
  return order;
}

std::string DescribeListQuery(const ListQuery& query) {
  std::string description;
  if (query.filter.has_value()) {
    absl::StrAppend(&description, "|filter=", PrintFilter(*query.filter));
  }
  if (!(query.order == ListOrder{})) {
    absl::StrAppend(&description, "|order=", static_cast<int>(query.order.key),
                    query.order.descending ? "-" : "+");
  }
  return description;
}

}  // namespace mercer::server
