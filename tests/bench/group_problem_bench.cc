// Two questions about the restricted master of learning with infinitely many features. First, how many passes over the columns its
// solvers need to a relative gap of 1e-6 on fixed problems of 600 rows and 25 pairs of cosine and sine columns of unit norm; an update
// of the Gram matrix counts as one. Second, how long it takes while it grows: pairs, chosen by their products with the slopes, are
// appended one at a time, each followed by a solve from the last point.
//
//   group_problem_bench [--data FILE.csv[.gz]] [--rows N] [--groups N,N,...] [--lambda L] [--bandwidth B] [--candidates K]
//                        [--decrease D] [--gap G] [--threads N] [--precision single|double]
//
// FILE: numbers with a header, the label (> 0 or not) last; columns are standardised. Without it: normal columns, and a label that
// depends on a few of them in a curved way. The masters on the way end at a relative decrease of D, the one at each N of --groups at
// the certified relative gap G. Wall time of appending and of the masters, and the processor's time of both; candidates are not
// counted.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include <zlib.h>

#include "core/base/numeric/random.h"
#include "core/solvers/group/group_problem.h"

namespace mercer {
namespace {

struct Settings {
  std::string data;
  Index rows = 100000;
  std::vector<double> groups = {50, 100};
  double lambda = 10;
  double bandwidth = std::sqrt(15.0);
  int candidates = 20;
  double decrease = 1e-5;
  double gap = 1e-6;
  int threads = 2;
  ColumnPrecision precision = ColumnPrecision::kSingle;
};

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double ProcessorSeconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
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
  Matrix features;
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
  const auto columns = static_cast<Index>(rows[0].size()) - 1;
  table.features.resize(static_cast<Index>(rows.size()), columns);
  table.labels.resize(table.features.rows());
  for (Index i = 0; i < table.features.rows(); ++i) {
    const std::vector<double>& row = rows[static_cast<size_t>(i)];
    table.features.row(i) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), columns);
    table.labels(i) = row.back() > 0 ? 1.0 : -1.0;
  }
  return true;
}

// One point in ten is positive: those far out in three of 22 columns, with some noise.
Table MakePoints(Index rows) {
  Table table{Matrix(rows, 22), Vector(rows)};
  RandomStream random(1, "feature-master-bench-points");
  for (double& value : table.features.reshaped()) {
    value = random.Normal();
  }
  for (Index i = 0; i < rows; ++i) {
    const double size = table.features.row(i).head(3).squaredNorm() + table.features(i, 3);
    table.labels(i) = size + 0.7 * random.Normal() > 6.3 ? 1.0 : -1.0;
  }
  return table;
}

void Standardize(Table& table) {
  table.features.rowwise() -= table.features.colwise().mean().eval();
  for (Index j = 0; j < table.features.cols(); ++j) {
    const double square = table.features.col(j).squaredNorm();
    table.features.col(j) /=
        std::max(1e-300, std::sqrt(square / static_cast<double>(table.features.rows())));
  }
}

Matrix PairOf(const Table& table, const Vector& frequency) {
  const Eigen::ArrayXd angles = table.features * frequency;
  Matrix pair(table.features.rows(), 2);
  pair << angles.cos().matrix(), angles.sin().matrix();
  return pair;
}

// The candidate whose columns have the largest products with the slopes.
Matrix BestPair(const Table& table, const Settings& settings, const Vector& slopes, int round) {
  Matrix best;
  double best_norm = -1;
  for (int k = 0; k < settings.candidates; ++k) {
    RandomStream random(2, "feature-master-bench-candidates",
                        static_cast<uint64_t>(round * settings.candidates + k));
    Vector frequency(table.features.cols());
    for (double& value : frequency) {
      value = random.Normal() / settings.bandwidth;
    }
    Matrix pair = PairOf(table, frequency);
    const double norm = (pair.transpose() * slopes).norm();
    if (norm > best_norm) {
      best_norm = norm;
      best = std::move(pair);
    }
  }
  return best;
}

bool Fails(const absl::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  }
  return !status.ok();
}

struct FixedCase {
  const char* name;
  LossKind loss;
  double lambda;
};

