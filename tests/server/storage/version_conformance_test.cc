// What every implementation of the stores must do with labels, descriptions, retention and filters of
// models and their versions.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/server/storage/storage_conformance.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class VersionConformance : public StorageConformance {
 protected:
  void SetUp() override {
    StorageConformance::SetUp();
    AddDataset("data");
  }
  ModelStore& models() { return storage_->models(); }
  void Train(const std::string& model, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string id = absl::StrCat("job-", ++jobs_);
      TrainVersion(id, model, absl::StrCat("blob-", id));
    }
  }
  // A job of the model "m" that makes three versions, of the blobs "a", "b" and "c".
  absl::StatusOr<EndedAttempt> TrainThreeAtOnce(const std::string& id) {
    NewJob job = MakeJob(id);
    job.model_name = "m";
    AddJob(job);
    const std::optional<JobRecord> claimed = Claim("w");
    EXPECT_TRUE(claimed.has_value());
    AttemptEnd end = MakeSuccess(*claimed, "c");
    end.versions = {MakeVersion("a"), MakeVersion("b"), MakeVersion("c")};
    return storage_->jobs().EndAttempt(end);
  }
  void Point(const std::string& alias, int64_t version) {
    AliasMove move;
    move.model = "m";
    move.alias = alias;
    move.version = version;
    move.now = At(50);
    ASSERT_TRUE(models().MoveAlias(move).ok());
  }
  std::vector<int64_t> Versions(const VersionFilter& filter = {}) {
    std::vector<int64_t> versions;
    const auto page = models().ListVersions("m", {}, filter);
    EXPECT_TRUE(page.ok()) << page.status();
    for (const VersionRecord& version : page->items) {
      versions.push_back(version.version);
    }
    return versions;
  }
  static VersionUpdate Update(int64_t version) {
    VersionUpdate update;
    update.model = "m";
    update.version = version;
    update.now = At(60);
    return update;
  }
  static RetentionChange Keep(int64_t newest, bool dry_run = false) {
    return {"m", newest, dry_run, At(70)};
  }

 private:
  int jobs_ = 0;
};

TEST_F(VersionConformance, UpdateChangesWhatIsGivenAndTheEtag) {
  Train("m", 2);
  const std::string before = VersionEtag(*models().GetVersion("m", 1));
  VersionUpdate update = Update(1);
  update.description = "the first";
  update.etag = before;
  const auto described = models().UpdateVersion(update);
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_EQ(described->description, "the first");
  EXPECT_EQ(described->labels, (Labels{{"stage", "test"}}));
  EXPECT_NE(VersionEtag(*described), before);
  EXPECT_EQ(models().UpdateVersion(update)->revision, described->revision) << "a repeated change";
  update.description = "another";
  const absl::Status stale = models().UpdateVersion(update).status();
  EXPECT_EQ(stale.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(GetReason(stale), "STALE_ETAG");
  EXPECT_EQ(MetadataOf(stale, "etag"), VersionEtag(*described));
  update = Update(1);
  update.labels = Labels{{"a", "b"}};
  const auto labelled = models().UpdateVersion(update);
  ASSERT_TRUE(labelled.ok()) << labelled.status();
  EXPECT_EQ(labelled->labels, (Labels{{"a", "b"}}));
  EXPECT_EQ(labelled->description, "the first");
  EXPECT_EQ(VersionEtag(*models().UpdateVersion(update)), VersionEtag(*labelled));  // as it was
  EXPECT_EQ(models().GetVersion("m", 1)->labels, labelled->labels);
  EXPECT_EQ(models().GetVersion("m", 2)->labels, (Labels{{"stage", "test"}}));
  EXPECT_NE(VersionEtag(*models().GetVersion("m", 2)), before);
  EXPECT_EQ(models().GetModel("m")->update_time, At(60));
  EXPECT_EQ(GetReason(models().UpdateVersion(Update(3)).status()), "MODEL_NOT_FOUND");
}

TEST_F(VersionConformance, AModelHasLabelsAndTextsOfItsOwn) {
  Train("m", 2);
  Point("live", 1);
  Point("best", 2);
  const auto before = models().GetModel("m");
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->labels, Labels()) << "those of the request are the version's";
  EXPECT_EQ(before->newest_version, 2);
  ASSERT_EQ(before->aliases.size(), 2U);
  EXPECT_EQ(before->aliases[0], *models().GetAlias("m", "best"));
  EXPECT_EQ(before->aliases[1], *models().GetAlias("m", "live"));
  ModelUpdate update;
  update.model = "m";
  update.labels = Labels{{"team", "blue"}};
  update.display_name = "Spam";
  update.etag = ModelEtag(*before);
  update.now = At(60);
  const auto changed = models().UpdateModel(update);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->labels, *update.labels);
  EXPECT_EQ(changed->display_name, "Spam");
  EXPECT_EQ(changed->description, "");
  EXPECT_EQ(changed->update_time, At(60));
  EXPECT_NE(ModelEtag(*changed), ModelEtag(*before));
  EXPECT_EQ(ModelEtag(*models().UpdateModel(update)), ModelEtag(*changed)) << "a repeated change";
  update.labels = std::nullopt;
  update.description = "filters mail";
  const absl::Status stale = models().UpdateModel(update).status();
  EXPECT_EQ(GetReason(stale), "STALE_ETAG");
  EXPECT_EQ(MetadataOf(stale, "etag"), ModelEtag(*changed));
  update.etag = ModelEtag(*changed);
  ASSERT_TRUE(models().UpdateModel(update).ok());
  const auto described = models().GetModel("m");
  EXPECT_EQ(described->description, "filters mail");
  EXPECT_EQ(described->labels, changed->labels);
  EXPECT_EQ(described->display_name, "Spam");
  EXPECT_EQ(models().GetVersion("m", 2)->labels, (Labels{{"stage", "test"}}));
  EXPECT_EQ(models().GetVersion("m", 2)->description, "");
  update.model = "other";
  EXPECT_EQ(GetReason(models().UpdateModel(update).status()), "MODEL_NOT_FOUND");
}

