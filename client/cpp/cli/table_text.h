// What a learner tells beside the function as text, whatever it is: tables with names and numbers.
#pragma once

#include <string>
#include <vector>

#include "client/cpp/cli/terminal.h"
#include "mercer/v1/model_version.pb.h"

namespace mercer::client {

// The tables of a model. Where the server has not made tables of the weights of kernels and
// features, as it is of an earlier version or as they are too many, they are made here.
std::vector<v1::ModelTable> TablesOf(const v1::ModelVersion& model);

// A table as bars, or as numbers where it is drawn otherwise; nothing of one without rows. At most
// `most` rows (0: all), those with the largest values first, but for curves, whose rows have an
// order; the last line says what is left out. Several columns are averaged in bars. Bars of rows in
// groups stand below them (group_text.h).
std::string FormatTable(const v1::ModelTable& table, const Terminal& terminal, int most);

// How many outputs the model's tables are of: each has a column of its own, or a table whose name
// ends with its number.
int CountOutputsOfTables(const v1::ModelVersion& model);

// All tables of a model. Where its kernels are in groups and tables tell the norms of their
// functions, in a column "norm" over all "kernels", those stand beside the weights, and these
// tables and those over the "groups" are left out. Of the tables that each output has of its own
// those of `output`, from 1, and of columns for all outputs its column; 0: means over the outputs,
// and the tables of the first. The last line says that there are others.
std::string FormatTables(const v1::ModelVersion& model, const Terminal& terminal, int most,
                         int output = 0);

}  // namespace mercer::client
