// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness.hpp"

/// Our host, doing what `stock` does. `plugin` is the file of a backend with the id that the
/// benchmark programs name.
namespace tenon::bench::ours {

/// Which registered id is looked up.
enum class Name { First, Last, Missing, EachInTurn, Kept };

/// Runs "forward", loaded once and with its inputs set.
[[nodiscard]] Work execute(const std::string& program, const std::string& plugin);

/// Runs `count` methods of one program, each for a thread of its own.
[[nodiscard]] std::vector<Work> execute_methods(const std::string& program,
                                                const std::string& plugin, std::size_t count);

/// Runs "forward" by `execute_async`, whose executor runs the task at once.
[[nodiscard]] Work execute_async(const std::string& program, const std::string& plugin);

/// Runs "forward" with any plugins, which are loaded with the method.
[[nodiscard]] Work execute(const std::string& program, const std::vector<std::string>& plugins);

/// Loads "forward" of a program that is open already, and destroys it.
[[nodiscard]] Work load(const std::string& program, const std::string& plugin);

/// Opens a program, with complete verification, and closes it.
[[nodiscard]] Work open(const std::string& program);

/// Looks a backend up that is loaded already, among `count`. `Name::Kept` is no look-up: the
/// reference of an earlier one is used.
[[nodiscard]] Work look_up(std::size_t count, Name name);

/// Makes a registry, adds the plugin to it, loads it, and closes all of it.
[[nodiscard]] Work add_plugin(const std::string& plugin);

/// Makes a registry that knows the plugins and lists their ids; none is loaded.
[[nodiscard]] Work list(const std::vector<std::string>& plugins);

/// Makes a registry that searches `directory`, which holds `count` plugins, and lists their ids;
/// none is loaded.
[[nodiscard]] Work discover(const std::string& directory, std::size_t count);

}  // namespace tenon::bench::ours
