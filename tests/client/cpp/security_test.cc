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
  const auto security = LoadSecurity({.token_file = File("abc\r\nmore"), .token = "def"});
  ASSERT_TRUE(security.ok()) << security.status();
  EXPECT_EQ(security->token, "abc");
  EXPECT_EQ(LoadSecurity({.token = "def"})->token, "def");
}

TEST_F(SecurityTest, WhatIsNoTokenIsRefusedAndNotQuoted) {
  for (const std::string& text : {std::string("pass word"), std::string("\nabc"),
                                  std::string("gr\xc3\xbc\xc3\x9f"), std::string("a\x01z")}) {
    const absl::Status status = LoadSecurity({.token_file = File(text)}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("word")));
  }
  EXPECT_EQ(LoadSecurity({.token = "pass word"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LoadSecurity({.token_file = folder_ / "missing"}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(SecurityTest, AnyFileOfTlsSwitchesItOn) {
  EXPECT_TRUE(LoadSecurity({.tls = true})->tls);
  EXPECT_TRUE(LoadSecurity({.authorities = File("pem")})->tls);
  const auto both = LoadSecurity({.certificate = File("pem"), .key = File("pem")});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_TRUE(both->tls);
  EXPECT_EQ(LoadSecurity({.certificate = File("pem")}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LoadSecurity({.key = File("pem")}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mercer::client
