#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <gmock/gmock.h>

#include "core/base/numeric/random.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/migrations.h"
#include "server/storage/sqlite/jobs.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;

constexpr int kPlainJobs = 400;

// A job as the naive evaluation sees it.
struct PlainJob {
  std::map<std::string, std::string> texts;
  std::map<std::string, std::optional<int64_t>> numbers;
  std::string model;
  int64_t version = 0;
  std::vector<std::string> datasets;
  Labels labels;
};

PlainJob MakeJob(int64_t n) {
  RandomStream random(11, "jobs", static_cast<uint64_t>(n));
  const auto below = [&random](int64_t bound) {
    return static_cast<int64_t>(random.Below(static_cast<uint64_t>(bound)));
  };
  PlainJob job;
  job.texts = {{"name", absl::StrCat("j", (n * 7919) % 1000)},
               {"learner", absl::StrCat("learner", below(3))},
               {"owner", below(2) == 0 ? "" : absl::StrCat("o", below(3))}};
  job.numbers["state"] = 1 + below(7);
  job.numbers["priority"] = below(5) - 2;
  job.numbers["create_time"] = n / 3;
  job.numbers["start_time"] = below(3) == 0 ? std::nullopt : std::optional(below(kPlainJobs));
  job.numbers["end_time"] = below(2) == 0 ? std::nullopt : std::optional(below(kPlainJobs));
  job.model = absl::StrCat("m", below(3));
  job.version = below(3);
  for (int64_t i = below(3); i > 0; --i) {
    job.datasets.push_back(absl::StrCat("d", below(3)));
  }
  for (const char* key : {"a", "b"}) {
    if (below(2) == 0) {
      job.labels[key] = absl::StrCat("v", below(3));
    }
  }
  return job;
}

std::string Sql(const std::optional<int64_t>& number) {
  return number.has_value() ? absl::StrCat(*number) : "NULL";
}

void Store(Connection& connection, int64_t n, const PlainJob& job) {
  const auto& text = job.texts;
  const auto& number = job.numbers;
  std::string script = absl::StrCat(
      "INSERT INTO jobs(number, id, state, priority, request_digest, learner, caller, model_name, "
      "model_version, memory_bytes, create_time, start_time, end_time) VALUES (",
      n, ", '", text.at("name"), "', ", Sql(number.at("state")), ", ", Sql(number.at("priority")),
      ", '', '", text.at("learner"), "', '", text.at("owner"), "', '", job.model, "', ",
      job.version, ", 0, ", Sql(number.at("create_time")), ", ", Sql(number.at("start_time")), ", ",
      Sql(number.at("end_time")), ");");
  for (size_t i = 0; i < job.datasets.size(); ++i) {
    absl::StrAppend(&script, "INSERT INTO job_datasets(job, position, dataset_id) VALUES (", n,
                    ", ", i, ", '", job.datasets[i], "');");
  }
  for (const auto& [key, value] : job.labels) {
    absl::StrAppend(&script, "INSERT INTO job_labels(owner, key, value) VALUES (", n, ", '", key,
                    "', '", value, "');");
  }
  ASSERT_TRUE(connection.Execute(script).ok());
}

template <typename T>
bool Compare(Comparison comparison, const T& left, const T& right) {
  switch (comparison) {
    case Comparison::kEqual:
      return left == right;
    case Comparison::kNotEqual:
      return left != right;
    case Comparison::kLess:
      return left < right;
    case Comparison::kLessOrEqual:
      return left <= right;
    case Comparison::kGreater:
      return left > right;
    case Comparison::kGreaterOrEqual:
      return left >= right;
    case Comparison::kPresent:
      return !(left == T());
  }
  return false;
}

// Of a field of which there may be several or none.
bool CompareSet(Comparison comparison, bool present, bool has) {
  return comparison == Comparison::kPresent ? present
         : comparison == Comparison::kEqual ? has
                                            : !has;
}

