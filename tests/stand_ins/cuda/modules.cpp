// SPDX-License-Identifier: MIT
//
// Modules, their functions, and launches.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replayer.hpp"
#include "state.hpp"

using namespace tenon::stand_in_cuda;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

Module* find_module(Module* handle, const char* call) {
  if (state().modules.contains(handle)) return handle;
  misuse(invalid_handle, std::string(call) + ": a module that does not exist");
  return nullptr;
}

}  // namespace

EXPORT Result cuModuleLoadData(Module** out, const void* image) {
  const CallScope call("cuModuleLoadData", CallScope::needs_context);
  if (call.code != success) return call.code;
  if (!image) return misuse(invalid_value, "cuModuleLoadData: no code for a GPU");
  const int capability = state().capability_of(context_stack().back()->device);
  const Result checked = check_image(image, state().driver_version, capability);
  if (checked == invalid_value) misuse(checked, "cuModuleLoadData: no code for a GPU");
  if (checked != success) return checked;
  auto module = std::make_unique<Module>();
  module->kernels = kernel_parameters(image);
  *out = module.get();
  state().modules.emplace(*out, std::move(module));
  return success;
}
EXPORT Result cuModuleUnload(Module* module) {
  const CallScope call("cuModuleUnload", CallScope::gives_back);
  if (!find_module(module, "cuModuleUnload")) return invalid_handle;
  run_everything();
  state().modules.erase(module);
  return call.end(success);
}
EXPORT Result cuModuleGetFunction(Function** out, Module* module, const char* name) {
  const CallScope call("cuModuleGetFunction", CallScope::needs_context);
  if (call.code != success) return call.code;
  if (!find_module(module, "cuModuleGetFunction")) return invalid_handle;
  const auto known = module->kernels.find(name);
  if (known == module->kernels.end() && !module->kernels.empty()) return not_found;
  auto& function = module->functions[name];
  if (!function) {
    function = std::make_unique<Function>(
        Function{name, known == module->kernels.end() ? KernelLayout() : known->second});
  }
  *out = function.get();
  return success;
}

namespace {

bool function_exists(const Function* function) {
  for (const auto& [handle, module] : state().modules) {
    for (const auto& [name, each] : module->functions) {
      if (each.get() == function) return true;
    }
  }
  return false;
}

/// Values of the parameters that may be addresses: of that size, and larger than any number that a
/// model computes with. None for a kernel whose parameters are not known.
std::vector<std::uint64_t> addresses_in(const Function& function, void* const* parameters) {
  constexpr std::uint64_t lowest = std::uint64_t{1} << 32;
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < function.layout.sizes.size(); ++i) {
    std::uint64_t value = 0;
    if (function.layout.sizes[i] != sizeof value) continue;
    std::memcpy(&value, parameters[i], sizeof value);
    if (value >= lowest) out.push_back(value);
  }
  return out;
}

/// Fails when one of them is not in memory of `device`, or not where a kernel expects it.
Result check_addresses(const std::string& kernel, const std::vector<std::uint64_t>& addresses,
                       int device, When when) {
  constexpr std::uint64_t alignment = 16;  // Of tl.divisibility, and of the widest load.
  for (const std::uint64_t address : addresses) {
    const DeviceBlock* const block = find_block(address, 1);
    if (!block || block->device != device) {
      return misuse(invalid_value, kernel + ": an address that is not of the kernel's device");
    }
    if (const char* const problem = problem_of(*block, when)) {
      return misuse(invalid_value, kernel + ": " + problem);
    }
    if (address % alignment != 0) {
      return misuse(misaligned_address, kernel + ": an address that is not aligned to 16 bytes");
    }
  }
  return success;
}

/// Parameters are read by the call, not when it is the launch's turn.
Launch describe(const Function& function, const std::array<unsigned, 7>& sizes,
                void* const* parameters) {
  Launch out{function.name, {}, sizes.back(), {}};
  std::copy_n(sizes.begin(), out.sizes.size(), out.sizes.begin());
  for (std::size_t i = 0; i < function.layout.sizes.size(); ++i) {
    const auto* const from = static_cast<const std::byte*>(parameters[i]);
    out.parameters.emplace_back(from, from + function.layout.sizes[i]);
  }
  return out;
}

/// `sizes` are the grid's, a block's, and the dynamic shared memory's.
Result launch(const char* name, const Function* function, const std::array<unsigned, 7>& sizes,
              Stream* stream, void** parameters) {
  const CallScope call(name, CallScope::needs_context, stream);
  if (call.code != success) return call.code;
  if (!function_exists(function)) {
    return misuse(invalid_handle, "a function of a module that was unloaded");
  }
  const int device = context_stack().back()->device;
  const std::uint64_t allowed = function->max_dynamic_bytes.value_or(State::default_shared_bytes -
                                                                     function->layout.shared_bytes);
  if (sizes.back() > allowed) {
    return misuse(invalid_value, function->name + ": more shared memory than it was given");
  }
  const auto addresses = addresses_in(*function, parameters);
  const Result checked = check_addresses(function->name, addresses, device, When::call);
  if (checked != success) return checked;
  auto& given = state().given[static_cast<long>(state().calls.size()) - 1];
  for (const std::uint64_t address : addresses) given.push_back(address);
  Launch launched;
  if (has_replayer()) launched = describe(*function, sizes, parameters);
  return enqueue(stream, name, [function, device, addresses, launched = std::move(launched)] {
    if (!function_exists(function)) {
      misuse(invalid_handle, "a module was unloaded under its work");
      return;
    }
    const Result found = check_addresses(function->name, addresses, device, When::turn);
    if (found == success && has_replayer()) replay(launched);
  });
}

}  // namespace

EXPORT Result cuFuncSetAttribute(Function* function, int attribute, int value) {
  const CallScope call("cuFuncSetAttribute", CallScope::needs_context);
  if (call.code != success) return call.code;
  if (!function_exists(function)) {
    return misuse(invalid_handle, "a function of an unloaded module");
  }
  constexpr int max_dynamic_shared_size = 8;
  if (attribute != max_dynamic_shared_size) return success;
  const int most = state().shared_bytes_of(context_stack().back()->device);
  const auto bytes = static_cast<std::uint64_t>(value);
  if (value < 0 || bytes + function->layout.shared_bytes > static_cast<std::uint64_t>(most)) {
    return invalid_value;
  }
  function->max_dynamic_bytes = bytes;
  return success;
}
EXPORT Result cuLaunchKernel(const Function* function, unsigned grid_x, unsigned grid_y,
                             unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned shared_bytes, Stream* stream, void** parameters, void**) {
  return launch("cuLaunchKernel", function,
                {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes}, stream,
                parameters);
}

/// Beginning of CUlaunchConfig: six sizes, shared bytes, the stream.
struct LaunchConfiguration {
  std::array<unsigned, 7> sizes;
  Stream* stream;
};
EXPORT Result cuLaunchKernelEx(const LaunchConfiguration* configuration, const Function* function,
                               void** parameters, void**) {
  return launch("cuLaunchKernelEx", function, configuration->sizes, configuration->stream,
                parameters);
}
