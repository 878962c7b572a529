// SPDX-License-Identifier: MIT
#include "driver/modules.hpp"

#include <dlfcn.h>

#include <algorithm>

namespace tenon::cuda_aoti {

CUresult LoadedModules::load(const Driver& driver, const void* image, CUmodule* out) {
  ::Dl_info info{};
  const bool is_shared = ::dladdr(image, &info) != 0;
  const std::lock_guard lock(mutex_);
  for (Module& module : modules_) {
    if (!is_shared || module.image != image) continue;
    ++module.num_users;
    *out = module.handle;
    return CUDA_SUCCESS;
  }
  Module& made = modules_.emplace_back(Module{is_shared ? image : nullptr, nullptr, 1, {}});
  const CUresult code = driver.cuModuleLoadData(&made.handle, image);
  if (code == CUDA_SUCCESS) {
    *out = made.handle;
  } else {
    modules_.pop_back();
  }
  return code;
}

CUresult LoadedModules::unload(const Driver& driver, CUmodule handle) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(modules_, handle, &Module::handle);
  if (found != modules_.end()) {
    if (--found->num_users != 0) return CUDA_SUCCESS;
    modules_.erase(found);
  }
  return driver.cuModuleUnload(handle);
}

CUresult LoadedModules::find(const Driver& driver, CUmodule handle, const char* name,
                             CUfunction* out) {
  const CUresult code = driver.cuModuleGetFunction(out, handle, name);
  if (code != CUDA_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(modules_, handle, &Module::handle);
  if (found == modules_.end()) return code;
  const auto is_known = [&](const auto& kernel) { return kernel.first == *out; };
  if (std::ranges::none_of(found->kernels, is_known)) found->kernels.emplace_back(*out, name);
  return code;
}

std::string LoadedModules::name_of(CUfunction function) const {
  const std::lock_guard lock(mutex_);
  for (const Module& module : modules_) {
    for (const auto& [kernel, name] : module.kernels) {
      if (kernel == function) return name;
    }
  }
  return "?";
}

}  // namespace tenon::cuda_aoti
