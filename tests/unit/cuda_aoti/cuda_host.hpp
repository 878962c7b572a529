// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stand_ins/cuda/stand_in.hpp"
#include "support/aligned_bytes.hpp"
#include "support/catch.hpp"
#include "support/device_program.hpp"
#include "support/payload_bytes.hpp"
#include "support/program_builder.hpp"
#include "tenon/abi/extensions/device_memory.h"
#include "tenon/host.hpp"
#include "tenon/host/schema/program_generated.h"

/// Programs for CudaBackend, and the plugin that runs them on the stand-in for the driver.
namespace tenon::test {

/// The stand-in on LD_LIBRARY_PATH. It remains loaded, because the plugin keeps it.
inline const stand_in_cuda::Interface& cuda() {
  static const auto* const found = [] {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    using Find = const stand_in_cuda::Interface*();
    auto* const find = reinterpret_cast<Find*>(::dlsym(library, "tenon_stand_in_cuda"));
    REQUIRE(find != nullptr);  // Otherwise this is a real driver.
    return find();
  }();
  return *found;
}

/// The misuses that the stand-in found in the calls so far; empty when there were none.
inline std::string misuses() {
  std::string out;
  for (long i = 0; i < cuda().num_misuses(); ++i) out += std::string(cuda().misuse(i)) + "\n";
  return out;
}

inline long count_calls(std::string_view name) {
  long count = 0;
  for (long i = 0; i < cuda().num_calls(); ++i) count += cuda().call(i).name == name;
  return count;
}

/// How the parts of a program of copy_model.cpp are laid out.
struct CudaParts {
  int generation = 3;
  std::string model = "copies";
  std::string target_device = "cuda:0";
  float weight = 3;
  float state = 10;
  std::optional<std::string> blob{};  ///< In place of what the generation asks for.
  /// Libraries for several devices, which make it generation 4. A key with "broken" is of bytes
  /// that are no library, and one with "missing" is of none.
  std::vector<PayloadVariant> variants{};
  std::string compile_spec{};  ///< The key of another one.
  bool has_weights = true;
  std::size_t weights_nbytes = 64;  ///< Of each.
  std::vector<std::string> methods = {"forward"};
  bool input_on_device = false;  ///< The application says where.
  bool outputs_on_device = false;
  bool is_dynamic = false;  ///< Up to 16 numbers.
};

inline std::vector<std::byte> filled(float value, std::size_t nbytes) {
  std::vector<std::byte> out(nbytes);
  for (std::size_t i = 0; i + sizeof value <= nbytes; i += sizeof value) {
    std::memcpy(out.data() + i, &value, sizeof value);
  }
  return out;
}

/// A payload of generation 3 for copy_model.cpp, or of 4 with those libraries.
inline std::string named_weights_payload(const std::vector<PayloadVariant>& variants) {
  PayloadBytes out(variants.empty() ? "ETCUDAFQN3" : "ETCUDAFQN0");
  if (variants.empty()) {
    out.text("library_so_blob");
  } else {
    out.variants(variants);
  }
  out.number(std::uint32_t{2});
  for (const std::string name : {"model.w", "model.s"}) {
    out.weight({.name = name,
                .key = "cuda_fqn_weight:cuda:" + name,
                .nbytes = 64,
                .sizes = {16},
                .strides = {1}});
  }
  return out.bytes();
}

/// x -> (w, s) for float32 [16] in the host's memory, once for each method.
inline AlignedBytes build_program(const CudaParts& parts) {
  ProgramBuilder builder;
  const AlignedBytes library = read_file(TENON_TEST_CUDA_MODELS "/" + parts.model + ".so");
  const std::uint32_t library_segment = builder.segment(library.bytes(), 128);
  const auto weight = filled(parts.weight, parts.weights_nbytes);
  const auto state = filled(parts.state, parts.weights_nbytes);
  std::vector<std::byte> both = weight;
  both.insert(both.end(), state.begin(), state.end());
  const std::string blob = parts.blob              ? *parts.blob
                           : parts.generation == 1 ? ""
                           : parts.generation == 2 ? "library_so_blob\nweights_blob"
                                                   : named_weights_payload(parts.variants);
  for (const std::string& method : parts.methods) {
    PlanBuilder plan = builder.plan(method);
    const auto payload = builder.inline_blob(blob);
    const std::int32_t delegate =
        plan.delegate("CudaBackend", schema::DataLocation::INLINE, payload);
    plan.compile_spec(delegate, "target_device", parts.target_device);
    if (!parts.compile_spec.empty()) plan.compile_spec(delegate, parts.compile_spec, "");
    const auto made = [&](schema::objects::TensorT tensor) {
      if (parts.is_dynamic) tensor.shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
      return tensor;
    };
    const std::int32_t x =
        plan.input(made(parts.input_on_device ? tagged(tensor(ScalarType::Float, {16}))
                                              : planned_tensor(ScalarType::Float, {16}, 1, 0)));
    const auto output = [&](std::uint64_t offset) {
      return plan.output(made(parts.outputs_on_device
                                  ? tagged(tensor(ScalarType::Float, {16}))
                                  : planned_tensor(ScalarType::Float, {16}, 1, offset)));
    };
    const std::int32_t w = output(64);
    const std::int32_t s = output(128);
    plan.buffer(192);
    plan.instruction(delegate_call(delegate, {x, w, s}));
    if (parts.generation == 1) {
      builder.named_data(method + "_so_blob", library_segment);
      if (parts.has_weights) builder.named_data(method + "_weights_blob", builder.segment(both, 1));
    }
  }
  if (parts.generation != 1) builder.named_data("library_so_blob", library_segment);
  for (const PayloadVariant& variant : parts.variants) {
    if (variant.key.find("missing") != std::string::npos) continue;
    const bool is_broken = variant.key.find("broken") != std::string::npos;
    builder.named_data(variant.key,
                       is_broken ? builder.segment(filled(1, 64), 1) : library_segment);
  }
  if (parts.generation == 2 && parts.has_weights) {
    builder.named_data("weights_blob", builder.segment(both, 1));
  }
  if (parts.generation == 3 && parts.has_weights) {
    builder.named_data("cuda_fqn_weight:cuda:model.w", builder.segment(weight, 1));
    builder.named_data("cuda_fqn_weight:cuda:model.s", builder.segment(state, 1));
  }
  return builder.build();
}

using Options = std::vector<host::BackendOption>;

/// A registry that has the plugin. When it is destroyed, the device must have no objects left.
class CudaHost {
 public:
  explicit CudaHost(const stand_in_cuda::Machine& machine = {.num_devices = 2}) {
    cuda().set_machine(machine);
    cuda().reset();
    const Status status = registry_->register_backend(std::filesystem::path(TENON_TEST_CUDA_AOTI));
    INFO(status.text());
    REQUIRE(status.ok());
    auto found = registry_->lookup_backend("CudaBackend");
    INFO(found.text());
    REQUIRE(found.ok());
    backend_ = *std::move(found);
  }
  CudaHost(const CudaHost&) = delete;
  CudaHost& operator=(const CudaHost&) = delete;
  ~CudaHost() {
    backend_.reset();
    registry_.reset();
    CHECK(is_clean());
    CHECK(misuses().empty());
  }

