// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/result.hpp"
#include "tenon/host/binary/peek.hpp"
#include "tenon/host/binary/plugin_record.hpp"
#include "tenon/host/files/mapped_file.hpp"
#include "tenon/host/files/new_file.hpp"
#include "tenon/host/impl/binary/find_object.hpp"
#include "tenon/host/platform/path_text.hpp"

/// Plugins that wrap another plugin are copies of a template, whose exported object is filled in:
/// proxies and isolated plugins. An `Object` of theirs has the members `head`, `records`, `mark`,
/// `wrapped_path` and `body`.
namespace tenon::tool {

/// How texts call plugins of one template, and the mark in their objects.
struct TemplateNames {
  std::string_view one;      ///< "proxy"
  std::string_view article;  ///< "a proxy"
  std::string_view plural;   ///< "proxies"
  std::string_view mark;     ///< All bytes of it.
};

namespace detail {

namespace fs = std::filesystem;

/// The object of a plugin in the bytes of its file, checked.
inline Result<std::span<const std::byte>> object_in(std::span<const std::byte> file,
                                                    const fs::path& path) {
  auto object = host::detail::find_plugin_object(FileBytes(file), host::this_platform);
  if (!object.ok()) return std::move(object).status().with_context(host::path_text(path));
  TENON_RETURN_IF_ERROR(host::read_record(*object, host::path_text(path)));
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
Status copy_record(std::span<const std::byte> from, const fs::path& path,
                   const TemplateNames& names, Object& to) {
  TENON_TRY(const host::PluginRecord record, host::read_record(from, host::path_text(path)));
  TENON_RETURN_IF_ERROR(host::check_abi(record));
  if (record.backends.size() > std::size(to.records)) {
    return error(Error::NotSupported, host::path_text(path), ": has ", record.backends.size(),
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

inline Status check_out(const fs::path& out, const fs::path& plugin, const TemplateNames& names,
                        bool force) {
  std::error_code failure;
  if (fs::equivalent(out, plugin, failure)) {
    return error(Error::InvalidArgument, host::path_text(out),
                 ": is the plugin itself, expected another file for the ", names.one);
  }
  const auto found = fs::symlink_status(out, failure).type();
  if (found == fs::file_type::not_found) return ok();
  if (found != fs::file_type::regular && found != fs::file_type::symlink) {
    return error(Error::InvalidState, host::path_text(out),
                 ": is not a regular file, and is not replaced");
  }
  if (force) return ok();
  return error(Error::InvalidState, host::path_text(out), ": already exists (--force replaces it)");
}

inline Status write_plugin(const fs::path& out, std::span<const std::byte> bytes) {
  TENON_TRY(host::NewFile file, host::NewFile::create(out));
  TENON_RETURN_IF_ERROR(file.write(bytes));
  // Readable like a library; only the owner may change it.
  TENON_RETURN_IF_ERROR(file.set_permissions(static_cast<fs::perms>(0755)));
  return file.commit();
}

}  // namespace detail

/// The wrapped plugin, for `fill` of `make_from_template`.
struct WrappedFile {
  std::filesystem::path absolute;    ///< Of the plugin, without links.
  std::span<const std::byte> bytes;  ///< Of its file.
};

/// Writes to `out` a copy of the template at `template_file` that wraps the plugin at `plugin`: any
/// host can load it in place of the plugin, whose record it has. The rest of the object is filled
/// in by `fill(object, wrapped)`, which returns a status. With `force`, a file at `out` is replaced
/// in one step.
///
/// errors: those of `host::peek` when one of the two is not a plugin; NotSupported when the plugin
///         has an unsupported ABI or too many backends, or is of the same template; InvalidArgument
///         when its path is too long or `out` is the plugin; InvalidState when `out` already
///         exists; AccessFailed when it cannot be written; those of `fill`.
template <class Object, class Fill>
[[nodiscard]] Status make_from_template(const TemplateNames& names,
                                        const std::filesystem::path& template_file,
                                        const std::filesystem::path& plugin,
                                        const std::filesystem::path& out, bool force,
                                        const Fill& fill) {
  TENON_TRY(const auto copied_file, host::MappedFile::open(template_file));
  TENON_TRY(const auto empty, detail::object_in(copied_file.bytes(), template_file));
  if (!detail::as_object<Object>(empty, names)) {
    return error(Error::InvalidArgument, host::path_text(template_file),
                 ": is not the template of ", names.plural);
  }
  // Reports errors as for any plugin: "there is no such file", "is a text file, expected ...".
  TENON_RETURN_IF_ERROR(host::peek(plugin));
  std::error_code failure;
  const std::filesystem::path absolute = std::filesystem::canonical(plugin, failure);
  TENON_TRY(const auto plugin_file, host::MappedFile::open(plugin));
  TENON_TRY(const auto wrapped, detail::object_in(plugin_file.bytes(), plugin));
  if (const Object* other = detail::as_object<Object>(wrapped, names)) {
    return error(Error::NotSupported, host::path_text(plugin), ": is ", names.article,
                 " itself, of ", std::string_view(other->wrapped_path), ": make ", names.article,
                 " of that plugin");
  }
  constexpr std::size_t room = sizeof(Object::wrapped_path);
  if (host::path_text(absolute).size() >= room) {
    return error(Error::InvalidArgument, host::path_text(plugin), ": its path has ",
                 host::path_text(absolute).size(), " bytes, ", names.article, " supports at most ",
                 room - 1);
  }
  TENON_RETURN_IF_ERROR(detail::check_out(out, plugin, names, force));
  std::vector<std::byte> bytes(copied_file.bytes().begin(), copied_file.bytes().end());
  std::byte* place = bytes.data() + (empty.data() - copied_file.bytes().data());
  Object object;
  std::memcpy(&object, place, sizeof object);
  TENON_RETURN_IF_ERROR(detail::copy_record(wrapped, plugin, names, object));
  TENON_RETURN_IF_ERROR(fill(object, WrappedFile{absolute, plugin_file.bytes()}));
  std::memcpy(place, &object, sizeof object);
  return detail::write_plugin(out, bytes);
}

}  // namespace tenon::tool
