// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/inspect/impl/template_plugin.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/platform/new_file.hpp"
#include "tenon/host/platform/path_text.hpp"

/// Files of plugins that wrap another plugin.
namespace tenon::tool {

using host::detail::TemplateNames;

namespace detail {

namespace fs = std::filesystem;

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
/// errors: as `host::peek` when one of the two is not a plugin; NotSupported when the plugin has an
/// unsupported ABI or too many backends, or is of the same template; InvalidArgument when its path
/// is too long or `out` is the plugin; InvalidState when `out` already exists; AccessFailed when it
/// cannot be written; the errors of `fill`.
template <class Object, class Fill>
[[nodiscard]] Status make_from_template(const TemplateNames& names,
                                        const std::filesystem::path& template_file,
                                        const std::filesystem::path& plugin,
                                        const std::filesystem::path& out, bool force,
                                        const Fill& fill) {
  TENON_TRY(const auto copied_file, host::MappedFile::open(template_file));
  // Reports errors as for any plugin: "there is no such file", "is a text file, expected ...".
  TENON_RETURN_IF_ERROR(host::peek(plugin));
  std::error_code failure;
  const std::filesystem::path absolute = std::filesystem::canonical(plugin, failure);
  TENON_TRY(const auto plugin_file, host::MappedFile::open(plugin));
  constexpr std::size_t room = sizeof(Object::wrapped_path);
  if (host::path_text(absolute).size() >= room) {
    return error(Error::InvalidArgument, host::path_text(plugin), ": its path has ",
                 host::path_text(absolute).size(), " bytes, ", names.article, " supports at most ",
                 room - 1);
  }
  TENON_RETURN_IF_ERROR(detail::check_out(out, plugin, names, force));
  TENON_TRY(const auto bytes, host::detail::fill_template<Object>(
                                  names, {copied_file.bytes(), template_file},
                                  {plugin_file.bytes(), plugin}, [&](Object& object) {
                                    return fill(object, WrappedFile{absolute, plugin_file.bytes()});
                                  }));
  return detail::write_plugin(out, bytes);
}

}  // namespace tenon::tool
