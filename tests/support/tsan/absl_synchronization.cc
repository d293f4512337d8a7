// Teaches the thread sanitizer what absl's mutexes, condition variables, notifications and counters
// order.
//
// Debian's libabsl_synchronization is not instrumented and waits by futex, so the sanitizer would
// see no order between two critical sections of an absl::Mutex and report every guarded member as a
// race. The functions below stand in front of the library's (a program's symbols precede those of
// its shared libraries, also for the library's own calls), tell the sanitizer which address is
// released and acquired, and call the original. Linked into test programs of the tsan preset only.

#include <dlfcn.h>
#include <stdlib.h>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

namespace {

#define MERCER_STRING_OF(text) #text
#define MERCER_STRING(text) MERCER_STRING_OF(text)
#define MERCER_ABSL "4absl7" MERCER_STRING(ABSL_OPTION_INLINE_NAMESPACE_NAME)

// The library's function with this mangled name.
template <typename Function>
Function* Original(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr)
    abort();  // another version of Abseil: this file no longer fits
  return reinterpret_cast<Function*>(found);
}

// The library's search for cycles of locks guards its graph by a spin lock that the sanitizer
// cannot see.
[[maybe_unused]] const bool cycles_ignored =
    (absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore), true);

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

// Shared locks release too: a later exclusive lock is ordered behind the reads that they covered.
void Mutex::Lock() {
  static const auto original = Original<void(Mutex*)>("_ZN" MERCER_ABSL "5Mutex4LockEv");
  original(this);
  __tsan_acquire(this);
}

void Mutex::Unlock() {
  static const auto original = Original<void(Mutex*)>("_ZN" MERCER_ABSL "5Mutex6UnlockEv");
  __tsan_release(this);
  original(this);
}

bool Mutex::TryLock() {
  static const auto original = Original<bool(Mutex*)>("_ZN" MERCER_ABSL "5Mutex7TryLockEv");
  const bool locked = original(this);
  if (locked) {
    __tsan_acquire(this);
  }
  return locked;
}

void Mutex::ReaderLock() {
  static const auto original = Original<void(Mutex*)>("_ZN" MERCER_ABSL "5Mutex10ReaderLockEv");
  original(this);
  __tsan_acquire(this);
}

void Mutex::ReaderUnlock() {
  static const auto original = Original<void(Mutex*)>("_ZN" MERCER_ABSL "5Mutex12ReaderUnlockEv");
  __tsan_release(this);
  original(this);
}

bool Mutex::ReaderTryLock() {
  static const auto original = Original<bool(Mutex*)>("_ZN" MERCER_ABSL "5Mutex13ReaderTryLockEv");
  const bool locked = original(this);
  if (locked) {
    __tsan_acquire(this);
  }
  return locked;
}

