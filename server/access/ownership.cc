#include "server/access/ownership.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer::server {

bool IsNobody(std::string_view owner) { return owner.empty() || owner == kAnyone; }

bool MayChange(const Caller& caller, std::string_view owner) {
  return IsNobody(owner) || owner == caller.name || caller.scopes.Allows(Scope::kAdmin) ||
         std::any_of(caller.groups.begin(), caller.groups.end(),
                     [&](const Caller::Group& group) { return group->count(owner) > 0; });
}

std::function<absl::Status(const std::string& owner)> ChangeCheck(Caller caller, std::string type,
                                                                  std::string name) {
  return [caller = std::move(caller), type = std::move(type),
          name = std::move(name)](const std::string& owner) {
    if (MayChange(caller, owner)) {
      return absl::OkStatus();
    }
    return WithReason(absl::PermissionDeniedError(
                          absl::StrCat("'", name, "' belongs to ", owner, ": it may be changed by ",
                                       owner, ", by those who share a group with ", owner,
                                       ", and by an admin, not by ", caller.name)),
                      "NOT_OWNER",
                      {{"resource_type", type},
                       {"resource_name", name},
                       {"owner", owner},
                       {"caller", caller.name}});
  };
}

}  // namespace mercer::server
