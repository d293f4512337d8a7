// Flags about input files, of "mercer data upload" and "mercer predict".
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/client/cpp/cli/command_line_fixture.h"

namespace mercer::client {
namespace {

using Arguments = std::vector<std::string>;

class InputFlagsTest : public CommandLineTest {
 protected:
  InputFlagsTest()
      : folder_(::testing::TempDir() + "/input_flags_test." + std::to_string(getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  ~InputFlagsTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

  // Each of `cases`, a flag with its value, is refused by name behind `command`.
  void ExpectRefused(const Arguments& command, const std::vector<Arguments>& cases,
                     const std::string& why) {
    for (const Arguments& flag : cases) {
      Arguments arguments = command;
      arguments.insert(arguments.end(), flag.begin(), flag.end());
      EXPECT_EQ(Run(arguments), 3) << flag[0];
      EXPECT_EQ(err_.str(), "error: " + flag[0] + ": " + why + "\n");
    }
  }

  std::string folder_;
};

TEST_F(InputFlagsTest, TheFirstLineOfAnUploadTellsItsDelimiter) {
  EXPECT_EQ(Run({"data", "upload", Write("a.csv", "x;y\n1,5;a\n"), "--target", "y"}), 0)
      << err_.str();
  EXPECT_EQ(err_.str(), "cells are taken to be separated by ';'; --delimiter chooses\n");
  EXPECT_EQ(server_.state.uploads.back().parts(0).csv().delimiter(), ";");
  EXPECT_EQ(Run({"data", "upload", Write("b.csv", "x\ty\n1\ta\n"), "--target", "y"}), 0);
  EXPECT_EQ(server_.state.uploads.back().parts(0).csv().delimiter(), "\t");
  EXPECT_EQ(Run({"data", "upload", Write("c.csv", "x;y\n1;a\n"), "--delimiter", ",", "--role",
                 "x;y=target"}),
            0);
  EXPECT_EQ(err_.str(), "");
  EXPECT_EQ(server_.state.uploads.back().parts(0).csv().delimiter(), ",");
  EXPECT_EQ(Run({"data", "upload", Write("d.csv", "x,y\n1,a\n"), "--json"}), 0);
  EXPECT_EQ(err_.str(), "");
  EXPECT_EQ(server_.state.uploads.back().parts(0).csv().delimiter(), ",");
}

TEST_F(InputFlagsTest, AnUploadWithoutATargetSaysSo) {
  const std::string file = Write("a.csv", "x,y\n1,a\n");
  EXPECT_EQ(Run({"data", "upload", file}), 0);
  EXPECT_EQ(err_.str(), "no column is the one to predict; --target COLUMN says which one is\n");
  EXPECT_EQ(Run({"data", "upload", file, "--role", "y=target"}), 0);
  EXPECT_EQ(err_.str(), "");
  EXPECT_EQ(Run({"data", "upload", file, "--json"}), 0);
  EXPECT_EQ(err_.str(), "");
  EXPECT_EQ(Run({"data", "upload", Write("a.svm", "1 1:1\n")}), 0);
  EXPECT_EQ(err_.str(), "");
}

// A number is a column, which the target of svmlight cannot be.
TEST_F(InputFlagsTest, TheTargetOfSvmlightIsNoColumn) {
  const std::string file = Write("a.svm", "1 1:1\n");
  EXPECT_EQ(Run({"data", "upload", file, "--target", "1"}), 3);
  EXPECT_EQ(err_.str().find(
                "error: --target: the target of an svmlight file is what its rows begin with"),
            0u)
      << err_.str();
  EXPECT_TRUE(server_.state.uploads.empty());
  EXPECT_EQ(Run({"data", "upload", file, "--target", "spam"}), 0) << err_.str();
  EXPECT_EQ(server_.state.uploads.back().parts(0).svmlight().target_name(), "spam");
}

TEST_F(InputFlagsTest, UploadsOfSvmlightRefuseFlagsOfCsv) {
  const std::string file = Write("a.svm", "1 1:1\n");
  ExpectRefused({"data", "upload", file},
                {{"--role", "x=weight"},
                 {"--categorical", "x"},
                 {"--numeric", "x"},
                 {"--block", "b=x"},
                 {"--no-header"},
                 {"--allow-missing"},
                 {"--delimiter", ","}},
                "is for CSV files, FILE is svmlight");
  EXPECT_EQ(Run({"data", "upload", file, "--no-header", "--numeric", "x"}), 3);
  EXPECT_EQ(err_.str().find("error: 2 fields of the request are wrong:\n  --numeric: is for"), 0u)
      << err_.str();
  EXPECT_TRUE(server_.state.uploads.empty());
  const std::string square = Write("s.txt", "1\n");
  EXPECT_EQ(Run({"data", "upload", file, "--target", "y", "--delimiter", ";", "--square",
                 "s=" + square + ":kernel"}),
            0)
      << err_.str();
}

TEST_F(InputFlagsTest, PredictionsRefuseFlagsThatTheirInputDoesNotRead) {
  const std::string file = Write("a.svm", "1 1:1\n");
  const std::string square = Write("s.txt", "1\n");
  ExpectRefused({"predict", "m", file}, {{"--ignore", "x"}, {"--no-header"}, {"--delimiter", ";"}},
                "is for CSV files, FILE is svmlight");
  ExpectRefused({"predict", "m", "datasets/d"},
                {{"--square", "s=" + square},
                 {"--ignore", "x"},
                 {"--format", "csv"},
                 {"--no-header"},
                 {"--delimiter", ","}},
                "is for files, 'datasets/d' is a stored data set");
  ExpectRefused({"predict", "m", "--square", "s=" + square},
                {{"--ignore", "x"}, {"--format", "csv"}, {"--no-header"}},
                "is about FILE, which is not given");
  EXPECT_TRUE(server_.state.predictions.empty());
  EXPECT_EQ(Run({"predict", "m", "--square", "s=" + square, "--delimiter", ";"}), 0) << err_.str();
}

TEST_F(InputFlagsTest, FilesWithoutAHeaderCanBePredicted) {
  const std::string file = Write("a.csv", "1;x\n2;y\n");
  EXPECT_EQ(Run({"predict", "m", file, "--no-header", "--delimiter", ";", "--ignore", "c1"}), 0)
      << err_.str();
  EXPECT_EQ(out_.str(), "label\nlabel x\nlabel y\n");
  ASSERT_EQ(server_.state.batches.at(0).columns_size(), 1);
  EXPECT_EQ(server_.state.batches[0].columns(0).name(), "c2");
}

TEST_F(InputFlagsTest, UploadsNeedRegularFiles) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, folder_}) {
    EXPECT_EQ(Run({"data", "upload", path}), 3);
    EXPECT_EQ(err_.str(), "error: '" + path + "' is not a regular file\n");
  }
  EXPECT_EQ(Run({"data", "upload", folder_ + "/none"}), 4);
  EXPECT_EQ(err_.str(), "error: there is no file '" + folder_ + "/none'\n");
}

TEST_F(InputFlagsTest, TheProgressOfAnUploadCountsAllParts) {
  const std::string file = Write("a.csv", "x\n1\n");  // 4 bytes
  const std::string square = Write("s.txt", "1\n");   // 8 bytes
  const Arguments arguments = {
      "data", "upload", file, "--square", "s=" + square + ":kernel", "--server", server_.address()};
  ASSERT_EQ(RunCommandLine(arguments, out_, err_, {.interactive = true}), 0) << err_.str();
  EXPECT_NE(out_.str().find("upload 4 B of 12 B"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("upload 12 B of 12 B"), std::string::npos) << out_.str();
}

}  // namespace
}  // namespace mercer::client
