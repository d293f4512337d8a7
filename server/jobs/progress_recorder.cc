#include "server/jobs/progress_recorder.h"

#include <iterator>

#include "core/base/process/run_safely.h"

namespace mercer::server {
namespace {

// A learner with more stages than this loses the right of each to an event of its own.
constexpr size_t kMaxStages = 1000;

}  // namespace

ProgressRecorder::ProgressRecorder(Dependencies dependencies, Lease lease, absl::Duration interval,
                                   absl::Duration quiet)
    : dependencies_(std::move(dependencies)),
      lease_(std::move(lease)),
      interval_(interval),
      quiet_(quiet),
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
  EventDraft draft{event.iteration, EncodeJobEvent(shown), dependencies_.clock->Now()};
  Due due;
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
  event.time = dependencies_.clock->Now();
  Due due;
  {
    absl::MutexLock lock(&mutex_);
    iteration_ = event.iteration;
    if (newest_.has_value()) {
      urgent_.push_back(*std::exchange(newest_, std::nullopt));
    }
    urgent_.push_back(std::move(event));
    due = TakeDue();
  }
  Write(std::move(due));
}

void ProgressRecorder::BeginVerifying(EventDraft event) {
  Due due;
  {
    absl::MutexLock lock(&mutex_);
    if (newest_.has_value()) {
      urgent_.push_back(*std::exchange(newest_, std::nullopt));
    }
    verifying_ = {std::move(event), dependencies_.clock->Now()};
    due = TakeDue();
  }
  Write(std::move(due));
}

void ProgressRecorder::Flush() {
  Due due;
  {
    absl::MutexLock lock(&mutex_);
    due = TakeDue();
  }
  Write(std::move(due));
}

ProgressRecorder::Waiting ProgressRecorder::TakeWaiting() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &ProgressRecorder::IsQuiet));
  Waiting waiting;
  waiting.events = std::exchange(urgent_, {});
  if (newest_.has_value()) {
    waiting.events.push_back(*std::exchange(newest_, std::nullopt));
  }
  if (verifying_.has_value()) {
    waiting.verifying = std::move(verifying_->event);
    waiting.verifying->time = verifying_->time;
    verifying_.reset();
  }
  return waiting;
}

int64_t ProgressRecorder::iteration() const {
  absl::MutexLock lock(&mutex_);
  return iteration_;
}

ProgressRecorder::Due ProgressRecorder::TakeDue() {
  const absl::Duration now = dependencies_.clock->Monotonic();
  const bool interval_passed = now - last_write_ >= interval_;
  if (!IsQuiet() || now - start_ < quiet_ || (failed_ && !interval_passed)) {
    return {};
  }
  written_newest_ = newest_.has_value() && (!urgent_.empty() || interval_passed);
  if (written_newest_) {
    urgent_.push_back(*std::exchange(newest_, std::nullopt));
  }
  Due due{urgent_, std::exchange(verifying_, std::nullopt)};
  written_ = std::exchange(urgent_, {});
  if (due.parts() > 0) {
    writing_parts_ = due.parts();
    failed_ = false;
    last_write_ = now;
  }
  return due;
}

void ProgressRecorder::Write(Due due) {
  // The recorder lives as long as a part of the write is not answered: nothing of it is touched behind the last one. Each
  // part is answered once: the storage answers, or it throws before it has taken anything.
  const bool verifies = due.verifying.has_value();
  if (!due.events.empty()) {
    const absl::Status begun = RunSafely("writing progress", [&] {
      dependencies_.log->Append(lease_, std::move(due.events), dependencies_.clock->Now(),
                                [this](const absl::StatusOr<std::vector<EventRecord>>& stored) {
                                  OnEvents(stored);
                                  EndPart();
                                });
      return absl::OkStatus();
    });
    if (!begun.ok()) {
      OnEvents(begun);
      EndPart();
    }
  }
  if (!verifies) {
    return;
  }
  const absl::Status begun = RunSafely("showing the verification", [&] {
    dependencies_.jobs->BeginVerifying(lease_, std::move(due.verifying->event), due.verifying->time,
                                       [this](const absl::StatusOr<EventRecord>& stored) {
                                         Report(stored.status());
                                         EndPart();
                                       });
    return absl::OkStatus();
  });
  if (!begun.ok()) {
    Report(begun);
    EndPart();
  }
}

void ProgressRecorder::Report(const absl::Status& written) {
  if (!written.ok()) {
    RunSafely("telling of progress", [&] {
      dependencies_.on_error(written);
      return absl::OkStatus();
    }).IgnoreError();
  }
}

void ProgressRecorder::OnEvents(const absl::StatusOr<std::vector<EventRecord>>& stored) {
  Report(stored.status());
  absl::MutexLock lock(&mutex_);
  failed_ = !stored.ok() && !absl::IsAborted(stored.status());
  if (failed_) {
    Restore();
  }
}

void ProgressRecorder::EndPart() {
  Due next;
  {
    absl::MutexLock lock(&mutex_);
    if (--writing_parts_ > 0 || failed_ || (urgent_.empty() && !verifying_.has_value())) {
      return;
    }
    next = TakeDue();
  }
  Write(std::move(next));
}

void ProgressRecorder::Restore() {
  std::vector<EventDraft> again = std::exchange(written_, {});
  if (written_newest_) {
    // Of events that are not urgent the newest is enough.
    if (!newest_.has_value() && urgent_.empty()) {
      newest_ = std::move(again.back());
    }
    again.pop_back();
  }
  again.insert(again.end(), std::make_move_iterator(urgent_.begin()),
               std::make_move_iterator(urgent_.end()));
  urgent_ = std::move(again);
}

}  // namespace mercer::server
