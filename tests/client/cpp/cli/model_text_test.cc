#include "client/cpp/cli/model_text.h"

#include "absl/strings/str_split.h"
#include <gtest/gtest.h>

#include "client/cpp/cli/text.h"

namespace mercer::client {
namespace {

TEST(ModelTextTest, ManyClassesAndOptionsDoNotFloodTheScreen) {
  v1::ModelVersion model;
  model.set_name("models/m/versions/1");
  model.set_target("label");
  for (int c = 0; c < 101; ++c) {
    model.mutable_coding()->add_classes("class" + std::to_string(c));
  }
  for (int o = 0; o < 10; ++o) {
    v1::OptionSetting& option = *model.add_options();
    option.set_name("option" + std::to_string(o));
    option.set_real_value(0.5);
  }
  const std::string text = FormatModel(model, {.width = 60}, 20);
  EXPECT_NE(text.find("label, 101 classes: class0, "), std::string::npos) << text;
  EXPECT_NE(text.find("class11,\n                  ..."), std::string::npos) << text;
  EXPECT_EQ(text.find("class12"), std::string::npos) << text;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    EXPECT_LE(DisplayWidth(line), 66) << line;
  }
}

TEST(ModelTextTest, TasksAreNamedAndManyAreCounted) {
  v1::ModelVersion model;
  EXPECT_EQ(FormatModel(model, {.width = 80}, 20).find("tasks"), std::string::npos);
  model.mutable_tasks()->set_column("subject");
  for (const char* name : {"ann", "bob"}) {
    model.mutable_tasks()->add_names(name);
  }
  const std::string few = FormatModel(model, {.width = 80}, 20);
  EXPECT_NE(few.find("  tasks           ann, bob (column subject)\n"), std::string::npos) << few;
  for (int t = 0; t < 98; ++t) {
    model.mutable_tasks()->add_names("s" + std::to_string(t));
  }
  const std::string many = FormatModel(model, {.width = 1000}, 20);
  EXPECT_NE(many.find("100 tasks: ann, bob, s0, "), std::string::npos) << many;
  EXPECT_NE(many.find("s9, ... (column subject)\n"), std::string::npos) << many;
}

TEST(ModelTextTest, WhatATableOfAPathSaysIsNoLineOfMetrics) {
  v1::ModelVersion model;
  for (const auto& [name, value] : {std::pair("held_out.accuracy", 0.9), {"path.best", 2.0}}) {
    v1::Metric& metric = *model.add_metrics();
    metric.set_name(name);
    metric.set_value(value);
  }
  EXPECT_EQ(FormatMetrics(model.metrics()), "held-out rows accuracy 0.9\n");
}

TEST(ModelTextTest, ModelsEndWithTheirTables) {
  v1::ModelVersion model;
  model.mutable_kernel_weights()->add_kernels("linear");
  model.mutable_kernel_weights()->mutable_weights()->set_columns(1);
  model.mutable_kernel_weights()->mutable_weights()->add_values(0.5);
  // As of a server that makes no tables of weights, and of one that does.
  const std::string alone = FormatModel(model, {.width = 30}, 20);
  EXPECT_NE(alone.find("\nkernel weights\n  linear  ████████ 0.5\n"), std::string::npos) << alone;
  for (const char* name : {"kernel_weights", "ranking"}) {
    v1::ModelTable& table = *model.add_tables();
    table.set_name(name);
    table.set_title(std::string("the table ") + name);
    table.add_rows("row");
    table.mutable_values()->set_columns(1);
    table.mutable_values()->add_values(2);
  }
  const std::string text = FormatModel(model, {.width = 30}, 20);
  EXPECT_EQ(text.find("\nkernel weights\n"), std::string::npos) << text;
  EXPECT_NE(text.find("the table kernel_weights\n"), std::string::npos) << text;
  EXPECT_NE(text.find("the table ranking\n"), std::string::npos) << text;
}

TEST(ModelTextTest, CertificateSaysWhatItsNumbersMean) {
  v1::Certificate certificate;
  certificate.set_kind(v1::CERTIFICATE_KIND_GAP);
  certificate.set_primal(1000.5);
  certificate.set_dual(1000.0);
  certificate.set_accuracy(5e-4);
  EXPECT_EQ(FormatCertificate(certificate),
            "certificate  recomputed from the data after the training\n"
            "  objective       1000.5  value at the model\n"
            "  optimum         at least 1000\n"
            "  relative gap    5.0e-04  the objective is within 0.05 % of the optimum\n");
}

// At the optimum rounding may put the upper bound below the lower one.
TEST(ModelTextTest, PercentsAreNotNegative) {
  v1::Certificate certificate;
  certificate.set_kind(v1::CERTIFICATE_KIND_GAP);
  certificate.set_accuracy(-1.4e-15);
  EXPECT_NE(FormatCertificate(certificate)
                .find("relative gap    0.0e+00  the objective is within 0 % of the optimum"),
            std::string::npos)
      << FormatCertificate(certificate);
}

TEST(ModelTextTest, MetricsOfOneKindShareALine) {
  v1::ModelVersion model;
  for (const auto& [name, value] : std::vector<std::pair<std::string, double>>{
           {"held_out.accuracy", 0.9421}, {"held_out.auc", 0.98}, {"folds.accuracy", 0.9}}) {
    v1::Metric& metric = *model.add_metrics();
    metric.set_name(name);
    metric.set_value(value);
  }
  EXPECT_EQ(FormatMetrics(model.metrics()),
            "folds         accuracy 0.9\n"
            "held-out rows accuracy 0.9421  auc 0.98\n");
}

TEST(ModelTextTest, BaselinesStandBelowWhatTheyAreComparedWith) {
  v1::ModelVersion model;
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, double>>{{"folds.rmse", 1.5},
                                                   {"folds.baseline.rmse", 2.0},
                                                   {"held_out.accuracy", 0.9421},
                                                   {"held_out.baseline.accuracy", 0.7},
                                                   {"held_out.baseline.balanced_accuracy", 0.5},
                                                   {"limit_reached.max_groups", 100}}) {
    v1::Metric& metric = *model.add_metrics();
    metric.set_name(name);
    metric.set_value(value);
  }
  EXPECT_EQ(FormatMetrics(model.metrics()),
            "folds         rmse 1.5\n"
            "  baseline    rmse 2  always the mean\n"
            "held-out rows accuracy 0.9421\n"
            "  baseline    accuracy 0.7  balanced_accuracy 0.5  always the most frequent class\n");
}

