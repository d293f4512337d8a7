// Lists: pages that keep within the message limit, filters that are checked.
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include <gmock/gmock.h>
#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"
#include "server/api/dataset_handlers.h"
#include "server/api/page_filler.h"
#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

using google::protobuf::StringValue;
using testing::HasSubstr;

// A list of texts whose page token is the number of the next one.
class FillPageTest : public testing::Test {
 protected:
  absl::StatusOr<Page<std::string>> List(const PageRequest& request) {
    const size_t begin = request.token.empty() ? 0 : std::stoul(request.token);
    const size_t end = std::min(texts_.size(), begin + static_cast<size_t>(request.size));
    most_at_once_ = std::max(most_at_once_, end - begin);
    Page<std::string> page;
    page.items.assign(texts_.begin() + static_cast<std::ptrdiff_t>(begin),
                      texts_.begin() + static_cast<std::ptrdiff_t>(end));
    page.next_token = end < texts_.size() ? std::to_string(end) : "";
    return page;
  }
  // Sizes of the pages; all texts must come once, in order.
  std::vector<int> ReadAll(int page_size, int64_t limit) {
    std::vector<int> sizes;
    std::vector<std::string> seen;
    std::string token;
    do {
      google::protobuf::RepeatedPtrField<StringValue> items;
      const auto next = FillPage<std::string, StringValue>(
          {page_size, token}, limit, [this](const PageRequest& request) { return List(request); },
          [](const std::string& text) -> absl::StatusOr<std::optional<StringValue>> {
            if (text == "gone") {
              return std::optional<StringValue>();
            }
            StringValue value;
            value.set_value(text);
            return value;
          },
          &items);
      EXPECT_TRUE(next.ok()) << next.status();
      int64_t bytes = 0;
      for (const StringValue& item : items) {
        bytes += static_cast<int64_t>(item.ByteSizeLong());
        seen.push_back(item.value());
      }
      EXPECT_TRUE(bytes <= limit || items.size() == 1) << bytes;
      sizes.push_back(items.size());
      token = *next;
    } while (!token.empty());
    std::vector<std::string> expected;
    std::copy_if(texts_.begin(), texts_.end(), std::back_inserter(expected),
                 [](const std::string& text) { return text != "gone"; });
    EXPECT_EQ(seen, expected);
    return sizes;
  }

  std::vector<std::string> texts_;
  size_t most_at_once_ = 0;
};

TEST_F(FillPageTest, SmallItemsComeAsAskedFor) {
  texts_.assign(205, "x");
  EXPECT_THAT(ReadAll(100, 1 << 20), testing::ElementsAre(100, 100, 5));
  EXPECT_LE(most_at_once_, 32u);
  EXPECT_THAT(ReadAll(0, 1 << 20), testing::ElementsAre(50, 50, 50, 50, 5));
}

TEST_F(FillPageTest, LargeItemsShortenThePage) {
  texts_.assign(10, std::string(1000, 'x'));
  EXPECT_THAT(ReadAll(100, 4096), testing::ElementsAre(3, 3, 3, 1));
}

TEST_F(FillPageTest, ItemAboveTheLimitComesAlone) {
  texts_ = {"a", std::string(5000, 'x'), "b", "gone", "c"};
  EXPECT_THAT(ReadAll(100, 4096), testing::ElementsAre(1, 1, 2));
}

