#include "tests/integration/test_server.h"

#include <algorithm>
#include <unistd.h>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/random.h"
#include "server/blobs/owned_folder.h"

namespace mercer::server {
namespace {

google::rpc::Status Details(const grpc::Status& status) {
  google::rpc::Status rpc;
  EXPECT_TRUE(rpc.ParseFromString(status.error_details()));
  return rpc;
}

}  // namespace

ServerTest::ServerTest() {
  std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  std::replace(test.begin(), test.end(), '/', '_');  // of tests with parameters
  folder_ =
      std::filesystem::temp_directory_path() / absl::StrCat("mercer_test_", getpid(), "_", test);
  std::filesystem::remove_all(folder_);
}

ServerTest::~ServerTest() {
  KillServer();
  std::filesystem::remove_all(folder_);
}

void ServerTest::StartServer(const ServerOptions& given) {
  ServerOptions options = given;
  options.data_dir = folder_;
  options.listen = "127.0.0.1:0";
  auto server = Server::Start(options, MakeLogger("off"));
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  channel_ = Connect();
  datasets_ = v1::DatasetService::NewStub(channel_);
  training_ = v1::TrainingService::NewStub(channel_);
  models_ = v1::ModelService::NewStub(channel_);
  prediction_ = v1::PredictionService::NewStub(channel_);
}

void ServerTest::DrainServer() {
  server_->Drain();
  server_.reset();
}

void ServerTest::KillServer() { server_.reset(); }

std::shared_ptr<grpc::Channel> ServerTest::Connect() const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(),
                                   arguments);
}

std::string ServerTest::CloudsCsv(int rows, int columns, uint64_t seed) {
  std::string csv;
  for (int c = 0; c < columns; ++c) {
    absl::StrAppend(&csv, "x", c + 1, ",");
  }
  csv += "label\n";
  RandomStream random(seed, "clouds");
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      absl::StrAppend(&csv, random.Normal() + (c == 0 && r % 2 == 1 ? 2.0 : 0.0), ",");
    }
    absl::StrAppend(&csv, r % 2, "\n");
  }
  return csv;
}

grpc::Status ServerTest::Upload(const std::string& csv, const std::string& id,
                                v1::Dataset* dataset) {
  grpc::ClientContext context;
  auto writer = datasets_->UploadDataset(&context, dataset);
  v1::UploadDatasetRequest message;
  message.mutable_header()->set_dataset_id(id);
  (*message.mutable_header()->add_parts()->mutable_csv()->mutable_roles())["label"] =
      v1::COLUMN_ROLE_TARGET;
  writer->Write(message);
  constexpr size_t kChunk = 100'000;
  for (size_t begin = 0; begin < csv.size(); begin += kChunk) {
    message.mutable_chunk()->set_data(csv.substr(begin, kChunk));
    writer->Write(message);
  }
  writer->WritesDone();
  return writer->Finish();
}

v1::TrainRequest ServerTest::MakeRequest(const std::string& dataset) {
  v1::TrainRequest request;
  request.add_data()->set_dataset(dataset);
  v1::KernelGrid& grid = *request.mutable_learner()->mutable_lp_mkl()->add_kernels();
  grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
  for (const double bandwidth : {0.5, 1.0, 2.0, 4.0}) {
    grid.add_bandwidths(bandwidth);
  }
  request.mutable_validation()->mutable_hold_out()->set_fraction(0.25);
  return request;
}

v1::TrainRequest ServerTest::MakeEndlessRequest(const std::string& dataset) {
  v1::TrainRequest request = MakeRequest(dataset);
  // Five hundred folds: no test waits for the last.
  request.mutable_validation()->mutable_folds()->set_count(500);
  request.mutable_stopping()->set_relative_gap(1e-6);
  return request;
}

v1::Job ServerTest::TrainOk(const v1::TrainRequest& request) {
  grpc::ClientContext context;
  v1::Job job;
  const grpc::Status status = training_->Train(&context, request, &job);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return job;
}

grpc::Status ServerTest::Stream(const std::string& job, int64_t after_sequence,
                                std::vector<v1::ProgressEvent>* events) {
  grpc::ClientContext context;
  v1::StreamProgressRequest request;
  request.set_job(job);
  request.set_after_sequence(after_sequence);
  auto reader = training_->StreamProgress(&context, request);
  v1::StreamProgressResponse response;
  while (reader->Read(&response)) {
    if (response.has_event()) {
      events->push_back(response.event());
    }
  }
  return reader->Finish();
}

v1::Job ServerTest::WaitForEnd(const std::string& name) {
  std::vector<v1::ProgressEvent> events;
  const grpc::Status streamed = Stream(name, 0, &events);
  EXPECT_TRUE(streamed.ok()) << streamed.error_message();
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_name(name);
  v1::Job job;
  const grpc::Status status = training_->GetJob(&context, request, &job);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return job;
}

void ServerTest::WaitForStart(const std::string& name) {
  grpc::ClientContext context;
  v1::StreamProgressRequest request;
  request.set_job(name);
  auto reader = training_->StreamProgress(&context, request);
  v1::StreamProgressResponse response;
  bool running = false;
  while (!running && reader->Read(&response)) {
    running = response.event().has_progress() ||
              response.event().state_change().state() == v1::JOB_STATE_RUNNING;
  }
  EXPECT_TRUE(running);
  context.TryCancel();
  while (reader->Read(&response)) {
  }
  reader->Finish();
}

v1::PredictRequest ServerTest::MakePrediction(const std::string& model, int rows, int columns) {
  v1::PredictRequest request;
  request.set_model(model);
  v1::Matrix& values = *request.mutable_rows()->add_dense()->mutable_values();
  values.set_rows(rows);
  values.set_columns(columns);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      values.add_values(c == 0 ? r : 0);
    }
  }
  return request;
}

size_t ServerTest::FilesIn(const std::string& folder) const {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / folder)) {
    const bool is_pin = entry.path().filename().string().starts_with(kPinPrefix);
    count += entry.is_regular_file() && !is_pin ? 1 : 0;
  }
  return count;
}

google::rpc::ErrorInfo InfoOf(const grpc::Status& status) {
  const google::rpc::Status details = Details(status);
  google::rpc::ErrorInfo info;
  for (const google::protobuf::Any& any : details.details()) {
    if (any.UnpackTo(&info)) {
      return info;
    }
  }
  return google::rpc::ErrorInfo();
}

std::string ReasonOf(const grpc::Status& status) { return InfoOf(status).reason(); }

std::vector<std::string> ViolationsOf(const grpc::Status& status) {
  const google::rpc::Status details = Details(status);
  std::vector<std::string> violations;
  for (const google::protobuf::Any& any : details.details()) {
    google::rpc::BadRequest bad_request;
    if (any.UnpackTo(&bad_request)) {
      for (const auto& violation : bad_request.field_violations()) {
        violations.push_back(absl::StrCat(violation.field(), ": ", violation.description()));
      }
    }
  }
  return violations;
}

}  // namespace mercer::server