TEST_F(VersionConformance, AModelMadeAnewHasNothingOfTheOneBefore) {
  Train("m", 1);
  ModelUpdate update;
  update.model = "m";
  update.labels = Labels{{"team", "blue"}};
  update.display_name = "Spam";
  update.description = "filters mail";
  update.now = At(60);
  const auto before = models().UpdateModel(update);
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_TRUE(models().DeleteModel("m", 1, At(70)).ok());
  EXPECT_EQ(GetReason(models().UpdateModel(update).status()), "MODEL_NOT_FOUND");
  Train("m", 1);
  const auto anew = models().GetModel("m");
  EXPECT_EQ(anew->labels, Labels());
  EXPECT_EQ(anew->display_name, "");
  EXPECT_EQ(anew->description, "");
  EXPECT_NE(ModelEtag(*anew), ModelEtag(*before));
}

TEST_F(VersionConformance, AJobOfSeveralVersionsNamesTheLast) {
  Train("m", 1);
  const auto ended = TrainThreeAtOnce("several");
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->job.model_version, 4);
  EXPECT_THAT(Versions(), ElementsAre(4, 3, 2, 1));
  EXPECT_EQ(models().GetVersion("m", 2)->model_blob, "a");
  EXPECT_EQ(models().GetVersion("m", 4)->model_blob, "c");
  for (const int64_t version : {2, 3, 4}) {
    EXPECT_EQ(models().GetVersion("m", version)->job_id, "several");
  }
}

TEST_F(VersionConformance, RetentionLooksAtAllVersionsOfAJob) {
  Train("m", 1);
  ASSERT_TRUE(models().SetRetention(Keep(2)).ok());
  const auto ended = TrainThreeAtOnce("several");
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_THAT(ended->deleted_versions, ElementsAre(1, 2));
  EXPECT_THAT(Versions(), ElementsAre(4, 3));
}

