// Calls that are computed together: each has the answer that it would have alone.
#include <future>
#include <new>
#include <optional>

#include "server/api/model_handlers.h"
#include "server/api/prediction_handlers.h"
#include "server/prediction/prediction_runner.h"
#include "tests/server/api/api_fixture.h"
#include "tests/support/server/failing_executor.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;

// A call without gRPC around it.
struct Call {
  v1::PredictRequest request;
  v1::PredictResponse response;
  bool gone = false;
  std::optional<absl::Status> status;
};

class PredictionBatchTest : public ApiTest {
 protected:
  void Load() {
    TrainClouds();
    auto loaded = cache_->Load("clouds", 1);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    model_ = *std::move(loaded);
  }
  // `rows` rows with values that no other row has.
  v1::PredictRequest Rows(int rows) {
    v1::PredictRequest request = CloudsRows("models/clouds/versions/1", rows);
    for (double& value :
         *request.mutable_rows()->mutable_dense(0)->mutable_values()->mutable_values()) {
      value = 0.37 * ++next_value_;
    }
    return request;
  }
  static PredictionBatch Pending(Call& call) {
    PredictionBatch batch;
    batch.push_back({&call.request, &call.response, call.request.rows().dense(0).values().rows(),
                     [&call] { return call.gone; },
                     [&call](const absl::Status& status) {
                       EXPECT_FALSE(call.status.has_value()) << "ended twice";
                       call.status = status;
                     }});
    return batch;
  }
  void AnswerTogether(std::vector<Call>& calls) {
    PredictionBatch batch;
    for (Call& call : calls) {
      batch.splice(batch.end(), Pending(call));
    }
    AnswerBatch(*model_, batch, context_.limits.message_bytes);
    EXPECT_TRUE(batch.empty());
  }
  v1::PredictResponse Alone(const v1::PredictRequest& request) {
    const auto response =
        PredictionHandlers(context_, *cache_).Predict(*model_, request, CancellationToken());
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::PredictResponse();
  }

  // Of which a call is more work than is always done on the thread that it came in on.
  int RowsBeyondTinyWork() const {
    const Model& content = model_->predictor->model();
    const int64_t rows = kMillisecondOfWork / 32 / WorkPerRow(content, /*contributions=*/false) + 1;
    return static_cast<int>(rows);
  }
  // Nobody waits, and as many calls may run as ever.
  void ExpectFree(PredictionQueue& queue) {
    Call calls[2];
    for (Call& call : calls) {
      call.request = Rows(1);
      EXPECT_EQ(queue.Add(Pending(call)).size(), 1u);
    }
    EXPECT_TRUE(queue.Next().empty());
    EXPECT_TRUE(queue.Next().empty());
  }

  std::shared_ptr<const LoadedModel> model_;

 private:
  int next_value_ = 0;
};

TEST_F(PredictionBatchTest, EachCallHasTheBitsThatItHasAlone) {
  Load();
  std::vector<Call> calls(6);
  for (size_t i = 0; i < calls.size(); ++i) {
    calls[i].request = Rows(static_cast<int>(i * i) + 1);
  }
  AnswerTogether(calls);
  for (const Call& call : calls) {
    ASSERT_TRUE(call.status.has_value());
    EXPECT_TRUE(call.status->ok()) << *call.status;
    EXPECT_EQ(call.response.SerializeAsString(), Alone(call.request).SerializeAsString());
  }
  EXPECT_EQ(model_->statistics->batches(), 1);
  EXPECT_EQ(model_->statistics->coalesced(), 6);
}

TEST_F(PredictionBatchTest, CallThatCannotBeEndedHarmsNoOther) {
  Load();
  std::vector<Call> calls(3);
  PredictionBatch batch;
  for (Call& call : calls) {
    call.request = Rows(2);
    batch.splice(batch.end(), Pending(call));
  }
  batch.front().end = [](const absl::Status&) { throw std::bad_alloc(); };
  AnswerBatch(*model_, batch, context_.limits.message_bytes);
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(calls[1].status.has_value() && calls[1].status->ok());
  EXPECT_TRUE(calls[2].status.has_value() && calls[2].status->ok());
}

TEST_F(PredictionBatchTest, ErrorOfOneCallIsItsOwn) {
  Load();
  std::vector<Call> calls(4);
  for (Call& call : calls) {
    call.request = Rows(2);
  }
  v1::Matrix& values = *calls[1].request.mutable_rows()->mutable_dense(0)->mutable_values();
  values.set_values(3, std::nan(""));
  calls[2].gone = true;
  AnswerTogether(calls);
  EXPECT_TRUE(calls[0].status->ok()) << *calls[0].status;
  EXPECT_TRUE(calls[3].status->ok()) << *calls[3].status;
  EXPECT_EQ(calls[0].response.SerializeAsString(), Alone(calls[0].request).SerializeAsString());
  EXPECT_EQ(calls[3].response.SerializeAsString(), Alone(calls[3].request).SerializeAsString());
  EXPECT_EQ(calls[1].status->code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*calls[1].status, PredictionHandlers(context_, *cache_)
                                  .Predict(*model_, calls[1].request, CancellationToken())
                                  .status());
  EXPECT_EQ(calls[2].status->code(), absl::StatusCode::kCancelled);
}

