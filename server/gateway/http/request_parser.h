// Reads one request of HTTP/1.1 out of the bytes of a connection.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "server/gateway/http/http_message.h"

namespace mercer::gateway {

// First the head, then the body, each as its bytes come. Not thread-safe.
class RequestParser {
 public:
  // A head of more than `max_head_bytes` is refused.
  explicit RequestParser(size_t max_head_bytes);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Takes bytes off the front of `bytes`, stops at the end of the head and at the end of the request, and
  // answers how many it took; what is left is to come again with the bytes behind it.
  size_t Put(std::string_view bytes);

  // Not a request: the status that the client is to get (400, 431, 501, 505). 0: none so far. Nothing
  // more is taken then.
  int error_status() const;
  bool head_done() const;
  // The request has come whole.
  bool done() const;

  // Call once, after head_done().
  RequestHead TakeHead();
  // What has come of the body since the last call.
  std::string TakeBody();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mercer::gateway
