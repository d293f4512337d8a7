// What a connection needs to begin TLS.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include <boost/asio/ssl/context.hpp>

#include "server/gateway/http/http_server.h"

namespace mercer::gateway {

// TLS 1.2 or later. Errors: kFailedPrecondition with reason BAD_CERTIFICATE.
absl::StatusOr<std::shared_ptr<boost::asio::ssl::context>> MakeTlsContext(
    const TlsIdentity& identity);

}  // namespace mercer::gateway
