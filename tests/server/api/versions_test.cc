// Labels, descriptions, retention and filters of versions through the API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/api/registry_fixture.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;

class VersionsTest : public RegistryTest {
 protected:
  grpc::Status Update(const v1::UpdateModelRequest& request) {
    return Call(&v1::ModelService::Stub::UpdateModel, request, &model_);
  }
  grpc::Status Keep(int newest, bool validate_only) {
    v1::SetRetentionRequest request;
    request.set_name("models/clouds");
    request.set_keep_newest(newest);
    request.set_validate_only(validate_only);
    return Call(&v1::ModelService::Stub::SetRetention, request, &retention_);
  }
  std::vector<std::string> List(const std::string& model, const std::string& team) {
    v1::ListModelsRequest request;
    request.set_model(model);
    if (!team.empty()) {
      (*request.mutable_labels())["team"] = team;
    }
    v1::ListModelsResponse response;
    EXPECT_TRUE(Call(&v1::ModelService::Stub::ListModels, request, &response).ok());
    std::vector<std::string> names;
    for (const v1::Model& listed : response.models()) {
      names.push_back(listed.name());
    }
    return names;
  }

  v1::Retention retention_;
};

TEST_F(VersionsTest, UpdateChangesWhatTheMaskNames) {
  ServeClouds(1);
  ASSERT_TRUE(GetModel("models/clouds").ok());
  const std::string first = model_.etag();
  v1::UpdateModelRequest request;
  request.mutable_model()->set_name("models/clouds/versions/1");
  request.mutable_model()->set_etag(first);
  request.mutable_model()->set_description("for the demo");
  (*request.mutable_model()->mutable_labels())["team"] = "blue";
  request.mutable_update_mask()->add_paths("description");
  ASSERT_TRUE(Update(request).ok());
  EXPECT_EQ(model_.description(), "for the demo");
  EXPECT_TRUE(model_.labels().empty());
  const std::string second = model_.etag();
  EXPECT_NE(second, first);
  EXPECT_TRUE(Update(request).ok()) << "repeated, as by a client that has lost the answer";
  EXPECT_EQ(model_.etag(), second);
  request.mutable_model()->set_description("for another demo");
  const grpc::Status stale = Update(request);
  EXPECT_EQ(stale.error_code(), StatusCode::ABORTED);
  EXPECT_EQ(ReasonOf(stale), "STALE_ETAG");
  EXPECT_EQ(MetadataOf(stale, "etag"), second);
  request.mutable_model()->clear_etag();
  request.mutable_model()->clear_description();
  request.clear_update_mask();  // both
  ASSERT_TRUE(Update(request).ok());
  EXPECT_EQ(model_.description(), "");
  EXPECT_EQ(model_.labels().at("team"), "blue");
  ASSERT_TRUE(GetModel("models/clouds").ok());
  EXPECT_EQ(model_.labels().at("team"), "blue");
}

TEST_F(VersionsTest, UpdateRefusesWhatCannotBeChanged) {
  ServeClouds(1);
  v1::UpdateModelRequest request;
  EXPECT_EQ(Update(request).error_code(), StatusCode::INVALID_ARGUMENT);
  request.mutable_model()->set_name("models/none");
  EXPECT_EQ(Update(request).error_code(), StatusCode::NOT_FOUND);
  request.mutable_model()->set_name("models/clouds");
  for (const char* path : {"learner", "labels.team", "*", ""}) {
    request.mutable_update_mask()->clear_paths();
    request.mutable_update_mask()->add_paths(path);
    EXPECT_EQ(Update(request).error_code(), StatusCode::INVALID_ARGUMENT) << path;
  }
  request.mutable_update_mask()->clear_paths();
  EXPECT_EQ(Update(request).error_code(), StatusCode::INVALID_ARGUMENT);
  request.clear_update_mask();
  request.mutable_model()->set_description(std::string(4097, 'x'));
  EXPECT_EQ(Update(request).error_code(), StatusCode::INVALID_ARGUMENT);
  request.mutable_model()->set_description(std::string(4096, 'x'));
  EXPECT_TRUE(Update(request).ok());
}

