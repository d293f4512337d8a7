// The bytes of one connection, in plain text or within TLS. Everything happens on the thread that runs
// the io_context.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

namespace mercer::gateway {

// At most one read and one write at a time. Callbacks come later, never from within the call, and also
// after Close, with a failure; whoever gives one keeps the stream alive until it has come.
class ByteStream {
 public:
  using Done = std::function<void(bool ok)>;
  // `bytes` is empty at the end and after a failure, and valid within the call only.
  using Read = std::function<void(std::string_view bytes)>;

  virtual ~ByteStream() = default;
  // Before anything else.
  virtual void Handshake(Done done) = 0;
  virtual void ReadSome(Read done) = 0;
  // Writes some of `bytes`, which outlive the call back; answers how many, 0 after a failure.
  virtual void WriteSome(std::string_view bytes, std::function<void(size_t written)> done) = 0;
  // The other end sees the end of what was written, by what can be sent at once. `done` comes when there is nothing more to
  // do for it: within TLS, when the other end has said that it ends, too. Reads may go on meanwhile.
  virtual void ShutDownWriting(std::function<void()> done) = 0;
  virtual void Close() = 0;
};

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// `context` null: plain text. `buffer` is for reads, shared by all streams of the thread, and outlives them.
std::unique_ptr<ByteStream> MakeByteStream(boost::asio::ip::tcp::socket socket, TlsContext context,
                                           std::string& buffer);

}  // namespace mercer::gateway
