#include "server/gateway/http/tls_context.h"

#include "absl/strings/str_cat.h"
#include <boost/asio/buffer.hpp>
#include <openssl/ssl.h>

#include "core/base/status/errors.h"

namespace mercer::gateway {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

absl::Status BadIdentity(const char* what, const error_code& error) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("HTTP cannot use ", what, ": ", error.message())),
      "BAD_CERTIFICATE");
}

error_code UseIdentity(ssl::context& context, const TlsIdentity& identity) {
  error_code error;
  context.use_certificate_chain(boost::asio::buffer(identity.certificate), error);
  if (!error) {
    context.use_private_key(boost::asio::buffer(identity.key), ssl::context::pem, error);
  }
  return error;
}

error_code AskForClientCertificates(ssl::context& context, const std::string& authorities) {
  error_code error;
  context.add_certificate_authority(boost::asio::buffer(authorities), error);
  if (!error) {
    context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
  }
  return error;
}

}  // namespace

absl::StatusOr<std::shared_ptr<ssl::context>> MakeTlsContext(const TlsIdentity& identity) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  // Sessions are not taken up again: a client whose certificate is no longer good would come in by one.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET);
  if (const error_code error = UseIdentity(*context, identity)) {
    return BadIdentity("the certificate and its key", error);
  }
  if (!identity.client_ca.empty()) {
    if (const error_code error = AskForClientCertificates(*context, identity.client_ca)) {
      return BadIdentity("the authorities of the clients", error);
    }
  }
  return context;
}

}  // namespace mercer::gateway