TEST_F(PredictionBatchTest, BatchWithoutAGoodCallEnds) {
  Load();
  std::vector<Call> calls(2);
  for (Call& call : calls) {
    call.request = Rows(1);
    call.request.mutable_rows()->mutable_dense(0)->mutable_values()->set_columns(7);
  }
  AnswerTogether(calls);
  EXPECT_EQ(calls[0].status->code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(calls[1].status->code(), absl::StatusCode::kInvalidArgument);
}

// A call that comes while another is computed on the thread that took it in goes to the pool; those beyond the
// two that the model may run at a time wait, and are answered together.
TEST_F(PredictionBatchTest, CallsThatComeWhileOthersRunAreComputedTogether) {
  Load();
  HeldExecutor pool;
  PredictionRunner runner(pool, context_.limits.message_bytes);
  const int rows = RowsBeyondTinyWork();
  std::vector<Call> calls(5);
  for (Call& call : calls) {
    call.request = Rows(rows);
  }
  std::vector<Call> small(2);  // fit into one batch whatever the model
  for (Call& call : small) {
    call.request = Rows(1);
  }
  Call first;
  first.request = Rows(rows);
  PredictionBatch pending = Pending(first);
  pending.front().end = [&](const absl::Status& status) {
    first.status = status;
    for (Call& call : calls) {
      runner.Run(model_, Pending(call));
    }
    for (Call& call : small) {
      EXPECT_TRUE(model_->queue->Add(Pending(call)).empty());
    }
  };
  runner.Run(model_, std::move(pending));
  ASSERT_TRUE(first.status.has_value()) << "answered on the thread it came in on";
  EXPECT_TRUE(first.status->ok()) << *first.status;
  for (const Call& call : calls) {
    EXPECT_FALSE(call.status.has_value()) << "the pool does nothing yet";
  }
  EXPECT_EQ(model_->statistics->batches(), 1);
  for (size_t i = 0; i < calls.size() + small.size(); ++i) {
    pool.RunAll();  // each posts the next
  }
  calls.insert(calls.end(), small.begin(), small.end());
  EXPECT_EQ(first.response.SerializeAsString(), Alone(first.request).SerializeAsString());
  for (const Call& call : calls) {
    ASSERT_TRUE(call.status.has_value());
    EXPECT_TRUE(call.status->ok()) << *call.status;
    EXPECT_EQ(call.response.SerializeAsString(), Alone(call.request).SerializeAsString());
  }
  EXPECT_LT(model_->statistics->batches(), 8) << "eight calls";
  EXPECT_GE(model_->statistics->coalesced(), 2);
  ExpectFree(*model_->queue);
}

// More than a thread that takes calls in may be kept for.
TEST_F(PredictionBatchTest, LargeCallRunsInThePoolAndTheNextWhereItCameIn) {
  Load();
  HeldExecutor pool;
  PredictionRunner runner(pool, context_.limits.message_bytes);
  Call large;
  large.request = Rows(static_cast<int>(
      kMillisecondOfWork / WorkPerRow(model_->predictor->model(), /*contributions=*/false) + 1));
  runner.Run(model_, Pending(large));
  EXPECT_FALSE(large.status.has_value());
  Call next;
  next.request = Rows(RowsBeyondTinyWork());
  runner.Run(model_, Pending(next));
  EXPECT_TRUE(next.status.has_value());
  pool.RunAll();
  for (const Call* call : {&large, &next}) {
    ASSERT_TRUE(call->status.has_value());
    EXPECT_TRUE(call->status->ok()) << *call->status;
    EXPECT_EQ(call->response.SerializeAsString(), Alone(call->request).SerializeAsString());
  }
  ExpectFree(*model_->queue);
}

TEST_F(PredictionBatchTest, CallsThatCannotBePostedEnd) {
  Load();
  HeldExecutor held;
  FailingExecutor pool(held);
  PredictionRunner runner(pool, context_.limits.message_bytes);
  std::vector<Call> calls(4);
  for (Call& call : calls) {
    call.request = Rows(static_cast<int>(
        kMillisecondOfWork / WorkPerRow(model_->predictor->model(), /*contributions=*/false) + 1));
  }
  pool.FailAfter(0);
  runner.Run(model_, Pending(calls[0]));
  ASSERT_TRUE(calls[0].status.has_value());
  EXPECT_EQ(GetReason(*calls[0].status), "OUT_OF_MEMORY");
  // Two may run, the third waits for one of them and cannot be posted then.
  for (size_t i = 1; i < calls.size(); ++i) {
    runner.Run(model_, Pending(calls[i]));
  }
  pool.FailAfter(0);
  held.RunAll();
  for (size_t i = 1; i < calls.size(); ++i) {
    ASSERT_TRUE(calls[i].status.has_value()) << i;
  }
  EXPECT_TRUE(calls[1].status->ok() && calls[2].status->ok());
  EXPECT_EQ(GetReason(*calls[3].status), "OUT_OF_MEMORY");
  ExpectFree(*model_->queue);
}

TEST_F(PredictionBatchTest, ConcurrentClientsGetTheirOwnAnswers) {
  Load();
  Serve();
  std::vector<v1::PredictRequest> requests;
  std::vector<std::string> expected;
  for (int c = 0; c < 8; ++c) {
    requests.push_back(Rows(c + 1));
    expected.push_back(Alone(requests.back()).SerializeAsString());
  }
  std::vector<std::future<int>> clients;
  for (size_t c = 0; c < requests.size(); ++c) {
    clients.push_back(std::async(std::launch::async, [&, c] {
      int right = 0;
      for (int i = 0; i < 50; ++i) {
        grpc::ClientContext context;
        v1::PredictResponse response;
        right += prediction_->Predict(&context, requests[c], &response).ok() &&
                 response.SerializeAsString() == expected[c];
      }
      return right;
    }));
  }
  for (std::future<int>& client : clients) {
    EXPECT_EQ(client.get(), 50);
  }
  grpc::ClientContext context;
  v1::ListPredictionStatisticsRequest request;
  request.set_model("models/clouds");
  v1::ListPredictionStatisticsResponse response;
  ASSERT_TRUE(prediction_->ListPredictionStatistics(&context, request, &response).ok());
  ASSERT_EQ(response.statistics_size(), 1);
  EXPECT_EQ(response.statistics(0).model(), "models/clouds/versions/1");
  EXPECT_EQ(response.statistics(0).succeeded(), 400);
  EXPECT_EQ(response.statistics(0).rows(), 50 * (8 * 9 / 2));
  EXPECT_EQ(response.statistics(0).failed(), 0);
}

TEST_F(PredictionBatchTest, StatisticsComeInPagesByName) {
  TrainClouds();
  for (int version = 2; version <= 3; ++version) {
    ASSERT_TRUE(TrainingHandlers(context_).Train(CloudsRequest()).ok());
    jobs_->WaitUntilIdle();
  }
  Serve();
  for (const int version : {3, 1, 2}) {
    grpc::ClientContext context;
    v1::PredictResponse response;
    const std::string name = absl::StrCat("models/clouds/versions/", version);
    ASSERT_TRUE(prediction_->Predict(&context, CloudsRows(name, 1), &response).ok());
  }
  PredictionHandlers handlers(context_, *cache_);
  v1::ListPredictionStatisticsRequest request;
  request.set_page_size(2);
  const auto first = handlers.ListStatistics(request);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->statistics_size(), 2);
  EXPECT_EQ(first->statistics(0).model(), "models/clouds/versions/1");
  EXPECT_EQ(first->statistics(1).model(), "models/clouds/versions/2");
  request.set_page_token(first->next_page_token());
  const auto last = handlers.ListStatistics(request);
  ASSERT_TRUE(last.ok()) << last.status();
  ASSERT_EQ(last->statistics_size(), 1);
  EXPECT_EQ(last->statistics(0).model(), "models/clouds/versions/3");
  EXPECT_EQ(last->next_page_token(), "");
  request.set_model("models/clouds");
  EXPECT_EQ(GetReason(handlers.ListStatistics(request).status()), "BAD_PAGE_TOKEN");
  request.clear_page_token();
  request.set_page_size(-1);
  EXPECT_EQ(GetReason(handlers.ListStatistics(request).status()), "BAD_PAGE_SIZE");
  cache_->Remove("clouds", 2);  // as its deletion does
  request.set_page_size(0);
  EXPECT_EQ(handlers.ListStatistics(request)->statistics_size(), 2);
}

TEST_F(PredictionBatchTest, StatisticsAreOfAModelAndNotOfAVersion) {
  Serve();
  grpc::ClientContext context;
  v1::ListPredictionStatisticsRequest request;
  request.set_model("models/clouds/versions/1");
  v1::ListPredictionStatisticsResponse response;
  EXPECT_EQ(prediction_->ListPredictionStatistics(&context, request, &response).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace mercer::server
