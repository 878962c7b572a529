// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/plugin/backend.hpp"

#include <algorithm>
#include <new>

#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// A limit of the option whose initial value is `initial`, or nothing.
[[nodiscard]] inline std::optional<OptionValue> read_limit(const tenon_option* limit,
                                                           const OptionValue& initial) {
  if (!limit || limit->type != initial.type()) return std::nullopt;
  if (limit->type != TENON_OPTION_INT && limit->type != TENON_OPTION_DOUBLE) return std::nullopt;
  return OptionValue(OptionView(*limit));
}

}  // namespace detail

Result<LoadedBackend> LoadedBackend::open(const BackendRecord& record, const tenon_host* host,
                                          const tenon_backend_api& api) {
  TENON_TRY(const tenon_backend_api full, complete_api(api, record.id));
  tenon_backend* opened = nullptr;
  if (const tenon_status status = full.open(host, &opened); status != TENON_STATUS_OK) {
    return take_last_error(host, status).with_context(concat("backend ", record.id, ": open"));
  }
  return LoadedBackend(record, host, full, opened);
}

Status LoadedBackend::is_available() const {
  const tenon_status status = api_.is_available(opened_);
  if (status == TENON_STATUS_OK) [[likely]]
    return ok();
  const Status reason = take_last_error(host_, status);
  return error(Error::NotFound, "backend ", id(), " is not available: ", reason.text());
}

std::vector<OptionDeclaration> LoadedBackend::options() const {
  std::vector<OptionDeclaration> out;
  const auto table = extension<tenon_options_v1>(TENON_EXTENSION_OPTIONS);
  if (!table) return out;
  const tenon::detail::StridedArray<tenon_option_spec> specs(table->specs, table->num_specs);
  for (std::uint32_t i = 0; i < specs.size(); ++i) {
    const auto spec = complete_table<tenon_option_spec>(&specs[i]);
    if (!spec.initial || !spec.initial->key) continue;
    auto initial = read_option(*spec.initial);
    if (!initial.ok()) continue;
    OptionDeclaration& to = out.emplace_back();
    to.key = spec.initial->key;
    to.minimum = detail::read_limit(spec.minimum, *initial);
    to.maximum = detail::read_limit(spec.maximum, *initial);
    to.initial = *std::move(initial);
    to.description = spec.description ? spec.description : "";
    to.at_runtime = (spec.flags & TENON_OPTION_AT_RUNTIME) != 0;
    to.at_load = (spec.flags & TENON_OPTION_AT_LOAD) != 0;
    to.is_deprecated = (spec.flags & TENON_OPTION_DEPRECATED) != 0;
    to.unit = spec.unit ? spec.unit : "";
    const bool is_text = to.initial.type() == TENON_OPTION_STRING;
    for (std::uint32_t c = 0; is_text && spec.choices && c < spec.num_choices; ++c) {
      if (spec.choices[c]) to.choices.emplace_back(spec.choices[c]);
    }
  }
  return out;
}

Result<const OptionDeclaration*> find_option(std::span<const OptionDeclaration> declared,
                                             std::string_view key) {
  const auto found = std::ranges::find(declared, key, &OptionDeclaration::key);
  if (found != declared.end()) return &*found;
  return unknown_option(key, join(declared, ", ", [](const auto& one) { return one.key; }));
}

Status LoadedBackend::set_option(const std::string& key, const OptionValue& value) const {
  const auto table = extension<tenon_options_v1>(TENON_EXTENSION_OPTIONS);
  if (!table || !table->set_option) return no_options(key);
  const tenon_option option = write_option(key.c_str(), value);
  const tenon_status status = table->set_option(opened_, &option);
  if (status == TENON_STATUS_OK) return ok();
  return take_last_error(host_, status).with_context(concat("backend ", id()));
}

Result<OptionValue> LoadedBackend::get_option(const std::string& key) const {
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

Status LoadedBackend::no_options(std::string_view key) const {
  return unknown_option(key).with_context(concat("backend ", id()));
}

}}}  // namespace tenon::TENON_RELEASE::host
