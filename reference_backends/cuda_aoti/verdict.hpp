// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "driver/driver.hpp"
#include "driver/kernel_images.hpp"
#include "kernels/kernels.hpp"
#include "tenon/core/bytes.hpp"

namespace tenon::cuda_aoti {

/// How the kernels of a model's library run on a device with this driver. Needs no context.
/// errors: DelegateInvalidCompatibility with what the kernels are for and what was found.
[[nodiscard]] Result<KernelImages::Fit> check_kernels(const KernelImages& kernels,
                                                      const Driver& driver, std::int32_t index);

/// Fails when a kernel of a library needs more shared memory than a block can have on the device,
/// as far as the library shows it. Needs no context.
/// errors: DelegateInvalidCompatibility with the kernel, what it needs and what there is.
[[nodiscard]] Status check_shared_memory(Bytes library, const Driver& driver, std::int32_t index);

/// The refusal of a kernel that needs more than there is.
[[nodiscard]] Status shared_memory_refused(std::string_view kernel, std::uint64_t needed,
                                           std::uint64_t there, std::int32_t index);

/// Fails when a library needs a function of this plugin whose kernels (kernels::fatbin) cannot run
/// on the device. Needs no context.
/// errors: DelegateInvalidCompatibility; the errors of reading the library.
[[nodiscard]] Status check_own_kernels(Bytes library, const Driver& driver, std::int32_t index);

/// True when a library calls one of the matrix products of this plugin (kernels.hpp).
/// errors: the errors of reading the library.
[[nodiscard]] Result<bool> needs_products(Bytes library);

/// The code of a module of this plugin's kernels for a device and this driver, for
/// `cuModuleLoadData`.
/// errors: as `check_own_kernels`.
[[nodiscard]] Result<const void*> own_kernels_for(kernels::Module module, const Driver& driver,
                                                  std::int32_t index);

}  // namespace tenon::cuda_aoti
