#include "server/watching/progress_hub.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "server/watching/posted_work.h"
#include "server/watching/wake_slot.h"

namespace mercer::server {
namespace {

using EventPointer = std::shared_ptr<const JobEvent>;

// One watcher; guarded by the mutex of its channel, `wake` excepted.
struct ProgressWatcher {
  ProgressWatcher(int64_t after, std::function<void()> callback)
      : cursor(after), wake(std::move(callback)) {}

  int64_t cursor;
  std::deque<EventPointer> page;  // from the log, not yet taken
  bool complete =
      false;  // once the page is taken, the log holds nothing that the tail will not tell
  bool fetching = false;
  bool waiting = false;  // Next() said kWait, and nobody has been told to wake it
  bool gone = false;
  std::optional<absl::Status> end;
  WakeSlot wake;
};
using ProgressWatcherPointer = std::shared_ptr<ProgressWatcher>;

// The watchers of one job. The tail holds consecutive events that were published since somebody
// watches.
struct Channel {
  explicit Channel(std::string id) : job_id(std::move(id)) {}

  const std::string job_id;
  absl::Mutex mutex;
  std::deque<EventPointer> tail ABSL_GUARDED_BY(mutex);
  std::vector<ProgressWatcherPointer> watchers ABSL_GUARDED_BY(mutex);
  bool closed ABSL_GUARDED_BY(mutex) = false;

  bool TailReaches(int64_t cursor) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return !tail.empty() && tail.back()->sequence > cursor;
  }

  // Events may be published out of order by different threads: a gap empties the tail, and watchers
  // read the log instead.
  void Append(EventPointer event, size_t limit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (!tail.empty() && event->sequence <= tail.back()->sequence) {
      return;
    }
    if (!tail.empty() && event->sequence > tail.back()->sequence + 1) {
      tail.clear();
    }
    tail.push_back(std::move(event));
    if (tail.size() > limit) {
      tail.pop_front();
    }
  }

  // Those that wait, which are then no longer waiting.
  std::vector<std::shared_ptr<WakeSlot>> TakeWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::vector<std::shared_ptr<WakeSlot>> waiting;
    for (const ProgressWatcherPointer& watcher : watchers) {
      if (std::exchange(watcher->waiting, false)) {
        waiting.emplace_back(watcher, &watcher->wake);
      }
    }
    return waiting;
  }
};
using ChannelPointer = std::shared_ptr<Channel>;

NextEvent Deliver(ProgressWatcher& watcher, EventPointer event) {
  watcher.cursor = event->sequence;
  if (event->is_terminal()) {
    watcher.end = absl::OkStatus();
  }
  return {NextEvent::kEvent, std::move(event), absl::OkStatus()};
}

absl::Status ClosedStatus() {
  return WithReason(absl::UnavailableError("the server is shutting down"), "DRAINING");
}

// What one look at the log found.
struct Fetched {
  std::deque<EventPointer> events;
  bool complete = false;
  std::optional<absl::Status> end;
};

Fetched EndWith(absl::Status status) {
  Fetched fetched;
  fetched.end = std::move(status);
  return fetched;
}

// The log has nothing after `cursor`: is the job over, or the cursor wrong?
Fetched CheckEnd(Storage& storage, const std::string& job_id, int64_t cursor) {
  const absl::StatusOr<JobRecord> job = storage.jobs().GetJob(job_id);
  if (!job.ok()) {
    return EndWith(job.status());
  }
  const int64_t last = job->last_event.has_value() ? job->last_event->sequence : 0;
  if (cursor > last) {
    return EndWith(
        WithReason(absl::InvalidArgumentError(absl::StrCat("after_sequence: must be at most ", last,
                                                           ", the job's last event, is ", cursor)),
                   "BAD_SEQUENCE", {{"last_sequence", absl::StrCat(last)}}));
  }
  if (cursor == last && IsFinal(job->state)) {
    return EndWith(absl::OkStatus());
  }
  Fetched fetched;
  fetched.complete = cursor == last;
  return fetched;
}

Fetched ReadLog(Storage& storage, const std::string& job_id, int64_t cursor, int limit) {
  const absl::StatusOr<std::vector<EventRecord>> records =
      storage.events().Read(job_id, cursor, limit);
  if (!records.ok()) {
    return EndWith(records.status());
  }
  if (records->empty()) {
    return CheckEnd(storage, job_id, cursor);
  }
  Fetched fetched;
  for (const EventRecord& record : *records) {
    absl::StatusOr<JobEvent> event = DecodeJobEvent(record);
    if (!event.ok()) {
      fetched.end = event.status();
      return fetched;
    }
    fetched.events.push_back(std::make_shared<const JobEvent>(*std::move(event)));
  }
  fetched.complete = static_cast<int>(records->size()) < limit;
  return fetched;
}

}  // namespace

