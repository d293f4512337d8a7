#include "core/linalg/exponential_table.h"

#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/linalg/exponential_table.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file again for each target.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mercer {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<double, kStripPadding>;
using Register = hn::Vec<Tag>;
using IntegerTag = hn::RebindToSigned<Tag>;
using Integers = hn::Vec<IntegerTag>;

// Bits of a double below the four leading bits of its mantissa.
constexpr int kLowBits = 48;

// The interval of each t and the place in it, from -1 to 1.
HWY_INLINE void Locate(Tag d, const ExponentialGrid::Layout& layout, Register t, Integers& interval,
                       Register& place) {
  const IntegerTag di;
  const Integers bits = hn::BitCast(di, t);
  const auto in_first = hn::Lt(t, hn::Set(d, layout.first));
  const Integers leading =
      hn::Sub(hn::ShiftRight<kLowBits>(bits), hn::Set(di, layout.first_bits - 1));
  interval = hn::Min(hn::IfThenElseZero(hn::RebindMask(di, hn::Not(in_first)), leading),
                     hn::Set(di, layout.last_interval));
  const Integers low = hn::And(bits, hn::Set(di, (int64_t{1} << kLowBits) - 1));
  // The mantissa within its interval, in [1, 1 + 1/16).
  const Register mantissa = hn::BitCast(d, hn::Or(low, hn::Set(di, int64_t{0x3FF} << 52)));
  const Register elsewhere = hn::MulAdd(mantissa, hn::Set(d, 32.0), hn::Set(d, -33.0));
  const Register first = hn::MulAdd(t, hn::Set(d, 2.0 * layout.inverse_first), hn::Set(d, -1.0));
  place = hn::IfThenElse(in_first, first, elsewhere);
}

#if HWY_TARGET <= HWY_AVX3 && HWY_TARGET >= HWY_AVX3_DL
#define MERCER_EIGHT_LANES 1
#else
#define MERCER_EIGHT_LANES 0
#endif

// Eight registers by name, since the compiler would keep an array of them in memory.
struct Eight {
  Register v0, v1, v2, v3, v4, v5, v6, v7;
};

#if MERCER_EIGHT_LANES

// Two registers of four blocks of two lanes: swaps the odd blocks of a with the even blocks of b.
HWY_INLINE void SwapBlocks(Register& a, Register& b) {
  const Register first = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
  b = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
  a = first;
}

HWY_INLINE void SwapLanes(Tag d, Register& a, Register& b) {
  const Register first = hn::InterleaveLower(d, a, b);
  b = hn::InterleaveUpper(d, a, b);
  a = first;
}

HWY_INLINE void SwapHalves(Tag d, Register& a, Register& b) {
  const Register first = hn::ConcatLowerLower(d, b, a);
  b = hn::ConcatUpperUpper(d, b, a);
  a = first;
}

// Transposes a matrix of 8 x 8 in three rounds: lanes within pairs of rows, blocks of two within
// fours, then halves.
HWY_INLINE void Transpose(Tag d, Eight& v) {
  SwapLanes(d, v.v0, v.v1);
  SwapLanes(d, v.v2, v.v3);
  SwapLanes(d, v.v4, v.v5);
  SwapLanes(d, v.v6, v.v7);
  SwapBlocks(v.v0, v.v2);
  SwapBlocks(v.v1, v.v3);
  SwapBlocks(v.v4, v.v6);
  SwapBlocks(v.v5, v.v7);
  SwapHalves(d, v.v0, v.v4);
  SwapHalves(d, v.v1, v.v5);
  SwapHalves(d, v.v2, v.v6);
  SwapHalves(d, v.v3, v.v7);
}

HWY_INLINE Eight LoadCoefficients(Tag d, const double* coefficients, Integers offset) {
  const IntegerTag di;
  HWY_ALIGN int64_t offsets[8];
  hn::Store(offset, di, offsets);
  Eight v;
  v.v0 = hn::LoadU(d, coefficients + offsets[0]);
  v.v1 = hn::LoadU(d, coefficients + offsets[1]);
  v.v2 = hn::LoadU(d, coefficients + offsets[2]);
  v.v3 = hn::LoadU(d, coefficients + offsets[3]);
  v.v4 = hn::LoadU(d, coefficients + offsets[4]);
  v.v5 = hn::LoadU(d, coefficients + offsets[5]);
  v.v6 = hn::LoadU(d, coefficients + offsets[6]);
  v.v7 = hn::LoadU(d, coefficients + offsets[7]);
  Transpose(d, v);
  return v;
}

HWY_INLINE void AddTo(Tag d, Register terms, double* target) {
  hn::StoreU(hn::Add(hn::LoadU(d, target), terms), d, target);
}

