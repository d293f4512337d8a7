// Fourier features beside what they are made of: matrix products and vectorised sines and cosines, all on one thread.
//
//   features_bench [--rows N] [--inputs N] [--groups N] [--slopes N]
//
// A pair is the cosine and sine of one frequency at one row. "bare" is a matrix product of the library for chunks of rows, then the
// same vectorised sines and cosines on its result; the ratio is bare time over ours. Values are computed for a chunk of rows at a time
// and not kept, as prediction and the search for features do.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <time.h>
#include <vector>

#include <cblas.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/features_bench.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file again for each target.
#include "hwy/highway.h"

#include "core/base/numeric/random.h"
#include "core/base/process/run_context.h"
#include "core/features/candidate_scan.h"
#include "core/features/feature_family_spec.h"
#include "core/features/sine_cosine-inl.h"
#include "core/features/weighted_columns.h"

HWY_BEFORE_NAMESPACE();
namespace mercer {
namespace HWY_NAMESPACE {

// values: `size` cosines, then `size` sines; size is a multiple of 16.
void DoubleArray(const double* arguments, Index size, double* values) {
  const hn::CappedTag<double, 16> d;
  for (Index i = 0; i < size; i += static_cast<Index>(hn::Lanes(d))) {
    auto cosine = hn::Zero(d);
    auto sine = hn::Zero(d);
    CosineAndSine(d, hn::LoadU(d, arguments + i), cosine, sine);
    hn::StoreU(cosine, d, values + i);
    hn::StoreU(sine, d, values + size + i);
  }
}

void SingleArray(const double* arguments, Index size, float* values) {
  const hn::CappedTag<double, 16> d;
  const hn::Rebind<float, hn::CappedTag<double, 16>> half;
  for (Index i = 0; i < size; i += static_cast<Index>(hn::Lanes(d))) {
    auto remainder = hn::Zero(half);
    auto quadrant = hn::Zero(hn::RebindToSigned<decltype(half)>());
    ReduceToSingle(d, hn::LoadU(d, arguments + i), remainder, quadrant);
    auto cosine = hn::Zero(half);
    auto sine = hn::Zero(half);
    CosineAndSine(half, remainder, quadrant, cosine, sine);
    hn::StoreU(cosine, half, values + i);
    hn::StoreU(sine, half, values + size + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mercer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mercer {
namespace {

HWY_EXPORT(DoubleArray);
HWY_EXPORT(SingleArray);

constexpr Index kChunk = 256;

struct Settings {
  Index rows = 1000000;
  Index inputs = 22;
  Index groups = 100;
  Index slopes = 1;
};

// Processor time of this thread: on a machine that others use too, the clock on the wall would measure them.
double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The best of several runs.
double Seconds(const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 5; ++run) {
    const double start = ThreadSeconds();
    work();
    best = std::min(best, ThreadSeconds() - start);
  }
  return best;
}

std::shared_ptr<const PreparedData> NormalRows(Index rows, Index columns) {
  RandomStream stream(1, "features-bench");
  RowMatrix values(rows, columns);
  for (Index i = 0; i < values.size(); ++i) {
    values.data()[i] = stream.Normal();
  }
  auto data = std::make_shared<PreparedData>();
  data->rows = rows;
  data->blocks.push_back({"features", {}, SharedMatrix(std::move(values))});
  return data;
}

// Nanoseconds per pair.
class Bench {
 public:
  explicit Bench(const Settings& settings)
      : settings_(settings), data_(NormalRows(settings.rows, settings.inputs)), rows_(data_) {
    FeatureFamilySpec spec;
    spec.bandwidths = {std::sqrt(15.0)};
    spec.candidates_per_bandwidth = settings.groups;
    family_ = MakeFeatureFamily(spec, settings.inputs).value();
    groups_ = family_->Draw(1, 0, RunContext()).value();
    map_ = family_->Bind(groups_);
  }

  template <typename Values>
  double Evaluation() const {
    Values values(kChunk, map_->num_columns());
    return PerPair(Seconds([&] {
      RowMatrix buffer;
      for (Index i = 0; i + kChunk <= rows_.size(); i += kChunk) {
        map_->Evaluate(rows_.Read(i, i + kChunk, buffer), values);
      }
    }));
  }

  // The product alone, arguments in `Scalar`.
  template <typename Scalar>
  double Product() const {
    using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Dense rows = data_->blocks[0].values.view().template cast<Scalar>();
    Dense frequencies(settings_.inputs, settings_.groups);
    for (Index g = 0; g < settings_.groups; ++g) {
      for (Index k = 0; k < settings_.inputs; ++k) {
        frequencies(k, g) =
            static_cast<Scalar>(groups_[static_cast<size_t>(g)][static_cast<size_t>(k) + 1]);
      }
    }
    Dense arguments(kChunk, settings_.groups);
    return PerPair(Seconds([&] {
      for (Index i = 0; i + kChunk <= rows.rows(); i += kChunk) {
        Multiply(rows.data() + i * rows.cols(), frequencies, arguments);
      }
    }));
  }

  template <typename Scalar>
  double CosinesAndSines() const {
    const Index size = kChunk * settings_.groups;
    const RowMatrix arguments = 3 * RowMatrix::Random(kChunk, settings_.groups);
    std::vector<Scalar> values(static_cast<size_t>(2 * size));
    return PerPair(Seconds([&] {
      for (Index i = 0; i + kChunk <= settings_.rows; i += kChunk) {
        Apply(arguments.data(), size, values.data());
      }
    }));
  }

  double LibraryCalls() const {
    const Vector arguments = 3 * Vector::Random(1000000);
    double sum = 0;
    const double seconds = Seconds([&] {
      for (const double x : arguments) {
        sum += std::cos(x) + std::sin(x);
      }
    });
    return std::isfinite(sum) ? 1e9 * seconds / static_cast<double>(arguments.size()) : 0;
  }

  // Decision values of a model with one output.
  double Prediction() const {
    const Matrix weights = Matrix::Random(map_->num_columns(), 1);
    Matrix out(rows_.size(), 1);
    return PerPair(Seconds([&] {
      out.setZero();
      AddWeightedColumns(*map_, data_->blocks[0].values.view(), weights, out);
    }));
  }

  double Scan() const {
    const Matrix slopes = Matrix::Random(rows_.size(), settings_.slopes);
    const RunContext context;
    return PerPair(Seconds([&] {
      if (!ScanCandidates(*family_, rows_, groups_, slopes, FeaturePrecision::kSingle, context)
               .ok()) {
        std::exit(1);
      }
    }));
  }

 private:
  static void Apply(const double* arguments, Index size, double* values) {
    HWY_DYNAMIC_DISPATCH(DoubleArray)(arguments, size, values);
  }
  static void Apply(const double* arguments, Index size, float* values) {
    HWY_DYNAMIC_DISPATCH(SingleArray)(arguments, size, values);
  }
  static void Multiply(const double* rows, const RowMatrix& b, RowMatrix& out) {
    const auto n = static_cast<int>(b.cols());
    const auto k = static_cast<int>(b.rows());
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(kChunk), n, k, 1, rows,
                k, b.data(), n, 0, out.data(), n);
  }
  template <typename Dense>
  static void Multiply(const float* rows, const Dense& b, Dense& out) {
    const auto n = static_cast<int>(b.cols());
    const auto k = static_cast<int>(b.rows());
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(kChunk), n, k, 1, rows,
                k, b.data(), n, 0, out.data(), n);
  }

  double PerPair(double seconds) const {
    return 1e9 * seconds / static_cast<double>(settings_.rows * settings_.groups);
  }

  Settings settings_;
  std::shared_ptr<const PreparedData> data_;
  FeatureRows rows_;
  std::shared_ptr<const FeatureFamily> family_;
  std::vector<FeatureParameters> groups_;
  std::unique_ptr<const FeatureMap> map_;
};

void Run(const Settings& settings) {
  const Bench bench(settings);
  std::printf("rows %lld, inputs %lld, groups %lld, slopes %lld; ns per pair\n",
              static_cast<long long>(settings.rows), static_cast<long long>(settings.inputs),
              static_cast<long long>(settings.groups), static_cast<long long>(settings.slopes));
  const double single = bench.CosinesAndSines<float>();
  const double twice = bench.CosinesAndSines<double>();
  const double product = bench.Product<double>();
  const double single_product = bench.Product<float>();
  std::printf("cosine and sine: single %.3f, double %.3f, C library %.3f\n", single, twice,
              bench.LibraryCalls());
  std::printf("matrix product: double %.3f, single %.3f\n", product, single_product);
  const double evaluation = bench.Evaluation<SingleMatrix>();
  const double evaluation_twice = bench.Evaluation<Matrix>();
  std::printf(
      "evaluation: single %.3f (ratio %.2f; with the single product %.2f), double %.3f (ratio "
      "%.2f)\n",
      evaluation, (product + single) / evaluation, (single_product + single) / evaluation,
      evaluation_twice, (product + twice) / evaluation_twice);
  const double prediction = bench.Prediction();
  std::printf("prediction: %.3f (ratio %.2f; with the single sines %.2f)\n", prediction,
              (product + twice) / prediction, (product + single) / prediction);
  std::printf("scan: %.3f\n", bench.Scan());
}

bool Parse(int argc, char** argv, Settings& settings) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const long long value = std::atoll(argv[i + 1]);
    if (flag == "--rows") {
      settings.rows = value;
    } else if (flag == "--inputs") {
      settings.inputs = value;
    } else if (flag == "--groups") {
      settings.groups = value;
    } else if (flag == "--slopes") {
      settings.slopes = value;
    } else {
      return false;
    }
  }
  return argc % 2 == 1 && settings.rows >= kChunk && settings.inputs >= 1 && settings.groups >= 1 &&
         settings.slopes >= 1;
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) {
  mercer::Settings settings;
  if (!mercer::Parse(argc, argv, settings)) {
    std::fprintf(stderr,
                 "usage: features_bench [--rows N] [--inputs N] [--groups N] [--slopes N]\n");
    return 2;
  }
  mercer::Run(settings);
  return 0;
}
#endif  // HWY_ONCE
