#include "core/training/model/certificate.h"

#include <algorithm>

namespace mercer {

Certificate MakeGapCertificate(double primal, double dual) {
  Certificate certificate;
  certificate.primal = primal;
  certificate.dual = dual;
  certificate.accuracy = RelativeGap(primal, dual);
  certificate.worst_accuracy = certificate.accuracy;
  return certificate;
}

Certificate SumCertificates(const std::vector<Certificate>& parts) {
  if (parts.size() == 1) {
    return parts[0];
  }
  Certificate total;
  for (const Certificate& part : parts) {
    // The weakest kind and scope that any part has is what the sum can claim.
    total.kind = std::max(total.kind, part.kind);
    total.scope = std::max(total.scope, part.scope);
    total.primal += part.primal;
    total.dual += part.dual;
    total.worst_accuracy = std::max(total.worst_accuracy, part.worst_accuracy);
    total.outputs.push_back({part.primal, part.dual});
  }
  total.accuracy = total.kind == CertificateKind::kGap ? RelativeGap(total.primal, total.dual)
                                                       : total.worst_accuracy;
  return total;
}

}  // namespace mercer
