// Cooperative cancellation. A CancellationToken is a cheap copyable handle on one shared flag;
// whoever holds a copy may request cancellation from any thread, and work checks it at least every
// 50 ms.
#pragma once

#include <atomic>
#include <memory>

namespace mercer {

class CancellationToken {
 public:
  CancellationToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}

  void Cancel() const { flag_->store(true, std::memory_order_relaxed); }
  bool cancelled() const { return flag_->load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

}  // namespace mercer
