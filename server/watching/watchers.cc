#include "server/watching/watchers.h"

#include <algorithm>
#include <utility>

#include "core/base/process/run_safely.h"

namespace mercer::server {

template <typename Item>
NextItem<Item> Watchers<Item>::Next(const WatcherPointer& watcher) {
  NextItem<Item> next;
  bool read = false;
  {
    absl::MutexLock lock(&mutex_);
    next = Take(*watcher);
    watcher->waiting = next.kind == NextItem<Item>::kWait;
    read = watcher->waiting && !watcher->complete && !std::exchange(watcher->reading, true);
  }
  if (read && !posted_->Post([this, watcher] { ReadFor(watcher); })) {
    absl::MutexLock lock(&mutex_);
    watcher->reading = false;  // a heartbeat asks again
  }
  return next;
}

template <typename Item>
NextItem<Item> Watchers<Item>::Take(Watcher<Item>& watcher) {
  NextItem<Item> next;
  if (!watcher.page.empty()) {
    next = {NextItem<Item>::kItem, std::move(watcher.page.front()), /*existing=*/true};
    watcher.page.pop_front();
  } else if (watcher.end.has_value()) {
    next = {.kind = NextItem<Item>::kEnd, .status = *watcher.end};
  } else if (!watcher.reading) {
    next = Follow(watcher);
  }
  if (next.kind == NextItem<Item>::kItem) {
    Note(*next.item, watcher);
  } else if (next.kind == NextItem<Item>::kEnd) {
    watcher.end = next.status;
  }
  next.sequence = watcher.listing ? 0 : watcher.cursor;
  return next;
}

template <typename Item>
void Watchers<Item>::ReadFor(const WatcherPointer& watcher) {
  int64_t cursor = 0;
  std::string token;
  {
    absl::MutexLock lock(&mutex_);
    if (watcher->gone) {
      return;
    }
    cursor = watcher->cursor;
    token = watcher->page_token;
  }
  absl::StatusOr<Page> page = RunSafely("reading for a watcher", [&]() -> absl::StatusOr<Page> {
    return Read(*watcher, cursor, token);
  });
  bool wake = false;
  {
    absl::MutexLock lock(&mutex_);
    watcher->reading = false;
    if (page.ok()) {
      watcher->page = std::move(page->items);
      watcher->page_token = std::move(page->next_token);
      watcher->complete = page->complete;
      watcher->end = std::move(page->end);
    } else {
      watcher->end = page.status();
    }
    wake = std::exchange(watcher->waiting, false) && !watcher->gone;
  }
  if (wake) {
    watcher->wake.Run();
  }
}

template <typename Item>
void Watchers<Item>::LookAgain(Watcher<Item>& watcher) {
  absl::MutexLock lock(&mutex_);
  watcher.complete =
      watcher.complete && watcher.job_id.empty();  // a feed of jobs looks again itself
}

template <typename Item>
void Watchers<Item>::Leave(const WatcherPointer& watcher) {
  watcher->wake.Close();  // first: a callback that runs may ask for what comes next
  absl::MutexLock lock(&mutex_);
  watcher->gone = true;
  Forget(watcher);
}

template <typename Item>
std::vector<std::shared_ptr<WakeSlot>> Watchers<Item>::TakeWaiting(
    const std::vector<WatcherPointer>& watchers) {
  std::vector<std::shared_ptr<WakeSlot>> waiting;
  for (const WatcherPointer& watcher : watchers) {
    if (!watcher->reading && std::exchange(watcher->waiting, false)) {
      waiting.emplace_back(watcher, &watcher->wake);
    }
  }
  return waiting;
}

template <typename Item>
void Watchers<Item>::Erase(const WatcherPointer& watcher, std::vector<WatcherPointer>& watchers) {
  watchers.erase(std::find(watchers.begin(), watchers.end(), watcher));
}

template class Watchers<WatchedEvent>;
template class Watchers<WatchedJob>;

}  // namespace mercer::server
