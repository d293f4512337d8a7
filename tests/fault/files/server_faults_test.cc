// A whole server over files that fail for a moment, anywhere: it says so, goes on without a restart, and loses nothing.
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "client/cpp/client.h"
#include "client/cpp/errors.h"
#include "core/base/numeric/random.h"
#include "server/app/server.h"
#include "tests/fault/files/file_faults.h"
#include "tests/support/fast_folder.h"
#include "tests/support/thorough.h"

namespace mercer::server {
namespace {

// More often than calls fail.
constexpr int kMostTries = 100;

std::string CloudsCsv() {
  std::string csv = "a,b,label\n";
  RandomStream random(1, "clouds");
  for (int row = 0; row < 150; ++row) {
    absl::StrAppend(&csv, random.Normal() + row % 2, ",", random.Normal(), ",", row % 2, "\n");
  }
  return csv;
}

v1::TrainRequest CloudsRequest() {
  v1::TrainRequest request;
  request.set_request_id("train");
  request.set_model("models/clouds");
  request.add_data()->set_dataset("datasets/clouds");
  v1::KernelGrid& grid = *request.mutable_learner()->mutable_lp_mkl()->add_kernels();
  grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
  for (const double bandwidth : {0.5, 1.0, 2.0}) {
    grid.add_bandwidths(bandwidth);
  }
  return request;
}

bool IsHonest(const absl::Status& status) {
  return absl::IsInternal(status) || absl::IsUnavailable(status) ||
         (absl::IsResourceExhausted(status) &&
          client::ReadErrorReport(status).reason == "DISK_FULL");
}

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Until it succeeds; every failure has to be an honest one.
template <typename Operation>
auto Insist(const std::string& what, Operation operation) {
  auto result = operation();
  for (int tries = 1; !result.ok() && tries < kMostTries; ++tries) {
    EXPECT_TRUE(IsHonest(StatusOf(result))) << what << ": " << StatusOf(result);
    result = operation();
  }
  EXPECT_TRUE(result.ok()) << what << " never succeeds: " << StatusOf(result);
  return result;
}

class ServerFaultsTest : public testing::Test {
 protected:
  ServerFaultsTest() : folder_(FastFolder() / absl::StrCat("mercer-server-faults-", getpid())) {}
  ~ServerFaultsTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Server> StartServer() const {
    ServerOptions options;
    options.data_dir = folder_;
    options.listen = "127.0.0.1:0";
    options.workers = 1;
    options.threads = 1;
    options.checkpoint_interval = absl::ZeroDuration();
    auto server =
        Insist("the start", [&options] { return Server::Start(options, MakeLogger("off")); });
    return server.ok() ? *std::move(server) : nullptr;
  }
  // Everything once, from an empty folder, then once more opened; the digest of the model.
  std::string LiveOnce(const FileFaults::Failures& failures, int64_t* calls = nullptr) const;
  std::string CheckAgain() const;

  const std::filesystem::path folder_;
};

std::unique_ptr<client::Client> Connect(const Server& server) {
  client::ClientOptions options;
  options.address = server.address();
  options.retry.max_attempts = 1;
  options.watch_retry.max_attempts = 1;
  return std::make_unique<client::Client>(options);
}

// Hears the job to its end over every failure; its model.
std::string WatchToEnd(client::Client& client, const std::string& job) {
  client::WatchOptions watch;
  std::string model;
  watch.on_event = [&](const v1::ProgressEvent& event) {
    EXPECT_EQ(event.sequence(), watch.after_sequence + 1);
    watch.after_sequence = event.sequence();
    EXPECT_NE(event.state_change().state(), v1::JOB_STATE_FAILED) << event.ShortDebugString();
    model = event.state_change().model();
  };
  EXPECT_TRUE(Insist("the watching", [&] { return client.WatchJob(job, watch); }).ok());
  return model;
}

std::string ServerFaultsTest::LiveOnce(const FileFaults::Failures& failures, int64_t* calls) const {
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
  FileFaults faults(folder_);
  faults.Fail(failures);
  const std::unique_ptr<Server> server = StartServer();
  if (server == nullptr) {
    return "";
  }
  const std::unique_ptr<client::Client> client = Connect(*server);
  v1::UploadHeader header;
  header.set_request_id("upload");
  header.set_dataset_id("clouds");
  (*header.add_parts()->mutable_csv()->mutable_roles())["label"] = v1::COLUMN_ROLE_TARGET;
  const auto dataset = Insist("the upload", [&] {
    return client->UploadDataset(header, {client::MemorySource(CloudsCsv())});
  });
  const auto job = Insist("the training", [&] { return client->Train(CloudsRequest()); });
  if (!dataset.ok() || !job.ok()) {
    return "";
  }
  const std::string name = WatchToEnd(*client, job->name());
  const auto model = Insist(
      "the model", [&] { return client->GetModelVersion(name, v1::MODEL_VERSION_VIEW_FULL); });
  const absl::Status deleted = Insist("the deletion", [&] {
    const absl::Status status = client->DeleteDataset("datasets/clouds");
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  });
  server->Drain();
  if (calls != nullptr) {
    *calls = faults.calls();
  }
  return model.ok() ? model->digest() : "";
}

std::string ServerFaultsTest::CheckAgain() const {
  const std::unique_ptr<Server> server = StartServer();
  if (server == nullptr) {
    return "";
  }
  const std::unique_ptr<client::Client> client = Connect(*server);
  EXPECT_TRUE(
      absl::IsNotFound(client->GetDataset("datasets/clouds", v1::DATASET_VIEW_BASIC).status()));
  const auto jobs = client->ListJobs({}, 10);
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_EQ(jobs->size(), 1U);
  const auto model =
      client->GetModelVersion("models/clouds/versions/1", v1::MODEL_VERSION_VIEW_FULL);
  EXPECT_TRUE(model.ok()) << model.status();
  server->Drain();
  return model.value_or(v1::ModelVersion()).digest();
}

TEST_F(ServerFaultsTest, MomentaryFailuresAreToldAndHarmless) {
  int64_t calls = 0;
  const std::string digest = LiveOnce({FileFaults::kForEver, 1, 0}, &calls);
  ASSERT_NE(digest, "");
  ASSERT_GT(calls, 200);
  const int points = IsThorough() ? 30 : 8;
  for (int point = 0; point < points; ++point) {
    for (const FileFaults::Failures& kind :
         {FileFaults::Failures{0, 1, EIO}, FileFaults::Failures{0, 4, ENOSPC}}) {
      FileFaults::Failures failures = kind;
      failures.first = 1 + (point * calls + calls / 2 * (kind.count % 2)) / points;
      SCOPED_TRACE(absl::StrCat(failures.count, " calls fail from ", failures.first, " of ", calls,
                                " with error ", failures.error));
      EXPECT_EQ(LiveOnce(failures), digest);
      EXPECT_EQ(CheckAgain(), digest);
      ASSERT_FALSE(HasFailure());
    }
  }
}

}  // namespace
}  // namespace mercer::server
