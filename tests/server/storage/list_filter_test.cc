#include "server/storage/list_filter.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include <gmock/gmock.h>

#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<FilterValue> ReadColour(std::string_view text) {
  if (text == "RED" || text == "BLUE") {
    return FilterValue{"", text == "RED" ? 1 : 2};
  }
  return absl::InvalidArgumentError("must be RED or BLUE");
}

absl::StatusOr<FilterValue> ReadThing(std::string_view text) {
  if (text.substr(0, 7) != "things/") {
    return absl::InvalidArgumentError("must be of the form things/{id}");
  }
  return FilterValue{std::string(text.substr(7)), 0};
}

const std::vector<ListField>& Fields() {
  using Kind = ListField::Kind;
  static const std::vector<ListField> fields = {{"title", Kind::kText},
                                                {"size", Kind::kNumber},
                                                {"time", Kind::kTime},
                                                {"colour", Kind::kWord, ReadColour},
                                                {"thing", Kind::kName, ReadThing},
                                                {"parts", Kind::kNames, ReadThing},
                                                {"labels", Kind::kLabels}};
  return fields;
}

std::string Canonical(std::string_view text) {
  const absl::StatusOr<FilterNode> node = ParseFilter(text, Fields());
  return node.ok() ? PrintFilter(*node) : std::string(node.status().message());
}

TEST(ListFilterTest, ReadsWhatIsMeant) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"title = a", R"(title = "a")"},
      {"  title=a\t", R"(title = "a")"},
      {"title : a", R"(title = "a")"},
      {R"(title = 'it\'s')", R"(title = "it's")"},
      {R"(title = "say \"hello\" \\")", R"(title = "say \"hello\" \\")"},
      {"title = \"\"", R"(title = "")"},
      {"title = \"*\"", R"(title = "*")"},
      {"title:*", "title:*"},
      {"title = größer", "title = \"größer\""},
      {"size >= -5", R"(size >= "-5")"},
      {"size<5 AND size>1", R"(size < "5" AND size > "1")"},
      {"time < 2026-01-31T12:00:00.25+01:00", R"(time < "2026-01-31T12:00:00.25+01:00")"},
      {"time:*", "time:*"},
      {"colour != RED", R"(colour != "RED")"},
      {"thing = things/a-1", R"(thing = "things/a-1")"},
      {"parts:things/b", R"(parts = "things/b")"},
      {"labels.team:vision", R"(labels."team" = "vision")"},
      {"labels.path.value = 1", R"(labels."path.value" = "1")"},
      {R"(labels."odd key" != "v w")", R"(labels."odd key" != "v w")"},
      {"labels:team", R"(labels."team":*)"},
      {"labels.team:*", R"(labels."team":*)"},
      {"labels:\"*\"", R"(labels."*":*)"},
      // OR binds more tightly than AND.
      {"size=1 OR size=2 AND size=3", R"(size = "1" OR size = "2" AND size = "3")"},
      {"(size=1 OR size=2) AND size=3", R"(size = "1" OR size = "2" AND size = "3")"},
      {"size=1 OR (size=2 AND size=3)", R"(size = "1" OR (size = "2" AND size = "3"))"},
      {"NOT size=1 AND size=2", R"(NOT size = "1" AND size = "2")"},
      {"-labels.team:vision", R"(NOT labels."team" = "vision")"},
      {"NOT(size=1)", R"(NOT size = "1")"},
      {"NOT (size=1 AND size=2)", R"(NOT (size = "1" AND size = "2"))"},
      {"-(NOT size=1)", R"(NOT (NOT size = "1"))"},
      {"((((size=1))))", R"(size = "1")"},
      {"title=NOTHING AND\ntitle=ANDES", R"(title = "NOTHING" AND title = "ANDES")"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(Canonical(text), expected) << text;
  }
}