class ProgressHub::Impl final : public JobListener, public std::enable_shared_from_this<ProgressHub::Impl> {
 public:
  Impl(Storage* storage, Executor* executor, Options options)
      : storage_(storage), options_(options), posted_(std::make_shared<PostedWork>(executor)) {}

  std::unique_ptr<ProgressSubscription> Subscribe(const std::string& job_id, int64_t after_sequence,
                                                  std::function<void()> wake);
  void Publish(const std::string& job_id, absl::Span<const EventRecord> events);
  void OnCommit(const JobCommit& commit) override { Publish(commit.job_id, commit.events); }
  void Close();
  void WaitForWork() { posted_->Wait(); }
  int64_t num_subscriptions() const;

  NextEvent Next(const ChannelPointer& channel, const ProgressWatcherPointer& watcher);
  void Unsubscribe(const ChannelPointer& channel, const ProgressWatcherPointer& watcher);

 private:
  void Fetch(const ChannelPointer& channel, const ProgressWatcherPointer& watcher);

  Storage* const storage_;
  const Options options_;
  mutable absl::Mutex mutex_;  // taken before the mutex of a channel
  HashMap<std::string, ChannelPointer> channels_ ABSL_GUARDED_BY(mutex_);
  int64_t num_subscriptions_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  const std::shared_ptr<PostedWork> posted_;
};

namespace {

class HubSubscription final : public ProgressSubscription {
 public:
  HubSubscription(std::shared_ptr<ProgressHub::Impl> hub, ChannelPointer channel,
                  ProgressWatcherPointer watcher)
      : hub_(std::move(hub)), channel_(std::move(channel)), watcher_(std::move(watcher)) {}
  ~HubSubscription() override {
    hub_->Unsubscribe(channel_, watcher_);
    watcher_->wake.Close();
  }
  HubSubscription(const HubSubscription&) = delete;
  HubSubscription& operator=(const HubSubscription&) = delete;

  NextEvent Next() override { return hub_->Next(channel_, watcher_); }

  void LookAgain() override {
    absl::MutexLock lock(&channel_->mutex);
    watcher_->complete = false;
  }

  int64_t cursor() const override {
    absl::MutexLock lock(&channel_->mutex);
    return watcher_->cursor;
  }

 private:
  const std::shared_ptr<ProgressHub::Impl> hub_;
  const ChannelPointer channel_;
  const ProgressWatcherPointer watcher_;
};

}  // namespace

std::unique_ptr<ProgressSubscription> ProgressHub::Impl::Subscribe(const std::string& job_id,
                                                                   int64_t after_sequence,
                                                                   std::function<void()> wake) {
  auto watcher = std::make_shared<ProgressWatcher>(after_sequence, std::move(wake));
  if (after_sequence < 0) {
    watcher->end = WithReason(absl::InvalidArgumentError(absl::StrCat(
                                  "after_sequence: must be >= 0, is ", after_sequence)),
                              "BAD_SEQUENCE");
  }
  absl::MutexLock lock(&mutex_);
  ChannelPointer& channel = channels_[job_id];
  if (channel == nullptr) {
    channel = std::make_shared<Channel>(job_id);
  }
  ++num_subscriptions_;
  absl::MutexLock channel_lock(&channel->mutex);
  channel->closed = closed_;
  channel->watchers.push_back(watcher);
  return std::make_unique<HubSubscription>(shared_from_this(), channel, std::move(watcher));
}

void ProgressHub::Impl::Unsubscribe(const ChannelPointer& channel,
                                    const ProgressWatcherPointer& watcher) {
  absl::MutexLock lock(&mutex_);
  --num_subscriptions_;
  absl::MutexLock channel_lock(&channel->mutex);
  watcher->gone = true;
  auto& watchers = channel->watchers;
  watchers.erase(std::find(watchers.begin(), watchers.end(), watcher));
  if (watchers.empty()) {
    channels_.erase(channel->job_id);
  }
}

