#include "server/app/process/reproducible.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "absl/strings/str_cat.h"

#include "core/linalg/simd_level.h"

namespace mercer::server {
namespace {

// glibc's exp, log and pow have variants with fused multiply-add, which round otherwise.
constexpr char kCommonMathFunctions[] = "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4";
// OpenBLAS's kernels for the first x86-64 processors.
constexpr char kCommonCore[] = "Prescott";

std::string ValueOf(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ReproducibleEnvironment(
    const std::string& tunables) {
  std::string all = tunables;
  if (all.find(kCommonMathFunctions) == std::string::npos) {
    absl::StrAppend(&all, all.empty() ? "" : ":", kCommonMathFunctions);
  }
  return {{"OPENBLAS_CORETYPE", kCommonCore}, {"GLIBC_TUNABLES", all}};
}

absl::Status ComputeReproducibly(char** argv) {
  bool is_there = true;
  for (const auto& [name, value] : ReproducibleEnvironment(ValueOf("GLIBC_TUNABLES"))) {
    is_there = is_there && ValueOf(name.c_str()) == value;
    setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
  }
  if (is_there) {
    UseCommonInstructions();
    return absl::OkStatus();
  }
  execv("/proc/self/exe", argv);
  return absl::InternalError(
      absl::StrCat("--reproducible: cannot start again: ", std::strerror(errno)));
}

}  // namespace mercer::server
