// Who may make a change, as the stores ask it.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace mercer::server {

// Asked of the owner of what is to be changed, within the transaction of the change, so that nothing can become somebody
// else's in between; an error is the answer to the change, which is not made. It must be quick and ask no store. Empty: the
// change is made whoever the owner is.
using OwnerCheck = std::function<absl::Status(const std::string& owner)>;

inline absl::Status CheckOwner(const OwnerCheck& check, const std::string& owner) {
  return check == nullptr ? absl::OkStatus() : check(owner);
}

}  // namespace mercer::server
