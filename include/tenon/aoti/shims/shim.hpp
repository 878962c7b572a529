// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <type_traits>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// The name of a shim without the private prefix that models may be compiled with, so that libtorch
/// in the same process cannot provide their functions: "aoti_torch_get_sizes" of
/// "executorch_aoti_torch_get_sizes" (PyTorch: aot_inductor.shim_symbol_prefix; ExecuTorch:
/// backends/aoti/shim_symbol_prefix.bzl). Other names stay as they are.
[[nodiscard]] constexpr std::string_view shim_name(std::string_view symbol) noexcept {
  constexpr std::string_view prefix = "executorch_";
  const bool is_private =
      symbol.starts_with(prefix) && symbol.substr(prefix.size()).starts_with("aoti_torch_");
  return is_private ? symbol.substr(prefix.size()) : symbol;
}

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

}}}  // namespace tenon::TENON_RELEASE::aoti
