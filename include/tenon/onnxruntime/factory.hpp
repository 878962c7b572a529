// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/version.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/discovery/backend_info.hpp"
#include "tenon/onnxruntime/bridge.hpp"
#include "tenon/onnxruntime/options.hpp"
#include "tenon/onnxruntime/provider.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// Begins the text about a provider's contexts in a model's metadata, under the key
/// "ep_compatibility_info.ID".
inline constexpr std::string_view payload_version_is = "tenon_payload_version=";

/// Judges the metadata of a model by the record of a backend.
[[nodiscard]] inline Compatibility compatibility(std::string_view info, std::uint32_t lowest,
                                                 std::uint32_t highest) noexcept {
  if (!info.starts_with(payload_version_is)) return Compatibility::NotApplicable;
  info.remove_prefix(payload_version_is.size());
  std::uint32_t version = 0;
  const auto [end, failed] = std::from_chars(info.data(), info.data() + info.size(), version);
  if (failed != std::errc() || end != info.data() + info.size()) {
    return Compatibility::NotApplicable;
  }
  const bool has_versions = lowest != 0 || highest != 0;
  if (!has_versions) return Compatibility::Optimal;
  return version >= lowest && version <= highest ? Compatibility::Optimal
                                                 : Compatibility::Unsupported;
}

/// Makes execution providers of one backend.
class Factory final : public EpFactory {
 public:
  /// `info` is what the registry knows of the backend, which is not loaded.
  Factory(std::shared_ptr<const Bridge> bridge, const host::BackendInfo& info)
      : bridge_(std::move(bridge)),
        id_(info.id()),
        lowest_payload_(info.backend()->min_payload_version),
        highest_payload_(info.backend()->max_payload_version) {
    if (const auto& record = info.source->record) {
      vendor_ = record->vendor;
      version_ = record->version;
    }
    if (vendor_.empty()) vendor_ = "Tenon";
    if (version_.empty()) version_ = TENON_VERSION_STRING;
    get_name = [](const EpFactory* self) -> const char* { return of(self).id_.c_str(); };
    get_vendor = [](const EpFactory* self) -> const char* { return of(self).vendor_.c_str(); };
    get_version = [](const EpFactory* self) -> const char* { return of(self).version_.c_str(); };
    get_vendor_id = [](const EpFactory*) -> std::uint32_t { return 0; };
    is_stream_aware = [](const EpFactory*) { return false; };
    get_supported_devices = [](EpFactory* self, const HardwareDevice* const* devices,
                               std::size_t count, EpDevice** out, std::size_t most,
                               std::size_t* made) -> StatusPointer {
      *made = 0;
      return of(self).bridge_->runtime.guarded(
          [&] { return of(self).make_devices({devices, count}, {out, most}, *made, *self); });
    };
    create_ep = [](EpFactory* self, const HardwareDevice* const*, const KeyValuePairs* const*,
                   std::size_t, const SessionOptions* options, const Logger* logger,
                   Ep** out) -> StatusPointer {
      *out = nullptr;
      return of(self).bridge_->runtime.guarded(
          [&] { return of(self).make_provider(*options, logger, *out); });
    };
    release_ep = [](EpFactory*, Ep* ep) { delete static_cast<Provider*>(ep); };
    validate_compiled_model_compatibility_info = [](EpFactory* self, const HardwareDevice* const*,
                                                    std::size_t, const char* stated,
                                                    Compatibility* out) -> StatusPointer {
      *out =
          compatibility(stated ? stated : "", of(self).lowest_payload_, of(self).highest_payload_);
      return nullptr;
    };
    // Tensors are on the CPU: ONNX Runtime has allocators for it, and copies.
    create_allocator = [](EpFactory*, const MemoryInfo*, const KeyValuePairs*,
                          Allocator** out) -> StatusPointer {
      *out = nullptr;
      return nullptr;
    };
    release_allocator = [](EpFactory*, Allocator*) {};
    create_data_transfer = [](EpFactory*, DataTransferImpl** out) -> StatusPointer {
      *out = nullptr;
      return nullptr;
    };
  }

 private:
  static const Factory& of(const EpFactory* self) noexcept {
    return *static_cast<const Factory*>(self);
  }

  /// One device: the first CPU, whose memory tensors are in. A backend's own device is its plugin's
  /// to find.
  [[nodiscard]] Status make_devices(std::span<const HardwareDevice* const> devices,
                                    std::span<EpDevice*> out, std::size_t& made,
                                    EpFactory& self) const {
    const Runtime& runtime = bridge_->runtime;
    for (const HardwareDevice* const device : devices) {
      if (runtime.call(api::HardwareDevice_Type, device) != HardwareDeviceType::Cpu) continue;
      if (out.empty()) return error(Error::OutOfResources, "there is room for no device");
      TENON_RETURN_IF_ERROR(
          runtime.check(ep_api::CreateEpDevice, &self, device, nullptr, nullptr, &out.front()));
      made = 1;
      return ok();
    }
    return ok();
  }

  [[nodiscard]] Status make_provider(const SessionOptions& session, const Logger* logger,
                                     Ep*& out) const {
    const Runtime& runtime = bridge_->runtime;
    KeyValuePairs* pairs = nullptr;
    TENON_RETURN_IF_ERROR(runtime.check(api::GetSessionOptionsConfigEntries, &session, &pairs));
    const char* const* keys = nullptr;
    const char* const* values = nullptr;
    std::size_t count = 0;
    runtime.call(api::GetKeyValuePairs, pairs, &keys, &values, &count);
    ProviderOptions entries;
    for (std::size_t i = 0; i < count; ++i) entries.emplace_back(keys[i], values[i]);
    runtime.call(api::ReleaseKeyValuePairs, pairs);
    out = new Provider(bridge_, id_, provider_options(id_, entries), must_be_optimal(entries),
                       logger);
    return ok();
  }

  const std::shared_ptr<const Bridge> bridge_;
  const std::string id_;
  const std::uint32_t lowest_payload_;
  const std::uint32_t highest_payload_;
  std::string vendor_;
  std::string version_;
};

}}}  // namespace tenon::TENON_RELEASE::ort
