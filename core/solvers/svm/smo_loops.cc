#include "core/solvers/svm/smo_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/solvers/svm/smo_loops.cc"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mercer::smo::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Floats = hn::Rebind<float, Doubles>;
using DoubleVector = hn::Vec<Doubles>;
using FloatVector = hn::Vec<Floats>;

// Columns hold floats or doubles; arithmetic is in double precision either way.
HWY_INLINE DoubleVector LoadAsDouble(const double* from) { return hn::LoadU(Doubles(), from); }
HWY_INLINE DoubleVector LoadAsDouble(const float* from) {
  return hn::PromoteTo(Doubles(), hn::LoadU(Floats(), from));
}

// The largest value so far in each lane, and the first position at which it was met.
struct LaneBest {
  DoubleVector value;
  DoubleVector position;
};

HWY_INLINE void Offer(LaneBest& best, DoubleVector candidate, DoubleVector at) {
  const auto better = hn::Gt(candidate, best.value);
  best.value = hn::IfThenElse(better, candidate, best.value);
  best.position = hn::IfThenElse(better, at, best.position);
}

// Chooses among the lanes: the largest value, and the smallest position among equal ones. The
// entries behind the last full vector are compared one by one after that, so that ties go to the
// smallest position whatever the length of a vector.
HWY_INLINE UpChoice Reduce(const LaneBest& best) {
  HWY_ALIGN double values[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN double positions[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(best.value, Doubles(), values);
  hn::Store(best.position, Doubles(), positions);
  UpChoice choice;
  for (size_t lane = 0; lane < hn::Lanes(Doubles()); ++lane) {
    const auto position = static_cast<Index>(positions[lane]);
    if (values[lane] > choice.score ||
        (values[lane] == choice.score && position >= 0 && position < choice.position)) {
      choice = {position, values[lane]};
    }
  }
  return choice;
}

UpChoice ChooseUpImpl(const double* HWY_RESTRICT h, const double* HWY_RESTRICT up_cost,
                      Index size) {
  const Doubles d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  LaneBest best{hn::Set(d, -kInfinity), hn::Set(d, -1.0)};
  DoubleVector at = hn::Iota(d, 0.0);
  const DoubleVector stride = hn::Set(d, static_cast<double>(lanes));
  Index t = 0;
  for (; t + lanes <= size; t += lanes) {
    Offer(best, hn::Sub(hn::Neg(hn::LoadU(d, h + t)), hn::LoadU(d, up_cost + t)), at);
    at = hn::Add(at, stride);
  }
  UpChoice choice = Reduce(best);
  for (; t < size; ++t) {
    const double score = -h[t] - up_cost[t];
    if (score > choice.score) {
      choice = {t, score};
    }
  }
  return choice;
}

template <typename T>
HWY_INLINE UpChoice UpdateAndChooseUpOn(double* HWY_RESTRICT h, const double* HWY_RESTRICT up_cost,
                                        const T* HWY_RESTRICT column_i,
                                        const T* HWY_RESTRICT column_j, double step, Index size) {
  const Doubles d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  LaneBest best{hn::Set(d, -kInfinity), hn::Set(d, -1.0)};
  DoubleVector at = hn::Iota(d, 0.0);
  const DoubleVector stride = hn::Set(d, static_cast<double>(lanes));
  const DoubleVector steps = hn::Set(d, step);
  Index t = 0;
  for (; t + lanes <= size; t += lanes) {
    const DoubleVector difference = hn::Sub(LoadAsDouble(column_i + t), LoadAsDouble(column_j + t));
    const DoubleVector updated = hn::Add(hn::LoadU(d, h + t), hn::Mul(steps, difference));
    hn::StoreU(updated, d, h + t);
    Offer(best, hn::Sub(hn::Neg(updated), hn::LoadU(d, up_cost + t)), at);
    at = hn::Add(at, stride);
  }
  UpChoice choice = Reduce(best);
  for (; t < size; ++t) {
    h[t] += step * (static_cast<double>(column_i[t]) - static_cast<double>(column_j[t]));
    const double score = -h[t] - up_cost[t];
    if (score > choice.score) {
      choice = {t, score};
    }
  }
  return choice;
}

UpChoice UpdateAndChooseUpDouble(double* h, const double* up_cost, const double* column_i,
                                 const double* column_j, double step, Index size) {
  return UpdateAndChooseUpOn(h, up_cost, column_i, column_j, step, size);
}

UpChoice UpdateAndChooseUpFloat(double* h, const double* up_cost, const float* column_i,
                                const float* column_j, double step, Index size) {
  return UpdateAndChooseUpOn(h, up_cost, column_i, column_j, step, size);
}

// Curvatures K_ii + K_tt - 2 K_it, in single precision: they only rank the candidates, so that
// columns of floats need not be widened for them.
HWY_INLINE FloatVector Curvatures(const float* diagonal, const float* column, double diagonal_i) {
  const Floats f;
  const FloatVector sum =
      hn::Add(hn::Set(f, static_cast<float>(diagonal_i)), hn::LoadU(f, diagonal));
  const FloatVector product = hn::LoadU(f, column);
  return hn::Max(hn::Sub(sum, hn::Add(product, product)),
                 hn::Mul(hn::Set(f, static_cast<float>(kSingleCurvatureFloor)), sum));
}

HWY_INLINE FloatVector Curvatures(const double* diagonal, const double* column, double diagonal_i) {
  const Doubles d;
  const DoubleVector sum = hn::Add(hn::Set(d, diagonal_i), hn::LoadU(d, diagonal));
  const DoubleVector product = hn::LoadU(d, column);
  return hn::DemoteTo(Floats(), hn::Max(hn::Sub(sum, hn::Add(product, product)),
                                        hn::Mul(hn::Set(d, kCurvatureFloor), sum)));
}

HWY_INLINE float Curvature(float diagonal, float column, double diagonal_i) {
  const float sum = static_cast<float>(diagonal_i) + diagonal;
  const float curvature = sum - (column + column);
  const float floor = static_cast<float>(kSingleCurvatureFloor) * sum;
  return curvature > floor ? curvature : floor;
}

HWY_INLINE float Curvature(double diagonal, double column, double diagonal_i) {
  const double sum = diagonal_i + diagonal;
  const double curvature = sum - (column + column);
  const double floor = kCurvatureFloor * sum;
  return static_cast<float>(curvature > floor ? curvature : floor);
}

template <typename T>
HWY_INLINE DownChoice ChooseDownOn(const DownTerms<T>& terms, const T* HWY_RESTRICT column,
                                   double diagonal_i, double score) {
  const double* HWY_RESTRICT h = terms.h;
  const double* HWY_RESTRICT down_gain = terms.down_gain;
  const T* HWY_RESTRICT diagonal = terms.diagonal;
  const Index size = terms.size;
  const Doubles d;
  const Floats f;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const DoubleVector scores = hn::Set(d, score);
  const FloatVector excluded = hn::Set(f, -1.0f);
  DoubleVector violation = hn::Set(d, -kInfinity);
  FloatVector best_gain = excluded;
  // The number of the block of lanes: exact in a float up to 2^24 blocks.
  FloatVector best_block = excluded;
  FloatVector block = hn::Zero(f);
  const FloatVector one = hn::Set(f, 1.0f);
  Index t = 0;
  for (; t + lanes <= size; t += lanes) {
    const DoubleVector bb =
        hn::Add(scores, hn::Add(hn::LoadU(d, h + t), hn::LoadU(d, down_gain + t)));
    violation = hn::Max(violation, bb);
    const FloatVector bb_single = hn::DemoteTo(f, bb);
    const FloatVector ratio =
        hn::Div(hn::Mul(bb_single, bb_single), Curvatures(diagonal + t, column + t, diagonal_i));
    const FloatVector gain = hn::IfThenElse(hn::Gt(bb_single, hn::Zero(f)), ratio, excluded);
    const auto better = hn::Gt(gain, best_gain);
    best_gain = hn::IfThenElse(better, gain, best_gain);
    best_block = hn::IfThenElse(better, block, best_block);
    block = hn::Add(block, one);
  }
  HWY_ALIGN double violations[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN float gains[HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN float blocks[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(violation, d, violations);
  hn::StoreU(best_gain, f, gains);
  hn::StoreU(best_block, f, blocks);
  DownChoice choice;
  float best = -1.0f;
  for (Index lane = 0; lane < lanes; ++lane) {
    choice.violation = violations[lane] > choice.violation ? violations[lane] : choice.violation;
    const Index position = static_cast<Index>(blocks[lane]) * lanes + lane;
    if (gains[lane] > best ||
        (gains[lane] == best && gains[lane] >= 0 && position < choice.position)) {
      best = gains[lane];
      choice.position = position;
    }
  }
  for (; t < size; ++t) {
    const double bb = score + (h[t] + down_gain[t]);
    choice.violation = bb > choice.violation ? bb : choice.violation;
    const auto bb_single = static_cast<float>(bb);
    if (bb_single > 0) {
      const float gain = bb_single * bb_single / Curvature(diagonal[t], column[t], diagonal_i);
      if (gain > best) {
        best = gain;
        choice.position = t;
      }
    }
  }
  return choice;
}

DownChoice ChooseDownDouble(const DownTerms<double>& terms, const double* column, double diagonal_i,
                            double score) {
  return ChooseDownOn(terms, column, diagonal_i, score);
}

DownChoice ChooseDownFloat(const DownTerms<float>& terms, const float* column, double diagonal_i,
                           double score) {
  return ChooseDownOn(terms, column, diagonal_i, score);
}

void AddFourColumnsImpl(const double* const* columns, const double* weights,
                        double* HWY_RESTRICT out, Index size) {
  const Doubles d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index t = 0;
  for (; t + lanes <= size; t += lanes) {
    DoubleVector sum = hn::LoadU(d, out + t);
    for (int k = 0; k < 4; ++k) {
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[k]), hn::LoadU(d, columns[k] + t)));
    }
    hn::StoreU(sum, d, out + t);
  }
  for (; t < size; ++t) {
    for (int k = 0; k < 4; ++k) {
      out[t] += weights[k] * columns[k][t];
    }
  }
}

}  // namespace mercer::smo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mercer::smo {

HWY_EXPORT(ChooseUpImpl);
HWY_EXPORT(UpdateAndChooseUpDouble);
HWY_EXPORT(UpdateAndChooseUpFloat);
HWY_EXPORT(ChooseDownDouble);
HWY_EXPORT(ChooseDownFloat);
HWY_EXPORT(AddFourColumnsImpl);

UpChoice ChooseUp(const double* h, const double* up_cost, Index size) {
  return HWY_DYNAMIC_DISPATCH(ChooseUpImpl)(h, up_cost, size);
}

DownChoice ChooseDown(const DownTerms<double>& terms, const double* column, double diagonal_i,
                      double score) {
  return HWY_DYNAMIC_DISPATCH(ChooseDownDouble)(terms, column, diagonal_i, score);
}

DownChoice ChooseDown(const DownTerms<float>& terms, const float* column, double diagonal_i,
                      double score) {
  return HWY_DYNAMIC_DISPATCH(ChooseDownFloat)(terms, column, diagonal_i, score);
}

UpChoice UpdateAndChooseUp(double* h, const double* up_cost, const double* column_i,
                           const double* column_j, double step, Index size) {
  return HWY_DYNAMIC_DISPATCH(UpdateAndChooseUpDouble)(h, up_cost, column_i, column_j, step, size);
}

UpChoice UpdateAndChooseUp(double* h, const double* up_cost, const float* column_i,
                           const float* column_j, double step, Index size) {
  return HWY_DYNAMIC_DISPATCH(UpdateAndChooseUpFloat)(h, up_cost, column_i, column_j, step, size);
}

void AddFourColumns(const double* const columns[4], const double weights[4], double* out,
                    Index size) {
  HWY_DYNAMIC_DISPATCH(AddFourColumnsImpl)(columns, weights, out, size);
}

}  // namespace mercer::smo
#endif  // HWY_ONCE
