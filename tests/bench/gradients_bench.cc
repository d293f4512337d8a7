// Gradient learning with weights of coordinates, one thread, pairs of 8 neighbours.
//
//   gradients_bench [FOLDER]         Newton's method by data, loss and cost
//   gradients_bench genes FOLDER     the ranking of 20 steps of the alternation on leukemia, and
//                                    that of the optimum
//   gradients_bench methods FOLDER   Newton's method and linear programs, to three gaps
//
// Data: FOLDER/leukemia/leukemia_train.csv.gz (38 x 7129) and FOLDER/prostate/prostate_train.csv.gz
// (102 x 12600), by default of ../shared/data, where these are, else random numbers of that size
// whose first 20 columns are shifted by class; 2000 x 500 random numbers. Columns have mean 0 and
// deviation 1. G is x't of genes, else a Gaussian of the median distance.
//
// Every run is a process of its own; its memory is what that grew by, without the data. Seconds are
// wall time; processor seconds stand beside it, since other programs may disturb it.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include <zlib.h>

#include "core/base/numeric/random.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/gradients/coordinate_weight_solver.h"
#include "core/solvers/gradients/gradient_results.h"
#include "core/solvers/gradients/pair_preconditioner.h"
#include "tests/bench/bench_tables.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

constexpr double kGap = 1e-6;
constexpr double kMostSeconds = 300;

double Seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct GeneTable {
  Matrix rows;
  Vector targets;
  std::vector<std::string> names;
};

void Standardize(Matrix& rows) {
  for (Index l = 0; l < rows.cols(); ++l) {
    auto column = rows.col(l).array();
    column -= column.mean();
    const double deviation = std::sqrt(column.square().mean());
    if (deviation > 0) {
      column /= deviation;
    }
  }
}

// Of `columns` columns before the label, `skip` of other cells first; no rows when there is no such
// file.
GeneTable ReadGenes(const std::string& path, size_t skip) {
  GeneTable table;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    return table;
  }
  std::string text;
  std::vector<char> piece(1 << 20);
  for (int count = 0;
       (count = gzread(file, piece.data(), static_cast<unsigned>(piece.size()))) > 0;) {
    text.append(piece.data(), static_cast<size_t>(count));
  }
  gzclose(file);
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  for (std::string& line : lines) {
    absl::StripTrailingAsciiWhitespace(&line);
  }
  table.names = absl::StrSplit(lines[0], ',');
  table.names.erase(table.names.begin(), table.names.begin() + static_cast<std::ptrdiff_t>(skip));
  table.names.pop_back();
  const auto columns = static_cast<Index>(table.names.size());
  table.rows.resize(static_cast<Index>(lines.size()) - 1, columns);
  table.targets.resize(table.rows.rows());
  for (Index i = 0; i < table.rows.rows(); ++i) {
    const std::vector<std::string> cells = absl::StrSplit(lines[static_cast<size_t>(i) + 1], ',');
    for (Index l = 0; l < columns; ++l) {
      table.rows(i, l) = std::stod(cells[static_cast<size_t>(l) + skip]);
    }
    table.targets(i) = std::stod(cells.back());
  }
  Standardize(table.rows);
  return table;
}

GeneTable RandomGenes(Index rows, Index columns) {
  constexpr Index kTelling = 20;
  RandomStream random(1, "gradients_bench");
  GeneTable table{Matrix(rows, columns), Vector(rows), {}};
  for (Index i = 0; i < rows; ++i) {
    table.targets(i) = i % 2 == 0 ? 1 : -1;
    for (Index l = 0; l < columns; ++l) {
      table.rows(i, l) = random.Normal() + (l < kTelling ? 0.5 * table.targets(i) : 0);
    }
  }
  for (Index l = 0; l < columns; ++l) {
    table.names.push_back(std::to_string(l));
  }
  Standardize(table.rows);
  return table;
}

struct Setting {
  const GeneTable* table = nullptr;
  const char* name = "";
  LossKind loss = LossKind::kSquare;
  double cost = 1;
  bool linear = false;
  CoordinateMethod method = CoordinateMethod::kNewton;
  double gap = kGap;
  int64_t steps = 100;
};

