// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "boundary/descriptors.hpp"
#include "tenon/abi/backend.h"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

/// Parts of an `init` context that are no message.
namespace tenon::isolated {

/// A sealed copy of the blob; no descriptor for an empty one.
[[nodiscard]] inline Result<host::FileDescriptor> copy_blob(const tenon_init_context& context) {
  const tenon_buffer* blob = context.processed;
  if (!blob || blob->nbytes == 0) return host::FileDescriptor();
  return sealed_copy("tenon-blob", {static_cast<const std::byte*>(blob->data),
                                    static_cast<std::size_t>(blob->nbytes)});
}

/// The descriptors that go with a blob; `number` keeps the only one.
[[nodiscard]] inline std::span<const int> sent_with(const host::FileDescriptor& blob,
                                                    int& number) noexcept {
  number = blob.get();
  return {&number, blob.valid() ? std::size_t{1} : std::size_t{0}};
}

/// `context` where it can answer `permit_code`, otherwise null.
[[nodiscard]] inline const tenon_init_context* asked_for_code(
    const tenon_init_context* context) noexcept {
  return context && TENON_HAS_MEMBER(*context, permit_code) ? context : nullptr;
}

}  // namespace tenon::isolated
