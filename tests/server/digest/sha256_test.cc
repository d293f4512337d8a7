#include "server/digest/sha256.h"

#include <string>

#include <gtest/gtest.h>

namespace mercer::server {
namespace {

// Examples of FIPS 180-2, appendix B.
TEST(Sha256Test, IsThatOfTheStandard) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256Test, PiecesAndBytesGiveTheSame) {
  Sha256 hash;
  hash.Update("a");
  hash.Update("");
  hash.Update("bc");
  EXPECT_EQ(hash.Finish(), Sha256Of("abc"));
  EXPECT_EQ(Hex(Sha256Of("abc")), Sha256Hex("abc"));
}

}  // namespace
}  // namespace mercer::server
