// Labels, texts, retention and filters of models and their versions through the API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/api/registry_fixture.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;

class VersionsTest : public RegistryTest {
 protected:
  grpc::Status Update(const v1::UpdateModelVersionRequest& request) {
    return Call(&v1::ModelService::Stub::UpdateModelVersion, request, &model_);
  }
  grpc::Status Keep(int newest, bool validate_only) {
    v1::SetRetentionRequest request;
    request.set_name("models/clouds");
    request.set_keep_newest(newest);
    request.set_validate_only(validate_only);
    return Call(&v1::ModelService::Stub::SetRetention, request, &retention_);
  }
  std::vector<std::string> List(const std::string& model, const std::string& team) {
    v1::ListModelVersionsRequest request;
    request.set_model(model);
    if (!team.empty()) {
      (*request.mutable_labels())["team"] = team;
    }
    v1::ListModelVersionsResponse response;
    EXPECT_TRUE(Call(&v1::ModelService::Stub::ListModelVersions, request, &response).ok());
    std::vector<std::string> names;
    for (const v1::ModelVersion& listed : response.versions()) {
      names.push_back(listed.name());
    }
    return names;
  }

  grpc::Status GetModel(const std::string& name) {
    v1::GetModelRequest request;
    request.set_name(name);
    return Call(&v1::ModelService::Stub::GetModel, request, &whole_);
  }
  grpc::Status UpdateModel(const v1::UpdateModelRequest& request) {
    return Call(&v1::ModelService::Stub::UpdateModel, request, &whole_);
  }
  // Their names, one after the other.
  std::string ListModels(const std::string& filter, const std::string& order_by = "") {
    v1::ListModelsRequest request;
    request.set_filter(filter);
    request.set_order_by(order_by);
    v1::ListModelsResponse response;
    const grpc::Status status = Call(&v1::ModelService::Stub::ListModels, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::string names;
    for (const v1::Model& model : response.models()) {
      absl::StrAppend(&names, model.name(), " ");
    }
    return names;
  }

  v1::Model whole_;
  v1::Retention retention_;
};

TEST_F(VersionsTest, AModelIsAResourceOfItsOwn) {
  ServeClouds(2);
  ASSERT_TRUE(SetAlias("models/clouds/aliases/live", "models/clouds/versions/1").ok());
  ASSERT_TRUE(GetModel("models/clouds").ok());
  EXPECT_EQ(whole_.name(), "models/clouds");
  EXPECT_EQ(whole_.num_versions(), 2);
  EXPECT_EQ(whole_.keep_newest(), 0);
  ASSERT_EQ(whole_.aliases_size(), 1);
  EXPECT_EQ(whole_.aliases(0).SerializeAsString(), alias_.SerializeAsString());
  EXPECT_EQ(whole_.newest_version().name(), "models/clouds/versions/2");
  EXPECT_EQ(whole_.newest_version().learner(), "lp_mkl");
  EXPECT_TRUE(whole_.newest_version().tables().empty()) << "as lists have it";
  EXPECT_GT(whole_.create_time().seconds(), 0);
  EXPECT_GE(whole_.update_time().seconds(), whole_.create_time().seconds());
  for (const char* name : {"models/clouds/versions/1", "models/clouds/aliases/live", "models/-"}) {
    EXPECT_EQ(GetModel(name).error_code(), StatusCode::INVALID_ARGUMENT) << name;
  }
  EXPECT_EQ(ReasonOf(GetModel("models/none")), "NOT_FOUND");
}

TEST_F(VersionsTest, UpdateModelChangesTheModelAndNoVersion) {
  ServeClouds(1);
  ASSERT_TRUE(GetModel("models/clouds").ok());
  const std::string first = whole_.etag();
  v1::UpdateModelRequest request;
  request.mutable_model()->set_name("models/clouds");
  request.mutable_model()->set_etag(first);
  request.mutable_model()->set_display_name("Clouds");
  request.mutable_model()->set_description("of June");
  (*request.mutable_model()->mutable_labels())["team"] = "blue";
  request.mutable_update_mask()->add_paths("display_name");
  request.mutable_update_mask()->add_paths("labels");
  ASSERT_TRUE(UpdateModel(request).ok());
  EXPECT_EQ(whole_.display_name(), "Clouds");
  EXPECT_EQ(whole_.description(), "");
  EXPECT_EQ(whole_.labels().at("team"), "blue");
  EXPECT_TRUE(whole_.newest_version().labels().empty());
  EXPECT_NE(whole_.etag(), first);
  EXPECT_TRUE(UpdateModel(request).ok()) << "repeated, as by a client that has lost the answer";
  request.clear_update_mask();  // all three
  const grpc::Status stale = UpdateModel(request);
  EXPECT_EQ(ReasonOf(stale), "STALE_ETAG");
  EXPECT_EQ(MetadataOf(stale, "resource_name"), "models/clouds");
  request.mutable_model()->clear_etag();
  ASSERT_TRUE(UpdateModel(request).ok());
  EXPECT_EQ(whole_.description(), "of June");
  request.mutable_model()->set_display_name(std::string(201, 'x'));
  EXPECT_THAT(UpdateModel(request).error_message(), testing::HasSubstr("model.display_name"));
  request.mutable_update_mask()->add_paths("owner");
  EXPECT_THAT(UpdateModel(request).error_message(), testing::HasSubstr("there is no path 'owner'"));
  request.mutable_model()->set_name("models/clouds/versions/1");
  EXPECT_EQ(UpdateModel(request).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(VersionsTest, ModelsAreListedByTheirOwnFields) {
  ServeClouds(2);
  TrainOn("clouds", "models/other");
  v1::UpdateModelRequest request;
  request.mutable_model()->set_name("models/clouds");
  request.mutable_model()->set_display_name("Clouds");
  (*request.mutable_model()->mutable_labels())["team"] = "blue";
  ASSERT_TRUE(UpdateModel(request).ok());
  ASSERT_TRUE(SetAlias("models/clouds/aliases/live", "models/clouds/versions/1").ok());
  EXPECT_EQ(ListModels(""), "models/clouds models/other ");
  EXPECT_EQ(ListModels("", "create_time desc"), "models/other models/clouds ");
  EXPECT_EQ(ListModels("labels.team:blue AND display_name = Clouds"), "models/clouds ");
  EXPECT_EQ(ListModels("NOT labels:team"), "models/other ");
  EXPECT_EQ(ListModels("num_versions > 1 AND description = \"\""), "models/clouds ");
  EXPECT_EQ(ListModels("aliases:models/clouds/aliases/live"), "models/clouds ");
  EXPECT_EQ(ListModels("name != models/clouds AND create_time > 2020-01-01T00:00:00Z"),
            "models/other ");
  EXPECT_EQ(ListModels("update_time < 2020-01-01T00:00:00Z"), "");
  v1::ListModelsRequest of_versions;
  of_versions.set_filter("learner = svm");
  v1::ListModelsResponse response;
  EXPECT_THAT(Call(&v1::ModelService::Stub::ListModels, of_versions, &response).error_message(),
              testing::HasSubstr("there is no field 'learner'"));
}

TEST_F(VersionsTest, UpdateChangesWhatTheMaskNames) {
  ServeClouds(1);
  ASSERT_TRUE(GetVersion("models/clouds").ok());
  const std::string first = model_.etag();
  v1::UpdateModelVersionRequest request;
  request.mutable_model_version()->set_name("models/clouds/versions/1");
  request.mutable_model_version()->set_etag(first);
  request.mutable_model_version()->set_description("for the demo");
  (*request.mutable_model_version()->mutable_labels())["team"] = "blue";
  request.mutable_update_mask()->add_paths("description");
  ASSERT_TRUE(Update(request).ok());
  EXPECT_EQ(model_.description(), "for the demo");
  EXPECT_TRUE(model_.labels().empty());
  const std::string second = model_.etag();
  EXPECT_NE(second, first);
  EXPECT_TRUE(Update(request).ok()) << "repeated, as by a client that has lost the answer";
  EXPECT_EQ(model_.etag(), second);
  request.mutable_model_version()->set_description("for another demo");
  const grpc::Status stale = Update(request);
  EXPECT_EQ(stale.error_code(), StatusCode::ABORTED);
  EXPECT_EQ(ReasonOf(stale), "STALE_ETAG");
  EXPECT_EQ(MetadataOf(stale, "etag"), second);
  request.mutable_model_version()->clear_etag();
  request.mutable_model_version()->clear_description();
  request.clear_update_mask();  // both
  ASSERT_TRUE(Update(request).ok());
  EXPECT_EQ(model_.description(), "");
  EXPECT_EQ(model_.labels().at("team"), "blue");
  ASSERT_TRUE(GetVersion("models/clouds").ok());
  EXPECT_EQ(model_.labels().at("team"), "blue");
}

TEST_F(VersionsTest, UpdateRefusesWhatCannotBeChanged) {
  ServeClouds(1);
  v1::UpdateModelVersionRequest request;
  EXPECT_EQ(Update(request).error_code(), StatusCode::INVALID_ARGUMENT);
  request.mutable_model_version()->set_name("models/none");
  EXPECT_EQ(Update(request).error_code(), StatusCode::NOT_FOUND);
  request.mutable_model_version()->set_name("models/clouds");
  for (const char* path : {"learner", "labels.team", "*", ""}) {
    request.mutable_update_mask()->clear_paths();
    request.mutable_update_mask()->add_paths(path);
    EXPECT_EQ(Update(request).error_code(), StatusCode::INVALID_ARGUMENT) << path;
  }
  request.mutable_update_mask()->clear_paths();
  EXPECT_EQ(Update(request).error_code(), StatusCode::INVALID_ARGUMENT);
  request.clear_update_mask();
  request.mutable_model_version()->set_description(std::string(4097, 'x'));
  EXPECT_EQ(Update(request).error_code(), StatusCode::INVALID_ARGUMENT);
  request.mutable_model_version()->set_description(std::string(4096, 'x'));
  EXPECT_TRUE(Update(request).ok());
}

TEST_F(VersionsTest, RetentionDeletesVersionsWithTheirFilesAndFromMemory) {
  ServeClouds(1);
  StoreCsv("more", CloudsCsv(60), "");
  TrainOn("more");
  TrainOn("clouds");
  const std::string blob = Version(2).model_blob;
  ASSERT_TRUE(std::filesystem::exists(BlobPath(blob)));
  ASSERT_TRUE(SetAlias("models/clouds/aliases/live", "models/clouds/versions/1").ok());
  ASSERT_TRUE(cache_->Load("clouds", 2).ok());
  ASSERT_TRUE(Keep(1, true).ok());
  EXPECT_THAT(retention_.deleted(), ElementsAre("models/clouds/versions/2"));
  EXPECT_NE(cache_->Find("clouds", 2), nullptr);
  ASSERT_TRUE(Keep(1, false).ok());
  EXPECT_THAT(retention_.deleted(), ElementsAre("models/clouds/versions/2"));
  EXPECT_EQ(cache_->Find("clouds", 2), nullptr);
  EXPECT_FALSE(std::filesystem::exists(BlobPath(blob)));
  ASSERT_TRUE(GetModel("models/clouds").ok());
  EXPECT_EQ(whole_.keep_newest(), 1);
  EXPECT_THAT(List("models/clouds", ""),
              ElementsAre("models/clouds/versions/3", "models/clouds/versions/1"));
  TrainOn("more");
  EXPECT_THAT(List("models/clouds", ""),
              ElementsAre("models/clouds/versions/4", "models/clouds/versions/1"));
  EXPECT_EQ(Keep(-1, false).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(VersionsTest, ListsAreFilteredByLabelsAndLearner) {
  ServeClouds(2);
  v1::UpdateModelVersionRequest request;
  request.mutable_model_version()->set_name("models/clouds/versions/1");
  (*request.mutable_model_version()->mutable_labels())["team"] = "blue";
  ASSERT_TRUE(Update(request).ok());
  EXPECT_THAT(List("models/clouds", "blue"), ElementsAre("models/clouds/versions/1"));
  EXPECT_THAT(List("models/clouds", "red"), ElementsAre());
  EXPECT_THAT(List("models/-", "blue"), ElementsAre("models/clouds/versions/1"));
  EXPECT_THAT(List("models/-", ""),
              ElementsAre("models/clouds/versions/2", "models/clouds/versions/1"));
  v1::ListModelVersionsRequest filter;
  EXPECT_EQ(Call(&v1::ModelService::Stub::ListModelVersions, filter,
                 std::make_unique<v1::ListModelVersionsResponse>().get())
                .error_code(),
            StatusCode::INVALID_ARGUMENT)
      << "of which model?";
  filter.set_model("models/-");
  filter.set_learner("lp_mkl");
  v1::ListModelVersionsResponse response;
  ASSERT_TRUE(Call(&v1::ModelService::Stub::ListModelVersions, filter, &response).ok());
  EXPECT_EQ(response.versions_size(), 2);
  filter.set_learner("svm");
  ASSERT_TRUE(Call(&v1::ModelService::Stub::ListModelVersions, filter, &response).ok());
  EXPECT_EQ(response.versions_size(), 0);
  const auto names = [this](const std::string& text, const std::string& model,
                            const std::string& order_by) {
    v1::ListModelVersionsRequest list;
    list.set_filter(text);
    list.set_model(model);
    list.set_order_by(order_by);
    v1::ListModelVersionsResponse listed;
    const grpc::Status status = Call(&v1::ModelService::Stub::ListModelVersions, list, &listed);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::string all;
    for (const v1::ModelVersion& found : listed.versions()) {
      all += found.name().substr(found.name().rfind('/') + 1);
    }
    return all;
  };
  v1::SetAliasRequest alias;
  alias.set_name("models/clouds/aliases/live");
  alias.set_version("models/clouds/versions/1");
  v1::Alias moved;
  ASSERT_TRUE(Call(&v1::ModelService::Stub::SetAlias, alias, &moved).ok());
  ASSERT_TRUE(GetVersion("models/clouds/versions/1").ok());
  EXPECT_EQ(names("labels.team:blue", "models/clouds", ""), "1");
  EXPECT_EQ(names("-labels:team", "models/clouds", ""), "2");
  EXPECT_EQ(names("labels:team", "models/-", ""), "1");
  EXPECT_EQ(names("", "models/clouds", "name"), "12");
  EXPECT_EQ(names("", "models/-", "create_time"), "12");
  EXPECT_EQ(names("name = models/clouds", "models/clouds", ""), "21");
  EXPECT_EQ(names("name = models/clouds/versions/2", "models/-", "name"), "2");
  EXPECT_EQ(names("learner = lp_mkl AND create_time > 2020-01-01T00:00:00Z", "models/-", ""), "21");
  EXPECT_EQ(names("job = " + model_.lineage().job(), "models/clouds", ""), "1");
  EXPECT_EQ(names("datasets:datasets/clouds", "models/-", ""), "21");
  EXPECT_EQ(names("datasets = datasets/others OR NOT datasets:*", "models/-", ""), "");
  EXPECT_EQ(names(absl::StrCat("size_bytes > ", model_.size_bytes()), "models/clouds", ""), "");
  EXPECT_EQ(names("aliases:*", "models/clouds", ""), "1");
  EXPECT_EQ(names("aliases != models/clouds/aliases/live", "models/clouds", ""), "2");
  EXPECT_EQ(names("aliases = models/other/aliases/live", "models/clouds", ""), "");
  EXPECT_EQ(names("owner = nobody-of-that-name OR description = none", "models/clouds", ""), "");
  filter.set_learner("");
  filter.set_filter("state = FAILED");
  EXPECT_THAT(Call(&v1::ModelService::Stub::ListModelVersions, filter, &response).error_message(),
              testing::HasSubstr("there is no field 'state'"));
  filter.set_filter("");
  filter.set_learner("No Learner");
  EXPECT_EQ(Call(&v1::ModelService::Stub::ListModelVersions, filter, &response).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace mercer::server