TEST_F(FillPageTest, EveryItemComesOnceWhateverTheSizes) {
  RandomStream random(7, "sizes");
  for (int i = 0; i < 500; ++i) {
    texts_.push_back(i % 11 == 0 ? "gone" : std::string(random.Below(900), 'x'));
  }
  for (const int page_size : {1, 7, 32, 33, 100, 1000}) {
    for (const int64_t limit : {1100, 2000, 5000, 100'000}) {
      ReadAll(page_size, limit);
    }
  }
}

// A filter that matches nothing, over more records than are there for anybody to wait for.
TEST_F(FillPageTest, ReadsThatFindNothingEndThePage) {
  google::protobuf::RepeatedPtrField<StringValue> items;
  int reads = 0;
  const auto next = FillPage<std::string, StringValue>(
      {10, ""}, 4096,
      [&reads](const PageRequest&) -> absl::StatusOr<Page<std::string>> {
        Page<std::string> page;
        page.next_token = absl::StrCat(++reads);
        if (reads == 3) {
          page.items = {"x"};
        }
        return page;
      },
      [](const std::string& text) -> absl::StatusOr<std::optional<StringValue>> {
        StringValue value;
        value.set_value(text);
        return value;
      },
      &items);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(reads, 20);
  EXPECT_EQ(*next, "20");
  EXPECT_EQ(items.size(), 1);
}

TEST_F(FillPageTest, NegativeSizeIsRefused) {
  google::protobuf::RepeatedPtrField<StringValue> items;
  const auto next = FillPage<std::string, StringValue>(
      {-1, ""}, 4096, [this](const PageRequest& request) { return List(request); },
      [](const std::string&) -> absl::StatusOr<std::optional<StringValue>> {
        return StringValue();
      },
      &items);
  EXPECT_EQ(GetReason(next.status()), "BAD_PAGE_SIZE");
}

class ListsTest : public ApiTest {};

TEST_F(ListsTest, JobsOfLargeRequestsCutThePageAndAllOfThemCome) {
  StoreClouds(20);
  v1::TrainRequest request = CloudsRequest();
  // Kernels, of which the request may have many; nobody expands them here.
  v1::LpMkl& learner = *request.mutable_learner()->mutable_lp_mkl();
  for (int i = 0; i < 8'000; ++i) {
    learner.add_kernels()->set_type(v1::KERNEL_TYPE_LINEAR);
  }
  const TrainingHandlers handlers(context_);
  for (int i = 0; i < 5; ++i) {
    const auto job = handlers.Train(request);
    ASSERT_TRUE(job.ok()) << job.status();
  }
  context_.limits.message_bytes = 2 * static_cast<int64_t>(request.ByteSizeLong()) + 10'000;
  v1::ListJobsRequest list;
  std::vector<std::string> names;
  do {
    const auto page = handlers.ListJobs(list);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_LE(static_cast<int64_t>(page->ByteSizeLong()), context_.limits.message_bytes);
    for (const v1::Job& job : page->jobs()) {
      names.push_back(job.name());
    }
    list.set_page_token(page->next_page_token());
  } while (!list.page_token().empty());
  EXPECT_EQ(names.size(), 5u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 5u);
}

TEST_F(ListsTest, RequestAboveOneMebibyteIsRefused) {
  StoreClouds(20);
  v1::TrainRequest request = CloudsRequest();
  for (int i = 0; i < 2000; ++i) {
    (*request.mutable_class_weights()
          ->mutable_weights())[std::to_string(i) + std::string(600, 'x')] = 1;
  }
  const auto job = TrainingHandlers(context_).Train(request);
  EXPECT_EQ(job.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetReason(job.status()), "REQUEST_TOO_LARGE");
  EXPECT_EQ(TrainingHandlers(context_).ListJobs({})->jobs_size(), 0);
}

TEST_F(ListsTest, JobsAreFilteredByEachOfTheirFields) {
  StoreClouds(20);
  const TrainingHandlers handlers(context_);
  v1::TrainRequest request = CloudsRequest();
  (*request.mutable_labels())["team"] = "vision";
  request.set_priority(-3);
  const auto first = handlers.Train(request);
  ASSERT_TRUE(first.ok()) << first.status();
  jobs_->WaitUntilIdle();
  request.clear_labels();
  request.set_priority(2);
  const auto second = handlers.Train(request);
  ASSERT_TRUE(second.ok()) << second.status();
  jobs_->WaitUntilIdle();
  const auto names = [&](const std::string& filter, const std::string& order_by = "") {
    v1::ListJobsRequest list;
    list.set_filter(filter);
    list.set_order_by(order_by);
    std::vector<std::string> found;
    const auto page = handlers.ListJobs(list);
    EXPECT_TRUE(page.ok()) << page.status();
    if (page.ok()) {
      for (const v1::Job& job : page->jobs()) {
        found.push_back(job.name());
      }
    }
    return found;
  };
  using testing::ElementsAre;
  using testing::IsEmpty;
  const std::string& a = first->name();
  const std::string& b = second->name();
  EXPECT_THAT(names(" "), ElementsAre(b, a));
  EXPECT_THAT(names("", "create_time"), ElementsAre(a, b));
  EXPECT_THAT(names("", "name"), ElementsAre(std::min(a, b), std::max(a, b)));
  EXPECT_THAT(names("", "priority desc"), ElementsAre(b, a));
  EXPECT_THAT(names("", "end_time"), ElementsAre(a, b));
  EXPECT_THAT(names("name = " + a), ElementsAre(a));
  EXPECT_THAT(names("state = QUEUED OR state = JOB_STATE_SUCCEEDED"), ElementsAre(b, a));
  EXPECT_THAT(names("state != SUCCEEDED"), IsEmpty());
  EXPECT_THAT(names("learner = " + first->learner()), ElementsAre(b, a));
  EXPECT_THAT(names("-learner = " + first->learner()), IsEmpty());
  EXPECT_THAT(names("model:* AND model = models/clouds"), ElementsAre(b, a));
  EXPECT_THAT(names("model = models/clouds/versions/1"), ElementsAre(a));
  EXPECT_THAT(names("model = models/none"), IsEmpty());
  EXPECT_THAT(names("datasets:" + request.data(0).dataset()), ElementsAre(b, a));
  EXPECT_THAT(names("datasets:datasets/none"), IsEmpty());
  EXPECT_THAT(names("owner = nobody-of-that-name"), IsEmpty());
  EXPECT_THAT(names("priority < 0"), ElementsAre(a));
  EXPECT_THAT(names("create_time > 2020-01-01T00:00:00Z"), ElementsAre(b, a));
  EXPECT_THAT(names("create_time <= 2020-01-01T00:00:00Z"), IsEmpty());
  EXPECT_THAT(names("start_time:* AND end_time:*"), ElementsAre(b, a));
  EXPECT_THAT(names("NOT end_time > 2020-01-01T00:00:00Z"), IsEmpty());
  EXPECT_THAT(names("labels:team"), ElementsAre(a));
  EXPECT_THAT(names("labels.team = vision AND priority = -3"), ElementsAre(a));
  EXPECT_THAT(names("labels.team != vision"), ElementsAre(b));
  // A value is what it says, and nothing to the database.
  EXPECT_THAT(names("labels.team = 'visio_' OR labels.team = '%'"), IsEmpty());
  EXPECT_THAT(names("learner = \"' OR 1 = 1 --\""), IsEmpty());
  EXPECT_THAT(names("labels.\"') OR 1 = 1 --\":*"), IsEmpty());
  // What has both is there once, and an offset belongs to its time.
  EXPECT_THAT(names("labels:team OR labels.team = vision OR priority = -3"), ElementsAre(a));
  const std::string time = absl::FormatTime(
      absl::RFC3339_full, absl::FromUnixSeconds(first->create_time().seconds() - 1),
      absl::FixedTimeZone(7200));
  EXPECT_THAT(names("create_time > " + time), ElementsAre(b, a));

  // With the typed fields: all of it.
  v1::ListJobsRequest both;
  (*both.mutable_labels())["team"] = "vision";
  both.set_filter("priority = 2");
  EXPECT_EQ(handlers.ListJobs(both)->jobs_size(), 0);
  both.set_filter("priority = -3");
  EXPECT_EQ(handlers.ListJobs(both)->jobs_size(), 1);

  v1::ListJobsRequest pages;
  pages.set_page_size(1);
  pages.set_filter("state = SUCCEEDED");
  pages.set_page_token(handlers.ListJobs(pages)->next_page_token());
  EXPECT_EQ(handlers.ListJobs(pages)->jobs(0).name(), a);
  pages.set_filter("state = RUNNING");
  EXPECT_EQ(GetReason(handlers.ListJobs(pages).status()), "BAD_PAGE_TOKEN");
}

TEST_F(ListsTest, DataSetsAreFilteredByEachOfTheirFields) {
  StoreClouds(20);
  const DatasetHandlers handlers(context_);
  const auto count = [&](const std::string& filter) {
    v1::ListDatasetsRequest list;
    list.set_filter(filter);
    const auto page = handlers.ListDatasets(list);
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() ? page->datasets_size() : -1;
  };
  const v1::Dataset stored = handlers.ListDatasets({})->datasets(0);
  EXPECT_EQ(count("name = " + stored.name()), 1);
  EXPECT_EQ(count("name = datasets/none"), 0);
  EXPECT_EQ(count("display_name = 'no such name'"), 0);
  EXPECT_EQ(count("rows = 20"), 1);
  EXPECT_EQ(count("rows < 20"), 0);
  EXPECT_EQ(count(absl::StrCat("size_bytes = ", stored.size_bytes())), 1);
  EXPECT_EQ(count("owner = nobody-of-that-name"), 0);
  EXPECT_EQ(count("create_time < 1970-01-02T00:00:00Z OR NOT labels:none"), 1);
  EXPECT_EQ(count("labels:none"), 0);
  v1::ListDatasetsRequest bad;
  bad.set_filter("columns = 3");
  EXPECT_EQ(GetReason(handlers.ListDatasets(bad).status()), "BAD_FILTER");
  bad.set_filter("");
  bad.set_order_by("rows desc");
  EXPECT_TRUE(handlers.ListDatasets(bad).ok());
  bad.set_order_by("priority");
  EXPECT_EQ(GetReason(handlers.ListDatasets(bad).status()), "BAD_ORDER_BY");
}

TEST_F(ListsTest, BadFilterTextsAreNamed) {
  const TrainingHandlers handlers(context_);
  const auto refusal = [&](const std::string& filter, const std::string& order_by) {
    v1::ListJobsRequest list;
    list.set_filter(filter);
    list.set_order_by(order_by);
    const absl::Status status = handlers.ListJobs(list).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return absl::StrCat(GetReason(status), " ", std::string(status.message()));
  };
  EXPECT_THAT(refusal("state = SLEEPING", ""),
              HasSubstr("BAD_FILTER filter: at character 9, 'SLEEPING': 'state' must be one of "
                        "QUEUED, RUNNING, CANCELLING, VERIFYING, SUCCEEDED, FAILED, CANCELLED"));
  EXPECT_THAT(refusal("kind = training", ""),
              HasSubstr("must be one of TRAINING, PREDICTION, EVALUATION, VERIFICATION"));
  EXPECT_THAT(refusal("name = x", ""), HasSubstr("'name' must be of the form jobs/{id}"));
  EXPECT_THAT(refusal("datasets:x", ""), HasSubstr("must be of the form datasets/{id}"));
  EXPECT_THAT(refusal("model = models/m/aliases/live", ""),
              HasSubstr("or models/{model}/versions/{n}"));
  EXPECT_THAT(refusal("description = x", ""), HasSubstr("there is no field 'description'"));
  EXPECT_THAT(refusal("", "rows"), HasSubstr("BAD_ORDER_BY order_by: must be one of create_time, "
                                             "name, end_time, priority"));
}

TEST_F(ListsTest, FiltersKnowTheKindsOfJobs) {
  const std::string training = TrainClouds();
  const TrainingHandlers handlers(context_);
  const std::pair<std::string, int> cases[] = {
      {"kind = TRAINING", 1},     {"kind = JOB_KIND_TRAINING AND state = SUCCEEDED", 1},
      {"kind != PREDICTION", 1},  {"kind = PREDICTION OR kind = EVALUATION", 0},
      {"NOT kind = TRAINING", 0},
  };
  for (const auto& [filter, jobs] : cases) {
    v1::ListJobsRequest list;
    list.set_filter(filter);
    const auto page = handlers.ListJobs(list);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_EQ(page->jobs_size(), jobs) << filter;
  }
}

TEST_F(ListsTest, BadFiltersAreNamed) {
  v1::ListJobsRequest request;
  request.add_states(v1::JOB_STATE_UNSPECIFIED);
  (*request.mutable_labels())["Not a key"] = "";
  (*request.mutable_labels())["long"] = std::string(201, 'x');
  const auto page = TrainingHandlers(context_).ListJobs(request);
  std::vector<std::string> fields;
  for (const FieldViolation& violation : GetFieldViolations(page.status())) {
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields, testing::UnorderedElementsAre("states[0]", "labels", "labels"));
  v1::ListJobsRequest many;
  for (int i = 0; i < 100; ++i) {
    many.add_states(v1::JOB_STATE_QUEUED);
  }
  EXPECT_THAT(std::string(TrainingHandlers(context_).ListJobs(many).status().message()),
              HasSubstr("states"));
}

}  // namespace
}  // namespace mercer::server
