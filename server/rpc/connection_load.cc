#include "server/rpc/connection_load.h"

namespace mercer::server {

std::shared_ptr<ConnectionLoad> ConnectionLoads::Add(const std::string& peer) {
  auto load = std::make_shared<ConnectionLoad>();
  absl::MutexLock lock(&mutex_);
  loads_[peer] = load;  // one that has closed had the same port before
  return load;
}

void ConnectionLoads::Remove(const std::string& peer, const std::shared_ptr<ConnectionLoad>& load) {
  absl::MutexLock lock(&mutex_);
  const auto found = loads_.find(peer);
  if (found != loads_.end() && found->second == load) {
    loads_.erase(found);
  }
}

std::shared_ptr<ConnectionLoad> ConnectionLoads::Find(const std::string& peer) const {
  absl::MutexLock lock(&mutex_);
  const auto found = loads_.find(peer);
  return found == loads_.end() ? nullptr : found->second;
}

CallLoad::CallLoad(std::shared_ptr<ConnectionLoad> load) : load_(std::move(load)) {
  if (load_ != nullptr) {
    ++load_->calls;
    ++load_->running_calls;
  }
}

// What was on its way to the call and never became a message is accounted for by it, too.
CallLoad::~CallLoad() {
  if (load_ == nullptr) {
    return;
  }
  if (limit_bytes_ > 0) {
    ++(is_cancelled_ ? load_->cancelled_calls : load_->answered_calls);
    (is_cancelled_ ? load_->cancelled_bytes : load_->message_bytes) += limit_bytes_;
    load_->running_bytes -= limit_bytes_;
  }
  --load_->running_calls;
}

void CallLoad::Admit(int64_t limit_bytes) {
  if (load_ != nullptr) {
    limit_bytes_ = limit_bytes;
    load_->running_bytes += limit_bytes;
    ++load_->admitted_calls;
  }
}

void CallLoad::Receive(int64_t bytes) {
  if (load_ != nullptr) {
    load_->message_bytes += bytes;
  }
}

}  // namespace mercer::server
