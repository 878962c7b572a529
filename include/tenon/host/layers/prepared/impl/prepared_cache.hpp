// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/prepared/prepared_cache.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/host/layers/prepared/impl/prepared_file.hpp"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/trusted_path.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {
namespace detail {

inline constexpr std::string_view prepared_suffix = ".prepared";

[[nodiscard]] inline bool is_prepared_name(std::string_view name) noexcept {
  return name.ends_with(prepared_suffix);
}
/// Of a file that NewFile had not named yet when its process was killed.
[[nodiscard]] inline bool is_left_by_new_file(std::string_view name) noexcept {
  return name.starts_with(".tenon-") && name.ends_with(".tmp");
}

/// The object that a plugin holds from `open` to `release`.
struct KeptBytes : tenon_prepared {
  KeptBytes(const PreparedCache& its_cache, const tenon_host& its_log, const PreparedKey& key,
            std::filesystem::path path_of_file)
      : tenon_prepared{sizeof(tenon_prepared), 0, 0, nullptr, &store_parts, &release_this, nullptr},
        cache(its_cache),
        host(its_log),
        path(std::move(path_of_file)) {
    head.key = key.digest;
    head.backend_id = key.backend_id;
    head.plugin_path = key.plugin_path;
  }

  void find() {
    auto found = load();
    if (found.ok()) {
      bytes = *std::move(found);
      data = bytes.bytes().data();
      nbytes = bytes.bytes().size();
      std::error_code none;  // It is only found to be older than it is.
      std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), none);
    } else if (found.error() != Error::NotFound) {
      log("not used", std::move(found).status());
    }
  }

  [[nodiscard]] Result<SealedBytes> load() const {
    TENON_TRY(const OpenedFile file, open_file(path, Trust::checked));
    TENON_TRY(const PreparedHead there, read_prepared_head(file));
    if (there.key.bytes != head.key.bytes) {
      return error(Error::InvalidExternalData, "was stored under another key");
    }
    return read_prepared(file, there, cache.max_bytes());
  }

  [[nodiscard]] Status store(std::span<const tenon_span> parts) const {
    std::vector<Bytes> list;
    list.reserve(parts.size());
    std::uint64_t size = PreparedHead::size;
    for (const tenon_span& part : parts) {
      if (!part.data && part.size != 0) {
        return error(Error::InvalidArgument, "null data with size ", part.size);
      }
      list.emplace_back(static_cast<const std::byte*>(part.data),
                        static_cast<std::size_t>(part.size));
      size = part.size > UINT64_MAX - size ? UINT64_MAX : size + part.size;
    }
    if (size > cache.max_bytes()) {
      return error(Error::OutOfResources, "takes ", size, " bytes, the cache ", cache.max_bytes());
    }
    TENON_RETURN_IF_ERROR(write_prepared(path, head, list));
    return cache.prune(cache.max_bytes()).status();
  }

  [[gnu::cold]] void log(std::string_view what, const Status& status) const {
    const std::string line =
        concat("prepared bytes of ", head.backend_id, " are ", what, ": ", describe(status));
    host.log(&host, TENON_LOG_INFO, line.data(), line.size());
  }

  static tenon_status store_parts(tenon_prepared* prepared, const tenon_span* parts,
                                  std::uint64_t num_parts) noexcept {
    const auto& self = *static_cast<const KeptBytes*>(prepared);
    try {
      const Status stored = self.store({parts, static_cast<std::size_t>(num_parts)});
      if (!stored.ok()) self.log("not kept", stored);
      return to_status(stored.error());
    } catch (const std::bad_alloc&) {
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    } catch (const std::exception&) {
      return TENON_STATUS_INTERNAL;
    }
  }
  static void release_this(tenon_prepared* prepared) noexcept {
    delete static_cast<KeptBytes*>(prepared);
  }

  const PreparedCache& cache;
  const tenon_host& host;
  std::filesystem::path path;
  PreparedHead head;
  SealedBytes bytes;
};

}  // namespace detail

Result<std::filesystem::path> default_prepared_directory() {
  const auto in = [](const char* variable, std::string_view below) {
    const std::string value = environment_variable(variable).value_or("");
    return value.empty() || below.empty() ? path_of(value) : path_of(value) / below;
  };
#if defined(_WIN32)
  const std::filesystem::path found[] = {in("TENON_PREPARED_DIR", ""),
                                         in("LOCALAPPDATA", "tenon/prepared")};
  constexpr std::string_view variables = "TENON_PREPARED_DIR and LOCALAPPDATA";
#elif defined(__APPLE__)
  const std::filesystem::path found[] = {in("TENON_PREPARED_DIR", ""),
                                         in("HOME", "Library/Caches/tenon/prepared")};
  constexpr std::string_view variables = "TENON_PREPARED_DIR and HOME";
#else
  const std::filesystem::path found[] = {in("TENON_PREPARED_DIR", ""),
                                         in("XDG_CACHE_HOME", "tenon/prepared"),
                                         in("HOME", ".cache/tenon/prepared")};
  constexpr std::string_view variables = "TENON_PREPARED_DIR, XDG_CACHE_HOME and HOME";
#endif
  for (const std::filesystem::path& each : found) {
    if (!each.empty()) return each;
  }
  return error(Error::NotFound, "no directory for prepared bytes: ", variables, " are not set");
}

