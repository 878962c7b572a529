// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/options.h"
#include "tenon/core/api.hpp"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/binary/plugin_record.hpp"
#include "tenon/host/plugin/backend_api.hpp"

namespace tenon::host {

/// One option that a backend declares.
struct OptionDeclaration {
  std::string key;
  OptionValue initial;
  std::string description;
  bool at_runtime = false;
  bool at_load = false;
};

/// A backend of a loaded plugin, opened. Made by `Plugin::backend`; a holder of the shared pointer
/// keeps the plugin loaded. Functions may be called from any thread.
class LoadedBackend {
 public:
  /// Opens the backend that `api` describes. Fails with the backend's own error.
  [[nodiscard]] static Result<LoadedBackend> open(const BackendRecord& record,
                                                  const tenon_host* host,
                                                  const tenon_backend_api& api);

  LoadedBackend(LoadedBackend&& other) noexcept
      : record_(other.record_),
        host_(other.host_),
        api_(other.api_),
        opened_(other.opened_),
        owned_(std::exchange(other.owned_, false)) {}
  LoadedBackend& operator=(LoadedBackend&&) = delete;
  ~LoadedBackend() {
    if (owned_) api_.close(opened_);
  }

  [[nodiscard]] const BackendRecord& record() const noexcept { return *record_; }
  [[nodiscard]] std::string_view id() const noexcept { return record_->id; }

  /// Ok when it can run on this machine; otherwise the backend's reason, as NotFound (what
  /// ExecuTorch's Method::load returns for a backend that is not available).
  [[nodiscard]] Status is_available() const;

  /// The options it declares; none when it has no options.
  TENON_ON_USE [[nodiscard]] std::vector<OptionDeclaration> options() const;

  /// Sets one option for all later loads. NotFound for an unknown key or a backend without options,
  /// InvalidType for a value of another type.
  [[nodiscard]] Status set_option(const std::string& key, const OptionValue& value) const;

  /// The value of one option. Fails as `set_option` does.
  TENON_ON_USE [[nodiscard]] Result<OptionValue> get_option(const std::string& key) const;

  /// The host's copy of one of its extension tables, or nothing when it has none of that id.
  template <class Table>
  [[nodiscard]] std::optional<Table> extension(const char* extension_id) const {
    const void* table = api_.get_extension(opened_, extension_id);
    if (!table) return std::nullopt;
    return complete_table<Table>(table);
  }

  /// For the method executor: the complete table and the opened backend.
  [[nodiscard]] const tenon_backend_api& api() const noexcept { return api_; }
  [[nodiscard]] tenon_backend* raw() const noexcept { return opened_; }
  [[nodiscard]] const tenon_host* host() const noexcept { return host_; }

 private:
  LoadedBackend(const BackendRecord& record, const tenon_host* host, const tenon_backend_api& api,
                tenon_backend* opened) noexcept
      : record_(&record), host_(host), api_(api), opened_(opened) {}

  [[nodiscard]] Status no_options(std::string_view key) const;

  const BackendRecord* record_;
  const tenon_host* host_;
  tenon_backend_api api_;
  tenon_backend* opened_;
  bool owned_ = true;
};

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <new>

#include "tenon/core/concat.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/plugin/last_error.hpp"

namespace tenon::host {

TENON_API Result<LoadedBackend> LoadedBackend::open(const BackendRecord& record,
                                                    const tenon_host* host,
                                                    const tenon_backend_api& api) {
  TENON_TRY(const tenon_backend_api full, complete_api(api, record.id));
  tenon_backend* opened = nullptr;
  if (const tenon_status status = full.open(host, &opened); status != TENON_STATUS_OK) {
    return take_last_error(host, status).with_context(concat("backend ", record.id, ": open"));
  }
  return LoadedBackend(record, host, full, opened);
}

TENON_API Status LoadedBackend::is_available() const {
  const tenon_status status = api_.is_available(opened_);
  if (status == TENON_STATUS_OK) [[likely]]
    return ok();
  const Status reason = take_last_error(host_, status);
  return error(Error::NotFound, "backend ", id(), " is not available: ", reason.text());
}

TENON_ON_USE TENON_API std::vector<OptionDeclaration> LoadedBackend::options() const {
  std::vector<OptionDeclaration> out;
  const auto table = extension<tenon_options_v1>(TENON_EXTENSION_OPTIONS);
  if (!table) return out;
  const tenon::detail::StridedArray<tenon_option_spec> specs(table->specs, table->num_specs);
  for (std::uint32_t i = 0; i < table->num_specs; ++i) {
    const tenon_option_spec& spec = specs[i];
    auto initial = read_option(spec.initial);
    if (!initial.ok()) continue;
    out.push_back({spec.initial.key, *std::move(initial), spec.description ? spec.description : "",
                   (spec.flags & TENON_OPTION_AT_RUNTIME) != 0,
                   (spec.flags & TENON_OPTION_AT_LOAD) != 0});
  }
  return out;
}

TENON_API Status LoadedBackend::set_option(const std::string& key, const OptionValue& value) const {
  const auto table = extension<tenon_options_v1>(TENON_EXTENSION_OPTIONS);
  if (!table || !table->set_option) return no_options(key);
  const tenon_option option = write_option(key.c_str(), value);
  const tenon_status status = table->set_option(opened_, &option);
  if (status == TENON_STATUS_OK) return ok();
  return take_last_error(host_, status).with_context(concat("backend ", id()));
}

TENON_ON_USE TENON_API Result<OptionValue> LoadedBackend::get_option(const std::string& key) const {
  const auto table = extension<tenon_options_v1>(TENON_EXTENSION_OPTIONS);
  if (!table || !table->get_option) return no_options(key);
  std::optional<Result<OptionValue>> out;
  // No exception may pass through the plugin's frames (TN-BCK-1 holds for the host as well).
  const auto sink = [](void* context, const tenon_option* option) noexcept {
    auto& value = *static_cast<std::optional<Result<OptionValue>>*>(context);
    try {
      value.emplace(read_option(*option));
    } catch (const std::bad_alloc&) {
      value.reset();
    }
  };
  const tenon_status status = table->get_option(opened_, key.c_str(), sink, &out);
  if (status != TENON_STATUS_OK) {
    return take_last_error(host_, status).with_context(concat("backend ", id()));
  }
  if (!out) {
    return error(Error::Internal, "backend ", id(), ": get_option('", key,
                 "') succeeded without a value (TN-OPT-2)");
  }
  return *std::move(out);
}

TENON_COLD TENON_API Status LoadedBackend::no_options(std::string_view key) const {
  return error(Error::NotFound, "backend ", id(), ": option '", key,
               "' is unknown; the backend has no options");
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
