// Whose something is, and who may change it.
//
// What a caller has made is his. Others may read and use it as far as their scopes go; to change it takes its owner, somebody
// who shares a group of the token file with him, or an admin. What nobody in particular has made, because it is older than
// owners or was made on a server without tokens, may be changed by everybody who has the scope for such a change.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "server/access/token_table.h"

namespace mercer::server {

// Whether it is nobody's: `owner` is empty or kAnyone.
bool IsNobody(std::string_view owner);

// Whether `caller` may change what `owner` has made.
bool MayChange(const Caller& caller, std::string_view owner);

// MayChange of the resource, to be asked by a store within the transaction of the change. `type`: "job"; `name`: "jobs/j-1".
// Its errors: kPermissionDenied with reason NOT_OWNER, metadata resource_type, resource_name, owner and caller.
std::function<absl::Status(const std::string& owner)> ChangeCheck(Caller caller, std::string type,
                                                                  std::string name);

}  // namespace mercer::server
