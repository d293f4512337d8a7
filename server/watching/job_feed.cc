#include "server/watching/job_feed.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/watching/posted_work.h"
#include "server/watching/wake_slot.h"

namespace mercer::server {
namespace {

using JobPointer = std::shared_ptr<const WatchedJob>;

// Of the jobs that a watcher has read and not taken, unless it is one.
constexpr size_t kPageBytes = size_t{1} << 20;
// Of a job beside its request, which is there twice, read and written: the record, its entry and its numbers.
constexpr size_t kRecordBytes = 1024;

// One watcher; guarded by the feed's mutex, `filter` and `wake` excepted.
struct Watcher {
  Watcher(JobFilter wanted, int64_t revision, std::function<void()> callback)
      : filter(std::move(wanted)), cursor(revision), wake(std::move(callback)) {}

  const JobFilter filter;
  int64_t cursor;               // the number of the last change that it has seen
  std::deque<JobPointer> page;  // existing jobs, not yet taken
  std::string page_token;
  bool all_read = false;  // the last page
  bool all_told = false;  // kExistingSent
  bool fetching = false;
  bool waiting = false;  // Next() said kWait, and nobody has been told to wake it
  bool gone = false;
  std::optional<absl::Status> end;
  WakeSlot wake;
};
using WatcherPointer = std::shared_ptr<Watcher>;

// A job that was changed lately, as it is now.
struct Entry {
  JobPointer job;
  int64_t state_revision = 0;     // of the newest change of its state; 0: none is kept
  int64_t progress_revision = 0;  // of the newest later one
  bool relabelled = false;        // its labels may have been those of a filter that it has not now
};

bool HasLabels(const JobFilter& filter, const JobRecord& job) {
  return std::all_of(filter.labels.begin(), filter.labels.end(), [&job](const auto& wanted) {
    const auto found = job.labels.find(wanted.first);
    return found != job.labels.end() && found->second == wanted.second;
  });
}

bool HasState(const JobFilter& filter, const JobRecord& job) {
  return filter.states.empty() ||
         std::find(filter.states.begin(), filter.states.end(), job.state) != filter.states.end();
}

// Whether the job may have been in a state of the filter before: no final state is ever left, and a job that
// was never claimed was queued all the time.
bool MayHaveMatched(const JobFilter& filter, const JobRecord& job) {
  return std::any_of(filter.states.begin(), filter.states.end(), [&job](JobState state) {
    return state != job.state && !IsFinal(state) &&
           (job.attempt > 0 || (state == JobState::kQueued && job.state != JobState::kQueued));
  });
}

size_t BytesOf(const JobRecord& job) { return kRecordBytes + 2 * job.request.size(); }

// As many jobs as a page of kPageBytes holds. Large ones are read again in smaller pages, since a page can be cut nowhere
// else.
absl::StatusOr<Page<JobRecord>> ReadPage(JobStore& jobs, const JobFilter& filter,
                                         PageRequest request) {
  while (true) {
    MERCER_ASSIGN_OR_RETURN(Page<JobRecord> page, jobs.ListJobs(filter, request));
    size_t bytes = 0;
    for (const JobRecord& job : page.items) {
      bytes += BytesOf(job);
    }
    if (bytes <= kPageBytes || page.items.size() <= 1) {
      return page;
    }
    request.size = std::max(1, static_cast<int>(page.items.size() * kPageBytes / bytes));
  }
}

absl::Status TooSlow() {
  return WithReason(
      absl::AbortedError("more jobs were changed than are kept for a slow reader: watch "
                         "again from the beginning"),
      "WATCH_TOO_SLOW");
}

}  // namespace

class JobFeed::Impl final : public JobListener, public std::enable_shared_from_this<JobFeed::Impl> {
 public:
  Impl(JobStore* jobs, Executor* executor, Options options)
      : jobs_(jobs), options_(options), posted_(std::make_shared<PostedWork>(executor)) {}

  WatcherPointer Subscribe(JobFilter filter, std::function<void()> wake);
  void Unsubscribe(const WatcherPointer& watcher);
  NextJob Next(const WatcherPointer& watcher);
  void OnCommit(const JobCommit& commit) override;
  void Tick(size_t part, size_t parts);
  void WaitForWork() { posted_->Wait(); }
  int64_t num_watches() const;

