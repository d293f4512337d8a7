// How good a stored model is: the jobs of EvaluateModel, VerifyModel and of their twins that do not wait, without gRPC.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/process/cancellation.h"
#include "mercer/v1/model_service.pb.h"
#include "server/api/api_context.h"
#include "server/rpc/rpc.h"
#include "server/storage/records.h"

namespace mercer::server {

// Thread-safe. Errors as the service documents them, and kCancelled.
class AssessmentHandlers {
 public:
  explicit AssessmentHandlers(const ApiContext& context) : context_(context) {}

  // The jobs that EvaluateModel and VerifyModel wait for.
  absl::StatusOr<JobRecord> Evaluate(const v1::EvaluateModelRequest& request, const CallInfo& info,
                                     const CancellationToken& cancellation) const;
  absl::StatusOr<JobRecord> Verify(const v1::VerifyModelRequest& request, const CallInfo& info,
                                   const CancellationToken& cancellation) const;
  absl::StatusOr<v1::Job> StartEvaluation(const v1::EvaluateModelRequest& request,
                                          const CallInfo& info,
                                          const CancellationToken& cancellation) const;
  absl::StatusOr<v1::Job> StartVerification(const v1::VerifyModelRequest& request,
                                            const CallInfo& info,
                                            const CancellationToken& cancellation) const;

 private:
  const ApiContext& context_;
};

}  // namespace mercer::server
