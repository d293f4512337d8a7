#include "server/access/ownership.h"

#include <string>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

const absl::Time kToday = absl::FromUnixSeconds(1'800'000'000);

// Four people: two of the laboratory, one of another group, one of none; and who runs the server.
TokenTable People() {
  const ScopeSet train = *ParseScopes("train");
  std::string text;
  absl::StrAppend(&text, *TokenLine("ada", train, "ada", absl::InfiniteFuture(), "lab"), "\n");
  absl::StrAppend(&text, *TokenLine("bob", train, "bob", kToday, "imaging,lab"), "\n");
  absl::StrAppend(&text, *TokenLine("eve", train, "eve", kToday + absl::Hours(1), "imaging"), "\n");
  absl::StrAppend(&text, *TokenLine("mallory", train, "mallory"), "\n");
  absl::StrAppend(&text, *TokenLine("root", *ParseScopes("admin"), "root"), "\n");
  return *TokenTable::Parse(text);
}

Caller Named(const TokenTable& people, const std::string& name) {
  return *people.Find(name, kToday - absl::Seconds(1));
}

TEST(OwnershipTest, OwnersMembersOfTheirGroupsAndAdminsMayChange) {
  const TokenTable people = People();
  const auto may = [&](const char* name, const char* owner) {
    return MayChange(Named(people, name), owner);
  };
  for (const char* name : {"ada", "bob", "eve", "mallory", "root"}) {
    EXPECT_TRUE(may(name, name)) << name;
    EXPECT_TRUE(may(name, "")) << name << ": nobody's";
    EXPECT_TRUE(may(name, "anyone")) << name << ": made without tokens";
    EXPECT_TRUE(may("root", name)) << name;
  }
  EXPECT_TRUE(may("ada", "bob") && may("bob", "ada")) << "both are in the group lab";
  EXPECT_TRUE(may("bob", "eve") && may("eve", "bob")) << "both are in the group imaging";
  EXPECT_FALSE(may("ada", "eve") || may("eve", "ada")) << "groups of a third do not join them";
  for (const char* name : {"ada", "bob", "eve", "root"}) {
    EXPECT_FALSE(may("mallory", name)) << name;
  }
  EXPECT_FALSE(may("ada", "lab")) << "a group is nobody";
  EXPECT_FALSE(may("ada", "root"));
}

TEST(OwnershipTest, AnExpiredTokenLeavesItsThingsToTheGroup) {
  const TokenTable people = People();
  EXPECT_FALSE(people.Find("bob", kToday).ok());
  EXPECT_TRUE(MayChange(*people.Find("ada", kToday), "bob"));
}

TEST(OwnershipTest, ACallHasTheGroupsOfItsTokenAlone) {
  const ScopeSet train = *ParseScopes("train");
  const TokenTable table = *TokenTable::Parse(
      absl::StrCat(*TokenLine("ada", train, "at home"), "\n",
                   *TokenLine("ada", train, "at work", absl::InfiniteFuture(), "lab"), "\n",
                   *TokenLine("bob", train, "bob", absl::InfiniteFuture(), "lab"), "\n"));
  EXPECT_FALSE(MayChange(*table.Find("at home", kToday), "bob"));
  EXPECT_TRUE(MayChange(*table.Find("at work", kToday), "bob"));
  EXPECT_TRUE(MayChange(*table.Find("bob", kToday), "ada"));
}

TEST(OwnershipTest, ARefusalNamesResourceOwnerAndCaller) {
  const TokenTable people = People();
  EXPECT_TRUE(ChangeCheck(Named(people, "ada"), "job", "jobs/j")("bob").ok());
  const absl::Status refused = ChangeCheck(Named(people, "mallory"), "job", "jobs/j")("ada");
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(GetReason(refused), "NOT_OWNER");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("'jobs/j' belongs to ada"));
  const ErrorMetadata metadata = GetErrorMetadata(refused);
  EXPECT_THAT(metadata, Contains(Pair("resource_type", "job")));
  EXPECT_THAT(metadata, Contains(Pair("resource_name", "jobs/j")));
  EXPECT_THAT(metadata, Contains(Pair("owner", "ada")));
  EXPECT_THAT(metadata, Contains(Pair("caller", "mallory")));
}

TEST(OwnershipTest, WhoIsNotKnownMayChangeWhatIsNobodys) {
  EXPECT_TRUE(MayChange(Caller(), ""));
  EXPECT_FALSE(MayChange(Caller(), "ada"));
}

}  // namespace
}  // namespace mercer::server
