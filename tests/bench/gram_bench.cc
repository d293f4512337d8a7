// Gram matrices and sums over kernels: rates beside the machine's own peaks, all on one thread.
//
//   gram_bench [file.csv[.gz]] [rows] [kernels]
//
// The file's numeric columns are standardised; without one, standard normal columns are drawn. It
// prints the settings, the rate of a large DGEMM (the peak for matrix products), of exponentials in
// first-level cache, and of each operation; for distances also how far they are from what memory and
// arithmetic allow.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <time.h>

#include <cblas.h>
#include <zlib.h>

#include "core/base/numeric/random.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/gram/kernel_source.h"
#include "core/kernels/gram/tile_source.h"
#include "core/linalg/huge_pages.h"
#include "core/linalg/vector_math.h"

namespace mercer {
namespace {

// Processor time of this thread: on a machine that others use too, the clock on the wall would
// measure them.
double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The best of several runs.
double Seconds(const std::function<void()>& work, int runs = 5) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    const double start = ThreadSeconds();
    work();
    best = std::min(best, ThreadSeconds() - start);
  }
  return best;
}

RowMatrix RandomRows(Index rows, Index columns) {
  RandomStream stream(1, "gram-bench");
  RowMatrix values(rows, columns);
  for (Index i = 0; i < values.size(); ++i) {
    values.data()[i] = stream.Normal();
  }
  return values;
}

// The first `rows` lines; columns with text are left out.
RowMatrix ReadStandardised(const char* path, Index rows) {
  gzFile file = gzopen(path, "rb");
  if (file == nullptr) {
    std::fprintf(stderr, "cannot open %s\n", path);
    std::exit(1);
  }
  std::vector<std::vector<double>> lines;
  char line[1 << 16];
  gzgets(file, line, sizeof(line));
  while (static_cast<Index>(lines.size()) < rows && gzgets(file, line, sizeof(line)) != nullptr) {
    std::vector<double> values;
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) {
      char* end = nullptr;
      const double value = std::strtod(cell.c_str(), &end);
      if (end != cell.c_str()) {
        values.push_back(value);
      }
    }
    lines.push_back(values);
  }
  gzclose(file);
  RowMatrix result(static_cast<Index>(lines.size()), static_cast<Index>(lines.front().size()));
  for (Index i = 0; i < result.rows(); ++i) {
    for (Index j = 0; j < result.cols(); ++j) {
      result(i, j) = lines[static_cast<size_t>(i)][static_cast<size_t>(j)];
    }
  }
  for (Index j = 0; j < result.cols(); ++j) {
    result.col(j).array() -= result.col(j).mean();
    result.col(j) /= std::max(
        1e-300, std::sqrt(result.col(j).squaredNorm() / static_cast<double>(result.rows())));
  }
  return result;
}

std::shared_ptr<PreparedData> MakeData(RowMatrix values) {
  auto data = std::make_shared<PreparedData>();
  data->rows = values.rows();
  PreparedBlock block;
  block.name = "x";
  for (Index c = 0; c < values.cols(); ++c) {
    block.sources.push_back("x" + std::to_string(c));
  }
  block.values = SharedMatrix(std::move(values));
  data->blocks.push_back(std::move(block));
  return data;
}

double PeakFlops() {
  const int n = 1536;
  Matrix a = Matrix::Random(n, n);
  Matrix b = Matrix::Random(n, n);
  Matrix c(n, n);
  const double seconds = Seconds([&] {
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, a.data(), n, b.data(), n,
                0.0, c.data(), n);
  });
  return 2.0 * n * n * n / seconds;
}

void PrintExponentials() {
  std::vector<double> x(2048, -1.25);
  std::vector<double> y(2048);
  std::vector<float> xf(2048, -1.25F);
  std::vector<float> yf(2048);
  const int repeats = 20000;
  const double doubles = Seconds([&] {
    for (int r = 0; r < repeats; ++r) {
      Exp(x, absl::MakeSpan(y));
    }
  });
  const double floats = Seconds([&] {
    for (int r = 0; r < repeats; ++r) {
      Exp(xf, absl::MakeSpan(yf));
    }
  });
  std::printf("exp in first-level cache      %7.2f G/s double   %7.2f G/s float\n",
              repeats * 2048e-9 / doubles, repeats * 2048e-9 / floats);
}

// What memory asks for the packed distances, in seconds. The system clears fresh pages before the
// program may write them, on the same thread; writing may run beside the arithmetic.
struct MemorySeconds {
  double fresh = 0;  // to get the pages
  double write = 0;  // to write pages that are there
};

MemorySeconds MeasureMemory(Index rows) {
  constexpr Index kPage = 4096 / sizeof(double);
  const Index size = TileGrid{rows}.PackedSize();
  const auto allocate = [&] {
    Vector tiles(size);
    PreferHugePages(tiles.data(), static_cast<size_t>(size) * sizeof(double));
    for (Index i = 0; i < size; i += kPage) {
      tiles(i) = 1;
    }
    // The compiler may not leave the writing out.
    asm volatile("" : : "g"(tiles.data()) : "memory");
    return tiles;
  };
  MemorySeconds seconds;
  seconds.fresh = Seconds([&] { (void)allocate(); });
  Vector tiles = allocate();
  seconds.write = Seconds([&] {
    tiles.setOnes();
    asm volatile("" : : "g"(tiles.data()) : "memory");
  });
  return seconds;
}

