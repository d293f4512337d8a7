// Connections whose other end has gone without a word: the server finds out, and gives back what they held.
#include <malloc.h>

#include <gmock/gmock.h>

#include "tests/network/network_fixture.h"
#include "tests/support/peak_growth.h"

namespace mercer::server {
namespace {

constexpr int kConnections = 8;
constexpr int kStreamsOfEach = 25;
constexpr int kStreams = kConnections * kStreamsOfEach;

int64_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// Watchers of all jobs, and of one job where a name is given, over few connections. Every one has heard something; those that
// the server has no room for try again.
class Watchers {
 public:
  Watchers(const std::string& address, const std::string& job) {
    v1::StreamProgressRequest of_one;
    of_one.set_job(job);
    for (int c = 0; c < kConnections; ++c) {
      auto& training = *stubs_.emplace_back(std::make_unique<Stubs>(address))->training;
      for (int s = 0; s < kStreamsOfEach && heard_ == c * kStreamsOfEach + s; ++s) {
        if (s % 2 == 0 && !job.empty()) {
          Open(of_one_, [&](grpc::ClientContext& context) {
            return training.StreamProgress(&context, of_one);
          });
        } else {
          Open(of_all_, [&](grpc::ClientContext& context) {
            return training.WatchJobs(&context, v1::WatchJobsRequest());
          });
        }
      }
    }
  }
  ~Watchers() {
    for (const auto& context : contexts_) {
      context->TryCancel();
    }
  }
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

  // Streams that were answered.
  int heard() const { return heard_; }

 private:
  template <typename Response>
  using Readers = std::vector<std::unique_ptr<grpc::ClientReader<Response>>>;

  template <typename Response, typename Call>
  void Open(Readers<Response>& readers, const Call& call) {
    readers.emplace_back();
    const bool heard = WaitFor([&] {
      contexts_.push_back(std::make_unique<grpc::ClientContext>());
      readers.back() = call(*contexts_.back());
      Response response;
      return readers.back()->Read(&response);
    });
    heard_ += heard ? 1 : 0;
  }

  std::vector<std::unique_ptr<Stubs>> stubs_;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
  Readers<v1::StreamProgressResponse> of_one_;
  Readers<v1::WatchJobsResponse> of_all_;
  int heard_ = 0;
};

class HalfOpenTest : public NetworkTest {
 protected:
  HalfOpenTest() {
    options_.access.ping_interval = absl::Milliseconds(100);
    // Long enough for a busy machine, whose live connections must not be taken for dead ones.
    options_.access.ping_timeout = absl::Seconds(2);
  }
  // Holds the connections that stand, and waits until the server has closed as many as that.
  void HoldUntilLeft(int connections) {
    const int before = network_->counts().left_by_server;
    network_->Hold();
    EXPECT_TRUE(network_->WaitUntil([&](const NetworkProxy::Counts& counts) {
      return counts.left_by_server - before == connections;
    })) << network_->counts().left_by_server
        << " connections were closed";
  }
};

// --max-calls is the count of calls as callers see it.
TEST_F(HalfOpenTest, WatchersThatHaveGoneSilentlyAreNoCallsAnyMore) {
  options_.access.max_calls_per_caller = kStreams;
  Start();
  UploadClouds(600);
  const auto busy = direct_->Train(EndlessRequest());
  ASSERT_TRUE(busy.ok()) << busy.status();
  WaitForStart(busy->name());
  const Watchers lost(network_->address(), busy->name());
  ASSERT_EQ(lost.heard(), kStreams);
  EXPECT_TRUE(absl::IsResourceExhausted(direct_->ListJobs({}, 1).status())) << "all are taken";
  HoldUntilLeft(kConnections);
  // All places are free, not a few.
  const Watchers next(server_->address(), busy->name());
  EXPECT_EQ(next.heard(), kStreams);
}

TEST_F(HalfOpenTest, MemoryOfWatchersThatHaveGoneSilentlyIsGivenBack) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "the sanitizer keeps freed memory";
  }
  constexpr int kRounds = 4;
  // The server holds some 19 KiB for each. What it keeps for good by chance, such as a table that grows, is some
  // 150 KiB a round.
  constexpr int64_t kLeastOfACall = 4 << 10;
  Start();
  std::vector<int64_t> with_watchers;
  for (int round = 0; round < kRounds; ++round) {
    const Watchers lost(network_->address(), "");
    ASSERT_EQ(lost.heard(), kStreams);
    with_watchers.push_back(BytesInUse());
    HoldUntilLeft(kConnections);
    // The clients know nothing and keep theirs.
    EXPECT_TRUE(
        WaitFor([&] { return BytesInUse() < with_watchers.back() - kStreams * kLeastOfACall; }));
  }
  // After the first round, in which libraries set up what they keep.
  EXPECT_LT(with_watchers.back() - with_watchers[1], (kRounds - 2) * kStreams * kLeastOfACall / 2);
}

