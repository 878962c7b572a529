// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/layers/kernels/kernel_backends.hpp"
#include "tenon/host/layers/prove/golden.hpp"
#include "tenon/host/layers/trust/impl/field_hasher.hpp"
#include "tenon/host/layers/variants/requirements.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"
#include "tenon/host/loader/registry/cpu_features.hpp"
#include "tenon/host/loader/registry/registry.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The backends of `method`, which is about to be loaded: of its delegates, and all that are asked
/// for kernels where some are missing.
///
/// errors: as a look-up of a delegate's backend.
[[nodiscard]] inline Result<std::vector<BackendRef>> open_backends(const MethodState& method) {
  const MethodOptions& options = method.options;
  std::vector<std::string> ids;
  for (const auto* delegate : *method.plan.delegates()) ids.push_back(delegate->id()->str());
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<BackendRef> out;
  for (const std::string& id : ids) {
    TENON_TRY(BackendRef backend, find_backend(options.backends, options.registry, id));
    out.push_back(std::move(backend));
  }
  if (find_missing_operators(method.plan, options.kernels).empty()) return out;
  for (const std::string& id : find_kernel_backends(options.backends, options.registry)) {
    if (std::ranges::find(ids, id) != ids.end()) continue;
    // A backend that cannot be opened has no kernels, for the load either.
    auto backend = find_backend(options.backends, options.registry, id);
    if (backend.ok()) out.push_back(*std::move(backend));
  }
  return out;
}

/// Of this machine. Computed once.
[[nodiscard]] inline const Sha256& cpu_digest() {
  static const Sha256 digest = [] {
    FieldHasher hasher;
    for (const std::string& name : CpuFeatures::of_this_machine().names()) hasher.text(name);
    return hasher.finish();
  }();
  return digest;
}

inline void hash_option(FieldHasher& hasher, const BackendOption& option) {
  hasher.text(option.backend_id);
  hasher.text(option.key);
  const OptionView value = option.value;
  hasher.number(value.type());
  if (const auto text = value.string()) {
    hasher.text(*text);
  } else if (const auto bytes = value.bytes()) {
    hasher.bytes(*bytes);
  } else {
    hasher.text(option_text(value));
  }
}

/// The digest of all that a verdict about `method` belongs to (prove.hpp), which is about to be
/// loaded with `backends`. Nothing where a backend is linked in: no file says what it computes.
///
/// errors: of listing devices, and of reading the files of plugins.
[[nodiscard]] inline Result<std::optional<Sha256>> verdict_key(
    const MethodState& method, std::span<const BackendRef> backends) {
  FieldHasher hasher;
  hasher.text(golden_key);
  const Program& program = *method.program;
  const FileIdentity& file = program.identity();
  hasher.number(file.device);
  hasher.number(file.inode);
  hasher.number(file.size);
  hasher.number(static_cast<std::uint64_t>(file.modified_ns));
  if (file == FileIdentity()) hasher.bytes(program.bytes());
  hasher.text(method.plan.name()->string_view());
  hasher.bytes(std::as_bytes(std::span(cpu_digest().bytes)));
  for (const BackendRef& backend : backends) {
    const auto plugin = HostTable::plugin_digest(backend->host());
    if (plugin.error() == Error::NotSupported) return std::optional<Sha256>();
    TENON_RETURN_IF_ERROR(plugin);
    hasher.text(backend->id());
    hasher.bytes(std::as_bytes(std::span(plugin->bytes)));
    TENON_TRY(const std::vector<BackendDevice> devices, list_devices(*backend));
    hasher.number(devices.size());
    for (const BackendDevice& device : devices) {
      hasher.text(device.name);
      hasher.text(device.description);
      hasher.text(device.identity);
    }
  }
  for (const BackendOption& option : method.options.backend_options) hash_option(hasher, option);
  return std::optional(hasher.finish());
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
