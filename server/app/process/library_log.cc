#include "server/app/process/library_log.h"

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <spdlog/logger.h>

namespace mercer::server {
namespace {

constexpr int kLinesPerSecond = 20;

// Thread-safe.
class LimitedLines {
 public:
  void SetLog(std::shared_ptr<spdlog::logger> log) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    log_ = std::move(log);
  }
  void Write(const char* library, const char* text) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = absl::Now();
    if (now - second_ >= absl::Seconds(1) || now < second_) {
      if (suppressed_ > 0) {
        log_->warn("libraries said more lines={}", suppressed_);
      }
      second_ = now;
      lines_ = suppressed_ = 0;
    }
    if (lines_++ < kLinesPerSecond) {
      log_->warn("{}: {}", library, text);
    } else {
      ++suppressed_;
    }
  }

 private:
  absl::Mutex mutex_;
  std::shared_ptr<spdlog::logger> log_ ABSL_GUARDED_BY(mutex_);
  absl::Time second_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int64_t lines_ ABSL_GUARDED_BY(mutex_) = 0;  // of this second
  int64_t suppressed_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The libraries take functions and nothing else. Never destroyed: their threads may outlive main.
LimitedLines& Lines() {
  alignas(LimitedLines) static char place[sizeof(LimitedLines)];
  static LimitedLines* const lines = new (place) LimitedLines();
  return *lines;
}

void TakeFromProtobuf(google::protobuf::LogLevel level, const char*, int,
                      const std::string& message) {
  if (level >= google::protobuf::LOGLEVEL_WARNING) {
    Lines().Write("protobuf", message.c_str());
  }
}

void TakeFromGrpc(gpr_log_func_args* line) { Lines().Write("grpc", line->message); }

}  // namespace

void TakeLibraryLogs(std::shared_ptr<spdlog::logger> log) {
  Lines().SetLog(std::move(log));
  google::protobuf::SetLogHandler(TakeFromProtobuf);
  gpr_set_log_function(TakeFromGrpc);
}

}  // namespace mercer::server
