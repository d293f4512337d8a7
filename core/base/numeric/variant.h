// A std::variant that can be copied where memory is short.
#pragma once

#include <utility>
#include <variant>

namespace mercer {

// libstdc++ 12 takes a std::variant of texts and lists for one that always holds an alternative. Where its copy constructor finds no
// memory it holds none, and its destructor then destroys what is not there. Here each alternative is copied on its own, and moved in.
template <typename... Types>
class Variant : public std::variant<Types...> {
  using Alternatives = std::variant<Types...>;

 public:
  using Alternatives::Alternatives;
  using Alternatives::operator=;

  Variant() = default;
  Variant(const Variant& other) : Alternatives() {
    std::visit(
        [this]<typename Type>(const Type& alternative) {
          Type copy = alternative;
          this->template emplace<Type>(std::move(copy));
        },
        static_cast<const Alternatives&>(other));
  }
  Variant& operator=(const Variant& other) { return *this = Variant(other); }
  Variant(Variant&& other) noexcept = default;
  Variant& operator=(Variant&& other) noexcept = default;
  ~Variant() = default;
};

}  // namespace mercer
