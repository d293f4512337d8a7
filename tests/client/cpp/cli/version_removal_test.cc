// "mercer versions rm": what is deleted, and what is refused before anything is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cpp/cli/command_line_fixture.h"

namespace mercer::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VersionRemovalTest : public CommandLineTest {
 protected:
  VersionRemovalTest() { server_.state.models = {"models/spam"}; }
};

TEST_F(VersionRemovalTest, WhatMatchesIsDeleted) {
  EXPECT_EQ(Run({"versions", "rm", "spa*", "--yes"}), 0) << err_.str();
  EXPECT_EQ(server_.state.deleted_models, std::vector<std::string>{"models/spam/versions/1"});
}

TEST_F(VersionRemovalTest, ConditionsBeforeTheCommandAreRefused) {
  for (const std::vector<std::string>& before :
       std::vector<std::vector<std::string>>{{"--label", "stage=trial"},
                                             {"--learner", "svm"},
                                             {"--search", "x"},
                                             {"--sort", "name"},
                                             {"--limit", "1"},
                                             {"spam"}}) {
    std::vector<std::string> words = {"versions"};
    words.insert(words.end(), before.begin(), before.end());
    words.insert(words.end(), {"rm", "s*", "--yes"});
    EXPECT_EQ(Run(words), 2) << before[0];
    EXPECT_THAT(err_.str(), HasSubstr("rm")) << before[0];
  }
  EXPECT_THAT(server_.state.deleted_models, IsEmpty());
}

TEST_F(VersionRemovalTest, EmptyConditionsAreRefused) {
  for (const char* flag : {"--label", "--learner", "--older-than"}) {
    EXPECT_EQ(Run({"versions", "rm", "s*", "--yes", flag, ""}), 2) << flag;
    EXPECT_THAT(err_.str(), HasSubstr("must not be empty")) << flag;
  }
  EXPECT_EQ(Run({"versions", "rm", "", "--learner", "svm", "--yes"}), 2);
  EXPECT_THAT(server_.state.deleted_models, IsEmpty());
}

TEST_F(VersionRemovalTest, ANameThatIsNotKnownIsAnError) {
  EXPECT_EQ(Run({"versions", "rm", "spam", "ham", "--yes"}), 4);
  EXPECT_THAT(err_.str(), HasSubstr("there is no models/ham"));
  EXPECT_EQ(Run({"versions", "rm", "ham", "--dry-run"}), 4);
  EXPECT_THAT(server_.state.deleted_models, IsEmpty());
  EXPECT_EQ(Run({"versions", "rm", "ham*", "--yes"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("no such versions"));
  EXPECT_EQ(Run({"versions", "rm", "spam", "--older-than", "90000d", "--yes"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("no such versions"));
  EXPECT_THAT(server_.state.deleted_models, IsEmpty());
}

}  // namespace
}  // namespace mercer::client
