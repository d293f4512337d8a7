#include "server/app/process/reproducible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mercer::server {
namespace {

using testing::Contains;
using testing::Pair;

constexpr char kMathFunctions[] = "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4";

TEST(ReproducibleEnvironmentTest, NamesTheInstructionsThatAllProcessorsHave) {
  EXPECT_THAT(ReproducibleEnvironment(""), Contains(Pair("OPENBLAS_CORETYPE", "Prescott")));
  EXPECT_THAT(ReproducibleEnvironment(""), Contains(Pair("GLIBC_TUNABLES", kMathFunctions)));
}

TEST(ReproducibleEnvironmentTest, KeepsOtherTunables) {
  const std::string mine = "glibc.malloc.arena_max=2";
  EXPECT_THAT(ReproducibleEnvironment(mine),
              Contains(Pair("GLIBC_TUNABLES", mine + ":" + kMathFunctions)));
}

// Otherwise the process would replace itself for ever.
TEST(ReproducibleEnvironmentTest, HoldsItselfAlready) {
  const auto once = ReproducibleEnvironment("glibc.malloc.arena_max=2");
  EXPECT_EQ(ReproducibleEnvironment(once[1].second), once);
}

}  // namespace
}  // namespace mercer::server
