#include "client/cpp/cli/progress_display.h"

#include <sstream>

#include <gtest/gtest.h>

#include "client/cpp/cli/text.h"

namespace mercer::client {
namespace {

v1::ProgressEvent Progress() {
  v1::ProgressEvent event;
  event.set_sequence(7);
  event.set_iteration(14);
  v1::TrainingProgress& progress = *event.mutable_progress();
  progress.set_phase("train");
  progress.set_primal(1234.5);
  progress.set_relative_gap(0.0316227766);
  progress.set_active_kernels(31);
  progress.mutable_elapsed()->set_seconds(12);
  return event;
}

constexpr absl::Duration kRemaining = absl::Seconds(8);

v1::ProgressEvent At(double seconds, double fraction) {
  v1::ProgressEvent event = Progress();
  event.mutable_progress()->mutable_elapsed()->set_seconds(static_cast<int64_t>(seconds));
  event.mutable_progress()->set_fraction(fraction);
  event.mutable_progress()->mutable_remaining()->set_seconds(600);
  return event;
}

TEST(RemainingTimeTest, CountsFromTheFirstEventNotFromTheBeginning) {
  RemainingTime remaining;
  // 15 seconds of kernels, then 10 % in two seconds.
  EXPECT_EQ(remaining.Hear(At(15, 0.02)), std::nullopt);
  EXPECT_EQ(remaining.Hear(At(16, 0.025)), std::nullopt);
  ASSERT_TRUE(remaining.Hear(At(17, 0.12)).has_value());
  EXPECT_NEAR(absl::ToDoubleSeconds(*remaining.Hear(At(17, 0.12))), 2.0 * 0.88 / 0.1, 1e-6);
  EXPECT_EQ(remaining.Hear(At(30, 1.0)), std::nullopt);
}

TEST(RemainingTimeTest, BeginsAnewWithEveryAttempt) {
  RemainingTime remaining;
  remaining.Hear(At(0, 0.0));
  EXPECT_TRUE(remaining.Hear(At(10, 0.5)).has_value());
  v1::ProgressEvent resumed;
  resumed.mutable_resumed()->set_from_iteration(3);
  EXPECT_EQ(remaining.Hear(resumed), std::nullopt);
  EXPECT_EQ(remaining.Hear(At(1, 0.6)), std::nullopt);
  EXPECT_TRUE(remaining.Hear(At(2, 0.7)).has_value());
}

TEST(ProgressDisplayTest, GapIsShownOnALogarithmicScale) {
  EXPECT_EQ(GapShare(1.0, 1e-4), 0.0);
  EXPECT_DOUBLE_EQ(GapShare(1e-2, 1e-4), 0.5);
  EXPECT_EQ(GapShare(1e-5, 1e-4), 1.0);
  EXPECT_EQ(GapShare(20.0, 1e-4), 0.0);
  EXPECT_EQ(GapShare(0.0, 1e-4), 1.0);
}

TEST(ProgressDisplayTest, BarOfAWideTerminal) {
  EXPECT_EQ(FormatProgressBar(Progress(), kRemaining, 1e-3, {.width = 120}),
            "train ▕████████████            ▏ gap 3.2e-02 → 1.0e-03  objective 1234.5  31 kernels  "
            "12 s  about 8.0 s left");
}

TEST(ProgressDisplayTest, BarNeverExceedsTheTerminal) {
  for (const int width : {10, 20, 40, 60, 80, 99, 100, 120}) {
    const int shown =
        DisplayWidth(FormatProgressBar(Progress(), kRemaining, 1e-3, {.width = width}));
    EXPECT_LT(shown, std::max(width, 20)) << "width " << width;
  }
  EXPECT_EQ(FormatProgressBar(Progress(), kRemaining, 1e-3, {.width = 60}),
            "train ▕█████     ▏ gap 3.2e-02 → 1.0e-03  objective 1234.5…");
}

TEST(ProgressDisplayTest, FortyColumnsHoldTheGapAndItsGoal) {
  EXPECT_EQ(FormatProgressBar(Progress(), kRemaining, 1e-3, {.width = 40}),
            "train ▕███   ▏ gap 3.2e-02 → 1.0e-03  …");
}

TEST(ProgressDisplayTest, BarIsGreenOnlyWithColour) {
  const std::string text =
      FormatProgressBar(Progress(), kRemaining, 1e-3, {.colour = true, .width = 120});
  EXPECT_NE(text.find("\x1b[32m████████████"), std::string::npos);
  EXPECT_EQ(FormatProgressBar(Progress(), kRemaining, 1e-3, {.width = 120}).find('\x1b'),
            std::string::npos);
}

TEST(ProgressDisplayTest, BarFollowsTheShareUntilThereIsAGap) {
  v1::ProgressEvent event = Progress();
  event.mutable_progress()->clear_relative_gap();
  event.mutable_progress()->clear_primal();
  event.mutable_progress()->set_active_kernels(0);
  event.mutable_progress()->set_fraction(0.25);
  EXPECT_EQ(FormatProgressBar(event, std::nullopt, 1e-3, {.width = 80}),
            "train ▕██▌       ▏ gap - → 1.0e-03  objective -  12 s");
}

TEST(ProgressDisplayTest, KernelsInGroupsAreCountedByBoth) {
  v1::ProgressEvent event = Progress();
  event.mutable_progress()->set_active_groups(5);
  EXPECT_NE(FormatEventLine(event, kRemaining).find("  31 kernels in 5 groups  "),
            std::string::npos);
  EXPECT_NE(FormatProgressBar(event, kRemaining, 1e-3, {.width = 120}).find("31 kernels in 5"),
            std::string::npos);
  event.mutable_progress()->set_active_kernels(1);
  event.mutable_progress()->set_active_groups(1);
  EXPECT_NE(FormatEventLine(event, kRemaining).find("  1 kernel in 1 group  "), std::string::npos);
}

TEST(ProgressDisplayTest, StagesThatKnowTheirEndShowTheirShare) {
  v1::ProgressEvent event = Progress();
  event.mutable_progress()->set_stage("factor");
  event.mutable_progress()->set_stage_fraction(0.429);
  EXPECT_EQ(
      FormatEventLine(event, kRemaining),
      "[7]   train: iteration 14  factor 42 %  objective 1234.5  gap 3.2e-02  31 kernels  12 s  "
      "about 8.0 s left");
  EXPECT_EQ(FormatProgressBar(event, kRemaining, 1e-3, {.width = 60}),
            "train ▕█████     ▏ factor 42 %  gap 3.2e-02 → 1.0e-03  obj…");
}

TEST(ProgressDisplayTest, OneLineForEachEvent) {
  EXPECT_EQ(FormatEventLine(Progress(), kRemaining),
            "[7]   train: iteration 14  objective 1234.5  gap 3.2e-02  31 kernels  12 s  about "
            "8.0 s left");
  v1::ProgressEvent event;
  event.set_sequence(123);
  event.mutable_state_change()->set_state(v1::JOB_STATE_SUCCEEDED);
  event.mutable_state_change()->set_model("models/m/versions/1");
  EXPECT_EQ(FormatEventLine(event, std::nullopt), "[123] succeeded: models/m/versions/1");
  event.mutable_state_change()->clear_model();
  event.mutable_state_change()->set_state(v1::JOB_STATE_QUEUED);
  event.mutable_state_change()->set_reason("WORKER_LOST");
  EXPECT_EQ(FormatEventLine(event, std::nullopt), "[123] queued (WORKER_LOST)");
  event.mutable_resumed()->set_from_iteration(40);
  EXPECT_EQ(FormatEventLine(event, std::nullopt), "[123] resumed from iteration 40");
}

TEST(ProgressDisplayTest, WritesLinesJsonOrABar) {
  std::ostringstream lines;
  Session plain(lines, lines);
  ProgressDisplay(plain, 1e-3).Show(Progress());
  EXPECT_EQ(lines.str(), FormatEventLine(Progress(), std::nullopt) + "\n");

  std::ostringstream objects;
  Session json(objects, objects);
  json.options().json = true;
  ProgressDisplay(json, 1e-3).Show(Progress());
  EXPECT_EQ(objects.str().find("{\"sequence\":\"7\""), 0u) << objects.str();

  std::ostringstream screen;
  Session terminal(screen, screen);
  terminal.set_terminal({.interactive = true, .width = 120});
  ProgressDisplay display(terminal, 1e-3);
  display.Show(Progress());
  display.Show(Progress());
  display.Finish();
  const std::string bar =
      "\r\x1b[2K" + FormatProgressBar(Progress(), std::nullopt, 1e-3, terminal.terminal());
  EXPECT_EQ(screen.str(), bar + bar + "\n");
}

TEST(ProgressDisplayTest, TheFirstEventHasNoEstimate) {
  std::ostringstream lines;
  Session plain(lines, lines);
  ProgressDisplay display(plain, 1e-3);
  display.Show(At(15, 0.02));
  EXPECT_EQ(lines.str().find("left"), std::string::npos) << lines.str();
  display.Show(At(16, 0.14));
  EXPECT_NE(lines.str().find("16 s  about 7.2 s left"), std::string::npos) << lines.str();
}

}  // namespace
}  // namespace mercer::client
