// From the upload to the prediction, over restarts.
#include <cmath>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include "server/digest/sha256.h"
#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class LifecycleTest : public ServerTest {
 protected:
  v1::PredictResponse PredictOk(const v1::PredictRequest& request) {
    grpc::ClientContext context;
    v1::PredictResponse response;
    const grpc::Status status = prediction_->Predict(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  v1::ModelVersion GetVersionOk(const std::string& name, v1::ModelVersionView view) {
    grpc::ClientContext context;
    v1::GetModelVersionRequest request;
    request.set_name(name);
    request.set_view(view);
    v1::ModelVersion model;
    const grpc::Status status = models_->GetModelVersion(&context, request, &model);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return model;
  }
};

TEST_F(LifecycleTest, UploadTrainWatchPredictRestartPredict) {
  StartServer();
  v1::Dataset dataset;
  const grpc::Status uploaded = Upload(CloudsCsv(200, 5, 1), "clouds", &dataset);
  ASSERT_TRUE(uploaded.ok()) << uploaded.error_message();
  EXPECT_EQ(dataset.rows(), 200);

  v1::TrainRequest request = MakeRequest("datasets/clouds");
  request.set_model("models/clouds");
  (*request.mutable_labels())["team"] = "a";
  const v1::Job queued = TrainOk(request);
  EXPECT_EQ(queued.learner(), "lp_mkl");

  std::vector<v1::ProgressEvent> events;
  const grpc::Status streamed = Stream(queued.name(), 0, &events);
  ASSERT_TRUE(streamed.ok()) << streamed.error_message();
  ASSERT_FALSE(events.empty());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].sequence(), static_cast<int64_t>(i) + 1);
  }
  EXPECT_EQ(events.back().state_change().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(events.back().state_change().model(), "models/clouds/versions/1");

  const v1::Job job = WaitForEnd(queued.name());
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.ShortDebugString();
  EXPECT_EQ(job.model(), "models/clouds/versions/1");
  EXPECT_EQ(job.attempts_size(), 1);
  EXPECT_EQ(job.request().seed(), request.seed());

  const v1::ModelVersion model = GetVersionOk("models/clouds", v1::MODEL_VERSION_VIEW_FULL);
  EXPECT_EQ(model.name(), "models/clouds/versions/1");
  EXPECT_LE(model.certificate().accuracy(), 1e-3);
  EXPECT_GE(model.certificate().primal(), model.certificate().dual());
  EXPECT_EQ(model.lineage().job(), job.name());
  EXPECT_THAT(model.lineage().data_digests(), ElementsAre(dataset.digest()));
  EXPECT_EQ(model.labels().at("team"), "a");
  EXPECT_EQ(model.kernel_weights().kernels_size(), 4);
  EXPECT_GT(model.function().kernel_terms_size(), 0);
  bool has_accuracy = false;
  for (const v1::Metric& metric : model.metrics()) {
    if (metric.name() == "held_out.accuracy") {
      has_accuracy = true;
      EXPECT_GT(metric.value(), 0.7);
    }
  }
  EXPECT_TRUE(has_accuracy);

  const v1::PredictRequest rows = MakePrediction("models/clouds", 3, 5);
  const v1::PredictResponse before = PredictOk(rows);
  EXPECT_THAT(before.labels(), SizeIs(3));
  EXPECT_EQ(before.model(), "models/clouds/versions/1");

  DrainServer();
  StartServer();
  const v1::PredictResponse after = PredictOk(rows);
  EXPECT_EQ(before.SerializeAsString(), after.SerializeAsString());
  std::vector<v1::ProgressEvent> replayed;
  ASSERT_TRUE(Stream(queued.name(), 0, &replayed).ok());
  ASSERT_EQ(replayed.size(), events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(replayed[i].SerializeAsString(), events[i].SerializeAsString()) << i;
  }
}

