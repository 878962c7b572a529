// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/impl/plugin/object.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"
#include "tenon/host/platform/path_text.hpp"

/// Plugins that wrap another plugin are copies of a template, whose exported object is filled in:
/// proxies and isolated plugins. An `Object` of theirs has the members `head`, `records`, `mark`,
/// `wrapped_path` and `body`.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// How texts call plugins of one template, and the mark in their objects.
struct TemplateNames {
  std::string_view one;      ///< "proxy"
  std::string_view article;  ///< "a proxy"
  std::string_view plural;   ///< "proxies"
  std::string_view mark;     ///< All bytes of it.
};

/// A file that is a plugin, or shall be one.
struct PluginBytes {
  std::span<const std::byte> bytes;
  std::filesystem::path path;  ///< For messages.
};

/// The object of a plugin in the bytes of its file, checked.
inline Result<std::span<const std::byte>> object_in(const PluginBytes& file) {
  auto object = find_plugin_object(FileBytes(file.bytes));
  if (!object.ok()) return std::move(object).status().with_context(path_text(file.path));
  TENON_RETURN_IF_ERROR(read_record(*object, path_text(file.path)));
  return object;
}

/// The object of the template's kind that the bytes are, or null.
template <class Object>
const Object* as_object(std::span<const std::byte> object, const TemplateNames& names) noexcept {
  if (object.size() < sizeof(Object)) return nullptr;
  const auto* mark = object.data() + offsetof(Object, mark);
  if (std::memcmp(mark, names.mark.data(), names.mark.size()) != 0) return nullptr;
  return reinterpret_cast<const Object*>(object.data());
}

/// Copies the record in `from` into `to`, whose structs have the sizes of this program.
template <class Object>
Status copy_record(std::span<const std::byte> from, const std::filesystem::path& path,
                   const TemplateNames& names, Object& to) {
  TENON_TRY(const PluginRecord record, read_record(from, path_text(path)));
  TENON_RETURN_IF_ERROR(check_abi(record));
  if (record.backends.size() > std::size(to.records)) {
    return error(Error::NotSupported, path_text(path), ": has ", record.backends.size(),
                 " backends, ", names.article, " supports at most ", std::size(to.records));
  }
  tenon_plugin_head head{};
  std::uint32_t head_size = 0;
  std::memcpy(&head_size, from.data() + offsetof(tenon_plugin_head, head_size), sizeof head_size);
  std::memcpy(&head, from.data(), std::min<std::size_t>(head_size, sizeof head));
  std::copy(std::begin(head.name), std::end(head.name), to.head.name);
  std::copy(std::begin(head.version), std::end(head.version), to.head.version);
  std::copy(std::begin(head.vendor), std::end(head.vendor), to.head.vendor);
  std::copy(std::begin(head.sdk_version), std::end(head.sdk_version), to.head.sdk_version);
  to.head.abi_minor = std::min(head.abi_minor, to.head.abi_minor);
  to.head.min_host_abi_minor = head.min_host_abi_minor;
  to.head.num_backends = head.num_backends;
  to.body.num_backends = head.num_backends;
  for (std::uint32_t i = 0; i < head.num_backends; ++i) {
    tenon_backend_record& mine = to.records[i];
    mine = {};
    std::memcpy(&mine, from.data() + head.records_offset + std::size_t{i} * head.record_size,
                std::min<std::size_t>(head.record_size, sizeof mine));
    mine.struct_size = sizeof mine;
  }
  return ok();
}

/// A copy of `of_template` that wraps the plugin `wrapped`, whose record it has. The rest of the
/// object is filled in by `fill(object)`, which returns a status.
///
/// errors: the errors of `peek` when one of the two is not a plugin; NotSupported when the plugin
/// has an unsupported ABI or too many backends, or is of the same template; InvalidArgument when
/// `of_template` is no such template; the errors of `fill`.
template <class Object, class Fill>
[[nodiscard]] Result<std::vector<std::byte>> fill_template(const TemplateNames& names,
                                                           const PluginBytes& of_template,
                                                           const PluginBytes& wrapped,
                                                           const Fill& fill) {
  TENON_TRY(const auto empty, object_in(of_template));
  if (!as_object<Object>(empty, names)) {
    return error(Error::InvalidArgument, path_text(of_template.path), ": is not the template of ",
                 names.plural);
  }
  TENON_TRY(const auto record, object_in(wrapped));
  if (const Object* other = as_object<Object>(record, names)) {
    return error(Error::NotSupported, path_text(wrapped.path), ": is ", names.article,
                 " itself, of ", std::string_view(other->wrapped_path), ": make ", names.article,
                 " of that plugin");
  }
  std::vector<std::byte> bytes(of_template.bytes.begin(), of_template.bytes.end());
  std::byte* const place = bytes.data() + (empty.data() - of_template.bytes.data());
  Object object;
  std::memcpy(&object, place, sizeof object);
  TENON_RETURN_IF_ERROR(copy_record(record, wrapped.path, names, object));
  TENON_RETURN_IF_ERROR(fill(object));
  std::memcpy(place, &object, sizeof object);
  return bytes;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
