// Comparisons of numbers of fixtures, which are numbers, "inf" and "-inf", and lists of these.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace mercer::golden {

double Number(const nlohmann::json& value);
double LargestMagnitude(const nlohmann::json& value);

// Numbers, lists and lists of lists within `tolerance`, absolute. A tolerance of null means that
// nothing is compared.
void ExpectNear(const nlohmann::json& expected, const nlohmann::json& actual,
                const nlohmann::json& tolerance, const std::string& name);
// Relative to the largest entry of the expected value.
void ExpectRelative(const nlohmann::json& expected, const nlohmann::json& actual, double relative,
                    const std::string& name);

}  // namespace mercer::golden
