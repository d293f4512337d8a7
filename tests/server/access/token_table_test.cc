#include "server/access/token_table.h"

#include <string>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/access/scope.h"

namespace mercer::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// SHA-256 of "abc": FIPS 180-2, appendix B.1.
constexpr char kAbcDigest[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

const absl::Time kJanuary2027 = absl::FromUnixSeconds(1'800'000'000);  // 2027-01-15T08:00:00Z

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<TokenTable> table = TokenTable::Parse(text);
  EXPECT_FALSE(table.ok()) << text;
  EXPECT_EQ(GetReason(table.status()), "BAD_TOKEN_FILE");
  return std::string(table.status().message());
}

TEST(ScopeTest, EveryScopeRoundTripsByName) {
  for (const char* text : {"read", "predict", "train", "admin", "read,predict", "read,train"}) {
    const absl::StatusOr<ScopeSet> scopes = ParseScopes(text);
    ASSERT_TRUE(scopes.ok()) << scopes.status();
    EXPECT_EQ(FormatScopes(*scopes), text);
  }
}

TEST(ScopeTest, AdminIncludesAllOthers) {
  const absl::StatusOr<ScopeSet> scopes = ParseScopes("admin");
  ASSERT_TRUE(scopes.ok());
  for (const Scope scope : {Scope::kRead, Scope::kPredict, Scope::kTrain, Scope::kAdmin}) {
    EXPECT_TRUE(scopes->Allows(scope)) << ScopeName(scope);
  }
}

TEST(ScopeTest, OtherScopesStandAlone) {
  const absl::StatusOr<ScopeSet> scopes = ParseScopes("train");
  ASSERT_TRUE(scopes.ok());
  EXPECT_TRUE(scopes->Allows(Scope::kTrain));
  EXPECT_FALSE(scopes->Allows(Scope::kRead));
  EXPECT_FALSE(scopes->Allows(Scope::kPredict));
  EXPECT_FALSE(scopes->Allows(Scope::kAdmin));
}

TEST(ScopeTest, UnknownWordsAreNamed) {
  for (const char* text : {"write", "read,", "", "READ", "read predict"}) {
    EXPECT_FALSE(ParseScopes(text).ok()) << text;
  }
  EXPECT_THAT(std::string(ParseScopes("read,write").status().message()), HasSubstr("'write'"));
}

TEST(TokenTableTest, FindsTheHolderByDigest) {
  const absl::StatusOr<TokenTable> table = TokenTable::Parse(
      absl::StrCat("# who may call\n\n  ada\tread,predict   ", kAbcDigest, "  \r\n"));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->size(), 1);
  const absl::StatusOr<Caller> caller = table->Find("abc", kJanuary2027);
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->name, "ada");
  EXPECT_EQ(FormatScopes(caller->scopes), "read,predict");
  EXPECT_EQ(GetReason(table->Find("abd", kJanuary2027).status()), "TOKEN_UNKNOWN");
  EXPECT_EQ(GetReason(table->Find("", kJanuary2027).status()), "TOKEN_UNKNOWN");
  EXPECT_EQ(table->Find("abd", kJanuary2027).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(TokenTableTest, ADigestIsNoToken) {
  const absl::StatusOr<TokenTable> table = TokenTable::Parse(absl::StrCat("a read ", kAbcDigest));
  ASSERT_TRUE(table.ok());
  EXPECT_FALSE(table->Find(kAbcDigest, kJanuary2027).ok());
}

TEST(TokenTableTest, ATokenEndsAtItsExpiry) {
  const absl::StatusOr<TokenTable> table =
      TokenTable::Parse(absl::StrCat("ada read ", kAbcDigest, " 2027-01-15T08:00:00Z"));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_TRUE(table->Find("abc", kJanuary2027 - absl::Nanoseconds(1)).ok());
  const absl::Status expired = table->Find("abc", kJanuary2027).status();
  EXPECT_EQ(GetReason(expired), "TOKEN_EXPIRED");
  EXPECT_THAT(std::string(expired.message()), HasSubstr("2027-01-15T08:00:00"));
}

TEST(TokenTableTest, WrongLinesAreNamed) {
  const std::string good = absl::StrCat("ada read ", kAbcDigest, "\n");
  EXPECT_THAT(ErrorOf(good + "bob read\n"), StartsWith("line 2 "));
  EXPECT_THAT(ErrorOf(good + "#\nbob write " + kAbcDigest), HasSubstr("line 3 "));
  EXPECT_THAT(ErrorOf("bob write " + std::string(kAbcDigest)), HasSubstr("'write'"));
  EXPECT_THAT(ErrorOf("bob read 12ab"), HasSubstr("64 hexadecimal digits"));
  EXPECT_THAT(ErrorOf("bob read " + std::string(64, 'g')), HasSubstr("64 hexadecimal digits"));
  EXPECT_THAT(ErrorOf("b\"b read " + std::string(kAbcDigest)), HasSubstr("name"));
  EXPECT_THAT(ErrorOf("bob read " + std::string(kAbcDigest) + " tomorrow"), HasSubstr("expiry"));
  EXPECT_THAT(ErrorOf(good + "bob read " + kAbcDigest), HasSubstr("listed already"));
}

TEST(TokenTableTest, GroupsStandBeforeOrBehindTheExpiry) {
  const std::string head = absl::StrCat("ada read ", kAbcDigest);
  for (const char* rest : {" group=lab,imaging", " group=lab,imaging 2027-01-15T08:00:00Z",
                           " 2027-01-15T08:00:00Z group=lab,imaging"}) {
    const absl::StatusOr<TokenTable> table = TokenTable::Parse(head + rest);
    ASSERT_TRUE(table.ok()) << rest << ": " << table.status();
    const absl::StatusOr<Caller> caller = table->Find("abc", kJanuary2027 - absl::Seconds(1));
    ASSERT_TRUE(caller.ok()) << caller.status();
    ASSERT_EQ(caller->groups.size(), 2U) << rest;
    EXPECT_EQ(caller->groups[0]->count("ada"), 1U);
    const bool expires = table->Find("abc", kJanuary2027).ok();
    EXPECT_EQ(expires, std::string(rest).find("2027") == std::string::npos) << rest;
  }
  EXPECT_TRUE(TokenTable::Parse(head)->Find("abc", kJanuary2027)->groups.empty());
  for (const char* rest : {" group=", " group=lab,", " group=a/b", " group=lab group=imaging",
                           " 2027-01-15T08:00:00Z 2027-01-15T08:00:00Z", " groups=lab",
                           " group=lab 2027-01-15T08:00:00Z more"}) {
    EXPECT_THAT(ErrorOf(head + rest), StartsWith("line 1 ")) << rest;
  }
}

TEST(TokenTableTest, AnErrorNeverQuotesADigestOrToken) {
  EXPECT_THAT(ErrorOf("ada read secret-that-somebody-pasted"),
              ::testing::Not(HasSubstr("secret-that-somebody-pasted")));
}

TEST(TokenTableTest, AnEmptyFileKnowsNobody) {
  const absl::StatusOr<TokenTable> table = TokenTable::Parse("# nobody yet\n");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(GetReason(table->Find("abc", kJanuary2027).status()), "TOKEN_UNKNOWN");
}

TEST(MakeTokenTest, TokensDifferAndTheirLineAdmitsThem) {
  const absl::StatusOr<std::string> token = MakeToken();
  const absl::StatusOr<std::string> other = MakeToken();
  ASSERT_TRUE(token.ok() && other.ok());
  EXPECT_NE(*token, *other);
  EXPECT_EQ(token->size(), 7 + 64);
  const absl::StatusOr<std::string> line = TokenLine("ada", *ParseScopes("train"), *token);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(*line, ::testing::Not(HasSubstr(*token)));
  const absl::StatusOr<TokenTable> table = TokenTable::Parse(*line);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_TRUE(table->Find(*token, kJanuary2027).ok());
  EXPECT_FALSE(table->Find(*other, kJanuary2027).ok());
}

TEST(MakeTokenTest, ALineHoldsItsExpiry) {
  const absl::StatusOr<std::string> line =
      TokenLine("ada", *ParseScopes("read"), "abc", kJanuary2027 + absl::Milliseconds(300));
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(*line, absl::StrCat("ada read ", kAbcDigest, " 2027-01-15T08:00:00Z"));
  const absl::StatusOr<TokenTable> table = TokenTable::Parse(*line);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_TRUE(table->Find("abc", kJanuary2027 - absl::Seconds(1)).ok());
  EXPECT_EQ(GetReason(table->Find("abc", kJanuary2027).status()), "TOKEN_EXPIRED");
}

TEST(MakeTokenTest, ATokenForNothingIsRefused) {
  EXPECT_EQ(*TokenLine("ada", *ParseScopes("read"), "abc", absl::InfiniteFuture(), "lab,b"),
            absl::StrCat("ada read ", kAbcDigest, " group=lab,b"));
  EXPECT_FALSE(TokenLine("ada", *ParseScopes("read"), "abc", absl::InfiniteFuture(), "a b").ok());
  EXPECT_EQ(TokenLine("ada", ScopeSet(), "abc").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MakeTokenTest, NamesThatBreakTheLineAreRefused) {
  for (const char* name : {"", "a b", "a\n", "#a"}) {
    EXPECT_FALSE(TokenLine(name, ScopeSet::All(), "abc").ok()) << name;
  }
}

}  // namespace
}  // namespace mercer::server