struct Result {
  bool ok = false;
  double gap = kInfinity;
  double upper = 0;
  int64_t steps = 0;
  int64_t selected = 0;
  double seconds = 0;
  double processor = 0;
  double bytes = 0;
  Index first[8] = {};  // the coordinates that come first
};

absl::StatusOr<GradientProblem> MakeProblem(const Setting& setting, RunContext& context) {
  const Matrix& rows = setting.table->rows;
  MERCER_ASSIGN_OR_RETURN(const Matrix squared, SquaredRowDistances(rows, context));
  MERCER_ASSIGN_OR_RETURN(GradientPairs pairs, MakeGradientPairs({}, squared, context));
  Matrix gram;
  if (setting.linear) {
    gram = rows * rows.transpose();
  } else {
    MERCER_ASSIGN_OR_RETURN(const double width, MedianRowDistance(squared));
    gram = (-0.5 / (width * width) * squared).array().exp();
  }
  MERCER_ASSIGN_OR_RETURN(auto loss, MakeLoss(setting.loss));
  MERCER_ASSIGN_OR_RETURN(
      GradientProblem problem,
      MakeGradientProblem(std::move(loss), setting.cost, rows, setting.table->targets,
                          std::move(pairs), std::move(gram)));
  MERCER_ASSIGN_OR_RETURN(problem.leading, LeadingPart(problem.gram, 16, context));
  return problem;
}

absl::StatusOr<Result> Solve(const Setting& setting) {
  RunContext context;
  Result result;
  const double start = Seconds(CLOCK_MONOTONIC);
  const double processor = Seconds(CLOCK_PROCESS_CPUTIME_ID);
  MERCER_ASSIGN_OR_RETURN(const GradientProblem problem, MakeProblem(setting, context));
  CoordinateWeightSolver solver(problem, {setting.method, setting.gap, setting.steps});
  MERCER_RETURN_IF_ERROR(solver.Start({}, context));
  while (!solver.done() && Seconds(CLOCK_MONOTONIC) - start < kMostSeconds) {
    MERCER_RETURN_IF_ERROR(solver.Step(context));
  }
  result.seconds = Seconds(CLOCK_MONOTONIC) - start;
  result.processor = Seconds(CLOCK_PROCESS_CPUTIME_ID) - processor;
  const GradientBest& best = solver.best();
  MERCER_ASSIGN_OR_RETURN(
      const GradientPoint point,
      EvaluateGradients(problem, CoordinateWeights::kSimplex, best.weights, best.dual, context));
  const CoordinateRanking ranking = RankCoordinates(point.Norms(), point.energies);
  std::copy_n(ranking.order.begin(), 8, result.first);
  result.gap = best.RelativeGap();
  result.upper = best.upper;
  result.steps = solver.steps();
  result.selected = (best.weights.array() > 0).count();
  result.ok = true;
  return result;
}

