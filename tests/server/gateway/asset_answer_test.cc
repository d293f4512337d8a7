#include <map>
#include <string>

#include <gtest/gtest.h>
#include <zlib.h>

#include "server/gateway/assets.h"

namespace mercer::gateway {
namespace {

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

class AssetTest : public testing::Test {
 protected:
  Answer Ask(const std::string& path, std::vector<Header> headers = {}) const {
    RequestHead request;
    request.method = "GET";
    request.target = path;
    request.headers = std::move(headers);
    const AssetFinder find = [this](std::string_view name) -> const Asset* {
      const auto found = assets_.find(std::string(name));
      return found == assets_.end() ? nullptr : &found->second;
    };
    return AnswerAsset(find, request, path);
  }
  static std::string HeaderOf(const Answer& answer, const std::string& name) {
    for (const auto& [key, value] : answer.headers) {
      if (key == name) {
        return value;
      }
    }
    return "";
  }
  static std::string BodyOf(const Answer& answer) {
    return answer.fixed_body.empty() ? answer.body : std::string(answer.fixed_body);
  }

  const std::string page_ = "<!doctype html><p>" + std::string(500'000, 'x');
  const std::string page_gzip_ = Gzip(page_);
  std::map<std::string, Asset> assets_ = {
      {"/index.html", {"/index.html", page_gzip_, true, "d1"}},
      {"/assets/main-4f.js", {"/assets/main-4f.js", "let a;", false, "d2"}},
  };
};

TEST_F(AssetTest, PagesAreServedForEveryNameWithoutADot) {
  for (const char* path : {"/", "/index.html", "/jobs", "/jobs/j-1", "/models/spam%40live"}) {
    const Answer answer = Ask(path, {{"accept-encoding", "br, gzip"}});
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(HeaderOf(answer, "Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(HeaderOf(answer, "Content-Encoding"), "gzip");
    EXPECT_EQ(HeaderOf(answer, "Cache-Control"), "no-cache");
    EXPECT_NE(HeaderOf(answer, "Content-Security-Policy").find("frame-ancestors 'none'"),
              std::string::npos);
    EXPECT_EQ(BodyOf(answer), page_gzip_);
  }
}

TEST_F(AssetTest, ClientsWithoutGzipGetThePlainText) {
  for (const char* coding : {"", "br", "gzip;q=0", "identity, *;q=0"}) {
    const Answer answer = Ask("/", {{"accept-encoding", coding}});
    EXPECT_EQ(BodyOf(answer), page_) << coding;
    EXPECT_EQ(HeaderOf(answer, "Content-Encoding"), "") << coding;
  }
}

TEST_F(AssetTest, FilesWithHashedNamesAreKeptForever) {
  const Answer answer = Ask("/assets/main-4f.js");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(HeaderOf(answer, "Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(HeaderOf(answer, "Cache-Control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(BodyOf(answer), "let a;");
}

TEST_F(AssetTest, KnownFilesAreNotSentAgain) {
  const std::string etag = HeaderOf(Ask("/assets/main-4f.js"), "ETag");
  EXPECT_EQ(etag, "\"d2\"");
  const Answer again = Ask("/assets/main-4f.js", {{"if-none-match", etag}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(BodyOf(again), "");
  EXPECT_NE(HeaderOf(Ask("/"), "ETag"), HeaderOf(Ask("/", {{"accept-encoding", "gzip"}}), "ETag"));
}

TEST_F(AssetTest, TricksFindNothing) {
  for (const char* path : {"/../etc/passwd", "/%2e%2e/etc/passwd", "/assets/../index", "/..", "/.",
                           "/a/..%2f..%2fb", "/a%5cb", "/a%00b", "/%", "/%zz", "relative", "", "*",
                           "/missing.js", "/assets/main-4f.js/x.y", "http://localhost/"}) {
    EXPECT_EQ(Ask(path).status, 404) << path;
  }
}

TEST_F(AssetTest, WithoutADashboardTheServerSaysSo) {
  assets_.clear();
  const Answer answer = Ask("/");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("built without its dashboard"), std::string::npos);
  EXPECT_EQ(Ask("/x.js").status, 404);
}

}  // namespace
}  // namespace mercer::gateway
