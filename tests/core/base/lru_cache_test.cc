#include "core/base/memory/lru_cache.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace mercer {
namespace {

std::string KeysOf(const LruCache<int>::Entries& entries) {
  std::string keys;
  for (const auto& entry : entries) {
    keys += entry.key;
  }
  return keys;
}

TEST(LruCacheTest, FindsWhatWasPut) {
  LruCache<int> cache(10);
  cache.Put("a", 1, 4);
  EXPECT_EQ(cache.Find("a"), 1);
  EXPECT_EQ(cache.Find("b"), 0);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.bytes(), 4);
}

TEST(LruCacheTest, TheOldestThatWasNotFoundLeavesFirst) {
  LruCache<int> cache(3);
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_EQ(KeysOf(cache.Put(key, 1, 1)), "");
  }
  EXPECT_EQ(cache.Find("a"), 1);
  EXPECT_EQ(KeysOf(cache.Put("d", 1, 1)), "b");
  EXPECT_EQ(KeysOf(cache.Put("e", 1, 2)), "ca") << "a has had its further round";
  EXPECT_EQ(cache.bytes(), 3);
}

TEST(LruCacheTest, NewOneStaysWhereAllOthersWereFound) {
  LruCache<int> cache(2);
  cache.Put("a", 1, 1);
  cache.Put("b", 1, 1);
  cache.Find("a");
  cache.Find("b");
  EXPECT_EQ(KeysOf(cache.Put("c", 3, 1)), "a");
  EXPECT_EQ(cache.Find("c"), 3);
}

TEST(LruCacheTest, WhatIsTooLargeTakesNoPlace) {
  LruCache<int> cache(4);
  cache.Put("a", 1, 4);
  EXPECT_EQ(KeysOf(cache.Put("b", 2, 5)), "");
  EXPECT_EQ(cache.Find("b"), 0);
  EXPECT_EQ(cache.Find("a"), 1);
  EXPECT_EQ(KeysOf(cache.Put("a", 2, 5)), "a") << "it is obsolete all the same";
  EXPECT_EQ(cache.bytes(), 0);
}

TEST(LruCacheTest, PutReplaces) {
  LruCache<int> cache(10);
  cache.Put("a", 1, 4);
  const LruCache<int>::Entries earlier = cache.Put("a", 2, 5);
  ASSERT_EQ(earlier.size(), 1u);
  EXPECT_EQ(earlier.front().value, 1);
  EXPECT_EQ(cache.Find("a"), 2);
  EXPECT_EQ(cache.bytes(), 5);
}

TEST(LruCacheTest, TakesOut) {
  LruCache<int> cache(10);
  for (const char* key : {"a", "b", "c"}) {
    cache.Put(key, key[0], 2);
  }
  EXPECT_EQ(KeysOf(cache.Take("b")), "b");
  EXPECT_EQ(KeysOf(cache.Take("b")), "");
  cache.Find("c");
  EXPECT_EQ(KeysOf(cache.TakeIf([](const auto& entry) { return !entry.used; })), "a");
  EXPECT_EQ(cache.Find("c"), 'c');
  EXPECT_EQ(cache.bytes(), 2);
}

TEST(LruCacheTest, WhatLeavesLivesAsLongAsItIsHeld) {
  LruCache<std::shared_ptr<int>> cache(1);
  cache.Put("a", std::make_shared<int>(7), 1);
  const std::weak_ptr<int> watched = cache.Find("a");
  {
    const auto removed = cache.Take("a");
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace mercer
