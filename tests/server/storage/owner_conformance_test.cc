// What every implementation of the stores must do: who owns what is kept, who may change it is asked, and ids of requests are
// each caller's own.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/storage/storage_conformance.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OwnerConformance : public StorageConformance {
 protected:
  // Refuses everybody's changes and remembers whose things were to be changed.
  OwnerCheck Refuse() {
    return [this](const std::string& owner) {
      asked_.push_back(owner);
      return absl::PermissionDeniedError("not yours");
    };
  }
  std::vector<std::string> Asked() { return std::exchange(asked_, {}); }
  // The owner alone may change it.
  static OwnerCheck Only(const std::string& name) {
    return [name](const std::string& owner) {
      return owner == name ? absl::OkStatus() : absl::PermissionDeniedError("not yours");
    };
  }
  NewJob JobOf(const std::string& caller, const std::string& id) {
    NewJob job = MakeJob(id);
    job.caller = caller;
    return job;
  }
  void AddDatasetOf(const std::string& owner, const std::string& id) {
    DatasetRecord dataset = MakeDataset(id);
    dataset.owner = owner;
    ASSERT_TRUE(storage_->datasets().CreateDataset(dataset).ok());
  }
  // A version of "model" by a job of the caller.
  void Train(const std::string& caller, const std::string& job_id) {
    AddJob(JobOf(caller, job_id));
    const auto claimed = Claim("w");
    ASSERT_TRUE(claimed.has_value());
    const auto ended =
        storage_->jobs().EndAttempt(MakeSuccess(*claimed, absl::StrCat("blob-", job_id)));
    ASSERT_TRUE(ended.ok()) << ended.status();
  }
  static bool Denied(const absl::Status& status) { return absl::IsPermissionDenied(status); }

  std::vector<std::string> asked_;
};

TEST_F(OwnerConformance, DataSetsKeepTheirOwner) {
  AddDatasetOf("ada", "data");
  AddDataset("old");
  EXPECT_EQ(storage_->datasets().GetDataset("data")->owner, "ada");
  EXPECT_EQ(storage_->datasets().GetDataset("old")->owner, "");
  EXPECT_EQ(storage_->datasets().ListDatasets({})->items[1].owner, "ada");
}

