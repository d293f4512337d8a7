#include "server/gateway/http/byte_stream.h"

#include <limits>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

namespace mercer::gateway {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kTlsRecordBytes = size_t{16} << 10;

ByteStream::ByteStream(tcp::socket socket, TlsContext context, std::string& buffer)
    : socket_(std::move(socket)), context_(std::move(context)), shared_buffer_(buffer) {
  if (context_ != nullptr) {
    tls_.emplace(socket_, *context_);
    return;
  }
  error_code ignored;
  socket_.non_blocking(true, ignored);
}

void ByteStream::Handshake(Done done) {
  if (tls_.has_value()) {
    tls_->async_handshake(asio::ssl::stream_base::server,
                          [done = std::move(done)](error_code error) { done(!error); });
  } else {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done(true); });
  }
}

// Plain text waits until there is something to read before it takes a buffer: connections that say nothing hold none.
void ByteStream::ReadSome(Read done) {
  if (tls_.has_value()) {
    own_buffer_.resize(kTlsRecordBytes);
    tls_->async_read_some(
        asio::buffer(own_buffer_), [this, done = std::move(done)](error_code error, size_t count) {
          done(error ? std::string_view() : std::string_view(own_buffer_.data(), count));
        });
    return;
  }
  socket_.async_wait(tcp::socket::wait_read, [this, done = std::move(done)](error_code error) {
    const size_t count = error ? 0 : socket_.read_some(asio::buffer(shared_buffer_), error);
    if (error == asio::error::would_block || error == asio::error::interrupted) {
      ReadSome(done);
      return;
    }
    done(error ? std::string_view() : std::string_view(shared_buffer_.data(), count));
  });
}

void ByteStream::Write(const std::array<asio::const_buffer, 2>& bytes,
                       std::function<void()> progress, Done done) {
  const auto write = [&](auto& stream) {
    asio::async_write(
        stream, bytes,
        [progress = std::move(progress)](error_code error, size_t) {
          progress();
          return error ? 0 : std::numeric_limits<size_t>::max();
        },
        [done = std::move(done)](error_code error, size_t) { done(!error); });
  };
  tls_.has_value() ? write(*tls_) : write(socket_);
}

// The alert goes out within the call, unless the socket takes nothing; then the operation waits for that of the other end.
void ByteStream::ShutDownWriting(std::shared_ptr<const void> owner) {
  error_code ignored;
  if (tls_.has_value()) {
    tls_->async_shutdown([this, owner = std::move(owner)](error_code error) {
      socket_.shutdown(tcp::socket::shutdown_send, error);
    });
  } else {
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }
}

void ByteStream::Close() {
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace mercer::gateway
