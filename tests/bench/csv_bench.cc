// Speed and memory of the readers of CSV and svmlight on numeric files, beside a plain reader
// (getline and strtod) in the same run.
//
//   csv_bench [rows] [columns] [digits] [density]      default: 1000000 20 6
//
// With a density the file is svmlight, and this part of its cells is set. Peaks are beyond what the
// process held before, in multiples of the dense matrix.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "core/base/numeric/random.h"
#include "core/io/text/readers.h"

namespace {

struct Result {
  double seconds = 0;
  double sum = 0;         // of all values: both readers must agree
  double peak_bytes = 0;  // of the process beyond what it held before
};

// Processor time, which other programs on the machine disturb least; the readers have one thread.
double Seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double PeakBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

std::FILE* CreateFile(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::perror(path.c_str());
    std::exit(1);
  }
  return file;
}

double WriteCsv(const std::string& path, long rows, long columns, int digits) {
  std::FILE* file = CreateFile(path);
  mercer::RandomStream random(1, "csv-bench");
  for (long column = 0; column < columns; ++column) {
    std::fprintf(file, "%sx%ld", column == 0 ? "" : ",", column + 1);
  }
  for (long row = 0; row < rows; ++row) {
    for (long column = 0; column < columns; ++column) {
      std::fprintf(file, "%c%.*g", column == 0 ? '\n' : ',', digits, 10 * random.Normal());
    }
  }
  std::fprintf(file, "\n");
  const auto size = static_cast<double>(std::ftell(file));
  std::fclose(file);
  return size;
}

double WriteSvmlight(const std::string& path, long rows, long columns, int digits, double density) {
  std::FILE* file = CreateFile(path);
  mercer::RandomStream random(1, "csv-bench");
  for (long row = 0; row < rows; ++row) {
    std::fprintf(file, "%ld", row % 2);
    for (long column = 0; column < columns; ++column) {
      if (random.Uniform() < density) {
        std::fprintf(file, " %ld:%.*g", column + 1, digits, 10 * random.Normal());
      }
    }
    std::fprintf(file, "\n");
  }
  const auto size = static_cast<double>(std::ftell(file));
  std::fclose(file);
  return size;
}

double ReadWithMercer(const std::string& path, bool svmlight) {
  auto source = mercer::OpenFileSource(path);
  const auto dataset =
      svmlight ? mercer::ReadSvmlight(**source, {}) : mercer::ReadCsv(**source, {});
  if (!dataset.ok()) {
    std::fprintf(stderr, "%s\n", dataset.status().ToString().c_str());
    std::exit(1);
  }
  double sum = 0;
  for (const double value : dataset->blocks[0].sparse.values) {
    sum += value;
  }
  const auto values = dataset->blocks[0].values.view();
  for (mercer::Index i = 0; i < values.size(); ++i) {
    sum += values.data()[i];
  }
  return sum;
}

double ReadPlainly(const std::string& path, bool svmlight) {
  std::ifstream file(path);
  std::string line;
  if (!svmlight) {
    std::getline(file, line);
  }
  std::vector<double> values;
  while (std::getline(file, line)) {
    char* position = line.data();
    if (svmlight) {
      (void)std::strtod(position, &position);  // the label
    }
    while (*position != '\0') {
      if (svmlight) {
        (void)std::strtol(position, &position, 10);
        ++position;
      }
      values.push_back(std::strtod(position, &position));
      position += *position == ',' ? 1 : 0;
    }
  }
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum;
}

// Runs `read` in a process of its own, so that its peak memory is its own.
Result Measure(const std::function<double()>& read) {
  int channel[2];
  if (pipe(channel) != 0) {
    std::exit(1);
  }
  const pid_t child = fork();
  if (child == 0) {
    Result result;
    const double held = PeakBytes();
    const double start = Seconds();
    result.sum = read();
    result.seconds = Seconds() - start;
    result.peak_bytes = PeakBytes() - held;
    const bool written = write(channel[1], &result, sizeof(result)) == sizeof(result);
    _exit(written ? 0 : 1);
  }
  Result result;
  if (::read(channel[0], &result, sizeof(result)) != sizeof(result)) {
    std::exit(1);
  }
  waitpid(child, nullptr, 0);
  close(channel[0]);
  close(channel[1]);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const long rows = argc > 1 ? std::atol(argv[1]) : 1'000'000;
  const long columns = argc > 2 ? std::atol(argv[2]) : 20;
  const int digits = argc > 3 ? std::atoi(argv[3]) : 6;
  const std::string path =
      std::string(std::getenv("TMPDIR") == nullptr ? "/tmp" : std::getenv("TMPDIR")) +
      "/mercer_csv_bench_" + std::to_string(getpid()) + ".txt";
  const bool svmlight = argc > 4;
  const double size = svmlight ? WriteSvmlight(path, rows, columns, digits, std::atof(argv[4]))
                               : WriteCsv(path, rows, columns, digits);
  const double matrix = static_cast<double>(rows) * static_cast<double>(columns) * sizeof(double);
  std::printf(
      "%s of %ld rows, %ld columns, %d digits: %.0f MB; matrix %.0f MB; one thread, processor "
      "time\n",
      svmlight ? "svmlight" : "CSV", rows, columns, digits, size / 1e6, matrix / 1e6);
  constexpr int kRounds = 3;
  double best_ratio = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Result mercer = Measure([&] { return ReadWithMercer(path, svmlight); });
    const Result plain = Measure([&] { return ReadPlainly(path, svmlight); });
    std::printf(
        "round %d  mercer %6.0f MB/s, peak %.3f x matrix   plain %6.0f MB/s, peak %.3f x matrix   "
        "speed ratio %.2f%s\n",
        round + 1, size / 1e6 / mercer.seconds, mercer.peak_bytes / matrix,
        size / 1e6 / plain.seconds, plain.peak_bytes / matrix, plain.seconds / mercer.seconds,
        mercer.sum == plain.sum ? "" : "   SUMS DIFFER");
    best_ratio = std::max(best_ratio, plain.seconds / mercer.seconds);
  }
  std::printf("best speed ratio %.2f\n", best_ratio);
  unlink(path.c_str());
  return 0;
}
