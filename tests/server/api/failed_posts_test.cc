// Work of a call that cannot be handed to a pool, where there is no memory, ends the call and nothing else.
#include <functional>
#include <string>

#include "mercer/v1/admin_service.grpc.pb.h"
#include "tests/server/api/api_fixture.h"
#include "tests/support/server/failing_executor.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;

class FailedPostsTest : public ApiTest {
 protected:
  FailedPostsTest() {
    environment_.io = &failing_io_;
    environment_.watching = &failing_watching_;
    environment_.compute = &failing_compute_;
    environment_.intake = &failing_intake_;
    environment_.predictions = &failing_predictions_;
    context_.backup_folder = folder_;
    services_.push_back(MakeAdminService(environment_, context_));
  }

  using Context = grpc::ClientContext;

  // Makes `call` again and again, and has each of its posts to `executor` fail in turn. There are `posts` at least.
  void ExpectEndsWhereverItFails(FailingExecutor& executor, int posts,
                                 const std::function<grpc::Status(Context&)>& call) {
    for (int post = 0;; ++post) {
      executor.FailAfter(post);
      Context context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
      const grpc::Status status = call(context);
      if (!executor.has_failed()) {
        executor.FailAfter(-1);
        EXPECT_TRUE(status.ok()) << status.error_message();
        EXPECT_GE(post, posts);
        return;
      }
      ASSERT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED)
          << post << ": " << status.error_message();
      ASSERT_EQ(ReasonOf(status), "OUT_OF_MEMORY") << post;
    }
  }

  // The same of the two posts for a message with many fields, which is refused when it has been read.
  void ExpectEndsWithoutTheIntake(const std::function<grpc::Status()>& call) {
    failing_intake_.FailAfter(1);  // the end of the message, soon after the client has its answer
    EXPECT_EQ(ReasonOf(call()), "BAD_FIELDS");
    while (!failing_intake_.has_failed()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    failing_intake_.FailAfter(0);
    EXPECT_EQ(ReasonOf(call()), "OUT_OF_MEMORY");
    server_->Shutdown();
    server_->Wait();  // for the end of this message, too
  }

  template <typename Response, typename Reader>
  static grpc::Status ReadAll(Reader reader) {
    Response response;
    while (reader->Read(&response)) {
    }
    return reader->Finish();
  }

  FailingExecutor failing_io_{io_};
  FailingExecutor failing_watching_{hub_io_};
  FailingExecutor failing_compute_{compute_};
  FailingExecutor failing_intake_{intake_};
  FailingExecutor failing_predictions_{predictions_};
};

TEST_F(FailedPostsTest, UnaryCallWithALargeRequest) {
  Serve();
  v1::ListJobsRequest request;
  request.set_page_size(1);
  ExpectEndsWhereverItFails(failing_io_, 1, [&](Context& context) {
    v1::ListJobsResponse response;
    return training_->ListJobs(&context, request, &response);
  });
  TrainClouds();
  // Taken in by a pool, as it is large.
  const v1::PredictRequest rows = CloudsRows("models/clouds", 10000);
  ExpectEndsWhereverItFails(failing_io_, 1, [&](Context& context) {
    v1::PredictResponse response;
    return prediction_->Predict(&context, rows, &response);
  });
  ExpectEndsWhereverItFails(failing_predictions_, 1, [&](Context& context) {
    v1::PredictResponse response;
    return prediction_->Predict(&context, rows, &response);
  });
}