bool PassesComparison(const FilterNode& node, const PlainJob& job) {
  if (const auto text = job.texts.find(node.field); text != job.texts.end()) {
    return Compare(node.comparison, text->second, node.value.text);
  }
  if (const auto number = job.numbers.find(node.field); number != job.numbers.end()) {
    if (node.comparison == Comparison::kPresent) {
      return number->second.has_value();
    }
    return number->second.has_value() ? Compare(node.comparison, *number->second, node.value.number)
                                      : node.comparison == Comparison::kNotEqual;
  }
  if (node.field == "model") {
    const bool same = job.model == node.value.text &&
                      (node.value.number == 0 || node.value.number == job.version);
    return CompareSet(node.comparison, job.version > 0, same);
  }
  if (node.field == "datasets") {
    return CompareSet(node.comparison, !job.datasets.empty(),
                      std::count(job.datasets.begin(), job.datasets.end(), node.value.text) > 0);
  }
  const auto label = job.labels.find(node.key);
  const bool there = label != job.labels.end();
  return CompareSet(node.comparison, there, there && label->second == node.value.text);
}

bool Passes(const FilterNode& node, const PlainJob& job) {
  const auto passes = [&job](const FilterNode& child) { return Passes(child, job); };
  switch (node.kind) {
    case FilterNode::Kind::kAll:
      return std::all_of(node.children.begin(), node.children.end(), passes);
    case FilterNode::Kind::kAny:
      return std::any_of(node.children.begin(), node.children.end(), passes);
    case FilterNode::Kind::kNot:
      return !passes(node.children.front());
    case FilterNode::Kind::kComparison:
      return PassesComparison(node, job);
  }
  return false;
}

class JobFilterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / absl::StrCat("mercer-job-filter-", getpid());
    std::filesystem::create_directories(folder_);
    auto opened = Connection::Open(folder_ / "mercer.db", Connection::Mode::kReadWrite);
    ASSERT_TRUE(opened.ok()) << opened.status();
    connection_ = *std::move(opened);
    ASSERT_TRUE(MigrateDatabase(*connection_, absl::Now()).ok());
    ASSERT_TRUE(connection_->Execute("BEGIN").ok());
    for (int64_t n = 1; n <= kPlainJobs; ++n) {
      jobs_.push_back(MakeJob(n));
      Store(*connection_, n, jobs_.back());
    }
    ASSERT_TRUE(connection_->Execute("COMMIT").ok());
  }

  void TearDown() override {
    connection_.reset();
    std::filesystem::remove_all(folder_);
  }

  int64_t Below(int64_t bound) {
    return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(bound)));
  }

  FilterNode DrawComparison() {
    static const std::vector<std::string> fields = {
        "name",     "state", "learner",  "owner",  "priority", "create_time", "start_time",
        "end_time", "model", "datasets", "labels", "state",    "labels"};
    FilterNode node;
    node.field = fields[static_cast<size_t>(Below(static_cast<int64_t>(fields.size())))];
    const bool ordered = node.field != "model" && node.field != "datasets" &&
                         node.field != "labels" && node.field != "state";
    node.comparison = static_cast<Comparison>(Below(ordered ? 7 : 2));
    if (!ordered && node.field != "state" && Below(4) == 0) {
      node.comparison = Comparison::kPresent;
    }
    const std::string digit = absl::StrCat(Below(4));
    node.key = node.field == "labels" ? (Below(2) == 0 ? "a" : "b") : "";
    node.value.text = node.field == "name"      ? absl::StrCat("j", Below(1000))
                      : node.field == "learner" ? "learner" + digit
                      : node.field == "owner"   ? (Below(3) == 0 ? "" : "o" + digit)
                      : node.field == "model"   ? "m" + digit
                      : node.field == "labels"  ? "v" + digit
                                                : "d" + digit;
    node.value.number = node.field == "state"      ? 1 + Below(7)
                        : node.field == "priority" ? Below(6) - 3
                        : node.field == "model"    ? Below(3)
                                                   : Below(kPlainJobs);
    return node;
  }

  FilterNode Draw(int depth) {
    const int64_t kind = depth == 0 ? 3 : Below(4);
    if (kind == 3) {
      return DrawComparison();
    }
    FilterNode node;
    node.kind = static_cast<FilterNode::Kind>(kind);
    const int64_t children = node.kind == FilterNode::Kind::kNot ? 1 : 2 + Below(2);
    for (int64_t i = 0; i < children; ++i) {
      node.children.push_back(Draw(depth - 1));
    }
    return node;
  }

  JobFilter DrawFilter() {
    JobFilter filter;
    for (int64_t i = Below(4) == 0 ? 1 + Below(3) : 0; i > 0; --i) {
      filter.states.push_back(static_cast<JobState>(1 + Below(7)));
    }
    if (Below(4) == 0) {
      filter.labels["a"] = absl::StrCat("v", Below(3));
    }
    if (Below(10) > 0) {
      filter.query.filter = Draw(3);
    }
    filter.query.order.key = static_cast<ListOrder::Key>(Below(3));
    filter.query.order.descending = Below(2) == 0;
    filter.query.rows_at_once = static_cast<int>(1 + Below(60));
    return filter;
  }

  std::vector<int64_t> Expected(const JobFilter& filter) const {
    std::vector<int64_t> numbers;
    for (int64_t n = 1; n <= kPlainJobs; ++n) {
      const PlainJob& job = JobOf(n);
      const auto state = static_cast<JobState>(*job.numbers.at("state"));
      const bool typed = (filter.states.empty() ||
                          std::count(filter.states.begin(), filter.states.end(), state) > 0) &&
                         std::includes(job.labels.begin(), job.labels.end(), filter.labels.begin(),
                                       filter.labels.end());
      if (typed && (!filter.query.filter.has_value() || Passes(*filter.query.filter, job))) {
        numbers.push_back(n);
      }
    }
    const ListOrder& order = filter.query.order;
    if (order.key == ListOrder::Key::kName) {
      std::sort(numbers.begin(), numbers.end(), [this](int64_t a, int64_t b) {
        return JobOf(a).texts.at("name") < JobOf(b).texts.at("name");
      });
    }
    if (order.key == ListOrder::Key::kDefault || order.descending) {
      std::reverse(numbers.begin(), numbers.end());
    }
    return numbers;
  }

  const PlainJob& JobOf(int64_t number) const { return jobs_[static_cast<size_t>(number - 1)]; }

  std::filesystem::path folder_;
  std::unique_ptr<Connection> connection_;
  std::vector<PlainJob> jobs_;
  RandomStream random_{5, "job filters"};
};

