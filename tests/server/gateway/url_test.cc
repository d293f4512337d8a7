#include "server/gateway/http/url.h"

#include <gtest/gtest.h>

namespace mercer::gateway {
namespace {

TEST(UrlTest, DecodesPercents) {
  EXPECT_EQ(DecodePercents("a%20b%2Fc%c3%A9", false), "a b/c\xC3\xA9");
  EXPECT_EQ(DecodePercents("a+b", false), "a+b");
  EXPECT_EQ(DecodePercents("a+b", true), "a b");
  EXPECT_EQ(DecodePercents(std::string_view("%00", 3), false), std::string(1, '\0'));
  for (const char* bad : {"%", "a%", "a%2", "%g0", "%0g", "%%20"}) {
    EXPECT_FALSE(DecodePercents(bad, false).has_value()) << bad;
  }
}

TEST(UrlTest, SplitsTargets) {
  EXPECT_EQ(PathOf("/v1/jobs?a=b?c"), "/v1/jobs");
  EXPECT_EQ(QueryOf("/v1/jobs?a=b?c"), "a=b?c");
  EXPECT_EQ(PathOf("/v1"), "/v1");
  EXPECT_EQ(QueryOf("/v1"), "");
}

TEST(UrlTest, ParsesQueries) {
  EXPECT_EQ(*ParseQuery(""), Parameters());
  EXPECT_EQ(*ParseQuery("a=1&b&c=&a=2&&d=x%3Dy%26z"),
            (Parameters{{"a", "1"}, {"b", ""}, {"c", ""}, {"a", "2"}, {"d", "x=y&z"}}));
  EXPECT_FALSE(ParseQuery("a=%").ok());
  EXPECT_FALSE(ParseQuery("a=%ff").ok());
}

}  // namespace
}  // namespace mercer::gateway