 private:
  NextJob NextChange(Watcher& watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FetchPage(const WatcherPointer& watcher) ABSL_LOCKS_EXCLUDED(mutex_);
  void ReadChanged() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Read(const std::string& job_id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Put(JobRecord job, bool deleted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MoveTo(int64_t& revision, const std::string& job_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeWaiting() ABSL_LOCKS_EXCLUDED(mutex_);
  // Posts ReadChanged, where there is something to read and nobody reads.
  void BeginReading() ABSL_LOCKS_EXCLUDED(mutex_);

  JobStore* const jobs_;
  const Options options_;
  mutable absl::Mutex mutex_;
  std::vector<WatcherPointer> watchers_ ABSL_GUARDED_BY(mutex_);
  HashMap<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, std::string> order_
      ABSL_GUARDED_BY(mutex_);                                // the jobs of the changes, by number
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;                  // of entries_
  int64_t revision_ ABSL_GUARDED_BY(mutex_) = 0;              // the last number given
  int64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;               // the last number no longer kept
  std::set<std::string> changed_ ABSL_GUARDED_BY(mutex_);     // jobs to be read
  std::set<std::string> relabelled_ ABSL_GUARDED_BY(mutex_);  // of these, those with other labels
  // Of those to be read, the ones that are not there any more, as they last were.
  std::map<std::string, JobRecord> deleted_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> held_ ABSL_GUARDED_BY(mutex_);  // to be read at the next tick
  int64_t audience_ ABSL_GUARDED_BY(mutex_) = 0;        // how often the last watcher has left
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  const std::shared_ptr<PostedWork> posted_;
};

namespace {

class Subscription final : public JobWatch {
 public:
  Subscription(std::shared_ptr<JobFeed::Impl> feed, WatcherPointer watcher)
      : feed_(std::move(feed)), watcher_(std::move(watcher)) {}
  ~Subscription() override {
    feed_->Unsubscribe(watcher_);
    watcher_->wake.Close();
  }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  NextJob Next() override { return feed_->Next(watcher_); }

 private:
  const std::shared_ptr<JobFeed::Impl> feed_;
  const WatcherPointer watcher_;
};

}  // namespace

WatcherPointer JobFeed::Impl::Subscribe(JobFilter filter, std::function<void()> wake) {
  absl::MutexLock lock(&mutex_);
  watchers_.push_back(std::make_shared<Watcher>(std::move(filter), revision_, std::move(wake)));
  return watchers_.back();
}

void JobFeed::Impl::Unsubscribe(const WatcherPointer& watcher) {
  absl::MutexLock lock(&mutex_);
  watcher->gone = true;
  watchers_.erase(std::find(watchers_.begin(), watchers_.end(), watcher));
  if (watchers_.empty()) {
    Clear();
  }
}

void JobFeed::Impl::Clear() {
  ++audience_;
  entries_.clear();
  order_.clear();
  changed_.clear();
  relabelled_.clear();
  deleted_.clear();
  held_.clear();
  bytes_ = 0;
  dropped_ = revision_;
}

NextJob JobFeed::Impl::Next(const WatcherPointer& watcher) {
  bool fetch = false;
  {
    absl::MutexLock lock(&mutex_);
    watcher->waiting = false;
    if (!watcher->page.empty()) {
      NextJob next{NextJob::kJob, std::move(watcher->page.front()), true, false, absl::OkStatus()};
      watcher->page.pop_front();
      return next;
    }
    if (watcher->end.has_value()) {
      return {NextJob::kEnd, nullptr, false, false, *watcher->end};
    }
    if (watcher->all_read && !std::exchange(watcher->all_told, true)) {
      return {NextJob::kExistingSent, nullptr, false, false, absl::OkStatus()};
    }
    if (watcher->all_read) {
      return NextChange(*watcher);
    }
    watcher->waiting = true;
    fetch = !std::exchange(watcher->fetching, true);
  }
  if (fetch && !posted_->Post([self = shared_from_this(), watcher] { self->FetchPage(watcher); })) {
    absl::MutexLock lock(&mutex_);
    watcher->fetching = false;  // a heartbeat asks again
  }
  return {};
}

NextJob JobFeed::Impl::NextChange(Watcher& watcher) {
  if (watcher.cursor < dropped_) {
    watcher.end = TooSlow();
    return {NextJob::kEnd, nullptr, false, false, *watcher.end};
  }
  for (auto change = order_.upper_bound(watcher.cursor); change != order_.end(); ++change) {
    watcher.cursor = change->first;
    const Entry& entry = entries_.at(change->second);
    const bool has_labels = HasLabels(watcher.filter, entry.job->record);
    if (!has_labels && !entry.relabelled) {
      continue;
    }
    const bool has_state = HasState(watcher.filter, entry.job->record);
    const bool matches = has_labels && has_state && !entry.job->deleted;
    const bool left = !matches && change->first == entry.state_revision &&
                      (has_state || MayHaveMatched(watcher.filter, entry.job->record));
    if (matches || left) {
      return {NextJob::kJob, entry.job, false, left, absl::OkStatus()};
    }
  }
  watcher.waiting = true;
  return {};
}

void JobFeed::Impl::FetchPage(const WatcherPointer& watcher) {
  PageRequest request{options_.page_jobs, ""};
  {
    absl::MutexLock lock(&mutex_);
    if (watcher->gone) {
      return;
    }
    request.token = watcher->page_token;
  }
  std::deque<JobPointer> jobs;
  std::string next_token;
  absl::Status read = RunSafely("listing jobs", [&]() -> absl::Status {
    MERCER_ASSIGN_OR_RETURN(Page<JobRecord> page, ReadPage(*jobs_, watcher->filter, request));
    next_token = std::move(page.next_token);
    for (JobRecord& job : page.items) {
      jobs.push_back(std::make_shared<const WatchedJob>(std::move(job)));
    }
    return absl::OkStatus();
  });
  bool wake = false;
  {
    absl::MutexLock lock(&mutex_);
    watcher->fetching = false;
    if (read.ok()) {
      watcher->page = std::move(jobs);
      watcher->all_read = next_token.empty();
      watcher->page_token = std::move(next_token);
    } else {
      watcher->end = std::move(read);
    }
    wake = std::exchange(watcher->waiting, false) && !watcher->gone;
  }
  if (wake) {
    watcher->wake.Run();
  }
}

void JobFeed::Impl::OnCommit(const JobCommit& commit) {
  {
    absl::MutexLock lock(&mutex_);
    if (watchers_.empty()) {
      return;  // who begins to watch reads all jobs later than this
    }
    if (commit.change == JobChange::kLabels) {
      relabelled_.insert(commit.job_id);
    }
    if (commit.deleted != nullptr) {
      deleted_.insert_or_assign(commit.job_id, *commit.deleted);
    }
    if (commit.change != JobChange::kProgress) {
      changed_.insert(commit.job_id);
      held_.erase(commit.job_id);
    } else if (!changed_.contains(commit.job_id)) {
      held_.insert(commit.job_id);
    }
  }
  BeginReading();
}

void JobFeed::Impl::Tick(size_t part, size_t parts) {
  {
    absl::MutexLock lock(&mutex_);
    for (auto next = held_.begin(); next != held_.end();) {
      const auto id = next++;
      if (std::hash<std::string>()(*id) % parts == part) {
        changed_.insert(held_.extract(id));
      }
    }
  }
  BeginReading();
}

void JobFeed::Impl::BeginReading() {
  {
    absl::MutexLock lock(&mutex_);
    if (changed_.empty() || std::exchange(reading_, true)) {
      return;
    }
  }
  if (!posted_->Post([self = shared_from_this()] { self->ReadChanged(); })) {
    absl::MutexLock lock(&mutex_);
    reading_ = false;  // the next change or tick begins again
  }
}

// At most one runs, so that what is read of a job is never older than what was read before. A job that is
// changed after it was read is in changed_ again.
void JobFeed::Impl::ReadChanged() {
  while (true) {
    std::set<std::string> ids;
    {
      absl::MutexLock lock(&mutex_);
      if (changed_.empty()) {
        reading_ = false;
        return;
      }
      ids = std::exchange(changed_, {});
    }
    while (!ids.empty()) {
      auto id = ids.extract(ids.begin());
      if (const absl::Status read = Read(id.value()); !read.ok() && !absl::IsNotFound(read)) {
        absl::MutexLock lock(&mutex_);
        held_.insert(std::move(id));
      }
    }
    RunSafely("waking watchers", [this] {
      WakeWaiting();
      return absl::OkStatus();
    }).IgnoreError();  // their heartbeats ask again
  }
}

absl::Status JobFeed::Impl::Read(const std::string& job_id) {
  int64_t audience = 0;
  {
    absl::MutexLock lock(&mutex_);
    audience = audience_;
  }
  return RunSafely("reading a changed job", [&]() -> absl::Status {
    absl::StatusOr<JobRecord> job = jobs_->GetJob(job_id);
    absl::MutexLock lock(&mutex_);
    if (watchers_.empty()) {
      return absl::OkStatus();
    }
    if (absl::IsNotFound(job.status())) {
      // It was there when it changed, so that nothing older than its deletion can be read of it later.
      if (auto deleted = deleted_.extract(job_id); !deleted.empty()) {
        Put(std::move(deleted.mapped()), /*deleted=*/true);
      }
      return absl::OkStatus();
    }
    MERCER_RETURN_IF_ERROR(job.status());
    if (audience == audience_) {
      Put(*std::move(job), /*deleted=*/false);
    } else {
      // While nobody watched, a change of the job was not noted: what was read may be older than it.
      changed_.insert(job_id);
    }
    return absl::OkStatus();
  });
}

void JobFeed::Impl::Put(JobRecord job, bool deleted) {
  const ScopedAllocations scope(Allocations::kNeeded);  // half a change would last
  const std::string id = job.id;
  Entry& entry = entries_[id];
  // An earlier reading may have come between the change and its own.
  const bool told = relabelled_.erase(id) > 0;
  const bool relabelled = told || (entry.job != nullptr && entry.job->record.labels != job.labels);
  entry.relabelled = entry.relabelled || relabelled;
  const bool same_state = !deleted && !relabelled && entry.job != nullptr &&
                          entry.job->record.state == job.state &&
                          entry.job->record.attempt == job.attempt;
  bytes_ -= entry.job != nullptr ? BytesOf(entry.job->record) : 0;
  bytes_ += BytesOf(job);
  entry.job = std::make_shared<const WatchedJob>(std::move(job), deleted);
  if (same_state) {
    MoveTo(entry.progress_revision, id);
  } else {
    MoveTo(entry.state_revision, id);
    order_.erase(std::exchange(entry.progress_revision, 0));
  }
  while (bytes_ > options_.kept_bytes && order_.size() > 1) {
    DropOldest();
  }
}

void JobFeed::Impl::MoveTo(int64_t& revision, const std::string& job_id) {
  order_.erase(revision);
  revision = ++revision_;
  order_.emplace(revision, job_id);
}

void JobFeed::Impl::DropOldest() {
  const auto oldest = order_.begin();
  const auto entry = entries_.find(oldest->second);
  dropped_ = oldest->first;
  int64_t& revision = entry->second.state_revision == dropped_ ? entry->second.state_revision
                                                               : entry->second.progress_revision;
  revision = 0;
  if (entry->second.state_revision == 0 && entry->second.progress_revision == 0) {
    bytes_ -= BytesOf(entry->second.job->record);
    entries_.erase(entry);
  }
  order_.erase(oldest);
}

void JobFeed::Impl::WakeWaiting() {
  std::vector<std::shared_ptr<WakeSlot>> waiting;
  {
    absl::MutexLock lock(&mutex_);
    for (const WatcherPointer& watcher : watchers_) {
      // One that waits for a page is woken by it.
      if (!watcher->fetching && std::exchange(watcher->waiting, false)) {
        waiting.emplace_back(watcher, &watcher->wake);
      }
    }
  }
  posted_->Wake(waiting);  // those that are not told ask again at their heartbeats
}

int64_t JobFeed::Impl::num_watches() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(watchers_.size());
}

JobFeed::JobFeed(WatchedStorage* storage, Executor* executor, Options options)
    : storage_(storage), impl_(std::make_shared<Impl>(&storage->jobs(), executor, options)) {
  storage_->listeners().Add(impl_.get());
}

JobFeed::~JobFeed() {
  storage_->listeners().Remove(impl_.get());
  impl_->WaitForWork();
}

std::unique_ptr<JobWatch> JobFeed::Watch(JobFilter filter, std::function<void()> wake) {
  return std::make_unique<Subscription>(impl_,
                                        impl_->Subscribe(std::move(filter), std::move(wake)));
}

void JobFeed::Tick(size_t part, size_t parts) { impl_->Tick(part, parts); }

int64_t JobFeed::num_watches() const { return impl_->num_watches(); }

}  // namespace mercer::server
