// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <string_view>

#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/loader/method/kernels.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Operators that ExecuTorch's exporter writes around a delegate whose tensors are on a device
/// (exir/passes/propagate_device_pass.py).
inline constexpr std::string_view copy_to_device_operator = "et_copy::_h2d_copy.out";
inline constexpr std::string_view copy_to_host_operator = "et_copy::_d2h_copy.out";

/// Whether every method with the layer devices has a kernel for `op`, also without a KernelTable.
[[nodiscard]] constexpr bool is_built_in(std::string_view op) noexcept {
  return op == copy_to_device_operator || op == copy_to_host_operator;
}

namespace detail {

/// Checks one of the two operators, resizes the output and copies. The arguments are the input, the
/// output, and the output once more, which the operator returns.
///
/// errors: InvalidArgument (number or kind of arguments; a tensor on the wrong side; dim orders
///         that differ; sizes beyond the output's; no data), InvalidType (dtypes differ),
///         NotSupported (the output is a constant), NotFound (a device that no backend serves), and
///         whatever the backend's copy fails with.
[[nodiscard]] inline Status copy_between(const DeviceMemories& devices, bool to_device,
                                         std::span<tenon_value* const> args) {
  if (args.size() != 3 || args[0]->kind != TENON_VALUE_TENSOR ||
      args[1]->kind != TENON_VALUE_TENSOR) {
    return error(
        Error::InvalidArgument,
        "expected three arguments: a tensor, the output tensor, and the output again; found ",
        args.size(), args.size() == 3 ? " arguments, not all tensors" : " arguments");
  }
  const tenon_tensor& from = *args[0]->as.tensor;
  tenon_tensor& to = *args[1]->as.tensor;
  const tenon_dl_device device = to_device ? to.dl.device : from.dl.device;
  const tenon_dl_device here = to_device ? from.dl.device : to.dl.device;
  if (is_cpu(device) || !is_cpu(here)) {
    return error(Error::InvalidArgument, "expected to copy from ",
                 to_device ? "the CPU to a device" : "a device to the CPU", ", found ",
                 device_name(from.dl.device), " to ", device_name(to.dl.device));
  }
  if (from.scalar_type != to.scalar_type) {
    return error(Error::InvalidType, "expected an output of dtype ",
                 name_of(static_cast<ScalarType>(from.scalar_type)), ", found ",
                 name_of(static_cast<ScalarType>(to.scalar_type)));
  }
  const TensorView source(from);
  const TensorView target(to);
  const auto from_order = source.dim_order();
  const auto to_order = target.dim_order();
  if (!tenon::detail::are_equal(from_order, to_order)) {
    return error(Error::InvalidArgument,
                 "expected an output of the same rank and dim order as the input of shape ",
                 shape_text(source.sizes()), ", found shape ", shape_text(target.sizes()));
  }
  if ((to.flags & TENON_TENSOR_CONSTANT) != 0) {
    return error(Error::NotSupported,
                 "expected an output that can be written, found a constant of the program");
  }
  if (resize_tensor(to, source.sizes()) != Error::Ok) {
    return error(Error::InvalidArgument, "cannot resize the output of shape ",
                 shape_text(target.sizes()), " to ", shape_text(source.sizes()), ", bounds are ",
                 shape_text(target.bounds()));
  }
  const DeviceMemory* const memory = devices.find(device);
  if (!memory) {
    return error(Error::NotFound, "no backend of the method serves ", device_name(device));
  }
  if (from.nbytes != 0 && (!from.dl.data || !to.dl.data)) {
    return error(Error::InvalidArgument, "the ", from.dl.data ? "output" : "input", " of ",
                 from.nbytes, " bytes has no data");
  }
  return to_device ? memory->copy_to_device(to.dl.data, from.dl.data, from.nbytes)
                   : memory->copy_to_host(to.dl.data, from.dl.data, from.nbytes);
}

/// The two kernels, for the devices of one method. The address of `devices` must not change.
class CopyKernels {
 public:
  explicit CopyKernels(const DeviceMemories& devices) noexcept {
    auto* self = const_cast<DeviceMemories*>(&devices);
    to_device_ = {&run<true>, self};
    to_host_ = {&run<false>, self};
  }

  /// The kernel of `op`, or null.
  [[nodiscard]] const Kernel* find(std::string_view op) const noexcept {
    if (op == copy_to_device_operator) return &to_device_;
    return op == copy_to_host_operator ? &to_host_ : nullptr;
  }

 private:
  template <bool ToDevice>
  static tenon_status run(void* self, const tenon_execution_context* context,
                          tenon_value* const* args, std::uint32_t num_args) {
    const tenon_host* host = context->host;
    try {
      const Status copied =
          copy_between(*static_cast<const DeviceMemories*>(self), ToDevice, {args, num_args});
      if (copied.ok()) [[likely]]
        return TENON_STATUS_OK;
      const tenon_status status = to_status(copied.error());
      host->set_last_error(host, status, copied.text().data(), copied.text().size());
      return status;
    } catch (const std::bad_alloc&) {
      constexpr std::string_view text = "out of memory while formatting the error";
      host->set_last_error(host, TENON_STATUS_MEMORY_ALLOCATION_FAILED, text.data(), text.size());
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    }
  }

  Kernel to_device_;
  Kernel to_host_;
};

}  // namespace detail
}}}  // namespace tenon::TENON_RELEASE::host
