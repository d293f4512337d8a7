#include "core/training/model/witness.h"

#include <gtest/gtest.h>

namespace mercer {
namespace {

Witness SmallWitness() {
  Witness child;
  child.tasks.push_back({Matrix::Constant(3, 1, 0.1), Vector::Constant(1, -2)});
  Witness witness;
  witness.tasks.push_back({Matrix::Random(2, 2), Vector::Random(2)});
  witness.arrays.emplace_back("weights", Matrix::Random(3, 1));
  witness.values.emplace_back("width", 1.0 / 3);
  witness.children = {child, child};
  return witness;
}

TEST(WitnessTest, FindsArraysAndValuesByName) {
  const Witness witness = SmallWitness();
  ASSERT_NE(witness.FindArray("weights"), nullptr);
  EXPECT_EQ(witness.FindArray("weights")->rows(), 3);
  EXPECT_EQ(witness.FindArray("width"), nullptr);
  ASSERT_NE(witness.FindValue("width"), nullptr);
  EXPECT_EQ(*witness.FindValue("width"), 1.0 / 3);
}

TEST(WitnessTest, RoundTripIsExact) {
  const std::string bytes = SaveWitness(SmallWitness());
  const absl::StatusOr<Witness> back = LoadWitness(bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(SaveWitness(*back), bytes);
}

TEST(WitnessTest, EveryTruncationAndFlippedByteIsDataLoss) {
  const std::string bytes = SaveWitness(SmallWitness());
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(LoadWitness(bytes.substr(0, i)).status().code(), absl::StatusCode::kDataLoss)
        << "cut at " << i;
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x11);
    EXPECT_EQ(LoadWitness(flipped).status().code(), absl::StatusCode::kDataLoss) << "byte " << i;
  }
}

}  // namespace
}  // namespace mercer
