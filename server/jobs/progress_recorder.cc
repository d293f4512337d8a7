#include "server/jobs/progress_recorder.h"

#include <iterator>

#include "core/base/process/run_safely.h"

namespace mercer::server {
namespace {

// A learner with more stages than this loses the right of each to an event of its own.
constexpr size_t kMaxStages = 1000;

// Begins a part of a write, which `end` is told the end of: by the storage, or here when that throws before it has taken anything.
template <typename Begin, typename End>
void BeginPart(const char* what, const Begin& begin, const End& end) {
  const absl::Status begun = RunSafely(what, [&] {
    begin();
    return absl::OkStatus();
  });
  if (!begun.ok()) {
    end(begun);
  }
}

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
  {
    absl::MutexLock lock(&mutex_);
    iteration_ = event.iteration;
    newest_ = std::move(draft);
    if (stages_.size() < kMaxStages && stages_.emplace(event.phase, event.report.stage).second) {
      MakeNewestUrgent();
    }
  }
  Flush();
}

void ProgressRecorder::WriteNow(EventDraft event) {
  event.time = dependencies_.clock->Now();
  {
    absl::MutexLock lock(&mutex_);
    iteration_ = event.iteration;
    MakeNewestUrgent();
    urgent_.push_back(std::move(event));
  }
  Flush();
}

void ProgressRecorder::BeginVerifying(EventDraft event) {
  event.time = dependencies_.clock->Now();
  {
    absl::MutexLock lock(&mutex_);
    MakeNewestUrgent();
    verifying_ = std::move(event);
  }
  Flush();
}

void ProgressRecorder::Flush() {
  Waiting due;
  {
    absl::MutexLock lock(&mutex_);
    due = TakeDue();
  }
  Write(std::move(due));
}

void ProgressRecorder::MakeNewestUrgent() {
  if (newest_.has_value()) {
    urgent_.push_back(*std::exchange(newest_, std::nullopt));
  }
}

ProgressRecorder::Waiting ProgressRecorder::TakeWaiting() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &ProgressRecorder::IsQuiet));
  MakeNewestUrgent();
  return {std::exchange(urgent_, {}), std::exchange(verifying_, std::nullopt)};
}

void ProgressRecorder::BeginAt(int64_t iteration) {
  absl::MutexLock lock(&mutex_);
  iteration_ = iteration;
}

int64_t ProgressRecorder::iteration() const {
  absl::MutexLock lock(&mutex_);
  return iteration_;
}

ProgressRecorder::Waiting ProgressRecorder::TakeDue() {
  const absl::Duration now = dependencies_.clock->Monotonic();
  const bool interval_passed = now - last_write_ >= interval_;
  if (!IsQuiet() || now - start_ < quiet_ || (failed_ && !interval_passed)) {
    return {};
  }
  written_newest_ = newest_.has_value() && (!urgent_.empty() || interval_passed);
  if (written_newest_) {
    MakeNewestUrgent();
  }
  Waiting due{urgent_, std::exchange(verifying_, std::nullopt)};
  written_ = std::exchange(urgent_, {});
  if (due.parts() > 0) {
    writing_parts_ = due.parts();
    failed_ = false;
    last_write_ = now;
  }
  return due;
}

void ProgressRecorder::Write(Waiting due) {
  // The recorder lives as long as a part of the write is not answered: nothing of it is touched behind the last one.
  const bool verifies = due.verifying.has_value();
  if (!due.events.empty()) {
    const auto end = [this](const absl::Status& stored) {
      OnEvents(stored);
      EndPart();
    };
    const auto begin = [&] {
      dependencies_.log->Append(lease_, std::move(due.events), dependencies_.clock->Now(),
                                [end](const auto& stored) { end(stored.status()); });
    };
    BeginPart("writing progress", begin, end);
  }
  if (verifies) {
    const auto end = [this](const absl::Status& stored) {
      Report(stored);
      EndPart();
    };
    const auto begin = [&] {
      const absl::Time time = *due.verifying->time;
      dependencies_.jobs->BeginVerifying(lease_, *std::move(due.verifying), time,
                                         [end](const auto& stored) { end(stored.status()); });
    };
    BeginPart("showing the verification", begin, end);
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

void ProgressRecorder::OnEvents(const absl::Status& stored) {
  Report(stored);
  absl::MutexLock lock(&mutex_);
  failed_ = !stored.ok() && !absl::IsAborted(stored);
  if (failed_) {
    Restore();
  }
}

void ProgressRecorder::EndPart() {
  Waiting next;
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
