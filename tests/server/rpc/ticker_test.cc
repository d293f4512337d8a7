#include "server/rpc/ticker.h"

#include <algorithm>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include <gtest/gtest.h>

namespace mercer::server {
namespace {

// Who was called, in order.
class Calls {
 public:
  void Add(int who) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    calls_.push_back(who);
  }
  void Forget() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    calls_.clear();
  }
  // The first `count`; waits for them.
  std::vector<int> First(size_t count) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto has_enough = [this, count]()
                                ABSL_NO_THREAD_SAFETY_ANALYSIS { return calls_.size() >= count; };
    mutex_.Await(absl::Condition(&has_enough));
    return {calls_.begin(), calls_.begin() + static_cast<std::ptrdiff_t>(count)};
  }

 private:
  absl::Mutex mutex_;
  std::vector<int> calls_ ABSL_GUARDED_BY(mutex_);
};

TEST(TickerTest, CallsEachAgainAndAgainUntilItIsRemoved) {
  Calls calls;
  Ticker ticker(absl::Milliseconds(1));
  const int64_t one = ticker.Add([&calls] { calls.Add(1); });
  EXPECT_EQ(calls.First(3), std::vector<int>(3, 1));
  ticker.Remove(one);
  const int64_t two = ticker.Add([&calls] { calls.Add(2); });
  calls.First(40);
  ticker.Remove(two);
  const std::vector<int> all = calls.First(40);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end())) << "the first was called after its removal";
}

TEST(TickerTest, PartsCallEachOncePerInterval) {
  Calls calls;
  Ticker ticker(absl::Milliseconds(12), 3);
  std::vector<int64_t> keys;
  for (int i = 0; i < 6; ++i) {
    keys.push_back(ticker.Add([&calls, i] { calls.Add(i); }));
  }
  calls.Forget();  // of rounds in which not all were there yet
  const std::vector<int> told = calls.First(60);
  for (const int64_t key : keys) {
    ticker.Remove(key);
  }
  // Wherever in a round the first was: six in a row are all of them.
  for (auto round = told.begin(); round != told.end(); round += 6) {
    std::vector<int> sorted(round, round + 6);
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  }
}

TEST(TickerTest, CallbackThatThrowsIsCalledAgain) {
  Calls calls;
  Ticker ticker(absl::Milliseconds(1));
  const int64_t key = ticker.Add([&calls] {
    calls.Add(0);
    throw 1;
  });
  EXPECT_EQ(calls.First(3).size(), 3U);
  ticker.Remove(key);
}

}  // namespace
}  // namespace mercer::server
