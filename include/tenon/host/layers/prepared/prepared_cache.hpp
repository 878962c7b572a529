// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/prepared/prepared_store.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The directory of `PreparedCache` where an application names none: the value of the variable
/// TENON_PREPARED_DIR; otherwise `tenon/prepared` in XDG_CACHE_HOME, in `~/.cache`, on macOS in
/// `~/Library/Caches`, on Windows in LOCALAPPDATA.
///
/// threads: as `environment_variable`. errors: NotFound when no variable names a home.
[[nodiscard]] Result<std::filesystem::path> default_prepared_directory();

/// One file of a cache.
struct PreparedEntry {
  std::string name;            ///< Of the file in the directory.
  std::string backend_id;      ///< Empty when the file cannot be read.
  std::string plugin_path;     ///< Of the preparing plugin. Empty when the file cannot be read.
  std::uint64_t nbytes = 0;    ///< Of the whole file.
  std::int64_t last_used = 0;  ///< Nanoseconds since 1970, UTC.
};

/// Bytes that plugins prepared, one file for each, in a directory that several processes share.
///
/// A file is checked before it is used: it and the directories on the way belong to the user of the
/// process or to root, no other user may write to them (`Trust::checked`), and what was copied from
/// it has the SHA-256 that it was stored with. The copy, which no other process can change, is what
/// the plugin gets. A file appears when it is complete (NewFile). When the files take more than
/// `max_bytes`, those that were not used for the longest time are removed.
///
/// A process of the same user can still give plugins any bytes, as it can give the application any
/// plugin.
///
/// Must outlive the methods that were loaded with it, at the same address. Threads: any, also at
/// once.
class PreparedCache final : public PreparedStore {
 public:
  static constexpr std::uint64_t default_max_bytes = std::uint64_t{1} << 30;

  /// The cache in `directory`, which is created, for its user alone, when it does not exist.
  ///
  /// errors: as `Directory::open`; AccessFailed when it cannot be created.
  [[nodiscard]] static Result<PreparedCache> open(std::filesystem::path directory,
                                                  std::uint64_t max_bytes = default_max_bytes);

  [[nodiscard]] const std::filesystem::path& directory() const noexcept { return directory_; }
  [[nodiscard]] std::uint64_t max_bytes() const noexcept { return max_bytes_; }

  [[nodiscard]] Status open(const PreparedKey& key, const tenon_host& log,
                            tenon_prepared** out) const override;

  /// Its files, those that were used last first.
  ///
  /// errors: as `Directory::open`.
  [[nodiscard]] Result<std::vector<PreparedEntry>> list() const;

  /// Whether the file `name` could be used: all checks of `open`.
  ///
  /// errors: as `open_file`; InvalidExternalData when the file is not a whole one of this version,
  /// or its bytes are not those that were stored.
  [[nodiscard]] Status verify(const std::string& name) const;

  /// Removes the files that were not used for the longest time, until the others take at most
  /// `max_bytes`, and what a process that was killed left. Returns how many.
  ///
  /// errors: as `list`; AccessFailed when a file cannot be removed.
  [[nodiscard]] Result<std::size_t> prune(std::uint64_t max_bytes) const;

 private:
  PreparedCache() = default;

  std::filesystem::path directory_;
  std::uint64_t max_bytes_ = default_max_bytes;
};

}}}  // namespace tenon::TENON_RELEASE::host
