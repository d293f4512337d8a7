// The encoding of a step's report, for checkpoints of runs that consist of several.
#pragma once

#include "core/base/bytes.h"
#include "core/training/encoding.h"
#include "core/training/learner.h"

namespace mercer {

inline void WriteReport(const StepReport& report, ByteWriter& writer) {
  writer.WriteString(report.stage);
  for (const double value : {report.fraction, report.primal, report.dual, report.accuracy}) {
    writer.WriteDouble(value);
  }
  for (const Index count :
       {report.active_kernels, report.support_vectors, report.inner_iterations}) {
    writer.WriteInt64(count);
  }
  writer.WriteBool(report.has_model);
  writer.WriteBool(report.stop.has_value());
  WriteEnum(report.stop.value_or(StopReason::kConverged), writer);
}

inline StepReport ReadReport(ByteReader& reader) {
  StepReport report;
  report.stage = reader.ReadString();
  for (double* value : {&report.fraction, &report.primal, &report.dual, &report.accuracy}) {
    *value = reader.ReadDouble();
  }
  for (Index* count : {&report.active_kernels, &report.support_vectors, &report.inner_iterations}) {
    *count = reader.ReadInt64();
  }
  report.has_model = reader.ReadBool();
  const bool stopped = reader.ReadBool();
  const StopReason reason = ReadEnum(StopReason::kObjectiveZero, reader);
  if (stopped) {
    report.stop = reason;
  }
  return report;
}

}  // namespace mercer
