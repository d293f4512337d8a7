// The entries of Eigen's matrices whose sizes are known at run time only, in place of Eigen 3.4's
// own: that frees the entries that a matrix has before it asks for those of another size, and when
// there is no memory for them the destructor frees the first again. Here such a matrix is left
// empty.
#pragma once

#include <type_traits>
#include <utility>

#include <Eigen/Core>

namespace mercer {

// What Eigen wants of a DenseStorage. Rows or Cols or both are Eigen::Dynamic.
template <typename T, int Rows, int Cols, int Options>
class MatrixStorage {
 public:
  using Index = Eigen::Index;

  MatrixStorage() = default;
  explicit MatrixStorage(Eigen::internal::constructor_without_unaligned_array_assert /*tag*/) {}
  MatrixStorage(Index size, Index rows, Index cols)
      : data_(Allocate(size)), rows_(rows), cols_(cols) {}
  MatrixStorage(const MatrixStorage& other)
      : data_(Allocate(other.size())), rows_(other.rows_), cols_(other.cols_) {
    Eigen::internal::smart_copy(other.data_, other.data_ + other.size(), data_);
  }
  MatrixStorage(MatrixStorage&& other) noexcept { swap(other); }
  MatrixStorage& operator=(const MatrixStorage& other) {
    if (this != &other) {
      MatrixStorage copy(other);
      swap(copy);
    }
    return *this;
  }
  MatrixStorage& operator=(MatrixStorage&& other) noexcept {
    swap(other);
    return *this;
  }
  ~MatrixStorage() { Free(); }

  Index rows() const noexcept { return rows_.value(); }
  Index cols() const noexcept { return cols_.value(); }
  const T* data() const { return data_; }
  T* data() { return data_; }

  void swap(MatrixStorage& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(rows_, other.rows_);
    std::swap(cols_, other.cols_);
  }

  void resize(Index size, Index rows, Index cols) {
    if (size != this->size()) {
      Free();
      SetEmpty();
      data_ = Allocate(size);
    }
    rows_.setValue(rows);
    cols_.setValue(cols);
  }

  void conservativeResize(Index size, Index rows, Index cols) {
    data_ = Eigen::internal::conditional_aligned_realloc_new_auto<T, kAligned>(
        data_, static_cast<size_t>(size), static_cast<size_t>(this->size()));
    rows_.setValue(rows);
    cols_.setValue(cols);
  }

 private:
  static constexpr bool kAligned = (Options & Eigen::DontAlign) == 0;
  static constexpr Index EmptySize(int size) { return size == Eigen::Dynamic ? 0 : size; }

  static T* Allocate(Index size) {
    return size > 0 ? Eigen::internal::conditional_aligned_new_auto<T, kAligned>(
                          static_cast<size_t>(size))
                    : nullptr;
  }
  void Free() {
    Eigen::internal::conditional_aligned_delete_auto<T, kAligned>(data_,
                                                                  static_cast<size_t>(size()));
  }
  void SetEmpty() {
    data_ = nullptr;
    rows_.setValue(EmptySize(Rows));
    cols_.setValue(EmptySize(Cols));
  }
  Index size() const { return rows() * cols(); }

  T* data_ = nullptr;
  [[no_unique_address]] Eigen::internal::variable_if_dynamic<Index, Rows> rows_{EmptySize(Rows)};
  [[no_unique_address]] Eigen::internal::variable_if_dynamic<Index, Cols> cols_{EmptySize(Cols)};
};

}  // namespace mercer

namespace Eigen {

template <typename T, int Options>
requires std::is_trivially_copyable_v<T>
class DenseStorage<T, Dynamic, Dynamic, Dynamic, Options>
    : public mercer::MatrixStorage<T, Dynamic, Dynamic, Options> {
  using mercer::MatrixStorage<T, Dynamic, Dynamic, Options>::MatrixStorage;
};

template <typename T, int Rows, int Options>
requires std::is_trivially_copyable_v<T>
class DenseStorage<T, Dynamic, Rows, Dynamic, Options>
    : public mercer::MatrixStorage<T, Rows, Dynamic, Options> {
  using mercer::MatrixStorage<T, Rows, Dynamic, Options>::MatrixStorage;
};

template <typename T, int Cols, int Options>
requires std::is_trivially_copyable_v<T>
class DenseStorage<T, Dynamic, Dynamic, Cols, Options>
    : public mercer::MatrixStorage<T, Dynamic, Cols, Options> {
  using mercer::MatrixStorage<T, Dynamic, Cols, Options>::MatrixStorage;
};

}  // namespace Eigen