// The roofline is the time of fresh pages and then the larger of the arithmetic at the peak of DGEMM
// and of writing the result.
void PrintDistances(Index rows, double peak) {
  RunContext context;
  const MemorySeconds memory = MeasureMemory(rows);
  const TileGrid grid{rows};
  const double bytes = static_cast<double>(grid.PackedSize()) * sizeof(double);
  std::printf(
      "memory of the distances: fresh pages %.4f s (%.2f GB/s), writing %.4f s (%.2f GB/s)\n",
      memory.fresh, bytes * 1e-9 / memory.fresh, memory.write, bytes * 1e-9 / memory.write);
  for (const Index columns : {8, 16, 32, 64, 128, 512}) {
    const auto data = MakeData(RandomRows(rows, columns));
    KernelSpec spec;
    const auto source = ResolveSource(spec, *data);
    const double seconds =
        Seconds([&] { (void)TileSource::Make(*source, data, {}, true, context); });
    const auto tiles = TileSource::Make(*source, data, {}, false, context);
    std::vector<double> scratch;
    const double not_kept = Seconds([&] {
      for (Index tile = 0; tile < grid.num_tiles(); ++tile) {
        const auto [i, j] = grid.Tile(tile);
        (void)tiles->View(i, j, context, scratch);
      }
    });
    // Half of the n^2 pairs, a multiplication and an addition per column.
    const double flops =
        static_cast<double>(rows) * static_cast<double>(rows) * static_cast<double>(columns);
    const double bound = memory.fresh + std::max(flops / peak, memory.write);
    std::printf(
        "distances, %4td columns  %7.4f s  %6.2f Gflop/s  %5.1f %% of peak, %5.1f %% of the "
        "roofline; not kept %5.1f %% of peak\n",
        columns, seconds, flops * 1e-9 / seconds, 100 * flops / seconds / peak,
        100 * bound / seconds, 100 * flops / not_kept / peak);
  }
}

void PrintFamily(const std::shared_ptr<PreparedData>& data, int num_kernels) {
  RunContext context;
  std::vector<KernelSpec> kernels(static_cast<size_t>(num_kernels));
  for (int k = 0; k < num_kernels; ++k) {
    kernels[static_cast<size_t>(k)].bandwidth =
        std::pow(100.0, num_kernels == 1 ? 0.0 : k / (num_kernels - 1.0));
  }
  std::unique_ptr<KernelFamily> family;
  const double build =
      Seconds([&] { family = MakeExactKernelFamily(data, {}, kernels, context).value(); }, 3);
  const Index n = family->size();
  const Index m = family->num_kernels();
  const Vector weights = Vector::Constant(m, 1.0 / static_cast<double>(m));
  RandomStream stream(2, "gram-bench-dual");
  Matrix a(n, 1);
  for (Index i = 0; i < n; ++i) {
    a(i, 0) = stream.Uniform() < 0.4 ? stream.Normal() : 0.0;
  }
  Matrix forms(m, 1);
  Matrix search_forms(m, 1);
  Matrix product(n, 1);
  Matrix products(n, m);
  const double one = Seconds([&] { (void)family->Combine(Vector::Unit(m, 0), context); }, 3);
  const double combine = Seconds([&] { (void)family->Combine(weights, context); }, 3);
  const double search = Seconds([&] { (void)family->CombineForSearch(weights, context); }, 3);
  const double exact_forms =
      Seconds([&] { (void)family->QuadraticForms(a, {}, forms, context); }, 3);
  const double table_forms =
      Seconds([&] { (void)family->QuadraticFormsForSearch(a, {}, search_forms, context); }, 3);
  const double combined =
      Seconds([&] { (void)family->CombinedProduct(weights, a, product, context); }, 3);
  const double all_products =
      Seconds([&] { (void)family->Products(a.col(0), {}, {}, products, context); }, 1);
  const double pairs = 0.5 * static_cast<double>(n) * static_cast<double>(n);
  std::printf("%td rows, %td columns, %td Gaussians of one distance\n", n,
              data->blocks[0].values.cols(), m);
  std::printf("  distances                   %8.4f s\n", build);
  std::printf("  Combine, one kernel         %8.4f s   %6.2f G exp/s\n", one, pairs * 1e-9 / one);
  std::printf("  Combine, all                %8.4f s   %6.2f G exp/s\n", combine,
              pairs * static_cast<double>(m) * 1e-9 / combine);
  std::printf(
      "  CombineForSearch            %8.4f s   %6.1f times faster, %4.1f times one kernel\n",
      search, combine / search, search / one);
  std::printf("  QuadraticForms              %8.4f s   (40 %% of the rows)\n", exact_forms);
  std::printf(
      "  QuadraticFormsForSearch     %8.4f s   %6.1f times faster, largest relative difference "
      "%.1e\n",
      table_forms, exact_forms / table_forms,
      ((forms - search_forms).array() / forms.array()).abs().maxCoeff());
  std::printf("  CombinedProduct             %8.4f s\n", combined);
  std::printf("  Products, all rows          %8.4f s\n", all_products);
}

int Main(int argc, char** argv) {
  const Index rows = argc > 2 ? std::atol(argv[2]) : 4000;
  const int num_kernels = argc > 3 ? std::atoi(argv[3]) : 50;
  const ParallelLoop one_thread(1);  // sets OpenBLAS to one thread
  const double peak = PeakFlops();
  std::printf("one thread; DGEMM of order 1536: %.2f Gflop/s\n", peak * 1e-9);
  PrintExponentials();
  PrintDistances(rows, peak);
  PrintFamily(MakeData(argc > 1 ? ReadStandardised(argv[1], rows) : RandomRows(rows, 10)),
              num_kernels);
  return 0;
}

}  // namespace
}  // namespace mercer

int main(int argc, char** argv) { return mercer::Main(argc, argv); }
