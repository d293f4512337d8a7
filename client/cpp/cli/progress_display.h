// How the progress of a job looks.
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"

#include "client/cpp/cli/session.h"
#include "mercer/v1/job.pb.h"

namespace mercer::client {

// Estimates the time that a training still takes from its events. What came before the first event
// that says how far it is (reading data, computing kernels) tells nothing about the speed of the
// rest, so the estimate begins with the second one.
class RemainingTime {
 public:
  // The time from `event` to the end; none without a basis.
  std::optional<absl::Duration> Hear(const v1::ProgressEvent& event);

 private:
  struct Point {
    double elapsed_seconds;
    double fraction;
  };
  std::optional<Point> first_;  // of this attempt
};

// One line for a log: iteration, objective, gap, kernels, time since the attempt began, `remaining`.
std::string FormatEventLine(const v1::ProgressEvent& event,
                            std::optional<absl::Duration> remaining);

// The line that is drawn again and again, exactly `terminal.width` - 1 cells or fewer. The bar
// fills with the logarithm of the gap: from 1 (empty) to `target_gap` (full).
std::string FormatProgressBar(const v1::ProgressEvent& event,
                              std::optional<absl::Duration> remaining, double target_gap,
                              const Terminal& terminal);

// Share of the way of a gap from 1 to `target_gap` on a logarithmic scale, in [0, 1].
double GapShare(double gap, double target_gap);

// Shows the events of one job on the session's output: a bar on a terminal, a line for each event
// elsewhere, JSON with --json.
class ProgressDisplay {
 public:
  ProgressDisplay(Session& session, double target_gap)
      : session_(session), target_gap_(target_gap) {}

  void Show(const v1::ProgressEvent& event);
  // A remark that stays, above the bar.
  void Note(const std::string& text);
  // Leaves the last state of the bar on the screen.
  void Finish();

 private:
  Session& session_;
  double target_gap_;
  RemainingTime remaining_;
  bool bar_drawn_ = false;
};

}  // namespace mercer::client