TEST(ListFilterTest, SaysWhatIsWrongAndWhere) {
  std::string deep = "size=1";
  std::string many = "size=1";
  for (int i = 0; i <= kMaxFilterDepth; ++i) {
    deep = absl::StrCat("(", deep, ")");
  }
  for (int i = 0; i < kMaxComparisons; ++i) {
    absl::StrAppend(&many, " OR size=1");
  }
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "at the end: must be a field, NOT, - or '('"},
      {"   ", "at the end: must be a field"},
      {"weight = 1",
       "at character 1, 'weight = 1': there is no field 'weight'; there are title, "
       "size, time, colour, thing, parts, labels"},
      {"Size = 1", "there is no field 'Size'"},
      {"title", "at the end: a comparison with 'title' needs ="},
      {"title a", "at character 7, 'a': a comparison with 'title' needs ="},
      {"title =", "at the end: the value is missing"},
      {"title = AND", "at character 9, 'AND': the value is missing; quote the word"},
      {"title == a", "at character 8, '= a': the value is missing"},
      {"title = 'it''s'", "at character 13, ''s'': must be AND or OR, in capitals, or the end"},
      {"title = a b", "at character 11, 'b': must be AND or OR, in capitals, or the end"},
      {"title = a and title = b",
       "at character 11, 'and title = b': must be AND or OR, in capitals"},
      {"title = é ?", "at character 11, '?'"},
      {"title = a AND", "at the end: must be a field"},
      {"OR title = a", "at character 1, 'OR title = a': must be a field"},
      {"NOT NOT title = a", "at character 5, 'NOT title = a': must be a field"},
      {"- title = a", "at character 2, ' title = a': must be a field"},
      {"(title = a", "at the end: must be AND or OR, in capitals, or ')'"},
      {"title = a)", "at character 10, ')': ')' closes nothing"},
      {"()", "at character 2, ')': must be a field"},
      {"title = 'a", "at character 9, ''a': the quote is not closed"},
      {R"(title = "\n")", "at character 10, '\\n\"': only \\\\, \\\" and \\' may follow \\"},
      {"title = a*", "at character 9, 'a*': there are no wildcards"},
      {"title = *", "there are no wildcards"},
      {"title.x = a", "at character 6, '.x = a': only labels have keys"},
      {"size = large", "at character 8, 'large': 'size' must be a whole number"},
      {"size = 99999999999999999999", "'size' must be a whole number"},
      {"size:*", "'size' is never absent"},
      {"time < yesterday",
       "at character 8, 'yesterday': 'time' must be a time as 2026-01-31T12:00:00Z"},
      {"time < 2026-01-31", "must be a time as"},
      {"time < infinite-future", "must be a time as"},
      {"time < 2026-01-31T12:00:00.1234567Z", "must be a time in whole microseconds"},
      {"colour = GREEN", "at character 10, 'GREEN': 'colour' must be RED or BLUE"},
      {"colour < RED", "'colour' has no order: only =, != and :"},
      {"thing = a", "'thing' must be of the form things/{id}"},
      {"thing >= things/a", "'thing' has no order"},
      {"labels = a", "say labels.key = value, or labels:key"},
      {"labels:*", "say labels.key = value, or labels:key"},
      {"labels. = a", "at character 8, ' = a': the key of the label is missing"},
      {"labels.a < b", "'labels' has no order"},
      {deep, "more than 20 parentheses are within one another"},
      {many, "there are more than 64 comparisons"},
      {std::string(kMaxFilterBytes + 1, ' '), "must be at most 4096 bytes, are 4097"},
  };
  for (const auto& [text, expected] : cases) {
    const absl::Status status = ParseFilter(text, Fields()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(GetReason(status), "BAD_FILTER") << text;
    ASSERT_EQ(GetFieldViolations(status).size(), 1U) << text;
    EXPECT_EQ(GetFieldViolations(status)[0].field, "filter");
    EXPECT_THAT(GetFieldViolations(status)[0].description, HasSubstr(expected)) << text;
  }
  EXPECT_EQ(GetErrorMetadata(ParseFilter("title = é ?", Fields()).status()),
            (ErrorMetadata{{"character", "11"}}));
}

TEST(ListFilterTest, ValuesMeanWhatTheFieldSays) {
  const auto value = [](std::string_view text) {
    return ParseFilter(text, Fields()).value_or(FilterNode()).value;
  };
  EXPECT_EQ(value("colour = BLUE"), (FilterValue{"", 2}));
  EXPECT_EQ(value("size = -3"), (FilterValue{"", -3}));
  EXPECT_EQ(value("thing = things/x"), (FilterValue{"x", 0}));
  EXPECT_EQ(value("time > 1970-01-01T00:00:01.000002Z"), (FilterValue{"", 1'000'002}));
  EXPECT_EQ(value("time > 1970-01-01T01:00:01+01:00"), (FilterValue{"", 1'000'000}));
}

class RandomTree {
 public:
  explicit RandomTree(uint64_t seed) : random_(seed, "filters") {}

  FilterNode Draw(int depth) {
    FilterNode node;
    const uint64_t kind = depth == 0 ? 3 : random_.Below(4);
    node.kind = static_cast<FilterNode::Kind>(kind);
    if (node.kind == FilterNode::Kind::kComparison) {
      return Compare();
    }
    const uint64_t children = node.kind == FilterNode::Kind::kNot ? 1 : 2 + random_.Below(2);
    for (uint64_t i = 0; i < children; ++i) {
      node.children.push_back(Draw(depth - 1));
    }
    return node;
  }

 private:
  std::string Text() {
    static const std::vector<std::string> pieces = {"a", " ", "\"", "'", "\\", "*", "AND",
                                                    "(", ")", "=",  ":", "\n", "é", "NOT"};
    std::string text;
    for (uint64_t i = random_.Below(5); i > 0; --i) {
      text += pieces[random_.Below(pieces.size())];
    }
    return text;
  }

