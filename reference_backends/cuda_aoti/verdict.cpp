// SPDX-License-Identifier: MIT
#include "verdict.hpp"

#include <string_view>
#include <vector>

#include "driver/device.hpp"
#include "driver/shared_memory.hpp"
#include "kernels/kernels.hpp"
#include "tenon/aoti/library/elf_editor.hpp"
#include "tenon/aoti/shims/shim.hpp"

namespace tenon::cuda_aoti {

namespace {

using Fit = KernelImages::Fit;

/// `what` is "the model's kernels".
Result<Fit> check(const KernelImages& kernels, std::string_view what, const Driver& driver,
                  std::int32_t index) {
  if (kernels.empty()) return Fit::binary;
  int version = 0;
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuDriverGetVersion, &version));
  TENON_TRY(const unsigned capability, capability_of(driver, index));
  const Fit fit = kernels.fit(capability, version);
  if (fit == Fit::none) {
    return error(Error::DelegateInvalidCompatibility, what, " are for ", kernels.text(),
                 "; CUDA device ", index, " has compute capability ", capability / 10, ".",
                 capability % 10);
  }
  if (fit == Fit::old_driver) {
    const int needed = kernels.driver_for(capability);
    return error(Error::DelegateInvalidCompatibility, what, " need a driver for CUDA ",
                 needed / 1000, ".", needed % 1000 / 10, " or later; this one is for CUDA ",
                 version / 1000, ".", version % 1000 / 10);
  }
  return fit;
}

/// Both modules have code for the same devices.
KernelImages own_kernels() { return KernelImages::of(kernels::fatbin(), kernels::ptx()); }

/// A function of `kernel_shims` that the library needs, with a name that ends with `suffix`; empty
/// when it needs none.
Result<std::string_view> own_function_in(Bytes library, std::string_view suffix) {
#define TENON_CUDA_NAME(name, parameters) #name,
  static constexpr std::string_view names[] = {TENON_CUDA_KERNEL_SHIMS(TENON_CUDA_NAME)};
#undef TENON_CUDA_NAME
  // The editor needs bytes that it could change; it changes nothing here.
  std::vector<std::byte> copy(library.begin(), library.end());
  TENON_TRY(const aoti::ElfEditor elf, aoti::ElfEditor::open(copy));
  for (const auto& symbol : elf.symbols()) {
    if (!symbol.is_undefined) continue;
    for (const std::string_view name : names) {
      if (aoti::shim_name(symbol.name) == name && name.ends_with(suffix)) return name;
    }
  }
  return std::string_view();
}

}  // namespace

Result<Fit> check_kernels(const KernelImages& kernels, const Driver& driver, std::int32_t index) {
  return check(kernels, "the model's kernels", driver, index);
}

Status shared_memory_refused(std::string_view kernel, std::uint64_t needed, std::uint64_t there,
                             std::int32_t index) {
  return error(Error::DelegateInvalidCompatibility, "the model's kernel '", kernel, "' needs ",
               needed, " bytes of shared memory for a block; CUDA device ", index, " has ", there);
}

Status check_shared_memory(Bytes library, const Driver& driver, std::int32_t index) {
  const auto needs = shared_memory_needs(library);
  if (needs.empty()) return ok();
  TENON_TRY(const std::uint64_t there, shared_memory_of(driver, index));
  for (const SharedMemoryNeed& need : needs) {
    if (need.nbytes > there) return shared_memory_refused(need.kernel, need.nbytes, there, index);
  }
  return ok();
}

Status check_own_kernels(Bytes library, const Driver& driver, std::int32_t index) {
  if (kernels::fatbin().empty()) return ok();  // The function is missing, which says so itself.
  TENON_TRY(const std::string_view name, own_function_in(library, ""));
  if (name.empty()) return ok();
  const auto fit = check(own_kernels(), concat("the plugin's kernels for ", name), driver, index);
  return fit.ok() ? ok() : error(fit.error(), fit.text());
}

Result<bool> needs_products(Bytes library) {
  if (kernels::fatbin().empty()) return false;
  TENON_TRY(const std::string_view name, own_function_in(library, "_mm"));
  return !name.empty();
}

Result<const void*> own_kernels_for(kernels::Module module, const Driver& driver,
                                    std::int32_t index) {
  TENON_TRY(const Fit fit, check(own_kernels(), "the plugin's kernels", driver, index));
  return fit == Fit::binary ? static_cast<const void*>(kernels::fatbin(module).data())
                            : static_cast<const void*>(kernels::ptx(module).data());
}

}  // namespace tenon::cuda_aoti