TEST_F(JobFilterTest, PagesAreWhatALookAtEveryJobGives) {
  size_t matched = 0;
  for (int round = 0; round < 600; ++round) {
    const JobFilter filter = DrawFilter();
    const int limit = static_cast<int>(1 + Below(40));
    std::vector<int64_t> numbers;
    std::string after;
    int pages = 0;
    do {
      const absl::StatusOr<FoundRows> found = FindJobs(*connection_, filter, after, limit);
      ASSERT_TRUE(found.ok()) << found.status();
      ASSERT_LE(static_cast<int>(found->numbers.size()), limit);
      ASSERT_LE(static_cast<int>(found->numbers.size()), filter.query.rows_at_once);
      numbers.insert(numbers.end(), found->numbers.begin(), found->numbers.end());
      after = found->next;
      ASSERT_LE(++pages, kPlainJobs + 1);
    } while (!after.empty());
    ASSERT_EQ(numbers, Expected(filter))
        << "round " << round << ": "
        << (filter.query.filter.has_value() ? PrintFilter(*filter.query.filter) : "");
    matched += numbers.size();
  }
  // Neither nothing nor everything.
  EXPECT_GT(matched, 600U * kPlainJobs / 10);
  EXPECT_LT(matched, 600U * kPlainJobs / 10 * 9);
}

// As deep as filters may be nested, in the form that fills the stack of SQLite's parser most, with labels innermost.
TEST_F(JobFilterTest, TheDeepestFiltersAreRead) {
  FilterNode label;
  label.field = "labels";
  label.key = "team";
  label.value.text = "red";
  FilterNode deep = label;
  for (int level = 0; level < kMaxFilterDepth; ++level) {
    FilterNode negated;
    negated.kind = FilterNode::Kind::kNot;
    negated.children = {std::move(deep)};
    FilterNode any;
    any.kind = FilterNode::Kind::kAny;
    any.children = {label, std::move(negated)};
    FilterNode all;
    all.kind = FilterNode::Kind::kAll;
    all.children = {label, std::move(any)};
    deep = std::move(all);
  }
  JobFilter filter;
  filter.query.filter = std::move(deep);
  const absl::StatusOr<FoundRows> found = FindJobs(*connection_, filter, "", kPlainJobs);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->numbers, Expected(filter));
}

// How many statements the connection keeps.
int CountKept(const Connection& connection) {
  int kept = 0;
  for (sqlite3_stmt* one = nullptr;
       (one = sqlite3_next_stmt(connection.handle(), one)) != nullptr;) {
    ++kept;
  }
  return kept;
}

