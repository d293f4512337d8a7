// Times SmoSolver against LIBSVM on the same precomputed Gram, in one thread of one process, to the
// same certified gap.
//
//   smo_bench [data folder, default tests/data]
//
// For each C LIBSVM runs at its default tolerance 1e-3 and with room for all kernel rows; its
// solution is certified by CertifySvm, and SmoSolver runs until its certificate is as good. Then a
// path over ten C, SmoSolver with warm starts, LIBSVM from zero. Of spambase, adult and magic in the folder, and of made pictures.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libsvm/svm.h"
#include <zlib.h>

#include "core/base/numeric/random.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/objectives/loss.h"
#include "core/solvers/svm/smo.h"
#include "core/solvers/svm/svm_certificate.h"

namespace {

using mercer::Index;
using mercer::Matrix;
using mercer::RowMatrix;
using mercer::Vector;

constexpr Index kSyntheticRows = 4000;
constexpr int kRepeats = 3;         // of which the least counts
constexpr double kLongSeconds = 2;  // what takes as long is not repeated

struct Table {
  RowMatrix features;
  Vector labels;
};

double SecondsOf(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Random rows, at most so many, of a numeric CSV with a header whose last column is the label; false
// when the file is missing.
bool ReadTable(const std::string& path, Index most_rows, Table& table) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    return false;
  }
  std::vector<std::vector<double>> rows;
  std::vector<char> line(1 << 16);
  gzgets(file, line.data(), static_cast<int>(line.size()));
  while (gzgets(file, line.data(), static_cast<int>(line.size())) != nullptr) {
    std::vector<double> row;
    for (char* cell = line.data(); *cell != '\0' && *cell != '\n';) {
      char* end = nullptr;
      row.push_back(std::strtod(cell, &end));
      cell = *end == ',' ? end + 1 : end;
      if (end == line.data() || (*end != ',' && *end != '\n' && *end != '\0' && *end != '\r')) {
        break;
      }
    }
    rows.push_back(std::move(row));
  }
  gzclose(file);
  std::vector<Index> order(rows.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<Index>(i);
  }
  mercer::RandomStream(1, "smo-bench-rows").Shuffle(order);
  const auto n = std::min<Index>(most_rows, static_cast<Index>(rows.size()));
  const auto width = static_cast<Index>(rows.front().size());
  table.features.resize(n, width - 1);
  table.labels.resize(n);
  for (Index i = 0; i < n; ++i) {
    const std::vector<double>& row = rows[static_cast<size_t>(order[static_cast<size_t>(i)])];
    table.features.row(i) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), width - 1);
    table.labels(i) = row.back() > 0 ? 1.0 : -1.0;
  }
  return true;
}

Table MakeSynthetic() {
  Table table;
  table.features.resize(kSyntheticRows, 20);
  table.labels.resize(kSyntheticRows);
  mercer::RandomStream random(7, "smo-bench-synthetic");
  for (Index i = 0; i < kSyntheticRows; ++i) {
    for (Index j = 0; j < 20; ++j) {
      table.features(i, j) = random.Normal();
    }
    const double signal =
        table.features(i, 0) * table.features(i, 1) + table.features(i, 2) + 0.5 * random.Normal();
    table.labels(i) = signal > 0 ? 1.0 : -1.0;
  }
  return table;
}

// Pictures of 28 x 28 pixels as of handwritten digits: each of ten shapes is five strokes, blobs in a row, that every picture moves and
// bends a little; most pixels are 0. The classes are shapes of even and odd numbers.
Table MakePictures() {
  constexpr Index kSide = 28;
  constexpr int kShapes = 10;
  constexpr int kBlobs = 15;  // three for each stroke
  Table table;
  table.features.resize(kSyntheticRows, kSide * kSide);
  table.labels.resize(kSyntheticRows);
  mercer::RandomStream random(11, "smo-bench-pictures");
  Matrix centres(kShapes * kBlobs, 2);
  for (Index b = 0; b < centres.rows(); ++b) {
    for (Index k = 0; k < 2; ++k) {
      centres(b, k) = b % 3 == 0 ? 6 + 16 * random.Uniform()
                                 : centres(b - 1, k) + 2.5 * (2 * random.Uniform() - 1);
    }
  }
  for (Index i = 0; i < kSyntheticRows; ++i) {
    const Index shape = i % kShapes;
    const double down = 1.5 * random.Normal();
    const double right = 1.5 * random.Normal();
    Matrix picture = Matrix::Zero(kSide, kSide);
    for (Index b = 0; b < kBlobs; ++b) {
      const double y = centres(shape * kBlobs + b, 0) + down + 0.7 * random.Normal();
      const double x = centres(shape * kBlobs + b, 1) + right + 0.7 * random.Normal();
      for (Index r = 0; r < kSide; ++r) {
        for (Index c = 0; c < kSide; ++c) {
          const double squared =
              std::pow(static_cast<double>(r) - y, 2) + std::pow(static_cast<double>(c) - x, 2);
          picture(r, c) += std::exp(-0.5 * squared);
        }
      }
    }
    picture = (picture.array() < 0.1).select(0.0, picture.cwiseMin(1.0));
    table.features.row(i) = picture.reshaped().transpose();
    table.labels(i) = shape % 2 == 0 ? 1.0 : -1.0;
  }
  return table;
}

