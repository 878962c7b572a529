// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string_view>

#include "tenon/abi/extensions/prepare.h"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/layers/prepared/prepare_table.hpp"
#include "tenon/host/layers/prepared/prepared_store.hpp"
#include "tenon/host/layers/trust/impl/field_hasher.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

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
  [[nodiscard]] Status open_checked(const tenon_init_context& context, Bytes identity,
                                    tenon_prepared** out) const {
    const tenon_buffer& blob = *context.processed;
    if (!out || (!identity.empty() && !identity.data())) {
      return error(Error::InvalidArgument, "open: expected an identity and a place for the result");
    }
    if (!blob.owner) return error(Error::InvalidState, "the blob was released");
    TENON_TRY(const Sha256 plugin, HostTable::plugin_digest(backend_.host()));
    const auto bytes_of = [](const void* data, std::uint64_t size) {
      return Bytes(static_cast<const std::byte*>(data), static_cast<std::size_t>(size));
    };
    FieldHasher hasher;
    hasher.text(TENON_EXTENSION_PREPARE);
    hasher.bytes(std::as_bytes(std::span(plugin.bytes)));
    hasher.text(backend_.id());
    hasher.number(context.num_compile_specs);
    for (const CompileSpec& spec : CompileSpecs(context.compile_specs, context.num_compile_specs)) {
      hasher.text(spec.key);
      hasher.bytes(spec.value);
    }
    hasher.bytes(bytes_of(blob.data, blob.nbytes));
    hasher.bytes(identity);
    const PreparedKey place{hasher.finish(), backend_.id(), backend_.host()->plugin_path};
    return store_.open(place, *backend_.host(), out);
  }

  void set_last_error(const Status& failure) const noexcept {
    const std::string_view text = failure.text();
    backend_.host()->set_last_error(backend_.host(), to_status(failure.error()), text.data(),
                                    text.size());
  }

  const PreparedStore& store_;
  const LoadedBackend& backend_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
