// Aliases through the API: warm-up, names, history, rollback, and that a damaged version never answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/api/registry_fixture.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;

constexpr char kLive[] = "models/clouds/aliases/live";

class AliasesTest : public RegistryTest {
 protected:
  std::string VersionOf(const std::string& alias) {
    const auto found = real_storage_->models().GetAlias("clouds", alias);
    return found.ok() ? std::to_string(found->version) : found.status().ToString();
  }
};

TEST_F(AliasesTest, TargetIsLoadedBeforeTheAliasMoves) {
  ServeClouds(1);
  EXPECT_EQ(cache_->Find("clouds", 1), nullptr);
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/1", "none").ok());
  EXPECT_EQ(alias_.name(), kLive);
  EXPECT_EQ(alias_.version(), "models/clouds/versions/1");
  EXPECT_FALSE(alias_.etag().empty());
  EXPECT_NE(cache_->Find("clouds", 1), nullptr);
}

TEST_F(AliasesTest, DamagedTargetIsRefusedAndTheAliasStays) {
  ServeClouds(1);
  StoreCsv("more", CloudsCsv(60), "");
  TrainOn("more");
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/1").ok());
  const std::string before = alias_.etag();
  Damage(Version(2).model_blob);
  const grpc::Status refused = SetAlias(kLive, "models/clouds/versions/2");
  EXPECT_EQ(refused.error_code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(ReasonOf(refused), "BLOB_DAMAGED");
  v1::GetAliasRequest request;
  request.set_name(kLive);
  ASSERT_TRUE(Call(&v1::ModelService::Stub::GetAlias, request, &alias_).ok());
  EXPECT_EQ(alias_.version(), "models/clouds/versions/1");
  EXPECT_EQ(alias_.etag(), before);
}

TEST_F(AliasesTest, AnAliasHasOneName) {
  ServeClouds(1);
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/1").ok());
  EXPECT_EQ(alias_.name(), kLive);
  v1::GetAliasRequest request;
  for (const char* wrong : {"models/aliases/live", "models/clouds@live", "models/clouds/aliases/",
                            "models/clouds/aliases/a/b", "models/clouds/aliases/aliases/live"}) {
    request.set_name(wrong);
    EXPECT_EQ(Call(&v1::ModelService::Stub::GetAlias, request, &alias_).error_code(),
              StatusCode::INVALID_ARGUMENT)
        << wrong;
  }
  request.set_name("models/aliases/aliases/live");
  EXPECT_EQ(Call(&v1::ModelService::Stub::GetAlias, request, &alias_).error_code(),
            StatusCode::NOT_FOUND)
      << "a model may have that name";
}

TEST_F(AliasesTest, AliasNamesAModelEverywhere) {
  ServeClouds(2);
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/1").ok());
  ASSERT_TRUE(GetVersion(kLive).ok());
  EXPECT_EQ(model_.name(), "models/clouds/versions/1");
  EXPECT_THAT(model_.aliases(), ElementsAre(kLive));
  grpc::ClientContext context;
  v1::PredictResponse prediction;
  ASSERT_TRUE(prediction_->Predict(&context, CloudsRows(kLive, 1), &prediction).ok());
  EXPECT_EQ(prediction.model(), "models/clouds/versions/1");
  grpc::ClientContext stream_context;
  auto stream = prediction_->PredictStream(&stream_context);
  v1::PredictStreamRequest header;
  header.mutable_header()->set_model(kLive);
  header.mutable_header()->set_dataset("datasets/clouds");
  stream->Write(header);
  stream->WritesDone();
  ASSERT_TRUE(stream->Read(&prediction));
  EXPECT_EQ(prediction.model(), "models/clouds/versions/1");
  EXPECT_FALSE(stream->Read(&prediction));
  EXPECT_TRUE(stream->Finish().ok());
  grpc::ClientContext export_context;
  v1::ExportModelRequest request;
  request.set_name(kLive);
  auto exported = models_->ExportModel(&export_context, request);
  v1::ExportModelResponse message;
  ASSERT_TRUE(exported->Read(&message));
  EXPECT_EQ(message.header().model(), "models/clouds/versions/1");
  while (exported->Read(&message)) {
  }
  EXPECT_TRUE(exported->Finish().ok());
  ASSERT_TRUE(Evaluate(kLive, "datasets/clouds").ok());
  EXPECT_EQ(evaluation_.model(), "models/clouds/versions/1");
  ASSERT_TRUE(Verify(kLive).ok());
  EXPECT_EQ(verification_.model(), "models/clouds/versions/1");
}

TEST_F(AliasesTest, VersionOfAnAliasCannotBeDeletedNorTheAliasItself) {
  ServeClouds(2);
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/1").ok());
  EXPECT_EQ(Delete(kLive).error_code(), StatusCode::INVALID_ARGUMENT);
  for (const char* name : {"models/clouds/versions/1", "models/clouds"}) {
    const grpc::Status refused = Delete(name);
    EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(ReasonOf(refused), "VERSION_HAS_ALIAS");
    EXPECT_EQ(MetadataOf(refused, "aliases"), "live");
    EXPECT_EQ(MetadataOf(refused, "resource_name"), name);
  }
  EXPECT_TRUE(Delete("models/clouds/versions/2").ok());
  ASSERT_TRUE(SetAlias(kLive, "").ok());
  EXPECT_EQ(alias_.etag(), "none");
  EXPECT_EQ(GetVersion(kLive).error_code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(Delete("models/clouds").ok());
}

TEST_F(AliasesTest, StaleEtagIsAbortedWithTheCurrentOne) {
  ServeClouds(2);
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/1", "none").ok());
  const std::string current = alias_.etag();
  for (const char* etag : {"none", "77"}) {
    const grpc::Status refused = SetAlias(kLive, "models/clouds/versions/2", etag);
    EXPECT_EQ(refused.error_code(), StatusCode::ABORTED);
    EXPECT_EQ(ReasonOf(refused), "STALE_ETAG");
    EXPECT_EQ(MetadataOf(refused, "etag"), current);
  }
  EXPECT_EQ(VersionOf("live"), "1");
  EXPECT_TRUE(SetAlias(kLive, "models/clouds/versions/2", current).ok());
}

TEST_F(AliasesTest, RollbackLeadsBackOnceAndIsInTheHistory) {
  ServeClouds(2);
  EXPECT_EQ(Rollback(kLive).error_code(), StatusCode::NOT_FOUND);
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/1").ok());
  EXPECT_EQ(ReasonOf(Rollback(kLive)), "NO_EARLIER_VERSION");
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/2").ok());
  for (int repeat = 0; repeat < 2; ++repeat) {
    const grpc::Status status = Rollback(kLive, "the-same");
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(alias_.version(), "models/clouds/versions/1");
  }
  v1::ListAliasHistoryRequest request;
  request.set_name(kLive);
  v1::ListAliasHistoryResponse history;
  ASSERT_TRUE(Call(&v1::ModelService::Stub::ListAliasHistory, request, &history).ok());
  ASSERT_EQ(history.changes_size(), 3);
  EXPECT_EQ(history.changes(0).sequence(), 3);
  EXPECT_TRUE(history.changes(0).rollback());
  EXPECT_EQ(history.changes(0).from(), "models/clouds/versions/2");
  EXPECT_EQ(history.changes(0).to(), "models/clouds/versions/1");
  EXPECT_EQ(history.changes(2).from(), "");
  EXPECT_EQ(history.next_page_token(), "");
  ASSERT_TRUE(Delete("models/clouds/versions/2").ok());
  EXPECT_EQ(Rollback(kLive).error_code(), StatusCode::NOT_FOUND) << "that version is deleted";
  EXPECT_EQ(VersionOf("live"), "1");
}

TEST_F(AliasesTest, ReusedRequestIdIsRefused) {
  ServeClouds(2);
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/1", "", "id").ok());
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/2").ok());
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/1", "", "id").ok());
  EXPECT_EQ(VersionOf("live"), "2") << "a repeated request moves nothing";
  const grpc::Status refused = SetAlias(kLive, "models/clouds/versions/2", "", "id");
  EXPECT_EQ(refused.error_code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(ReasonOf(refused), "REQUEST_ID_REUSED");
}

TEST_F(AliasesTest, GetModelVersionAnswersAsOfATime) {
  ServeClouds(2);
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/1").ok());
  const google::protobuf::Timestamp first = alias_.update_time();
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/2").ok());
  v1::GetModelVersionRequest request;
  request.set_name(kLive);
  *request.mutable_as_of_time() = first;
  ASSERT_TRUE(Call(&v1::ModelService::Stub::GetModelVersion, request, &model_).ok());
  EXPECT_EQ(model_.name(), "models/clouds/versions/1");
  *request.mutable_as_of_time() = alias_.update_time();
  ASSERT_TRUE(Call(&v1::ModelService::Stub::GetModelVersion, request, &model_).ok());
  EXPECT_EQ(model_.name(), "models/clouds/versions/2");
  request.mutable_as_of_time()->set_seconds(first.seconds() - 1);
  EXPECT_EQ(Call(&v1::ModelService::Stub::GetModelVersion, request, &model_).error_code(),
            StatusCode::NOT_FOUND);
  request.mutable_as_of_time()->set_nanos(-1);
  EXPECT_EQ(Call(&v1::ModelService::Stub::GetModelVersion, request, &model_).error_code(),
            StatusCode::INVALID_ARGUMENT);
  request.mutable_as_of_time()->set_nanos(0);
  request.set_name("models/clouds");
  EXPECT_EQ(Call(&v1::ModelService::Stub::GetModelVersion, request, &model_).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(AliasesTest, BadNamesAreRefused) {
  ServeClouds(1);
  for (const char* name : {"models/clouds/aliases/12", "models/clouds/aliases/newest",
                           "models/clouds/aliases/", "models/clouds", "models/clouds/versions/1",
                           "models/clouds/aliases/.x", "models/clouds/aliases/A"}) {
    EXPECT_EQ(SetAlias(name, "models/clouds/versions/1").error_code(), StatusCode::INVALID_ARGUMENT)
        << name;
  }
  for (const char* version :
       {"models/clouds", "models/other/versions/1", "models/clouds/aliases/best", "1"}) {
    EXPECT_EQ(SetAlias(kLive, version).error_code(), StatusCode::INVALID_ARGUMENT) << version;
  }
  EXPECT_TRUE(SetAlias("models/clouds/aliases/v1.2", "models/clouds/versions/1").ok());
  EXPECT_EQ(SetAlias(kLive, "models/clouds/versions/9").error_code(), StatusCode::NOT_FOUND);
}

TEST_F(AliasesTest, AliasesOfAModelAreListed) {
  ServeClouds(2);
  ASSERT_TRUE(SetAlias(kLive, "models/clouds/versions/1").ok());
  ASSERT_TRUE(SetAlias("models/clouds/aliases/best", "models/clouds/versions/2").ok());
  v1::ListAliasesRequest request;
  request.set_model("models/clouds");
  request.set_page_size(1);
  v1::ListAliasesResponse page;
  ASSERT_TRUE(Call(&v1::ModelService::Stub::ListAliases, request, &page).ok());
  ASSERT_EQ(page.aliases_size(), 1);
  EXPECT_EQ(page.aliases(0).name(), "models/clouds/aliases/best");
  request.set_page_token(page.next_page_token());
  ASSERT_TRUE(Call(&v1::ModelService::Stub::ListAliases, request, &page).ok());
  EXPECT_EQ(page.aliases(0).name(), kLive);
  EXPECT_EQ(page.next_page_token(), "");
  request.Clear();
  request.set_model("models/none");
  EXPECT_EQ(Call(&v1::ModelService::Stub::ListAliases, request, &page).error_code(),
            StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace mercer::server
