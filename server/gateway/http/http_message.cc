#include "server/gateway/http/http_message.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/status.hpp>

namespace mercer::gateway {
namespace {

namespace http = boost::beast::http;

// For every answer: browsers neither guess its type, nor frame it, nor tell others where it came from.
constexpr std::string_view kCommonHeaders =
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n";

// A value may quote what a client has sent, which must not begin a line of its own. The library's fields, whose serializer
// would write the head otherwise, take such a value as it is.
std::string OneLine(const std::string& value) {
  std::string line = value;
  std::replace_if(
      line.begin(), line.end(),
      [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f'; },
      ' ');
  return line;
}

}  // namespace

std::vector<std::string_view> RequestHead::FindAll(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : headers) {
    if (key == name) {
      values.emplace_back(value);
    }
  }
  return values;
}

std::string_view RequestHead::Find(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [name](const Header& header) { return header.first == name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string RequestHead::MediaType() const {
  const std::string_view type = Find("content-type");
  return absl::AsciiStrToLower(absl::StripAsciiWhitespace(View(type.substr(0, type.find(';')))));
}

Answer MakeAnswer(std::string body, std::string type, int status) {
  Answer answer;
  answer.status = status;
  answer.headers = {{"Content-Type", std::move(type)}, {"Cache-Control", "no-store"}};
  answer.body = std::move(body);
  return answer;
}

std::string HeadText(int status, const std::vector<Header>& headers, std::optional<uint64_t> length,
                     const RequestHead& request, bool keep_alive) {
  std::string text = absl::StrCat(
      "HTTP/1.1 ", status, " ",
      std::string(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)))),
      "\r\nDate: ", absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::Now(), absl::UTCTimeZone()),
      "\r\n", View(kCommonHeaders));
  for (const auto& [name, value] : headers) {
    absl::StrAppend(&text, name, ": ", OneLine(value), "\r\n");
  }
  if (length.has_value() && status != 304 && status != 204) {
    absl::StrAppend(&text, "Content-Length: ", *length, "\r\n");
  } else if (!length.has_value() && !request.http10) {
    absl::StrAppend(&text, "Transfer-Encoding: chunked\r\n");
  }
  if (!keep_alive) {
    absl::StrAppend(&text, "Connection: close\r\n");
  } else if (request.http10) {
    absl::StrAppend(&text, "Connection: keep-alive\r\n");
  }
  absl::StrAppend(&text, "\r\n");
  return text;
}

std::string ChunkText(std::string_view bytes) {
  return boost::beast::buffers_to_string(
      http::make_chunk(boost::asio::buffer(bytes.data(), bytes.size())));
}

}  // namespace mercer::gateway
