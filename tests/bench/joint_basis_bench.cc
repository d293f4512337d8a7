// The joint basis of Gaussian kernels of many widths on one table: what it takes, how many columns it has, and what it loses of the traces
// over all rows. One thread, processor time.
//
//   joint_basis_bench FILE.csv[.gz] [--rows N] [--kernels M] [--landmarks N] [--narrow W] [--wide W] [--tolerance T] [--seeds N]
//
// FILE: numbers with a header, the label last; columns are standardised and rows shuffled. Widths from --narrow to --wide in equal ratios;
// landmarks are rows, drawn uniformly. Of every seed it prints the rank, the share that is lost, how many kernels the basis is found for,
// and the seconds of the whole family.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <time.h>
#include <vector>

#include "core/kernels/lowrank/low_rank_family.h"
#include "tests/bench/bench_tables.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

struct Settings {
  Index rows = 1000000;
  int kernels = 20;
  Index landmarks = 100;
  double narrow = 0.3;
  double wide = 30;
  double tolerance = 1e-8;
  int seeds = 3;
};

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

absl::Status Measure(const Settings& settings, const BenchTable& table) {
  const PreparedData inputs = Prepared(table.features);
  std::vector<KernelSpec> kernels;
  for (int k = 0; k < settings.kernels; ++k) {
    const double place = k / std::max(1.0, settings.kernels - 1.0);
    kernels.push_back(Gaussian(settings.narrow * std::pow(settings.wide / settings.narrow, place)));
  }
  RunContext context;
  for (int seed = 0; seed < settings.seeds; ++seed) {
    LowRankOptions options;
    options.basis.tolerance = settings.tolerance;
    options.basis.seed = static_cast<uint64_t>(seed);
    options.basis.max_columns =
        LargestJointRank(settings.kernels * settings.landmarks, settings.landmarks,
                         settings.kernels, 1, settings.tolerance);
    MERCER_ASSIGN_OR_RETURN(const Landmarks landmarks,
                            SelectLandmarks(inputs, kernels, LandmarkSelection::kUniform,
                                            settings.landmarks, options.basis.seed, context));
    const double start = ThreadSeconds();
    MERCER_ASSIGN_OR_RETURN(
        const std::unique_ptr<LowRankKernelFamily> family,
        LowRankKernelFamily::Make(inputs, landmarks, kernels, options, context));
    const double seconds = ThreadSeconds() - start;
    std::printf("rows %td seed %d: rank %td lost %.2e basis of %td kernels, %.2f s\n", inputs.rows,
                seed, family->joint_rank(), family->dropped_share(),
                static_cast<Index>(family->basis_kernels().size()), seconds);
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) {
  mercer::Settings settings;
  const std::map<std::string, std::function<void(const char*)>> options = {
      {"--rows", [&](const char* value) { settings.rows = std::atoi(value); }},
      {"--kernels", [&](const char* value) { settings.kernels = std::atoi(value); }},
      {"--landmarks", [&](const char* value) { settings.landmarks = std::atoi(value); }},
      {"--narrow", [&](const char* value) { settings.narrow = std::atof(value); }},
      {"--wide", [&](const char* value) { settings.wide = std::atof(value); }},
      {"--tolerance", [&](const char* value) { settings.tolerance = std::atof(value); }},
      {"--seeds", [&](const char* value) { settings.seeds = std::atoi(value); }}};
  for (int i = 2; i + 1 < argc; i += 2) {
    const auto option = options.find(argv[i]);
    if (option == options.end()) {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return 2;
    }
    option->second(argv[i + 1]);
  }
  mercer::BenchTable table;
  if (argc > 1) {
    table = mercer::ReadBenchTable(argv[1], settings.rows);
  }
  if (table.labels.size() == 0) {
    std::fputs("usage: joint_basis_bench FILE.csv[.gz] [--OPTION VALUE ...]; no rows were read\n",
               stderr);
    return 2;
  }
  const absl::Status status = mercer::Measure(settings, table);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
