#include "core/solvers/svm/smo_columns.h"

#include <algorithm>
#include <type_traits>

#include "core/base/status/status_macros.h"

namespace mercer {

template <typename T>
void LruColumns<T>::Reset(Index num_keys, Index length, size_t capacity_bytes) {
  if (length != length_) {
    columns_.clear();
  }
  length_ = length;
  const size_t column_bytes = std::max<size_t>(1, static_cast<size_t>(length) * sizeof(T));
  max_slots_ =
      std::max<size_t>(2, std::min(capacity_bytes / column_bytes, static_cast<size_t>(num_keys)));
  slot_of_.assign(static_cast<size_t>(num_keys), -1);
  key_of_.clear();
  next_.assign(max_slots_ + 1, static_cast<Index>(max_slots_));
  previous_.assign(max_slots_ + 1, static_cast<Index>(max_slots_));
}

template <typename T>
void LruColumns<T>::Unlink(Index slot) {
  const auto s = static_cast<size_t>(slot);
  next_[static_cast<size_t>(previous_[s])] = next_[s];
  previous_[static_cast<size_t>(next_[s])] = previous_[s];
}

template <typename T>
void LruColumns<T>::MarkUsed(Index slot) {
  const auto s = static_cast<size_t>(slot);
  const Index first = next_[max_slots_];
  next_[s] = first;
  previous_[s] = static_cast<Index>(max_slots_);
  previous_[static_cast<size_t>(first)] = slot;
  next_[max_slots_] = slot;
}

template <typename T>
const T* LruColumns<T>::Find(Index key) {
  const Index slot = slot_of_[static_cast<size_t>(key)];
  if (slot < 0) {
    return nullptr;
  }
  Unlink(slot);
  MarkUsed(slot);
  return columns_[static_cast<size_t>(slot)].data();
}

// As long as there is room, the array is a new one; then it is that of the slot used least
// recently, which the sentinel's predecessor is.
template <typename T>
T* LruColumns<T>::Insert(Index key) {
  auto slot = static_cast<Index>(key_of_.size());
  if (key_of_.size() < max_slots_) {
    // What may run out of memory comes first: another solver may go on with these columns.
    if (columns_.size() == key_of_.size()) {
      columns_.emplace_back();
    }
    columns_[static_cast<size_t>(slot)].resize(length_);
    key_of_.push_back(key);
  } else {
    slot = previous_[max_slots_];
    slot_of_[static_cast<size_t>(key_of_[static_cast<size_t>(slot)])] = -1;
    key_of_[static_cast<size_t>(slot)] = key;
    Unlink(slot);
  }
  slot_of_[static_cast<size_t>(key)] = slot;
  MarkUsed(slot);
  return columns_[static_cast<size_t>(slot)].data();
}

// Half of the capacity is for whole columns, half for restricted ones: whole ones stay when the
// samples under work change, and restricted ones are read without gaps.
template <typename T>
void ColumnCache<T>::SetActive(const std::vector<Index>& active) {
  const Index n = kernel_.size();
  if (whole_.length() == 0) {
    whole_.Reset(n, n, capacity_bytes_ / 2);
  }
  const auto size = static_cast<Index>(active.size());
  active_ = size == n ? nullptr : &active;
  if (active_ != nullptr) {
    restricted_.Reset(size, size, capacity_bytes_ / 2);
  }
}

template <typename T>
absl::StatusOr<const T*> ColumnCache<T>::GetWhole(Index sample, RunContext& context) {
  const Matrix* dense = kernel_.Dense();
  if constexpr (std::is_same_v<T, double>) {
    if (dense != nullptr) {
      return dense->col(sample).data();
    }
  }
  if (const T* found = whole_.Find(sample)) {
    return found;
  }
  if (dense == nullptr) {
    scratch_.resize(kernel_.size(), 1);
    MERCER_RETURN_IF_ERROR(kernel_.Columns({&sample, 1}, scratch_, context));
  }
  const double* source = dense != nullptr ? dense->col(sample).data() : scratch_.data();
  T* column = whole_.Insert(sample);
  Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>(column, kernel_.size()) =
      Eigen::Map<const Vector>(source, kernel_.size()).cast<T>();
  return column;
}

template <typename T>
absl::StatusOr<const T*> ColumnCache<T>::Get(Index position, RunContext& context) {
  if (active_ == nullptr) {
    return GetWhole(position, context);
  }
  if (const T* found = restricted_.Find(position)) {
    return found;
  }
  const std::vector<Index>& active = *active_;
  const Index sample = active[static_cast<size_t>(position)];
  const Matrix* dense = kernel_.Dense();
  if (dense != nullptr) {  // a column that is used once needs no copy of its own
    T* column = restricted_.Insert(position);
    const T* whole = std::is_same_v<T, double> ? nullptr : whole_.Find(sample);
    const double* source = dense->col(sample).data();
    for (size_t t = 0; t < active.size(); ++t) {
      column[t] = whole != nullptr ? whole[active[t]] : static_cast<T>(source[active[t]]);
    }
    return column;
  }
  MERCER_ASSIGN_OR_RETURN(const T* whole, GetWhole(sample, context));
  T* column = restricted_.Insert(position);
  for (size_t t = 0; t < active.size(); ++t) {
    column[t] = whole[active[t]];
  }
  return column;
}

template class LruColumns<float>;
template class LruColumns<double>;
template class ColumnCache<float>;
template class ColumnCache<double>;

}  // namespace mercer
