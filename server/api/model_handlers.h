// The registry of models: the calls of ModelService, without gRPC.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include <google/protobuf/empty.pb.h>

#include "mercer/v1/model_service.pb.h"
#include "server/api/api_context.h"
#include "server/prediction/model_cache.h"
#include "server/rpc/rpc.h"
#include "server/translation/resource_names.h"

namespace mercer::server {

// What ExportModel sends.
struct ModelExport {
  v1::ExportHeader header;
  std::unique_ptr<MappedFile> file;
};

// Thread-safe; the calls wait for SQL and files. Errors as the service documents them.
class ModelHandlers {
 public:
  ModelHandlers(const ApiContext& context, ModelCache& cache) : context_(context), cache_(cache) {}

  absl::StatusOr<v1::Model> GetModel(const v1::GetModelRequest& request) const;
  absl::StatusOr<v1::ListModelsResponse> ListModels(const v1::ListModelsRequest& request) const;
  absl::StatusOr<v1::Model> UpdateModel(const v1::UpdateModelRequest& request,
                                        const CallInfo& info = CallInfo()) const;
  absl::StatusOr<google::protobuf::Empty> DeleteModel(const v1::DeleteModelRequest& request,
                                                      const CallInfo& info = CallInfo()) const;
  absl::StatusOr<v1::ModelVersion> GetModelVersion(const v1::GetModelVersionRequest& request) const;
  absl::StatusOr<v1::ListModelVersionsResponse> ListModelVersions(
      const v1::ListModelVersionsRequest& request) const;
  absl::StatusOr<v1::ModelVersion> UpdateModelVersion(const v1::UpdateModelVersionRequest& request,
                                                      const CallInfo& info = CallInfo()) const;
  absl::StatusOr<google::protobuf::Empty> DeleteModelVersion(
      const v1::DeleteModelVersionRequest& request, const CallInfo& info = CallInfo()) const;
  absl::StatusOr<v1::Retention> SetRetention(const v1::SetRetentionRequest& request,
                                             const CallInfo& info = CallInfo()) const;
  absl::StatusOr<ModelExport> OpenExport(const v1::ExportModelRequest& request) const;

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
  // With its newest version. Errors: those of the store; kNotFound (reason MODEL_NOT_FOUND: it was deleted meanwhile), kDataLoss.
  absl::StatusOr<v1::Model> Complete(absl::StatusOr<ModelRecord> record) const;
  // `version` 0: all of them; `name` is that of the request.
  absl::StatusOr<google::protobuf::Empty> Delete(const ModelReference& which,
                                                 const std::string& name,
                                                 const CallInfo& info) const;
  absl::StatusOr<ModelExport> OpenVersion(const std::string& model, int64_t version,
                                          const std::string& name) const;
  // Unless the same request has moved it.
  absl::StatusOr<v1::Alias> MoveOnce(const std::string& name, AliasMove move) const;
  // The version that a rollback leads to, and the etag of the alias before it.
  absl::Status PlanRollback(const std::string& name, AliasMove& move) const;
  // Asks the model's owner; loads the version, so that it answers at once and is known to be sound; then moves.
  absl::StatusOr<v1::Alias> WarmUpAndMove(const std::string& name, AliasMove move) const;

  const ApiContext& context_;
  ModelCache& cache_;
};

}  // namespace mercer::server
