// Flags and the configuration file of mercer-server.
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/app/command_line.h"

namespace mercer::server {
namespace {

using testing::HasSubstr;

class ConfigurationTest : public testing::Test {
 protected:
  ConfigurationTest()
      : path_(std::filesystem::temp_directory_path() /
              ("configuration_test_" + std::to_string(getpid()) + ".conf")) {}
  ~ConfigurationTest() override { std::filesystem::remove(path_); }

  // What the file and the flags mean; what is printed goes to errors_.
  CommandLine Parse(const std::string& file, const std::vector<std::string>& flags = {}) {
    std::ofstream(path_) << file;
    std::vector<std::string> words = {"mercer-server", "--config", path_};
    words.insert(words.end(), flags.begin(), flags.end());
    std::vector<const char*> arguments;
    for (const std::string& word : words) {
      arguments.push_back(word.c_str());
    }
    testing::internal::CaptureStderr();
    CommandLine result = ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
    errors_ = testing::internal::GetCapturedStderr();
    return result;
  }

  const std::filesystem::path path_;
  std::string errors_;
};

TEST_F(ConfigurationTest, ValuesAreRead) {
  const CommandLine parsed = Parse(
      "# a comment\n"
      "data-dir=/tmp/somewhere\n"
      "listen = 127.0.0.1:9\n"
      "workers=3\n"
      "memory-budget=2GB\n"
      "max-upload=1GB\n"
      "cache-mb=7\n"
      "checkpoint-interval=2.5\n"
      "log-level=warning\n");
  ASSERT_FALSE(parsed.exit_code.has_value()) << errors_;
  EXPECT_EQ(parsed.options.data_dir, "/tmp/somewhere");
  EXPECT_EQ(parsed.options.listen, "127.0.0.1:9");
  EXPECT_EQ(parsed.options.workers, 3);
  EXPECT_EQ(parsed.options.memory_budget_bytes, int64_t{2} << 30);
  EXPECT_EQ(parsed.options.max_upload_bytes, int64_t{1} << 30);
  EXPECT_EQ(parsed.options.cache_mb, 7);
  EXPECT_EQ(parsed.options.checkpoint_interval, absl::Seconds(2.5));
  EXPECT_EQ(parsed.options.log_level, "warning");
}

TEST_F(ConfigurationTest, TimesOfJobsHaveUnits) {
  EXPECT_EQ(Parse("job-retention=90d\n").options.job_retention, absl::Hours(90 * 24));
  EXPECT_EQ(Parse("job-retention=36h\n").options.job_retention, absl::Hours(36));
  EXPECT_EQ(Parse("job-retention=15m\n").options.job_retention, absl::Minutes(15));
  EXPECT_EQ(Parse("job-retention=3600\n").options.job_retention, absl::Hours(1));
  EXPECT_EQ(Parse("").options.job_retention, absl::ZeroDuration()) << "for ever";
  for (const char* bad : {"job-retention=-1\n", "job-retention=2w\n"}) {
    EXPECT_TRUE(Parse(bad).exit_code.has_value()) << bad;
    EXPECT_THAT(errors_, HasSubstr("job-retention"));
  }
}

TEST_F(ConfigurationTest, FlagsGoFirst) {
  const CommandLine parsed = Parse("workers=3\nthreads=2\n", {"--workers", "5"});
  ASSERT_FALSE(parsed.exit_code.has_value()) << errors_;
  EXPECT_EQ(parsed.options.workers, 5);
  EXPECT_EQ(parsed.options.threads, 2);
}

TEST_F(ConfigurationTest, UnknownNameIsRefusedWithFileAndLine) {
  const CommandLine parsed = Parse("workers=3\n\n# a comment\nworkerz = 4\n");
  ASSERT_TRUE(parsed.exit_code.has_value());
  EXPECT_NE(*parsed.exit_code, 0);
  EXPECT_THAT(errors_, HasSubstr(path_.string() + ":4"));
  EXPECT_THAT(errors_, HasSubstr("workerz"));
}

TEST_F(ConfigurationTest, BadValueIsRefusedWithItsName) {
  const CommandLine parsed = Parse("workers=many\n");
  ASSERT_TRUE(parsed.exit_code.has_value());
  EXPECT_NE(*parsed.exit_code, 0);
  EXPECT_THAT(errors_, HasSubstr("workers"));
  EXPECT_THAT(errors_, HasSubstr("many"));
}

TEST_F(ConfigurationTest, MissingFileIsRefused) {
  const char* const arguments[] = {"mercer-server", "--config", "/nonexistent/mercer.conf"};
  testing::internal::CaptureStderr();
  const CommandLine parsed = ParseCommandLine(3, arguments);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("/nonexistent/mercer.conf"));
  ASSERT_TRUE(parsed.exit_code.has_value());
  EXPECT_NE(*parsed.exit_code, 0);
}

}  // namespace
}  // namespace mercer::server
