#include "tests/network/network_fixture.h"

#include <numeric>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/numeric/random.h"

namespace mercer::server {
namespace {

constexpr int kCloudColumns = 4;

std::shared_ptr<grpc::Channel> ConnectAlone(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

Stubs::Stubs(const std::string& address) {
  const std::shared_ptr<grpc::Channel> channel = ConnectAlone(address);
  datasets = v1::DatasetService::NewStub(channel);
  training = v1::TrainingService::NewStub(channel);
  prediction = v1::PredictionService::NewStub(channel);
}

client::ClientOptions Patient(const std::string& address) {
  client::ClientOptions options;
  options.address = address;
  for (client::RetryPolicy* policy : {&options.retry, &options.watch_retry}) {
    policy->max_attempts = 1000;
    policy->initial_backoff = absl::Milliseconds(10);
    policy->max_backoff = absl::Milliseconds(50);
  }
  return options;
}

client::ClientOptions OnlyOnce(const std::string& address) {
  client::ClientOptions options;
  options.address = address;
  options.retry.max_attempts = 1;
  options.watch_retry.max_attempts = 1;
  return options;
}

std::string CloudsCsv(int rows) {
  std::string csv = "x1,x2,x3,x4,label\n";
  RandomStream random(1, "clouds");
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < kCloudColumns; ++column) {
      absl::StrAppend(&csv, random.Normal() + (column < 2 ? row % 2 : 0), ",");
    }
    absl::StrAppend(&csv, row % 2, "\n");
  }
  return csv;
}

v1::UploadHeader CsvHeader(const std::string& id) {
  v1::UploadHeader header;
  header.set_dataset_id(id);
  (*header.add_parts()->mutable_csv()->mutable_roles())["label"] = v1::COLUMN_ROLE_TARGET;
  return header;
}

v1::TrainRequest CloudsRequest(int folds) {
  v1::TrainRequest request;
  request.add_data()->set_dataset("datasets/clouds");
  v1::KernelGrid& grid = *request.mutable_learner()->mutable_lp_mkl()->add_kernels();
  grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
  for (const double bandwidth : {0.5, 1.0, 2.0, 4.0}) {
    grid.add_bandwidths(bandwidth);
  }
  request.mutable_validation()->mutable_folds()->set_count(folds);
  return request;
}

v1::TrainRequest EndlessRequest() {
  v1::TrainRequest request = CloudsRequest(500);
  request.mutable_stopping()->set_relative_gap(1e-6);
  return request;
}

bool WaitFor(const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (!condition()) {
    if (absl::Now() > deadline) {
      return false;
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
  return true;
}

std::vector<v1::ProgressEvent> EventsOf(const std::string& address, const std::string& job) {
  client::Client client(OnlyOnce(address));
  std::vector<v1::ProgressEvent> events;
  client::WatchOptions watch;
  watch.on_event = [&](const v1::ProgressEvent& event) { events.push_back(event); };
  const absl::Status status = client.WatchJob(job, watch);
  EXPECT_TRUE(status.ok()) << status;
  return events;
}

NetworkTest::NetworkTest() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  folder_ = std::filesystem::temp_directory_path() /
            absl::StrCat("mercer_network_", getpid(), "_", test.name());
  std::filesystem::remove_all(folder_);
  options_.workers = 1;
}

NetworkTest::~NetworkTest() {
  network_.reset();
  server_.reset();
  std::filesystem::remove_all(folder_);
}

void NetworkTest::Start(NetworkProxy::Planner planner) {
  options_.data_dir = folder_;
  options_.listen = "127.0.0.1:0";
  auto server = Server::Start(options_, MakeLogger("off"));
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  direct_ = std::make_unique<client::Client>(OnlyOnce(server_->address()));
  network_ = std::make_unique<NetworkProxy>(server_->port(), std::move(planner));
}

void NetworkTest::UploadClouds(int rows) {
  const auto dataset =
      direct_->UploadDataset(CsvHeader("clouds"), {client::MemorySource(CloudsCsv(rows))});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
}

std::string NetworkTest::TrainModel() {
  const auto job = direct_->Train(CloudsRequest(2));
  EXPECT_TRUE(job.ok()) << job.status();
  if (!job.ok()) {
    return "";
  }
  const std::vector<v1::ProgressEvent> events = EventsOf(server_->address(), job->name());
  return events.empty() ? "" : events.back().state_change().model();
}

void NetworkTest::WaitForStart(const std::string& job) {
  std::stop_source seen;
  client::WatchOptions watch;
  watch.stop = seen.get_token();
  watch.on_event = [&seen](const v1::ProgressEvent& event) {
    if (event.has_progress() || event.state_change().state() == v1::JOB_STATE_RUNNING) {
      seen.request_stop();
    }
  };
  EXPECT_TRUE(absl::IsCancelled(direct_->WatchJob(job, watch)));
}

int64_t NetworkTest::BytesIn(const std::string& folder) const {
  const std::vector<int64_t> sizes = SizesOfFiles(folder);
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
}

std::vector<int64_t> NetworkTest::SizesOfFiles(const std::string& folder) const {
  std::vector<int64_t> sizes;
  std::error_code error;  // files come and go
  std::filesystem::recursive_directory_iterator entries(folder_ / folder, error);
  for (; !error && entries != std::filesystem::recursive_directory_iterator();
       entries.increment(error)) {
    if (entries->is_regular_file(error)) {
      const uintmax_t size = entries->file_size(error);
      sizes.push_back(error ? 0 : static_cast<int64_t>(size));
    }
  }
  return sizes;
}

absl::Duration NetworkTest::TimeToDrain() {
  const absl::Time begin = absl::Now();
  server_->Drain();
  return absl::Now() - begin;
}

}  // namespace mercer::server
