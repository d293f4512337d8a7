#include "server/watching/job_feed.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/process/run_safely.h"
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

// Those of a filter that names none are all.
template <typename Value>
bool IsAmong(const std::vector<Value>& wanted, Value value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
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

// Of the first change: another one each time, so that no other process knows what this one has said. Within what JavaScript's
// numbers hold.
int64_t RandomBeginning() {
  std::random_device device;
  return std::uniform_int_distribution<int64_t>(int64_t{1} << 32, int64_t{1} << 52)(device);
}

bool IsHeld(JobState state) { return state != JobState::kQueued && !IsFinal(state); }

}  // namespace

JobFeed::JobFeed(WatchedStorage* storage, Executor* executor, Options options)
    : Watchers(executor),
      storage_(storage),
      options_(options),
      revision_(RandomBeginning()),
      dropped_(revision_) {
  storage_->listeners().Add(this);
}

JobFeed::~JobFeed() {
  storage_->listeners().Remove(this);
  WaitForWork();
}

std::unique_ptr<JobWatch> JobFeed::Watch(JobFilter filter, int64_t after,
                                         std::function<void()> wake) {
  auto watcher =
      std::make_shared<Watcher<WatchedJob>>("", std::move(filter), after, std::move(wake));
  watcher->complete = true;  // but for what Follow() finds
  absl::MutexLock lock(&mutex_);
  watchers_.push_back(watcher);
  return std::make_unique<JobWatch>(this, std::move(watcher));
}

void JobFeed::Forget(const WatcherPointer& watcher) { Erase(watcher, watchers_); }

NextJob JobFeed::Follow(Watcher<WatchedJob>& watcher) {
  if (!watcher.complete) {
    return {};
  }
  if (std::exchange(watcher.listing, false)) {
    return {NextJob::kExistingSent};
  }
  if (watcher.cursor < dropped_ || watcher.cursor > revision_) {
    watcher.cursor = revision_;
    watcher.page_token.clear();
    watcher.listing = true;
    watcher.complete = false;
    return {};
  }
  for (auto change = order_.upper_bound(watcher.cursor); change != order_.end(); ++change) {
    watcher.cursor = change->first;
    const Entry& entry = entries_.at(change->second);
    const JobRecord& job = entry.job->record;
    const bool has_labels = HasLabels(watcher.filter, job);
    if (!IsAmong(watcher.filter.kinds, job.kind) || (!has_labels && !entry.relabelled)) {
      continue;
    }
    const bool has_state = IsAmong(watcher.filter.states, job.state);
    const bool matches = has_labels && has_state && !entry.job->deleted;
    const bool left = !matches && change->first == entry.state_revision &&
                      (has_state || MayHaveMatched(watcher.filter, job));
    if (matches || left) {
      return {.kind = NextJob::kItem, .item = entry.job, .left = left};
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
  Change([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (commit.job != nullptr) {
      Put(std::make_shared<const WatchedJob>(*commit.job, commit.change == JobChange::kDeleted),
          commit.change == JobChange::kUpdated);
    } else if (commit.change == JobChange::kProgress && !commit.events.empty()) {
      progress_.insert_or_assign(commit.job_id, commit.events.back());
    } else if (!commit.events.empty()) {
      PutEvent(commit.job_id, commit.change, commit.events.back());
    }
  });
}

void JobFeed::Tick(size_t part, size_t parts) {
  Change([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (auto next = progress_.begin(); next != progress_.end();) {
      const auto shown = next++;
      if (std::hash<std::string>()(shown->first) % parts == part) {
        auto progress = progress_.extract(shown);
        PutEvent(progress.key(), JobChange::kProgress, std::move(progress.mapped()));
      }
    }
  });
}

void JobFeed::Change(absl::FunctionRef<void()> change) {
  {
    absl::MutexLock lock(&mutex_);
    if (!RunNeeded("keeping a changed job", change).ok()) {
      DropAll();
    }
  }
  BeginWaking();
}

void JobFeed::Put(ItemPointer job, bool updated) {
  const JobRecord& record = job->record;
  progress_.erase(record.id);
  if (IsHeld(record.state)) {
    held_[record.id] = job;
  } else {
    held_.erase(record.id);
  }
  Entry& entry = entries_[record.id];
  entry.relabelled =
      entry.relabelled ||
      (updated && (entry.job == nullptr || entry.job->record.labels != record.labels));
  const bool same_state = !job->deleted && !updated && entry.job != nullptr &&
                          entry.job->record.state == record.state &&
                          entry.job->record.attempt == record.attempt;
  bytes_ -= entry.job != nullptr ? BytesOf(entry.job->record) : 0;
  bytes_ += BytesOf(record);
  entry.job = job;
  if (same_state) {
    MoveTo(entry.progress_revision, record.id);
  } else {
    MoveTo(entry.state_revision, record.id);
    order_.erase(std::exchange(entry.progress_revision, 0));
  }
  news_ = true;
  while (bytes_ > options_.kept_bytes && order_.size() > 1) {
    DropOldest();
  }
}

void JobFeed::PutEvent(const std::string& job_id, JobChange change, EventRecord event) {
  const auto held = held_.find(job_id);
  if (held == held_.end()) {
    return;  // there was no memory to keep it; its end will tell
  }
  JobRecord job = held->second->record;
  job.last_event = std::move(event);
  if (change == JobChange::kVerifying) {
    job.state = JobState::kVerifying;
  }
  Put(std::make_shared<const WatchedJob>(std::move(job)), /*relabelled=*/false);
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

void JobFeed::DropAll() {
  entries_.clear();
  order_.clear();
  held_.clear();
  bytes_ = 0;
  dropped_ = ++revision_;
  news_ = true;
}

void JobFeed::BeginWaking() {
  {
    absl::MutexLock lock(&mutex_);
    if (!news_ || watchers_.empty() || std::exchange(waking_, true)) {
      return;
    }
  }
  if (!posted_->Post([this] { WakeWaiting(); })) {
    absl::MutexLock lock(&mutex_);
    waking_ = false;  // the next change or tick begins again
  }
}

void JobFeed::WakeWaiting() {
  std::vector<std::shared_ptr<WakeSlot>> waiting;
  {
    absl::MutexLock lock(&mutex_);
    waking_ = false;
    news_ = false;
    waiting = TakeWaiting(watchers_);
  }
  posted_->Wake(waiting);  // those that are not told ask again at their heartbeats
}

int64_t JobFeed::num_watches() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(watchers_.size());
}

}  // namespace mercer::server