// The formula at the head of model_version.proto, with nothing but the message.
double EvaluateByHand(const v1::ModelVersion& model, const std::vector<double>& row) {
  const v1::ModelFunction& function = model.function();
  std::vector<double> x;
  for (int c = 0; c < model.preprocessing().blocks(0).columns_size(); ++c) {
    const v1::ColumnTransform& column = model.preprocessing().blocks(0).columns(c);
    x.push_back((row[static_cast<size_t>(c)] - column.offset()) * column.factor());
  }
  double value = function.bias(0);
  for (const v1::KernelTerm& term : function.kernel_terms()) {
    const v1::Basis& basis = function.bases(term.basis());
    const v1::Matrix& values = basis.blocks(0).values();
    for (int e = 0; e < term.coefficients().values_size(); ++e) {
      const int z = term.coefficients().row_indices(e);
      double squared = 0;
      for (size_t c = 0; c < x.size(); ++c) {
        const double difference =
            x[c] - values.values(z * static_cast<int>(x.size()) + static_cast<int>(c));
        squared += difference * difference;
      }
      for (int k = 0; k < term.kernels_size(); ++k) {
        const double width = term.kernels(k).bandwidth();
        value += term.coefficients().values(e) * term.weights().values(k) *
                 std::exp(-squared / (2 * width * width));
      }
    }
  }
  return value;
}

TEST_F(LifecycleTest, FetchedModelEvaluatesToTheServersValues) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(120, 4, 2), "clouds", &dataset).ok());
  const v1::Job job = WaitForEnd(TrainOk(MakeRequest("datasets/clouds")).name());
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.ShortDebugString();
  const v1::ModelVersion model = GetVersionOk(job.model(), v1::MODEL_VERSION_VIEW_FULL);
  const v1::PredictResponse response = PredictOk(MakePrediction(job.model(), 4, 4));
  for (int r = 0; r < 4; ++r) {
    const double by_hand = EvaluateByHand(model, {static_cast<double>(r), 0, 0, 0});
    EXPECT_NEAR(response.decision_values().values(r), by_hand, 1e-10 * (1 + std::abs(by_hand)));
    EXPECT_EQ(response.labels(r), model.coding().classes(by_hand >= 0 ? 1 : 0));
  }
}

TEST_F(LifecycleTest, PredictStreamAgreesWithPredictForRowsAndStoredDataSets) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(100, 3, 3), "clouds", &dataset).ok());
  const v1::Job job = WaitForEnd(TrainOk(MakeRequest("datasets/clouds")).name());
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.ShortDebugString();
  v1::PredictRequest request = MakePrediction(job.model(), 5, 3);
  request.set_contributions(true);
  const v1::PredictResponse expected = PredictOk(request);
  ASSERT_GT(expected.contributions_size(), 1);
  double sum = 0;
  for (const v1::Contribution& part : expected.contributions()) {
    sum += part.values().values(0);
  }
  EXPECT_NEAR(sum, expected.decision_values().values(0), 1e-9);

  grpc::ClientContext context;
  auto stream = prediction_->PredictStream(&context);
  v1::PredictStreamRequest message;
  message.mutable_header()->set_model(job.model());
  message.mutable_header()->set_contributions(true);
  stream->Write(message);
  v1::PredictResponse response;
  for (int i = 0; i < 3; ++i) {
    *message.mutable_rows() = request.rows();
    stream->Write(message);
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.SerializeAsString(), expected.SerializeAsString());
  }
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());

  request.clear_contributions();
  request.set_dataset("datasets/clouds");
  const v1::PredictResponse whole = PredictOk(request);
  EXPECT_THAT(whole.labels(), SizeIs(100));
  grpc::ClientContext second;
  auto batches = prediction_->PredictStream(&second);
  message.mutable_header()->set_model(job.model());
  message.mutable_header()->set_dataset("datasets/clouds");
  batches->Write(message);
  ASSERT_TRUE(batches->Read(&response));
  EXPECT_EQ(response.decision_values().SerializeAsString(),
            whole.decision_values().SerializeAsString());
  EXPECT_FALSE(batches->Read(&response));
  EXPECT_TRUE(batches->Finish().ok());
}

TEST_F(LifecycleTest, ExportedFileHasTheAnnouncedDigest) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(60, 3, 4), "clouds", &dataset).ok());
  const v1::Job job = WaitForEnd(TrainOk(MakeRequest("datasets/clouds")).name());
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.ShortDebugString();
  grpc::ClientContext context;
  v1::ExportModelRequest request;
  request.set_name(job.model());
  auto reader = models_->ExportModel(&context, request);
  v1::ExportModelResponse response;
  ASSERT_TRUE(reader->Read(&response));
  const v1::ExportHeader header = response.header();
  std::string bytes;
  while (reader->Read(&response)) {
    bytes += response.chunk();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), header.size_bytes());
  EXPECT_EQ(Sha256Hex(bytes), header.digest());
}

