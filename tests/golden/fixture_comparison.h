// Comparisons of mercer-solve's answers with reference solutions, as the READMEs of tests/fixtures
// say. Each reports failures of the running test with names and numbers.
#pragma once

#include <nlohmann/json.hpp>

namespace mercer::golden {

// `fixture` is the file, `answer` the line of mercer-solve for it.
void CompareMkl(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareGaussian(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareTikhonov(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareEdgeCases(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareMulticlass(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareCertificate(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareWeightUpdate(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareNormalisation(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareSvm(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareMixedNorm(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareMixedNormPairs(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareGroupProblem(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareProxAndLosses(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareFeatures(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareFiniteFeatures(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareInfiniteKernels(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareCsi(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareMultitask(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareSvmRfe(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareGradients(const nlohmann::json& fixture, const nlohmann::json& answer);
void CompareGradientErrors(const nlohmann::json& fixture, const nlohmann::json& answer);

}  // namespace mercer::golden
