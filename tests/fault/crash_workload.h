// What the clients of the crash suite send: a few data sets, a few ways to train on each.
#pragma once

#include <string>
#include <vector>

#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/training_service.pb.h"

namespace mercer::server {

inline constexpr int kContents = 3;
inline constexpr int kRecipes = 4;
inline constexpr int kTransferContents = 2;

// CSV with the target "label": other rows of the demonstration's data for each `content`.
std::vector<std::string> MakeContents();

// Everything about an upload of a content but its names.
v1::UploadHeader MakeUploadHeader();

// What is uploaded in pieces: a table of doubles and a square, other numbers for each `content`; and its header.
std::vector<std::string> MakeTransferParts(int content);
v1::UploadHeader MakeTransferHeader();

// Everything about a training but its names; the same recipe on the same content gives the same model.
v1::TrainRequest MakeRecipe(int recipe);

}  // namespace mercer::server
