// A path that keeps the models of all values, through a whole server: versions, labels, certificates, ends of the process.
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include <gmock/gmock.h>

#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

class PathModelsTest : public ServerTest {
 protected:
  void SetUp() override {
    StartServer();
    v1::Dataset dataset;
    ASSERT_TRUE(Upload(CloudsCsv(60, 2, 1), "clouds", &dataset).ok());
  }

  static v1::TrainRequest PathRequest() {
    v1::TrainRequest request = MakeRequest("datasets/clouds");
    request.mutable_learner()->mutable_svm();
    request.mutable_validation()->mutable_folds()->set_count(3);
    request.mutable_path()->set_option("C");
    for (const double value : {0.01, 1.0, 100.0}) {
      request.mutable_path()->add_values(value);
    }
    request.mutable_path()->set_keep_all(true);
    request.set_model("models/path");
    (*request.mutable_labels())["team"] = "a";
    return request;
  }
  // Oldest first.
  std::vector<v1::ModelVersion> Versions() {
    grpc::ClientContext context;
    v1::ListModelVersionsRequest request;
    request.set_model("models/path");
    v1::ListModelVersionsResponse response;
    const grpc::Status status = models_->ListModelVersions(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return {response.versions().rbegin(), response.versions().rend()};
  }
};

TEST_F(PathModelsTest, EveryValueBecomesAVersionAndTheBestIsTheLast) {
  const v1::Job job = WaitForEnd(TrainOk(PathRequest()).name());
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.error().message();
  EXPECT_EQ(job.model(), "models/path/versions/3");
  KillServer();
  StartServer();
  const std::vector<v1::ModelVersion> versions = Versions();
  ASSERT_EQ(versions.size(), 3u);
  std::vector<std::string> values;
  for (const v1::ModelVersion& version : versions) {
    values.push_back(version.labels().at("path.value"));
    EXPECT_EQ(version.labels().at("team"), "a");
    EXPECT_EQ(version.labels().count("path.best"), &version == &versions.back() ? 1u : 0u);
    EXPECT_EQ(version.lineage().job(), job.name());
    grpc::ClientContext context;
    v1::VerifyModelRequest verify;
    verify.set_name(version.name());
    v1::VerifyModelResponse verified;
    const grpc::Status status = models_->VerifyModel(&context, verify, &verified);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(verified.matches()) << version.name();
  }
  EXPECT_THAT(values, UnorderedElementsAre("0.01", "1", "100"));
}

TEST_F(PathModelsTest, VersionsAreFoundByTheirLabelsAndDeletedOneByOne) {
  ASSERT_EQ(WaitForEnd(TrainOk(PathRequest()).name()).state(), v1::JOB_STATE_SUCCEEDED);
  for (const auto& [label, value] :
       {std::pair("path.value", "100"), std::pair("path.best", "true")}) {
    grpc::ClientContext listing;
    v1::ListModelVersionsRequest list;
    list.set_model("models/path");
    (*list.mutable_labels())[label] = value;
    v1::ListModelVersionsResponse found;
    ASSERT_TRUE(models_->ListModelVersions(&listing, list, &found).ok());
    ASSERT_EQ(found.versions_size(), 1) << label;
    EXPECT_EQ(found.versions(0).labels().at(label), value);
  }
  grpc::ClientContext context;
  v1::DeleteModelVersionRequest request;
  request.set_name("models/path/versions/1");
  google::protobuf::Empty response;
  ASSERT_TRUE(models_->DeleteModelVersion(&context, request, &response).ok());
  EXPECT_EQ(Versions().size(), 2u);
  EXPECT_EQ(Versions().back().labels().at("path.best"), "true");
}

TEST_F(PathModelsTest, LabelsThatItSetsAreRefused) {
  v1::TrainRequest request = PathRequest();
  (*request.mutable_labels())["path.best"] = "mine";
  for (int i = 0; i < 62; ++i) {
    (*request.mutable_labels())["key-" + std::to_string(i)] = "";
  }
  grpc::ClientContext context;
  v1::Job job;
  const grpc::Status status = training_->Train(&context, request, &job);
  EXPECT_THAT(
      ViolationsOf(status),
      UnorderedElementsAre("labels['path.best']: is a label that path.keep_all sets",
                           "labels: must be at most 62 when path.keep_all adds two, are 64"));
}

TEST_F(PathModelsTest, AServerThatDiesWhileTheModelsAreTrainedGoesOnWithThem) {
  v1::TrainRequest request = PathRequest();
  request.mutable_stopping()->set_relative_gap(1e-12);
  const std::string name = TrainOk(request).name();
  for (int kill = 0; kill < 4; ++kill) {
    absl::SleepFor(absl::Milliseconds(15));
    KillServer();
    StartServer();
  }
  ASSERT_EQ(WaitForEnd(name).state(), v1::JOB_STATE_SUCCEEDED);
  const std::vector<v1::ModelVersion> versions = Versions();
  ASSERT_EQ(versions.size(), 3u);
  EXPECT_EQ(versions.back().labels().count("path.best"), 1u);
}

TEST_F(PathModelsTest, WithoutItTheBestAloneIsKept) {
  v1::TrainRequest request = PathRequest();
  request.mutable_path()->set_keep_all(false);
  ASSERT_EQ(WaitForEnd(TrainOk(request).name()).state(), v1::JOB_STATE_SUCCEEDED);
  const std::vector<v1::ModelVersion> versions = Versions();
  ASSERT_EQ(versions.size(), 1u);
  EXPECT_THAT(versions[0].labels(), ElementsAre(Pair("team", "a")));
}

}  // namespace
}  // namespace mercer::server
