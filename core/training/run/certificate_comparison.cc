#include "core/training/run/certificate_comparison.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

bool Close(double a, double b, double scale) {
  return a == b || std::abs(a - b) <= kCertificateTolerance * scale ||
         (std::isnan(a) && std::isnan(b));
}

bool SameBounds(const OutputBounds& a, const OutputBounds& b) {
  double scale = 0;
  for (const double value : {a.primal, a.dual, b.primal, b.dual}) {
    scale = std::isfinite(value) ? std::max(scale, std::abs(value)) : scale;
  }
  return Close(a.primal, b.primal, scale) && Close(a.dual, b.dual, scale);
}

}  // namespace

bool SameCertificate(const Certificate& a, const Certificate& b) {
  if (a.kind != b.kind || a.scope != b.scope || a.outputs.size() != b.outputs.size() ||
      !SameBounds({a.primal, a.dual}, {b.primal, b.dual})) {
    return false;
  }
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (!SameBounds(a.outputs[i], b.outputs[i])) {
      return false;
    }
  }
  return a.kind != CertificateKind::kStationarity || Close(a.accuracy, b.accuracy, 1.0);
}

}  // namespace mercer
