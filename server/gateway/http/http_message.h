// Requests and answers of HTTP as the gateway sees them: no library's types.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace mercer::gateway {

// Debian's Abseil has a type of its own.
inline absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

using Header = std::pair<std::string, std::string>;

// A request without its body.
struct RequestHead {
  std::string method;           // "GET"
  std::string target;           // as sent: "/v1/jobs?pageSize=3"
  std::vector<Header> headers;  // in the order in which they came, names in lower case
  bool http10 = false;
  bool keep_alive = true;                  // the client would use the connection again
  std::optional<uint64_t> content_length;  // none: chunked, or no body

  // All values of the header; `name` in lower case.
  std::vector<std::string_view> FindAll(std::string_view name) const;
  // The first value; empty: the header did not come.
  std::string_view Find(std::string_view name) const;
  // What the body is said to be, without parameters and in lower case: "text/csv"; empty: nothing is said.
  std::string MediaType() const;
};

// A whole answer. Length, date and the headers that every answer has are added when it is sent.
struct Answer {
  int status = 200;
  std::vector<Header> headers;
  std::string body;
  std::string_view fixed_body;  // instead of `body`: text that lives as long as the program
  bool close = false;           // the connection is not used again
  std::shared_ptr<const void> memory =
      nullptr;  // let go when all is written, or nobody takes it any more
};

// An answer that nobody keeps for later.
Answer MakeAnswer(std::string body, std::string type = "application/json", int status = 200);

// The head of an answer whose body comes piece by piece.
struct StreamHead {
  int status = 200;
  std::vector<Header> headers;
  std::optional<uint64_t> content_length;  // none: the end is marked in the stream
};

// The head of an answer, up to the empty line. `length`: of the body; none: chunked, and for a client
// of HTTP/1.0 up to the end of the connection.
std::string HeadText(int status, const std::vector<Header>& headers, std::optional<uint64_t> length,
                     const RequestHead& request, bool keep_alive);
// `bytes` as a chunk of the chunked transfer coding.
std::string ChunkText(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace mercer::gateway
