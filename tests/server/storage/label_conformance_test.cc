// Labels and names of jobs and data sets that change, on every storage.
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
  absl::StatusOr<JobRecord> Label(const std::string& job, const Labels& labels,
                                  const OwnerCheck& check = nullptr) {
    ResourceUpdate update;
    update.labels = labels;
    update.check = check;
    return storage_->jobs().UpdateJob({update, job});
  }
  absl::StatusOr<DatasetRecord> LabelDataset(const std::string& id, const Labels& labels,
                                             const OwnerCheck& check = nullptr) {
    ResourceUpdate update;
    update.labels = labels;
    update.check = check;
    return storage_->datasets().UpdateDataset({update, id});
  }
  static ResourceUpdate NewName(const std::string& name, const std::string& etag = "") {
    ResourceUpdate update;
    update.display_name = name;
    update.etag = etag;
    return update;
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
  const auto updated = Label("a", {{"team", "blue"}, {"year", "26"}});
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
  EXPECT_TRUE(Label("a", {{"when", "running"}}).ok());
  ASSERT_TRUE(storage_->jobs().EndAttempt(MakeSuccess(*claimed, "blob")).ok());
  EXPECT_THAT(With({{"when", "running"}}), ElementsAre("a"));
  EXPECT_TRUE(Label("a", {}).ok());
  EXPECT_THAT(storage_->jobs().GetJob("a")->labels, IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(Label("c", {}).status()));
}

TEST_F(LabelConformance, OfADataSetAreReplacedAndSurviveThePrograms) {
  AddDataset("other");
  const auto updated = LabelDataset("data", {{"team", "red"}});
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(updated->labels, (Labels{{"team", "red"}}));
  EXPECT_EQ(updated->info, MakeDataset("data").info);
  EXPECT_EQ(storage_->datasets().GetDataset("other")->labels, (Labels{{"team", "blue"}}));
  EXPECT_TRUE(absl::IsNotFound(LabelDataset("none", {}).status()));
  storage_.reset();
  storage_ = *Open(folder_);
  EXPECT_EQ(storage_->datasets().GetDataset("data")->labels, (Labels{{"team", "red"}}));
  AddJob("a");
  ASSERT_TRUE(storage_->datasets().HideDataset("data").ok());
  EXPECT_TRUE(absl::IsNotFound(LabelDataset("data", {}).status())) << "it is hidden";
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
  EXPECT_EQ(Label("a", {}, Refuse).status(), Refuse("ada"));
  EXPECT_EQ(storage_->jobs().GetJob("a")->labels, job.labels);
  DatasetRecord dataset = MakeDataset("hers");
  dataset.owner = "ada";
  ASSERT_TRUE(storage_->datasets().CreateDataset(dataset).ok());
  EXPECT_EQ(LabelDataset("hers", {}, Refuse).status(), Refuse("ada"));
  EXPECT_EQ(storage_->datasets().GetDataset("hers")->labels, dataset.labels);
}

TEST_F(LabelConformance, NamesOfAJobChangeApartFromItsLabels) {
  NewJob job = MakeJob("a");
  job.display_name = "first";
  AddJob(job);
  const JobRecord made = *storage_->jobs().GetJob("a");
  EXPECT_EQ(made.display_name, "first");
  const auto named = storage_->jobs().UpdateJob({NewName("second", JobEtag(made)), "a"});
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->display_name, "second");
  EXPECT_EQ(named->labels, job.labels);
  EXPECT_EQ(named->request, job.request);
  EXPECT_NE(JobEtag(*named), JobEtag(made));
  const auto stale = storage_->jobs().UpdateJob({NewName("third", JobEtag(made)), "a"});
  EXPECT_TRUE(absl::IsAborted(stale.status())) << stale.status();
  EXPECT_EQ(GetReason(stale.status()), "STALE_ETAG");
  EXPECT_EQ(MetadataOf(stale.status(), "etag"), JobEtag(*named));
  EXPECT_TRUE(storage_->jobs().UpdateJob({NewName("second", JobEtag(made)), "a"}).ok())
      << "it was made before";
  const std::optional<JobRecord> claimed = Claim("w");
  EXPECT_EQ(claimed->display_name, "second");
  EXPECT_EQ(JobEtag(*claimed), JobEtag(*named)) << "the state is no part of it";
  const auto labelled = Label("a", {});
  EXPECT_EQ(labelled->display_name, "second");
  EXPECT_NE(JobEtag(*labelled), JobEtag(*named));
  ASSERT_TRUE(storage_->jobs().EndAttempt(MakeSuccess(*claimed, "blob")).ok());
  EXPECT_EQ(storage_->jobs().GetJob("a")->display_name, "second");
}

TEST_F(LabelConformance, NamesOfADataSetChangeApartFromItsLabels) {
  const DatasetRecord made = *storage_->datasets().GetDataset("data");
  const auto named =
      storage_->datasets().UpdateDataset({NewName("second", DatasetEtag(made)), "data"});
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->display_name, "second");
  EXPECT_EQ(named->labels, made.labels);
  EXPECT_EQ(storage_->datasets().GetDataset("data")->display_name, "second");
  EXPECT_NE(DatasetEtag(*named), DatasetEtag(made));
  const auto stale =
      storage_->datasets().UpdateDataset({NewName("third", DatasetEtag(made)), "data"});
  EXPECT_EQ(GetReason(stale.status()), "STALE_ETAG");
  EXPECT_NE(DatasetEtag(*LabelDataset("data", {})), DatasetEtag(*named));
  ASSERT_TRUE(storage_->datasets().DeleteDataset("data").ok());
  DatasetRecord again = MakeDataset("data");
  again.create_time = At(2);
  const auto created = storage_->datasets().CreateDataset(again);
  EXPECT_NE(DatasetEtag(*created), DatasetEtag(made)) << "it is another one";
  EXPECT_EQ(DatasetEtag(*created), DatasetEtag(*storage_->datasets().GetDataset("data")));
}

}  // namespace
}  // namespace mercer::server
