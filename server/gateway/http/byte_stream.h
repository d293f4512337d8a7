// The bytes of one connection, in plain text or within TLS. Everything happens on the thread that runs
// the io_context.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "server/gateway/http/http_server.h"

namespace mercer::gateway {

// What a connection needs to begin TLS 1.2 or later; null: plain text.
using TlsContext = std::shared_ptr<boost::asio::ssl::context>;
// Errors: kFailedPrecondition with reason BAD_CERTIFICATE.
absl::StatusOr<TlsContext> MakeTlsContext(const TlsIdentity& identity);

// At most one read and one write at a time. Callbacks come later, never from within the call, and also
// after Close, with a failure; whoever gives one keeps the stream alive until it has come.
class ByteStream {
 public:
  using Done = std::function<void(bool ok)>;
  // `bytes` is empty at the end and after a failure, and valid within the call only.
  using Read = std::function<void(std::string_view bytes)>;

  // `buffer` is for reads, shared by all streams of the thread, and outlives them.
  ByteStream(boost::asio::ip::tcp::socket socket, TlsContext context, std::string& buffer);

  boost::asio::ip::tcp::socket::executor_type executor() { return socket_.get_executor(); }
  // Before anything else.
  void Handshake(Done done);
  void ReadSome(Read done);
  // `bytes` outlive the call back. `progress` is called first, and whenever some of them have gone.
  void Write(const std::array<boost::asio::const_buffer, 2>& bytes, std::function<void()> progress,
             Done done);
  // The other end sees the end of what was written, by what can be sent at once. `owner` of the stream is kept until there is
  // nothing more to do for it: within TLS, when the other end has said that it ends, too. Reads may go on meanwhile.
  void ShutDownWriting(std::shared_ptr<const void> owner);
  void Close();

 private:
  // The library's tcp_stream has no say here: its timeout closes the socket, where a request that comes too slowly is answered, and
  // the deadline of a read that waits cannot be moved, as at the end of an exchange.
  boost::asio::ip::tcp::socket socket_;
  const TlsContext context_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;
  std::string& shared_buffer_;
  std::string own_buffer_;  // within TLS, where a read cannot wait without one
};

}  // namespace mercer::gateway
