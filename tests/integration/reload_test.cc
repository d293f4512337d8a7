// SIGHUP while a server works: what the program does then, without the signal.
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "server/app/command_line.h"
#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

using testing::HasSubstr;
using testing::Not;

// What the log says, also while others write to it.
class TextSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::string Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(text_, "");
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    text_.append(message.payload.data(), message.payload.size()).append("\n");
  }
  void flush_() override {}

  std::string text_;
};

class ReloadedServerTest : public ServerTest {
 protected:
  void Start(const std::string& file, std::vector<std::string> flags = {}) {
    std::filesystem::create_directories(folder_);
    file_ = folder_ / "mercer.conf";
    words_ = {"mercer-server",  "--config", file_,        "--data-dir",
              folder_ / "data", "--listen", "127.0.0.1:0"};
    words_.insert(words_.end(), flags.begin(), flags.end());
    const absl::StatusOr<ServerOptions> options = Read(file);
    ASSERT_TRUE(options.ok()) << options.status();
    log_ = std::make_shared<spdlog::logger>("test", sink_);
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(*options, log_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    models_ = v1::ModelService::NewStub(Connect());
  }

  absl::StatusOr<ServerOptions> Read(const std::string& file) const {
    std::ofstream(file_) << file;
    return ReadAgain();
  }
  absl::StatusOr<ServerOptions> ReadAgain() const {
    std::vector<const char*> arguments;
    for (const std::string& word : words_) {
      arguments.push_back(word.c_str());
    }
    return ReadOptionsAgain(static_cast<int>(arguments.size()), arguments.data());
  }
  // Answers what the log says of it.
  std::string Reload(const std::string& file) {
    sink_->Take();
    server_->Reload(Read(file));
    return sink_->Take();
  }
  int ListModels() const {
    grpc::ClientContext context;
    v1::ListModelsResponse response;
    return models_->ListModels(&context, v1::ListModelsRequest(), &response).error_code();
  }

  std::string file_;
  std::vector<std::string> words_;
  const std::shared_ptr<TextSink> sink_ = std::make_shared<TextSink>();
  std::shared_ptr<spdlog::logger> log_;
};

TEST_F(ReloadedServerTest, ALimitOfTheFileTakesEffectAndABrokenFileDoesNot) {
  Start("max-calls = 10\n");
  // A stream that stays open, and is one call.
  grpc::ClientContext context;
  v1::WatchJobsRequest watch;
  const auto training = v1::TrainingService::NewStub(Connect());
  const auto reader = training->WatchJobs(&context, watch);
  v1::WatchJobsResponse message;
  ASSERT_TRUE(reader->Read(&message)) << "the end of the existing jobs";
  EXPECT_EQ(ListModels(), grpc::OK);

  EXPECT_THAT(Reload("max-calls = 1\nworkers = 7\n"),
              testing::AllOf(HasSubstr("--max-calls 10 -> 1"), HasSubstr("--workers")));
  EXPECT_EQ(ListModels(), grpc::RESOURCE_EXHAUSTED) << "the open stream counts";

  for (const auto& [file, place] : std::vector<std::pair<std::string, std::string>>{
           {"# two\nmax-calls = many\n", ":2"},
           {"max-calls = 10\n\nmax-callz = 3\n", ":3"},
           {"max-calls = -1\n", ":1"},
           {"max-calls = 10\nupload-expiry = 0\n", ":2"},
           {"max-calls = 10\nlog-level = loud\n", ":2"}}) {
    const std::string log = Reload(file);
    EXPECT_THAT(log, HasSubstr("the configuration stays as it was"));
    EXPECT_THAT(log, HasSubstr(file_ + place));
    EXPECT_EQ(ListModels(), grpc::RESOURCE_EXHAUSTED) << file;
  }

  EXPECT_THAT(Reload("max-calls = 2\n"), HasSubstr("--max-calls 1 -> 2"));
  EXPECT_EQ(ListModels(), grpc::OK);
  EXPECT_THAT(Reload("max-calls = 2\n"), HasSubstr("nothing changes"));
  std::filesystem::remove(file_);
  sink_->Take();
  server_->Reload(ReadAgain());
  EXPECT_THAT(sink_->Take(), HasSubstr(file_));
  EXPECT_EQ(ListModels(), grpc::OK);
  context.TryCancel();
}

TEST_F(ReloadedServerTest, FlagsGoFirst) {
  Start("max-calls = 10\n", {"--max-calls", "3"});
  EXPECT_THAT(Reload("max-calls = 20\nmax-queued-jobs = 4\n"),
              testing::AllOf(HasSubstr("--max-queued-jobs 0 -> 4"), Not(HasSubstr("--max-calls"))));
}

TEST_F(ReloadedServerTest, TheLogLevelChangesAndTheLogSaysSo) {
  Start("log-level = info\n");
  EXPECT_THAT(Reload("log-level = error\n"), HasSubstr("--log-level info -> error"));
  EXPECT_EQ(log_->level(), spdlog::level::err);
  EXPECT_THAT(Reload("log-level = debug\n"), HasSubstr("--log-level error -> debug"));
  EXPECT_EQ(log_->level(), spdlog::level::debug);
}

}  // namespace
}  // namespace mercer::server