TEST_F(OwnerConformance, DataSetsAreDeletedAndHiddenByWhoMay) {
  AddDatasetOf("ada", "data");
  AddJob("j");
  EXPECT_TRUE(Denied(storage_->datasets().DeleteDataset("data", Refuse()).status()))
      << "also while a job needs it";
  EXPECT_TRUE(Denied(storage_->datasets().HideDataset("data", Refuse()).status()));
  EXPECT_THAT(Asked(), ElementsAre("ada", "ada"));
  EXPECT_FALSE(storage_->datasets().GetDataset("data")->hidden);
  EXPECT_EQ(storage_->datasets().DeleteDataset("none", Refuse()).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(Asked(), IsEmpty());
  EXPECT_TRUE(storage_->datasets().HideDataset("data", Only("ada")).ok());
}

TEST_F(OwnerConformance, JobsAreCancelledAndStoppedByWhoMay) {
  AddDataset("data");
  AddJob(JobOf("ada", "j"));
  CancelRequest cancel{"j", At(11), {0, "cancelling"}, {0, "cancelled"}, Refuse()};
  StopRequest stop;
  stop.job_id = "j";
  stop.now = At(11);
  stop.check = Refuse();
  EXPECT_TRUE(Denied(storage_->jobs().CancelJob(cancel).status()));
  EXPECT_TRUE(Denied(storage_->jobs().StopJob(stop).status()));
  EXPECT_THAT(Asked(), ElementsAre("ada", "ada"));
  EXPECT_EQ(storage_->jobs().GetJob("j")->state, JobState::kQueued);
  EXPECT_FALSE(storage_->jobs().GetJob("j")->stop_requested);
  EXPECT_THAT(Payloads("j"), ElementsAre("queued"));
  cancel.check = Only("ada");
  EXPECT_TRUE(storage_->jobs().CancelJob(cancel).ok());
  cancel.check = Refuse();
  EXPECT_TRUE(Denied(storage_->jobs().CancelJob(cancel).status())) << "also of one that has ended";
}

TEST_F(OwnerConformance, AModelIsWhoseJobMadeItWhoeverAddsVersions) {
  AddDataset("data");
  Train("ada", "a");
  Train("bob", "b");
  EXPECT_EQ(storage_->models().GetModel("model")->owner, "ada");
  EXPECT_EQ(storage_->models().ListModels({})->items[0].owner, "ada");
  for (const int64_t version : {1, 2}) {
    EXPECT_EQ(storage_->models().GetVersion("model", version)->owner, "ada");
  }
  EXPECT_EQ(storage_->models().ListVersions("model", {})->items[0].owner, "ada");
  ASSERT_TRUE(storage_->models().DeleteModel("model", 0, At(40)).ok());
  Train("bob", "c");
  EXPECT_EQ(storage_->models().GetModel("model")->owner, "bob") << "made anew";
  EXPECT_EQ(storage_->models().GetVersion("model", 3)->owner, "bob");
}

TEST_F(OwnerConformance, ModelsAreChangedByWhoMay) {
  AddDataset("data");
  Train("ada", "a");
  Train("ada", "b");
  ModelStore& models = storage_->models();
  AliasMove move;
  move.model = "model";
  move.alias = "live";
  move.version = 1;
  move.now = At(50);
  move.check = Refuse();
  VersionUpdate update;
  update.model = "model";
  update.version = 1;
  update.description = "mine";
  update.now = At(50);
  update.check = Refuse();
  EXPECT_TRUE(Denied(models.MoveAlias(move).status()));
  EXPECT_TRUE(Denied(models.UpdateVersion(update).status()));
  EXPECT_TRUE(Denied(models.SetRetention({"model", 1, false, At(50), Refuse()}).status()));
  EXPECT_TRUE(Denied(models.DeleteModel("model", 1, At(50), Refuse()).status()));
  EXPECT_TRUE(Denied(models.DeleteModel("model", 0, At(50), Refuse()).status()));
  EXPECT_THAT(Asked(), ElementsAre("ada", "ada", "ada", "ada", "ada"));
  EXPECT_EQ(models.SetRetention({"model", 1, true, At(50), Refuse()})->versions.size(), 1U)
      << "a dry run changes nothing";
  EXPECT_EQ(models.DeleteModel("none", 0, At(50), Refuse()).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(Asked(), IsEmpty());
  EXPECT_EQ(models.GetModel("model")->num_versions, 2);
  EXPECT_EQ(models.GetModel("model")->keep_newest, 0);
  EXPECT_EQ(models.GetVersion("model", 1)->description, "");
  EXPECT_THAT(models.ListAliases("model", {})->items, IsEmpty());

  move.check = update.check = Only("ada");
  EXPECT_TRUE(models.MoveAlias(move).ok());
  EXPECT_TRUE(models.UpdateVersion(update).ok());
  EXPECT_TRUE(models.DeleteModel("model", 2, At(51), Only("ada")).ok());
}

TEST_F(OwnerConformance, VersionsAreAddedByWhoMayChangeTheModel) {
  AddDataset("data");
  NewJob job = JobOf("bob", "b1");
  job.check = Refuse();
  EXPECT_TRUE(storage_->jobs().CreateJob(job).ok()) << "there is no such model yet";
  EXPECT_THAT(Asked(), IsEmpty());
  // It is to be bob's, who was the first: his job would otherwise add to the model of another.
  NewJob second = JobOf("ada", "a1");
  second.request_id = "r";
  second.check = Refuse();
  EXPECT_TRUE(Denied(storage_->jobs().CreateJob(second).status()));
  EXPECT_THAT(Asked(), ElementsAre("bob"));
  EXPECT_EQ(storage_->jobs().GetJob("a1").status().code(), absl::StatusCode::kNotFound);
  second.check = Only("bob");
  EXPECT_TRUE(storage_->jobs().CreateJob(second).ok());
  second.check = Refuse();
  EXPECT_TRUE(storage_->jobs().CreateJob(second).ok()) << "it was taken before";
  EXPECT_THAT(Asked(), IsEmpty());

  // The first fails, so the second makes the model.
  const auto claimed = Claim("w");
  ASSERT_TRUE(claimed.has_value());
  ASSERT_EQ(claimed->id, "b1");
  ASSERT_TRUE(storage_->jobs()
                  .EndAttempt(MakeEnd(*claimed, JobState::kFailed, AttemptReason::kFailed))
                  .ok());
  NewJob third = JobOf("bob", "b2");
  third.check = Refuse();
  EXPECT_TRUE(Denied(storage_->jobs().CreateJob(third).status()));
  const auto next = Claim("w");
  ASSERT_TRUE(next.has_value());
  ASSERT_TRUE(storage_->jobs().EndAttempt(MakeSuccess(*next, "blob")).ok());
  EXPECT_TRUE(Denied(storage_->jobs().CreateJob(third).status()));
  EXPECT_THAT(Asked(), ElementsAre("ada", "ada"));
  ASSERT_TRUE(storage_->models().DeleteModel("model", 0, At(40)).ok());
  EXPECT_TRUE(storage_->jobs().CreateJob(third).ok()) << "nobody's any more";
}

// Ada shares a group with bob and another one with cid, who share none.
TEST_F(OwnerConformance, ANewModelIsWhoseJobWasAcceptedFirst) {
  AddDataset("data");
  ASSERT_TRUE(storage_->jobs().CreateJob(JobOf("ada", "a")).ok());
  NewJob second = JobOf("bob", "b");
  second.check = Only("ada");
  ASSERT_TRUE(storage_->jobs().CreateJob(second).ok());
  NewJob third = JobOf("cid", "c");
  third.check = Only("ada");
  EXPECT_TRUE(Denied(storage_->jobs().CreateJob(third).status()))
      << "if the first fails, it is to be bob's";
  const auto first = Claim("w");
  ASSERT_EQ(first->id, "a");
  const auto sooner = Claim("v");
  ASSERT_EQ(sooner->id, "b");
  ASSERT_TRUE(storage_->jobs().EndAttempt(MakeSuccess(*sooner, "blob-b")).ok());
  EXPECT_EQ(storage_->models().GetModel("model")->owner, "ada") << "whoever is done first";
  ASSERT_TRUE(storage_->jobs().EndAttempt(MakeSuccess(*first, "blob-a")).ok());
  EXPECT_EQ(storage_->models().GetVersion("model", 2)->owner, "ada");
}

TEST_F(OwnerConformance, RequestIdsAreEachCallersOwn) {
  AddDataset("data");
  for (const char* caller : {"ada", "bob", ""}) {
    NewJob job = JobOf(caller, absl::StrCat("job-of-", caller));
    job.request_id = "r";
    job.request_digest = absl::StrCat("digest of ", caller);
    const auto created = storage_->jobs().CreateJob(job);
    ASSERT_TRUE(created.ok()) << created.status();
    EXPECT_TRUE(created->created) << caller;
    job.id = "another";
    EXPECT_EQ(storage_->jobs().CreateJob(job)->job.id, absl::StrCat("job-of-", caller));
    EXPECT_EQ(storage_->jobs().FindRequest(caller, "r", job.request_digest)->value().id,
              absl::StrCat("job-of-", caller));
  }
  EXPECT_FALSE(storage_->jobs().FindRequest("eve", "r", "digest of ada")->has_value());
  EXPECT_EQ(GetReason(storage_->jobs().FindRequest("bob", "r", "digest of ada").status()),
            "REQUEST_ID_REUSED");
}

TEST_F(OwnerConformance, RequestIdsOfMovesAreEachCallersOwn) {
  AddDataset("data");
  Train("ada", "a");
  Train("ada", "b");
  AliasMove move;
  move.model = "model";
  move.alias = "live";
  move.request_id = "r";
  int64_t version = 1;
  for (const char* caller : {"ada", "bob"}) {
    move.caller = caller;
    move.version = version++;
    move.request_digest = absl::StrCat("digest of ", caller);
    move.now = At(50 + version);
    EXPECT_EQ(storage_->models().MoveAlias(move)->version, move.version);
  }
  EXPECT_EQ((*storage_->models().FindMove("ada", "r", "digest of ada"))->version, 1);
  EXPECT_EQ((*storage_->models().FindMove("bob", "r", "digest of bob"))->version, 2);
  EXPECT_FALSE(storage_->models().FindMove("eve", "r", "digest of ada")->has_value());
}

}  // namespace
}  // namespace mercer::server
