// Conformance of options: what holds under the defaults holds under every choice, and at both ends of every range.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status/errors.h"
#include "tests/conformance/learner_conformance.h"

namespace mercer {

// The choices of a field that fit the kind of target.
inline std::vector<OptionValue> ChoicesOf(const OptionField& field, TargetKind kind) {
  std::vector<OptionValue> choices;
  for (const std::string& choice : field.choices) {
    if (FitsKind(field, choice, kind == TargetKind::kRegression)) {
      choices.emplace_back(choice);
    }
  }
  return choices;
}

// Allowed values at the ends of a field's range, and all choices.
inline std::vector<OptionValue> ExtremeValues(const OptionField& field, TargetKind kind) {
  const OptionDoc& doc = field.doc;
  const double lowest = doc.min_open ? std::nextafter(doc.min, kInfinity) : doc.min;
  const double highest = doc.max_open ? std::nextafter(doc.max, -kInfinity) : doc.max;
  switch (field.type) {
    case OptionType::kBool:
      return {true, false};
    case OptionType::kInteger:
      return {static_cast<int64_t>(std::max(doc.min, -1e9)),
              static_cast<int64_t>(std::min(doc.max, 1e9))};
    case OptionType::kReal:
      return {lowest, highest};
    case OptionType::kChoice:
      return ChoicesOf(field, kind);
    case OptionType::kText:
      return {std::string(), std::string(1000, 'x')};
    case OptionType::kReals:
      return {std::vector<double>(), std::vector<double>{lowest, highest}};
  }
  return {};
}

// Values that are neither defaults nor ends, of several orders of magnitude.
inline std::vector<OptionValue> InnerValues(const OptionField& field) {
  std::vector<OptionValue> values;
  if (field.type == OptionType::kReal) {
    for (const double value : {1e-6, 0.03, 40.0}) {
      if (value > field.doc.min && value < field.doc.max) {
        values.emplace_back(value);
      }
    }
  }
  return values;
}

// The problem with the kernels that the options are for: of some a single one.
inline TrainingProblem WithKernelsFor(TrainingProblem problem, const OptionValues& options) {
  const auto own_gradient = options.find("own_gradient");
  if (own_gradient != options.end() && own_gradient->second == OptionValue(true)) {
    problem.kernels.resize(1);
  }
  return problem;
}

// One option at a time, then all at their lower and all at their upper ends.
inline std::vector<OptionValues> NonDefaultOptions(const LearnerEntry& entry, TargetKind kind) {
  std::vector<OptionValues> variants;
  OptionValues lower;
  OptionValues upper;
  for (const OptionField& field : entry.fields) {
    std::vector<OptionValue> values = ExtremeValues(field, kind);
    lower[field.name] = values.front();
    upper[field.name] = values.back();
    const std::vector<OptionValue> inner = InnerValues(field);
    values.insert(values.end(), inner.begin(), inner.end());
    for (const OptionValue& value : values) {
      if (value == field.default_value) {
        continue;
      }
      variants.push_back(field.type == OptionType::kChoice
                             ? WithWhatItNeeds(entry, field.name, std::get<std::string>(value))
                             : OptionValues{{field.name, value}});
    }
  }
  variants.push_back(std::move(lower));
  variants.push_back(std::move(upper));
  KeepModelsSmall(entry, variants);
  return variants;
}

// Whether the error is a bad request that names one of the options.
inline bool NamesAnOption(const absl::Status& status, const OptionValues& options) {
  const std::vector<FieldViolation> violations = GetFieldViolations(status);
  return absl::IsInvalidArgument(status) &&
         std::any_of(violations.begin(), violations.end(), [&](const FieldViolation& violation) {
           return options.count(violation.field) > 0;
         });
}

// Whether a number is at the end of its range.
inline bool HasEnd(const LearnerEntry& entry, TargetKind kind, const OptionValues& options) {
  return std::any_of(entry.fields.begin(), entry.fields.end(), [&](const OptionField& field) {
    const bool has_ends = field.type != OptionType::kBool && field.type != OptionType::kChoice;
    const std::vector<OptionValue> ends = ExtremeValues(field, kind);
    const auto set = options.find(field.name);
    return has_ends && set != options.end() &&
           std::find(ends.begin(), ends.end(), set->second) != ends.end();
  });
}

// Only the ends of a range of numbers may be refused.
TEST_P(LearnerConformance, EveryOptionAtItsBoundsTrainsOrNamesTheOption) {
  const TrainingProblem problem = Problem(30, 4);
  std::vector<OptionValues> variants = NonDefaultOptions(entry(), kind());
  variants.emplace_back();
  for (const OptionValues& options : variants) {
    const absl::StatusOr<TrainingOutcome> outcome =
        Train(WithKernelsFor(problem, options), {.options = options, .max_iterations = 300});
    if (outcome.ok()) {
      ExpectFinite(*outcome, OptionText(options));
      EXPECT_TRUE(Values(outcome->point, *problem.tasks[0].inputs).allFinite())
          << OptionText(options);
    } else {
      EXPECT_TRUE(HasEnd(entry(), kind(), options) && NamesAnOption(outcome.status(), options))
          << OptionText(options) << ": " << outcome.status();
    }
  }
}

TEST_P(LearnerConformance, ThreadsAndCachesDoNotChangeTheBitsUnderAnyOptions) {
  TrainingProblem problem = Problem(QuickRows(kSanitized ? 120 : 300), 4);
  PreparedData named = *problem.tasks[0].inputs;
  named.cache_key = "toy rows";
  problem.tasks[0].inputs = std::make_shared<const PreparedData>(std::move(named));
  for (const OptionValues& options : ToRun(NonDefaultOptions(entry(), kind()))) {
    const auto left = [&](int threads, std::shared_ptr<SharedCache> cache) {
      const absl::StatusOr<TrainingOutcome> outcome =
          Train(WithKernelsFor(problem, options), {.options = options,
                                                   .max_iterations = 12,
                                                   .threads = threads,
                                                   .cache = std::move(cache)});
      return outcome.ok() ? Bits(*outcome) : std::string(outcome.status().message());
    };
    const auto cache = std::make_shared<SharedCache>(size_t{1} << 28);
    const std::string one = left(1, nullptr);
    EXPECT_EQ(left(2, nullptr), one) << OptionText(options) << "two threads";
    EXPECT_EQ(left(2, cache), one) << OptionText(options) << "cold cache";
    EXPECT_EQ(left(1, cache), one) << OptionText(options) << "warm cache";
  }
}

TEST_P(LearnerConformance, ResumedRunIsBitIdenticalUnderAnyOptions) {
  for (const OptionValues& options : ToRun(NonDefaultOptions(entry(), kind()))) {
    const TrainingProblem problem = WithKernelsFor(Problem(60, 3), options);
    RunSettings settings;
    settings.options = options;
    settings.relative_gap = 1e-6;
    settings.max_iterations = 40;
    ConformanceObserver observer;
    observer.wants_checkpoints = true;
    const absl::StatusOr<TrainingOutcome> straight = Train(problem, settings, observer);
    const size_t stride = 1 + observer.checkpoints.size() / 10;
    for (size_t i = 0; i < observer.checkpoints.size(); i += stride) {
      settings.state = observer.checkpoints[i];
      const absl::StatusOr<TrainingOutcome> resumed = Train(problem, settings);
      ASSERT_EQ(resumed.ok(), straight.ok()) << OptionText(options) << resumed.status();
      if (straight.ok()) {
        EXPECT_EQ(Bits(*resumed), Bits(*straight))
            << OptionText(options) << "resumed after step " << i + 1;
      }
    }
  }
}

TEST_P(LearnerConformance, LimitsAtTheirBoundsGiveAFiniteModelOrSayThatThereIsNone) {
  const TrainingProblem problem = Problem(40, 2);
  const double most_exact = std::nextafter(0.0, 1.0);
  const int64_t many = kSanitized ? 60 : 300;
  const std::vector<RunSettings> bounds = {
      {.relative_gap = most_exact, .max_iterations = many},
      {.relative_gap = std::nextafter(1.0, 0.0)},
      {.max_iterations = 1},
      {.max_iterations = std::numeric_limits<int64_t>::max()},
      {.relative_gap = most_exact, .max_iterations = many, .max_time = absl::Seconds(1e300)}};
  for (size_t b = 0; b < bounds.size(); ++b) {
    const absl::StatusOr<TrainingOutcome> outcome = Train(problem, bounds[b]);
    if (outcome.ok()) {
      ExpectFinite(*outcome, "bounds " + std::to_string(b));
    } else {
      EXPECT_EQ(GetReason(outcome.status()), "NO_MODEL") << b << ": " << outcome.status();
    }
  }
}

}  // namespace mercer
