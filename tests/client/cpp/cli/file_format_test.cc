#include "client/cpp/cli/file_format.h"

#include <gtest/gtest.h>

namespace mercer::client {
namespace {

TEST(FileFormatTest, TheNameSaysTheFormatUnlessAFlagDoes) {
  for (const char* const name : {"a.svm", "b/A9A.SVMLIGHT.gz", "x.libsvm", "x.svm.txt"}) {
    EXPECT_TRUE(IsSvmlight(name, "")) << name;
    EXPECT_FALSE(IsSvmlight(name, "csv")) << name;
  }
  for (const char* const name : {"a.csv", "svm.csv.gz", "models.svm.d/a.csv", "plain"}) {
    EXPECT_FALSE(IsSvmlight(name, "")) << name;
    EXPECT_TRUE(IsSvmlight(name, "svmlight")) << name;
  }
}

TEST(FileFormatTest, FoldersAndMissingFilesAreNotFound) {
  EXPECT_EQ(OpenInflated("/no/such").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenInflated("/").status().message(), "there is no file '/'");
}

}  // namespace
}  // namespace mercer::client
