#include "client/cpp/client.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include <gtest/gtest.h>

#include "client/cpp/errors.h"
#include "tests/client/cpp/fake_server.h"

namespace mercer::client {
namespace {

class ClientTest : public ::testing::Test {
 protected:
  ClientTest()
      : client_({.address = server_.address(),
                 .sleep = [this](absl::Duration, std::stop_token) { ++sleeps_; }}) {}

  FakeState& state() { return server_.state; }

  FakeServer server_;
  int sleeps_ = 0;
  Client client_;
};

TEST_F(ClientTest, CallsAgainWhileTheServerIsUnavailable) {
  state().failures = 3;
  const auto job = client_.Train(v1::TrainRequest());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(sleeps_, 3);
  ASSERT_EQ(state().trainings.size(), 4u);
  EXPECT_EQ(state().trainings[0].request_id().size(), 32u);
  for (const v1::TrainRequest& request : state().trainings) {
    EXPECT_EQ(request.request_id(), state().trainings[0].request_id());
  }
}

TEST_F(ClientTest, CallsAgainWhenAServerThatEndsHasCancelledTheCall) {
  state().failure = grpc::Status(grpc::StatusCode::CANCELLED, "CANCELLED");
  state().failures = 1;
  const auto job = client_.Train(v1::TrainRequest());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(sleeps_, 1);
  state().failures = 1;
  EXPECT_TRUE(client_.DeleteDataset("datasets/d1").ok());
  state().failures = 1;
  EXPECT_TRUE(client_.EvaluateModel({}).ok());
  EXPECT_EQ(sleeps_, 3);
}

TEST_F(ClientTest, GivesUpAfterTheLastAttempt) {
  state().failures = 100;
  EXPECT_EQ(client_.Train(v1::TrainRequest()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(state().trainings.size(), 5u);
}

TEST_F(ClientTest, OtherErrorsAreFinal) {
  EXPECT_EQ(client_.GetJob("jobs/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(sleeps_, 0);
}

TEST_F(ClientTest, ErrorsMayHaveManyDetails) {
  google::rpc::BadRequest bad_request;
  for (int i = 0; i < 100; ++i) {
    auto& field = *bad_request.add_field_violations();
    field.set_field("rows.columns[" + std::to_string(i) + "].name");
    field.set_description("the model has no column " + std::string(100, 'x'));
  }
  state().train_status =
      MakeGrpcStatus(grpc::StatusCode::INVALID_ARGUMENT, "bad fields", {&bad_request});
  const absl::Status status = client_.Train(v1::TrainRequest()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_EQ(ReadErrorReport(status).fields.size(), 100u);
}

TEST_F(ClientTest, KeepsTheCallersRequestId) {
  v1::TrainRequest request;
  request.set_request_id("mine");
  ASSERT_TRUE(client_.Train(request).ok());
  EXPECT_EQ(state().trainings[0].request_id(), "mine");
}

TEST_F(ClientTest, RepeatsAnUploadFromItsStart) {
  state().failures = 2;
  const std::string bytes = std::string(3'000'000, 'x') + "end";
  v1::UploadHeader header;
  header.set_dataset_id("d");
  header.add_parts()->mutable_csv();
  header.add_parts()->mutable_square();
  int64_t sent = 0;
  const auto dataset = client_.UploadDataset(header, {MemorySource(bytes), MemorySource("square")},
                                             [&](int64_t count) { sent = count; });
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->name(), "datasets/d");
  EXPECT_EQ(sent, 3'000'009);
  ASSERT_EQ(state().uploads.size(), 3u);
  EXPECT_EQ(state().uploads[0].request_id(), state().uploads[2].request_id());
  ASSERT_EQ(state().uploaded_bytes.size(), 1u);
  EXPECT_EQ(state().uploaded_bytes[0], bytes + "square");
}

TEST_F(ClientTest, AnUploadThatMayNotAskWhereItIsBeginsAtItsStart) {
  state().get_upload = grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "needs the scope read");
  v1::UploadHeader header;
  header.set_upload_id("u");
  header.add_parts()->mutable_csv();
  const auto dataset = client_.UploadDataset(header, {MemorySource("abc")});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(sleeps_, 0);
  EXPECT_EQ(state().uploads[0].upload_id(), "u");
  EXPECT_EQ(state().uploaded_bytes, (std::vector<std::string>{"abc"}));
}

TEST_F(ClientTest, AResumableUploadGoesOnAfterWhatAnotherAttemptMends) {
  google::rpc::ErrorInfo taken;
  taken.set_domain("mercer");
  taken.set_reason("UPLOAD_TAKEN_OVER");
  state().get_upload = NotFoundStatus("uploads/u");
  v1::UploadHeader header;
  header.set_upload_id("u");
  header.add_parts()->mutable_csv();
  for (const grpc::Status& failure :
       {MakeGrpcStatus(grpc::StatusCode::ABORTED, "another stream", {&taken}),
        grpc::Status(grpc::StatusCode::CANCELLED, "CANCELLED"),
        grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "stalled")}) {
    sleeps_ = 0;
    state().failure = failure;
    state().failures = 2;
    const auto dataset = client_.UploadDataset(header, {MemorySource("abc")});
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ(sleeps_, 2);
  }
  // Who cannot even be asked where the upload is does not answer at all.
  state().get_upload = grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "silence");
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(client_.UploadDataset(header, {MemorySource("abc")}).status()));
}

TEST(MemorySourceTest, ReadsFromTheStartEachTime) {
  UploadSource source = MemorySource("abcde");
  const auto first = *source();
  const auto second = *source();
  source = nullptr;
  char buffer[3];
  for (ByteSource* const bytes : {first.get(), second.get()}) {
    EXPECT_EQ(*bytes->Read(buffer, 3), 3u);
    EXPECT_EQ(std::string(buffer, 3), "abc");
  }
  EXPECT_EQ(*first->Read(buffer, 3), 2u);
  EXPECT_EQ(std::string(buffer, 2), "de");
  EXPECT_EQ(*first->Read(buffer, 3), 0u);
}

TEST_F(ClientTest, ReportsAFileThatCannotBeRead) {
  v1::UploadHeader header;
  header.add_parts()->mutable_csv();
  const auto dataset = client_.UploadDataset(header, {FileSource("/no/such/file")});
  EXPECT_FALSE(dataset.ok());
  EXPECT_NE(dataset.status().code(), absl::StatusCode::kUnavailable) << dataset.status();
  EXPECT_TRUE(state().uploads.empty());
}

TEST_F(ClientTest, CollectsAllPagesUpToTheLimit) {
  const auto all = client_.ListDatasets(100);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 5u);
  EXPECT_EQ(all->back().name(), "datasets/d4");
}

TEST_F(ClientTest, ADeleteWhoseAnswerWasLostSucceeds) {
  state().failures = 1;
  EXPECT_TRUE(client_.DeleteDataset("datasets/d").ok());
  EXPECT_EQ(client_.DeleteDataset("datasets/d").code(), absl::StatusCode::kNotFound);
}

TEST_F(ClientTest, ADeleteThatTheServerRefusedWasNotDone) {
  google::rpc::ErrorInfo info;
  info.set_domain("mercer");
  info.set_reason("DRAINING");
  state().failure = MakeGrpcStatus(grpc::StatusCode::UNAVAILABLE, "shutting down", {&info});
  state().failures = 1;
  EXPECT_EQ(client_.DeleteDataset("datasets/d").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(sleeps_, 1);
}

TEST(ClientOfALateServerTest, ADeleteThatCouldNotConnectWasNotDone) {
  std::unique_ptr<FakeServer> server = std::make_unique<FakeServer>();
  const std::string address = server->address();
  server.reset();
  int sleeps = 0;
  Client client({.address = address, .sleep = [&](absl::Duration, std::stop_token) {
                   ++sleeps;
                   server = server == nullptr ? std::make_unique<FakeServer>(address)
                                              : std::move(server);
                 }});
  EXPECT_EQ(client.DeleteDataset("datasets/d").code(), absl::StatusCode::kNotFound);
  EXPECT_GE(sleeps, 1);
}

TEST_F(ClientTest, WatchingNeedsNoListener) {
  EXPECT_TRUE(client_.WatchJob("jobs/j1", {}).ok());
  EXPECT_EQ(state().watched_after, (std::vector<int64_t>{0, 2, 4}));
}

TEST_F(ClientTest, WatchingGoesOnAfterBrokenStreams) {
  std::vector<int64_t> seen;
  int interruptions = 0;
  const absl::Status status = client_.WatchJob(
      "jobs/j1",
      {.on_event = [&](const v1::ProgressEvent& e) { seen.push_back(e.sequence()); },
       .on_interruption = [&](const absl::Status&, absl::Duration) { ++interruptions; }});
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(state().watched_after, (std::vector<int64_t>{0, 2, 4}));
  EXPECT_EQ(interruptions, 2);
}

TEST_F(ClientTest, WatchingEndsWhenStopIsRequested) {
  std::stop_source stop;
  const absl::Status status = client_.WatchJob(
      "jobs/j1", {.stop = stop.get_token(),
                  .on_event = [&](const v1::ProgressEvent&) { stop.request_stop(); }});
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST_F(ClientTest, WatchingJobsGoesOnBehindTheLastMessageAfterBrokenStreams) {
  state().watch_ends = {
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining"),
      grpc::Status::OK,
      grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no such state"),
  };
  v1::WatchJobsRequest request;
  request.add_states(v1::JOB_STATE_RUNNING);
  std::vector<std::string> seen;
  const absl::Status status = client_.WatchJobs(
      request,
      {.on_message =
           [&](const v1::WatchJobsResponse& message) {
             EXPECT_FALSE(message.has_heartbeat());
             seen.push_back(message.existing_sent() ? "|" : message.job().name());
           },
       .on_interruption = [&](const absl::Status& why,
                              absl::Duration) { seen.push_back(std::string(why.message())); }});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(seen, (std::vector<std::string>{"jobs/old", "|", "jobs/new", "draining", "jobs/new",
                                            "the server has ended the stream", "jobs/old", "|",
                                            "jobs/new"}));
  std::vector<int64_t> after;
  for (const v1::WatchJobsRequest& watch : state().job_watches) {
    after.push_back(watch.after_sequence());
    EXPECT_EQ(watch.states(0), v1::JOB_STATE_RUNNING);
  }
  EXPECT_EQ(after, (std::vector<int64_t>{0, 7, 8}))
      << "8 is a number that the server does not know";
}

TEST_F(ClientTest, WatchingJobsEndsWhenStopIsRequested) {
  std::stop_source stop;
  const absl::Status status = client_.WatchJobs(
      {}, {.stop = stop.get_token(),
           .on_message = [&](const v1::WatchJobsResponse&) { stop.request_stop(); }});
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST_F(ClientTest, PredictionsStayWithOneVersionAfterABrokenStream) {
  state().batches_per_stream = 2;
  int batch = 0;
  const auto next = [&]() -> absl::StatusOr<v1::Rows> {
    v1::Rows rows;
    if (batch < 5) {
      rows.add_columns()->mutable_texts()->add_values(std::to_string(batch++));
    }
    return rows;
  };
  std::vector<std::string> labels;
  v1::PredictHeader header;
  header.set_model("models/m");
  const absl::Status status =
      client_.Predict(header, next, [&](const v1::PredictResponse& response) {
        labels.push_back(response.labels(0));
        return absl::OkStatus();
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(labels,
            (std::vector<std::string>{"label 0", "label 1", "label 2", "label 3", "label 4"}));
  ASSERT_EQ(state().predictions.size(), 3u);
  EXPECT_EQ(state().predictions[0].model(), "models/m");
  EXPECT_EQ(state().predictions[2].model(), "models/m/versions/7");
}

// Batches of one cell each.
RowsSource Cells(std::vector<std::string> cells) {
  return [cells = std::move(cells), next = size_t{0}]() mutable -> absl::StatusOr<v1::Rows> {
    v1::Rows rows;
    if (next < cells.size()) {
      rows.add_columns()->mutable_texts()->add_values(cells[next++]);
    }
    return rows;
  };
}

TEST_F(ClientTest, APredictionWhoseRowsAreAllAnsweredSucceeds) {
  int answers = 0;
  const PredictionSink count = [&](const v1::PredictResponse&) {
    ++answers;
    return absl::OkStatus();
  };
  state().predict_end = grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
  EXPECT_TRUE(client_.Predict({}, Cells({"a", "b"}), count).ok());
  EXPECT_EQ(answers, 2);
  state().predict_end = grpc::Status(grpc::StatusCode::DATA_LOSS, "damaged");
  EXPECT_EQ(client_.Predict({}, Cells({"a"}), count).code(), absl::StatusCode::kDataLoss);
}

TEST_F(ClientTest, ErrorsCountTheRowsOfAllBatches) {
  const PredictionSink ignore = [](const v1::PredictResponse&) { return absl::OkStatus(); };
  const absl::Status status = client_.Predict({}, Cells({"a", "b", "bad"}), ignore);
  EXPECT_EQ(status.message(), "row 3, column 'x': not a number");
  EXPECT_EQ(ReadErrorReport(status).metadata.at("row"), "3");
  EXPECT_EQ(ReadErrorReport(status).reason, "BAD_CELL");
}

// Batches of one text column, of so many rows each, whose cells count all rows.
RowsSource CountedRows(std::vector<int> sizes) {
  return
      [sizes = std::move(sizes), next = size_t{0}, row = 0]() mutable -> absl::StatusOr<v1::Rows> {
        v1::Rows rows;
        if (next < sizes.size()) {
          v1::TypedColumn::Texts& texts = *rows.add_columns()->mutable_texts();
          for (const int end = row + sizes[next++]; row < end; ++row) {
            texts.add_values(std::to_string(row));
          }
        }
        return rows;
      };
}

TEST_F(ClientTest, BatchesWhoseAnswersAreTooLargeAreHalved) {
  state().rows_per_answer = 3;
  std::vector<std::string> labels;
  const absl::Status status =
      client_.Predict({}, CountedRows({10, 2, 5}), [&](const v1::PredictResponse& response) {
        labels.insert(labels.end(), response.labels().begin(), response.labels().end());
        return absl::OkStatus();
      });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(labels.size(), 17u);
  for (size_t r = 0; r < labels.size(); ++r) {
    EXPECT_EQ(labels[r], "label " + std::to_string(r));
  }
  std::vector<int> sent;
  for (const v1::Rows& rows : state().batches) {
    sent.push_back(rows.columns(0).texts().values_size());
  }
  EXPECT_EQ(sent, (std::vector<int>{10, 5, 2, 2, 2, 2, 2, 2, 2, 2, 1}));  // found out only once
  EXPECT_EQ(sleeps_, 0);
}

TEST_F(ClientTest, OneRowWhoseAnswerIsTooLargeIsAnError) {
  state().rows_per_answer = 0;
  const PredictionSink ignore = [](const v1::PredictResponse&) { return absl::OkStatus(); };
  const absl::Status status = client_.Predict({}, CountedRows({4}), ignore);
  EXPECT_EQ(ReadErrorReport(status).reason, "RESPONSE_TOO_LARGE") << status;
  EXPECT_EQ(state().batches.size(), 3u);  // 4, 2 and 1 rows
}

TEST_F(ClientTest, ErrorsCountTheRowsOfAllPieces) {
  state().rows_per_answer = 2;
  const PredictionSink ignore = [](const v1::PredictResponse&) { return absl::OkStatus(); };
  const RowsSource large = CountedRows({5});
  const RowsSource cells = Cells({"bad"});
  bool first = true;
  const absl::Status status = client_.Predict(
      {}, [&] { return std::exchange(first, false) ? large() : cells(); }, ignore);
  EXPECT_EQ(status.message(), "row 6, column 'x': not a number");
}

TEST_F(ClientTest, PredictingEndsWhenStopIsRequested) {
  std::stop_source stop;
  const absl::Status status = client_.Predict(
      {}, Cells({"a", "b"}),
      [&](const v1::PredictResponse&) {
        stop.request_stop();
        return absl::OkStatus();
      },
      stop.get_token());
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

// A server that accepts calls and never answers them.
TEST(ClientOfASilentServerTest, NothingWaitsForEver) {
  FakeServer server;
  server.state.says_nothing = true;
  Client client({.address = server.address(),
                 .timeout = absl::Milliseconds(100),
                 .stream_timeout = absl::Milliseconds(100),
                 .watch_retry = {.max_attempts = 2},
                 .sleep = [](absl::Duration, std::stop_token) {}});
  const auto late = absl::StatusCode::kDeadlineExceeded;
  const PredictionSink ignore = [](const v1::PredictResponse&) { return absl::OkStatus(); };
  v1::UploadHeader header;
  header.add_parts()->mutable_csv();
  EXPECT_EQ(client.Train({}).status().code(), late);
  EXPECT_EQ(client.DeleteDataset("datasets/d").code(), late);
  EXPECT_EQ(client.UploadDataset(header, {MemorySource("x")}).status().code(), late);
  EXPECT_EQ(client.Predict({}, Cells({"a"}), ignore).code(), late);
  EXPECT_EQ(client.PredictDataset({}, ignore).code(), late);
  EXPECT_EQ(client.ExportModel("models/m", ::testing::TempDir() + "/silent").status().code(), late);
  EXPECT_EQ(client.WatchJob("jobs/j1", {}).code(), absl::StatusCode::kUnavailable);
  server.state.Release();
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST_F(ClientTest, AnExportOfOtherBytesIsRefused) {
  const std::string path = ::testing::TempDir() + "/damaged.model";
  std::ofstream(path) << "old";
  state().export_digest = std::string(64, '0');
  const absl::Status status = client_.ExportModel("models/m", path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(std::string(status.message()).find("SHA-256"), std::string::npos) << status;
  EXPECT_EQ(ReadFile(path), "old");
  std::filesystem::remove(path);
}

TEST_F(ClientTest, WhatWentIntoADeviceIsNotWrittenTwice) {
  state().failures = 1;
  const absl::Status status = client_.ExportModel("models/m", "/dev/null").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_EQ(sleeps_, 0);
}

TEST_F(ClientTest, AnExportThatBreaksLeavesNoHalfFile) {
  const std::string folder = ::testing::TempDir() + "/exports";
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/exported.model";
  state().failures = 100;
  EXPECT_FALSE(client_.ExportModel("models/m", path).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  state().failures = 1;
  const auto header = client_.ExportModel("models/m", path);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(ReadFile(path), "abcabc");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace mercer::client
