// Links that are narrow or long: they cost their client time, and the server no memory.
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "tests/network/network_fixture.h"
#include "tests/support/peak_growth.h"
#include "tests/support/server/server_process.h"

namespace mercer::server {
namespace {

class NarrowLinkTest : public NetworkTest {
 protected:
  void Start() {
    ServerProcessOptions options;
    options.data_dir = folder_;
    process_ = std::make_unique<ServerProcess>(options);
    ASSERT_TRUE(process_->WaitUntilListening()) << process_->Log();
    const std::string& address = process_->address();
    int port = 0;
    ASSERT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    direct_ = std::make_unique<client::Client>(OnlyOnce(address));
    network_ = std::make_unique<NetworkProxy>(port);
  }
  std::string TrainModelOn(const std::string& address) {
    const auto job = direct_->Train(CloudsRequest(2));
    EXPECT_TRUE(job.ok()) << job.status();
    const std::vector<v1::ProgressEvent> events =
        job.ok() ? EventsOf(address, job->name()) : std::vector<v1::ProgressEvent>();
    return events.empty() ? "" : events.back().state_change().model();
  }

  std::unique_ptr<ServerProcess> process_;
};

// One stream of predictions for a whole data set.
class PredictionReader {
 public:
  PredictionReader(const std::string& address, const std::string& model)
      : stubs_(address), stream_(stubs_.prediction->PredictStream(&context_)) {
    v1::PredictStreamRequest request;
    request.mutable_header()->set_model(model);
    request.mutable_header()->set_dataset("datasets/many");
    request.mutable_header()->set_contributions(true);
    stream_->Write(request);
  }
  ~PredictionReader() { context_.TryCancel(); }
  PredictionReader(const PredictionReader&) = delete;
  PredictionReader& operator=(const PredictionReader&) = delete;

  // The next answer is counted; false at the end.
  bool Read() {
    v1::PredictResponse response;
    if (!stream_->Read(&response)) {
      return false;
    }
    rows_ += response.decision_values().rows();
    absl::StrAppend(&answers_, response.SerializeAsString());
    return true;
  }
  grpc::Status Finish() { return stream_->Finish(); }
  int64_t rows() const { return rows_; }
  const std::string& answers() const { return answers_; }

 private:
  grpc::ClientContext context_;
  Stubs stubs_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::PredictStreamRequest, v1::PredictResponse>> stream_;
  int64_t rows_ = 0;
  std::string answers_;
};

TEST_F(NarrowLinkTest, PredictStreamKeepsNoMoreThanItsClientTakes) {
  // Sanitized, all this is slow, and what memory it takes is not looked at.
  constexpr int kRows = kGrowthIsMemoryHeld ? 60'000 : 12'000;
  constexpr size_t kReaders = 12;
  Start();
  ASSERT_TRUE(
      direct_->UploadDataset(CsvHeader("many"), {client::MemorySource(CloudsCsv(kRows))}).ok());
  UploadClouds(60);
  const std::string model = TrainModelOn(process_->address());
  ASSERT_NE(model, "");
  network_->SetBytesPerSecond(64 << 10);
  std::vector<std::unique_ptr<PredictionReader>> readers;
  for (size_t i = 0; i < kReaders; ++i) {
    readers.push_back(std::make_unique<PredictionReader>(network_->address(), model));
  }
  for (const auto& reader : readers) {
    ASSERT_TRUE(reader->Read());  // model and data set are there
  }
  const int64_t begin = process_->StatusBytes("RssAnon");
  // While one reader beside the network gets everything, and the others next to nothing, the server has all the time it needs.
  PredictionReader fast(process_->address(), model);
  while (fast.Read()) {
  }
  EXPECT_TRUE(fast.Finish().ok());
  ASSERT_EQ(fast.rows(), kRows);
  const auto all_answers = static_cast<int64_t>(kReaders * fast.answers().size());
  EXPECT_LT(network_->counts().to_client, all_answers / 2) << "the link was not narrow";
  if (kGrowthIsMemoryHeld) {
    EXPECT_LT(process_->StatusBytes("RssAnon") - begin, all_answers / 3);
  }
  network_->SetBytesPerSecond(0);
  for (const auto& reader : readers) {
    while (reader->Read()) {
    }
    const grpc::Status ended = reader->Finish();
    EXPECT_TRUE(ended.ok()) << ended.error_message();
    EXPECT_EQ(reader->rows(), kRows);
    EXPECT_TRUE(reader->answers() == fast.answers());
  }
}

TEST_F(NarrowLinkTest, ServerMayTakeSecondsToGreet) {
  Start();
  network_->SetDelay(absl::Milliseconds(1200));
  client::Client client(OnlyOnce(network_->address()));
  const auto learners = client.ListLearners();
  EXPECT_TRUE(learners.ok()) << learners.status();
}

TEST_F(NarrowLinkTest, WholeWayFromUploadToModelWorksOverALongAndNarrowLink) {
  Start();
  network_->SetDelay(absl::Milliseconds(20));
  network_->SetBytesPerSecond(256 << 10);
  client::Client client(OnlyOnce(network_->address()));
  const auto dataset =
      client.UploadDataset(CsvHeader("clouds"), {client::MemorySource(CloudsCsv(800))});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows(), 800);
  const auto job = client.Train(CloudsRequest(2));
  ASSERT_TRUE(job.ok()) << job.status();
  const std::vector<v1::ProgressEvent> events = EventsOf(network_->address(), job->name());
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().state_change().state(), v1::JOB_STATE_SUCCEEDED);
}

}  // namespace
}  // namespace mercer::server
