// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/program_builder.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::test {

/// One variant of method "forward" with one delegate.
struct TestVariant {
  std::string backend;
  std::string blob;
  int priority = 0;
  std::string features = {};
  std::uint32_t payload_version = 0;
};

/// The first one is the default. Others are called "1", "2", ... and have the plans "forward@1",
/// ...
/// `table` replaces the right one. Each blob begins at a multiple of `alignment` behind the first.
inline ProgramBuilder program_of(const std::vector<TestVariant>& variants,
                                 const std::string* table = nullptr, std::size_t alignment = 128) {
  ProgramBuilder builder;
  std::string text = "tenon.variants/1\n";
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const TestVariant& one = variants[i];
    const std::string name = concat(i);
    const std::string plan_name = i == 0 ? "forward" : "forward@" + name;
    auto plan = builder.plan(plan_name);
    const auto memory = plan.buffer(32);
    const auto x = plan.input(planned_tensor(ScalarType::Float, {4}, memory, 0));
    const auto y = plan.output(planned_tensor(ScalarType::Float, {4}, memory, 16));
    if (!one.backend.empty()) {
      const auto segment = builder.segment(bytes_of(one.blob), alignment);
      const auto delegate = plan.delegate(one.backend, schema::DataLocation::SEGMENT, segment);
      plan.instruction(delegate_call(delegate, {x, y}));
    }
    text += concat("variant\tforward\t", plan_name, "\t", one.priority, "\t", name, "\n");
    if (one.backend.empty()) continue;
    text +=
        concat("needs\t", one.backend, "\t", one.payload_version, "\tchip\t", one.features, "\n");
  }
  const std::string& bytes = table ? *table : text;
  builder.named_data("tenon.variants/1", builder.segment(bytes_of(bytes)));
  return builder;
}

}  // namespace tenon::test
