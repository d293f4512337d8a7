#include "tests/fault/fault_fixture.h"

#include <fstream>
#include <iterator>
#include <unistd.h>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/random.h"
#include "server/digest/sha256.h"

namespace mercer::server {
namespace {

constexpr int kColumns = 4;

std::string CloudsCsv(int rows) {
  std::string csv = "a,b,c,d,label\n";
  RandomStream random(1, "clouds");
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      absl::StrAppend(&csv, random.Normal() + (column < 2 ? row % 2 : 0), ",");
    }
    absl::StrAppend(&csv, row % 2, "\n");
  }
  return csv;
}

}  // namespace

client::ClientOptions OneTry(const std::string& address) {
  client::ClientOptions options;
  options.address = address;
  options.retry.max_attempts = 1;
  options.watch_retry.max_attempts = 1;
  return options;
}

FaultTest::FaultTest() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  folder_ = std::filesystem::temp_directory_path() /
            absl::StrCat("mercer_fault_", getpid(), "_", test.name());
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
}

FaultTest::~FaultTest() { std::filesystem::remove_all(folder_); }

ServerProcessOptions FaultTest::Options(const std::string& name) const {
  ServerProcessOptions options;
  options.data_dir = folder_ / name;
  return options;
}

size_t FaultTest::CountFiles(const std::string& name) const {
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / name)) {
    count += entry.is_regular_file() ? 1 : 0;
  }
  return count;
}

v1::Dataset FaultTest::UploadClouds(client::Client& client, int rows) {
  v1::UploadHeader header;
  header.set_dataset_id("clouds");
  (*header.add_parts()->mutable_csv()->mutable_roles())["label"] = v1::COLUMN_ROLE_TARGET;
  const absl::StatusOr<v1::Dataset> dataset =
      client.UploadDataset(header, {client::MemorySource(CloudsCsv(rows))});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return dataset.value_or(v1::Dataset());
}

v1::TrainRequest FaultTest::CloudsRequest() {
  v1::TrainRequest request;
  request.add_data()->set_dataset("datasets/clouds");
  v1::KernelGrid& grid = *request.mutable_learner()->mutable_lp_mkl()->add_kernels();
  grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
  for (const double bandwidth : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    grid.add_bandwidths(bandwidth);
  }
  return request;
}

std::string FaultTest::TrainToEnd(client::Client& client, const v1::TrainRequest& request) {
  const absl::StatusOr<v1::Job> job = client.Train(request);
  EXPECT_TRUE(job.ok()) << job.status();
  return job.ok() ? WatchToEnd(client, job->name()) : "";
}

std::string FaultTest::WatchToEnd(client::Client& client, const std::string& job) {
  std::string model;
  client::WatchOptions watch;
  watch.on_event = [&model](const v1::ProgressEvent& event) {
    model = event.state_change().model();
    EXPECT_NE(event.state_change().state(), v1::JOB_STATE_FAILED) << event.ShortDebugString();
  };
  const absl::Status watched = client.WatchJob(job, watch);
  EXPECT_TRUE(watched.ok()) << watched;
  EXPECT_NE(model, "");
  return model;
}

std::string ExportedDigest(client::Client& client, const std::string& model) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / absl::StrCat("mercer_export_", getpid());
  const absl::StatusOr<v1::ExportHeader> header = client.ExportModel(model, path);
  EXPECT_TRUE(header.ok()) << model << ": " << header.status();
  if (!header.ok()) {
    return "";
  }
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::filesystem::remove(path);
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), header->size_bytes()) << model;
  EXPECT_EQ(Sha256Hex(bytes), header->digest()) << model;
  return Sha256Hex(bytes);
}

}  // namespace mercer::server