// Waiting for a condition with the mutex held gives it away and takes it again.
void Mutex::Await(const Condition& condition) {
  static const auto original =
      Original<void(Mutex*, const Condition&)>("_ZN" MERCER_ABSL "5Mutex5AwaitERKNS0_9ConditionE");
  __tsan_release(this);
  original(this, condition);
  __tsan_acquire(this);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration limit) {
  static const auto original = Original<bool(Mutex*, const Condition&, Duration)>(
      "_ZN" MERCER_ABSL "5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  __tsan_release(this);
  const bool met = original(this, condition, limit);
  __tsan_acquire(this);
  return met;
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time limit) {
  static const auto original = Original<bool(Mutex*, const Condition&, Time)>(
      "_ZN" MERCER_ABSL "5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  __tsan_release(this);
  const bool met = original(this, condition, limit);
  __tsan_acquire(this);
  return met;
}

void Mutex::LockWhen(const Condition& condition) {
  static const auto original = Original<void(Mutex*, const Condition&)>(
      "_ZN" MERCER_ABSL "5Mutex8LockWhenERKNS0_9ConditionE");
  original(this, condition);
  __tsan_acquire(this);
}

bool Mutex::LockWhenWithTimeout(const Condition& condition, Duration limit) {
  static const auto original = Original<bool(Mutex*, const Condition&, Duration)>(
      "_ZN" MERCER_ABSL "5Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  const bool met = original(this, condition, limit);
  __tsan_acquire(this);
  return met;
}

bool Mutex::LockWhenWithDeadline(const Condition& condition, Time limit) {
  static const auto original = Original<bool(Mutex*, const Condition&, Time)>(
      "_ZN" MERCER_ABSL "5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  const bool met = original(this, condition, limit);
  __tsan_acquire(this);
  return met;
}

void Mutex::ReaderLockWhen(const Condition& condition) {
  static const auto original = Original<void(Mutex*, const Condition&)>(
      "_ZN" MERCER_ABSL "5Mutex14ReaderLockWhenERKNS0_9ConditionE");
  original(this, condition);
  __tsan_acquire(this);
}

bool Mutex::ReaderLockWhenWithTimeout(const Condition& condition, Duration limit) {
  static const auto original = Original<bool(Mutex*, const Condition&, Duration)>(
      "_ZN" MERCER_ABSL "5Mutex25ReaderLockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  const bool met = original(this, condition, limit);
  __tsan_acquire(this);
  return met;
}

bool Mutex::ReaderLockWhenWithDeadline(const Condition& condition, Time limit) {
  static const auto original = Original<bool(Mutex*, const Condition&, Time)>(
      "_ZN" MERCER_ABSL "5Mutex26ReaderLockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  const bool met = original(this, condition, limit);
  __tsan_acquire(this);
  return met;
}

void CondVar::Wait(Mutex* mutex) {
  static const auto original =
      Original<void(CondVar*, Mutex*)>("_ZN" MERCER_ABSL "7CondVar4WaitEPNS0_5MutexE");
  __tsan_release(mutex);
  original(this, mutex);
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration limit) {
  static const auto original = Original<bool(CondVar*, Mutex*, Duration)>(
      "_ZN" MERCER_ABSL "7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  __tsan_release(mutex);
  const bool expired = original(this, mutex, limit);
  __tsan_acquire(mutex);
  return expired;
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time limit) {
  static const auto original = Original<bool(CondVar*, Mutex*, Time)>(
      "_ZN" MERCER_ABSL "7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  __tsan_release(mutex);
  const bool expired = original(this, mutex, limit);
  __tsan_acquire(mutex);
  return expired;
}

// A thread that unlocks evaluates the conditions of those that wait, inside the library, where the
// mutex counts as released already.
bool Condition::Eval() const {
  static const auto original =
      Original<bool(const Condition*)>("_ZNK" MERCER_ABSL "9Condition4EvalEv");
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  const bool holds = original(this);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  return holds;
}

// Notifications and counters have a fast path that takes no mutex. (HasBeenNotified is inline, so
// the sanitizer sees its acquiring load; it needs only the release.)
void Notification::Notify() {
  static const auto original =
      Original<void(Notification*)>("_ZN" MERCER_ABSL "12Notification6NotifyEv");
  __tsan_release(&notified_yet_);
  original(this);
}

void Notification::WaitForNotification() const {
  static const auto original = Original<void(const Notification*)>(
      "_ZNK" MERCER_ABSL "12Notification19WaitForNotificationEv");
  original(this);
  HasBeenNotifiedInternal(&notified_yet_);
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  static const auto original = Original<bool(const Notification*, Duration)>(
      "_ZNK" MERCER_ABSL "12Notification30WaitForNotificationWithTimeoutENS0_8DurationE");
  return original(this, timeout) && HasBeenNotifiedInternal(&notified_yet_);
}

bool Notification::WaitForNotificationWithDeadline(Time deadline) const {
  static const auto original = Original<bool(const Notification*, Time)>(
      "_ZNK" MERCER_ABSL "12Notification31WaitForNotificationWithDeadlineENS0_4TimeE");
  return original(this, deadline) && HasBeenNotifiedInternal(&notified_yet_);
}

bool BlockingCounter::DecrementCount() {
  static const auto original =
      Original<bool(BlockingCounter*)>("_ZN" MERCER_ABSL "15BlockingCounter14DecrementCountEv");
  __tsan_release(this);
  return original(this);
}

void BlockingCounter::Wait() {
  static const auto original =
      Original<void(BlockingCounter*)>("_ZN" MERCER_ABSL "15BlockingCounter4WaitEv");
  original(this);
  __tsan_acquire(this);
}

ABSL_NAMESPACE_END
}  // namespace absl
