// SPDX-License-Identifier: MIT
//
// Prints the nanoseconds of one delegate call in this host, of the plugin that is given
// (NoopBackend): bench-onnxruntime PLUGIN. A chain of calls, less a method of one call. For
// bench_onnxruntime.py.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <span>
#include <tenon/aot/compiler/emit/method_memory.hpp>
#include <tenon/aot/compiler/emit/tensor_text.hpp>
#include <tenon/aot/compiler/write/pte_writer.hpp>
#include <tenon/host.hpp>
#include <vector>

namespace {

namespace aot = tenon::aot;
namespace host = tenon::host;
constexpr int chain = 100;

/// A method of `calls` calls of a delegate each, which pass one tensor on.
tenon::Result<std::shared_ptr<const host::Program>> make_program(int calls) {
  aot::ProgramData data;
  aot::MethodData& method = data.methods.emplace_back();
  TENON_TRY(const aot::TensorValue tensor, aot::parse_tensor("Float:1"));
  method.inputs.push_back(method.add(tensor));
  for (int i = 0; i < calls; ++i) {
    const aot::ValueIndex in = i == 0 ? method.inputs[0] : method.outputs[0];
    method.outputs = {method.add(tensor)};
    const auto blob = aot::SharedBytes::copy_of("b");
    const std::uint32_t delegate = method.add_delegate({"NoopBackend", blob, {}});
    method.instructions.emplace_back(aot::DelegateCall{delegate, {in, method.outputs[0]}});
  }
  TENON_RETURN_IF_ERROR(aot::plan_method_memory(method));
  TENON_TRY(const aot::FileImage image, aot::make_pte(data));
  const auto bytes = std::make_shared<const std::vector<std::byte>>(image.bytes());
  return host::Program::from_bytes(*bytes, bytes, "chain");
}

/// The fastest of many runs, in nanoseconds.
tenon::Result<double> fastest(const host::BackendRegistry& registry, int calls) {
  using Clock = std::chrono::steady_clock;
  TENON_TRY(const auto program, make_program(calls));
  host::MethodOptions options;
  options.registry = &registry;
  TENON_TRY(const auto method, host::Method::load(program, "forward", options));
  const float one = 1;
  const std::int64_t sizes[] = {1};
  double best = std::numeric_limits<double>::max();
  constexpr int runs = 200;
  for (int repeat = 0; repeat < 200; ++repeat) {
    const auto begin = Clock::now();
    for (int i = 0; i < runs; ++i) {
      TENON_RETURN_IF_ERROR(method->set_input(
          0, {tenon::ScalarType::Float, sizes, std::as_bytes(std::span(&one, 1))}));
      TENON_RETURN_IF_ERROR(method->execute());
    }
    const std::chrono::duration<double, std::nano> time = Clock::now() - begin;
    best = std::min(best, time.count() / runs);
  }
  return best;
}

tenon::Status measure(const char* plugin) {
  host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(std::filesystem::path(plugin)));
  TENON_TRY(const double one, fastest(registry, 1));
  TENON_TRY(const double many, fastest(registry, 1 + chain));
  std::printf("%.1f\n", (many - one) / chain);
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const tenon::Status status = measure(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", tenon::describe(status).c_str());
  return status.ok() ? 0 : 1;
}
