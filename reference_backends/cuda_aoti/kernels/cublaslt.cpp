// SPDX-License-Identifier: MIT
#include "cublaslt.hpp"

#include <dlfcn.h>

#include <string>

namespace tenon::cuda_aoti::kernels {
namespace {

/// The functions of an open library. `name` is its file.
Result<CublasLt> read_functions(void* library, std::string_view name) {
  CublasLt out;
  std::string_view missing;
#define TENON_CUBLASLT_FIND(type, function, parameters)                             \
  out.function = reinterpret_cast<type(*) parameters>(::dlsym(library, #function)); \
  if (!out.function) missing = #function;
  TENON_CUBLASLT_FUNCTIONS(TENON_CUBLASLT_FIND)
#undef TENON_CUBLASLT_FIND
  if (!missing.empty()) {
    return error(Error::NotSupported, name, " has no ", missing, ": expected cuBLASLt 12 or 13");
  }
  constexpr std::size_t per_major = 10000;
  const std::size_t version = out.cublasLtGetVersion();
  if (version / per_major == 12 || version / per_major == 13) return out;
  return error(Error::NotSupported, name, ": expected cuBLASLt 12 or 13, found version ",
               version / per_major, ".", version % per_major / 100, ".", version % 100);
}

Result<CublasLt> open(const std::string& name) {
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library) return read_functions(library, name);
  const char* const reason = ::dlerror();
  return error(Error::NotFound,
               "no cuBLASLt: ", std::string_view(reason ? reason : "the library cannot be loaded"));
}

}  // namespace

Status CublasLt::check(std::string_view call, cublasStatus_t code) const {
  if (code == CUBLAS_STATUS_SUCCESS) [[likely]]
    return ok();
  const char* const name = cublasLtGetStatusName(code);
  const char* const text = cublasLtGetStatusString(code);
  return error(code == CUBLAS_STATUS_ALLOC_FAILED    ? Error::MemoryAllocationFailed
               : code == CUBLAS_STATUS_NOT_SUPPORTED ? Error::NotSupported
                                                     : Error::Internal,
               call, ": ", std::string_view(name ? name : "unknown status of cuBLASLt"), " (", code,
               "): ", std::string_view(text ? text : "the library does not know it"));
}

Result<CublasLt> load_cublaslt(std::string_view path) {
  if (!path.empty()) return open(std::string(path));
  Result<CublasLt> newest = open("libcublasLt.so.13");
  if (newest.ok()) return newest;
  Result<CublasLt> older = open("libcublasLt.so.12");
  // The error of a library that was found says more than the error of a missing one.
  return older.ok() || newest.error() == Error::NotFound ? std::move(older) : std::move(newest);
}

}  // namespace tenon::cuda_aoti::kernels