constexpr FixedCase kFixedCases[] = {{"squared hinge, lambda 1", LossKind::kSquaredHinge, 1},
                                     {"squared hinge, lambda 0.1", LossKind::kSquaredHinge, 0.1},
                                     {"logistic, lambda 0.2", LossKind::kLogistic, 0.2},
                                     {"logistic, lambda 0.02", LossKind::kLogistic, 0.02},
                                     {"square, lambda 0.5", LossKind::kSquare, 0.5}};
constexpr GroupMethod kMethods[] = {GroupMethod::kNewton, GroupMethod::kAdmm, GroupMethod::kFista};
constexpr int64_t kMostPasses = 20000;

// Points in the plane, one class inside a noisy ring.
GroupProblem MakeFixedProblem(const FixedCase& fixed, FeatureColumns& columns,
                              RunContext& context) {
  RandomStream random(3, "feature-master-bench-fixed");
  const Index rows = columns.rows();
  Table table{Matrix(rows, 2), Vector(rows)};
  for (Index i = 0; i < rows; ++i) {
    table.features.row(i) << random.Normal(), random.Normal();
    table.labels(i) = table.features.row(i).norm() + 0.3 * random.Normal() > 1.2 ? 1.0 : -1.0;
  }
  GroupProblem problem;
  for (int g = 1; g <= 25; ++g) {
    const Vector frequency{{random.Normal(), random.Normal()}};
    const Matrix pair = PairOf(table, frequency);
    if (!columns.Append(pair, Vector::Zero(2), pair.colwise().norm().transpose(), context).ok()) {
      std::abort();
    }
    problem.group_begin.push_back(2 * g);
  }
  problem.loss = *MakeLoss(fixed.loss);
  problem.tasks = {{&columns, table.labels, Vector::Ones(rows)}};
  problem.group_weights = Vector::Ones(25);
  problem.specific.lambda = fixed.lambda;
  return problem;
}

// The passes that a method needs; 0 when it does not get there.
int64_t PassesOf(const GroupProblem& problem, GroupMethod method, RunContext& context) {
  const auto solver = MakeGroupSolver(method);
  solver->SetAccuracy({.relative_gap = 1e-6, .relative_decrease = 0});
  if (!solver->Start(problem, GroupPoint::Zero(problem.num_columns(), 1), context).ok()) {
    return 0;
  }
  while (solver->stop() == GroupStop::kRunning && solver->passes() < kMostPasses) {
    if (!solver->Step(context).ok()) {
      return 0;
    }
  }
  return solver->stop() == GroupStop::kGap ? solver->passes() : 0;
}

void CompareMethods() {
  RunContext context;
  std::printf("Passes to a relative gap of 1e-6; '-': not within %ld.\n\n",
              static_cast<long>(kMostPasses));
  std::printf("| problem | newton | admm | fista | fista / newton |\n|---|---|---|---|---|\n");
  for (const FixedCase& fixed : kFixedCases) {
    FeatureColumns columns(600, ColumnPrecision::kDouble);
    const GroupProblem problem = MakeFixedProblem(fixed, columns, context);
    std::printf("| %s |", fixed.name);
    std::vector<int64_t> passes;
    for (const GroupMethod method : kMethods) {
      passes.push_back(PassesOf(problem, method, context));
      passes.back() > 0 ? std::printf(" %ld |", static_cast<long>(passes.back()))
                        : std::printf(" - |");
    }
    const double fista = static_cast<double>(passes[2] > 0 ? passes[2] : kMostPasses);
    std::printf(" %s%.0f |\n", passes[2] > 0 ? "" : "> ", fista / static_cast<double>(passes[0]));
  }
  std::printf("\n");
}

