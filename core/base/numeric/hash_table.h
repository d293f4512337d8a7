// Hash tables that stay whole when memory runs out. Those of Abseil 20220623, which Debian 12 has,
// do not: one that finds no memory to grow has taken its new capacity already, and frees what was
// never allocated.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "absl/hash/hash.h"

namespace mercer {

// Looks for text without a copy of it.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

template <typename Key>
using TableHash =
    std::conditional_t<std::is_convertible_v<Key, std::string_view>, TextHash, absl::Hash<Key>>;

template <typename Key, typename Value>
using HashMap = std::unordered_map<Key, Value, TableHash<Key>, std::equal_to<>>;

template <typename Key>
using HashSet = std::unordered_set<Key, TableHash<Key>, std::equal_to<>>;

}  // namespace mercer
