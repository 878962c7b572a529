// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../graph_backend/compiled.hpp"
#include "watch.hpp"

namespace tenon::test {

/// The library between plugin and driver.
inline const OpenClWatch& watch() {
  static const OpenClWatch* const table = [] {
    void* const library = ::dlopen(TENON_OPENCL_WATCH, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    REQUIRE(library);
    using Find = const OpenClWatch* (*)();
    return reinterpret_cast<Find>(::dlsym(library, opencl_watch_symbol))();
  }();
  return *table;
}

/// Calls of functions of OpenCL from when it was made on.
class Calls {
 public:
  [[nodiscard]] long of(const char* name) const {
    REQUIRE(watch().count(name) >= 0);
    for (const auto& [known, before] : before_) {
      if (known == name) return watch().count(name) - before;
    }
    FAIL(name << " is not counted");
    return -1;
  }
  [[nodiscard]] long copies() const {
    return of("clEnqueueWriteBuffer") + of("clEnqueueReadBuffer");
  }

 private:
  static std::vector<std::pair<std::string_view, long>> now() {
    std::vector<std::pair<std::string_view, long>> out;
    for (const char* name :
         {"clEnqueueWriteBuffer", "clEnqueueReadBuffer", "clEnqueueMapBuffer",
          "clEnqueueUnmapMemObject", "clEnqueueNDRangeKernel", "clCreateCommandBufferKHR",
          "clEnqueueCommandBufferKHR", "clReleaseCommandBufferKHR", "clCreateProgramWithSource",
          "clCreateProgramWithBinary", "clGetPlatformIDs", "clCreateContext"}) {
      out.emplace_back(name, watch().count(name));
    }
    return out;
  }
  std::vector<std::pair<std::string_view, long>> before_ = now();
};

/// A call of OpenCL that fails while this lives.
class Failing {
 public:
  Failing(const char* name, int code) : name_(name) { watch().fail(name, code); }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
  ~Failing() { watch().fail(name_, 0); }

 private:
  const char* name_;
};

/// A program of delegates and kernels, one after the other, on tensors of float32 [rows, columns].
class Steps {
 public:
  using Size = aot::EdgeTensor::Size;

  Steps(Size rows, std::int32_t columns)
      : rows_(std::move(rows)), columns_(columns), input_(add_tensor()) {
    method().inputs.push_back(input_);
  }

  [[nodiscard]] aot::ValueIndex input() const noexcept { return input_; }

  /// `times` times a product with `factor`, and the sum of `from`; the factors are not folded.
  aot::ValueIndex delegate(const std::vector<aot::ValueIndex>& from, double factor, int times = 1) {
    aot::EdgeProgramBuilder graph;
    const aot::EdgeTensor tensor{ScalarType::Float, {rows_, columns_}};
    auto value = graph.user_input("x0", tensor);
    for (std::size_t i = 1; i < from.size(); ++i) {
      const auto other = graph.user_input(concat("x", i), tensor);
      value = graph.node("aten.add.Tensor",
                         {{"self", aot::EdgeRef{value}}, {"other", aot::EdgeRef{other}}}, tensor);
    }
    for (int i = 0; i < times; ++i) {
      value =
          graph.node("aten.mul.Scalar", {{"self", aot::EdgeRef{value}}, {"other", factor}}, tensor);
    }
    graph.user_output(value);
    const auto program = build_ok(std::move(graph));
    const auto compiled = compile_ok(program);
    aot::DelegateCall call;
    call.delegate_index =
        method().add_delegate({TENON_GRAPH_BACKEND_ID, compiled.processed_bytes, {}});
    call.args = from;
    call.args.push_back(add_tensor());
    const auto out = call.args.back();
    method().instructions.emplace_back(std::move(call));
    return out;
  }

  /// A kernel of the host that takes a tensor and an output.
  aot::ValueIndex kernel(const std::string& name, aot::ValueIndex from) {
    aot::KernelCall call;
    call.op_index = static_cast<std::uint32_t>(method().operators.size());
    method().operators.push_back({name, ""});
    call.args = {from, add_tensor()};
    const auto out = call.args.back();
    method().instructions.emplace_back(std::move(call));
    return out;
  }

  [[nodiscard]] aot::ProgramData finish(aot::ValueIndex output) && {
    method().outputs.push_back(output);
    REQUIRE(aot::plan_method_memory(method()).ok());
    return std::move(program_);
  }

 private:
  aot::MethodData& method() {
    if (program_.methods.empty()) program_.methods.emplace_back();
    return program_.methods[0];
  }
  aot::ValueIndex add_tensor() {
    aot::TensorValue out;
    out.layout.scalar_type = ScalarType::Float;
    out.layout.sizes = {static_cast<std::int32_t>(rows_.max), columns_};
    out.data = aot::storage::Planned{};
    out.is_dynamic = rows_.min != rows_.max;
    return method().add(std::move(out));
  }

  Size rows_;
  std::int32_t columns_;
  aot::ProgramData program_;
  aot::ValueIndex input_;
};

/// A host with the plugin, whose calls of OpenCL are watched.
class OpenClHost {
 public:
  explicit OpenClHost(const std::string& library = TENON_OPENCL_WATCH) {
    REQUIRE(registry_.register_backend(TENON_GRAPH_BACKEND_PLUGIN).ok());
    auto found = registry_.lookup_backend(TENON_GRAPH_BACKEND_ID);
    REQUIRE(found.ok());
    backend_.emplace(*std::move(found));
    REQUIRE(backend().set_option("library", library).ok());
  }
  OpenClHost(const OpenClHost&) = delete;
  OpenClHost& operator=(const OpenClHost&) = delete;

  [[nodiscard]] const host::LoadedBackend& backend() const { return **backend_; }
  [[nodiscard]] const host::BackendRef& ref() const { return *backend_; }
  [[nodiscard]] const host::BackendRegistry& registry() const { return registry_; }
  void forget_log() {
    const std::lock_guard lock(mutex_);
    log_.clear();
  }
  [[nodiscard]] std::string log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  [[nodiscard]] Result<std::unique_ptr<host::Method>> load(
      const aot::ProgramData& program,
      const std::vector<std::pair<std::string, OptionValue>>& values = {},
      host::MethodOptions options = {}) const {
    options.registry = &registry_;
    for (const auto& [key, value] : values) {
      options.backend_options.push_back({TENON_GRAPH_BACKEND_ID, key, value});
    }
    return host::Method::load(write_and_open(program), "forward", std::move(options));
  }
  [[nodiscard]] std::unique_ptr<host::Method> load_ok(
      const aot::ProgramData& program,
      const std::vector<std::pair<std::string, OptionValue>>& values = {},
      host::MethodOptions options = {}) const {
    auto method = load(program, values, std::move(options));
    INFO(method.text());
    REQUIRE(method.ok());
    return *std::move(method);
  }

 private:
  mutable std::mutex mutex_;
  std::string log_;
  host::BackendRegistry registry_{
      host::HostInfo{.log = [this](std::int32_t, std::string_view, std::string_view line) {
        const std::lock_guard lock(mutex_);
        log_.append(line).append("\n");
      }}};
  std::optional<host::BackendRef> backend_;
};

/// Numbers at an address that is, or is not, a multiple of 64.
class Numbers {
 public:
  explicit Numbers(std::size_t count, std::size_t offset = 0) : bytes_(count + offset + 16) {
    auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    at = (at + 63) / 64 * 64;
    values_ = {reinterpret_cast<float*>(at) + offset, count};
    for (std::size_t i = 0; i < count; ++i) values_[i] = static_cast<float>(i % 17) - 8.0F;
  }
  [[nodiscard]] std::span<float> values() const noexcept { return values_; }

 private:
  std::vector<float> bytes_;
  std::span<float> values_;
};

/// Runs on [rows, columns], and its first output.
inline std::vector<float> run(host::Method& method, std::span<const float> values,
                              std::int64_t columns) {
  const std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(values.size()) / columns,
                                           columns};
  REQUIRE(set_floats(method, 0, values, sizes).ok());
  const Status ran = method.execute();
  INFO(ran.text());
  REQUIRE(ran.ok());
  return floats(method.output(0));
}

}  // namespace tenon::test
