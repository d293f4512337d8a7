#include "server/gateway/http/request_parser.h"

#include <string>

#include <gtest/gtest.h>

namespace mercer::gateway {
namespace {

constexpr size_t kHeadBytes = 1024;

// Feeds the parser in pieces of `step` bytes, as a connection would, and answers what it left.
std::string Feed(RequestParser& parser, const std::string& text, size_t step, std::string& body) {
  std::string input;
  size_t next = 0;
  while (parser.error_status() == 0 && !parser.done()) {
    const size_t taken = parser.Put(input);
    input.erase(0, taken);
    if (parser.head_done()) {
      body += parser.TakeBody();
    }
    if (taken == 0) {
      if (next >= text.size()) {
        break;
      }
      input += text.substr(next, step);
      next += step;
    }
  }
  return input + text.substr(std::min(next, text.size()));
}

TEST(RequestParserTest, ReadsHeadAndBodyHoweverTheyAreCut) {
  const std::string text =
      "POST /v1/jobs?a=b HTTP/1.1\r\nHost: localhost\r\nX-Two: 1\r\nx-two: 2\r\n"
      "Content-Length: 11\r\n\r\nhello world";
  for (const size_t step : {size_t{1}, size_t{2}, size_t{7}, size_t{50}, size_t{1000}}) {
    RequestParser parser(kHeadBytes);
    std::string body;
    EXPECT_EQ(Feed(parser, text + "GET /next", step, body).substr(0, 1), step < 1000 ? "G" : "G");
    ASSERT_TRUE(parser.done()) << step;
    const RequestHead head = parser.TakeHead();
    EXPECT_EQ(head.method, "POST");
    EXPECT_EQ(head.target, "/v1/jobs?a=b");
    EXPECT_EQ(head.FindAll("x-two"), (std::vector<std::string_view>{"1", "2"}));
    EXPECT_EQ(head.content_length, 11u);
    EXPECT_TRUE(head.keep_alive);
    EXPECT_EQ(body, "hello world");
  }
}

TEST(RequestParserTest, ReadsChunks) {
  const std::string text =
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n"
      "Trailer: 1\r\n\r\n";
  for (const size_t step : {size_t{1}, size_t{3}, size_t{1000}}) {
    RequestParser parser(kHeadBytes);
    std::string body;
    EXPECT_EQ(Feed(parser, text, step, body), "");
    EXPECT_TRUE(parser.done());
    EXPECT_FALSE(parser.TakeHead().content_length.has_value());
    EXPECT_EQ(body, "hello world");
  }
}

TEST(RequestParserTest, TheLastChunkMayBeTheFirstHoweverItIsCut) {
  const std::string text = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (const size_t step : {size_t{1}, size_t{2}, size_t{1000}}) {
    RequestParser parser(kHeadBytes);
    std::string body;
    EXPECT_EQ(Feed(parser, text, step, body), "");
    EXPECT_TRUE(parser.done());
    EXPECT_EQ(body, "");
  }
}

TEST(RequestParserTest, NoCodingButChunkedIsTakenForNoBody) {
  const std::string smuggled = "1f\r\nGET /v1/jobs HTTP/1.1\r\nA: b\r\n\r\n\r\n0\r\n\r\n";
  for (const char* coding : {"xchunked", "gzip", "identity", "\"chunked\"", "chunked, identity",
                             "gzip, chunked", "chunked, chunked", "chunked;q=1", "chunked,", ""}) {
    for (const size_t step : {size_t{1}, size_t{1000}}) {
      RequestParser parser(kHeadBytes);
      std::string body;
      Feed(parser,
           "POST / HTTP/1.1\r\nTransfer-Encoding: " + std::string(coding) + "\r\n\r\n" + smuggled,
           step, body);
      EXPECT_EQ(parser.error_status(), 501) << coding;
      EXPECT_FALSE(parser.head_done()) << coding;
      EXPECT_FALSE(parser.done()) << coding;
    }
  }
  for (const char* coding : {"chunked", "Chunked", "  chunked  "}) {
    RequestParser parser(kHeadBytes);
    std::string body;
    Feed(parser,
         "POST / HTTP/1.1\r\nTransfer-Encoding: " + std::string(coding) + "\r\n\r\n" + smuggled,
         1000, body);
    EXPECT_TRUE(parser.done()) << coding;
  }
}

TEST(RequestParserTest, CodingsComeOnceAndNotWithHttp10) {
  for (const char* head :
       {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    RequestParser parser(kHeadBytes);
    std::string body;
    Feed(parser, std::string(head) + "0\r\n\r\n", 1000, body);
    EXPECT_NE(parser.error_status(), 0) << head;
    EXPECT_FALSE(parser.done()) << head;
  }
}

TEST(RequestParserTest, ExtensionsAndTrailersEndSomewhere) {
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string endless(size_t{1} << 20, 'x');
  for (const std::string& begin : {head + "5;" + endless, head + "5;a=\"" + endless,
                                   head + "0\r\nA: " + endless, head + std::string(1 << 20, '0')}) {
    RequestParser parser(kHeadBytes);
    std::string body;
    std::string input;
    for (size_t next = 0; next < begin.size() && parser.error_status() == 0; next += 1000) {
      input += begin.substr(next, 1000);
      input.erase(0, parser.Put(input));
      EXPECT_LE(input.size(), size_t{18} << 10);
    }
    EXPECT_NE(parser.error_status(), 0);
    EXPECT_FALSE(parser.done());
  }
  std::string trailers;
  for (int i = 0; i < 100'000; ++i) {
    trailers += "A: b\r\n";
  }
  RequestParser parser(kHeadBytes);
  std::string body;
  Feed(parser, head + "0\r\n" + trailers, 1000, body);
  EXPECT_NE(parser.error_status(), 0);
}

TEST(RequestParserTest, NoBodyIsDoneWithTheHead) {
  RequestParser parser(kHeadBytes);
  std::string body;
  Feed(parser, "GET / HTTP/1.0\r\n\r\n", 1000, body);
  EXPECT_TRUE(parser.done());
  const RequestHead head = parser.TakeHead();
  EXPECT_TRUE(head.http10);
  EXPECT_FALSE(head.keep_alive);
}

TEST(RequestParserTest, RefusesWhatIsNoRequest) {
  struct Case {
    std::string text;
    int status;
  };
  const Case cases[] = {
      {"hello\r\n\r\n", 400},
      {std::string("\x16\x03\x01\x02\x00", 5) + "\r\n\r\n", 400},
      {"GET /\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\nNo colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"GET / HTTP/1.1\r\nX: " + std::string(2000, 'a') + "\r\n\r\n", 431},
      {"GET /" + std::string(2000, 'a'), 431},
  };
  for (const Case& one : cases) {
    RequestParser parser(kHeadBytes);
    std::string body;
    Feed(parser, one.text, 1000, body);
    if (one.status == 400) {
      EXPECT_TRUE(parser.error_status() == 400 || parser.error_status() == 501) << one.text;
    } else {
      EXPECT_EQ(parser.error_status(), one.status) << one.text;
    }
    EXPECT_FALSE(parser.done()) << one.text;
  }
}

}  // namespace
}  // namespace mercer::gateway
