// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <tenon/host.hpp>
#include <tenon/host/prepared.hpp>
#include <tenon/host/prove.hpp>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/program_builder.hpp"
#include "support/temporary_directory.hpp"

namespace prove_test {

namespace host = tenon::host;
using tenon::Error;
using tenon::test::ProgramBuilder;

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Whether a method of a test keeps a mutable buffer.
enum class State : bool { none, kept };

/// A plan with one call of `backend` on a Float tensor of at most 8 elements.
inline void add_plan(ProgramBuilder& builder, const std::string& name, const std::string& backend,
                     State state = State::none) {
  auto plan = builder.plan(name);
  const auto memory = plan.buffer(64);
  auto x = tenon::test::planned_tensor(tenon::ScalarType::Float, {8}, memory, 0);
  auto y = tenon::test::planned_tensor(tenon::ScalarType::Float, {8}, memory, 32);
  for (auto* tensor : {&x, &y}) {
    tensor->shape_dynamism = tenon::schema::TensorShapeDynamism::DYNAMIC_BOUND;
  }
  std::vector<std::int32_t> args{plan.input(std::move(x))};
  if (state == State::kept) {
    auto kept = tenon::test::planned_tensor(tenon::ScalarType::Float, {1}, plan.buffer(16), 0);
    kept.data_buffer_idx = 1;
    args.push_back(plan.value(std::move(kept)));
  }
  args.push_back(plan.output(std::move(y)));
  const auto segment = builder.segment(tenon::test::bytes_of("blob"));
  const auto delegate = plan.delegate(backend, tenon::schema::DataLocation::SEGMENT, segment);
  plan.instruction(tenon::test::delegate_call(delegate, args));
}

/// Golden cases of "forward" for 2 * x + 1, of these numbers of elements.
struct Cases {
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<float>> outputs;
  std::vector<std::byte> bytes;

  explicit Cases(const std::vector<std::size_t>& sizes = {8, 7, 8}, float error = 0) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> value(-1, 1);
    host::GoldenCases golden{7, {}};
    for (const std::size_t size : sizes) {
      auto& x = inputs.emplace_back(size);
      for (float& one : x) one = value(random);
      auto& y = outputs.emplace_back();
      for (const float one : x) y.push_back(2 * one + 1 + error);
      const std::vector<std::int64_t> shape{static_cast<std::int64_t>(size)};
      host::GoldenTensor in{0, tenon::ScalarType::Float, shape, std::as_bytes(std::span(x)), {}};
      host::GoldenTensor out{0, tenon::ScalarType::Float, shape, std::as_bytes(std::span(y)), {}};
      out.tolerance = host::golden_tolerance(out.view());
      golden.cases.push_back({"forward", {in}, {out}});
    }
    auto written = host::write_golden(golden);
    REQUIRE(written.ok());
    bytes = *std::move(written);
  }
};

/// A program in a file, so that its identity is cheap.
inline std::shared_ptr<const host::Program> open_program(ProgramBuilder& builder,
                                                         const std::filesystem::path& path) {
  const auto bytes = builder.build();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.bytes().data()),
             static_cast<std::streamsize>(bytes.bytes().size()));
  auto program = host::Program::open(path);
  INFO(program.text());
  REQUIRE(program.ok());
  return *std::move(program);
}

/// "forward" by ZooBackend, with golden cases.
inline ProgramBuilder golden_program(const Cases& cases = Cases()) {
  ProgramBuilder builder;
  add_plan(builder, "forward", "ZooBackend");
  builder.named_data(std::string(host::golden_key), builder.segment(cases.bytes));
  return builder;
}

/// A registry with one of the plugins of tests/plugins/wrong.
inline std::unique_ptr<host::BackendRegistry> registry_with(std::string_view wrong) {
  auto registry = std::make_unique<host::BackendRegistry>();
  const auto path =
      std::filesystem::path(TENON_WRONG_PLUGINS) / ("wrong_" + std::string(wrong) + ".so");
  REQUIRE(registry->register_backend(path).ok());
  return registry;
}

inline host::PreparedCache open_cache(const std::filesystem::path& path) {
  auto opened = host::PreparedCache::open(path);
  REQUIRE(opened.ok());
  return *std::move(opened);
}

/// A cache in a directory of its own, and a program beside it.
struct Fixture {
  tenon::test::TemporaryDirectory directory;
  host::PreparedCache cache = open_cache(directory / "cache");

  std::shared_ptr<const host::Program> program(const Cases& cases = Cases()) const {
    auto builder = golden_program(cases);
    return open_program(builder, directory / "model.pte");
  }
  [[nodiscard]] std::size_t num_kept() const {
    auto kept = cache.list();
    REQUIRE(kept.ok());
    return kept->size();
  }
};

inline tenon::Result<std::unique_ptr<host::Method>> load(
    const std::shared_ptr<const host::Program>& program, const host::BackendRegistry& registry,
    host::Layers layers) {
  host::MethodOptions options;
  options.registry = &registry;
  options.layers = std::move(layers);
  return host::Method::load(program, "forward", std::move(options));
}

}  // namespace prove_test
