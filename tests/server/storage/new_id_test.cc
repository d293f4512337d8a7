#include "server/storage/new_id.h"

#include <set>
#include <string>

#include <gmock/gmock.h>

namespace mercer::server {
namespace {

TEST(NewIdTest, IsOfSixteenLettersThatDoNotLookAlike) {
  std::set<std::string> ids;
  std::set<char> letters;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = NewId();
    EXPECT_EQ(id.size(), 16U);
    letters.insert(id.begin(), id.end());
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 1000U);
  EXPECT_EQ(std::string(letters.begin(), letters.end()), "0123456789abcdefghjkmnpqrstvwxyz");
}

}  // namespace
}  // namespace mercer::server
