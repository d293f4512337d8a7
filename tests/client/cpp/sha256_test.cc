#include "client/cpp/sha256.h"

#include <gtest/gtest.h>

namespace mercer::client {
namespace {

// FIPS 180-2, appendix B.
TEST(Sha256Test, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(Sha256().Digest(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 abc;
  abc.Add("a");
  abc.Add("bc");
  EXPECT_EQ(abc.Digest(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace mercer::client
