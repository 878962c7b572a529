// SPDX-License-Identifier: MIT
#include "stock.hpp"

#include <filesystem>

#include "tenon/executorch/register_plugins.hpp"

namespace tenon::bench::stock {

void register_adapted(const std::string& plugin) {
  auto registered = tenon::bridge::register_plugins(std::filesystem::path(plugin));
  if (!registered.ok()) {
    throw Failure("our adapter: " + describe(std::move(registered).status()));
  }
}

}  // namespace tenon::bench::stock
