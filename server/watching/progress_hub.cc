#include "server/watching/progress_hub.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {

ProgressHub::ProgressHub(Storage* storage, Executor* executor, Options options)
    : Watchers(executor), storage_(storage), options_(options) {}

ProgressHub::ProgressHub(WatchedStorage* storage, Executor* executor)
    : ProgressHub(static_cast<Storage*>(storage), executor) {
  listeners_ = &storage->listeners();
  listeners_->Add(this);
}

ProgressHub::~ProgressHub() {
  if (listeners_ != nullptr) {
    listeners_->Remove(this);
  }
  WaitForWork();
}

std::unique_ptr<ProgressSubscription> ProgressHub::Subscribe(const std::string& job_id,
                                                             int64_t after_sequence,
                                                             std::function<void()> wake) {
  auto watcher =
      std::make_shared<Watcher<WatchedEvent>>(job_id, JobFilter(), after_sequence, std::move(wake));
  if (after_sequence < 0) {
    watcher->end = WithReason(absl::InvalidArgumentError(absl::StrCat(
                                  "after_sequence: must be >= 0, is ", after_sequence)),
                              "BAD_SEQUENCE");
  }
  absl::MutexLock lock(&mutex_);
  channels_[job_id].watchers.push_back(watcher);
  return std::make_unique<ProgressSubscription>(this, std::move(watcher));
}

void ProgressHub::Forget(const WatcherPointer& watcher) {
  const auto channel = channels_.find(watcher->job_id);
  Erase(watcher, channel->second.watchers);
  if (channel->second.watchers.empty()) {
    channels_.erase(channel);
  }
}

NextEvent ProgressHub::Follow(Watcher<WatchedEvent>& watcher) {
  const std::deque<ItemPointer>& tail = channels_.at(watcher.job_id).tail;
  if (!tail.empty() && tail.back()->record.sequence > watcher.cursor) {
    const int64_t first = tail.front()->record.sequence;
    if (first <= watcher.cursor + 1) {
      return {NextEvent::kItem, tail[static_cast<size_t>(watcher.cursor + 1 - first)]};
    }
    watcher.complete = false;
  }
  if (closed_) {
    return {
        .kind = NextEvent::kEnd,
        .status = WithReason(absl::UnavailableError("the server is shutting down"), "DRAINING")};
  }
  return {};
}

void ProgressHub::Note(const WatchedEvent& event, Watcher<WatchedEvent>& watcher) {
  watcher.cursor = event.record.sequence;
  if (event.record.is_terminal()) {
    watcher.end = absl::OkStatus();
  }
}

absl::StatusOr<ProgressHub::Page> ProgressHub::Read(const Watcher<WatchedEvent>& watcher,
                                                    int64_t cursor, const std::string& /*token*/) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<EventRecord> records,
                          storage_->events().Read(watcher.job_id, cursor, options_.page_events));
  if (records.empty()) {
    return CheckEnd(watcher.job_id, cursor);
  }
  Page page;
  page.complete = static_cast<int>(records.size()) < options_.page_events;
  for (const EventRecord& record : records) {
    absl::StatusOr<JobEvent> event = DecodeJobEvent(record);
    if (!event.ok()) {
      page.end = event.status();
      break;
    }
    page.items.push_back(std::make_shared<const WatchedEvent>(*std::move(event)));
  }
  return page;
}

// The log has nothing after `cursor`: is the job over, or the cursor wrong?
absl::StatusOr<ProgressHub::Page> ProgressHub::CheckEnd(const std::string& job_id, int64_t cursor) {
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, storage_->jobs().GetJob(job_id));
  const int64_t last = job.last_event.has_value() ? job.last_event->sequence : 0;
  if (cursor > last) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat("after_sequence: must be at most ", last,
                                                ", the job's last event, is ", cursor)),
        "BAD_SEQUENCE", {{"last_sequence", absl::StrCat(last)}});
  }
  Page page;
  page.complete = cursor == last;
  if (page.complete && IsFinal(job.state)) {
    page.end = absl::OkStatus();
  }
  return page;
}

void ProgressHub::Publish(const std::string& job_id, absl::Span<const EventRecord> events) {
  {
    absl::MutexLock lock(&mutex_);
    if (!channels_.contains(job_id)) {
      return;
    }
  }
  std::vector<ItemPointer> decoded;
  for (const EventRecord& record : events) {
    if (absl::StatusOr<JobEvent> event = DecodeJobEvent(record); event.ok()) {
      decoded.push_back(std::make_shared<const WatchedEvent>(*std::move(event)));
    }
  }
  std::vector<std::shared_ptr<WakeSlot>> waiting;
  {
    absl::MutexLock lock(&mutex_);
    const auto channel = channels_.find(job_id);
    if (channel == channels_.end()) {
      return;
    }
    for (ItemPointer& event : decoded) {
      Append(std::move(event), channel->second);
    }
    waiting = TakeWaiting(channel->second.watchers);
  }
  posted_->Wake(waiting);
}

// Events may be published out of order by different threads: a gap empties the tail, and watchers read the log instead.
void ProgressHub::Append(ItemPointer event, Channel& channel) const {
  std::deque<ItemPointer>& tail = channel.tail;
  const int64_t last = tail.empty() ? 0 : tail.back()->record.sequence;
  if (event->record.sequence <= last) {
    return;
  }
  if (!tail.empty() && event->record.sequence > last + 1) {
    tail.clear();
  }
  tail.push_back(std::move(event));
  if (tail.size() > options_.tail_events) {
    tail.pop_front();
  }
}

void ProgressHub::Close() {
  std::vector<std::shared_ptr<WakeSlot>> waiting;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    for (const auto& [job_id, channel] : channels_) {
      const std::vector<std::shared_ptr<WakeSlot>> more = TakeWaiting(channel.watchers);
      waiting.insert(waiting.end(), more.begin(), more.end());
    }
  }
  posted_->Wake(waiting);
}

int64_t ProgressHub::num_subscriptions() const {
  absl::MutexLock lock(&mutex_);
  int64_t count = 0;
  for (const auto& [job_id, channel] : channels_) {
    count += static_cast<int64_t>(channel.watchers.size());
  }
  return count;
}

}  // namespace mercer::server