TEST_F(JobFilterTest, PlainListsAreKeptPreparedAndThoseThatARequestShapesAreNot) {
  const int before = CountKept(*connection_);
  ASSERT_TRUE(FindJobs(*connection_, {}, "", 10).ok());
  EXPECT_EQ(CountKept(*connection_), before + 1);
  ASSERT_TRUE(FindJobs(*connection_, {}, "7", 5).ok());
  JobFilter filter;
  filter.query.filter = FilterNode();
  filter.query.filter->field = "owner";
  ASSERT_TRUE(FindJobs(*connection_, filter, "", 10).ok());
  EXPECT_EQ(CountKept(*connection_), before + 1);
}

TEST_F(JobFilterTest, AReadLooksAtAFewRowsOnly) {
  JobFilter filter;
  filter.query.filter = FilterNode();
  filter.query.filter->field = "owner";
  filter.query.filter->value.text = "nobody";
  filter.query.rows_at_once = 100;
  absl::StatusOr<FoundRows> found = FindJobs(*connection_, filter, "", 10);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->numbers.empty());
  EXPECT_EQ(found->next, absl::StrCat(kPlainJobs - 99));
  found = FindJobs(*connection_, filter, "101", 10);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->next, "");
}

// A state, or a label, that the filter asks for is found by its index: no row of another one counts.
TEST_F(JobFilterTest, RowsAreFoundByTheIndexesOfStatesAndLabels) {
  ASSERT_TRUE(connection_
                  ->Execute("UPDATE jobs SET state = 5; UPDATE jobs SET state = 1 WHERE number "
                            "IN (3, 300); UPDATE jobs SET state = 2 WHERE number = 7; INSERT INTO "
                            "job_labels(owner, key, value) VALUES (5, 'rare', 'x'), (200, 'rare', "
                            "'x')")
                  .ok());
  const auto comparison = [](const std::string& field, int64_t number) {
    FilterNode node;
    node.field = field;
    node.value.number = number;
    return node;
  };
  FilterNode states;
  states.kind = FilterNode::Kind::kAny;
  states.children = {comparison("state", 2), comparison("state", 1)};
  FilterNode priority = comparison("priority", 100);
  priority.comparison = Comparison::kLess;
  JobFilter filter;
  filter.query.filter = FilterNode();
  filter.query.filter->kind = FilterNode::Kind::kAll;
  filter.query.filter->children = {priority, states};
  filter.query.rows_at_once = 3;
  absl::StatusOr<FoundRows> found = FindJobs(*connection_, filter, "", 10);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->numbers, ElementsAre(300, 7, 3));
  EXPECT_EQ(found->next, "");

  FilterNode label = comparison("labels", 0);
  label.key = "rare";
  label.value.text = "x";
  filter.query.filter->children = {priority, label};
  found = FindJobs(*connection_, filter, "", 10);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->numbers, ElementsAre(200, 5));
  EXPECT_EQ(found->next, "");
}

TEST_F(JobFilterTest, AFieldWithoutAColumnIsAnError) {
  JobFilter filter;
  filter.query.filter = FilterNode();
  filter.query.filter->field = "weight";
  EXPECT_EQ(FindJobs(*connection_, filter, "", 10).status().code(), absl::StatusCode::kInternal);
}

// What a request's text shapes is not kept: the connection would grow with every filter.
TEST_F(JobFilterTest, StatementsOfFiltersAreNotKept) {
  const auto statements = [this] {
    int count = 0;
    for (sqlite3_stmt* one = nullptr;
         (one = sqlite3_next_stmt(connection_->handle(), one)) != nullptr;) {
      ++count;
    }
    return count;
  };
  std::vector<int> counts;
  for (int64_t children = 1; children < 40; ++children) {
    JobFilter filter;
    filter.query.filter = FilterNode();
    filter.query.filter->kind = FilterNode::Kind::kAny;
    for (int64_t i = 0; i < children; ++i) {
      FilterNode node;
      node.field = "learner";
      filter.query.filter->children.push_back(node);
    }
    ASSERT_TRUE(FindJobs(*connection_, filter, "", 10).ok());
    counts.push_back(statements());
  }
  EXPECT_EQ(counts.back(), counts.front());
}

}  // namespace
}  // namespace mercer::server
