// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/options.h"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/backend_api.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// One option that a backend declares.
struct OptionDeclaration {
  std::string key;
  OptionValue initial;
  std::string description;
  bool at_runtime = false;
  bool at_load = false;
  std::optional<OptionValue> minimum;  ///< Of a number; nothing: no limit.
  std::optional<OptionValue> maximum;
  std::vector<std::string> choices;  ///< All values of a text; none: any text.
  std::string unit;
  bool is_deprecated = false;

  /// "1 to 16", "0.5 or more", "one of cpu, gpu"; empty: any value.
  [[nodiscard]] std::string range() const { return option_range(minimum, maximum, choices); }

  /// Judges the type and the place of a value before the backend gets it; limits are the backend's.
  /// errors: as `check_use`.
  [[nodiscard]] Status check(OptionUse given) const {
    std::uint32_t places = 0;
    if (at_runtime) places |= TENON_OPTION_AT_RUNTIME;
    if (at_load) places |= TENON_OPTION_AT_LOAD;
    return check_use(key, {initial.type(), places}, given);
  }
};

/// The declaration of `key` among a backend's declarations, or NotFound with the keys that there
/// are.
[[nodiscard]] Result<const OptionDeclaration*> find_option(
    std::span<const OptionDeclaration> declared, std::string_view key);

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
  [[nodiscard]] std::vector<OptionDeclaration> options() const;

  /// Sets one option for all later loads. NotFound for an unknown key or a backend without options,
  /// InvalidType for a value of another type, InvalidArgument for a value that the backend
  /// excludes.
  [[nodiscard]] Status set_option(const std::string& key, const OptionValue& value) const;

  /// The value of one option. Fails as `set_option` does.
  [[nodiscard]] Result<OptionValue> get_option(const std::string& key) const;

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

}}}  // namespace tenon::TENON_RELEASE::host
