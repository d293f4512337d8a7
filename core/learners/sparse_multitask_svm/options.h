// Options of jointly sparse support vector machines of several tasks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status/options.h"

namespace mercer::sparse_multitask_svm {

enum class Form { kSquared, kPlain };
enum class Sharing { kJoint, kSeparate };
enum class NormalizationScope { kTask, kPooled };
enum class TaskWeighting { kRows, kEqual };
enum class Method {
  kAuto,
  kInteriorPoint,
  kNewton,
  kClosedForm,
  kReducedGradient,
  kCoordinateDescent
};

struct SparseMultitaskSvmOptions {
  double C = 1.0;
  Sharing sharing = Sharing::kJoint;
  Form form = Form::kSquared;
  double p = 1.0;
  double q = 2.0;
  std::vector<double> block_weights;
  NormalizationScope normalization_scope = NormalizationScope::kTask;
  double smoothing = 1e-3;
  TaskWeighting task_weighting = TaskWeighting::kRows;
  bool allow_one_class = false;
  Method method = Method::kAuto;
  int64_t max_steps = 0;

  static const OptionSchema<SparseMultitaskSvmOptions>& Fields();
};

}  // namespace mercer::sparse_multitask_svm