// Adds the powers (one register for each, a lane for each pair) to the moments of the pairs'
// intervals, pair by pair.
HWY_INLINE void AddPowers(Tag d, Eight v, Integers offset, double* moments) {
  const IntegerTag di;
  HWY_ALIGN int64_t offsets[8];
  hn::Store(offset, di, offsets);
  Transpose(d, v);
  AddTo(d, v.v0, moments + offsets[0]);
  AddTo(d, v.v1, moments + offsets[1]);
  AddTo(d, v.v2, moments + offsets[2]);
  AddTo(d, v.v3, moments + offsets[3]);
  AddTo(d, v.v4, moments + offsets[4]);
  AddTo(d, v.v5, moments + offsets[5]);
  AddTo(d, v.v6, moments + offsets[6]);
  AddTo(d, v.v7, moments + offsets[7]);
}
#else
HWY_INLINE Register Gather(Tag d, const double* coefficients, Integers offset, int64_t power) {
  const IntegerTag di;
  return hn::GatherIndex(d, coefficients, hn::Add(offset, hn::Set(di, power)));
}

HWY_INLINE Eight LoadCoefficients(Tag d, const double* coefficients, Integers offset) {
  return {Gather(d, coefficients, offset, 0), Gather(d, coefficients, offset, 1),
          Gather(d, coefficients, offset, 2), Gather(d, coefficients, offset, 3),
          Gather(d, coefficients, offset, 4), Gather(d, coefficients, offset, 5),
          Gather(d, coefficients, offset, 6), Gather(d, coefficients, offset, 7)};
}

HWY_INLINE void AddPowers(Tag d, const Eight& v, Integers offset, double* moments) {
  const IntegerTag di;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN int64_t offsets[kStripPadding];
  HWY_ALIGN double terms[8 * kStripPadding];
  hn::Store(offset, di, offsets);
  hn::StoreU(v.v0, d, terms);
  hn::StoreU(v.v1, d, terms + lanes);
  hn::StoreU(v.v2, d, terms + 2 * lanes);
  hn::StoreU(v.v3, d, terms + 3 * lanes);
  hn::StoreU(v.v4, d, terms + 4 * lanes);
  hn::StoreU(v.v5, d, terms + 5 * lanes);
  hn::StoreU(v.v6, d, terms + 6 * lanes);
  hn::StoreU(v.v7, d, terms + 7 * lanes);
  for (size_t i = 0; i < lanes; ++i) {
    for (size_t p = 0; p < 8; ++p) {
      moments[static_cast<size_t>(offsets[i]) + p] += terms[p * lanes + i];
    }
  }
}
#endif

void AddTableValues(const ExponentialGrid::Layout& layout, const Strip& strip,
                    const double* coefficients, double* out) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const Index padded = PaddedLength(strip.cols);
  for (Index r = 0; r < strip.rows; ++r) {
    for (Index c = 0; c < padded; c += lanes) {
      Integers interval;
      Register s;
      Locate(d, layout, hn::LoadU(d, strip.values + r * strip.stride + c), interval, s);
      const Eight v = LoadCoefficients(d, coefficients, hn::ShiftLeft<3>(interval));
      const Register square = hn::Mul(s, s);
      Register even = hn::MulAdd(v.v6, square, v.v4);
      Register odd = hn::MulAdd(v.v7, square, v.v5);
      even = hn::MulAdd(even, square, v.v2);
      odd = hn::MulAdd(odd, square, v.v3);
      even = hn::MulAdd(even, square, v.v0);
      odd = hn::MulAdd(odd, square, v.v1);
      double* target = out + r * strip.stride + c;
      hn::StoreU(hn::Add(hn::LoadU(d, target), hn::MulAdd(odd, s, even)), d, target);
    }
  }
}

void AddTableMoments(const ExponentialGrid::Layout& layout, const Strip& strip, RowLengths lengths,
                     const double* row_weights, const double* column_weights, double* moments) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index r = 0; r < strip.rows; ++r) {
    const Index length = lengths.Length(r, strip.cols);
    for (Index c = 0; c < length; c += lanes) {
      Integers interval;
      Register s;
      Locate(d, layout, hn::LoadU(d, strip.values + r * strip.stride + c), interval, s);
      const auto mask = hn::FirstN(d, static_cast<size_t>(length - c < lanes ? length - c : lanes));
      const Register square = hn::Mul(s, s);
      Eight v;
      v.v0 = hn::IfThenElseZero(
          mask, hn::Mul(hn::LoadU(d, column_weights + c), hn::Set(d, row_weights[r])));
      v.v1 = hn::Mul(v.v0, s);
      v.v2 = hn::Mul(v.v0, square);
      v.v3 = hn::Mul(v.v1, square);
      v.v4 = hn::Mul(v.v2, square);
      v.v5 = hn::Mul(v.v3, square);
      v.v6 = hn::Mul(v.v4, square);
      v.v7 = hn::Mul(v.v5, square);
      AddPowers(d, v, hn::ShiftLeft<3>(interval), moments);
    }
  }
}

#undef MERCER_EIGHT_LANES

}  // namespace HWY_NAMESPACE
}  // namespace mercer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mercer {

HWY_EXPORT(AddTableValues);
HWY_EXPORT(AddTableMoments);

