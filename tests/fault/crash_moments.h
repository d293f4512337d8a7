// Where in the life of a server its kill is aimed; the exact moment is random from there on.
#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "tests/support/server/server_process.h"

namespace mercer::server {

// kStart: the program begins. Then what a client is about to do, or has just heard. kAnytime: nothing of all that.
enum class Moment {
  kAnytime,
  kStart,
  kUpload,
  kTrain,
  kCancel,
  kDelete,
  kStop,
  kAlias,
  kTransfer,
  kWork,
  kAssess,
  kResumed,
  kVerifying,
  kEnded,
};
struct NamedMoment {
  Moment moment;
  const char* name;
};
inline constexpr std::array kMoments = {
    NamedMoment{Moment::kAnytime, "anytime"},     NamedMoment{Moment::kStart, "start"},
    NamedMoment{Moment::kUpload, "upload"},       NamedMoment{Moment::kTrain, "train"},
    NamedMoment{Moment::kCancel, "cancel"},       NamedMoment{Moment::kDelete, "delete"},
    NamedMoment{Moment::kStop, "stop"},           NamedMoment{Moment::kAlias, "alias"},
    NamedMoment{Moment::kTransfer, "transfer"},   NamedMoment{Moment::kWork, "work"},
    NamedMoment{Moment::kAssess, "assess"},       NamedMoment{Moment::kResumed, "resumed"},
    NamedMoment{Moment::kVerifying, "verifying"}, NamedMoment{Moment::kEnded, "ended"}};

// Thread-safe.
using OnMoment = std::function<void(Moment)>;

// Kills a server some time after it has reached a moment for the first time.
class Killer {
 public:
  Killer(ServerProcess& server, Moment moment, absl::Duration delay)
      : server_(server), moment_(moment), delay_(delay) {}
  ~Killer() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  // Thread-safe.
  void Reach(Moment moment) {
    const std::lock_guard lock(mutex_);
    if (moment == moment_ && !thread_.joinable()) {
      thread_ = std::thread([this] {
        absl::SleepFor(delay_);
        server_.Kill();
      });
    }
  }

 private:
  ServerProcess& server_;
  const Moment moment_;
  const absl::Duration delay_;
  std::mutex mutex_;
  std::thread thread_;
};

}  // namespace mercer::server
