// Whether a certificate that was computed again is the one that was stored.
#pragma once

#include "core/training/model/certificate.h"

namespace mercer {

// How far values may lie apart, relative to the larger of the absolute primal and dual value:
// rounding on another kind of processor. On the same kind the bits are the same.
inline constexpr double kCertificateTolerance = 1e-9;

// Whether kind, scope and number of outputs are equal, and, within the tolerance, the primal and
// the dual value of the sum and of each output, and the accuracy of a problem that is not convex.
bool SameCertificate(const Certificate& a, const Certificate& b);

}  // namespace mercer