TEST(ModelTextTest, WarningsAreToldApartFromDecisions) {
  v1::ModelVersion model;
  v1::Warning& decision = *model.add_warnings();
  decision.set_code(v1::WARNING_CODE_NUMERIC_TARGET);
  decision.set_message("y is a number.");
  v1::Warning& warning = *model.add_warnings();
  warning.set_code(v1::WARNING_CODE_BELOW_BASELINE);
  warning.set_message("Not good.");
  EXPECT_EQ(FormatWarnings(model.warnings(), {}),
            "note     y is a number.\n"
            "warning  Not good.\n");
  EXPECT_NE(FormatModel(model, {}, 0).find("warning  Not good.\n"), std::string::npos);
}

TEST(ModelTextTest, MetricsOfTasksHaveALineEach) {
  v1::ModelVersion model;
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, double>>{{"folds.rmse", 0.14},
                                                   {"folds.task.ann.rmse", 0.113},
                                                   {"folds.task.b.2.rmse", 0.2},
                                                   {"path.1.task.ann.rmse", 0.3}}) {
    v1::Metric& metric = *model.add_metrics();
    metric.set_name(name);
    metric.set_value(value);
  }
  EXPECT_EQ(FormatMetrics(model.metrics()),
            "folds         rmse 0.14\n"
            "  task   rmse\n"
            "  ann   0.113\n"
            "  b.2     0.2\n");
}

TEST(ModelTextTest, NotEveryTaskHasAllMetrics) {
  v1::ModelVersion model;
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, double>>{{"held_out.accuracy", 0.9},
                                                   {"held_out.task.ann.accuracy", 0.8},
                                                   {"held_out.task.bob.accuracy", 1},
                                                   {"held_out.task.bob.auc", 0.75}}) {
    v1::Metric& metric = *model.add_metrics();
    metric.set_name(name);
    metric.set_value(value);
  }
  EXPECT_EQ(FormatMetrics(model.metrics()),
            "held-out rows accuracy 0.9\n"
            "  task  accuracy   auc\n"
            "  ann        0.8\n"
            "  bob          1  0.75\n");
}

}  // namespace
}  // namespace mercer::client
