#include "server/gateway/http/byte_stream.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <openssl/ssl.h>

#include "core/base/status/errors.h"

namespace mercer::gateway {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr size_t kTlsRecordBytes = size_t{16} << 10;

absl::Status BadIdentity(const char* what, const error_code& error) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("HTTP cannot use ", what, ": ", error.message())),
      "BAD_CERTIFICATE");
}

}  // namespace

absl::StatusOr<TlsContext> MakeTlsContext(const TlsIdentity& identity) {
  namespace ssl = asio::ssl;
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  // Sessions are not taken up again: a client whose certificate is no longer good would come in by one.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET);
  error_code error;
  context->use_certificate_chain(asio::buffer(identity.certificate), error);
  if (!error) {
    context->use_private_key(asio::buffer(identity.key), ssl::context::pem, error);
  }
  if (error) {
    return BadIdentity("the certificate and its key", error);
  }
  if (!identity.client_ca.empty()) {
    context->add_certificate_authority(asio::buffer(identity.client_ca), error);
    if (!error) {
      context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
    }
    if (error) {
      return BadIdentity("the authorities of the clients", error);
    }
  }
  return context;
}

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
