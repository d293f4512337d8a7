// "Did you mean ...?": names that a typing error could have made another one of.
#pragma once

#include <string>
#include <vector>

namespace mercer {

// Letters to insert, delete, replace or exchange with their neighbour to make `b` of `a`.
int EditDistance(const std::string& a, const std::string& b);

// The names of `known` that a typing error could have made `wrong` of, nearest first, at most
// three. Capitals are as good as small letters. Of long lists the first 10,000 names are looked at,
// and names of more than 100 bytes are near nothing, so that a list that a stranger has sent costs
// little.
std::vector<std::string> NearNames(const std::string& wrong, const std::vector<std::string>& known);

// The end of a message about `wrong`: "; did you mean 'spam' or 'spam2'?". Empty when no name of
// `known` is near.
std::string DidYouMean(const std::string& wrong, const std::vector<std::string>& known);

}  // namespace mercer
