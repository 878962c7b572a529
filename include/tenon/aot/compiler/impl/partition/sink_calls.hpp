// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/aot/program_data.hpp"
#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"

/// Code that both sinks of the ahead-of-time extension share.
namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// The outcome of the calls that a plugin made to a sink. The first error is kept and returned,
/// even when the plugin continues or returns another status.
class SinkCalls {
 public:
  [[nodiscard]] Status take_problem() {
    if (out_of_memory_) return error(Error::MemoryAllocationFailed, "out of memory");
    return std::move(problem_);
  }

 protected:
  /// Runs one call. No exception may pass through the plugin's frames.
  template <class Body>
  tenon_status take(const Body& body) noexcept {
    if (out_of_memory_) return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    if (!problem_.ok()) return to_status(problem_.error());
    try {
      problem_ = body();
    } catch (const std::exception&) {  // std::bad_alloc, or std::length_error of absurd sizes.
      out_of_memory_ = true;
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    }
    return to_status(problem_.error());
  }

 private:
  Status problem_;
  bool out_of_memory_ = false;
};

/// A copy of bytes that a plugin passed. InvalidArgument for NULL in place of `nbytes` bytes, and
/// for more of them than an object can have.
[[nodiscard]] inline Result<SharedBytes> copy_bytes(const void* data, std::uint64_t nbytes) {
  if (nbytes == 0) return SharedBytes();
  if (data == nullptr) return error(Error::InvalidArgument, "NULL in place of ", nbytes, " bytes");
  constexpr std::uint64_t most = std::numeric_limits<std::ptrdiff_t>::max();
  if (nbytes > most) {
    return error(Error::InvalidArgument, nbytes, " bytes, more than any object has");
  }
  return SharedBytes::copy_of(
      Bytes(static_cast<const std::byte*>(data), static_cast<std::size_t>(nbytes)));
}

/// A copy of compile specs that a plugin passed.
[[nodiscard]] inline Result<std::vector<CompileSpecData>> read_specs(
    const tenon_compile_spec* specs, std::uint32_t num_specs) {
  std::vector<CompileSpecData> out;
  if (num_specs == 0) return out;
  if (specs == nullptr) {
    return error(Error::InvalidArgument, "NULL in place of ", num_specs, " compile specs");
  }
  TENON_RETURN_IF_ERROR(tenon::detail::check_struct_size("compile specs", *specs));
  const tenon::detail::StridedArray<tenon_compile_spec> all(specs, num_specs);
  for (std::uint32_t i = 0; i < num_specs; ++i) {
    if (all[i].key == nullptr) return error(Error::InvalidArgument, "a compile spec without a key");
    auto value = copy_bytes(all[i].value, all[i].value_size);
    if (!value.ok()) {
      return std::move(value).status().with_context(concat("compile spec '", all[i].key, "'"));
    }
    out.push_back({all[i].key, *std::move(value)});
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
