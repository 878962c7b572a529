// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/inspect/check_blob.hpp"

#include <cstddef>
#include <new>
#include <set>
#include <span>
#include <utility>

#include "tenon/abi/backend.h"
#include "tenon/core/visible.hpp"
#include "tenon/host/layers/inspect/impl/blob_context.hpp"
#include "tenon/host/layers/kernels/impl/kernel_lookup.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Passes a backend's questions on and records which keys are missing.
class RecordingDataMap : private tenon_named_data_map {
 public:
  explicit RecordingDataMap(const tenon_named_data_map* inner) noexcept
      : tenon_named_data_map{sizeof(tenon_named_data_map), inner ? inner->num_keys : 0, &get_data,
                             &get_layout, &get_key_at},
        inner_(inner) {}

  [[nodiscard]] const tenon_named_data_map* abi() const noexcept { return this; }
  [[nodiscard]] const std::vector<std::string>& missing() const noexcept { return missing_; }

 private:
  static RecordingDataMap& self(const tenon_named_data_map* map) noexcept {
    return *const_cast<RecordingDataMap*>(static_cast<const RecordingDataMap*>(map));
  }

  static tenon_status get_data(const tenon_named_data_map* map, const char* key,
                               std::uint64_t key_size, tenon_buffer* out) noexcept {
    RecordingDataMap& recorder = self(map);
    const tenon_status status = recorder.ask(key, key_size, out);
    if (status == TENON_STATUS_NOT_FOUND && key)
      recorder.note({key, static_cast<std::size_t>(key_size)});
    return status;
  }
  static tenon_status get_layout(const tenon_named_data_map* map, const char* key,
                                 std::uint64_t key_size, tenon_tensor_layout* out) noexcept {
    RecordingDataMap& recorder = self(map);
    const auto* inner = recorder.inner_;
    const tenon_status status = inner ? inner->get_tensor_layout(inner, key, key_size, out)
                                      : tenon_status{TENON_STATUS_NOT_FOUND};
    // Data of a program has no layout and is not missing.
    tenon_buffer data{};
    data.struct_size = sizeof data;
    if (status == TENON_STATUS_NOT_FOUND && key &&
        recorder.ask(key, key_size, &data) == TENON_STATUS_NOT_FOUND) {
      recorder.note({key, static_cast<std::size_t>(key_size)});
    }
    return status;
  }
  static tenon_status get_key_at(const tenon_named_data_map* map, std::uint32_t index,
                                 const char** key, std::uint64_t* key_size) noexcept {
    const auto* inner = self(map).inner_;
    return inner ? inner->get_key(inner, index, key, key_size)
                 : tenon_status{TENON_STATUS_INVALID_ARGUMENT};
  }

  tenon_status ask(const char* key, std::uint64_t key_size, tenon_buffer* out) const noexcept {
    return inner_ ? inner_->get_data(inner_, key, key_size, out)
                  : tenon_status{TENON_STATUS_NOT_FOUND};
  }

  void note(std::string_view key) noexcept {
    try {
      if (known_.emplace(key).second) missing_.emplace_back(key);
    } catch (const std::bad_alloc&) {
      // The backend's own verdict remains.
    }
  }

  const tenon_named_data_map* inner_;
  std::vector<std::string> missing_;
  std::set<std::string> known_;  // `missing_`, sorted: a blob may need any number of keys.
};

}  // namespace detail

Result<std::optional<BlobCheck>> check_blob(const LoadedBackend& backend, const Program& program,
                                            const char* method_name,
                                            const schema::BackendDelegate& delegate,
                                            const tenon_named_data_map* data,
                                            const Registry* registry,
                                            std::span<const tenon_option> options) {
  const auto table = backend.extension<tenon_check_blob_v1>(TENON_EXTENSION_CHECK_BLOB);
  if (!table || !table->check_blob) return std::optional<BlobCheck>();

  const detail::RecordingDataMap recorder(data);
  detail::KernelProviders providers({}, registry);
  detail::PluginKernelLookup kernels(providers, {method_name});
  detail::BlobContext context(&kernels);
  TENON_RETURN_IF_ERROR(context.fill(backend, program, method_name, delegate, recorder.abi()));
  context.set_options(options);

  detail::last_error() = {};  // Drops the text of an earlier call.
  BlobCheck out;
  const tenon_status status = table->check_blob(backend.raw(), &context.raw(), &out.verdict);
  if (status != TENON_STATUS_OK) {
    return take_last_error(backend.host(), status)
        .with_context(concat("backend ", backend.id(), ": check_blob"));
  }
  const std::uint32_t found = out.verdict;
  const bool is_known = found <= TENON_BLOB_INCOMPATIBLE;
  if (!is_known) out.verdict = TENON_BLOB_USABLE;
  if (out.verdict != TENON_BLOB_OPTIMAL) {
    // The text counts, whatever number came with it (abi/extensions/check_blob.h).
    detail::LastError& last = detail::last_error();
    if (last.host == backend.host()) out.reason = tenon::detail::visible(std::move(last.text));
    if (out.reason.empty()) out.reason = "the backend gave no reason";
    if (!is_known) {
      out.reason = concat("the backend gave verdict ", found,
                          ", which this host does not know: ", out.reason);
    }
    last = {};
  }
  out.missing_keys = recorder.missing();
  return std::optional<BlobCheck>(std::move(out));
}

}}}  // namespace tenon::TENON_RELEASE::host