  /// True when nothing is left on the device.
  static bool is_clean() {
    const stand_in_cuda::Live live = cuda().live();
    return live.blocks == 0 && live.host_blocks == 0 && live.streams == 0 && live.events == 0 &&
           live.memory_pools == 0 && live.modules == 0 && live.graphs == 0 &&
           live.executables == 0 && live.contexts == 0 && live.context_depth == 0;
  }

  Scheduling scheduling;  ///< Of what is loaded from here on.

  [[nodiscard]] host::BackendRegistry& registry() noexcept { return *registry_; }
  [[nodiscard]] host::BackendRef& backend() noexcept { return *backend_; }
  /// The plugins' log, one string a line. May be changed, while no other thread calls a plugin.
  [[nodiscard]] std::string& log() noexcept { return log_; }

  [[nodiscard]] Result<std::unique_ptr<host::Method>> load(const CudaParts& parts,
                                                           Options options = {},
                                                           const char* method = "forward") {
    auto bytes = std::make_shared<const AlignedBytes>(build_program(parts));
    TENON_TRY(auto program, host::Program::from_bytes(bytes->bytes(), bytes, "copies"));
    return load(std::move(program), method, {}, std::move(options));
  }

  /// One of the programs that ExecuTorch's exporter made.
  [[nodiscard]] Result<std::unique_ptr<host::Method>> load_fixture(const std::string& name,
                                                                   Options options = {}) {
    const std::string directory = TENON_TEST_FIXTURES "/" + name;
    TENON_TRY(auto program, host::Program::open(directory + "/model.pte"));
    TENON_TRY(auto data, host::DataFile::open(directory + "/aoti_cuda_blob.ptd"));
    return load(std::move(program), "forward", {std::move(data)}, std::move(options));
  }

  [[nodiscard]] Result<std::unique_ptr<host::Method>> load(
      std::shared_ptr<const host::Program> program, const std::string& method,
      std::vector<std::shared_ptr<const host::DataFile>> data, Options backend_options) const {
    host::MethodOptions options;
    options.layers.add(host::SchedulingHints(scheduling));
    options.registry = registry_.get();
    options.layers.add(host::DataFiles(std::move(data)));
    options.backend_options = std::move(backend_options);
    return host::Method::load(std::move(program), method, std::move(options));
  }

