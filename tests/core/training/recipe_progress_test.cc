#include "core/training/recipe/recipe_progress.h"

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/encoding/encoding.h"

namespace mercer {
namespace {

constexpr int64_t kPhases = 5;

// The parts of a checkpoint that are spoiled here.
struct CheckpointNumbers {
  int64_t phase = 4;
  int64_t iterations = 17;
  int64_t best = -1;
  std::vector<double> accuracies = {0.5, 0.75};
  int64_t parts = 2;
  std::vector<double> tested = {0.75};
};

// A checkpoint byte by byte, in format 9.
std::string EncodedCheckpoint(const CheckpointNumbers& numbers, const std::string& rest = "") {
  ByteWriter writer;
  writer.WriteString("version");
  writer.WriteInt64(numbers.phase);
  writer.WriteInt64(numbers.iterations);
  writer.WriteDouble(2.5);  // seconds
  writer.WriteString("model");
  writer.WriteString("witness");
  writer.WriteUint64(2);  // values of a path
  writer.WriteUint64(2);  // metrics
  writer.WriteString("accuracy");
  writer.WriteDoubles(numbers.accuracies);
  writer.WriteString("auc");
  writer.WriteDoubles({1});
  writer.WriteUint64(0);
  writer.WriteUint64(1);  // held-out rows of a value
  writer.WriteInt64(3);
  writer.WriteIndices({1, 2});
  writer.WriteDoubles({0, 1});
  writer.WriteDoubles({-0.5, 0.5});
  writer.WriteInt64(numbers.best);
  writer.WriteString("point");
  writer.WriteUint64(1);  // models of other values
  writer.WriteInt64(1);
  writer.WriteString("other model");
  writer.WriteString("other witness");
  writer.WriteInt64(numbers.parts);
  writer.WriteIndices({2, 0});  // that select each kernel
  writer.WriteUint64(1);        // values with a test of the ranking
  writer.WriteUint64(1);        // numbers of columns
  writer.WriteInt64(4);
  writer.WriteUint64(1);  // metrics
  writer.WriteString("accuracy");
  writer.WriteDoubles(numbers.tested);
  writer.WriteString("state");
  return FramePayload("MRCRCKPT", 9, writer.bytes() + rest);
}

TEST(RecipeProgressTest, SavedFormIsThatOfTheFormat) {
  const std::string bytes = EncodedCheckpoint({});
  const auto progress = DecodeProgress(bytes, "version", kPhases);
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->best, -1);
  EXPECT_EQ(progress->metrics[0].at("accuracy"), (std::vector<double>{0.5, 0.75}));
  EXPECT_EQ(progress->held_out[0].rows, 3);
  EXPECT_EQ(progress->others[0].witness, "other witness");
  EXPECT_EQ(progress->selection.trainings, 2);
  EXPECT_EQ(progress->selection.selected, (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(progress->ranking_tests[0].at(4).at("accuracy"), (std::vector<double>{0.75}));
  EXPECT_EQ(progress->run_state, "state");
  EXPECT_EQ(EncodeProgress(*progress, progress->run_state, progress->seconds_used, "version"),
            bytes);
}

TEST(RecipeProgressTest, StateAndSecondsOfTheMomentAreWritten) {
  RecipeProgress progress;
  progress.run_state = "before";
  progress.seconds_used = 1;
  const auto read = DecodeProgress(EncodeProgress(progress, "now", 2, "version"), "version", 1);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->run_state, "now");
  EXPECT_EQ(read->seconds_used, 2);
}

TEST(RecipeProgressTest, ImpossibleCheckpointsAreDataLoss) {
  const auto code = [](const std::string& bytes) {
    return DecodeProgress(bytes, "version", kPhases).status().code();
  };
  EXPECT_EQ(code(EncodedCheckpoint({})), absl::StatusCode::kOk);
  EXPECT_EQ(code(EncodedCheckpoint({}, "x")), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(EncodedCheckpoint({.phase = kPhases})), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(EncodedCheckpoint({.phase = -1})), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(EncodedCheckpoint({.iterations = -1})), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(EncodedCheckpoint({.parts = 1})), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(EncodedCheckpoint({.accuracies = {}})), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code(EncodedCheckpoint({.tested = {}})), absl::StatusCode::kDataLoss);
  EXPECT_EQ(GetReason(DecodeProgress(EncodedCheckpoint({}), "another", kPhases).status()),
            "OTHER_VERSION");
}

// Cut anywhere before it was framed.
TEST(RecipeProgressTest, EveryTruncationIsDataLoss) {
  const std::string bytes = EncodedCheckpoint({});
  const auto payload = UnframePayload("MRCRCKPT", 9, "checkpoint", bytes);
  ASSERT_TRUE(payload.ok()) << payload.status();
  for (size_t length = 0; length < payload->size(); ++length) {
    const std::string cut = FramePayload("MRCRCKPT", 9, payload->substr(0, length));
    EXPECT_EQ(DecodeProgress(cut, "version", kPhases).status().code(), absl::StatusCode::kDataLoss)
        << length;
  }
}

}  // namespace
}  // namespace mercer
