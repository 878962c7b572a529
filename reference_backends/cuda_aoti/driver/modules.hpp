// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "driver/driver.hpp"

namespace tenon::cuda_aoti {

/// The modules of one model's library, for all its instances: each image is loaded once, and
/// unloaded with its last user. The device's context must be current.
///
/// Threads: any.
class LoadedModules {
 public:
  LoadedModules() = default;
  LoadedModules(const LoadedModules&) = delete;
  LoadedModules& operator=(const LoadedModules&) = delete;

  /// Loads an image, or adds a user to its module. An image outside of a loaded library, whose
  /// memory may be another image's later, is loaded each time.
  [[nodiscard]] CUresult load(const Driver& driver, const void* image, CUmodule* out);
  /// Takes away a user.
  [[nodiscard]] CUresult unload(const Driver& driver, CUmodule module);
  [[nodiscard]] CUresult find(const Driver& driver, CUmodule module, const char* name,
                              CUfunction* out);
  /// Name of a kernel that `find` found; "?" for another one.
  [[nodiscard]] std::string name_of(CUfunction function) const;

 private:
  struct Module {
    const void* image;  ///< Null for a module that is not shared.
    CUmodule handle;
    std::size_t num_users;
    std::vector<std::pair<CUfunction, std::string>> kernels;
  };

  mutable std::mutex mutex_;
  std::vector<Module> modules_;
};

}  // namespace tenon::cuda_aoti
