// Lists: pages that keep within the message limit, filters that are checked.
#include <gmock/gmock.h>
#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"
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
