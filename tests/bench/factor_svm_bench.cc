// All solvers of an SVM with a kernel of explicit features, on the same factors, each from nothing to the same certified gap.
//
//   factor_svm_bench [--data FILE.csv[.gz]] [--rows N,N,...] [--costs C,C,...] [--gap G] [--limit SECONDS] [--threads N]
//                    [--kernels M] [--landmarks N] [--solvers NAME,NAME,...]
//
// FILE: numbers with a header, the label (> 0 or not) last. Without it: two clouds. The kernel is the sum of M Gaussian kernels of
// bandwidths from 1 to 100, weights 1/M, on N landmarks. A solver that takes longer than the limit is stopped; its time then stands with
// the gap that it had. Wall time; the factors are made once per number of rows and not counted. A ratio is to newton's time.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include <zlib.h>

#include "core/base/numeric/random.h"
#include "core/kernels/lowrank/low_rank_family.h"
#include "core/solvers/factor/coordinate_descent_svm.h"
#include "core/solvers/factor/factor_svm.h"
#include "core/solvers/factor/gfb_svm.h"
#include "core/solvers/factor/interior_point_svm.h"

namespace mercer {
namespace {

struct Settings {
  std::string data;
  std::vector<double> rows = {1e3, 1e4, 1e5};
  std::vector<double> costs = {0.1, 1, 10, 1000};
  double gap = 1e-4;
  double limit = 60;
  int threads = 1;
  int kernels = 10;
  int landmarks = 100;
  std::vector<std::string> solvers = {"newton", "interior_point", "gfb_merged", "gfb",
                                      "coordinate_descent"};
};

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<double> Numbers(const std::string& list) {
  std::vector<double> numbers;
  for (const absl::string_view cell : absl::StrSplit(list, ',')) {
    double number = 0;
    if (absl::SimpleAtod(cell, &number)) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

struct Table {
  RowMatrix features;
  Vector labels;
};

// False when the file is missing.
bool ReadTable(const std::string& path, Table& table) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    return false;
  }
  std::vector<std::vector<double>> rows;
  std::vector<char> line(1 << 16);
  gzgets(file, line.data(), static_cast<int>(line.size()));
  while (gzgets(file, line.data(), static_cast<int>(line.size())) != nullptr) {
    std::vector<double> row = Numbers(line.data());
    if (rows.empty() || row.size() == rows[0].size()) {
      rows.push_back(std::move(row));
    }
  }
  gzclose(file);
  std::vector<Index> order(rows.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<Index>(i);
  }
  RandomStream(1, "factor-svm-bench-rows").Shuffle(order);
  const auto columns = static_cast<Index>(rows[0].size()) - 1;
  table.features.resize(static_cast<Index>(rows.size()), columns);
  table.labels.resize(table.features.rows());
  for (Index i = 0; i < table.features.rows(); ++i) {
    const std::vector<double>& row = rows[static_cast<size_t>(order[static_cast<size_t>(i)])];
    table.features.row(i) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), columns);
    table.labels(i) = row.back() > 0 ? 1.0 : -1.0;
  }
  return true;
}

// Two classes of points, apart in two of twenty columns.
Table MakeClouds(Index rows) {
  Table table{RowMatrix(rows, 20), Vector(rows)};
  RandomStream random(1, "factor-svm-bench-clouds");
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < 20; ++j) {
      table.features(i, j) = random.Normal() + (j < 2 && i % 2 == 1 ? 2.0 : 0.0);
    }
    table.labels(i) = i % 2 == 1 ? 1.0 : -1.0;
  }
  return table;
}

std::shared_ptr<PreparedData> Prepare(const Table& table, Index rows) {
  RowMatrix x = table.features.topRows(rows);
  x.rowwise() -= x.colwise().mean().eval();
  for (Index j = 0; j < x.cols(); ++j) {
    x.col(j) /= std::max(1e-300, std::sqrt(x.col(j).squaredNorm() / static_cast<double>(rows)));
  }
  auto data = std::make_shared<PreparedData>();
  data->rows = rows;
  PreparedBlock block;
  block.name = "features";
  for (Index j = 0; j < x.cols(); ++j) {
    block.sources.push_back("x" + std::to_string(j + 1));
  }
  block.values = SharedMatrix(std::move(x));
  data->blocks.push_back(std::move(block));
  return data;
}

std::unique_ptr<SvmSolver> MakeSolver(const std::string& name, const FactoredKernel& kernel,
                                      double gap) {
  if (name == "interior_point") {
    return std::make_unique<InteriorPointSvmSolver>(kernel, gap);
  }
  if (name == "gfb" || name == "gfb_merged") {
    return std::make_unique<GfbSvmSolver>(kernel, gap, GfbOptions{.merged = name == "gfb_merged"});
  }
  if (name == "coordinate_descent") {
    return std::make_unique<CoordinateDescentSvmSolver>(kernel, gap);
  }
  return std::make_unique<FactorSvmSolver>(kernel, gap);
}

