// The registry of a whole server: what restarts keep, and what retention takes away everywhere.
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <gtest/gtest.h>

#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

constexpr char kLive[] = "models/m/aliases/live";

class RegistryTest : public ServerTest {
 protected:
  void SetUp() override {
    StartServer();
    v1::Dataset dataset;
    ASSERT_TRUE(Upload(CloudsCsv(60, 2, 1), "clouds", &dataset).ok());
    Train();
  }
  void Train() {
    v1::TrainRequest request = MakeRequest("datasets/clouds");
    request.set_model("models/m");
    request.set_seed(++seed_);
    EXPECT_EQ(WaitForEnd(TrainOk(request).name()).state(), v1::JOB_STATE_SUCCEEDED);
  }
  grpc::Status SetAlias(int version, const std::string& etag, v1::Alias* alias) {
    grpc::ClientContext context;
    v1::SetAliasRequest request;
    request.set_name(kLive);
    request.set_version("models/m/versions/" + std::to_string(version));
    request.set_etag(etag);
    return models_->SetAlias(&context, request, alias);
  }
  grpc::Status Predict(const std::string& model, v1::PredictResponse* response) {
    grpc::ClientContext context;
    return prediction_->Predict(&context, MakePrediction(model, 1, 2), response);
  }

 private:
  uint64_t seed_ = 0;
};

TEST_F(RegistryTest, AliasOutlivesACrash) {
  v1::Alias alias;
  ASSERT_TRUE(SetAlias(1, "none", &alias).ok());
  Train();
  ASSERT_TRUE(SetAlias(2, alias.etag(), &alias).ok());
  KillServer();
  StartServer();
  v1::PredictResponse response;
  ASSERT_TRUE(Predict(kLive, &response).ok());
  EXPECT_EQ(response.model(), "models/m/versions/2");
  grpc::ClientContext context;
  v1::ListAliasHistoryRequest request;
  request.set_name(kLive);
  v1::ListAliasHistoryResponse history;
  ASSERT_TRUE(models_->ListAliasHistory(&context, request, &history).ok());
  EXPECT_EQ(history.changes_size(), 2);
  EXPECT_EQ(SetAlias(1, "none", &alias).error_code(), grpc::StatusCode::ABORTED);
}

TEST_F(RegistryTest, VersionThatIsNotKeptDoesNotAnswerFromMemory) {
  v1::PredictResponse response;
  ASSERT_TRUE(Predict("models/m/versions/1", &response).ok());
  grpc::ClientContext context;
  v1::SetRetentionRequest request;
  request.set_name("models/m");
  request.set_keep_newest(1);
  v1::Retention retention;
  ASSERT_TRUE(models_->SetRetention(&context, request, &retention).ok());
  EXPECT_EQ(retention.deleted_size(), 0);
  Train();
  // Who reads the end from storage may be earlier than the server's memory, by an instant.
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  grpc::Status status;
  do {
    status = Predict("models/m/versions/1", &response);
  } while (status.ok() && absl::Now() < deadline);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(Predict("models/m", &response).ok());
}

TEST_F(RegistryTest, OneOfTwoClientsMovesTheAlias) {
  Train();
  Train();
  v1::Alias alias;
  ASSERT_TRUE(SetAlias(1, "none", &alias).ok());
  std::vector<grpc::Status> statuses(2);
  std::vector<std::thread> clients;
  for (int c = 0; c < 2; ++c) {
    clients.emplace_back([&, c] {
      v1::Alias moved;
      statuses[static_cast<size_t>(c)] = SetAlias(2 + c, alias.etag(), &moved);
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_NE(statuses[0].ok(), statuses[1].ok());
  EXPECT_EQ(ReasonOf(statuses[statuses[0].ok() ? 1 : 0]), "STALE_ETAG");
}

}  // namespace
}  // namespace mercer::server
