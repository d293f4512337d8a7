#include "core/base/numeric/variant.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace mercer {
namespace {

// Memory of which there is none left when a test says so.
struct Memory {
  static inline bool exhausted = false;
  static inline int in_use = 0;
};

template <typename Value>
struct ScarceAllocator {
  using value_type = Value;
  ScarceAllocator() = default;
  template <typename Other>
  explicit ScarceAllocator(const ScarceAllocator<Other>& /*other*/) {}

  Value* allocate(size_t count) {
    if (Memory::exhausted) {
      throw std::bad_alloc();
    }
    ++Memory::in_use;
    return std::allocator<Value>().allocate(count);
  }
  void deallocate(Value* values, size_t count) {
    --Memory::in_use;
    std::allocator<Value>().deallocate(values, count);
  }
  bool operator==(const ScarceAllocator& /*other*/) const { return true; }
};

// As an option's value: std::variant of these ends the process when a copy finds no memory.
using Text = std::basic_string<char, std::char_traits<char>, ScarceAllocator<char>>;
using List = std::vector<double, ScarceAllocator<double>>;
using Value = Variant<bool, int64_t, double, Text, List>;

class VariantTest : public testing::Test {
 protected:
  ~VariantTest() override { EXPECT_EQ(Memory::in_use, 0); }
};

TEST_F(VariantTest, CopiesAndMovesEachAlternative) {
  const List list = {1, 2, 3};
  const Value values[] = {true, int64_t{7}, 0.5, Text("newton"), list};
  for (const Value& value : values) {
    Value copy = value;
    EXPECT_EQ(copy, value);
    for (const Value& former : values) {
      Value assigned = former;
      assigned = value;
      EXPECT_EQ(assigned, value);
    }
    const Value moved = std::move(copy);
    EXPECT_EQ(moved, value);
  }
  EXPECT_EQ(std::get<List>(values[4]), list);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<Value>);
  EXPECT_TRUE(std::is_nothrow_move_assignable_v<Value>);
}

TEST_F(VariantTest, ACopyThatFindsNoMemoryLeavesAllAsItWas) {
  for (const Value& value : {Value(Text(100, 'x')), Value(List{1, 2, 3})}) {
    const Value before = value;
    Value other = int64_t{7};
    Memory::exhausted = true;
    EXPECT_THROW(Value{value}, std::bad_alloc);
    EXPECT_THROW(other = value, std::bad_alloc);
    Memory::exhausted = false;
    EXPECT_EQ(value, before);
    EXPECT_EQ(other, Value(int64_t{7}));
  }
}

}  // namespace
}  // namespace mercer
