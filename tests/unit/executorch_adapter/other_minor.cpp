// SPDX-License-Identifier: MIT
// A bridge as another build of it would be: compiled for the minor version after the one that is
// loaded.
#include <string>

#include "tenon/executorch/register_plugins.hpp"

extern "C" __attribute__((visibility("default"))) const char* check_other_minor() {
  static std::string text;
  const auto registered = tenon::executorch::register_plugins("/nonexistent/plugin.so");
  text = tenon::describe(registered.ok() ? tenon::Status()
                                         : tenon::error(registered.error(), registered.text()));
  return text.c_str();
}