TEST_F(VersionsTest, RetentionDeletesVersionsWithTheirFilesAndFromMemory) {
  ServeClouds(1);
  StoreCsv("more", CloudsCsv(60), "");
  TrainOn("more");
  TrainOn("clouds");
  const std::string blob = Version(2).model_blob;
  ASSERT_TRUE(std::filesystem::exists(BlobPath(blob)));
  ASSERT_TRUE(SetAlias("models/clouds@live", "models/clouds/versions/1").ok());
  ASSERT_TRUE(cache_->Load("clouds", 2).ok());
  ASSERT_TRUE(Keep(1, true).ok());
  EXPECT_THAT(retention_.deleted(), ElementsAre("models/clouds/versions/2"));
  EXPECT_NE(cache_->Find("clouds", 2), nullptr);
  ASSERT_TRUE(Keep(1, false).ok());
  EXPECT_THAT(retention_.deleted(), ElementsAre("models/clouds/versions/2"));
  EXPECT_EQ(cache_->Find("clouds", 2), nullptr);
  EXPECT_FALSE(std::filesystem::exists(BlobPath(blob)));
  v1::GetRetentionRequest request;
  request.set_name("models/clouds");
  ASSERT_TRUE(Call(&v1::ModelService::Stub::GetRetention, request, &retention_).ok());
  EXPECT_EQ(retention_.keep_newest(), 1);
  EXPECT_THAT(List("models/clouds", ""),
              ElementsAre("models/clouds/versions/3", "models/clouds/versions/1"));
  TrainOn("more");
  EXPECT_THAT(List("models/clouds", ""),
              ElementsAre("models/clouds/versions/4", "models/clouds/versions/1"));
  EXPECT_EQ(Keep(-1, false).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(VersionsTest, ListsAreFilteredByLabelsAndLearner) {
  ServeClouds(2);
  v1::UpdateModelRequest request;
  request.mutable_model()->set_name("models/clouds/versions/1");
  (*request.mutable_model()->mutable_labels())["team"] = "blue";
  ASSERT_TRUE(Update(request).ok());
  EXPECT_THAT(List("models/clouds", "blue"), ElementsAre("models/clouds/versions/1"));
  EXPECT_THAT(List("models/clouds", "red"), ElementsAre());
  EXPECT_THAT(List("", "blue"), ElementsAre()) << "the newest version has no label";
  EXPECT_THAT(List("", ""), ElementsAre("models/clouds/versions/2"));
  v1::ListModelsRequest filter;
  filter.set_learner("lp_mkl");
  v1::ListModelsResponse response;
  ASSERT_TRUE(Call(&v1::ModelService::Stub::ListModels, filter, &response).ok());
  EXPECT_EQ(response.models_size(), 1);
  filter.set_learner("svm");
  ASSERT_TRUE(Call(&v1::ModelService::Stub::ListModels, filter, &response).ok());
  EXPECT_EQ(response.models_size(), 0);
  const auto names = [this](const std::string& text, const std::string& model,
                            const std::string& order_by) {
    v1::ListModelsRequest list;
    list.set_filter(text);
    list.set_model(model);
    list.set_order_by(order_by);
    v1::ListModelsResponse listed;
    const grpc::Status status = Call(&v1::ModelService::Stub::ListModels, list, &listed);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::string all;
    for (const v1::Model& found : listed.models()) {
      all += found.name().substr(found.name().rfind('/') + 1);
    }
    return all;
  };
  v1::SetAliasRequest alias;
  alias.set_name("models/clouds@live");
  alias.set_version("models/clouds/versions/1");
  v1::Alias moved;
  ASSERT_TRUE(Call(&v1::ModelService::Stub::SetAlias, alias, &moved).ok());
  ASSERT_TRUE(GetModel("models/clouds/versions/1").ok());
  EXPECT_EQ(names("labels.team:blue", "models/clouds", ""), "1");
  EXPECT_EQ(names("-labels:team", "models/clouds", ""), "2");
  EXPECT_EQ(names("labels:team", "", ""), "");
  EXPECT_EQ(names("", "models/clouds", "name"), "12");
  EXPECT_EQ(names("", "", "create_time desc"), "2");
  EXPECT_EQ(names("name = models/clouds", "models/clouds", ""), "21");
  EXPECT_EQ(names("name = models/clouds/versions/2", "", "create_time"), "2");
  EXPECT_EQ(names("name = models/clouds/versions/1", "", "create_time"), "");
  EXPECT_EQ(names("learner = lp_mkl AND create_time > 2020-01-01T00:00:00Z", "", ""), "2");
  EXPECT_EQ(names("job = " + model_.lineage().job(), "models/clouds", ""), "1");
  EXPECT_EQ(names(absl::StrCat("size_bytes > ", model_.size_bytes()), "models/clouds", ""), "");
  EXPECT_EQ(names("aliases:*", "models/clouds", ""), "1");
  EXPECT_EQ(names("aliases != models/clouds@live", "models/clouds", ""), "2");
  EXPECT_EQ(names("aliases = models/other@live", "models/clouds", ""), "");
  EXPECT_EQ(names("owner = nobody-of-that-name OR description = none", "models/clouds", ""), "");
  filter.set_learner("");
  filter.set_filter("state = FAILED");
  EXPECT_THAT(Call(&v1::ModelService::Stub::ListModels, filter, &response).error_message(),
              testing::HasSubstr("there is no field 'state'"));
  filter.set_filter("");
  filter.set_learner("No Learner");
  EXPECT_EQ(Call(&v1::ModelService::Stub::ListModels, filter, &response).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace mercer::server