TEST_F(LifecycleTest, DeletedModelIsGoneAlsoFromMemory) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(60, 3, 5), "clouds", &dataset).ok());
  v1::TrainRequest train = MakeRequest("datasets/clouds");
  train.set_model("models/m");
  ASSERT_EQ(WaitForEnd(TrainOk(train).name()).state(), v1::JOB_STATE_SUCCEEDED);
  const v1::PredictRequest rows = MakePrediction("models/m/versions/1", 1, 3);
  PredictOk(rows);
  {
    grpc::ClientContext context;
    v1::DeleteModelVersionRequest request;
    request.set_name("models/m/versions/1");
    google::protobuf::Empty empty;
    ASSERT_TRUE(models_->DeleteModelVersion(&context, request, &empty).ok());
  }
  grpc::ClientContext context;
  v1::PredictResponse response;
  EXPECT_EQ(prediction_->Predict(&context, rows, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(LifecycleTest, NewestVersionFollowsTheTrainings) {
  StartServer();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(60, 3, 6), "clouds", &dataset).ok());
  v1::TrainRequest train = MakeRequest("datasets/clouds");
  train.set_model("models/m");
  for (int version = 1; version <= 2; ++version) {
    ASSERT_EQ(WaitForEnd(TrainOk(train).name()).state(), v1::JOB_STATE_SUCCEEDED);
    EXPECT_EQ(PredictOk(MakePrediction("models/m", 1, 3)).model(),
              "models/m/versions/" + std::to_string(version));
  }
  grpc::ClientContext context;
  v1::ListModelVersionsRequest request;
  request.set_model("models/m");
  v1::ListModelVersionsResponse response;
  ASSERT_TRUE(models_->ListModelVersions(&context, request, &response).ok());
  ASSERT_EQ(response.versions_size(), 2);
  EXPECT_EQ(response.versions(0).name(), "models/m/versions/2");
}

TEST_F(LifecycleTest, DrainEndsStreamsWithUnavailableAndTheJobGoesOnAfterwards) {
  ServerOptions options;
  options.workers = 1;
  StartServer(options);
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(600, 5, 7), "clouds", &dataset).ok());
  const v1::Job job = TrainOk(MakeEndlessRequest("datasets/clouds"));
  WaitForStart(job.name());
  grpc::ClientContext watch;
  v1::StreamProgressRequest watch_request;
  watch_request.set_job(job.name());
  auto reader = training_->StreamProgress(&watch, watch_request);
  v1::StreamProgressResponse response;
  ASSERT_TRUE(reader->Read(&response));
  std::vector<v1::ProgressEvent> events = {response.event()};
  grpc::Status end;
  std::thread watcher([&] {
    while (reader->Read(&response)) {
      if (response.has_event()) {
        events.push_back(response.event());
      }
    }
    end = reader->Finish();
  });
  server_->Drain();
  watcher.join();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE) << end.error_message();
  EXPECT_EQ(ReasonOf(end), "DRAINING");
  EXPECT_TRUE(HasDetail<google::rpc::RetryInfo>(end));
  KillServer();
  StartServer(options);
  std::vector<v1::ProgressEvent> later;
  std::thread second([&] { Stream(job.name(), events.back().sequence(), &later); });
  WaitForStart(job.name());
  grpc::ClientContext context;
  v1::CancelJobRequest request;
  request.set_name(job.name());
  v1::Job cancelled;
  ASSERT_TRUE(training_->CancelJob(&context, request, &cancelled).ok());
  second.join();
  int64_t sequence = 0;
  events.insert(events.end(), later.begin(), later.end());
  for (const v1::ProgressEvent& event : events) {
    EXPECT_EQ(event.sequence(), ++sequence);
  }
  EXPECT_EQ(events.back().state_change().state(), v1::JOB_STATE_CANCELLED);
}

TEST_F(LifecycleTest, PortFileTellsThePort) {
  StartServer();
  std::ifstream file(folder_ / "port");
  int port = 0;
  file >> port;
  EXPECT_EQ(port, server_->port());
  EXPECT_THAT(server_->address(), HasSubstr(std::to_string(port)));
}

}  // namespace
}  // namespace mercer::server