TEST_F(HalfOpenTest, WatchersBesideThemHearEverything) {
  Start();
  UploadClouds(200);
  const auto job = direct_->Train(CloudsRequest(25));
  ASSERT_TRUE(job.ok()) << job.status();
  const Watchers lost(network_->address(), job->name());
  ASSERT_EQ(lost.heard(), kStreams);
  network_->Hold();
  const std::vector<v1::ProgressEvent> events = EventsOf(server_->address(), job->name());
  ASSERT_FALSE(events.empty());
  for (size_t i = 0; i < events.size(); ++i) {
    ASSERT_EQ(events[i].sequence(), static_cast<int64_t>(i) + 1);
  }
  EXPECT_EQ(events.back().state_change().state(), v1::JOB_STATE_SUCCEEDED);
}

// Of an upload that cannot be resumed nothing stays.
TEST_F(HalfOpenTest, UploadsOfClientsThatHaveGoneSilentlyEnd) {
  Start();
  Stubs stubs(network_->address());
  grpc::ClientContext context;
  v1::Dataset dataset;
  auto upload = stubs.datasets->UploadDataset(&context, &dataset);
  v1::UploadDatasetRequest message;
  *message.mutable_header() = CsvHeader("half");
  upload->Write(message);
  message.mutable_chunk()->set_data("x1,label\n1,0\n");
  upload->Write(message);
  ASSERT_TRUE(WaitFor([&] { return FilesIn("uploads") == 1; }));
  HoldUntilLeft(1);
  EXPECT_TRUE(WaitFor([&] { return FilesIn("uploads") == 0; })) << "the bytes of nobody stay";
  context.TryCancel();
  upload->Finish();
}

// Keep-alive has found nothing yet: the server ends all the same.
TEST_F(HalfOpenTest, DrainDoesNotWaitForConnectionsWhoseOtherEndHasGone) {
  options_.access.ping_interval = absl::Hours(1);
  Start();
  UploadClouds(600);
  const std::string model = TrainModel();
  ASSERT_NE(model, "");
  const auto busy = direct_->Train(EndlessRequest());
  ASSERT_TRUE(busy.ok()) << busy.status();
  WaitForStart(busy->name());
  const Watchers lost(network_->address(), busy->name());
  ASSERT_EQ(lost.heard(), kStreams);

  Stubs stubs(network_->address());
  grpc::ClientContext upload_context;
  v1::Dataset dataset;
  auto upload = stubs.datasets->UploadDataset(&upload_context, &dataset);
  v1::UploadDatasetRequest first;
  *first.mutable_header() = CsvHeader("half");
  upload->Write(first);
  grpc::ClientContext predict_context;
  auto predictions = stubs.prediction->PredictStream(&predict_context);
  v1::PredictStreamRequest header;
  header.mutable_header()->set_model(model);
  header.mutable_header()->set_dataset("datasets/clouds");
  predictions->Write(header);
  v1::PredictResponse response;
  ASSERT_TRUE(predictions->Read(&response));

  network_->Hold();
  EXPECT_LT(TimeToDrain(), kDrainAtOnce);
  EXPECT_FALSE(direct_->ListJobs({}, 1).ok());
  upload_context.TryCancel();
  upload->Finish();
  predict_context.TryCancel();
  while (predictions->Read(&response)) {
  }
  predictions->Finish();
}

}  // namespace
}  // namespace mercer::server
