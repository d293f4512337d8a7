#include "server/jobs/progress_recorder.h"

namespace mercer::server {
namespace {

// A learner with more stages than this loses the right of each to an event of its own.
constexpr size_t kMaxStages = 1000;

}  // namespace

ProgressRecorder::ProgressRecorder(Dependencies dependencies, Lease lease, absl::Duration interval)
    : dependencies_(std::move(dependencies)),
      lease_(std::move(lease)),
      interval_(interval),
      start_(dependencies_.clock->Monotonic()) {}

ProgressRecorder::~ProgressRecorder() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &ProgressRecorder::IsQuiet));
}

void ProgressRecorder::Record(const ProgressEvent& event) {
  JobEvent shown;
  shown.kind = JobEventKind::kProgress;
  shown.state = JobState::kRunning;
  shown.phase = event.phase;
  shown.report = event.report;
  shown.elapsed_seconds = absl::ToDoubleSeconds(dependencies_.clock->Monotonic() - start_);
  EventDraft draft{event.iteration, EncodeJobEvent(shown)};
  std::vector<EventDraft> due;
  {
    absl::MutexLock lock(&mutex_);
    iteration_ = event.iteration;
    newest_ = std::move(draft);
    if (stages_.size() < kMaxStages && stages_.emplace(event.phase, event.report.stage).second) {
      urgent_.push_back(*std::exchange(newest_, std::nullopt));
    }
    due = TakeDue();
  }
  Write(std::move(due));
}

void ProgressRecorder::WriteNow(EventDraft event) {
  std::vector<EventDraft> due;
  {
    absl::MutexLock lock(&mutex_);
    if (newest_.has_value()) {
      urgent_.push_back(*std::exchange(newest_, std::nullopt));
    }
    urgent_.push_back(std::move(event));
    due = TakeDue();
  }
  Write(std::move(due));
}

void ProgressRecorder::Flush() {
  std::vector<EventDraft> due;
  {
    absl::MutexLock lock(&mutex_);
    due = TakeDue();
  }
  Write(std::move(due));
}

std::vector<EventDraft> ProgressRecorder::TakeWaiting() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &ProgressRecorder::IsQuiet));
  std::vector<EventDraft> events = std::move(urgent_);
  urgent_.clear();
  if (newest_.has_value()) {
    events.push_back(*std::exchange(newest_, std::nullopt));
  }
  return events;
}

int64_t ProgressRecorder::iteration() const {
  absl::MutexLock lock(&mutex_);
  return iteration_;
}

std::vector<EventDraft> ProgressRecorder::TakeDue() {
  if (writing_) {
    return {};
  }
  std::vector<EventDraft> due = std::move(urgent_);
  urgent_.clear();
  const absl::Duration now = dependencies_.clock->Monotonic();
  if (newest_.has_value() && (!due.empty() || now - last_write_ >= interval_)) {
    due.push_back(*std::exchange(newest_, std::nullopt));
  }
  if (!due.empty()) {
    writing_ = true;
    last_write_ = now;
  }
  return due;
}

void ProgressRecorder::Write(std::vector<EventDraft> events) {
  if (events.empty()) {
    return;
  }
  dependencies_.log->Append(lease_, std::move(events), dependencies_.clock->Now(),
                            [this](absl::StatusOr<std::vector<EventRecord>> stored) {
                              if (stored.ok()) {
                                dependencies_.hub->Publish(lease_.job_id, *stored);
                              } else {
                                dependencies_.on_error(stored.status());
                              }
                              std::vector<EventDraft> next;
                              {
                                absl::MutexLock lock(&mutex_);
                                writing_ = false;
                                if (urgent_.empty()) {
                                  return;  // the recorder may be gone from here on
                                }
                                next = TakeDue();
                              }
                              Write(std::move(next));
                            });
}

}  // namespace mercer::server
