// A flipped bit in a blob: the answers that need it are DATA_LOSS, all others go on.
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

#include "client/cpp/errors.h"
#include "tests/fault/fault_fixture.h"

namespace mercer::server {
namespace {

class DamagedBlobTest : public FaultTest {
 protected:
  std::filesystem::path BlobPath(const std::string& digest) const {
    return folder_ / "data" / "blobs" / digest.substr(0, 2) / digest;
  }

  void FlipBit(const std::string& digest) const {
    const std::filesystem::path path = BlobPath(digest);
    const auto middle = static_cast<std::streamoff>(std::filesystem::file_size(path) / 2);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    ASSERT_TRUE(file.is_open()) << path;
    file.seekg(middle);
    const int byte = file.get();
    file.seekp(middle);
    file.put(static_cast<char>(byte ^ 0x10));
  }

  static absl::Status Predict(client::Client& client, const std::string& model) {
    v1::PredictHeader header;
    header.set_model(model);
    header.set_dataset("datasets/clouds");
    return client.PredictDataset(header,
                                 [](const v1::PredictResponse&) { return absl::OkStatus(); });
  }
};

void ExpectDamaged(const absl::Status& status, const std::string& digest) {
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  const client::ErrorReport report = client::ReadErrorReport(status);
  EXPECT_EQ(report.reason, "BLOB_DAMAGED") << status;
  EXPECT_NE(std::string(status.message()).find(digest), std::string::npos) << status;
}

TEST_F(DamagedBlobTest, DamagedModelIsDataLossAndTheServerLivesOn) {
  v1::ModelVersion damaged;
  std::string intact;
  {
    ServerProcess server(Options("data"));
    ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
    client::Client client(OneTry(server.address()));
    UploadClouds(client);
    v1::TrainRequest request = CloudsRequest();
    const std::string name = TrainToEnd(client, request);
    request.mutable_learner()->mutable_lp_mkl()->set_c(3.0);
    intact = TrainToEnd(client, request);
    const absl::StatusOr<v1::ModelVersion> model =
        client.GetModelVersion(name, v1::MODEL_VERSION_VIEW_BASIC);
    ASSERT_TRUE(model.ok()) << model.status();
    damaged = *model;
  }
  FlipBit(damaged.digest());
  ServerProcess server(Options("data"));
  ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
  client::Client client(OneTry(server.address()));
  ExpectDamaged(client.GetModelVersion(damaged.name(), v1::MODEL_VERSION_VIEW_FULL).status(),
                damaged.digest());
  ExpectDamaged(client.ExportModel(damaged.name(), folder_ / "export").status(), damaged.digest());
  ExpectDamaged(Predict(client, damaged.name()), damaged.digest());
  EXPECT_TRUE(Predict(client, intact).ok());
  // What is known without the blob is still told, and the model can be removed and made again.
  EXPECT_TRUE(client.GetModelVersion(damaged.name(), v1::MODEL_VERSION_VIEW_BASIC).ok());
  EXPECT_TRUE(client.DeleteModelVersion(damaged.name()).ok());
  const std::string again = TrainToEnd(client, CloudsRequest());
  EXPECT_EQ(ExportedDigest(client, again), damaged.digest());
  EXPECT_TRUE(Predict(client, again).ok());
}

TEST_F(DamagedBlobTest, DamagedDataSetIsDataLossAndTheServerLivesOn) {
  v1::Dataset dataset;
  std::string model;
  {
    ServerProcess server(Options("data"));
    ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
    client::Client client(OneTry(server.address()));
    dataset = UploadClouds(client);
    model = TrainToEnd(client, CloudsRequest());
  }
  FlipBit(dataset.digest());
  ServerProcess server(Options("data"));
  ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
  client::Client client(OneTry(server.address()));
  ExpectDamaged(Predict(client, model), dataset.digest());
  ExpectDamaged(client.Train(CloudsRequest()).status(), dataset.digest());
  ExportedDigest(client, model);
  EXPECT_TRUE(client.DeleteDataset("datasets/clouds").ok());
  EXPECT_EQ(UploadClouds(client).digest(), dataset.digest());
  EXPECT_TRUE(Predict(client, model).ok());
}

}  // namespace
}  // namespace mercer::server