TEST_F(FailedPostsTest, RequestWithManyFields) {
  TrainClouds();
  Serve();
  v1::PredictRequest rows = CloudsRows("models/clouds", 30'000);
  for (int i = 0; i < 30'000; ++i) {
    rows.mutable_rows()->add_tasks("");
  }
  const auto code = [&] {
    Context context;
    v1::PredictResponse response;
    return prediction_->Predict(&context, rows, &response).error_code();
  };
  failing_intake_.FailAfter(1);  // the end of the request, soon after the client has its answer
  EXPECT_NE(code(), StatusCode::RESOURCE_EXHAUSTED);
  while (!failing_intake_.has_failed()) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  failing_intake_.FailAfter(0);
  EXPECT_EQ(code(), StatusCode::RESOURCE_EXHAUSTED);
  server_->Shutdown();
  server_->Wait();  // for the end of this request, too
}

TEST_F(FailedPostsTest, RowsOfAStreamWithManyFields) {
  TrainClouds();
  Serve();
  ExpectEndsWithoutTheIntake([&] {
    Context context;
    const auto stream = prediction_->PredictStream(&context);
    v1::PredictStreamRequest message;
    message.mutable_header()->set_model("models/clouds");
    stream->Write(message);
    *message.mutable_rows() = CloudsRows("", 30'000).rows();
    for (int i = 0; i < 30'000; ++i) {
      message.mutable_rows()->add_tasks("");
    }
    stream->Write(message);
    stream->WritesDone();
    v1::PredictResponse response;
    while (stream->Read(&response)) {
    }
    return stream->Finish();
  });
}

TEST_F(FailedPostsTest, HeaderOfAnUploadWithManyFields) {
  Serve();
  ExpectEndsWithoutTheIntake([&] {
    Context context;
    v1::Dataset dataset;
    const auto writer = datasets_->UploadDataset(&context, &dataset);
    v1::UploadDatasetRequest message;
    for (int i = 0; i < 30'000; ++i) {
      message.mutable_header()->add_parts();
    }
    message.mutable_header()->set_display_name(std::string(70'000, 'n'));
    writer->Write(message);
    writer->WritesDone();
    return writer->Finish();
  });
}

TEST_F(FailedPostsTest, PredictionsInAStream) {
  TrainClouds();
  Serve();
  const auto predict = [&](Context& context, bool of_dataset) {
    auto stream = prediction_->PredictStream(&context);
    v1::PredictStreamRequest message;
    message.mutable_header()->set_model("models/clouds");
    if (of_dataset) {
      message.mutable_header()->set_dataset("datasets/clouds");
    }
    stream->Write(message);
    if (!of_dataset) {
      *message.mutable_rows() = CloudsRows("", 3).rows();
      stream->Write(message);
    }
    stream->WritesDone();
    v1::PredictResponse response;
    while (stream->Read(&response)) {
    }
    return stream->Finish();
  };
  for (const bool of_dataset : {false, true}) {
    const auto call = [&](Context& context) { return predict(context, of_dataset); };
    ExpectEndsWhereverItFails(failing_io_, 1, call);
    ExpectEndsWhereverItFails(failing_predictions_, 1, call);
  }
}

TEST_F(FailedPostsTest, ExportAndBackup) {
  TrainClouds();
  Serve();
  v1::ExportModelRequest request;
  request.set_name("models/clouds");
  ExpectEndsWhereverItFails(failing_io_, 2, [&](Context& context) {
    return ReadAll<v1::ExportModelResponse>(models_->ExportModel(&context, request));
  });
  const auto admin = v1::AdminService::NewStub(channel_);
  ExpectEndsWhereverItFails(failing_io_, 4, [&](Context& context) {
    return ReadAll<v1::BackupResponse>(admin->Backup(&context, v1::BackupRequest()));
  });
}

TEST_F(FailedPostsTest, Upload) {
  Serve();
  const auto upload = [&](Context& context) {
    v1::Dataset dataset;
    auto writer = datasets_->UploadDataset(&context, &dataset);
    v1::UploadDatasetRequest message;
    message.mutable_header()->add_parts()->mutable_csv();
    writer->Write(message);
    message.mutable_chunk()->set_data("a,b\n1,2\n");
    writer->Write(message);
    writer->WritesDone();
    return writer->Finish();
  };
  ExpectEndsWhereverItFails(failing_io_, 2, upload);
  ExpectEndsWhereverItFails(failing_compute_, 1, upload);
}

TEST_F(FailedPostsTest, ProgressOfAJob) {
  const std::string job = TrainClouds();
  Serve();
  v1::StreamProgressRequest request;
  request.set_job(job);
  const auto follow = [&](Context& context) {
    return ReadAll<v1::StreamProgressResponse>(training_->StreamProgress(&context, request));
  };
  ExpectEndsWhereverItFails(failing_watching_, 2, follow);
  ExpectEndsWhereverItFails(failing_io_, 1, follow);
}

// Such a stream never ends by itself: it is left behind the jobs that there are.
TEST_F(FailedPostsTest, WatchOfTheJobs) {
  TrainClouds();
  Serve();
  ExpectEndsWhereverItFails(failing_watching_, 1, [&](Context& context) {
    const auto reader = training_->WatchJobs(&context, v1::WatchJobsRequest());
    v1::WatchJobsResponse response;
    while (reader->Read(&response)) {
      if (response.existing_sent() && !failing_watching_.has_failed()) {
        context.TryCancel();
        reader->Finish();
        return grpc::Status::OK;
      }
    }
    return reader->Finish();
  });
}

}  // namespace
}  // namespace mercer::server
