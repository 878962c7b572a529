// SPDX-License-Identifier: MIT
//
// Only for macOS. Each function that a model calls by a C name is a jump through a slot. The slots
// are filled from the table that models are bound to on other systems, so there is one list of
// names.
#include "shims/flat_shims.hpp"

#include <dlfcn.h>

#include <mutex>
#include <string_view>

#include "shims/shim_list.hpp"
#include "tenon/aoti/shims/base_shims.hpp"
#include "tenon/aoti/shims/host_shims.hpp"

#define TENON_FLAT_ITEM(suffix, type, number)  \
  TENON_FLAT_NAME(aoti_torch_item_##suffix, 0) \
  TENON_FLAT_NAME(aoti_torch_scalar_to_tensor_##suffix, 0)
#define TENON_FLAT_NAMES                                \
  TENON_AOTI_NUMBERS(TENON_FLAT_NAME)                   \
  TENON_AOTI_BASE(TENON_FLAT_NAME)                      \
  TENON_AOTI_ITEMS(TENON_FLAT_ITEM)                     \
  TENON_METAL_AOTI_KERNELS(TENON_FLAT_NAME)             \
  TENON_METAL_AOTI_DEVICE(TENON_FLAT_NAME)              \
  TENON_FLAT_NAME(aoti_torch_clone, 0)                  \
  TENON_FLAT_NAME(aoti_torch_clone_preserve_strides, 0) \
  TENON_FLAT_NAME(aoti_torch_copy_, 0)                  \
  TENON_FLAT_NAME(aoti_torch_tensor_copy_, 0)           \
  TENON_FLAT_NAME(aoti_torch_zero_, 0)                  \
  TENON_FLAT_NAME(aoti_torch_item_float16, 0)           \
  TENON_FLAT_NAME(aoti_torch_item_bfloat16, 0)          \
  TENON_FLAT_NAME(aoti_torch_mps_shared_callback, 0)

#define TENON_FLAT_NAME(name, parameters)                                                   \
  extern "C" {                                                                              \
  __attribute__((visibility("hidden"))) const void* tenon_slot_##name = nullptr;            \
  }                                                                                         \
  __asm__(".text\n.globl _" #name "\n.p2align 2\n_" #name ":\nadrp x16, _tenon_slot_" #name \
          "@PAGE\nldr x16, [x16, _tenon_slot_" #name "@PAGEOFF]\nbr x16\n");
TENON_FLAT_NAMES
#undef TENON_FLAT_NAME

namespace tenon::metal_aoti {

namespace {

std::string_view image_of(const void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 && info.dli_fname ? info.dli_fname : "an unknown image";
}

Status publish() {
#define TENON_FLAT_NAME(name, parameters) tenon_slot_##name = find_metal_shim(#name);
  TENON_FLAT_NAMES
#undef TENON_FLAT_NAME
  constexpr const char* probe = "aoti_torch_get_data_ptr";
  const std::string_view own = image_of(reinterpret_cast<const void*>(&publish_flat_shims));
  // Loaded again as global, so that dyld uses its symbols for all images, until the process ends.
  if (!::dlopen(own.data(), RTLD_NOW | RTLD_GLOBAL)) {
    return error(Error::AccessFailed,
                 "cannot make the plugin's functions visible: ", std::string_view(::dlerror()));
  }
  const void* const found = ::dlsym(RTLD_DEFAULT, probe);
  if (found && image_of(found) == own) return ok();
  return error(Error::InvalidState, "models would call functions of ",
               found ? image_of(found) : "no image", ", expected functions of ", own,
               ": load the plugin in a process where no other image has ", probe);
}

}  // namespace

Status publish_flat_shims() {
  static std::mutex mutex;
  static bool is_done = false;
  const std::lock_guard lock(mutex);
  if (is_done) return ok();
  TENON_RETURN_IF_ERROR(publish());
  is_done = true;
  return ok();
}

}  // namespace tenon::metal_aoti
