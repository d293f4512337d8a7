// Aliases of model versions: the calls of ModelService about them, without gRPC.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "mercer/v1/model_service.pb.h"
#include "server/api/api_context.h"
#include "server/prediction/model_cache.h"
#include "server/rpc/rpc.h"
#include "server/translation/resource_names.h"

namespace mercer::server {

// Thread-safe; the calls wait for SQL and files. Errors as the service documents them.
class AliasHandlers {
 public:
  AliasHandlers(const ApiContext& context, ModelCache& cache) : context_(context), cache_(cache) {}

  absl::StatusOr<v1::Alias> SetAlias(const v1::SetAliasRequest& request,
                                     const CallInfo& info) const;
  absl::StatusOr<v1::Alias> RollbackAlias(const v1::RollbackAliasRequest& request,
                                          const CallInfo& info) const;
  absl::StatusOr<v1::Alias> GetAlias(const v1::GetAliasRequest& request) const;
  absl::StatusOr<v1::ListAliasesResponse> ListAliases(const v1::ListAliasesRequest& request) const;
  absl::StatusOr<v1::ListAliasHistoryResponse> ListAliasHistory(
      const v1::ListAliasHistoryRequest& request) const;

 private:
  ModelStore& models() const { return context_.storage->models(); }
  // The version that a rollback leads to, and the etag of the alias before it.
  absl::Status PlanRollback(const std::string& name, AliasMove& move) const;
  // Asks the model's owner; loads the version, so that it answers at once and is known to be sound; then moves.
  absl::StatusOr<v1::Alias> WarmUpAndMove(const std::string& name, AliasMove move) const;

  const ApiContext& context_;
  ModelCache& cache_;
};

}  // namespace mercer::server
