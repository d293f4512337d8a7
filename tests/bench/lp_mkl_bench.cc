// Exact lp-norm MKL against one LIBSVM solve of the uniform sum of the same Gram matrices.
//
//   lp_mkl_bench [DATA FOLDER] [THREADS]        DATA FOLDER holds magic/magic.csv.gz; without it
//   the data are synthetic
//
// Per setting: LIBSVM's time on the formed sum (default tolerance 1e-3), lp_mkl's time to the
// certified relative gap 1e-4, whole and without the preparation of the kernels (distances and one
// combination, measured apart), and the verifier's gap. Wall time. Then, on fewer rows and kernels,
// pair steps on dual and weights together (outer_loop=smo_mkl) against the default, to the same
// gap, and their penalised form against the constrained one of equal solutions.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <libsvm/svm.h>
#include <zlib.h>

#include "core/base/numeric/random.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/mkl/smo_mkl.h"

namespace mercer {
namespace {

constexpr double kGap = 1e-4;
constexpr int kKernels = 50;
constexpr double kP = 2.0;
constexpr int kJointKernels = 10;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Table {
  std::vector<std::vector<double>> rows;  // features, then the label
};

Table ReadMagic(const std::string& path) {
  Table table;
  gzFile file = gzopen(path.c_str(), "rb");
  char line[4096];
  bool header = true;
  while (file != nullptr && gzgets(file, line, sizeof line) != nullptr) {
    std::vector<double> row;
    for (char* cell = line; !header && *cell != '\0' && *cell != '\n';) {
      char* end = nullptr;
      row.push_back(std::strtod(cell, &end));
      cell = *end == ',' ? end + 1 : end;
      if (end == cell && *end != '\0' && *end != '\n') {
        break;
      }
    }
    header = false;
    if (!row.empty()) {
      table.rows.push_back(std::move(row));
    }
  }
  if (file != nullptr) {
    gzclose(file);
  }
  return table;
}

Table MakeSynthetic() {
  Table table;
  RandomStream random(1, "lp_mkl_bench");
  for (int i = 0; i < 8000; ++i) {
    std::vector<double> row;
    for (int j = 0; j < 10; ++j) {
      row.push_back(random.Normal());
    }
    const double score =
        std::sin(1.5 * row[0]) + 0.7 * row[1] * row[2] + 0.5 * row[3] + 0.5 * random.Normal();
    row.push_back(score > 0.1 ? 1.0 : 0.0);
    table.rows.push_back(std::move(row));
  }
  return table;
}

// The first `rows` rows of a fixed shuffle, standardised; labels -1 and +1.
TrainingProblem MakeProblem(const Table& table, Index rows, int kernels) {
  std::vector<Index> order(table.rows.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<Index>(i);
  }
  RandomStream(1, "rows").Shuffle(order);
  const Index columns = static_cast<Index>(table.rows[0].size()) - 1;
  RowMatrix x(rows, columns);
  Vector labels(rows);
  for (Index i = 0; i < rows; ++i) {
    const std::vector<double>& row = table.rows[static_cast<size_t>(order[static_cast<size_t>(i)])];
    x.row(i) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), columns);
    labels(i) = row.back() > 0 ? 1.0 : -1.0;
  }
  x.rowwise() -= x.colwise().mean().eval();
  for (Index j = 0; j < columns; ++j) {
    x.col(j) /= std::max(1e-300, std::sqrt(x.col(j).squaredNorm() / static_cast<double>(rows)));
  }
  auto data = std::make_shared<PreparedData>();
  data->rows = rows;
  PreparedBlock block;
  block.name = "features";
  for (Index j = 0; j < columns; ++j) {
    block.sources.push_back("x" + std::to_string(j + 1));
  }
  block.values = SharedMatrix(std::move(x));
  data->blocks.push_back(std::move(block));
  TrainingProblem problem;
  problem.relative_gap = kGap;
  TaskData task;
  for (Index i = 0; i < rows; ++i) {
    task.rows.push_back(i);
  }
  task.inputs = std::move(data);
  task.targets = labels;
  task.costs = Vector::Ones(rows);
  problem.tasks.push_back(std::move(task));
  for (int k = 0; k < kernels; ++k) {
    KernelSpec spec;
    spec.bandwidth = std::pow(100.0, k / (kernels - 1.0));
    problem.kernels.push_back(spec);
  }
  return problem;
}

