#include "core/training/model/witness.h"

#include <gtest/gtest.h>

#include "core/training/encoding/encoding.h"

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

// A witness of one child within the other, `depth` deep, by docs/formats/model.md.
std::string EncodedNest(int depth) {
  ByteWriter writer;
  for (int level = 0; level <= depth; ++level) {
    writer.WriteUint64(1);  // tasks
    writer.WriteMatrix(Matrix::Constant(3, 1, level));
    writer.WriteVector(Vector::Constant(1, -2));
    writer.WriteUint64(1);  // arrays
    writer.WriteString("weights");
    writer.WriteMatrix(Matrix::Identity(2, 1));
    writer.WriteUint64(2);  // values
    writer.WriteString("width");
    writer.WriteDouble(1.0 / 3);
    writer.WriteString("offset");
    writer.WriteDouble(level);
    writer.WriteUint64(level < depth ? 1 : 0);  // children
  }
  return FramePayload("MRCRWITN", 1, writer.bytes());
}

TEST(WitnessTest, SavedFormIsThatOfTheFormat) {
  const absl::StatusOr<Witness> read = LoadWitness(EncodedNest(4));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(SaveWitness(*read), EncodedNest(4));
  const Witness* innermost = &*read;
  for (int level = 0; level < 4; ++level) {
    ASSERT_EQ(innermost->children.size(), 1u);
    innermost = &innermost->children[0];
  }
  EXPECT_EQ(innermost->tasks[0].dual, Matrix(Matrix::Constant(3, 1, 4)));
  EXPECT_EQ(*innermost->FindValue("offset"), 4);
  EXPECT_EQ(*innermost->FindArray("weights"), Matrix(Matrix::Identity(2, 1)));
}

TEST(WitnessTest, DeepNestingIsDataLoss) {
  EXPECT_EQ(LoadWitness(EncodedNest(5)).status().code(), absl::StatusCode::kDataLoss);
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
