// Predictions: where they run, how large their answers may be, and where their models come from.
#include <thread>

#include "absl/synchronization/notification.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/api/model_handlers.h"
#include "server/translation/answer_size.h"
#include "tests/server/api/api_fixture.h"
#include "tests/support/model_terms.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;

class PredictionsTest : public ApiTest {
 protected:
  grpc::Status Predict(const v1::PredictRequest& request) {
    grpc::ClientContext context;
    response_.Clear();
    return prediction_->Predict(&context, request, &response_);
  }
  std::filesystem::path BlobPath(const std::string& digest) const {
    return folder_ / "blobs" / digest.substr(0, 2) / digest;
  }
  VersionRecord Version(int64_t number) {
    const auto version = real_storage_->models().GetVersion("clouds", number);
    EXPECT_TRUE(version.ok()) << version.status();
    return version.value_or(VersionRecord());
  }

  v1::PredictResponse response_;
};

TEST_F(PredictionsTest, UploadsDelayNoPrediction) {
  TrainClouds();
  HeldExecutor held;
  environment_.compute = &held;
  Serve();
  grpc::ClientContext context;
  v1::Dataset dataset;
  auto writer = datasets_->UploadDataset(&context, &dataset);
  v1::UploadDatasetRequest message;
  message.mutable_header()->add_parts()->mutable_csv();
  writer->Write(message);
  message.mutable_chunk()->set_data("a,b\n1,2\n");
  writer->Write(message);
  writer->WritesDone();
  held.WaitForWork();
  // Much work by rows, by a stored data set, and over a stream.
  EXPECT_TRUE(Predict(CloudsRows("models/clouds/versions/1", 50'000)).ok());
  EXPECT_EQ(response_.labels_size(), 50'000);
  v1::PredictRequest stored;
  stored.set_model("models/clouds");
  stored.set_dataset("datasets/clouds");
  EXPECT_TRUE(Predict(stored).ok());
  grpc::ClientContext stream_context;
  auto stream = prediction_->PredictStream(&stream_context);
  v1::PredictStreamRequest header;
  header.mutable_header()->set_model("models/clouds");
  header.mutable_header()->set_dataset("datasets/clouds");
  stream->Write(header);
  EXPECT_TRUE(stream->Read(&response_));
  EXPECT_FALSE(stream->Read(&response_));
  EXPECT_TRUE(stream->Finish().ok());
  held.RunAll();
  EXPECT_TRUE(writer->Finish().ok());
}

TEST_F(PredictionsTest, MuchWorkRunsOnThePoolOfPredictionsAlone) {
  TrainClouds();
  HeldExecutor held;
  environment_.predictions = &held;
  Serve();
  // The first brings the model into memory.
  EXPECT_TRUE(Predict(CloudsRows("models/clouds", 1)).ok());
  EXPECT_TRUE(Predict(CloudsRows("models/clouds/versions/1", 1)).ok());
  const auto runs_on_the_pool = [&](const v1::PredictRequest& request) {
    grpc::Status status;
    std::thread client([&] { status = Predict(request); });
    held.WaitForWork();
    held.RunAll();
    client.join();
    EXPECT_TRUE(status.ok()) << status.error_message();
  };
  runs_on_the_pool(CloudsRows("models/clouds/versions/1", 20'000));
  runs_on_the_pool(CloudsRows("models/clouds", 20'000));
  // A single row, in a message that takes long to walk: a long text of the ignored target.
  v1::PredictRequest large = CloudsRows("models/clouds/versions/1", 1);
  v1::TypedColumn& target = *large.mutable_rows()->add_columns();
  target.set_name("label");
  target.mutable_texts()->add_values(std::string(100'000, 'a'));
  runs_on_the_pool(large);
}

TEST_F(PredictionsTest, AnswerAboveTheLimitIsRefusedAndSaysWhatToDo) {
  TrainClouds();
  context_.limits.message_bytes = 8 * 1000;
  Serve();
  EXPECT_TRUE(Predict(CloudsRows("models/clouds", 1000)).ok());
  const grpc::Status status = Predict(CloudsRows("models/clouds", 1001));
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "RESPONSE_TOO_LARGE");
  EXPECT_THAT(status.error_message(),
              testing::AllOf(HasSubstr("1001 rows"), HasSubstr("1 outputs"), HasSubstr("8000"),
                             HasSubstr("PredictStream")));
  v1::PredictRequest request = CloudsRows("models/clouds", 400);
  request.set_contributions(true);  // two kernels and the bias
  EXPECT_EQ(ReasonOf(Predict(request)), "RESPONSE_TOO_LARGE");
}

TEST_F(PredictionsTest, StreamOverADataSetKeepsItsMessagesWithinTheLimit) {
  TrainClouds();
  // 40 rows: one message of them would have more than 3 times 320 bytes.
  context_.limits.message_bytes = 900;
  environment_.max_message_bytes = 900;
  Serve();
  grpc::ClientContext context;
  auto stream = prediction_->PredictStream(&context);
  v1::PredictStreamRequest header;
  header.mutable_header()->set_model("models/clouds");
  header.mutable_header()->set_dataset("datasets/clouds");
  header.mutable_header()->set_contributions(true);
  stream->Write(header);
  int rows = 0;
  int messages = 0;
  while (stream->Read(&response_)) {
    EXPECT_LE(response_.ByteSizeLong(), 900u);
    EXPECT_EQ(response_.contributions_size(), 3);
    rows += response_.labels_size();
    ++messages;
  }
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(rows, 40);
  EXPECT_GT(messages, 1);
}

// 2^40 rows of 2^20 outputs and 100 kernels: the product has more than 64 bits.
TEST(AnswerSizeTest, AbsurdSizesDoNotWrapRound) {
  Model model;
  model.function.bias = Vector::Zero(1 << 20);
  KernelTerm term;
  for (int k = 0; k < 100; ++k) {
    term.kernels.emplace_back().bandwidth = k + 1;
  }
  AddTerm(std::move(term), model.function);
  const PredictOptions all = {.contributions = true};
  EXPECT_FALSE(CheckAnswerSize(model, all, Index{1} << 40, int64_t{64} << 20).ok());
  EXPECT_EQ(RowsPerAnswer(model, all, 4096, int64_t{64} << 20), 1);
  EXPECT_EQ(RowsPerAnswer(model, {}, 4096, int64_t{64} << 20), 3);
  model.function.bias = Vector::Zero(1);
  EXPECT_EQ(RowsPerAnswer(model, {}, 4096, int64_t{64} << 20), 4096);
}

TEST_F(PredictionsTest, LostFilesAreDataLossAndNotUnknownNames) {
  TrainClouds();
  Serve();
  const VersionRecord version = Version(1);
  const auto dataset = real_storage_->datasets().GetDataset("clouds");
  ASSERT_TRUE(dataset.ok());
  std::filesystem::remove(BlobPath(version.model_blob));
  const grpc::Status predicted = Predict(CloudsRows("models/clouds", 1));
  EXPECT_EQ(predicted.error_code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(ReasonOf(predicted), "BLOB_MISSING");
  grpc::ClientContext export_context;
  v1::ExportModelRequest export_request;
  export_request.set_name("models/clouds");
  auto reader = models_->ExportModel(&export_context, export_request);
  v1::ExportModelResponse chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(ReasonOf(reader->Finish()), "BLOB_MISSING");

  std::filesystem::remove(BlobPath(dataset->blob));
  grpc::ClientContext train_context;
  v1::TrainRequest train = CloudsRequest();
  train.set_seed(3);
  v1::Job job;
  const grpc::Status trained = training_->Train(&train_context, train, &job);
  EXPECT_EQ(trained.error_code(), StatusCode::DATA_LOSS) << trained.error_message();
  EXPECT_EQ(ReasonOf(trained), "BLOB_MISSING");
}

TEST_F(PredictionsTest, LostFileOfADataSetToPredictIsDataLoss) {
  TrainClouds();
  Serve();
  const auto dataset = real_storage_->datasets().GetDataset("clouds");
  ASSERT_TRUE(dataset.ok());
  std::filesystem::remove(BlobPath(dataset->blob));
  v1::PredictRequest request;
  request.set_model("models/clouds");
  request.set_dataset("datasets/clouds");
  EXPECT_EQ(ReasonOf(Predict(request)), "BLOB_MISSING");
  request.set_dataset("datasets/none");
  EXPECT_EQ(Predict(request).error_code(), StatusCode::NOT_FOUND);
}

class ModelCacheTest : public ApiTest {
 protected:
  // Versions 1 and 2 with files of their own.
  void TrainTwice() {
    TrainClouds();
    v1::TrainRequest request = CloudsRequest();
    request.set_seed(2);
    ASSERT_TRUE(TrainingHandlers(context_).Train(request).ok());
    jobs_->WaitUntilIdle();
  }
};

TEST_F(ModelCacheTest, VersionDeletedWhileItIsReadDoesNotStay) {
  TrainClouds();
  blobs_->before_answer = [this](const std::string&) {
    v1::DeleteModelVersionRequest request;
    request.set_name("models/clouds/versions/1");
    EXPECT_TRUE(ModelHandlers(context_, *cache_).DeleteModelVersion(request).ok());
  };
  EXPECT_EQ(cache_->Load("clouds", 1).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(cache_->Find("clouds", 1), nullptr);
  EXPECT_EQ(cache_->use().bytes, 0);
}

TEST_F(ModelCacheTest, LoadingOneModelDelaysNoOther) {
  TrainTwice();
  const auto second = real_storage_->models().GetVersion("clouds", 2);
  ASSERT_TRUE(second.ok());
  absl::Notification begun;
  absl::Notification other_is_there;
  blobs_->before_answer = [&](const std::string& digest) {
    if (digest != second->model_blob) {
      begun.Notify();
      other_is_there.WaitForNotification();
    }
  };
  std::thread slow([&] { EXPECT_TRUE(cache_->Load("clouds", 1).ok()); });
  begun.WaitForNotification();
  EXPECT_TRUE(cache_->Load("clouds", 2).ok());
  EXPECT_NE(cache_->Find("clouds", 2), nullptr);
  other_is_there.Notify();
  slow.join();
  EXPECT_NE(cache_->Find("clouds", 1), nullptr);
}

TEST_F(ModelCacheTest, CallsThatNeedTheSameModelReadItOnce) {
  TrainClouds();
  std::atomic<int> readings{0};
  absl::Notification begun;
  absl::Notification go_on;
  blobs_->before_answer = [&](const std::string&) {
    if (++readings == 1) {
      begun.Notify();
      go_on.WaitForNotification();
    }
  };
  std::shared_ptr<const LoadedModel> first;
  std::thread slow([&] { first = *cache_->Load("clouds", 1); });
  begun.WaitForNotification();
  std::vector<std::thread> others;
  std::atomic<int> started{0};
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([&] {
      ++started;
      EXPECT_TRUE(cache_->Load("clouds", 1).ok());
    });
  }
  while (started < 4) {
    std::this_thread::yield();
  }
  go_on.Notify();
  slow.join();
  for (std::thread& other : others) {
    other.join();
  }
  EXPECT_EQ(readings, 1);
}

}  // namespace
}  // namespace mercer::server
