// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <tenon/tenon.hpp>

#include "stand_in/npu_runtime.h"

namespace my_npu {

// Every function of the runtime that is called. A name that is missing here does not compile where
// it is used; a name that the library lacks is an error that names it.
#define MY_NPU_FUNCTIONS(X)   \
  X(npu_version)              \
  X(npu_last_error)           \
  X(npu_model_load)           \
  X(npu_model_free)           \
  X(npu_model_num_inputs)     \
  X(npu_model_num_outputs)    \
  X(npu_model_input)          \
  X(npu_model_output)         \
  X(npu_request_create)       \
  X(npu_request_free)         \
  X(npu_request_set_input)    \
  X(npu_request_output_sizes) \
  X(npu_request_set_output)   \
  X(npu_request_start)        \
  X(npu_request_wait)         \
  X(npu_request_cancel)

/// The runtime's functions, by their own names.
struct Functions {
#define MY_NPU_MEMBER(name) decltype(&::name) name;
  MY_NPU_FUNCTIONS(MY_NPU_MEMBER)
#undef MY_NPU_MEMBER
};

/// The runtime's library, loaded by name at the first use. It is not linked, so that the plugin can
/// be loaded, listed and asked for its reason where the runtime is not installed.
class Library {
 public:
  /// Where the library is looked for when the environment variable does not say so.
  static constexpr const char* name = "libnpu_runtime.so";
  static constexpr const char* variable = "MY_NPU_LIB";
  static constexpr int oldest_version = 1;

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  /// All delegates are destroyed before their backend. What belongs to the runtime as a whole, such
  /// as its environment, is destroyed here.
  ~Library() {
    if (handle_) ::dlclose(handle_);
  }

  /// The functions, valid as long as this object. A failure says what is missing and how to install
  /// it; the next call tries again. Any thread.
  [[nodiscard]] tenon::Result<const Functions*> functions() {
    const std::lock_guard lock(mutex_);
    if (!handle_) TENON_RETURN_IF_ERROR(load());
    return &functions_;
  }

 private:
  tenon::Status load() {
    const char* chosen = std::getenv(variable);
    const std::string file = chosen && *chosen ? chosen : name;
    // RTLD_NODELETE keeps the runtime's code when it is closed, which many do not survive: those
    // that keep threads, have thread-local objects with destructors, or were not initialized yet.
    void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
      const char* why = ::dlerror();
      return tenon::error(tenon::Error::NotFound, "the NPU runtime is missing: ", why ? why : file,
                          "; install it, or set ", variable, " to its file");
    }
    tenon::Status status = find_functions(handle, file);
    if (status.ok()) {
      handle_ = handle;
    } else {
      ::dlclose(handle);
    }
    return status;
  }

  tenon::Status find_functions(void* handle, const std::string& file) {
#define MY_NPU_FIND(name)                                                        \
  functions_.name = reinterpret_cast<decltype(&::name)>(::dlsym(handle, #name)); \
  if (!functions_.name) {                                                        \
    return tenon::error(tenon::Error::NotFound, file,                            \
                        ": expected the function " #name ", found none");        \
  }
    MY_NPU_FUNCTIONS(MY_NPU_FIND)
#undef MY_NPU_FIND
    if (const int version = functions_.npu_version(); version < oldest_version) {
      return tenon::error(tenon::Error::NotSupported, file, ": expected version ", oldest_version,
                          " or later, found ", version);
    }
    return tenon::ok();
  }

  std::mutex mutex_;
  void* handle_ = nullptr;
  Functions functions_{};
};

}  // namespace my_npu