// Gaussian kernel of the standardised features at the median distance.
Matrix MakeGram(RowMatrix x) {
  for (Index j = 0; j < x.cols(); ++j) {
    x.col(j).array() -= x.col(j).mean();
    const double deviation = std::sqrt(x.col(j).squaredNorm() / static_cast<double>(x.rows()));
    x.col(j) /= deviation > 0 ? deviation : 1.0;
  }
  const Vector norms = x.rowwise().squaredNorm();
  Matrix gram = -2.0 * (x * x.transpose());
  gram.colwise() += norms;
  gram.rowwise() += norms.transpose();
  gram = gram.cwiseMax(0.0);
  std::vector<double> sample;
  for (Index i = 0; i < x.rows(); i += 4) {
    for (Index j = 0; j < i; j += 4) {
      sample.push_back(gram(i, j));
    }
  }
  std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(sample.size() / 2),
                   sample.end());
  const double median = sample[sample.size() / 2];
  gram = (gram.array() * (-0.5 / median)).exp().matrix();
  gram = 0.5 * (gram + gram.transpose()).eval();
  gram.diagonal().setOnes();
  return gram;
}

// LIBSVM's own form of a Gram and its rows.
class LibsvmProblem {
 public:
  LibsvmProblem(const Matrix& gram, const Vector& labels) : labels_(labels) {
    const Index n = gram.rows();
    nodes_.resize(static_cast<size_t>(n * (n + 2)));
    for (Index i = 0; i < n; ++i) {
      svm_node* row = nodes_.data() + i * (n + 2);
      rows_.push_back(row);
      row[0] = {0, static_cast<double>(i + 1)};
      for (Index j = 0; j < n; ++j) {
        row[j + 1] = {static_cast<int>(j + 1), gram(j, i)};
      }
      row[n + 1] = {-1, 0.0};
    }
    problem_ = {static_cast<int>(n), labels_.data(), rows_.data()};
    svm_set_print_string_function([](const char*) {});
  }

  // Signed dual of the solution.
  Vector Train(double c) const {
    svm_parameter parameters = {};
    parameters.svm_type = C_SVC;
    parameters.kernel_type = PRECOMPUTED;
    parameters.C = c;
    parameters.eps = 1e-3;
    parameters.cache_size = 1000;
    parameters.shrinking = 1;
    svm_model* model = svm_train(&problem_, &parameters);
    Vector dual = Vector::Zero(problem_.l);
    const double sign = model->label[0] > 0 ? 1.0 : -1.0;
    for (int k = 0; k < model->l; ++k) {
      dual(model->sv_indices[k] - 1) = sign * model->sv_coef[0][k];
    }
    svm_free_and_destroy_model(&model);
    return dual;
  }

 private:
  Vector labels_;
  std::vector<svm_node> nodes_;
  std::vector<svm_node*> rows_;
  svm_problem problem_ = {};
};

class Comparison {
 public:
  Comparison(std::string name, const Table& table)
      : name_(std::move(name)),
        labels_(table.labels),
        gram_(std::make_shared<const Matrix>(MakeGram(table.features))),
        kernel_(gram_),
        libsvm_(*gram_, labels_),
        loss_(*mercer::MakeLoss(mercer::LossKind::kHinge)) {}

  void Run() {
    std::printf("%s: %td rows, %.0f positive\n", name_.c_str(), gram_->rows(),
                (labels_.array() > 0).cast<double>().sum());
    for (const double c : {0.1, 1.0, 10.0, 100.0, 1000.0}) {
      CompareSingle(c);
    }
    ComparePath();
  }

