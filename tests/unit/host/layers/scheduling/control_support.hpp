// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "unit/host/layers/async/async_support.hpp"

namespace tenon::test {

/// A method of one delegate on four floats, with its input set.
inline std::unique_ptr<host::Method> one_delegate(const std::string& backend,
                                                  const std::string& blob,
                                                  host::MethodOptions options) {
  FourFloats program(2);
  const auto x = program.input(0);
  const auto y = program.output(1);
  program.call(backend, blob, {x, y});
  auto method = load_ok(program.builder, std::move(options));
  REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
  return method;
}

}  // namespace tenon::test
