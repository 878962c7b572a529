// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/aligned_bytes.hpp"
#include "support/catch.hpp"
#include "support/program_builder.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/core/aoti_names.hpp"
#include "tenon/host.hpp"
#include "tenon/host/schema/program_generated.h"

/// Programs whose delegates are stand-ins for compiled models (stand_in_model.cpp), and the plugin
/// that runs them.
namespace tenon::test {

/// The parts of a program with stand-ins. Each text is a key of named data.
struct ModelParts {
  std::string model = "good";
  std::string blob = "library_so_blob\nweights_weights_blob";
  float weight = 2.0f;
  float state = 0.0f;
  std::size_t weights_nbytes = 128;
  bool weights_aligned = true;
  bool has_library = true;
  bool has_weights = true;
  std::size_t num_delegates = 1;
  std::optional<std::string> library_bytes{};  ///< Instead of the stand-in's.
  std::optional<std::string> operator_calls{};
  std::optional<std::string> cpu_features{};
};

/// y = model(x) for one float32 of each, once for each delegate, one after the other.
inline AlignedBytes build_program(const ModelParts& parts) {
  ProgramBuilder builder;
  PlanBuilder plan = builder.plan("forward");
  std::int32_t value = plan.input(planned_tensor(ScalarType::Float, {1}, 1, 0));
  for (std::size_t i = 0; i < parts.num_delegates; ++i) {
    const auto payload = builder.inline_blob(parts.blob);
    const std::int32_t delegate =
        plan.delegate("CpuAotiBackend", schema::DataLocation::INLINE, payload);
    const auto next = planned_tensor(ScalarType::Float, {1}, 1, 16 * (i + 1));
    const std::int32_t out = i + 1 == parts.num_delegates ? plan.output(next) : plan.value(next);
    plan.instruction(delegate_call(delegate, {value, out}));
    value = out;
  }
  plan.buffer(static_cast<std::int64_t>(16 * (parts.num_delegates + 1)));
  const auto named = [&](const std::string& key, std::span<const std::byte> bytes,
                         std::size_t alignment) {
    builder.named_data(key, builder.segment(bytes, alignment));
  };
  const std::size_t line = parts.blob.find('\n');
  const std::string library_key =
      parts.blob.empty() ? "forward_so_blob" : parts.blob.substr(0, line);
  const std::string weights_key =
      parts.blob.empty() ? "forward_weights_blob" : parts.blob.substr(line + 1);
  if (parts.has_library) {
    const AlignedBytes library = read_file(TENON_TEST_AOTI_MODELS "/" + parts.model + ".so");
    named(library_key, parts.library_bytes ? bytes_of(*parts.library_bytes) : library.bytes(), 128);
  }
  if (parts.operator_calls) {
    named(aoti::operator_calls_key(library_key), bytes_of(*parts.operator_calls), 1);
  }
  if (parts.cpu_features) {
    named(aoti::cpu_features_key(library_key), bytes_of(*parts.cpu_features), 1);
  }
  if (parts.has_weights) {
    std::vector<std::byte> weights(parts.weights_nbytes);
    if (weights.size() >= 68) {
      std::memcpy(weights.data(), &parts.weight, sizeof parts.weight);
      std::memcpy(weights.data() + 64, &parts.state, sizeof parts.state);
    }
    if (!parts.weights_aligned) builder.segment(bytes_of("odd"), 128);
    named(weights_key, weights, parts.weights_aligned ? 128 : 1);
  }
  return builder.build();
}

/// A registry that has the plugin.
class AotiHost {
 public:
  AotiHost() {
    const Status status = registry_.register_backend(std::filesystem::path(TENON_TEST_CPU_AOTI));
    INFO(status.text());
    REQUIRE(status.ok());
    // Unloading and loading it again in several threads is the loader's own test; the thread
    // sanitizer does not see the lock that orders them.
    auto found = registry_.lookup_backend("CpuAotiBackend");
    REQUIRE(found.ok());
    keep_ = *std::move(found);
  }

  [[nodiscard]] host::BackendRegistry& registry() noexcept { return registry_; }

  /// Loads the method from a file, which is mapped.
  [[nodiscard]] Result<std::unique_ptr<host::Method>> load(const ModelParts& parts,
                                                           host::MethodOptions options = {}) {
    const AlignedBytes program = build_program(parts);
    const auto path = directory_.file("model.pte");
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(program.bytes().data()),
               static_cast<std::streamsize>(program.bytes().size()));
    options.registry = &registry_;
    TENON_TRY(auto opened, host::Program::open(path));
    // A mapped file is not changed; the next program is another file.
    std::filesystem::remove(path);
    return host::Method::load(std::move(opened), "forward", std::move(options));
  }

  /// A method whose load succeeds.
  [[nodiscard]] std::unique_ptr<host::Method> load_ok(const ModelParts& parts,
                                                      host::MethodOptions options = {}) {
    auto loaded = load(parts, std::move(options));
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    return *std::move(loaded);
  }

 private:
  TemporaryDirectory directory_;
  host::BackendRegistry registry_;
  host::BackendRef keep_;
};

/// Runs a method made by `build_program` and returns y.
inline Result<float> run(host::Method& method, float x) {
  static constexpr std::int64_t sizes[] = {1};
  TENON_RETURN_IF_ERROR(method.set_input(
      0, {ScalarType::Float, sizes, std::as_bytes(std::span<const float, 1>(&x, 1))}));
  TENON_RETURN_IF_ERROR(method.execute());
  float y = 0;
  std::memcpy(&y, method.output(0).as.tensor->dl.data, sizeof y);
  return y;
}

}  // namespace tenon::test
