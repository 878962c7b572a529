// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/prepare.h"
#include "tenon/backend/context.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE {

template <class Derived>
class Backend;

/// Bytes that a backend prepared from a blob in an earlier process, and the place where they are
/// kept for later ones. Owned by the delegate; empty, and as good as any other, where the
/// application keeps nothing.
///
///     Result<Delegate> init(InitContext& context, Blob blob, CompileSpecs) {
///       tenon::Prepared kept(*this, context, tenon::concat(driver_version(), device_name()));
///       if (kept.bytes().empty() || !out.import(kept.bytes()).ok()) {
///         TENON_RETURN_IF_ERROR(out.compile(blob.bytes()));
///         kept.store(out.exported());
///       }
///
/// Rules TN-PRP-1 to TN-PRP-4 are in abi/extensions/prepare.h. Threads: one at a time.
class Prepared {
 public:
  /// Nothing, and no place.
  Prepared() noexcept = default;

  /// Of the blob of `context`, inside `init`. `identity` is all that the bytes depend on besides
  /// the plugin's file, the blob and its compile specs: device, driver, versions of libraries,
  /// options, data by name. Hashes the blob.
  template <class Derived>
  Prepared(const Backend<Derived>& backend, const InitContext& context,
           std::string_view identity) noexcept
      : Prepared(host_tables_of(backend).prepare, context, identity) {}
  /// Of the blob of `context`, from the host's table of TENON_EXTENSION_PREPARE, which may be null.
  Prepared(const tenon_prepare_v1* table, const InitContext& context,
           std::string_view identity) noexcept {
    if (!table) return;
    tenon_prepared* found = nullptr;
    const tenon_status status =
        table->open(&context.raw(), identity.data(), identity.size(), &found);
    if (status == TENON_STATUS_OK) prepared_ = found;
  }

  Prepared(Prepared&& other) noexcept : prepared_(std::exchange(other.prepared_, nullptr)) {}
  Prepared& operator=(Prepared&& other) noexcept {
    std::swap(prepared_, other.prepared_);
    return *this;
  }
  ~Prepared() {
    if (prepared_) prepared_->release(prepared_);
  }

  /// Whether `store` has a place to keep bytes in.
  [[nodiscard]] bool exists() const noexcept { return prepared_ != nullptr; }

  /// The bytes that were found, aligned to 4,096 bytes; empty when none were. Valid as long as this
  /// object, also when it is moved.
  [[nodiscard]] Bytes bytes() const noexcept {
    if (!prepared_ || !prepared_->data) return {};
    return {static_cast<const std::byte*>(prepared_->data),
            static_cast<std::size_t>(prepared_->nbytes)};
  }

  /// Keeps `bytes` for later loads.
  bool store(Bytes bytes) const { return store(std::span(&bytes, 1)); }

  /// Keeps the parts, one after the other, for later loads. Returns whether they are kept: a
  /// failure is written to the host's log, by the host.
  bool store(std::span<const Bytes> parts) const {
    if (!prepared_) return false;
    std::vector<tenon_span> spans;
    spans.reserve(parts.size());
    for (const Bytes part : parts) spans.push_back({part.data(), part.size()});
    return prepared_->store(prepared_, spans.data(), spans.size()) == TENON_STATUS_OK;
  }

 private:
  tenon_prepared* prepared_ = nullptr;
};

}}  // namespace tenon::TENON_RELEASE
