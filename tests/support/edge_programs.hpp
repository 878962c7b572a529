// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tenon/aot.hpp"
#include "tenon/aot/edge_program_builder.hpp"

/// The input of tests of ahead-of-time compilers.
namespace tenon::test {

using Specs = std::vector<std::pair<std::string, std::string>>;

/// Compile specs as a program has them.
class SpecList {
 public:
  explicit SpecList(const Specs& specs) : texts_(specs) {
    for (const auto& [key, value] : texts_) {
      specs_.push_back(
          {sizeof(tenon_compile_spec), 0, key.c_str(), value.data(), std::uint64_t{value.size()}});
    }
  }
  SpecList(const SpecList&) = delete;
  SpecList& operator=(const SpecList&) = delete;
  [[nodiscard]] CompileSpecs view() const {
    return {specs_.data(), static_cast<std::uint32_t>(specs_.size())};
  }

 private:
  Specs texts_;
  std::vector<tenon_compile_spec> specs_;
};

inline aot::OwnedEdgeProgram build_ok(aot::EdgeProgramBuilder&& builder) {
  auto program = std::move(builder).build();
  INFO(program.text());
  REQUIRE(program.ok());
  return *std::move(program);
}

/// A chain of so many relus, with debug handles from 1.
inline aot::OwnedEdgeProgram relus(std::string_view method, int count) {
  const aot::EdgeTensor tensor{ScalarType::Float, {2}};
  aot::EdgeProgramBuilder graph(method);
  aot::ValueId value = graph.user_input("x", tensor);
  for (int i = 0; i < count; ++i) {
    value = graph.node("aten.relu.default", {{"self", aot::EdgeRef{value}}}, tensor);
  }
  graph.user_output(value);
  return build_ok(std::move(graph));
}

}  // namespace tenon::test