// In a process of its own.
Result Measure(const Setting& setting) {
  void* shared =
      mmap(nullptr, sizeof(Result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    return {};
  }
  std::fflush(stdout);
  const int64_t grown = PeakGrowth([&] {
    const Result of_child = Solve(setting).value_or(Result());
    std::memcpy(shared, &of_child, sizeof(Result));
    return of_child.ok;
  });
  Result result;
  std::memcpy(&result, shared, sizeof(Result));
  munmap(shared, sizeof(Result));
  result.bytes = static_cast<double>(grown);
  return result;
}

const char* NameOf(LossKind loss) {
  return loss == LossKind::kSquare ? "square" : loss == LossKind::kHinge ? "hinge" : "sqhinge";
}

void Report(const Setting& setting) {
  const Result result = Measure(setting);
  std::printf(
      "%-10s %5ld x %5ld  %-7s C %-5g %-8s %4ld steps  gap %8.1e  J %.9g  %3ld columns  "
      "%6.2f s (%6.2f s processor)  %5.0f MB\n",
      setting.name, static_cast<long>(setting.table->rows.rows()),
      static_cast<long>(setting.table->rows.cols()), NameOf(setting.loss), setting.cost,
      setting.linear ? "x't" : "Gaussian", static_cast<long>(result.steps), result.gap,
      result.upper, static_cast<long>(result.selected), result.seconds, result.processor,
      result.bytes / 1e6);
}

void ReportGenes(const GeneTable& table) {
  for (const LossKind loss : {LossKind::kSquare, LossKind::kHinge}) {
    Setting setting{&table, "leukemia", loss, 1, true};
    setting.gap = 1e-9;
    for (const bool alternation : {true, false}) {
      setting.method = alternation ? CoordinateMethod::kAlternation : CoordinateMethod::kNewton;
      setting.steps = alternation ? 20 : 100;
      const Result result = Measure(setting);
      std::printf("%s %s, %ld steps, gap %.2e, %ld columns:", NameOf(loss),
                  alternation ? "alternation" : "Newton", static_cast<long>(result.steps),
                  result.gap, static_cast<long>(result.selected));
      for (const Index column : result.first) {
        std::printf(" %s", table.names[static_cast<size_t>(column)].c_str());
      }
      std::printf("\n");
    }
  }
}

void ReportMethods(const GeneTable& genes) {
  const GeneTable random = RandomGenes(100, 500);
  const Setting settings[] = {{&genes, "leukemia", LossKind::kSquare, 1, true},
                              {&genes, "leukemia", LossKind::kHinge, 1, true},
                              {&genes, "leukemia", LossKind::kSquaredHinge, 10, false},
                              {&random, "random", LossKind::kSquare, 10, false},
                              {&random, "random", LossKind::kHinge, 100, false}};
  for (Setting setting : settings) {
    for (const CoordinateMethod method : {CoordinateMethod::kNewton, CoordinateMethod::kSilp}) {
      for (const double gap : {1e-3, 1e-4, 1e-6}) {
        setting.method = method;
        setting.gap = gap;
        setting.steps = 1000;
        std::printf("%s ", method == CoordinateMethod::kNewton ? "Newton" : "SILP  ");
        Report(setting);
      }
    }
  }
}

int Main(int argc, char** argv) {
  const bool genes = argc > 1 && std::string(argv[1]) == "genes";
  const bool methods = argc > 1 && std::string(argv[1]) == "methods";
  const std::string folder = argc > (genes || methods ? 2 : 1) ? argv[argc - 1] : "../shared/data";
  GeneTable leukemia = ReadGenes(folder + "/leukemia/leukemia_train.csv.gz", 1);
  if (genes) {
    if (leukemia.rows.size() == 0) {
      std::fprintf(stderr, "no leukemia_train.csv.gz in %s\n", folder.c_str());
      return 1;
    }
    ReportGenes(leukemia);
    return 0;
  }
  if (methods) {
    ReportMethods(leukemia.rows.size() > 0 ? leukemia : RandomGenes(38, 7129));
    return 0;
  }
  GeneTable prostate = ReadGenes(folder + "/prostate/prostate_train.csv.gz", 0);
  std::printf("leukemia %s, prostate %s\n", leukemia.rows.size() > 0 ? "as it is" : "random",
              prostate.rows.size() > 0 ? "as it is" : "random");
  if (leukemia.rows.size() == 0) {
    leukemia = RandomGenes(38, 7129);
  }
  if (prostate.rows.size() == 0) {
    prostate = RandomGenes(102, 12600);
  }
  const GeneTable random = RandomGenes(2000, 500);
  const bool large_alone = argc > 1 && std::string(argv[1]) == "large";
  for (const GeneTable* table : {&leukemia, &prostate}) {
    if (large_alone) {
      break;
    }
    for (const bool linear : {true, false}) {
      for (const LossKind loss : {LossKind::kSquare, LossKind::kHinge, LossKind::kSquaredHinge}) {
        for (const double cost : {1.0, 100.0}) {
          Report({table, table == &leukemia ? "leukemia" : "prostate", loss, cost, linear});
        }
      }
    }
  }
  for (const LossKind loss : {LossKind::kSquare, LossKind::kHinge, LossKind::kSquaredHinge}) {
    for (const double cost : {1.0, 100.0}) {
      Report({&random, "random", loss, cost, false});
    }
  }
  return 0;
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) { return mercer::Main(argc, argv); }
