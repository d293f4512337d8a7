// Keeps pages of other sites from using a visitor's browser to reach this server.
#pragma once

#include "absl/status/status.h"

#include "server/gateway/http/http_message.h"

namespace mercer::gateway {

struct GuardRules {
  bool loopback = true;  // the port is reached from this machine alone
  bool tokens = false;   // callers need a token
};

// Errors: kInvalidArgument with reason BAD_HOST: not one Host header; kPermissionDenied with reason FOREIGN_HOST: on loopback
// and without tokens only the names of this machine are taken, because another name may have been pointed here by whoever owns
// it; CROSS_SITE: the browser says that another site asks; CROSS_SITE_POSSIBLE: a change that every site could have asked
// for.
absl::Status CheckSite(const RequestHead& request, const GuardRules& rules);

}  // namespace mercer::gateway
