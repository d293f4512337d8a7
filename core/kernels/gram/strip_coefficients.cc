#include "core/kernels/gram/strip_coefficients.h"

#include <algorithm>
#include <array>

namespace mercer {
namespace {

// An output is kept whole in a panel where it has a coefficient at one row of so many: products of
// vectors take about as long then as entry by entry.
constexpr Index kRowsOfEntry = 4;

constexpr Index kOutputsAtOnce = 16;  // of one product of a strip
constexpr Index kRowsAtOnce = 8;      // whose sums of entries are formed side by side

}  // namespace

StripCoefficients::StripCoefficients(const Eigen::SparseMatrix<double>& coefficients,
                                     const std::vector<int>& targets)
    : num_outputs_(coefficients.cols()) {
  using Iterator = Eigen::SparseMatrix<double>::InnerIterator;
  std::vector<Iterator> next;
  for (Index j = 0; j < coefficients.cols(); ++j) {
    next.emplace_back(coefficients, j);
  }
  std::vector<std::vector<Entry>> of_outputs(next.size());
  panels_.reserve(static_cast<size_t>((coefficients.rows() + kWidth - 1) / kWidth));
  for (Index begin = 0; begin < coefficients.rows(); begin += kWidth) {
    const Index end = std::min(begin + kWidth, coefficients.rows());
    for (size_t j = 0; j < next.size(); ++j) {
      of_outputs[j].clear();
      for (; next[j] && next[j].row() < end; ++next[j]) {
        of_outputs[j].push_back({static_cast<int>(next[j].row() - begin), next[j].value()});
      }
    }
    panels_.push_back(MakePanel(of_outputs, targets, end - begin));
  }
}

StripCoefficients::Panel StripCoefficients::MakePanel(
    const std::vector<std::vector<Entry>>& of_outputs, const std::vector<int>& targets,
    Index width) {
  Panel panel;
  for (size_t j = 0; j < of_outputs.size(); ++j) {
    const std::vector<Entry>& entries = of_outputs[j];
    if (entries.empty()) {
      continue;
    }
    const bool whole = static_cast<Index>(entries.size()) * kRowsOfEntry >= width;
    if (whole) {
      const size_t first = panel.values.size();
      panel.values.resize(first + kWidth, 0.0);
      for (const Entry& entry : entries) {
        panel.values[first + static_cast<size_t>(entry.column)] = entry.value;
      }
    } else {
      panel.entries.insert(panel.entries.end(), entries.begin(), entries.end());
    }
    (whole ? panel.whole : panel.sparse)
        .push_back({static_cast<Index>(j), targets[j], panel.entries.size()});
  }
  panel.whole.shrink_to_fit();
  panel.values.shrink_to_fit();
  panel.sparse.shrink_to_fit();
  panel.entries.shrink_to_fit();
  return panel;
}

size_t StripCoefficients::MemoryBytes() const {
  size_t bytes = panels_.size() * sizeof(Panel);
  for (const Panel& panel : panels_) {
    bytes += panel.values.size() * sizeof(double) + panel.entries.size() * sizeof(Entry) +
             (panel.whole.size() + panel.sparse.size()) * sizeof(Output);
  }
  return bytes;
}

void StripCoefficients::AddProducts(Index column, const Strip& strip, ConstVectorRef factors,
                                    MatrixRef values) const {
  for (Index first = 0; first < strip.cols; first += kWidth) {
    const Panel& panel = panels_[static_cast<size_t>((column + first) / kWidth)];
    const Strip part{strip.values + first, strip.rows, std::min(kWidth, strip.cols - first),
                     strip.stride};
    AddWhole(panel, part, factors, values);
    AddSparse(panel, part, factors, values);
  }
}

void StripCoefficients::AddWhole(const Panel& panel, const Strip& strip, ConstVectorRef factors,
                                 MatrixRef values) {
  std::array<double, kOutputsAtOnce * kRowsAtOnce> products;
  const auto count = static_cast<Index>(panel.whole.size());
  const auto counts = [&](Index k) {
    return factors(panel.whole[static_cast<size_t>(k)].number) != 0;
  };
  for (Index begin = 0, end = 0; begin < count; begin = end) {
    end = begin + 1;
    if (!counts(begin)) {
      continue;
    }
    while (end < count && end - begin < kOutputsAtOnce && counts(end)) {
      ++end;
    }
    for (Index row = 0; row < strip.rows; row += kRowsAtOnce) {
      const Strip rows{strip.values + row * strip.stride, std::min(kRowsAtOnce, strip.rows - row),
                       strip.cols, strip.stride};
      StripProducts(rows, {}, panel.values.data() + begin * kWidth, kWidth, end - begin,
                    products.data());
      for (Index k = begin; k < end; ++k) {
        const Output& output = panel.whole[static_cast<size_t>(k)];
        for (Index r = 0; r < rows.rows; ++r) {
          values(row + r, output.target) +=
              factors(output.number) * products[static_cast<size_t>(r * (end - begin) + k - begin)];
        }
      }
    }
  }
}

void StripCoefficients::AddSparse(const Panel& panel, const Strip& strip, ConstVectorRef factors,
                                  MatrixRef values) {
  size_t begin = 0;
  for (const Output& output : panel.sparse) {
    const double factor = factors(output.number);
    for (Index row = 0; row < strip.rows && factor != 0; row += kRowsAtOnce) {
      const Index count = std::min(kRowsAtOnce, strip.rows - row);
      const double* const first = strip.values + row * strip.stride;
      std::array<double, kRowsAtOnce> sums = {};
      for (size_t e = begin; e < output.end; ++e) {
        const Entry& entry = panel.entries[e];
        for (Index r = 0; r < count; ++r) {
          sums[static_cast<size_t>(r)] += entry.value * first[r * strip.stride + entry.column];
        }
      }
      for (Index r = 0; r < count; ++r) {
        values(row + r, output.target) += factor * sums[static_cast<size_t>(r)];
      }
    }
    begin = output.end;
  }
}

}  // namespace mercer
