// Lists with a filter of their own and another order: pages, tokens, and what one read looks at.
#include <set>

#include <gmock/gmock.h>

#include "tests/server/storage/storage_conformance.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FilterNode Equal(const std::string& field, const std::string& text) {
  FilterNode node;
  node.field = field;
  node.text = text;
  node.value.text = text;
  return node;
}

FilterNode Not(FilterNode inner) {
  FilterNode node;
  node.kind = FilterNode::Kind::kNot;
  node.children.push_back(std::move(inner));
  return node;
}

class ListQueryConformance : public StorageConformance {
 protected:
  void AddJobs() {
    AddDataset("data");
    for (const char* id : {"c", "a", "e", "b", "d"}) {
      NewJob job = MakeJob(id);
      job.learner = id[0] < 'c' ? "svm" : "lp_mkl";
      AddJob(job);
    }
  }

  absl::StatusOr<Page<JobRecord>> List(const JobFilter& filter, const PageRequest& page) {
    return storage_->jobs().ListJobs(filter, page);
  }

  // Over all pages of `size`.
  std::vector<std::string> JobIds(const JobFilter& filter, int32_t size) {
    std::vector<std::string> ids;
    PageRequest request{size, ""};
    do {
      const auto page = List(filter, request);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) {
        return ids;
      }
      for (const JobRecord& job : page->items) {
        ids.push_back(job.id);
      }
      request.token = page->next_token;
    } while (!request.token.empty());
    return ids;
  }
};

TEST_F(ListQueryConformance, JobsComeInTheOrderThatIsAskedFor) {
  AddJobs();
  using Key = ListOrder::Key;
  const auto ids = [this](ListOrder order, std::optional<FilterNode> filter = std::nullopt) {
    JobFilter jobs;
    jobs.query.order = order;
    jobs.query.filter = std::move(filter);
    const std::vector<std::string> one_by_one = JobIds(jobs, 1);
    EXPECT_EQ(JobIds(jobs, 2), one_by_one);
    EXPECT_EQ(JobIds(jobs, 100), one_by_one);
    return one_by_one;
  };
  EXPECT_THAT(ids({}), ElementsAre("d", "b", "e", "a", "c"));
  EXPECT_THAT(ids({Key::kCreateTime, true}), ElementsAre("d", "b", "e", "a", "c"));
  EXPECT_THAT(ids({Key::kCreateTime, false}), ElementsAre("c", "a", "e", "b", "d"));
  EXPECT_THAT(ids({Key::kName, false}), ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(ids({Key::kName, true}), ElementsAre("e", "d", "c", "b", "a"));
  EXPECT_THAT(ids({}, Equal("learner", "svm")), ElementsAre("b", "a"));
  EXPECT_THAT(ids({Key::kName, true}, Not(Equal("learner", "svm"))), ElementsAre("e", "d", "c"));
  EXPECT_THAT(ids({}, Equal("learner", "none")), IsEmpty());
}

TEST_F(ListQueryConformance, ATokenIsOneOfItsFilterAndOrderAlone) {
  AddJobs();
  std::vector<JobFilter> filters(5);
  filters[1].query.filter = Equal("learner", "lp_mkl");
  filters[2].query.filter = Not(Equal("learner", "none"));
  filters[3].query.order = {ListOrder::Key::kCreateTime, true};
  filters[4].query.order = {ListOrder::Key::kName, true};
  for (size_t made = 0; made < filters.size(); ++made) {
    const auto page = List(filters[made], {1, ""});
    ASSERT_TRUE(page.ok()) << page.status();
    ASSERT_NE(page->next_token, "");
    for (size_t used = 0; used < filters.size(); ++used) {
      const absl::Status status = List(filters[used], {1, page->next_token}).status();
      EXPECT_EQ(GetReason(status), used == made ? "" : "BAD_PAGE_TOKEN") << made << " " << used;
    }
  }
}

TEST_F(ListQueryConformance, APageEndsWhenManyRowsWereLookedAt) {
  AddJobs();
  JobFilter filter;
  filter.query.filter = Equal("learner", "svm");
  filter.query.rows_at_once = 2;
  const auto first = List(filter, {10, ""});
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->items.size(), 1U);
  EXPECT_EQ(first->items[0].id, "b");
  EXPECT_NE(first->next_token, "");
  filter.query.filter = Equal("learner", "none");
  const auto empty = List(filter, {10, ""});
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_THAT(empty->items, IsEmpty());
  EXPECT_NE(empty->next_token, "");
  EXPECT_THAT(JobIds(filter, 10), IsEmpty());
}

}  // namespace
}  // namespace mercer::server
