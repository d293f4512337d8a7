// What the statistics say of PredictStream: how long its answers took, and how many there were.
#include <ctime>

#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

// Of this thread alone, so that others on the machine do not matter.
absl::Duration ProcessorTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

class StreamStatisticsTest : public ApiTest {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::PredictStreamRequest, v1::PredictResponse>;

  void SetUp() override {
    TrainClouds();
    environment_.predictions = &held_;
    Serve();
    stream_ = prediction_->PredictStream(&context_);
  }

  void SendHeader(const std::string& dataset = "") {
    v1::PredictStreamRequest message;
    message.mutable_header()->set_model("models/clouds");
    message.mutable_header()->set_dataset(dataset);
    stream_->Write(message);
  }
  void SendRows(int rows) {
    v1::PredictStreamRequest message;
    *message.mutable_rows() = CloudsRows("", rows).rows();
    stream_->Write(message);
  }
  // Computes what waits, on this thread, after it has waited for a while. A lower bound of what a client sees.
  absl::Duration AnswerLate(absl::Duration wait) {
    held_.WaitForWork();
    absl::SleepFor(wait);
    const absl::Duration begin = ProcessorTime();
    held_.RunAll();
    return wait + (ProcessorTime() - begin);
  }
  v1::PredictionStatistics Statistics() {
    grpc::ClientContext context;
    v1::ListPredictionStatisticsResponse response;
    EXPECT_TRUE(prediction_->ListPredictionStatistics(&context, {}, &response).ok());
    EXPECT_EQ(response.statistics_size(), 1);
    return response.statistics_size() == 1 ? response.statistics(0) : v1::PredictionStatistics();
  }
  static absl::Duration DurationOf(const google::protobuf::Duration& message) {
    return absl::Seconds(message.seconds()) + absl::Nanoseconds(message.nanos());
  }

  HeldExecutor held_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  v1::PredictResponse response_;
};

TEST_F(StreamStatisticsTest, LatencyOfRowsIsTheirWaitingAndTheirComputation) {
  SendHeader();
  absl::Duration least;
  for (int message = 0; message < 2; ++message) {
    SendRows(50'000);
    least += AnswerLate(absl::Milliseconds(20));
    ASSERT_TRUE(stream_->Read(&response_));
  }
  stream_->WritesDone();
  EXPECT_TRUE(stream_->Finish().ok());
  const v1::PredictionStatistics statistics = Statistics();
  EXPECT_EQ(statistics.succeeded(), 2);
  EXPECT_EQ(statistics.failed(), 0);
  EXPECT_EQ(statistics.rows(), 100'000);
  // What the thread does after an answer, to send it, is a small part of its time.
  EXPECT_GE(DurationOf(statistics.total_latency()),
            absl::Milliseconds(40) + 0.5 * (least - absl::Milliseconds(40)));
  EXPECT_GE(DurationOf(statistics.median_latency()), absl::Milliseconds(20));
}

TEST_F(StreamStatisticsTest, LatencyOfADataSetIsThatOfEachOfItsAnswers) {
  SendHeader("datasets/clouds");
  AnswerLate(absl::Milliseconds(20));
  ASSERT_TRUE(stream_->Read(&response_));
  EXPECT_EQ(response_.labels_size(), 40);
  EXPECT_GE(DurationOf(Statistics().total_latency()), absl::Milliseconds(20));
  held_.WaitForWork();  // nothing is left of the rows
  held_.RunAll();
  EXPECT_FALSE(stream_->Read(&response_));
  EXPECT_TRUE(stream_->Finish().ok());
  EXPECT_EQ(Statistics().succeeded(), 1);
  EXPECT_EQ(Statistics().rows(), 40);
}

TEST_F(StreamStatisticsTest, RowsThatAreRefusedCountAsFailed) {
  SendHeader();
  v1::PredictStreamRequest message;
  message.mutable_rows()->add_dense()->set_name("no-such-block");
  stream_->Write(message);
  AnswerLate(absl::ZeroDuration());
  EXPECT_FALSE(stream_->Read(&response_));
  EXPECT_EQ(stream_->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Statistics().failed(), 1);
  EXPECT_EQ(Statistics().succeeded(), 0);
}

// As for Predict: the call has reached the model.
TEST_F(StreamStatisticsTest, HeaderWithAnUnknownDataSetCountsAsFailed) {
  SendHeader("datasets/none");
  EXPECT_FALSE(stream_->Read(&response_));
  EXPECT_EQ(stream_->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Statistics().failed(), 1);
}

}  // namespace
}  // namespace mercer::server
