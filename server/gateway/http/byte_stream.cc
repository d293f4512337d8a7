#include "server/gateway/http/byte_stream.h"

#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace mercer::gateway {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Waits until there is something to read before it takes a buffer: connections that say nothing hold none.
class PlainStream final : public ByteStream {
 public:
  PlainStream(tcp::socket socket, std::string& buffer)
      : socket_(std::move(socket)), buffer_(buffer) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
  }

  void Handshake(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done(true); });
  }

  void ReadSome(Read done) override {
    socket_.async_wait(tcp::socket::wait_read, [this, done = std::move(done)](error_code error) {
      if (error) {
        done({});
        return;
      }
      const size_t count = socket_.read_some(asio::buffer(buffer_), error);
      if (error == asio::error::would_block || error == asio::error::interrupted) {
        ReadSome(done);
        return;
      }
      done(error ? std::string_view() : std::string_view(buffer_.data(), count));
    });
  }

  void WriteSome(std::string_view bytes, std::function<void(size_t)> done) override {
    socket_.async_write_some(
        asio::buffer(bytes.data(), bytes.size()),
        [done = std::move(done)](error_code error, size_t count) { done(error ? 0 : count); });
  }

  void ShutDownWriting(std::function<void()> done) override {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    asio::post(socket_.get_executor(), std::move(done));
  }

  void Close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  tcp::socket socket_;
  std::string& buffer_;
};

class TlsStream final : public ByteStream {
 public:
  TlsStream(tcp::socket socket, TlsContext context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}

  void Handshake(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [done = std::move(done)](error_code error) { done(!error); });
  }

  void ReadSome(Read done) override {
    buffer_.resize(kBufferBytes);
    stream_.async_read_some(
        asio::buffer(buffer_), [this, done = std::move(done)](error_code error, size_t count) {
          done(error ? std::string_view() : std::string_view(buffer_.data(), count));
        });
  }

  void WriteSome(std::string_view bytes, std::function<void(size_t)> done) override {
    stream_.async_write_some(
        asio::buffer(bytes.data(), bytes.size()),
        [done = std::move(done)](error_code error, size_t count) { done(error ? 0 : count); });
  }

  // The alert goes out within the call, unless the socket takes nothing; then the operation waits for that of the other end.
  void ShutDownWriting(std::function<void()> done) override {
    stream_.async_shutdown([this, done = std::move(done)](error_code) {
      error_code ignored;
      stream_.next_layer().shutdown(tcp::socket::shutdown_send, ignored);
      done();
    });
  }

  void Close() override {
    error_code ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  static constexpr size_t kBufferBytes = 16 * 1024;  // of one record

  const TlsContext context_;
  asio::ssl::stream<tcp::socket> stream_;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<ByteStream> MakeByteStream(tcp::socket socket, TlsContext context,
                                           std::string& buffer) {
  if (context == nullptr) {
    return std::make_unique<PlainStream>(std::move(socket), buffer);
  }
  return std::make_unique<TlsStream>(std::move(socket), std::move(context));
}

}  // namespace mercer::gateway
