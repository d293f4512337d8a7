#include "client/cpp/cli/progress_display.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cpp/cli/text.h"
#include "client/cpp/field_text.h"

namespace mercer::client {
namespace {

constexpr int kBarWidth = 24;
constexpr int kNarrowBarWidth = 10;
constexpr int kTinyBarWidth = 6;
constexpr char kClearLine[] = "\r\x1b[2K";

// A smaller step says nothing about the speed.
constexpr double kSmallestStep = 0.01;

// Adds what time has passed and what is left.
void AddTimes(const v1::TrainingProgress& progress, std::optional<absl::Duration> remaining,
              std::vector<std::string>& parts) {
  parts.push_back(FormatElapsed(ToDuration(progress.elapsed())));
  if (remaining.has_value()) {
    parts.push_back(absl::StrCat("about ", FormatElapsed(*remaining), " left"));
  }
}

std::string GapText(const v1::TrainingProgress& progress) {
  return progress.has_relative_gap() ? FormatGap(progress.relative_gap()) : "-";
}

std::string Objective(const v1::TrainingProgress& progress) {
  return progress.has_primal() ? FormatNumber(progress.primal()) : "-";
}

std::string DescribeChange(const v1::StateChange& change) {
  std::string text = EnumWord(*v1::JobState_descriptor(), change.state());
  if (!change.reason().empty()) {
    absl::StrAppend(&text, " (", change.reason(), ")");
  }
  if (!change.model().empty()) {
    absl::StrAppend(&text, ": ", change.model());
  }
  return text;
}

// "factor 42 %" from within a stage that knows its end, else nothing.
void AddStage(const v1::TrainingProgress& progress, std::vector<std::string>& parts) {
  if (progress.has_stage_fraction()) {
    parts.push_back(absl::StrCat(
        progress.stage(), " ",
        static_cast<int>(100 * std::clamp(progress.stage_fraction(), 0.0, 1.0)), " %"));
  }
}

// "5 groups", "1 group"
std::string Counted(int64_t count, const std::string& what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// "31 kernels in 5 groups"
void AddKernels(const v1::TrainingProgress& progress, std::vector<std::string>& parts) {
  if (progress.active_kernels() > 0) {
    const int64_t groups = progress.active_groups();
    parts.push_back(Counted(progress.active_kernels(), "kernel") +
                    (groups > 0 ? " in " + Counted(groups, "group") : ""));
  }
}

std::string DescribeProgress(const v1::ProgressEvent& event,
                             std::optional<absl::Duration> remaining) {
  const v1::TrainingProgress& progress = event.progress();
  std::vector<std::string> parts = {absl::StrCat("iteration ", event.iteration())};
  AddStage(progress, parts);
  parts.push_back(absl::StrCat("objective ", Objective(progress)));
  parts.push_back(absl::StrCat("gap ", GapText(progress)));
  AddKernels(progress, parts);
  AddTimes(progress, remaining, parts);
  return absl::StrCat(progress.phase(), progress.phase().empty() ? "" : ": ",
                      absl::StrJoin(parts, "  "));
}

}  // namespace

double GapShare(double gap, double target_gap) {
  if (!(gap > 0.0)) {
    return gap == 0.0 ? 1.0 : 0.0;
  }
  return std::clamp(std::log(gap) / std::log(target_gap), 0.0, 1.0);
}

std::optional<absl::Duration> RemainingTime::Hear(const v1::ProgressEvent& event) {
  if (!event.has_progress()) {
    first_.reset();  // a new attempt, or the end
    return std::nullopt;
  }
  const double elapsed = absl::ToDoubleSeconds(ToDuration(event.progress().elapsed()));
  const double fraction = event.progress().fraction();
  if (!first_.has_value()) {
    first_ = {elapsed, fraction};
    return std::nullopt;
  }
  const double step = fraction - first_->fraction;
  if (!(step >= kSmallestStep) || !(elapsed > first_->elapsed_seconds) || fraction >= 1.0) {
    return std::nullopt;
  }
  return absl::Seconds((elapsed - first_->elapsed_seconds) * (1.0 - fraction) / step);
}

std::string FormatEventLine(const v1::ProgressEvent& event,
                            std::optional<absl::Duration> remaining) {
  const std::string head = Pad(absl::StrCat("[", event.sequence(), "]"), 6);
  switch (event.kind_case()) {
    case v1::ProgressEvent::kStateChange:
      return head + DescribeChange(event.state_change());
    case v1::ProgressEvent::kProgress:
      return head + DescribeProgress(event, remaining);
    case v1::ProgressEvent::kResumed:
      return absl::StrCat(head, "resumed from iteration ", event.resumed().from_iteration());
    default:
      return head + "an event that this program does not know";
  }
}

std::string FormatProgressBar(const v1::ProgressEvent& event,
                              std::optional<absl::Duration> remaining, double target_gap,
                              const Terminal& terminal) {
  const v1::TrainingProgress& progress = event.progress();
  const double share = progress.has_relative_gap() ? GapShare(progress.relative_gap(), target_gap)
                                                   : progress.fraction();
  const int bar_width = terminal.width >= 100  ? kBarWidth
                        : terminal.width >= 50 ? kNarrowBarWidth
                                               : kTinyBarWidth;
  std::vector<std::string> parts;
  AddStage(progress, parts);
  parts.push_back(absl::StrCat("gap ", GapText(progress), " → ", FormatGap(target_gap)));
  parts.push_back(absl::StrCat("objective ", Objective(progress)));
  AddKernels(progress, parts);
  AddTimes(progress, remaining, parts);
  std::string text = absl::StrJoin(parts, "  ");
  const std::string phase = progress.phase().empty() ? "train" : progress.phase();
  const int room = terminal.width - 1 - DisplayWidth(phase) - bar_width - 4;
  if (DisplayWidth(text) > room) {
    text = Pad(text, std::max(room, 0));
  }
  return absl::StrCat(phase, " ▕", Paint(terminal, Colour::kGreen, Bar(share, bar_width)), "▏ ",
                      text);
}

void ProgressDisplay::Show(const v1::ProgressEvent& event) {
  const std::optional<absl::Duration> remaining = remaining_.Hear(event);
  if (session_.json()) {
    session_.PrintJson(event);
  } else if (!session_.terminal().interactive) {
    session_.out() << FormatEventLine(event, remaining) << std::endl;
  } else if (event.has_progress()) {
    session_.out() << kClearLine
                   << FormatProgressBar(event, remaining, target_gap_, session_.terminal())
                   << std::flush;
    bar_drawn_ = true;
  } else {
    Finish();
    session_.out() << Paint(session_.terminal(), Colour::kDim,
                            event.has_resumed() ? absl::StrCat("resumed from iteration ",
                                                               event.resumed().from_iteration())
                                                : DescribeChange(event.state_change()))
                   << std::endl;
  }
}

void ProgressDisplay::Note(const std::string& text) {
  Finish();
  session_.err() << text << std::endl;
}

void ProgressDisplay::Finish() {
  if (bar_drawn_) {
    session_.out() << std::endl;
    bar_drawn_ = false;
  }
}

}  // namespace mercer::client
