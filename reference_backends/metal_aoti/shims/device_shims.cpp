// SPDX-License-Identifier: MIT
//
// Generated code checks the results of the functions that create and delete libraries, but not of
// those that enqueue work. Failures of the latter are kept until the end of the run.
#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/metal_context.hpp"
#include "shims/shim_list.hpp"

namespace tenon::metal_aoti {

struct ShaderLibrary {
  std::unique_ptr<MetalLibrary> library;
  std::mutex mutex;
  std::vector<std::unique_ptr<MetalFunction>> functions;
};

namespace {

/// Runs the body of a function whose result generated code ignores.
template <class Body>
ShimError enqueue(const char* name, Body&& body) noexcept {
  MetalContext& context = current_context();
  if (context.has_failed()) return aoti::shim_failed;
  try {
    Status status = body(context);
    if (status.ok()) [[likely]]
      return aoti::shim_ok;
    context.fail(std::move(status).with_context(name));
  } catch (const std::exception& thrown) {
    context.fail(
        error(Error::Internal, std::string_view(name), ": ", std::string_view(thrown.what())));
  } catch (...) {
    context.fail(error(Error::Internal, std::string_view(name), ": an unknown exception"));
  }
  return aoti::shim_failed;
}

Status null_argument(const char* what) { return error(Error::InvalidArgument, what, " is null"); }

Result<GridSize> grid(const char* what, const std::uint64_t* values, std::size_t count) {
  if (!values || count < 1 || count > 3) {
    return error(Error::InvalidArgument, what, ": expected 1 to 3 dimensions, found ",
                 values ? count : 0);
  }
  GridSize out = {1, 1, 1};
  std::copy_n(values, count, out.begin());
  return out;
}

/// Replaces a block of constants that is never used: the constants are shared, in other memory.
struct UnusedBlock {
  char byte = 0;
};

}  // namespace

ShimError aoti_torch_mps_create_shader_library(const char* source, ShaderLibrary** out) noexcept {
  return aoti::shim_call("aoti_torch_mps_create_shader_library", [&]() -> Status {
    if (!source || !out) return null_argument(source ? "the result" : "the source");
    auto made = std::make_unique<ShaderLibrary>();
    TENON_TRY(made->library, current_context().shared().device().compile(source));
    *out = made.release();
    return ok();
  });
}

/// Called when the model's library is unloaded, when no model runs.
ShimError aoti_torch_mps_delete_shader_library(ShaderLibrary* library) noexcept {
  delete library;
  return library ? aoti::shim_ok : aoti::shim_failed;
}

ShimError aoti_torch_mps_get_kernel_function(ShaderLibrary* library, const char* name,
                                             MetalFunction** out) noexcept {
  return aoti::shim_call("aoti_torch_mps_get_kernel_function", [&]() -> Status {
    if (!library || !name || !out) {
      return null_argument(!library ? "the library" : !name ? "the name" : "the result");
    }
    TENON_TRY(auto function, library->library->function(name));
    const std::lock_guard lock(library->mutex);
    library->functions.push_back(std::move(function));
    *out = library->functions.back().get();
    return ok();
  });
}

ShimError aoti_torch_mps_start_encoding(MetalFunction* function) noexcept {
  return enqueue("aoti_torch_mps_start_encoding",
                 [&](MetalContext& context) { return context.begin(function); });
}

ShimError aoti_torch_mps_set_arg_tensor(MetalFunction* function, unsigned index,
                                        ModelTensor* tensor) noexcept {
  return enqueue("aoti_torch_mps_set_arg_tensor", [&](MetalContext& context) -> Status {
    TENON_RETURN_IF_ERROR(context.check_begun(function, index));
    if (!tensor) return null_argument("the tensor");
    return context.set_tensor(index, *tensor);
  });
}

ShimError aoti_torch_mps_set_arg_int(MetalFunction* function, unsigned index,
                                     std::int64_t value) noexcept {
  return enqueue("aoti_torch_mps_set_arg_int", [&](MetalContext& context) -> Status {
    TENON_RETURN_IF_ERROR(context.check_begun(function, index));
    return context.set_value(index, value);
  });
}

ShimError aoti_torch_mps_dispatch_single(MetalFunction* function, std::uint64_t length) noexcept {
  return aoti_torch_mps_dispatch_array(function, &length, 1);
}

ShimError aoti_torch_mps_dispatch_single_with_group_size(MetalFunction* function,
                                                         std::uint64_t length,
                                                         std::uint64_t group_size) noexcept {
  return aoti_torch_mps_dispatch_array_with_group_size(function, &length, 1, &group_size, 1);
}

ShimError aoti_torch_mps_dispatch_array(MetalFunction* function, const std::uint64_t* length,
                                        std::size_t length_size) noexcept {
  return enqueue("aoti_torch_mps_dispatch_array", [&](MetalContext& context) -> Status {
    TENON_RETURN_IF_ERROR(context.check_begun(function, 0));
    TENON_TRY(const GridSize threads, grid("length", length, length_size));
    return context.dispatch(threads, {});
  });
}

ShimError aoti_torch_mps_dispatch_array_with_group_size(MetalFunction* function,
                                                        const std::uint64_t* length,
                                                        std::size_t length_size,
                                                        const std::uint64_t* group_size,
                                                        std::size_t group_size_size) noexcept {
  return enqueue("aoti_torch_mps_dispatch_array_with_group_size",
                 [&](MetalContext& context) -> Status {
                   TENON_RETURN_IF_ERROR(context.check_begun(function, 0));
                   TENON_TRY(const GridSize threads, grid("length", length, length_size));
                   TENON_TRY(const GridSize group, grid("group_size", group_size, group_size_size));
                   if (group == GridSize{})
                     return error(Error::InvalidArgument, "group_size is zero");
                   return context.dispatch(threads, group);
                 });
}

ShimError aoti_torch_mps_malloc(void** out, std::size_t nbytes) noexcept {
  return enqueue("aoti_torch_mps_malloc", [&](MetalContext& context) -> Status {
    if (!out) return null_argument("the result");
    *out = nullptr;
    if (nbytes == 0) return ok();
    if (aoti::current_pool().adoption()) {
      *out = new UnusedBlock;
      return ok();
    }
    TENON_TRY(*out, context.shared().allocate(nbytes));
    return ok();
  });
}

/// Also after a failure, so that nothing leaks.
ShimError aoti_torch_mps_free(void* address) noexcept {
  if (!address) return aoti::shim_ok;
  SharedDevice& device = current_context().shared();
  if (const auto found = device.find(static_cast<std::byte*>(address)); found.buffer) {
    device.free(found.buffer->contents());
    return aoti::shim_ok;
  }
  delete static_cast<UnusedBlock*>(address);
  return aoti::shim_ok;
}

ShimError aoti_torch_mps_memcpy(void* buffer, std::size_t constant_offset, std::size_t bytes_read,
                                std::size_t data_size, std::uint8_t* constants_start) noexcept {
  return enqueue("aoti_torch_mps_memcpy", [&](MetalContext& context) -> Status {
    if (!buffer || !constants_start) return null_argument(buffer ? "the source" : "the target");
    if (aoti::current_pool().adoption()) {
      context.set_constant_offset(constant_offset);
      return ok();
    }
    auto* const to = static_cast<std::byte*>(buffer);
    TENON_RETURN_IF_ERROR(context.place(to, constant_offset));
    TENON_RETURN_IF_ERROR(context.place(to + constant_offset, data_size));
    return context.copy(aoti::CopyKind::to_device, to + constant_offset,
                        reinterpret_cast<const std::byte*>(constants_start) + bytes_read,
                        data_size);
  });
}

ShimError aoti_torch_mps_copy_buffer(void* source, void* target, std::size_t nbytes,
                                     std::size_t source_offset,
                                     std::size_t target_offset) noexcept {
  return enqueue("aoti_torch_mps_copy_buffer", [&](MetalContext& context) -> Status {
    if (!source || !target) return null_argument(source ? "the target" : "the source");
    // An offset beyond one buffer must not reach into another.
    TENON_RETURN_IF_ERROR(context.place(source, source_offset));
    TENON_RETURN_IF_ERROR(context.place(target, target_offset));
    return context.copy(aoti::CopyKind::within_device,
                        static_cast<std::byte*>(target) + target_offset,
                        static_cast<const std::byte*>(source) + source_offset, nbytes);
  });
}

void aoti_torch_mps_shared_callback(MetalFunction* function, void* user_data) {
  if (user_data) (*static_cast<std::function<void(MetalFunction*)>*>(user_data))(function);
}

ShimError aoti_torch_mps_run_command_block(MetalFunction* function, CommandBlock callback,
                                           void* user_data) noexcept {
  return enqueue("aoti_torch_mps_run_command_block", [&](MetalContext&) -> Status {
    if (!function || !callback) return null_argument(function ? "the callback" : "the kernel");
    callback(function, user_data);
    return ok();
  });
}

}  // namespace tenon::metal_aoti
