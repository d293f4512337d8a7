#include "core/training/model/certificate.h"

#include "core/training/encoding/encoding.h"

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

void SaveCertificate(const Certificate& certificate, ByteWriter& writer) {
  WriteEnum(certificate.kind, writer);
  WriteEnum(certificate.scope, writer);
  writer.WriteDouble(certificate.primal);
  writer.WriteDouble(certificate.dual);
  writer.WriteDouble(certificate.accuracy);
  writer.WriteDouble(certificate.worst_accuracy);
  writer.WriteUint64(certificate.outputs.size());
  for (const OutputBounds& bounds : certificate.outputs) {
    writer.WriteDouble(bounds.primal);
    writer.WriteDouble(bounds.dual);
  }
}

Certificate LoadCertificate(ByteReader& reader) {
  Certificate certificate;
  certificate.kind = ReadEnum(CertificateKind::kNone, reader);
  certificate.scope = ReadEnum(CertificateScope::kListedFeatures, reader);
  certificate.primal = reader.ReadDouble();
  certificate.dual = reader.ReadDouble();
  certificate.accuracy = reader.ReadDouble();
  certificate.worst_accuracy = reader.ReadDouble();
  const uint64_t count = reader.ReadUint64();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const double primal = reader.ReadDouble();
    const double dual = reader.ReadDouble();
    certificate.outputs.push_back({primal, dual});
  }
  return certificate;
}

}  // namespace mercer
