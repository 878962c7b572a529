// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

namespace tenon::test {

/// Reads or makes what was prepared, and returns the outcome. This is what is counted.
using Task = std::function<Status()>;

/// One kind of thing that a file can hold any number of.
struct Collection {
  std::string_view what;
  /// Makes a file with `count` of them and returns the task of reading it. Not counted.
  std::function<Task(std::size_t count)> prepare;
  /// How the outcome begins that shows that all of them were read; empty: Ok.
  std::string_view outcome = {};
  /// The largest number that is asked for: the format, or a limit, has no more.
  std::size_t most = 1'000'000;
};

/// The collections of each source.
[[nodiscard]] std::vector<Collection> program_collections();
[[nodiscard]] std::vector<Collection> file_collections();
[[nodiscard]] std::vector<Collection> compiler_collections();
[[nodiscard]] std::vector<Collection> kit_collections();
[[nodiscard]] std::vector<Collection> tool_collections();

/// The outcome of a result.
template <class T>
[[nodiscard]] Status outcome_of(Result<T> result) {
  return result.ok() ? ok() : std::move(result).status();
}

}  // namespace tenon::test
