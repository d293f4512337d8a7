// Filters of textures that are learnt, beside those selected among many that are drawn once: one thread, processor time.
//
//   selection_bench FOLDER [patches]
//
// FOLDER holds D2.pgm, D29.pgm and D92.pgm of the Brodatz album, 300 x 300 pixels. So many random patches (1000) of each left half are
// learnt from, as many of each right half tested on; the problem is that of experiments/study_textures.py with the patches' mean kept.
// For each selection it prints the most filters allowed, those listed, rounds, processor seconds, and the share of test patches that are
// right.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <time.h>
#include <utility>
#include <vector>

#include "core/base/numeric/random.h"
#include "core/learners/registry.h"
#include "core/training/model/predictor.h"
#include "tests/support/learner_runs.h"

namespace mercer {
namespace {

constexpr Index kPatch = 16;
constexpr Index kSide = 300;
const char* const kFiles[] = {"D2.pgm", "D29.pgm", "D92.pgm"};

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Patches of all textures, those of one after the other, from columns [first, first + kSide / 2).
RowMatrix Patches(const std::string& folder, Index count, Index first) {
  RowMatrix patches(3 * count, kPatch * kPatch);
  RandomStream random(static_cast<uint64_t>(first), "selection-bench");
  Index next = 0;
  for (const char* name : kFiles) {
    std::ifstream file(folder + "/" + name, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    if (static_cast<Index>(bytes.size()) < kSide * kSide) {
      std::fprintf(stderr, "%s: not a picture of 300 x 300 pixels\n", name);
      std::exit(2);
    }
    const std::string pixels = bytes.substr(bytes.size() - static_cast<size_t>(kSide * kSide));
    for (Index p = 0; p < count; ++p, ++next) {
      const auto row = static_cast<Index>(random.Uniform() * (kSide - kPatch + 1));
      const auto column = first + static_cast<Index>(random.Uniform() * (kSide / 2 - kPatch + 1));
      for (Index i = 0; i < kPatch * kPatch; ++i) {
        const Index place = (row + i / kPatch) * kSide + column + i % kPatch;
        patches(next, i) = static_cast<unsigned char>(pixels[static_cast<size_t>(place)]);
      }
    }
  }
  return patches;
}

// +1 in the column of a row's texture, -1 elsewhere.
Matrix Targets(Index count) {
  Matrix targets = Matrix::Constant(3 * count, 3, -1.0);
  for (Index i = 0; i < targets.rows(); ++i) {
    targets(i, i / count) = 1.0;
  }
  return targets;
}

double Accuracy(const Matrix& values, Index count) {
  Index right = 0;
  for (Index i = 0; i < values.rows(); ++i) {
    Index largest = 0;
    values.row(i).maxCoeff(&largest);
    right += static_cast<Index>(largest == i / count);
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(values.rows());
}

double MetricOf(const TrainingOutcome& outcome, const std::string& name) {
  for (const Metric& metric : outcome.metrics) {
    if (metric.name == name) {
      return metric.value;
    }
  }
  return 0;
}

void Measure(const TrainingProblem& problem, const RowMatrix& test, const std::string& selection,
             int64_t most) {
  const OptionValues options = {{"family", "gabor"},         {"selection", selection},
                                {"candidates", int64_t{81}}, {"max_groups", most},
                                {"loss", "squared_hinge"},   {"penalty_shape", "flat"},
                                {"penalty_q", 1.0},          {"lambda", 1.0},
                                {"lambda_unit", "absolute"}, {"subtract_patch_mean", false}};
  const double start = ThreadSeconds();
  const absl::StatusOr<TrainingOutcome> outcome =
      RunToGap(*FindLearner("infinite_features"), options, problem);
  const double seconds = ThreadSeconds() - start;
  RunContext context;
  const absl::StatusOr<Matrix> values =
      outcome.ok() ? EvaluateFunction(outcome->point.function, Prepared(test), context)
                   : absl::StatusOr<Matrix>(outcome.status());
  if (!values.ok()) {
    std::fprintf(stderr, "%s\n", std::string(values.status().message()).c_str());
    return;
  }
  std::printf("%-10s %5d %6.0f %6.0f %8.1f %9.2f\n", selection.c_str(), static_cast<int>(most),
              MetricOf(*outcome, "features.listed"), MetricOf(*outcome, "features.rounds"), seconds,
              Accuracy(*values, test.rows() / 3));
  std::fflush(stdout);
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) {
  using mercer::Index;
  if (argc < 2) {
    std::fputs("usage: selection_bench FOLDER [patches]\n", stderr);
    return 2;
  }
  const Index patches = argc > 2 ? std::atoi(argv[2]) : 1000;
  mercer::TrainingProblem problem =
      mercer::MakeProblem(mercer::TargetKind::kClassification, mercer::Patches(argv[1], patches, 0),
                          mercer::Targets(patches), {});
  problem.relative_gap = 1e-3;
  const mercer::RowMatrix test = mercer::Patches(argv[1], patches, mercer::kSide / 2);
  std::puts("selection   most listed rounds  seconds  accuracy");
  for (const int64_t most : {81, 3000}) {
    mercer::Measure(problem, test, "generated", most);
    mercer::Measure(problem, test, "selected", most);
  }
  return 0;
}
