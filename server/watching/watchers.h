// Watchers: what comes next for each of them, who of them waits, and who is woken. What there is to watch derives from it.
//
//   watch = feed.Watch(..., [this] { Pump(); });
//   void Pump() {                  // one at a time, under the caller's own mutex
//     switch (const auto next = watch->Next(); next.kind) {
//       case kItem:                // call Next() again when the write is done
//       case kExistingSent:
//         write(next);
//         break;
//       case kWait:                // the callback comes once, when there is more to get
//         break;
//       case kEnd:
//         finish(next.status);
//         break;
//     }
//   }
//
// A watcher gets from the storage, page by page, what memory does not hold (any more), and from memory, where all share it, what
// is told of later. One that does not call Next() costs its cursor and at most one page; it delays nobody.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/executor.h"
#include "server/jobs/record/job_event.h"
#include "server/storage/job_store.h"
#include "server/watching/posted_work.h"
#include "server/watching/wake_slot.h"

namespace mercer::server {

// What watchers are told, shared by all whom it is told: what goes to one of them is written once for all. Thread-safe.
template <typename Record>
class Watched {
 public:
  using Writer = absl::FunctionRef<absl::StatusOr<std::string>(const Record&)>;

  explicit Watched(Record that) : record(std::move(that)) {}
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // What `write` makes of the record; it lives as long as this. Once it has succeeded nobody's is called again, so all must mean
  // the same.
  absl::StatusOr<const std::string*> Written(Writer write) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (!written_.has_value()) {
      MERCER_ASSIGN_OR_RETURN(written_,
                              RunSafely("writing for watchers", [&] { return write(record); }));
    }
    return &*written_;
  }

  const Record record;

 private:
  mutable absl::Mutex mutex_;
  mutable std::optional<std::string> written_ ABSL_GUARDED_BY(mutex_);  // never changes again
};

using WatchedEvent = Watched<JobEvent>;

// A job as it is now.
struct WatchedJob : Watched<JobRecord> {
  explicit WatchedJob(JobRecord job, bool is_deleted = false)
      : Watched(std::move(job)), deleted(is_deleted) {}

  const bool deleted;  // there is no such job any more; the record is what it last was
};

template <typename Item>
struct NextItem {
  enum Kind : uint8_t { kItem, kExistingSent, kWait, kEnd };
  Kind kind = kWait;
  std::shared_ptr<const Item> item = nullptr;  // kItem
  bool existing = false;                       // kItem: it comes from the storage
  // Of what comes next after this: a watch that begins after it goes on behind it. 0: it would get all anew.
  int64_t sequence = 0;
  // kItem, of a job: it matches no longer, or is deleted. May come for jobs that did not come before: whether they did is not
  // remembered.
  bool left = false;
  absl::Status status = absl::OkStatus();  // kEnd
};

// One watcher; guarded by the mutex of its Watchers, `job_id`, `filter` and `wake` excepted.
template <typename Item>
struct Watcher {
  Watcher(std::string job, JobFilter wanted, int64_t after, std::function<void()> callback)
      : job_id(std::move(job)),
        filter(std::move(wanted)),
        cursor(after),
        wake(std::move(callback)) {}

  const std::string job_id;  // whose events it watches
  const JobFilter filter;    // or which jobs
  int64_t cursor;            // the number of the last item from memory, or of the last event
  std::deque<std::shared_ptr<const Item>> page;  // from the storage, not yet taken
  std::string page_token;                        // of the next one
  bool complete = false;  // behind the page the storage holds nothing that memory will not tell
  bool listing = false;   // a list comes, of which the pages are parts; kExistingSent ends it
  bool reading = false;
  bool waiting = false;  // Next() said kWait, and nobody has been told to wake it
  bool gone = false;
  std::optional<absl::Status> end;  // once the page is taken
  WakeSlot wake;
};

template <typename Item>
class Watchers;

// One watcher's place. Next() is called by one thread at a time. The destructor waits for a callback that is running on another
// thread and prevents later ones; it may run inside the callback. Must be destroyed before what is watched.
template <typename Item>
class Watch {
 public:
  Watch(Watchers<Item>* watchers, std::shared_ptr<Watcher<Item>> watcher)
      : watchers_(watchers), watcher_(std::move(watcher)) {}
  ~Watch() { watchers_->Leave(watcher_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Never blocks. After kWait the callback is called once, from a thread of the executor, and Next() may be called again (it may
  // be called earlier too). kEnd is final.
  NextItem<Item> Next() { return watchers_->Next(watcher_); }
  // The Next() that follows looks at the storage, where something may be that nobody told of: there was no memory to do so, and of
  // the last event of a job nobody tells again. To be called now and then by those who wait.
  void LookAgain() { watchers_->LookAgain(*watcher_); }

 private:
  Watchers<Item>* const watchers_;
  const std::shared_ptr<Watcher<Item>> watcher_;
};

// Thread-safe. What derives from it stops those who tell it of changes and calls WaitForWork() when it goes.
template <typename Item>
class Watchers {
 public:
  using ItemPointer = std::shared_ptr<const Item>;
  using WatcherPointer = std::shared_ptr<Watcher<Item>>;

  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

 protected:
  // What one look at the storage found.
  struct Page {
    std::deque<ItemPointer> items;
    std::string next_token;
    bool complete = false;
    std::optional<absl::Status> end;  // behind the items
  };

  // `executor`, where all is read and callbacks run, must outlive this.
  explicit Watchers(Executor* executor) : posted_(std::make_shared<PostedWork>(executor)) {}
  virtual ~Watchers() = default;
  void WaitForWork() { posted_->Wait(); }

  // What memory holds for the watcher; kWait: nothing.
  virtual NextItem<Item> Follow(Watcher<Item>& watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  virtual absl::StatusOr<Page> Read(const Watcher<Item>& watcher, int64_t cursor,
                                    const std::string& token) = 0;
  // The watcher has got it.
  virtual void Note(const Item& item, Watcher<Item>& watcher)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  virtual void Forget(const WatcherPointer& watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // Those that wait, which are then no longer waiting. One that waits for a page is woken by it.
  std::vector<std::shared_ptr<WakeSlot>> TakeWaiting(const std::vector<WatcherPointer>& watchers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Erase(const WatcherPointer& watcher, std::vector<WatcherPointer>& watchers);

  const std::shared_ptr<PostedWork> posted_;
  mutable absl::Mutex mutex_;

 private:
  friend class Watch<Item>;

  NextItem<Item> Next(const WatcherPointer& watcher) ABSL_LOCKS_EXCLUDED(mutex_);
  NextItem<Item> Take(Watcher<Item>& watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadFor(const WatcherPointer& watcher) ABSL_LOCKS_EXCLUDED(mutex_);
  void LookAgain(Watcher<Item>& watcher) ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave(const WatcherPointer& watcher) ABSL_LOCKS_EXCLUDED(mutex_);
};

extern template class Watchers<WatchedEvent>;
extern template class Watchers<WatchedJob>;

}  // namespace mercer::server
