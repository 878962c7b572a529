// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/platform.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/backend/host_services.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/executorch/error.hpp"
#include "tenon/executorch/loaded_file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge {

/// A library that registers backends or kernels with ExecuTorch when it is loaded.
struct RegisteringLibrary {
  std::string_view file;  ///< "libexecutorch_backend_xnnpack.so", next to libexecutorch.
  /// A backend or an operator that it registers. When that is registered already, an application
  /// has a copy of its own: the library is not loaded, because ExecuTorch ends the process when a
  /// kernel is registered twice.
  std::string_view registers = {};
};

namespace detail {

/// Keeps the library with `address` in memory until the process ends. ExecuTorch's tables
/// cannot remove an entry, so the library that added one must not be unloaded.
inline void pin_library_of(const void* address) noexcept {
  ::Dl_info info{};
  if (::dladdr(address, &info) == 0 || !info.dli_fname) return;
  static_cast<void>(::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

/// Whether a backend or an operator of that name is registered.
inline bool is_registered(const std::string& name) {
  if (et::get_backend_class(name.c_str())) return true;
  for (const et::Kernel& kernel : et::get_registered_kernels()) {
    if (name == kernel.name_) return true;
  }
  return false;
}

/// The file of the ExecuTorch next to a plugin, which may be a link to the wheel.
[[nodiscard]] inline std::string core_next_to(std::string_view plugin) {
  const std::string path =
      concat(plugin.substr(0, plugin.rfind('/') + 1), std::string_view("libexecutorch.so"));
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr),
                                                        &std::free);
  return resolved ? std::string(resolved.get()) : path;
}

/// Loads a library from the directory of the ExecuTorch in the process, unless it is already
/// loaded, and keeps it until the process ends (`pin_library_of`). An ExecuTorch that was loaded
/// from a copy in memory has no directory: then it is the ExecuTorch next to `plugin`.
///
/// errors: AccessFailed with the loader's message.
[[nodiscard]] inline Status load_library(const RegisteringLibrary& library,
                                         std::string_view plugin = {}) {
  if (!library.registers.empty() && is_registered(std::string(library.registers))) return ok();
  const std::string file(library.file);
  if (void* loaded = ::dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)) {
    ::dlclose(loaded);
    return ok();
  }
  std::string core = file_of(et::get_pal_impl());
  if (core.starts_with("/memfd:") && !plugin.empty()) core = core_next_to(plugin);
  const std::string path = core.substr(0, core.rfind('/') + 1) + file;
  if (void* loaded = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
    ::dlclose(loaded);
    return ok();
  }
  const char* reason = ::dlerror();
  return error(Error::AccessFailed, "cannot load ", path, ", expected next to ", core, ": ",
               std::string_view(reason ? reason : "no reason given"));
}

/// Loads all that `About` lists in `libraries`, if it does. Nothing may be thrown through it. Under
/// a policy of the application nothing is loaded from the directory of the plugin.
template <class About>
[[nodiscard]] Status load_libraries(const tenon_host* raw) {
  const HostServices host(raw);
  if constexpr (requires { About::libraries; }) {
    for (const RegisteringLibrary& library : About::libraries) {
      TENON_RETURN_IF_ERROR(load_library(
          library, host.has_library_policy() ? std::string_view() : host.plugin_path()));
    }
  }
  return ok();
}

/// The backend that registered itself under `id`; its library stays in memory from now on.
///
/// errors: NotFound, with the registered names.
[[nodiscard]] inline Result<et::BackendInterface*> find_registered(std::string_view id) {
  et::BackendInterface* const backend = et::get_backend_class(std::string(id).c_str());
  if (backend) {
    const void* functions = nullptr;
    std::memcpy(&functions, static_cast<const void*>(backend), sizeof functions);
    pin_library_of(functions);
    return backend;
  }
  std::string known;
  for (std::size_t i = 0; i < et::get_num_registered_backends(); ++i) {
    const auto name = et::get_backend_name(i);
    if (name.ok()) known += concat(known.empty() ? "" : ", ", std::string_view(*name));
  }
  return error(
      Error::NotFound, "no backend registered itself with ExecuTorch as '", id,
      "'; there are: ", known.empty() ? std::string_view("none") : std::string_view(known));
}

}  // namespace detail
}}}  // namespace tenon::TENON_RELEASE::bridge
