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
  progress.mutable_remaining()->set_seconds(8);
  return event;
}

TEST(ProgressDisplayTest, GapIsShownOnALogarithmicScale) {
  EXPECT_EQ(GapShare(1.0, 1e-4), 0.0);
  EXPECT_DOUBLE_EQ(GapShare(1e-2, 1e-4), 0.5);
  EXPECT_EQ(GapShare(1e-5, 1e-4), 1.0);
  EXPECT_EQ(GapShare(20.0, 1e-4), 0.0);
  EXPECT_EQ(GapShare(0.0, 1e-4), 1.0);
}

TEST(ProgressDisplayTest, BarOfAWideTerminal) {
  EXPECT_EQ(FormatProgressBar(Progress(), 1e-3, {.width = 120}),
            "train ▕████████████            ▏ gap 3.2e-02 → 1.0e-03  objective 1234.5  31 kernels  "
            "12 s  about 8.0 s left");
}

TEST(ProgressDisplayTest, BarNeverExceedsTheTerminal) {
  for (const int width : {10, 20, 40, 60, 80, 99, 100, 120}) {
    const int shown = DisplayWidth(FormatProgressBar(Progress(), 1e-3, {.width = width}));
    EXPECT_LT(shown, std::max(width, 20)) << "width " << width;
  }
  EXPECT_EQ(FormatProgressBar(Progress(), 1e-3, {.width = 60}),
            "train ▕█████     ▏ gap 3.2e-02 → 1.0e-03  objective 1234.5…");
}

TEST(ProgressDisplayTest, BarIsGreenOnlyWithColour) {
  const std::string text = FormatProgressBar(Progress(), 1e-3, {.colour = true, .width = 120});
  EXPECT_NE(text.find("\x1b[32m████████████"), std::string::npos);
  EXPECT_EQ(FormatProgressBar(Progress(), 1e-3, {.width = 120}).find('\x1b'), std::string::npos);
}

TEST(ProgressDisplayTest, BarFollowsTheShareUntilThereIsAGap) {
  v1::ProgressEvent event = Progress();
  event.mutable_progress()->clear_relative_gap();
  event.mutable_progress()->clear_primal();
  event.mutable_progress()->clear_remaining();
  event.mutable_progress()->set_active_kernels(0);
  event.mutable_progress()->set_fraction(0.25);
  EXPECT_EQ(FormatProgressBar(event, 1e-3, {.width = 80}),
            "train ▕██▌       ▏ gap - → 1.0e-03  objective -  12 s");
}

TEST(ProgressDisplayTest, OneLineForEachEvent) {
  EXPECT_EQ(FormatEventLine(Progress()),
            "[7]   train: iteration 14  objective 1234.5  gap 3.2e-02  31 kernels  12 s  about "
            "8.0 s left");
  v1::ProgressEvent event;
  event.set_sequence(123);
  event.mutable_state_change()->set_state(v1::JOB_STATE_SUCCEEDED);
  event.mutable_state_change()->set_model("models/m/versions/1");
  EXPECT_EQ(FormatEventLine(event), "[123] succeeded: models/m/versions/1");
  event.mutable_state_change()->clear_model();
  event.mutable_state_change()->set_state(v1::JOB_STATE_QUEUED);
  event.mutable_state_change()->set_reason("WORKER_LOST");
  EXPECT_EQ(FormatEventLine(event), "[123] queued (WORKER_LOST)");
  event.mutable_resumed()->set_from_iteration(40);
  EXPECT_EQ(FormatEventLine(event), "[123] resumed from iteration 40");
}

TEST(ProgressDisplayTest, WritesLinesJsonOrABar) {
  std::ostringstream lines;
  Session plain(lines, lines);
  ProgressDisplay(plain, 1e-3).Show(Progress());
  EXPECT_EQ(lines.str(), FormatEventLine(Progress()) + "\n");

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
  const std::string bar = "\r\x1b[2K" + FormatProgressBar(Progress(), 1e-3, terminal.terminal());
  EXPECT_EQ(screen.str(), bar + bar + "\n");
}

}  // namespace
}  // namespace mercer::client
