// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string_view>

namespace tenon::aoti {

/// A function that models may call: its name and where it is.
struct Shim {
  std::string_view name;
  const void* address;
};

/// Address of the function of that name that a backend has for its models, or null.
using FindShim = std::function<const void*(std::string_view name)>;

}  // namespace tenon::aoti
