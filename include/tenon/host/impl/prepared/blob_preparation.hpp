// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string_view>

#include "tenon/abi/extensions/prepare.h"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/impl/plugin/host_table.hpp"
#include "tenon/host/plugin/backend.hpp"
#include "tenon/host/plugin/last_error.hpp"
#include "tenon/host/plugin/prepared_store.hpp"

namespace tenon::host::detail {

/// Opens what is kept of one blob, in the store that the application gave.
class BlobPreparation final : public PreparedOpener {
 public:
  /// All must outlive this object.
  BlobPreparation(const PreparedStore& store, const LoadedBackend& backend) noexcept
      : store_(store), backend_(backend) {}

  tenon_status open(const tenon_init_context& context, const void* identity,
                    std::uint64_t identity_size, tenon_prepared** out) const noexcept override {
    try {
      const Bytes text{static_cast<const std::byte*>(identity),
                       static_cast<std::size_t>(identity_size)};
      const Status opened = open_checked(context, text, out);
      if (opened.ok()) return TENON_STATUS_OK;
      set_last_error(opened);
      return to_status(opened.error());
    } catch (const std::bad_alloc&) {
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    } catch (const std::exception&) {
      return TENON_STATUS_INTERNAL;
    }
  }

 private:
  static void update(Sha256Hasher& hasher, Bytes bytes) noexcept {
    const std::uint64_t size = bytes.size();
    hasher.update(std::as_bytes(std::span(&size, 1)));
    hasher.update(bytes);
  }
  static void update(Sha256Hasher& hasher, std::string_view text) noexcept {
    update(hasher, std::as_bytes(std::span(text)));
  }

  [[nodiscard]] Status open_checked(const tenon_init_context& context, Bytes identity,
                                    tenon_prepared** out) const {
    const tenon_buffer& blob = *context.processed;
    if (!out || (!identity.empty() && !identity.data())) {
      return error(Error::InvalidArgument, "open: expected an identity and a place for the result");
    }
    if (!blob.owner) return error(Error::InvalidState, "the blob was released");
    TENON_TRY(const Sha256 plugin, HostTable::plugin_digest(backend_.host()));
    Sha256Hasher hasher;
    update(hasher, TENON_EXTENSION_PREPARE);
    update(hasher, std::as_bytes(std::span(plugin.bytes)));
    update(hasher, backend_.id());
    const std::uint64_t num_specs = context.num_compile_specs;
    hasher.update(std::as_bytes(std::span(&num_specs, 1)));
    for (std::uint32_t i = 0; i < context.num_compile_specs; ++i) {
      const tenon_compile_spec& spec = context.compile_specs[i];
      update(hasher, std::string_view(spec.key));
      update(hasher, Bytes(static_cast<const std::byte*>(spec.value),
                           static_cast<std::size_t>(spec.value_size)));
    }
    update(hasher,
           Bytes(static_cast<const std::byte*>(blob.data), static_cast<std::size_t>(blob.nbytes)));
    update(hasher, identity);
    const PreparedKey key{hasher.finish(), backend_.id(), backend_.host()->plugin_path};
    return store_.open(key, *backend_.host(), out);
  }

  void set_last_error(const Status& failure) const noexcept {
    const std::string_view text = failure.text();
    backend_.host()->set_last_error(backend_.host(), to_status(failure.error()), text.data(),
                                    text.size());
  }

  const PreparedStore& store_;
  const LoadedBackend& backend_;
};

}  // namespace tenon::host::detail