NextEvent ProgressHub::Impl::Next(const ChannelPointer& channel,
                                  const ProgressWatcherPointer& watcher) {
  bool fetch = false;
  {
    absl::MutexLock lock(&channel->mutex);
    watcher->waiting = false;
    if (!watcher->page.empty()) {
      EventPointer event = std::move(watcher->page.front());
      watcher->page.pop_front();
      return Deliver(*watcher, std::move(event));
    }
    if (watcher->end.has_value()) {
      return {NextEvent::kEnd, nullptr, *watcher->end};
    }
    const bool behind = channel->TailReaches(watcher->cursor);
    if (behind && channel->tail.front()->sequence <= watcher->cursor + 1) {
      return Deliver(*watcher, channel->tail[static_cast<size_t>(watcher->cursor + 1 -
                                                                 channel->tail.front()->sequence)]);
    }
    if (channel->closed) {
      watcher->end = ClosedStatus();
      return {NextEvent::kEnd, nullptr, *watcher->end};
    }
    watcher->waiting = true;
    fetch = (behind || !watcher->complete) && !watcher->fetching;
    watcher->fetching = watcher->fetching || fetch;
  }
  if (fetch && !posted_->Post([self = shared_from_this(), channel, watcher] {
        self->Fetch(channel, watcher);
      })) {
    absl::MutexLock lock(&channel->mutex);
    watcher->fetching = false;  // a heartbeat looks again
  }
  return {};
}

void ProgressHub::Impl::Fetch(const ChannelPointer& channel,
                              const ProgressWatcherPointer& watcher) {
  int64_t cursor = 0;
  {
    absl::MutexLock lock(&channel->mutex);
    if (watcher->gone) {
      return;
    }
    cursor = watcher->cursor;
  }
  absl::StatusOr<Fetched> read = RunSafely("reading progress", [&]() -> absl::StatusOr<Fetched> {
    return ReadLog(*storage_, channel->job_id, cursor, options_.page_events);
  });
  Fetched fetched = read.ok() ? *std::move(read) : EndWith(read.status());
  bool wake = false;
  {
    absl::MutexLock lock(&channel->mutex);
    watcher->fetching = false;
    // Next() may have moved the cursor along the tail meanwhile.
    while (!fetched.events.empty() && fetched.events.front()->sequence <= watcher->cursor) {
      fetched.events.pop_front();
    }
    watcher->page = std::move(fetched.events);
    watcher->complete = watcher->complete || fetched.complete;
    if (fetched.end.has_value() && watcher->cursor == cursor) {
      watcher->end = std::move(fetched.end);
    }
    wake = std::exchange(watcher->waiting, false) && !watcher->gone;
  }
  if (wake) {
    watcher->wake.Run();
  }
}

void ProgressHub::Impl::Publish(const std::string& job_id, absl::Span<const EventRecord> events) {
  ChannelPointer channel;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = channels_.find(job_id);
    if (found == channels_.end()) {
      return;
    }
    channel = found->second;
  }
  std::vector<EventPointer> decoded;
  for (const EventRecord& record : events) {
    if (absl::StatusOr<JobEvent> event = DecodeJobEvent(record); event.ok()) {
      decoded.push_back(std::make_shared<const JobEvent>(*std::move(event)));
    }
  }
  std::vector<std::shared_ptr<WakeSlot>> waiting;
  {
    absl::MutexLock lock(&channel->mutex);
    for (EventPointer& event : decoded) {
      channel->Append(std::move(event), options_.tail_events);
    }
    waiting = channel->TakeWaiting();
  }
  posted_->Wake(waiting);
}

void ProgressHub::Impl::Close() {
  std::vector<std::shared_ptr<WakeSlot>> waiting;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    for (const auto& [job_id, channel] : channels_) {
      absl::MutexLock channel_lock(&channel->mutex);
      channel->closed = true;
      const std::vector<std::shared_ptr<WakeSlot>> more = channel->TakeWaiting();
      waiting.insert(waiting.end(), more.begin(), more.end());
    }
  }
  posted_->Wake(waiting);
}

int64_t ProgressHub::Impl::num_subscriptions() const {
  absl::MutexLock lock(&mutex_);
  return num_subscriptions_;
}

ProgressHub::ProgressHub(Storage* storage, Executor* executor, Options options)
    : impl_(std::make_shared<Impl>(storage, executor, options)) {}

ProgressHub::ProgressHub(WatchedStorage* storage, Executor* executor, Options options)
    : ProgressHub(static_cast<Storage*>(storage), executor, options) {
  listeners_ = &storage->listeners();
  listeners_->Add(impl_.get());
}

ProgressHub::~ProgressHub() {
  if (listeners_ != nullptr) {
    listeners_->Remove(impl_.get());
  }
  impl_->WaitForWork();
}

std::unique_ptr<ProgressSubscription> ProgressHub::Subscribe(const std::string& job_id,
                                                             int64_t after_sequence,
                                                             std::function<void()> wake) {
  return impl_->Subscribe(job_id, after_sequence, std::move(wake));
}

void ProgressHub::Publish(const std::string& job_id, const std::vector<EventRecord>& events) {
  impl_->Publish(job_id, events);
}

void ProgressHub::Close() { impl_->Close(); }

int64_t ProgressHub::num_subscriptions() const { return impl_->num_subscriptions(); }

}  // namespace mercer::server
