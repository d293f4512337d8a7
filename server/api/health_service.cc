#include "server/api/health_service.h"

#include <algorithm>
#include <utility>

#include "grpc/health/v1/health.pb.h"
#include <grpcpp/impl/codegen/proto_utils.h>

namespace mercer::server {
namespace {

using HealthRequest = grpc::health::v1::HealthCheckRequest;
using HealthResponse = grpc::health::v1::HealthCheckResponse;

constexpr size_t kMaxRequestBytes = 1024;
constexpr int64_t kMaxCalls = 1000;

}  // namespace

// Either of the two calls, until its request has come.
class HealthCall : public ServerCall {
 public:
  void OnReadDone(bool ok) final {
    HealthRequest request;
    using Traits = grpc::SerializationTraits<HealthRequest>;
    if (!ok) {
      Finish(ToGrpcStatus(CallCancelledError()));
    } else if (bytes_.Length() > kMaxRequestBytes || !Traits::Deserialize(&bytes_, &request).ok()) {
      Finish({grpc::StatusCode::INVALID_ARGUMENT, "this is no request for a health check"});
    } else {
      Answer(request.service());
    }
  }
  void OnCancel() override {}

 protected:
  HealthCall(const RpcEnvironment& environment, grpc::CallbackServerContext* context,
             HealthService& health, Budget::Share share)
      : ServerCall(environment, context), health_(health), share_(std::move(share)) {
    StartRead(&bytes_);
  }
  ~HealthCall() override = default;

  virtual void Answer(const std::string& service) = 0;

  HealthService& health_;

 private:
  const Budget::Share share_;  // of the calls
};

class HealthCheck final : public HealthCall {
 public:
  HealthCheck(const RpcEnvironment& environment, grpc::CallbackServerContext* context,
              HealthService& health, Budget::Share share)
      : HealthCall(environment, context, health, std::move(share)) {
    Track({nullptr, [this] { context_->TryCancel(); }});
  }

 private:
  void Answer(const std::string& service) override {
    const auto status = health_.StatusOf(service);
    if (status == HealthResponse::SERVICE_UNKNOWN) {
      Finish({grpc::StatusCode::NOT_FOUND, "the server has no such service"});
      return;
    }
    HealthResponse response;
    response.set_status(status);
    FinishWith(*this, response, grpc::Status::OK, bytes_);
  }
};

// Tells the status at first, and whenever it is another one.
class HealthWatch final : public HealthCall {
 public:
  HealthWatch(const RpcEnvironment& environment, grpc::CallbackServerContext* context,
              HealthService& health, Budget::Share share)
      : HealthCall(environment, context, health, std::move(share)) {
    Track({[this] { Note(&HealthWatch::draining_); }, [this] { context_->TryCancel(); }});
  }

  void OnCancel() override { Note(&HealthWatch::cancelled_); }
  void OnWriteDone(bool ok) override {
    {
      absl::MutexLock lock(&mutex_);
      busy_ = false;
    }
    ok ? Pump() : OnCancel();
  }

  void Pump() ABSL_LOCKS_EXCLUDED(mutex_) {
    grpc::Status end;
    {
      absl::MutexLock lock(&mutex_);
      if (!started_ || busy_ || finished_) {
        return;
      }
      const auto status = health_.StatusOf(service_);
      if (status != told_ && !cancelled_) {
        HealthResponse response;
        response.set_status(told_ = status);
        bytes_ = BytesOf(response);
        busy_ = true;
      } else if (cancelled_ || draining_) {
        finished_ = true;
        end = ToGrpcStatus(cancelled_ ? CallCancelledError() : DrainingError());
      } else {
        return;
      }
    }
    // Nothing of this object is touched behind these: another thread may be further already.
    end.ok() ? StartWrite(&bytes_) : Finish(end);
  }

 private:
  void Answer(const std::string& service) override {
    service_ = service;
    {
      absl::MutexLock lock(&health_.mutex_);
      health_.watches_.insert(this);
    }
    Note(&HealthWatch::started_);
  }

  void Leave() override {
    absl::MutexLock lock(&health_.mutex_);
    health_.watches_.erase(this);
  }

  void Note(bool HealthWatch::*flag) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      this->*flag = true;
    }
    Pump();
  }

  std::string service_;
  absl::Mutex mutex_;
  HealthResponse::ServingStatus told_ ABSL_GUARDED_BY(mutex_) = HealthResponse::UNKNOWN;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // a write is in flight
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

HealthService::HealthService(const RpcEnvironment& environment, std::vector<std::string> services)
    : RpcService(environment), services_(std::move(services)) {
  Register("/grpc.health.v1.Health/Check",
           [this](grpc::CallbackServerContext* context) { return Open<HealthCheck>(context); });
  Register("/grpc.health.v1.Health/Watch",
           [this](grpc::CallbackServerContext* context) { return Open<HealthWatch>(context); });
}

template <typename Call>
ServerCall* HealthService::Open(grpc::CallbackServerContext* context) {
  const std::string connection = context->peer();
  Budget::Share share = calls_.NewShare(connection);
  bool is_full = false;
  {
    absl::MutexLock lock(&mutex_);
    is_full = share.Grow(1, {calls_.taken(connection) == 0 ? -1 : kMaxCalls}).has_value();
  }
  if (is_full) {
    return new RefusedCall(environment_, context,
                           {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many health checks"});
  }
  return new Call(environment_, context, *this, std::move(share));
}

void HealthService::SetServing(bool serving) {
  serving_ = serving;
  absl::MutexLock lock(&mutex_);
  for (HealthWatch* const watch : watches_) {
    watch->Pump();
  }
}

HealthResponse::ServingStatus HealthService::StatusOf(const std::string& service) const {
  const bool is_known =
      service.empty() || std::find(services_.begin(), services_.end(), service) != services_.end();
  return !is_known  ? HealthResponse::SERVICE_UNKNOWN
         : serving_ ? HealthResponse::SERVING
                    : HealthResponse::NOT_SERVING;
}

}  // namespace mercer::server
