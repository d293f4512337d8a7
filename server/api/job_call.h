// Unary calls that are answered by a job, which is made for the call alone: it waits its turn as any other, belongs to the caller, is
// cancelled when nobody waits for the answer any more, and is deleted before the client hears of the end, so that what it was made of can
// be deleted too.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "server/api/api_context.h"
#include "server/rpc/request_call.h"

namespace mercer::server {

// Holds no thread while the job waits and runs: the end is told by the hub. Deletes itself. The call lasts until its job has ended, so
// that the places of a caller bound his work, whatever he cancels.
class JobCall : public RequestCall {
 public:
  void OnCancel() final { Pump(&JobCall::gone_); }

 protected:
  // `api` outlives it; `request` and `response` are members of the class that derives from this.
  JobCall(const RpcEnvironment& environment, const ApiContext& api, CallRecord call,
          grpc::CallbackServerContext* context, google::protobuf::Message& request,
          google::protobuf::Message& response)
      : RequestCall(environment, std::move(call), context, request),
        api_(api),
        request_(request),
        response_(response) {}
  ~JobCall() override = default;

  // Makes the job; may take as long as that of Train.
  virtual absl::StatusOr<JobRecord> Submit(const CancellationToken& cancellation) = 0;

 private:
  void Begin() final {
    PostOrEnd(*environment_.submission, [this] { Start(); });
  }
  void EndForDrain() final { Pump(&JobCall::gone_); }
  void CancelForDrain() final { Pump(&JobCall::abandoned_); }
  void Leave() final;

  void Start();
  absl::Status MakeJob();
  // Sets `flag`, one of those below, and settles the call when there is a reason.
  void Pump(bool JobCall::*flag = nullptr) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the job goes on no more, or nobody waits for it, or that cannot be told.
  bool DecideSafely() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsOver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the call, or waits on, when the job is under way or the storage cannot tell. Of one thread at a time.
  void Settle() ABSL_LOCKS_EXCLUDED(mutex_);
  // What the call answers when its job is so and the call waits no more.
  absl::Status Answer(const JobRecord& job) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status WhyGone() const;

  const ApiContext& api_;
  google::protobuf::Message& request_;
  google::protobuf::Message& response_;
  const CancellationToken cancellation_;  // of what comes before the job
  std::string job_id_;                    // from Start on; empty: none was made, or it is gone
  std::unique_ptr<ProgressSubscription> watch_;  // from Start to Leave
  int64_t heartbeat_ = 0;                        // the ticker's key

  absl::Mutex mutex_;
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;     // there is a job, and nobody settles the call
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;        // the client has, or the server drains
  bool cancelling_ ABSL_GUARDED_BY(mutex_) = false;  // the job is
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;   // the end of the job is not waited for
  bool look_ ABSL_GUARDED_BY(mutex_) = false;        // where nobody may have told of an end
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;      // the storage has; the next look asks it anew
  absl::Status unheard_ ABSL_GUARDED_BY(mutex_);     // why the end of the job cannot be told
};

// `Submitter`: an absl::StatusOr<JobRecord>(const Request&, const CallInfo&, const CancellationToken&), which outlives it. `Response` is
// the result that the job leaves.
template <typename Request, typename Response, typename Submitter>
class JobCallOf final : public JobCall {
 public:
  JobCallOf(const RpcEnvironment& environment, const ApiContext& api, CallRecord call,
            grpc::CallbackServerContext* context, const Submitter& submit)
      : JobCall(environment, api, std::move(call), context, request_, response_), submit_(submit) {}

 private:
  absl::StatusOr<JobRecord> Submit(const CancellationToken& cancellation) override {
    return submit_(request_, call_.info(), cancellation);
  }

  const Submitter& submit_;
  Request request_;
  Response response_;
};

}  // namespace mercer::server
