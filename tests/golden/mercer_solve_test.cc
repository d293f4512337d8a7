// Runs mercer-solve over every file of tests/fixtures and compares as the files' `tolerance` and
// `unique` say.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/fixture_comparison.h"
#include "tests/support/source_folder.h"

namespace mercer {
namespace {

using nlohmann::json;

std::string Fixtures() { return SourceFolder() / "tests/fixtures"; }

// Kinds that mercer-solve does not answer.
const std::set<std::string>& UnsupportedKinds() {
  static const auto& kinds =
      *new std::set<std::string>{// decision values for the solver's own tests
                                 "unknown"};
  return kinds;
}

std::vector<std::string> FixtureFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Fixtures())) {
    if (entry.path().extension() == ".json") {
      files.push_back(std::filesystem::relative(entry.path(), Fixtures()).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The lines that the program prints for `files`.
std::vector<std::string> RunMercerSolve(const std::vector<std::string>& files, int* exit_code) {
  const char* folder = std::getenv("MERCER_BIN");
  std::string command = "'" + std::string(folder == nullptr ? "." : folder) + "/mercer-solve'";
  for (const std::string& file : files) {
    command += " '" + file + "'";
  }
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return {};
  }
  std::array<char, 65536> buffer;
  for (size_t count = 0; (count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), count);
  }
  *exit_code = pclose(pipe);
  std::vector<std::string> lines;
  for (size_t begin = 0, end = 0; (end = output.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    lines.push_back(output.substr(begin, end - begin));
  }
  return lines;
}

json ReadJson(const std::string& path) {
  std::ifstream stream(path);
  return json::parse(stream);
}

void CompareFixture(const json& fixture, const json& answer) {
  using Compare = void (*)(const json&, const json&);
  static const auto& comparisons = *new std::map<std::string, Compare>{
      {"mkl_lowrank", golden::CompareMkl},
      {"mkl_gaussian", golden::CompareGaussian},
      {"mkl_tikhonov", golden::CompareTikhonov},
      {"edge_cases", golden::CompareEdgeCases},
      {"multiclass", golden::CompareMulticlass},
      {"certificate", golden::CompareCertificate},
      {"weight_update", golden::CompareWeightUpdate},
      {"normalisation", golden::CompareNormalisation},
      {"svm", golden::CompareSvm},
      {"mixed_norm_mkl", golden::CompareMixedNorm},
      {"mixed_norm_mkl_one_vs_one", golden::CompareMixedNormPairs},
      {"master", golden::CompareGroupProblem},
      {"prox", golden::CompareProxAndLosses},
      {"features", golden::CompareFeatures},
      {"grfl", golden::CompareFiniteFeatures},
      {"ikl", golden::CompareInfiniteKernels},
      {"csi", golden::CompareCsi},
      {"linear", golden::CompareMultitask},
      {"kernel", golden::CompareMultitask},
      {"scores", golden::CompareMultitask},
      {"gradients_svm_rfe", golden::CompareSvmRfe},
      {"gradients_grad", golden::CompareGradients},
      {"gradients_gradkl", golden::CompareGradients},
      {"gradients_hessian", golden::CompareGradients},
      {"gradients_linear", golden::CompareGradients},
      {"gradients_errors", golden::CompareGradientErrors}};
  const std::string kind = fixture.contains("model")
                               ? "gradients_" + fixture["model"].get<std::string>()
                               : fixture.value("kind", "unknown");
  if (UnsupportedKinds().count(kind) > 0) {
    EXPECT_EQ(answer.value("unsupported", ""), kind) << answer.dump().substr(0, 300);
    return;
  }
  ASSERT_TRUE(comparisons.count(kind) > 0) << "the test knows no kind '" << kind << "'";
  ASSERT_TRUE(answer.contains("result") || answer.contains("cases"))
      << answer.dump().substr(0, 300);
  comparisons.at(kind)(fixture, answer);
}

TEST(MercerSolveTest, EveryFixtureAgreesWithItsReference) {
  const std::vector<std::string> names = FixtureFiles();
  ASSERT_GE(names.size(), 60u);
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    paths.push_back(Fixtures() + "/" + name);
  }
  int exit_code = -1;
  const std::vector<std::string> lines = RunMercerSolve(paths, &exit_code);
  EXPECT_EQ(exit_code, 0);
  ASSERT_EQ(lines.size(), paths.size()) << "mercer-solve is looked for in the folder MERCER_BIN";
  for (size_t i = 0; i < paths.size(); ++i) {
    SCOPED_TRACE(names[i]);
    const json answer = json::parse(lines[i]);
    EXPECT_EQ(answer.value("file", ""), paths[i]);
    CompareFixture(ReadJson(paths[i]), answer);
  }
}

TEST(MercerSolveTest, AFileThatCannotBeReadIsAnErrorAndTheNextOneIsSolved) {
  const std::string good = Fixtures() + "/lowrank-lp-mkl/weight_update.json";
  int exit_code = 0;
  const std::vector<std::string> lines = RunMercerSolve({"no-such-file.json", good}, &exit_code);
  EXPECT_NE(exit_code, 0);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(json::parse(lines[0]).contains("error")) << lines[0];
  EXPECT_TRUE(json::parse(lines[1]).contains("result")) << lines[1];
}

}  // namespace
}  // namespace mercer
