// Options of mixed-norm multiple kernel learning.
#pragma once

#include <cstdint>

#include "core/base/status/options.h"
#include "core/training/contract/loss_choice.h"

namespace mercer::mixed_norm_mkl {

enum class Regularization : uint8_t { kMixedNorm, kL1, kSum };
enum class Method : uint8_t {
  kAuto,
  kNewton,
  kInteriorPoint,
  kClosedForm,
  kMirrorDescent,
  kAlternatingMirrorDescent,
  kSimpleMkl
};
enum class CostScale : uint8_t { kPlain, kComparable };

struct MixedNormMklOptions {
  double C = 1.0;
  CostScale cost_scale = CostScale::kPlain;
  double epsilon = 0.1;
  LossChoice loss = LossChoice::kAuto;
  Regularization regularization = Regularization::kMixedNorm;
  Method method = Method::kAuto;
  int64_t max_svm_solves = 0;
  double kappa = 5.0;
  double power = 2.0;
  double gamma_floor = 0;
  double weight_threshold = 1e-4;
  bool shared_weights = false;

  static const OptionSchema<MixedNormMklOptions>& Fields();
};

}  // namespace mercer::mixed_norm_mkl