 private:
  mercer::SvmProblem Problem(double c) const {
    return {loss_, labels_, Vector::Constant(labels_.size(), c)};
  }

  double Certify(Vector dual, double c) const {
    const Vector costs = Vector::Constant(labels_.size(), c);
    loss_->RepairDual(labels_, costs, true, dual);
    return mercer::CertifySvm(*loss_, labels_, costs, dual, *gram_ * dual)->RelativeGap();
  }

  void CompareSingle(double c) {
    double libsvm_seconds = mercer::kInfinity;
    double our_seconds = mercer::kInfinity;
    double gap = 0;
    double our_gap = 0;
    int64_t iterations = 0;
    for (int repeat = 0; repeat < kRepeats && (repeat == 0 || libsvm_seconds < kLongSeconds);
         ++repeat) {
      Vector dual;
      libsvm_seconds = std::min(libsvm_seconds, SecondsOf([&] { dual = libsvm_.Train(c); }));
      gap = Certify(dual, c);
      our_seconds =
          std::min(our_seconds, SecondsOf([&] {
                     mercer::SmoSolver solver(kernel_, {.relative_gap = gap});
                     mercer::RunContext context;
                     if (!solver.Start(Problem(c), {}, context).ok() || !solver.Run(context).ok()) {
                       std::abort();
                     }
                     iterations = solver.iterations();
                     our_gap = solver.certificate().RelativeGap();
                   }));
    }
    std::printf(
        "  C = %-6g gap %.2e (ours %.2e)  LIBSVM %.4f s  ours %.4f s (%lld iterations)  ratio "
        "%.2f\n",
        c, gap, our_gap, libsvm_seconds, our_seconds, static_cast<long long>(iterations),
        libsvm_seconds / our_seconds);
    std::fflush(stdout);
  }

  void ComparePath() {
    std::vector<double> gaps;
    double libsvm_seconds = 0;
    for (int k = 0; k < 10; ++k) {
      Vector dual;
      libsvm_seconds += SecondsOf([&] { dual = libsvm_.Train(PathC(k)); });
      gaps.push_back(Certify(dual, PathC(k)));
    }
    int64_t iterations = 0;
    const double our_seconds = SecondsOf([&] {
      mercer::SmoSolver solver(kernel_, {});
      mercer::RunContext context;
      for (int k = 0; k < 10; ++k) {
        mercer::SvmWarmStart warm;
        if (k > 0) {
          warm = {.dual = solver.dual(), .scores = solver.scores(), .rescale = true};
        }
        solver.set_relative_gap(gaps[static_cast<size_t>(k)]);
        if (!solver.Start(Problem(PathC(k)), warm, context).ok() || !solver.Run(context).ok()) {
          std::abort();
        }
        iterations += solver.iterations();
      }
    });
    std::printf(
        "  path of ten C from 0.1 to 100: LIBSVM %.4f s  ours, warm starts, %.4f s (%lld "
        "iterations)  ratio %.2f\n",
        libsvm_seconds, our_seconds, static_cast<long long>(iterations),
        libsvm_seconds / our_seconds);
  }

  static double PathC(int k) { return 0.1 * std::pow(1000.0, k / 9.0); }

  std::string name_;
  Vector labels_;
  std::shared_ptr<const Matrix> gram_;
  mercer::DenseKernelOperator kernel_;
  LibsvmProblem libsvm_;
  std::shared_ptr<const mercer::Loss> loss_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "tests/data";
  struct File {
    const char* name;
    const char* path;
    Index most_rows;
  };
  bool found = false;
  for (const File& file : {File{"spambase", "/spambase/spambase.csv.gz", 4000},
                           File{"adult", "/adult/adult14.csv.gz", 10'000},
                           File{"magic", "/magic/magic.csv.gz", 13'314}}) {
    Table table;
    if (ReadTable(folder + file.path, file.most_rows, table)) {
      Comparison(file.name, table).Run();
      found = true;
    } else {
      std::printf("no %s%s\n", folder.c_str(), file.path);
    }
  }
  Comparison("pictures of 784 pixels, synthetic", MakePictures()).Run();
  if (!found) {
    Comparison("synthetic", MakeSynthetic()).Run();
  }
  return 0;
}
