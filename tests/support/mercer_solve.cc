// mercer-solve FILE...: reads fixture files, solves them with the core alone, prints one JSON
// object per file on one line. Exit code 0 when every file could be read, refused inputs and
// unsupported kinds included; else 1; 2 without arguments.
#include "tests/support/mercer_solve.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "tests/support/mercer_solve_json.h"

namespace mercer::solve {
namespace {

using nlohmann::json;
using Solver = absl::StatusOr<Answer> (*)(const json&);

const std::map<std::string, Solver>& Solvers() {
  static const auto& solvers = *new std::map<std::string, Solver>{
      {"mkl_lowrank", SolveLowRank},
      {"mkl_gaussian", SolveGaussian},
      {"edge_cases", SolveEdgeCases},
      {"multiclass", SolveMulticlass},
      {"certificate", SolveCertificate},
      {"weight_update", SolveWeightUpdate},
      {"normalisation", SolveNormalisation},
      {"svm", SolveSvm},
      {"mixed_norm_mkl", SolveMixedNorm},
      {"mixed_norm_mkl_one_vs_one", SolveMixedNormPairs},
      {"mkl_tikhonov", SolveTikhonov},
      {"master", SolveGroupProblem},
      {"prox", SolveProxAndLosses},
      {"features", SolveFeatures},
      {"grfl", SolveFiniteFeatures},
      {"ikl", SolveInfiniteKernels},
      {"csi", SolveCsi},
      {"linear", SolveMultitask},
      {"kernel", SolveMultitask},
      {"scores", SolveMultitask},
      {"gradients_svm_rfe", SolveSvmRfe},
      {"gradients_grad", SolveFixedGradients},
      {"gradients_gradkl", SolveCoordinateWeights},
      {"gradients_hessian", SolveHessianGradients},
      {"gradients_linear", SolveLinearGradients},
      {"gradients_errors", RefuseGradients},
  };
  return solvers;
}

// Files of gradient learning name a model in place of a kind.
std::string KindOf(const json& fixture) {
  if (fixture.contains("model")) {
    return "gradients_" + fixture.at("model").get<std::string>();
  }
  return fixture.value("kind", "unknown");
}

json SolveFixture(const json& fixture) {
  const std::string kind = KindOf(fixture);
  const auto solver = Solvers().find(kind);
  if (solver == Solvers().end()) {
    return {{"unsupported", kind}};
  }
  absl::StatusOr<Answer> answer = solver->second(fixture);
  if (!answer.ok()) {
    return {{"error", ErrorText(answer.status())}};
  }
  return {{"gap_relative", answer->gap_relative},
          {answer->body.is_array() ? "cases" : "result", std::move(answer->body)}};
}

// False when the file cannot be read.
bool SolveFile(const std::string& path) {
  const auto start = std::chrono::steady_clock::now();
  json line;
  bool readable = true;
  try {
    std::ifstream file(path);
    line = SolveFixture(json::parse(file));
  } catch (const json::parse_error& error) {
    readable = false;
    line = {{"error", std::string("bad_input: ") + error.what()}};
  } catch (const json::exception& error) {
    line = {{"error", std::string("bad_input: ") + error.what()}};
  }
  line["file"] = path;
  line["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::puts(line.dump().c_str());
  std::fflush(stdout);
  return readable;
}

}  // namespace
}  // namespace mercer::solve

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: mercer-solve FILE...\n", stderr);
    return 2;
  }
  bool readable = true;
  for (int i = 1; i < argc; ++i) {
    readable = mercer::solve::SolveFile(argv[i]) && readable;
  }
  return readable ? 0 : 1;
}
