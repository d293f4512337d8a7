// Rows with a weight each in their groups, as indented bars.
#pragma once

#include <string>
#include <vector>

#include "client/cpp/cli/terminal.h"

namespace mercer::client {

// Vectors of one length: of each row its name, which can be printed, its group, and its numbers.
struct GroupedRows {
  std::vector<std::string> names;
  std::vector<std::string> groups;  // empty: the group that rows without one are in
  std::vector<double> weights;
  std::vector<double> norms;  // empty: they are not told
};

// The groups, the largest sum of weights first, each with its rows, of which those of weight 0 are
// not selected and are marked so. Of more than `most` rows (0: all) those with the largest weights
// are shown, and none of weight 0; a line below them says how many there are besides. So it is with
// more than `most` groups.
std::string FormatGroups(const GroupedRows& rows, const Terminal& terminal, int most);

}  // namespace mercer::client
