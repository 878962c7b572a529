// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"
#include "tenon/host/platform/opened_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_at.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Reads the record of the plugin whose whole file is `file`.
///
/// Any bytes may be given: a hostile file gets an error, in bounded time. `name` begins the text of
/// a failure. Of a plugin for another platform than this host's <tenon/host/inspect.hpp> reads it.
///
/// The ABI version is not checked: a plugin that is too new can be described, and `check_abi`
/// decides whether it may be loaded.
///
/// threads: any. errors: InvalidArgument when the bytes are not a plugin for this platform, with a
/// text that says what they are; otherwise as `read_record`.
[[nodiscard]] Result<PluginRecord> peek(std::span<const std::byte> file, std::string_view name);

/// Reads the record of the plugin at `path`.
///
/// The file is mapped and only the pages that lead to the record are touched. As when a library is
/// loaded, a file that another process cuts short in that moment ends this process with SIGBUS:
/// replace a plugin by renaming a new file over it.
///
/// threads: any. errors: NotFound when there is no such file; InvalidArgument when it is empty or
/// not a regular file; AccessFailed when it cannot be opened or mapped; otherwise as the other
/// `peek`. The text begins with the path.
[[nodiscard]] Result<PluginRecord> peek(const std::filesystem::path& path);

/// Calls `use` with all bytes of an open file and returns what it returns. A small file is read:
/// for the size of a usual plugin a copy costs less than mapping it and touching its pages.
template <class Use>
[[nodiscard]] auto with_bytes(const OpenedFile& file, const Use& use)
    -> decltype(use(std::span<const std::byte>())) {
  constexpr std::size_t largest_copy = 64 * 1024;
  if (file.identity.size == 0) return use(std::span<const std::byte>());
  if (file.identity.size > largest_copy) {
    TENON_TRY(const MappedFile mapped,
              MappedFile::map(file.descriptor.get(), file.identity.size, file.path));
    return use(mapped.bytes());
  }
  const auto size = static_cast<std::size_t>(file.identity.size);
  const std::unique_ptr<std::byte[]> buffer(new std::byte[size]);
  // Fewer where another process cut it short; the rest is judged.
  const std::ptrdiff_t done = read_at(file.descriptor.get(), {buffer.get(), size}, 0);
  if (done < 0) return error(Error::AccessFailed, path_text(file.path), ": ", std::strerror(errno));
  return use(std::span<const std::byte>(buffer.get(), static_cast<std::size_t>(done)));
}

/// Reads the record of the plugin in a file that is open already. Fails as the other two.
[[nodiscard]] Result<PluginRecord> peek(const OpenedFile& file);

}}}  // namespace tenon::TENON_RELEASE::host
