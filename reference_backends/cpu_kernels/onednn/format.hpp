// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "onednn/onednn_api.hpp"
#include "strided.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/status.hpp"

namespace tenon::cpu_aoti::onednn {

/// oneDNN's element type; `dnnl_data_type_undef` where it has none.
[[nodiscard]] dnnl_data_type_t data_type(ScalarType type) noexcept;

/// Sizes, element type and layout of a tensor, or of an argument of a primitive: what oneDNN calls
/// a memory descriptor, which is a struct in version 2 and an object in version 3. A value. A
/// format that was not set is not to be used. Threads: any number may use a format that none of
/// them sets.
class Format {
 public:
#if DNNL_VERSION_MAJOR >= 3
  using Handle = const_dnnl_memory_desc_t;
#else
  using Handle = const dnnl_memory_desc_t*;
#endif

  Format() = default;

  /// A format with strides, in elements.
  static Result<Format> with_strides(Sizes sizes, const std::int64_t* strides,
                                     dnnl_data_type_t type);

  /// A format with the strides of a tag, or, for `dnnl_format_tag_any`, with those that a primitive
  /// chooses.
  static Result<Format> with_tag(Sizes sizes, dnnl_data_type_t type, dnnl_format_tag_t tag);

  /// A copy of a format of oneDNN.
  static Result<Format> copy_of(Handle handle);

  /// Valid for as long as this format, or a copy of it, is unchanged.
  [[nodiscard]] Handle handle() const noexcept;

  /// Bytes of a tensor of this format.
  [[nodiscard]] std::size_t nbytes() const noexcept {
    return api().dnnl_memory_desc_get_size(handle());
  }

  [[nodiscard]] bool operator==(const Format& other) const noexcept {
    return api().dnnl_memory_desc_equal(handle(), other.handle()) != 0;
  }

 private:
  explicit Format(dnnl_memory_desc_t made);

#if DNNL_VERSION_MAJOR >= 3
  std::shared_ptr<std::remove_pointer_t<dnnl_memory_desc_t>> desc_;  ///< Never changed.
#else
  dnnl_memory_desc_t desc_{};
#endif
};

}  // namespace tenon::cpu_aoti::onednn