double TimeLibsvm(const Matrix& gram, const Vector& labels, double cost) {
  const Index n = gram.rows();
  std::vector<svm_node> nodes(static_cast<size_t>(n * (n + 2)));
  std::vector<svm_node*> rows;
  for (Index i = 0; i < n; ++i) {
    svm_node* row = &nodes[static_cast<size_t>(i * (n + 2))];
    row[0] = {0, static_cast<double>(i + 1)};
    for (Index j = 0; j < n; ++j) {
      row[j + 1] = {static_cast<int>(j + 1), gram(i, j)};
    }
    row[n + 1].index = -1;
    rows.push_back(row);
  }
  std::vector<double> targets(labels.data(), labels.data() + n);
  const svm_problem problem{static_cast<int>(n), targets.data(), rows.data()};
  svm_parameter parameter{};
  parameter.svm_type = C_SVC;
  parameter.kernel_type = PRECOMPUTED;
  parameter.cache_size = 1000;
  parameter.eps = 1e-3;
  parameter.C = cost;
  parameter.shrinking = 1;
  svm_set_print_string_function([](const char*) {});
  const double start = Seconds();
  svm_model* model = svm_train(&problem, &parameter);
  const double seconds = Seconds() - start;
  svm_free_and_destroy_model(&model);
  return seconds;
}

struct Run {
  double seconds = 0;
  double gap = kInfinity;
  Index inner_iterations = 0;
  Index steps = 0;
};

Run TimeLpMkl(const TrainingProblem& problem, const OptionValues& options, RunContext& context) {
  const LearnerEntry entry = lp_mkl::Entry();
  Run run;
  const auto learner = entry.create(options);
  const double start = Seconds();
  if (!learner.ok() || !(*learner)->Start(problem, nullptr).ok()) {
    return run;
  }
  for (StepReport report; !report.stop.has_value() && !(report.accuracy <= kGap);) {
    const auto step = (*learner)->Step(context, kGap);
    if (!step.ok()) {
      return run;
    }
    report = *step;
    run.inner_iterations = report.inner_iterations;
    ++run.steps;
  }
  run.seconds = Seconds() - start;
  const auto point = (*learner)->CurrentModel(context);
  const auto verified =
      point.ok() ? entry.verify(options, problem, point->witness, context) : point.status();
  run.gap = verified.ok() ? verified->certificate.accuracy : kInfinity;
  return run;
}

void Measure(const Table& table, Index rows, double cost, int threads) {
  const TrainingProblem problem = MakeProblem(table, rows, kKernels);
  RunContext context(CancellationToken(), threads, nullptr);
  const double start = Seconds();
  const auto family = MakeExactKernelFamily(problem.tasks[0].inputs, problem.tasks[0].rows,
                                            problem.kernels, context);
  if (!family.ok()) {
    return;
  }
  const auto sum = (*family)->CombineForSearch(Vector::Ones(kKernels), context);
  const double kernel_seconds = Seconds() - start;
  if (!sum.ok() || (*sum)->Dense() == nullptr) {
    return;
  }
  const double libsvm = TimeLibsvm(*(*sum)->Dense(), problem.tasks[0].targets.col(0), cost);
  const Run run = TimeLpMkl(problem, {{"p", kP}, {"C", cost}}, context);
  const double solve = std::max(0.0, run.seconds - kernel_seconds);
  std::printf(
      "%5ld rows  C %-6g  libsvm %.3f s  lp_mkl %.3f s (kernels %.3f)  ratio %.2f, without kernels "
      "%.2f  gap %.2e  "
      "steps %ld  pair or Newton steps %ld\n",
      static_cast<long>(rows), cost, libsvm, run.seconds, kernel_seconds, run.seconds / libsvm,
      solve / libsvm, run.gap, static_cast<long>(run.steps),
      static_cast<long>(run.inner_iterations));
  std::fflush(stdout);
}