  FilterNode Compare() {
    const ListField& field = Fields()[random_.Below(Fields().size())];
    const bool ordered = field.kind == ListField::Kind::kText ||
                         field.kind == ListField::Kind::kNumber ||
                         field.kind == ListField::Kind::kTime;
    const bool total =
        field.kind == ListField::Kind::kNumber || field.kind == ListField::Kind::kWord;
    FilterNode node;
    node.field = std::string(field.name);
    node.key = field.kind == ListField::Kind::kLabels ? Text() + "k" : "";
    if (!total && random_.Below(4) == 0) {
      node.comparison = Comparison::kPresent;
      return node;
    }
    node.comparison = static_cast<Comparison>(random_.Below(ordered ? 6 : 2));
    const auto number = static_cast<int64_t>(random_.Below(2'000'000'000'000'000));
    switch (field.kind) {
      case ListField::Kind::kNumber:
        node.value.number = number - 1'000'000'000'000'000;
        node.text = absl::StrCat(node.value.number);
        break;
      case ListField::Kind::kTime:
        node.value.number = number;
        node.text =
            absl::FormatTime(absl::RFC3339_full, absl::FromUnixMicros(number), absl::UTCTimeZone());
        break;
      case ListField::Kind::kWord:
        node.text = random_.Below(2) == 0 ? "RED" : "BLUE";
        node.value = *ReadColour(node.text);
        break;
      case ListField::Kind::kName:
      case ListField::Kind::kNames:
        node.text = "things/" + Text();
        node.value = *ReadThing(node.text);
        break;
      default:
        node.text = Text();
        node.value.text = node.text;
    }
    return node;
  }

  RandomStream random_;
};

TEST(ListFilterTest, WhatIsPrintedIsReadAsTheSameTree) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const FilterNode tree = RandomTree(seed).Draw(3);
    const std::string text = PrintFilter(tree);
    const absl::StatusOr<FilterNode> again = ParseFilter(text, Fields());
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << text << ": " << again.status();
    EXPECT_EQ(*again, tree) << "seed " << seed << ": " << text;
    EXPECT_EQ(PrintFilter(*again), text) << "seed " << seed;
  }
}

TEST(ListFilterTest, PrintingMakesNoTextDeeper) {
  std::string text = "size=1";
  for (int i = 0; i < kMaxFilterDepth; ++i) {
    text = absl::StrCat("NOT (size=1 OR size=2 AND ", text, ")");
  }
  EXPECT_TRUE(ParseFilter(Canonical(text), Fields()).ok()) << Canonical(text);
}

TEST(ListFilterTest, ReadsOrders) {
  using Key = ListOrder::Key;
  const auto order = [](std::string_view text) {
    return ParseListOrder(text, {{Key::kCreateTime, Key::kName, Key::kSizeBytes}});
  };
  EXPECT_EQ(*order(""), (ListOrder{Key::kDefault, false}));
  EXPECT_EQ(*order("create_time"), (ListOrder{Key::kCreateTime, false}));
  EXPECT_EQ(*order("create_time asc"), (ListOrder{Key::kCreateTime, false}));
  EXPECT_EQ(*order(" create_time   desc "), (ListOrder{Key::kCreateTime, true}));
  EXPECT_EQ(*order("name desc"), (ListOrder{Key::kName, true}));
  EXPECT_EQ(*order("size_bytes desc"), (ListOrder{Key::kSizeBytes, true}));
  for (const char* bad : {"size", "rows", "priority desc", "desc", "name down", "name desc desc",
                          "name,create_time", "create_time DESC", "-name"}) {
    const absl::Status status = order(bad).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_EQ(GetReason(status), "BAD_ORDER_BY") << bad;
    ASSERT_EQ(GetFieldViolations(status).size(), 1U) << bad;
    EXPECT_EQ(GetFieldViolations(status)[0].field, "order_by");
    EXPECT_THAT(GetFieldViolations(status)[0].description,
                HasSubstr("must be one of create_time, name, size_bytes, with ' desc'"));
  }
}

TEST(ListFilterTest, DescribesWhatTellsQueriesApart) {
  const auto describe = [](std::string_view filter, std::string_view order) {
    ListQuery query;
    if (!filter.empty()) {
      query.filter = *ParseFilter(filter, Fields());
    }
    query.order = *ParseListOrder(
        order, {{ListOrder::Key::kCreateTime, ListOrder::Key::kName, ListOrder::Key::kRows}});
    return DescribeListQuery(query);
  };
  EXPECT_EQ(describe("", ""), "");
  EXPECT_EQ(describe("size=1", ""), describe("( size = 1 )", ""));
  EXPECT_NE(describe("size=1", ""), describe("size=2", ""));
  EXPECT_NE(describe("", "name"), describe("", "name desc"));
  EXPECT_NE(describe("", "name"), describe("", "create_time"));
  EXPECT_NE(describe("", "name"), describe("", "rows"));
}

}  // namespace
}  // namespace mercer::server
