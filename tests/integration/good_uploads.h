// Good uploads in every format.
#pragma once

#include <string>
#include <vector>

#include "tests/integration/field_walk_fixture.h"

namespace mercer::server {

// As they lie in memory.
std::string BytesOfNumbers(const std::vector<double>& numbers);

Messages CsvUpload(FieldWalkTest& test);
Messages ResumableUpload(FieldWalkTest& test);
Messages SvmlightUpload(FieldWalkTest& test);
Messages ImageUpload(FieldWalkTest& test);
Messages DenseUpload(FieldWalkTest& test);
// A list of those that are unfinished.
Messages UploadPage(FieldWalkTest& test);

// What has come of an upload that can be resumed stays, whatever becomes of its stream.
void DropUploads(FieldWalkTest& test);
void DropUploaded(FieldWalkTest& test);

}  // namespace mercer::server