int Grow(const Table& table, const Settings& settings) {
  RunContext context(CancellationToken(), settings.threads, nullptr);
  const Index rows = table.features.rows();
  FeatureColumns columns(rows, settings.precision);
  GroupProblem problem;
  problem.loss = *MakeLoss(LossKind::kSquaredHinge);
  problem.tasks = {{&columns, table.labels, Vector::Ones(rows)}};
  problem.group_weights.resize(0);
  problem.specific.lambda = settings.lambda;
  const auto solver = MakeGroupSolver(GroupMethod::kNewton);
  solver->SetAccuracy({.relative_gap = settings.gap, .relative_decrease = settings.decrease});
  if (Fails(solver->Start(problem, GroupPoint::Zero(0, 1), context))) {
    return 1;
  }
  std::printf(
      "| groups | append s | masters s | processor s | last solve s | steps | passes | gap | "
      "objective |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  double append = 0;
  double masters = 0;
  double processor = 0;
  const auto most =
      static_cast<int>(*std::max_element(settings.groups.begin(), settings.groups.end()));
  std::vector<Index> group_begin = {0};
  for (int group = 1; group <= most; ++group) {
    const Matrix pair = BestPair(table, settings, solver->evaluation().slopes[0], group);
    const double start = Seconds();
    const double processor_start = ProcessorSeconds();
    if (Fails(columns.Append(pair, pair.colwise().mean().transpose(), Vector::Ones(2), context))) {
      return 1;
    }
    const double appended = Seconds();
    group_begin.push_back(2 * group);
    if (Fails(solver->Extend(group_begin, Vector::Ones(group), context)) ||
        Fails(solver->Run(context))) {
      return 1;
    }
    append += appended - start;
    masters += Seconds() - appended;
    processor += ProcessorSeconds() - processor_start;
    if (std::find(settings.groups.begin(), settings.groups.end(), group) == settings.groups.end()) {
      continue;
    }
    const double before = Seconds();
    const double processor_before = ProcessorSeconds();
    solver->SetAccuracy({.relative_gap = settings.gap, .relative_decrease = 0});
    if (Fails(solver->Run(context))) {
      return 1;
    }
    const double last = Seconds() - before;
    masters += last;
    processor += ProcessorSeconds() - processor_before;
    solver->SetAccuracy({.relative_gap = settings.gap, .relative_decrease = settings.decrease});
    std::printf("| %d | %.2f | %.2f | %.2f | %.3f | %ld | %ld | %.1e | %.8g |\n", group, append,
                masters, processor, last, static_cast<long>(solver->iterations()),
                static_cast<long>(solver->passes()), solver->certificate().RelativeGap(),
                solver->certificate().primal);
  }
  return 0;
}

int Main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--data") {
      settings.data = value;
    } else if (name == "--rows") {
      settings.rows = std::atol(value.c_str());
    } else if (name == "--groups") {
      settings.groups = Numbers(value);
    } else if (name == "--lambda") {
      settings.lambda = std::atof(value.c_str());
    } else if (name == "--bandwidth") {
      settings.bandwidth = std::atof(value.c_str());
    } else if (name == "--candidates") {
      settings.candidates = std::atoi(value.c_str());
    } else if (name == "--decrease") {
      settings.decrease = std::atof(value.c_str());
    } else if (name == "--gap") {
      settings.gap = std::atof(value.c_str());
    } else if (name == "--threads") {
      settings.threads = std::atoi(value.c_str());
    } else if (name == "--precision") {
      settings.precision = value == "double" ? ColumnPrecision::kDouble : ColumnPrecision::kSingle;
    } else {
      std::fprintf(stderr, "unknown option %s\n", name.c_str());
      return 1;
    }
  }
  CompareMethods();
  Table table;
  if (settings.data.empty()) {
    table = MakePoints(settings.rows);
  } else if (!ReadTable(settings.data, table)) {
    std::fprintf(stderr, "cannot read %s\n", settings.data.c_str());
    return 1;
  }
  Standardize(table);
  std::printf(
      "%s: %ld rows, %ld columns, lambda %g, bandwidth %.3g, %d candidates a round, decrease %g, "
      "gap %g, %d threads, %s\n\n",
      settings.data.empty() ? "synthetic" : settings.data.c_str(),
      static_cast<long>(table.features.rows()), static_cast<long>(table.features.cols()),
      settings.lambda, settings.bandwidth, settings.candidates, settings.decrease, settings.gap,
      settings.threads, settings.precision == ColumnPrecision::kSingle ? "single" : "double");
  return Grow(table, settings);
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) { return mercer::Main(argc, argv); }