TEST_F(VersionConformance, RetentionDeletesOldVersionsWithoutAlias) {
  Train("m", 5);
  Point("live", 1);
  EXPECT_THAT(models().SetRetention(Keep(2, /*dry_run=*/true))->versions, ElementsAre(2, 3));
  EXPECT_THAT(Versions(), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_EQ(models().GetModel("m")->keep_newest, 0);
  const auto deleted = models().SetRetention(Keep(2));
  ASSERT_TRUE(deleted.ok()) << deleted.status();
  EXPECT_THAT(deleted->versions, ElementsAre(2, 3));
  EXPECT_THAT(deleted->released_blobs,
              ElementsAre("blob-job-2", "blob-job-2-witness", "blob-job-3", "blob-job-3-witness"));
  EXPECT_THAT(Versions(), ElementsAre(5, 4, 1));
  EXPECT_EQ(models().GetModel("m")->keep_newest, 2);
  EXPECT_EQ(GetReason(models().SetRetention({"other", 2, false, At(70)}).status()),
            "MODEL_NOT_FOUND");
}

TEST_F(VersionConformance, RetentionWorksWhenAVersionIsAdded) {
  Train("m", 2);
  ASSERT_TRUE(models().SetRetention(Keep(2)).ok());
  Point("live", 1);
  NewJob job = MakeJob("j-new");
  job.model_name = "m";
  AddJob(job);
  auto ended = storage_->jobs().EndAttempt(MakeSuccess(*Claim("w"), "blob-new"));
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->job.model_version, 3);
  EXPECT_THAT(ended->deleted_versions, IsEmpty());
  Point("live", 3);  // version 1 may go now
  job.id = "j-newer";
  job.request_digest = "d";
  AddJob(job);
  ended = storage_->jobs().EndAttempt(MakeSuccess(*Claim("w"), "blob-newer"));
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_THAT(ended->deleted_versions, ElementsAre(1, 2));
  EXPECT_THAT(ended->released_blobs,
              ElementsAre("blob-job-1", "blob-job-1-witness", "blob-job-2", "blob-job-2-witness"));
  EXPECT_THAT(Versions(), ElementsAre(4, 3));
  ASSERT_TRUE(models().SetRetention(Keep(0)).ok());
  Train("m", 2);
  EXPECT_THAT(Versions(), ElementsAre(6, 5, 4, 3));
}

TEST_F(VersionConformance, NewModelOfADeletedOneKeepsAll) {
  Train("m", 1);
  ASSERT_TRUE(models().SetRetention(Keep(1)).ok());
  ASSERT_TRUE(models().DeleteModel("m", 0, At(80)).ok());
  Train("m", 2);
  EXPECT_THAT(Versions(), ElementsAre(3, 2));
}

TEST_F(VersionConformance, ListsAreFilteredByLabelsAndLearner) {
  Train("m", 3);
  Train("other", 1);
  VersionUpdate update = Update(2);
  update.labels = Labels{{"stage", "test"}, {"team", "blue"}};
  ASSERT_TRUE(models().UpdateVersion(update).ok());
  EXPECT_THAT(Versions({"", {{"team", "blue"}}}), ElementsAre(2));
  EXPECT_THAT(Versions({"svm", {{"stage", "test"}}}), ElementsAre(3, 2, 1));
  EXPECT_THAT(Versions({"svm", {{"stage", "test"}, {"team", "red"}}}), IsEmpty());
  EXPECT_THAT(Versions({"lp_mkl", {}}), IsEmpty());
  const VersionFilter blue{"svm", {{"team", "blue"}}};
  update = Update(3);
  update.labels = Labels{{"team", "blue"}};
  ASSERT_TRUE(models().UpdateVersion(update).ok());
  EXPECT_EQ(models().ListVersions("", {}, {"svm", {{"stage", "test"}}})->items.size(), 3U);
  EXPECT_EQ(models().ListVersions("", {}, blue)->items.size(), 2U);
  const auto page = models().ListVersions("m", {1, ""}, blue);
  ASSERT_EQ(page->items.size(), 1U);
  EXPECT_EQ(models().ListVersions("m", {1, page->next_token}, blue)->items[0].version, 2);
  EXPECT_EQ(GetReason(models().ListVersions("m", {1, page->next_token}).status()),
            "BAD_PAGE_TOKEN");
}

}  // namespace
}  // namespace mercer::server