void CompareJoint(const Table& table, Index rows, double p, double cost, int threads) {
  const TrainingProblem problem = MakeProblem(table, rows, kJointKernels);
  RunContext context(CancellationToken(), threads, nullptr);
  OptionValues options = {{"p", p}, {"C", cost}};
  const Run plain = TimeLpMkl(problem, options, context);
  options["outer_loop"] = std::string("smo_mkl");
  const Run joint = TimeLpMkl(problem, options, context);
  std::printf(
      "%5ld rows  p %-4g  C %-5g  lp_mkl %.3f s gap %.1e steps %ld  smo_mkl %.3f s gap %.1e pair "
      "steps %ld  ratio %.1f\n",
      static_cast<long>(rows), p, cost, plain.seconds, plain.gap,
      static_cast<long>(plain.inner_iterations), joint.seconds, joint.gap,
      static_cast<long>(joint.inner_iterations), joint.seconds / plain.seconds);
  std::fflush(stdout);
}

struct FormRun {
  double seconds = 0;
  int64_t iterations = 0;
  SmoMklPoint point;
};

FormRun TimeForm(const KernelFamily& family, const Vector& labels, double cost,
                 const SmoMklOptions& options, RunContext& context) {
  FormRun run;
  auto loss = MakeLoss(LossKind::kHinge);
  if (!loss.ok()) {
    return run;
  }
  const double start = Seconds();
  SmoMklSolver solver(family, options);
  const SvmProblem problem{*std::move(loss), labels, Vector::Constant(labels.size(), cost)};
  if (solver.Start(problem, {}, context).ok() && solver.Run(context).ok()) {
    run = {Seconds() - start, solver.iterations(), solver.best()};
  }
  return run;
}

// Costs C and weights of norm t in the penalised form, costs t C in the constrained one.
void CompareForms(const Table& table, Index rows, double p, double penalty, int threads) {
  const TrainingProblem problem = MakeProblem(table, rows, kJointKernels);
  RunContext context(CancellationToken(), threads, nullptr);
  const auto family = MakeExactKernelFamily(problem.tasks[0].inputs, problem.tasks[0].rows,
                                            problem.kernels, context);
  if (!family.ok()) {
    return;
  }
  const Vector labels = problem.tasks[0].targets.col(0);
  const FormRun penalised = TimeForm(
      **family, labels, 1.0, {.p = p, .weight_penalty = penalty, .relative_gap = kGap}, context);
  const double norm = LpNorm(penalised.point.weights, p);
  const FormRun constrained =
      TimeForm(**family, labels, norm, {.p = p, .relative_gap = kGap}, context);
  const Vector difference = penalised.point.weights / norm - constrained.point.weights;
  std::printf(
      "%5ld rows  p %-4g  penalty %-4g  penalised C 1: %.3f s, %ld pair steps, norm %.3f  "
      "constrained C %.3f: %.3f s, %ld pair steps  largest difference of weights %.1e\n",
      static_cast<long>(rows), p, penalty, penalised.seconds,
      static_cast<long>(penalised.iterations), norm, norm, constrained.seconds,
      static_cast<long>(constrained.iterations), difference.cwiseAbs().maxCoeff());
  std::fflush(stdout);
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) {
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  mercer::Table table;
  if (argc > 1) {
    table = mercer::ReadMagic(std::string(argv[1]) + "/magic/magic.csv.gz");
  }
  const bool magic = table.rows.size() >= 4000;
  if (!magic) {
    table = mercer::MakeSynthetic();
  }
  std::printf(
      "%s data, %d Gaussian kernels of bandwidths 1..100, p = %g, relative gap %g, threads: lp_mkl "
      "%d, libsvm 1\n",
      magic ? "magic" : "synthetic", mercer::kKernels, mercer::kP, mercer::kGap, threads);
  for (const mercer::Index rows : {2000, 4000}) {
    for (const double cost : {1.0, 1000.0}) {
      mercer::Measure(table, rows, cost, threads);
    }
  }
  std::printf("%d Gaussian kernels of bandwidths 1..100, outer loops newton and smo_mkl\n",
              mercer::kJointKernels);
  for (const mercer::Index rows : {500, 1000, 2000}) {
    for (const double p : {1.1, 2.0}) {
      for (const double cost : {1.0, 100.0}) {
        mercer::CompareJoint(table, rows, p, cost, threads);
      }
    }
  }
  for (const double p : {1.1, 2.0}) {
    for (const double penalty : {1.0, 100.0}) {
      mercer::CompareForms(table, 1000, p, penalty, threads);
    }
  }
  return 0;
}
