// Frames of HTTP/2, one by one, as no library would send them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace mercer::server {

class Http2Client {
 public:
  // Connects to `address`, "127.0.0.1:PORT", from 127.0.0.2, which is a host of its own, and says hello.
  explicit Http2Client(const std::string& address);
  ~Http2Client();
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  enum Type : uint8_t { kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kContinuation = 9 };
  enum Flag : uint8_t { kNone = 0, kEndStream = 1, kEndHeaders = 4 };

  static std::string Frame(Type type, uint8_t flags, uint32_t stream, absl::string_view payload);
  // The block of headers of a call. Without a token: a stranger's.
  static std::string CallHeaders(absl::string_view path, absl::string_view token = "");
  // The same, of a connection's first call, for the server to keep; and the few bytes that then say all of it.
  static std::string KeptHeaders(absl::string_view path, absl::string_view token);
  static std::string HeadersAgain();
  // A hundred calls that are reset as soon as they begin, the `piece`th hundred of a connection.
  static std::string ResetCalls(absl::string_view headers, uint32_t piece);

  // False: the server has ended the connection. What it says is read and thrown away.
  bool Send(absl::string_view bytes);
  // Waits for the server's first words. False: it has ended the connection without any.
  bool IsAnswered();

 private:
  int socket_ = -1;
};

}  // namespace mercer::server