namespace {

constexpr Index kNodes = ExponentialGrid::kNodes;
constexpr double kMaxOctaves = 64;
constexpr int kIntervalBits = 48;  // an interval is a value of the bits above these

// The matrix that makes the coefficients of 1, s, ..., s^7 of values at the Chebyshev nodes: the
// coefficients of the Chebyshev polynomials follow by their discrete orthogonality, and these are
// written out in powers.
using NodeMatrix = Eigen::Matrix<double, kNodes, kNodes>;

double Node(Index q) {
  return std::cos(std::numbers::pi * (2.0 * static_cast<double>(q) + 1.0) / (2.0 * kNodes));
}

const NodeMatrix& CoefficientsOfValues() {
  static const NodeMatrix matrix = [] {
    NodeMatrix chebyshev = NodeMatrix::Zero();  // (p, n): coefficient of s^p in T_n
    chebyshev(0, 0) = 1;
    chebyshev(1, 1) = 1;
    for (Index n = 2; n < kNodes; ++n) {
      for (Index p = 0; p < kNodes; ++p) {
        chebyshev(p, n) = (p > 0 ? 2.0 * chebyshev(p - 1, n - 1) : 0.0) - chebyshev(p, n - 2);
      }
    }
    NodeMatrix transform;  // (n, q): weight of the value at node q in the coefficient of T_n
    for (Index n = 0; n < kNodes; ++n) {
      for (Index q = 0; q < kNodes; ++q) {
        const double angle =
            std::numbers::pi * (2.0 * static_cast<double>(q) + 1.0) / (2.0 * kNodes);
        transform(n, q) = (n == 0 ? 1.0 : 2.0) / kNodes * std::cos(static_cast<double>(n) * angle);
      }
    }
    return NodeMatrix(chebyshev * transform);
  }();
  return matrix;
}

double FromBits(int64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

std::shared_ptr<const ExponentialGrid> ExponentialGrid::Make(double min_rate, double max_rate) {
  if (!(min_rate > 1e-100) || !(max_rate < 1e100)) {
    return nullptr;
  }
  // A power of two, so that an interval starts there.
  const double first = std::exp2(std::floor(std::log2(0.0625 / max_rate)));
  const double last = 45.0 / min_rate;
  if (std::log2(last / first) > kMaxOctaves) {
    return nullptr;
  }
  std::shared_ptr<ExponentialGrid> grid(new ExponentialGrid());
  int64_t first_word = 0;
  int64_t last_word = 0;
  std::memcpy(&first_word, &first, sizeof(first));
  std::memcpy(&last_word, &last, sizeof(last));
  Layout& layout = grid->layout_;
  layout.first = first;
  layout.inverse_first = 1.0 / first;
  layout.first_bits = first_word >> kIntervalBits;
  layout.last_interval = (last_word >> kIntervalBits) - layout.first_bits + 2;
  grid->num_intervals_ = static_cast<Index>(layout.last_interval) + 1;
  grid->nodes_.resize(grid->num_values());
  for (Index i = 0; i < grid->num_intervals_; ++i) {
    const double begin = i == 0 ? 0.0 : FromBits((layout.first_bits + i - 1) << kIntervalBits);
    const double end = FromBits((layout.first_bits + i) << kIntervalBits);
    for (Index q = 0; q < kNodes; ++q) {
      grid->nodes_(i * kNodes + q) = begin + 0.5 * (Node(q) + 1.0) * (end - begin);
    }
  }
  grid->nodes_.tail(kNodes).setConstant(1e4 / min_rate);  // every exponential is 0 there
  return grid;
}

void ExponentialGrid::ToCoefficients(absl::Span<double> values) const {
  Eigen::Map<Eigen::Matrix<double, kNodes, Eigen::Dynamic>> by_interval(values.data(), kNodes,
                                                                        num_intervals_);
  // The constant part is kept out of the product, so that it keeps all its digits; the rest, much
  // smaller, has little to lose.
  const Eigen::RowVectorXd constants = by_interval.row(0);
  by_interval.rowwise() -= constants;
  by_interval = (CoefficientsOfValues() * by_interval).eval();
  by_interval.row(0) += constants;
}

void ExponentialGrid::ToNodeWeights(absl::Span<double> moments) const {
  Eigen::Map<Eigen::Matrix<double, kNodes, Eigen::Dynamic>> by_interval(moments.data(), kNodes,
                                                                        num_intervals_);
  by_interval = (CoefficientsOfValues().transpose() * by_interval).eval();
}

void ExponentialGrid::AddValues(const Strip& strip, const double* coefficients, double* out) const {
  HWY_DYNAMIC_DISPATCH(AddTableValues)(layout_, strip, coefficients, out);
}

void ExponentialGrid::AddMoments(const Strip& strip, RowLengths lengths, const double* row_weights,
                                 const double* column_weights, double* moments) const {
  HWY_DYNAMIC_DISPATCH(AddTableMoments)
  (layout_, strip, lengths, row_weights, column_weights, moments);
}

}  // namespace mercer
#endif  // HWY_ONCE