Result<PreparedCache> PreparedCache::open(std::filesystem::path directory,
                                          std::uint64_t max_bytes) {
  std::error_code failed;
  PreparedCache out;
  out.directory_ = std::filesystem::absolute(directory, failed);
  out.max_bytes_ = max_bytes;
  if (!failed && std::filesystem::create_directories(out.directory_, failed)) {
    std::filesystem::permissions(out.directory_, std::filesystem::perms::owner_all, failed);
  }
  if (failed) {
    return error(Error::AccessFailed, path_text(directory),
                 ": cannot be created: ", failed.message());
  }
  TENON_RETURN_IF_ERROR(Directory::open(out.directory_).status());
  return out;
}

Status PreparedCache::open(const PreparedKey& key, const tenon_host& log,
                           tenon_prepared** out) const {
  const std::string name = concat(key.digest.to_hex(), detail::prepared_suffix);
  auto kept = std::make_unique<detail::KeptBytes>(*this, log, key, directory_ / name);
  kept->find();
  *out = kept.release();
  return ok();
}

Result<std::vector<PreparedEntry>> PreparedCache::list() const {
  TENON_TRY(const Directory directory, Directory::open(directory_));
  TENON_TRY(const std::vector<std::string> names, directory.list());
  std::vector<PreparedEntry> out;
  // Two clocks with epochs of their own, which gcc 12 does not convert.
  const auto now = std::chrono::system_clock::now();
  const auto file_now = std::filesystem::file_time_type::clock::now();
  for (const std::string& name : names) {
    if (!detail::is_prepared_name(name)) continue;
    std::error_code missing;
    const std::filesystem::path path = directory_ / name;
    PreparedEntry entry{.name = name, .backend_id = {}, .plugin_path = {}};
    entry.nbytes = std::filesystem::file_size(path, missing);
    const auto used = std::filesystem::last_write_time(path, missing);
    if (missing) continue;  // Another process has removed it, or it is no file.
    const auto at = now - (file_now - used);
    entry.last_used =
        std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
    if (const auto file = directory.open_file(name); file.ok()) {
      if (auto head = detail::read_prepared_head(*file); head.ok()) {
        entry.backend_id = std::move(head->backend_id);
        entry.plugin_path = std::move(head->plugin_path);
      }
    }
    out.push_back(std::move(entry));
  }
  std::ranges::stable_sort(out, std::ranges::greater(), &PreparedEntry::last_used);
  return out;
}

Status PreparedCache::verify(const std::string& name) const {
  TENON_TRY(const Directory directory, Directory::open(directory_));
  TENON_TRY(const OpenedFile file, directory.open_file(name));
  const auto check = [&]() -> Status {
    TENON_TRY(const detail::PreparedHead head, detail::read_prepared_head(file));
    if (name != concat(head.key.to_hex(), detail::prepared_suffix)) {
      return error(Error::InvalidExternalData, "was stored under the key ", head.key.to_hex());
    }
    return detail::check_prepared(file, head);
  };
  return check().with_context(path_text(directory_ / name));
}

Result<std::size_t> PreparedCache::prune(std::uint64_t max_bytes) const {
  TENON_TRY(const Directory directory, Directory::open(directory_));
  TENON_TRY(const std::vector<std::string> names, directory.list());
  using Time = std::filesystem::file_time_type;
  struct File {
    Time used;
    std::uint64_t size;
    std::filesystem::path path;
  };
  std::vector<File> files;
  std::uint64_t total = 0;
  std::size_t removed = 0;
  Status outcome;
  const auto remove = [&](const std::filesystem::path& path) {
    std::error_code failed;
    if (std::filesystem::remove(path, failed)) ++removed;
    if (failed && outcome.ok()) {
      outcome =
          error(Error::AccessFailed, path_text(path), ": cannot be removed: ", failed.message());
    }
  };
  const Time day_ago = Time::clock::now() - std::chrono::hours(24);
  for (const std::string& name : names) {
    std::error_code missing;
    File file{{}, 0, directory_ / name};
    file.used = std::filesystem::last_write_time(file.path, missing);
    if (detail::is_left_by_new_file(name) && !missing && file.used < day_ago) remove(file.path);
    if (!detail::is_prepared_name(name)) continue;
    file.size = std::filesystem::file_size(file.path, missing);
    if (missing) continue;
    total += file.size;
    files.push_back(std::move(file));
  }
  std::ranges::sort(files, {}, &File::used);
  for (const File& file : files) {
    if (total <= max_bytes) break;
    remove(file.path);
    total -= file.size;
  }
  TENON_RETURN_IF_ERROR(outcome);
  return removed;
}

}}}  // namespace tenon::TENON_RELEASE::host
