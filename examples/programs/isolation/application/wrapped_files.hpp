// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/layers/trust/impl/library.hpp"
#include "tenon/host/platform/impl/sealed_copy.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/trusted_path.hpp"

namespace tenon::isolated {

/// The wrapped plugin and the libraries next to it, as they were checked: sealed copies in memory,
/// in the order in which they are loaded. All workers load these descriptors and no path, so that
/// nothing that is written to a file, or put next to the plugin, is loaded by a later worker.
class WrappedFiles {
 public:
  using Files = std::vector<host::OpenedFile>;

  /// The copies, made once while a backend of the wrapped plugin is open.
  ///
  /// errors: as `open_file`, `Library::files_of` and `sealed_copy`; InvalidState when the digest of
  /// the files is not `expected`.
  [[nodiscard]] Result<std::shared_ptr<const Files>> get(const std::string& path,
                                                         const Sha256& expected, host::Trust trust,
                                                         host::Paths paths) {
    const std::lock_guard lock(mutex_);
    if (auto kept = kept_.lock()) return kept;
    TENON_TRY(Files files, copy(path, trust, paths));
    TENON_TRY(const Sha256 found, host::digest_of(files));
    if (found != expected) return other_files(files, found, expected);
    auto out = std::make_shared<const Files>(std::move(files));
    kept_ = out;
    return out;
  }

 private:
  static Result<Files> copy(const std::string& path, host::Trust trust, host::Paths paths) {
    constexpr std::string_view purpose = "for its worker";
    TENON_TRY(const host::OpenedFile opened, host::open_file(path, trust));
    TENON_TRY(host::OpenedFile plugin, host::detail::sealed_copy(opened, purpose));
    TENON_TRY(Files files, host::Library::files_of(std::move(plugin), {}, paths));
    for (host::OpenedFile& each : std::span(files).first(files.size() - 1)) {
      TENON_TRY(each, host::detail::sealed_copy(each, purpose));
    }
    return files;
  }

  [[gnu::cold]] static Status other_files(const Files& files, const Sha256& found,
                                          const Sha256& expected) {
    std::string libraries;
    for (const host::OpenedFile& each : std::span(files).first(files.size() - 1)) {
      libraries += concat(", ", host::path_text(each.path));
    }
    return error(Error::InvalidState, host::path_text(files.back().path), libraries, ": SHA-256 ",
                 found.to_hex(), ", expected ", expected.to_hex(),
                 ": a file is another one than when the isolated plugin was made, or a library is "
                 "next to the plugin that was not, or is no more; make it again with "
                 "tenon-isolate");
  }

  std::mutex mutex_;
  std::weak_ptr<const Files> kept_;  // Owned by the open backends.
};

}  // namespace tenon::isolated
