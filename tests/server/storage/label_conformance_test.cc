// Labels of jobs and data sets that change, on every storage.
#include <gmock/gmock.h>

#include "core/base/status/errors.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/database_check.h"
#include "tests/server/storage/storage_conformance.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LabelConformance : public StorageConformance {
 protected:
  void SetUp() override {
    StorageConformance::SetUp();
    AddDataset("data");
  }
  std::vector<std::string> With(const Labels& labels) {
    JobFilter filter;
    filter.labels = labels;
    std::vector<std::string> ids;
    const auto page = storage_->jobs().ListJobs(filter, PageRequest());
    EXPECT_TRUE(page.ok()) << page.status();
    for (const JobRecord& job : page->items) {
      ids.push_back(job.id);
    }
    return ids;
  }
  static absl::Status Refuse(const std::string& owner) {
    return absl::PermissionDeniedError("it is " + owner + "'s");
  }
};

TEST_F(LabelConformance, OfAJobAreReplacedInEveryState) {
  NewJob job = MakeJob("a");
  job.labels = {{"team", "red"}, {"stage", "trial"}};
  AddJob(job);
  AddJob("b");
  const auto updated = storage_->jobs().UpdateJob("a", {{"team", "blue"}, {"year", "26"}});
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(updated->labels, (Labels{{"team", "blue"}, {"year", "26"}}));
  EXPECT_EQ(updated->state, JobState::kQueued);
  EXPECT_EQ(storage_->jobs().GetJob("a")->labels, updated->labels);
  EXPECT_EQ(storage_->jobs().GetJob("a")->last_event->sequence, 1) << "it is no event";
  EXPECT_THAT(With({{"team", "blue"}}), ElementsAre("a"));
  EXPECT_THAT(With({{"team", "red"}}), IsEmpty());
  EXPECT_THAT(With({{"stage", "trial"}}), IsEmpty());

  const std::optional<JobRecord> claimed = Claim("w");
  ASSERT_TRUE(claimed.has_value());
  EXPECT_EQ(claimed->labels, updated->labels);
  EXPECT_TRUE(storage_->jobs().UpdateJob("a", {{"when", "running"}}).ok());
  ASSERT_TRUE(storage_->jobs().EndAttempt(MakeSuccess(*claimed, "blob")).ok());
  EXPECT_THAT(With({{"when", "running"}}), ElementsAre("a"));
  EXPECT_TRUE(storage_->jobs().UpdateJob("a", {}).ok());
  EXPECT_THAT(storage_->jobs().GetJob("a")->labels, IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(storage_->jobs().UpdateJob("c", {}).status()));
}

TEST_F(LabelConformance, OfADataSetAreReplacedAndSurviveThePrograms) {
  AddDataset("other");
  const auto updated = storage_->datasets().UpdateDataset("data", {{"team", "red"}});
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(updated->labels, (Labels{{"team", "red"}}));
  EXPECT_EQ(updated->info, MakeDataset("data").info);
  EXPECT_EQ(storage_->datasets().GetDataset("other")->labels, (Labels{{"team", "blue"}}));
  EXPECT_TRUE(absl::IsNotFound(storage_->datasets().UpdateDataset("none", {}).status()));
  storage_.reset();
  storage_ = *Open(folder_);
  EXPECT_EQ(storage_->datasets().GetDataset("data")->labels, (Labels{{"team", "red"}}));
  AddJob("a");
  ASSERT_TRUE(storage_->datasets().HideDataset("data").ok());
  EXPECT_TRUE(absl::IsNotFound(storage_->datasets().UpdateDataset("data", {}).status()))
      << "it is hidden";
  storage_.reset();
  const auto connection = Connection::Open(folder_ + "/mercer.db", Connection::Mode::kReadWrite);
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_TRUE(CheckDatabaseRows(**connection, [](const Finding& finding) {
                ADD_FAILURE() << finding.reason << " " << finding.subject;
              }).ok());
}

TEST_F(LabelConformance, OwnersAreAsked) {
  NewJob job = MakeJob("a");
  job.caller = "ada";
  job.labels = {{"team", "red"}};
  AddJob(job);
  EXPECT_EQ(storage_->jobs().UpdateJob("a", {}, Refuse).status(), Refuse("ada"));
  EXPECT_EQ(storage_->jobs().GetJob("a")->labels, job.labels);
  DatasetRecord dataset = MakeDataset("hers");
  dataset.owner = "ada";
  ASSERT_TRUE(storage_->datasets().CreateDataset(dataset).ok());
  EXPECT_EQ(storage_->datasets().UpdateDataset("hers", {}, Refuse).status(), Refuse("ada"));
  EXPECT_EQ(storage_->datasets().GetDataset("hers")->labels, dataset.labels);
}

}  // namespace
}  // namespace mercer::server
