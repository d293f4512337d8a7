// "mercer completion": what a shell offers.
#include <fstream>

#include <gtest/gtest.h>

#include "tests/client/cpp/cli/command_line_fixture.h"

namespace mercer::client {
namespace {

using Words = std::vector<std::string>;

class CompletionTest : public CommandLineTest {
 protected:
  // What the last of `words` may become.
  Words Complete(Words words) {
    Words arguments = {"completion", "words", "--server", server_.address(), "--"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    out_.str("");
    EXPECT_EQ(RunCommandLine(arguments, out_, err_, Terminal()), 0) << err_.str();
    Words found;
    std::istringstream lines(out_.str());
    for (std::string line; std::getline(lines, line);) {
      found.push_back(line);
    }
    return found;
  }
};

TEST_F(CompletionTest, CommandsBeginWithWhatIsThere) {
  EXPECT_EQ(Complete({"tr"}), Words{"train"});
  EXPECT_EQ(Complete({"data", "up"}), (Words{"upload", "upload-images", "update", "uploads"}));
  const Words all = Complete({""});
  EXPECT_NE(std::find(all.begin(), all.end(), "completion"), all.end());
  EXPECT_EQ(server_.state.calls, 0);
}

TEST_F(CompletionTest, FlagsOfTheCommandAndOptionsOfItsLearner) {
  EXPECT_EQ(Complete({"data", "upload", "--ta"}), Words{"--target"});
  EXPECT_EQ(Complete({"train", "d0", "lp_mkl", "--outer"}), Words{"--outer_loop"});
  EXPECT_EQ(Complete({"train", "d0", "--outer"}), Words());
  EXPECT_EQ(Complete({"versions", "rm", "--old"}), Words{"--older-than"});
}

TEST_F(CompletionTest, NamesAreThoseOfTheServer) {
  server_.state.models = {"models/spam", "models/span", "models/other"};
  EXPECT_EQ(Complete({"show", "spa"}), (Words{"spam", "span"}));
  EXPECT_EQ(Complete({"train", "d"}), (Words{"d0", "d1", "d2", "d3", "d4"}));
  EXPECT_EQ(Complete({"train", "d0", "l"}), Words{"lp_mkl"});
  EXPECT_EQ(Complete({"learners", ""}), Words{"lp_mkl"});
  EXPECT_EQ(Complete({"train", "d0", "lp_mkl", "--model", "o"}), Words{"other"});
  EXPECT_EQ(Complete({"predict", "spam", "new"}), Words());  // a file
}

TEST_F(CompletionTest, WhatAShellWouldExpandIsNotOffered) {
  server_.state.models = {"models/spam", "models/$(reboot)", "models/`id`", "models/s*",
                          "models/a b"};
  EXPECT_EQ(Complete({"show", ""}), Words{"spam"});
}

TEST_F(CompletionTest, ValuesOfFlags) {
  EXPECT_EQ(Complete({"train", "d0", "lp_mkl", "--kernel", "ga"}), Words{"gaussian"});
  EXPECT_EQ(Complete({"train", "d0", "lp_mkl", "--outer_loop", "s"}), Words());
  EXPECT_EQ(Complete({"versions", "--sort", "q"}), Words{"quality"});
  EXPECT_EQ(Complete({"completion", "z"}), Words{"zsh"});
}

TEST_F(CompletionTest, WithoutAServerTheWordsOfTheProgramRemain) {
  server_.state.failures = 100;
  EXPECT_EQ(Complete({"show", "spa"}), Words());
  EXPECT_EQ(server_.state.calls, 1);  // and is not asked again: somebody waits
  EXPECT_EQ(Complete({"tr"}), Words{"train"});
}

TEST_F(CompletionTest, TheServerThatTheLineNamesIsAsked) {
  server_.state.models = {"models/spam"};
  const auto complete = [this](Words words) {
    Words arguments = {"completion", "words", "--server", "127.0.0.1:1", "--"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    out_.str("");
    EXPECT_EQ(RunCommandLine(arguments, out_, err_, Terminal()), 0) << err_.str();
    return out_.str();
  };
  EXPECT_EQ(complete({"show", ""}), "");
  EXPECT_EQ(complete({"show", "--server", server_.address(), ""}), "spam\n");
  EXPECT_EQ(complete({"--server=" + server_.address(), "show", "s"}), "spam\n");
  // No token goes to another machine in plain text.
  const std::string folder = testing::TempDir();
  std::ofstream(folder + "/token") << "secret\n";
  EXPECT_EQ(
      complete({"show", "--server", "example.invalid:1", "--token-file", folder + "/token", ""}),
      "");
}

TEST_F(CompletionTest, ShellsThatAreNotKnownAreRefused) {
  EXPECT_EQ(Run({"completion", "csh"}), 2);
  EXPECT_EQ(Run({"completion"}), 2);
  EXPECT_EQ(Run({"completion", "bash"}), 0);
  EXPECT_NE(out_.str().find("complete -o default -F _mercer_completion mercer"), std::string::npos);
}

}  // namespace
}  // namespace mercer::client
