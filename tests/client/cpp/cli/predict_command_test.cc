// "mercer predict" with files of all kinds.
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/client/cpp/cli/command_line_fixture.h"

namespace mercer::client {
namespace {

TEST_F(CommandLineTest, PredictTurnsCsvIntoCsv) {
  const std::string path = ::testing::TempDir() + "/rows.csv";
  std::ofstream(path) << "x,id\n1,7\n2,8\n";
  EXPECT_EQ(Run({"predict", "m", path, "--values"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "label,value spam\nlabel 1,0.5\nlabel 2,0.5\n");
  EXPECT_EQ(server_.state.predictions.back().task(), "");
  EXPECT_EQ(Run({"predict", "m", path, "--task", "ann"}), 0) << err_.str();
  EXPECT_EQ(server_.state.predictions.back().task(), "ann");
  EXPECT_EQ(Run({"predict", "m", path + ".none"}), 4);
  EXPECT_EQ(err_.str(), "error: there is no file '" + path + ".none'\n");
  std::filesystem::remove(path);
}

// A file in a folder of its own, so that leftovers are seen.
class PredictFilesTest : public CommandLineTest {
 protected:
  PredictFilesTest()
      : folder_(::testing::TempDir() + "/predict_files_test." + std::to_string(getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  ~PredictFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::string WriteCompressed(const std::string& name, const std::string& text) const {
    const gzFile file = gzopen((folder_ + "/" + name).c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return folder_ + "/" + name;
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::string folder_;
};

TEST_F(PredictFilesTest, AFailureLeavesTheOldFile) {
  const std::string output = Write("out.csv", "old");
  EXPECT_EQ(Run({"predict", "m", Write("bad.csv", "x\n1\nbad\n"), "--output", output}), 3);
  EXPECT_EQ(Read(output), "old");
  EXPECT_EQ(Run({"predict", "m", Write("short.csv", "x,y\n1\n"), "--output", output}), 3);
  EXPECT_EQ(Run({"predict", "m", folder_ + "/none.csv", "--output", output}), 4);
  EXPECT_EQ(Run({"predict", "m", Write("empty.csv", "x\n"), "--output", output}), 3);
  EXPECT_EQ(Read(output), "old");
  EXPECT_EQ(Run({"predict", "m", Write("good.csv", "x\n1\n"), "--output", output}), 0)
      << err_.str();
  EXPECT_EQ(Read(output), "label\nlabel 1\n");
  EXPECT_EQ(out_.str(), "1 rows predicted by models/m/versions/7, written to " + output + "\n");
  const std::filesystem::directory_iterator files(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 5);  // no temporary file is left
}

TEST_F(PredictFilesTest, JsonGoesToTheOutputFileToo) {
  const std::string output = folder_ + "/out.json";
  EXPECT_EQ(Run({"predict", "m", Write("a.csv", "x\n1\n"), "--output", output, "--json"}), 0)
      << err_.str();
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(Read(output).find("{\"model\":\"models/m/versions/7\""), 0u) << Read(output);
}

TEST_F(PredictFilesTest, CompressedSvmlightIsRecognisedAndSentInBatches) {
  std::string text;
  for (int r = 0; r < 2500; ++r) {
    text += "1 1:0.5 7:2\n";
  }
  EXPECT_EQ(Run({"predict", "m", WriteCompressed("new.svm.gz", text)}), 0) << err_.str();
  ASSERT_EQ(server_.state.batches.size(), 3u);
  EXPECT_EQ(server_.state.batches[0].sparse(0).row_starts_size(), 1001);
  EXPECT_EQ(server_.state.batches[2].sparse(0).row_starts_size(), 501);
  EXPECT_EQ(out_.str().substr(0, 14), "label\nlabel 2\n");
}

TEST_F(PredictFilesTest, WideRowsAreSentInSmallerBatches) {
  std::string row(100'000, '7');
  std::string text = "x,y\n";
  for (int r = 0; r < 30; ++r) {
    text += "1," + row + "\n";
  }
  EXPECT_EQ(Run({"predict", "m", WriteCompressed("wide.csv.gz", text)}), 0) << err_.str();
  ASSERT_EQ(server_.state.batches.size(), 3u);
  EXPECT_EQ(server_.state.batches[0].columns(0).texts().values_size(), 11);
}

TEST_F(PredictFilesTest, SquaresAreSentWithOrWithoutATable) {
  const std::string square = Write("s.txt", "1,2,3\n4,5,6\n");
  EXPECT_EQ(Run({"predict", "m", "--square", "s=" + square}), 0) << err_.str();
  ASSERT_EQ(server_.state.batches.size(), 1u);
  const v1::SquareRows& sent = server_.state.batches[0].squares(0);
  EXPECT_EQ(sent.name(), "s");
  EXPECT_EQ(sent.values().rows(), 2);
  EXPECT_EQ(sent.values().columns(), 3);
  EXPECT_EQ(sent.values().raw().size(), 6 * sizeof(double));
  EXPECT_EQ(
      Run({"predict", "--square", "s=" + square + ":kernel", "m", Write("two.csv", "x\na\nb\n")}),
      0)
      << err_.str();
  EXPECT_EQ(server_.state.batches.at(1).columns_size(), 1);
  EXPECT_EQ(server_.state.batches.at(1).squares(0).values().rows(), 2);
  EXPECT_EQ(Run({"predict", "m", Write("three.csv", "x\na\nb\nc\n"), "--square", "s=" + square}),
            3);
  EXPECT_EQ(Run({"predict", "m"}), 3);
  EXPECT_NE(err_.str().find("--square NAME=FILE"), std::string::npos) << err_.str();
}

}  // namespace
}  // namespace mercer::client
