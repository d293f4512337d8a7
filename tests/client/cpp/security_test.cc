#include "client/cpp/security.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mercer::client {
namespace {

using testing::HasSubstr;
using testing::Not;

class SecurityTest : public testing::Test {
 protected:
  SecurityTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("mercer_security_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~SecurityTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& text) const {
    std::ofstream(folder_ / "file") << text;
    return folder_ / "file";
  }

  const std::filesystem::path folder_;
};

TEST_F(SecurityTest, NothingGivenIsPlainTextWithoutAToken) {
  const auto security = LoadSecurity({});
  ASSERT_TRUE(security.ok());
  EXPECT_FALSE(security->tls);
  EXPECT_EQ(security->token, "");
}

TEST_F(SecurityTest, TheFileGoesBeforeTheEnvironmentAndEndsAtItsFirstLine) {
  SecurityFiles files;
  files.token = "def";
  EXPECT_EQ(LoadSecurity(files)->token, "def");
  files.token_file = File("abc\r\nmore");
  const auto security = LoadSecurity(files);
  ASSERT_TRUE(security.ok()) << security.status();
  EXPECT_EQ(security->token, "abc");
}

TEST_F(SecurityTest, WhatIsNoTokenIsRefusedAndNotQuoted) {
  SecurityFiles files;
  for (const std::string& text : {std::string("pass word"), std::string("\nabc"),
                                  std::string("gr\xc3\xbc\xc3\x9f"), std::string("a\x01z")}) {
    files.token_file = File(text);
    const absl::Status status = LoadSecurity(files).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("word")));
  }
  files.token_file = folder_ / "missing";
  EXPECT_EQ(LoadSecurity(files).status().code(), absl::StatusCode::kNotFound);
  files.token_file.clear();
  files.token = "pass word";
  EXPECT_EQ(LoadSecurity(files).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SecurityTest, AServerNameNeedsTls) {
  SecurityFiles files;
  files.server_name = "mercer.test";
  const absl::Status refused = LoadSecurity(files).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--server-name"));
  files.tls = true;
  EXPECT_EQ(LoadSecurity(files)->server_name, "mercer.test");
  files.tls = false;
  files.authorities = File("pem");
  EXPECT_TRUE(LoadSecurity(files).ok());
}

TEST_F(SecurityTest, AnyFileOfTlsSwitchesItOn) {
  SecurityFiles files;
  files.tls = true;
  EXPECT_TRUE(LoadSecurity(files)->tls);
  files = {};
  files.authorities = File("pem");
  EXPECT_TRUE(LoadSecurity(files)->tls);
  files = {};
  files.certificate = File("pem");
  EXPECT_EQ(LoadSecurity(files).status().code(), absl::StatusCode::kInvalidArgument);
  files.key = files.certificate;
  const auto both = LoadSecurity(files);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_TRUE(both->tls);
  files.certificate.clear();
  EXPECT_EQ(LoadSecurity(files).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mercer::client
