// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <type_traits>

namespace tenon::aoti {

/// A function of a backend that models call, as PyTorch's C shim names it.
struct Shim {
  std::string_view name;
  const void* address;
};

/// A reference to a function that returns the address of the backend's shim of a name, or null. It
/// owns nothing: an object that it was made from must outlive it.
class FindShim {
 public:
  using Function = const void* (*)(std::string_view name);

  template <class Callable>
    requires(!std::is_same_v<Callable, FindShim>)
  FindShim(const Callable& callable) noexcept {  // Implicit, like a conversion to std::function.
    if constexpr (std::is_convertible_v<const Callable&, Function>) {
      function_ = callable;
      call_ = [](const FindShim& self, std::string_view name) { return self.function_(name); };
    } else {
      object_ = &callable;
      call_ = [](const FindShim& self, std::string_view name) -> const void* {
        return (*static_cast<const Callable*>(self.object_))(name);
      };
    }
  }

  const void* operator()(std::string_view name) const { return call_(*this, name); }

 private:
  const void* object_ = nullptr;
  Function function_ = nullptr;
  const void* (*call_)(const FindShim& self, std::string_view name) = nullptr;
};

}  // namespace tenon::aoti