  /// A method whose load succeeds.
  [[nodiscard]] std::unique_ptr<host::Method> load_ok(const CudaParts& parts,
                                                      Options options = {}) {
    return checked(load(parts, std::move(options)));
  }
  [[nodiscard]] std::unique_ptr<host::Method> load_fixture_ok(const std::string& name,
                                                              Options options = {}) {
    return checked(load_fixture(name, std::move(options)));
  }

 private:
  static std::unique_ptr<host::Method> checked(Result<std::unique_ptr<host::Method>> loaded) {
    INFO(loaded.text() << misuses());
    REQUIRE(loaded.ok());
    return *std::move(loaded);
  }

  std::string log_;
  std::mutex log_mutex_;  // Plugins log from any thread.
  std::unique_ptr<host::BackendRegistry> registry_ = std::make_unique<host::BackendRegistry>(
      host::HostInfo{.log = [this](std::int32_t, std::string_view, std::string_view line) {
        const std::lock_guard lock(log_mutex_);
        log_.append(line).append("\n");
      }});
  std::optional<host::BackendRef> backend_;
};

inline host::BackendOption option(std::string key, OptionValue value) {
  return {"CudaBackend", std::move(key), std::move(value)};
}

/// Zeroes for all inputs of a method. They are the method's inputs for as long as this lives.
class ZeroInputs {
 public:
  explicit ZeroInputs(host::Method& method) {
    for (std::size_t i = 0; i < method.num_inputs() && status.ok(); ++i) {
      const TensorView input(*method.input(i).as.tensor);
      const auto& zeroes = bytes_.emplace_back(input.nbytes());
      status = method.set_input(i, {input.scalar_type(), input.sizes(), zeroes});
    }
  }
  Status status = ok();

 private:
  std::vector<std::vector<std::byte>> bytes_;
};

/// First numbers of the two outputs: the weight and the state.
struct Outputs {
  float weight;
  float state;
};

/// Runs a method of `build_program` and reads the numbers.
inline Result<Outputs> run_and_read(host::Method& method) {
  TENON_RETURN_IF_ERROR(method.execute());
  Outputs out{};
  std::memcpy(&out.weight, method.output(0).as.tensor->dl.data, sizeof out.weight);
  std::memcpy(&out.state, method.output(1).as.tensor->dl.data, sizeof out.state);
  return out;
}

/// Runs a method on `size` numbers `x` in the host's memory and reads the numbers.
inline Result<Outputs> run(host::Method& method, float x, std::int64_t size = 16) {
  const auto bytes = filled(x, static_cast<std::size_t>(size) * sizeof x);
  TENON_RETURN_IF_ERROR(method.set_input(0, {ScalarType::Float, {&size, 1}, bytes}));
  return run_and_read(method);
}

/// Memory on device 0 as an application gets it from the backend.
class AppBlock {
 public:
  static constexpr tenon_dl_device device = {TENON_DL_CUDA, 0};

  AppBlock(const host::BackendRef& backend, float value)
      : raw_(backend->raw()),
        table_(static_cast<const tenon_device_memory_v1*>(
            backend->api().get_extension(raw_, TENON_EXTENSION_DEVICE_MEMORY))) {
    REQUIRE(table_ != nullptr);
    REQUIRE(table_->allocate(raw_, device, 64, 64, &data_) == TENON_STATUS_OK);
    fill(value);
  }
  AppBlock(const AppBlock&) = delete;
  AppBlock& operator=(const AppBlock&) = delete;
  ~AppBlock() { table_->free(raw_, device, data_); }

  void fill(float value) const {
    const auto bytes = filled(value, 64);
    REQUIRE(table_->copy_to_device(raw_, device, data_, bytes.data(), 64) == TENON_STATUS_OK);
  }
  [[nodiscard]] float first() const {
    const auto out = try_first();
    REQUIRE(out.has_value());
    return *out;
  }
  /// `first` for other threads than the test's; empty when the copy fails.
  [[nodiscard]] std::optional<float> try_first() const {
    std::vector<std::byte> bytes(64);
    if (table_->copy_to_host(raw_, device, bytes.data(), data_, 64) != TENON_STATUS_OK) return {};
    return read_le<float>(bytes);
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(data_), 64}; }
  /// The first `size` numbers of it, as an input. `size` must live as long.
  [[nodiscard]] host::InputTensor input(const std::int64_t& size) const {
    const std::span bytes(static_cast<const std::byte*>(data_),
                          static_cast<std::size_t>(size) * sizeof(float));
    return {ScalarType::Float, {&size, 1}, bytes, device};
  }

 private:
  tenon_backend* raw_;
  const tenon_device_memory_v1* table_;
  void* data_ = nullptr;
};

}  // namespace tenon::test
