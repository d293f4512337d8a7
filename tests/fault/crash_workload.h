// What the clients of the crash suite send: a few data sets, a few ways to train on each.
#pragma once

#include <string>
#include <vector>

#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/training_service.pb.h"

namespace mercer::server {

inline constexpr int kContents = 3;
inline constexpr int kRecipes = 4;

// CSV with the target "label": other rows of the demonstration's data for each `content`.
std::vector<std::string> MakeContents();

// Everything about an upload of a content but its names.
v1::UploadHeader MakeUploadHeader();

// Everything about a training but its names; the same recipe on the same content gives the same model.
v1::TrainRequest MakeRecipe(int recipe);

}  // namespace mercer::server
