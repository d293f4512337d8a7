#include "server/watching/job_feed.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// Of the jobs that a watcher has read and not taken, unless it is one.
constexpr size_t kPageBytes = size_t{1} << 20;
// Of a job beside its request, which is there twice, read and written: the record, its entry and its numbers.
constexpr size_t kRecordBytes = 1024;

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

JobFeed::JobFeed(WatchedStorage* storage, Executor* executor, Options options)
    : Watchers(executor), storage_(storage), options_(options) {
  storage_->listeners().Add(this);
}

JobFeed::~JobFeed() {
  storage_->listeners().Remove(this);
  WaitForWork();
}

std::unique_ptr<JobWatch> JobFeed::Watch(JobFilter filter, std::function<void()> wake) {
  absl::MutexLock lock(&mutex_);
  watchers_.push_back(
      std::make_shared<Watcher<WatchedJob>>("", std::move(filter), revision_, std::move(wake)));
  return std::make_unique<JobWatch>(this, watchers_.back());
}

void JobFeed::Forget(const WatcherPointer& watcher) {
  Erase(watcher, watchers_);
  if (watchers_.empty()) {
    Clear();
  }
}

void JobFeed::Clear() {
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

NextJob JobFeed::Follow(Watcher<WatchedJob>& watcher) {
  if (!watcher.complete) {
    return {};
  }
  if (!std::exchange(watcher.told, true)) {
    return {NextJob::kExistingSent};
  }
  if (watcher.cursor < dropped_) {
    return {NextJob::kEnd, nullptr, false, false, TooSlow()};
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
      return {NextJob::kItem, entry.job, false, left};
    }
  }
  return {};
}

absl::StatusOr<JobFeed::Page> JobFeed::Read(const Watcher<WatchedJob>& watcher, int64_t /*cursor*/,
                                            const std::string& token) {
  MERCER_ASSIGN_OR_RETURN(
      server::Page<JobRecord> jobs,
      ReadPage(storage_->jobs(), watcher.filter, PageRequest{options_.page_jobs, token}));
  Page page;
  page.complete = jobs.next_token.empty();
  page.next_token = std::move(jobs.next_token);
  for (JobRecord& job : jobs.items) {
    page.items.push_back(std::make_shared<const WatchedJob>(std::move(job)));
  }
  return page;
}

void JobFeed::OnCommit(const JobCommit& commit) {
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

void JobFeed::Tick(size_t part, size_t parts) {
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

void JobFeed::BeginReading() {
  {
    absl::MutexLock lock(&mutex_);
    if (changed_.empty() || std::exchange(reading_, true)) {
      return;
    }
  }
  if (!posted_->Post([this] { ReadChanged(); })) {
    absl::MutexLock lock(&mutex_);
    reading_ = false;  // the next change or tick begins again
  }
}

// At most one runs, so that what is read of a job is never older than what was read before. A job that is
// changed after it was read is in changed_ again.
void JobFeed::ReadChanged() {
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
      if (const absl::Status read = ReadJob(id.value()); !read.ok() && !absl::IsNotFound(read)) {
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

absl::Status JobFeed::ReadJob(const std::string& job_id) {
  int64_t audience = 0;
  {
    absl::MutexLock lock(&mutex_);
    audience = audience_;
  }
  return RunSafely("reading a changed job", [&]() -> absl::Status {
    absl::StatusOr<JobRecord> job = storage_->jobs().GetJob(job_id);
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

void JobFeed::Put(JobRecord job, bool deleted) {
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

void JobFeed::MoveTo(int64_t& revision, const std::string& job_id) {
  order_.erase(revision);
  revision = ++revision_;
  order_.emplace(revision, job_id);
}

void JobFeed::DropOldest() {
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

void JobFeed::WakeWaiting() {
  std::vector<std::shared_ptr<WakeSlot>> waiting;
  {
    absl::MutexLock lock(&mutex_);
    waiting = TakeWaiting(watchers_);
  }
  posted_->Wake(waiting);  // those that are not told ask again at their heartbeats
}

int64_t JobFeed::num_watches() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(watchers_.size());
}

}  // namespace mercer::server
