// What a move of an alias does, decided in the same way for every implementation of the stores.
#pragma once

#include <optional>

#include "absl/status/statusor.h"

#include "server/storage/model_store.h"

namespace mercer::server {

// The alias as a move finds it.
struct AliasState {
  std::optional<AliasChange> last;  // none: the alias has never existed
  bool version_exists = false;      // AliasMove::version, which may be deleted
};

// The alias after its change `last`, or before its first one.
AliasRecord AliasAfter(const std::string& model, const std::string& alias,
                       const std::optional<AliasChange>& last);

// The change to append; none when the alias is there already. Errors: those of ModelStore::MoveAlias
// but for the request_id.
absl::StatusOr<std::optional<AliasChange>> PlanMove(const AliasState& state, const AliasMove& move);

}  // namespace mercer::server
