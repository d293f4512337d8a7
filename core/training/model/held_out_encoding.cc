#include "core/training/model/held_out.h"

namespace mercer {
namespace {

void WriteCounts(const std::vector<int64_t>& counts, ByteWriter& writer) {
  writer.WriteIndices({counts.begin(), counts.end()});
}

std::vector<int64_t> ReadCounts(ByteReader& reader) {
  const std::vector<Index> counts = reader.ReadIndices();
  return {counts.begin(), counts.end()};
}

void Require(bool sane, ByteReader& reader) {
  if (!sane) {
    reader.Fail();
  }
}

void WriteCurve(const ClassCurve& curve, ByteWriter& writer) {
  writer.WriteString(curve.label);
  writer.WriteInt64(curve.positives);
  writer.WriteInt64(curve.negatives);
  writer.WriteDoubles(curve.thresholds);
  writer.WriteDoubles(curve.true_positive_rates);
  writer.WriteDoubles(curve.false_positive_rates);
  writer.WriteDoubles(curve.precisions);
  writer.WriteDouble(curve.area_under_roc);
  writer.WriteDouble(curve.average_precision);
}

ClassCurve ReadCurve(ByteReader& reader) {
  ClassCurve curve;
  curve.label = reader.ReadString();
  curve.positives = reader.ReadInt64();
  curve.negatives = reader.ReadInt64();
  curve.thresholds = reader.ReadDoubles();
  curve.true_positive_rates = reader.ReadDoubles();
  curve.false_positive_rates = reader.ReadDoubles();
  curve.precisions = reader.ReadDoubles();
  curve.area_under_roc = reader.ReadDouble();
  curve.average_precision = reader.ReadDouble();
  const size_t count = curve.thresholds.size();
  Require(curve.true_positive_rates.size() == count && curve.false_positive_rates.size() == count &&
              curve.precisions.size() == count,
          reader);
  return curve;
}

void WriteResiduals(const Residuals& residuals, ByteWriter& writer) {
  writer.WriteDoubles(residuals.predicted);
  writer.WriteDoubles(residuals.actual);
  writer.WriteDoubles(residuals.bounds);
  WriteCounts(residuals.counts, writer);
}

Residuals ReadResiduals(ByteReader& reader) {
  Residuals residuals;
  residuals.predicted = reader.ReadDoubles();
  residuals.actual = reader.ReadDoubles();
  residuals.bounds = reader.ReadDoubles();
  residuals.counts = ReadCounts(reader);
  const size_t bounds = residuals.bounds.size();
  Require(residuals.predicted.size() == residuals.actual.size() &&
              residuals.counts.size() == (bounds == 0 ? 0 : bounds - 1),
          reader);
  return residuals;
}

}  // namespace

void WriteHeldOut(const HeldOut& held_out, ByteWriter& writer) {
  writer.WriteInt64(held_out.rows);
  writer.WriteInt64(held_out.folds);
  writer.WriteInt64(held_out.sampled_rows);
  writer.WriteStrings(held_out.confusion.classes);
  WriteCounts(held_out.confusion.counts, writer);
  writer.WriteUint64(held_out.curves.size());
  for (const ClassCurve& curve : held_out.curves) {
    WriteCurve(curve, writer);
  }
  WriteResiduals(held_out.residuals, writer);
  writer.WriteUint64(held_out.spreads.size());
  for (const MetricSpread& spread : held_out.spreads) {
    writer.WriteString(spread.name);
    writer.WriteDouble(spread.standard_deviation);
    writer.WriteInt64(spread.folds);
  }
}

HeldOut ReadHeldOut(ByteReader& reader) {
  HeldOut held_out;
  held_out.rows = reader.ReadInt64();
  held_out.folds = reader.ReadInt64();
  held_out.sampled_rows = reader.ReadInt64();
  held_out.confusion.classes = reader.ReadStrings();
  held_out.confusion.counts = ReadCounts(reader);
  const size_t classes = held_out.confusion.classes.size();
  Require(held_out.confusion.counts.size() == classes * classes, reader);
  const uint64_t curves = reader.ReadUint64();
  for (uint64_t i = 0; i < curves && reader.ok(); ++i) {
    held_out.curves.push_back(ReadCurve(reader));
  }
  held_out.residuals = ReadResiduals(reader);
  const uint64_t spreads = reader.ReadUint64();
  for (uint64_t i = 0; i < spreads && reader.ok(); ++i) {
    MetricSpread& spread = held_out.spreads.emplace_back();
    spread.name = reader.ReadString();
    spread.standard_deviation = reader.ReadDouble();
    spread.folds = reader.ReadInt64();
  }
  return held_out;
}

void HeldOutRows::Save(ByteWriter& writer) const {
  writer.WriteInt64(rows);
  WriteCounts(confusion, writer);
  writer.WriteDoubles(truth);
  writer.WriteDoubles(values);
}

HeldOutRows HeldOutRows::Load(ByteReader& reader) {
  HeldOutRows loaded;
  loaded.rows = reader.ReadInt64();
  loaded.confusion = ReadCounts(reader);
  loaded.truth = reader.ReadDoubles();
  loaded.values = reader.ReadDoubles();
  return loaded;
}

}  // namespace mercer
