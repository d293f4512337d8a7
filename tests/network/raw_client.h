// A connection that speaks as much or as little HTTP/2 as a test wants.
#pragma once

#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace mercer::server {

class RawClient {
 public:
  explicit RawClient(int port);
  ~RawClient();
  RawClient(RawClient&& other) noexcept;
  RawClient& operator=(RawClient&&) = delete;

  bool connected() const { return socket_ >= 0; }
  // Blocks; false when the server has closed the connection.
  bool Send(std::string_view bytes) const;
  // Blocks until the server says something; false when it has closed the connection.
  bool Hear() const;
  // Blocks until the server closes the connection; false when it has not within the time.
  bool IsClosedWithin(absl::Duration limit) const;
  // Sends byte after byte, each after the pause, whatever the server says, until it closes the connection: answers how many
  // it took. Ends after `most`.
  int Drip(std::string_view bytes, absl::Duration pause, int most) const;

  // The greeting of a client.
  static std::string Greeting();
  // A frame of any kind.
  static std::string Frame(char type, char flags, int stream, std::string_view payload);
  // The headers of a call on stream 1: "/mercer.v1.TrainingService/ListJobs".
  static std::string CallHeaders(std::string_view path);

 private:
  int socket_;
};

}  // namespace mercer::server