// Sets the gap of a solver that was stopped: that of its best feasible dual.
double GapOf(const SvmSolver& solver, const KernelOperator& kernel, const SvmProblem& problem,
             RunContext& context) {
  if (solver.done()) {
    return solver.certificate().RelativeGap();
  }
  Vector dual = solver.dual();
  problem.loss->RepairDual(problem.targets, problem.costs, true, dual);
  Matrix scores(dual.size(), 1);
  if (!kernel.Apply(dual, scores, context).ok()) {
    return kInfinity;
  }
  const auto certificate =
      CertifySvm(*problem.loss, problem.targets, problem.costs, dual, scores.col(0));
  return certificate.ok() ? certificate->RelativeGap() : kInfinity;
}

void Measure(const Settings& settings, const KernelOperator& kernel, const Vector& labels,
             double cost) {
  RunContext context(CancellationToken(), settings.threads, nullptr);
  const SvmProblem problem{*MakeLoss(LossKind::kHinge), labels,
                           Vector::Constant(labels.size(), cost)};
  double newton = 0;
  for (const std::string& name : settings.solvers) {
    const std::unique_ptr<SvmSolver> solver = MakeSolver(name, *kernel.Factored(), settings.gap);
    const double start = Seconds();
    bool ok = solver->Start(problem, {}, context).ok();
    while (ok && !solver->done() && Seconds() - start < settings.limit) {
      ok = solver->Step(1, context).ok();
    }
    const double seconds = Seconds() - start;
    newton = name == "newton" ? seconds : newton;
    const char* end = solver->stop() == SvmStop::kRelativeGap
                          ? ""
                          : (solver->done() ? "  ended for precision" : "  stopped at the limit");
    std::printf(
        "%7td rows  r %4td  C %-6g %-18s %9.4f s  ratio %8.2f  iterations %6lld  gap %.2e%s%s\n",
        kernel.size(), kernel.Factored()->rows.cols(), cost, name.c_str(), seconds,
        newton > 0 ? seconds / newton : 0.0, static_cast<long long>(solver->iterations()),
        GapOf(*solver, kernel, problem, context), end, ok ? "" : "  FAILED");
    std::fflush(stdout);
  }
}

int Run(const Settings& settings) {
  Table table;
  const bool given = !settings.data.empty();
  if (given && !ReadTable(settings.data, table)) {
    std::fprintf(stderr, "%s cannot be read\n", settings.data.c_str());
    return 1;
  }
  std::printf(
      "%s, %d Gaussian kernels of bandwidths 1..100 and weight 1/%d, %d landmarks, relative gap "
      "%g, "
      "%d threads, limit %g s\n",
      given ? settings.data.c_str() : "clouds", settings.kernels, settings.kernels,
      settings.landmarks, settings.gap, settings.threads, settings.limit);
  RunContext context(CancellationToken(), settings.threads, nullptr);
  for (const double wanted : settings.rows) {
    auto rows = static_cast<Index>(wanted);
    if (!given) {
      table = MakeClouds(rows);
    }
    rows = std::min(rows, table.features.rows());
    const std::shared_ptr<PreparedData> data = Prepare(table, rows);
    std::vector<KernelSpec> kernels;
    for (int k = 0; k < settings.kernels; ++k) {
      KernelSpec spec;
      spec.bandwidth = std::pow(100.0, k / std::max(1.0, settings.kernels - 1.0));
      kernels.push_back(spec);
    }
    const auto landmarks = SelectLandmarks(*data, kernels, LandmarkSelection::kUniform,
                                           settings.landmarks, 1, context);
    if (!landmarks.ok()) {
      return 1;
    }
    const auto family = LowRankKernelFamily::Make(*data, *landmarks, kernels, {}, context);
    if (!family.ok()) {
      return 1;
    }
    const auto kernel =
        (*family)->Combine(Vector::Constant(settings.kernels, 1.0 / settings.kernels), context);
    for (const double cost : settings.costs) {
      Measure(settings, **kernel, table.labels.head(rows), cost);
    }
  }
  return 0;
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) {
  mercer::Settings settings;
  const std::map<std::string, std::function<void(const std::string&)>> options = {
      {"--data", [&](const std::string& value) { settings.data = value; }},
      {"--rows", [&](const std::string& value) { settings.rows = mercer::Numbers(value); }},
      {"--costs", [&](const std::string& value) { settings.costs = mercer::Numbers(value); }},
      {"--gap", [&](const std::string& value) { settings.gap = std::atof(value.c_str()); }},
      {"--limit", [&](const std::string& value) { settings.limit = std::atof(value.c_str()); }},
      {"--threads", [&](const std::string& value) { settings.threads = std::atoi(value.c_str()); }},
      {"--kernels", [&](const std::string& value) { settings.kernels = std::atoi(value.c_str()); }},
      {"--landmarks",
       [&](const std::string& value) { settings.landmarks = std::atoi(value.c_str()); }},
      {"--solvers",
       [&](const std::string& value) { settings.solvers = absl::StrSplit(value, ','); }}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto option = options.find(argv[i]);
    if (option == options.end()) {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return 1;
    }
    option->second(argv[i + 1]);
  }
  return mercer::Run(settings);
}
