// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/pt2/limits.hpp"
#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// The ZIP file in which PyTorch keeps exported programs (torch.export.save; facts from PyTorch's
/// torch/export/pt2_archive). All entries are in one directory, whose name is left out here.
/// Entries that are stored without compression, as PyTorch writes them, are used in place: no
/// weight is copied. Compressed entries, as other ZIP programs write them, are unpacked. Checksums
/// are compared either way. Not thread-safe.
class Pt2Archive {
 public:
  /// errors: AccessFailed when the file cannot be read. InvalidProgram when it is not a ZIP
  /// archive, is damaged, has an entry twice, has an entry whose name leads out of its directory,
  /// or is not an archive of exported programs. NotSupported for big-endian data and for archives
  /// of other programs of PyTorch. OutOfResources when the entries unpack to more than `limits`
  /// permit. The text begins with the path.
  [[nodiscard]] static Result<Pt2Archive> open(const std::filesystem::path& path,
                                               const Pt2Limits& limits = {});

  /// As given to `open`; errors begin with it.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  [[nodiscard]] const Pt2Limits& limits() const noexcept { return limits_; }

  /// Bytes of all entries, unpacked.
  [[nodiscard]] std::uint64_t unpacked_bytes() const noexcept { return unpacked_bytes_; }

  [[nodiscard]] bool has(std::string_view entry) const { return entries_.contains(entry); }

  /// Names of entries that begin and end so, sorted.
  [[nodiscard]] std::vector<std::string> names(std::string_view prefix,
                                               std::string_view suffix) const;

  /// All bytes of an entry. They start at an address that suits any element type. Valid after the
  /// archive is destroyed.
  ///
  /// errors: InvalidProgram when there is no such entry or it is damaged; NotSupported when it is
  ///         encrypted or compressed in another way than "deflate".
  [[nodiscard]] Result<SharedBytes> read(std::string_view name) const;

  /// All bytes of an entry with JSON. errors: as `read`; OutOfResources when the entry is larger
  /// than `limits()` permit, before it is unpacked.
  [[nodiscard]] Result<SharedBytes> read_json(std::string_view name) const;

 private:
  struct Entry {
    std::uint64_t index = 0;
    std::uint64_t size = 0;
    std::uint64_t packed_size = 0;
    unsigned method = 0;
    bool encrypted = false;
  };

  struct State;  ///< Does not move; bytes that `read` returned keep it alive.

  Pt2Archive(std::string path, const Pt2Limits& limits) : path_(std::move(path)), limits_(limits) {}

  [[nodiscard]] Status list_entries();

  [[nodiscard]] Status check_identity() const;

  [[nodiscard]] Result<SharedBytes> unpack(std::string_view name, const Entry& entry) const;

  std::string path_;
  Pt2Limits limits_;
  std::uint64_t unpacked_bytes_ = 0;
  std::shared_ptr<State> state_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}}}  // namespace tenon::TENON_RELEASE::aot

#include <zip.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include "tenon/aot/compiler/impl/pt2/zip_window.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

struct DiscardZip {
  void operator()(zip_t* zip) const noexcept { zip_discard(zip); }
};
struct CloseZipEntry {
  void operator()(zip_file_t* file) const noexcept { zip_fclose(file); }
};

/// A failure that names an entry of the archive at `path`.
template <class... Pieces>
[[nodiscard]] Status wrong_entry(Error code, const std::string& path, std::string_view entry,
                                 const Pieces&... pieces) {
  return error(code, path, ": entry ", host::quoted(entry), " ", pieces...);
}

inline std::string text_of(zip_error_t* error) { return zip_error_strerror(error); }

/// Whether a name stays inside its directory when the archive is unpacked.
inline bool is_harmless(std::string_view name) {
  for (const char c : name) {
    if (c == '\\' || static_cast<unsigned char>(c) < 0x20) return false;
  }
  while (!name.empty()) {
    const std::size_t slash = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    name.remove_prefix(std::min(slash + 1, name.size()));
  }
  return true;
}

}  // namespace detail

struct Pt2Archive::State {
  explicit State(host::MappedFile mapped) : file(std::move(mapped)), window(file.bytes()) {}

  host::MappedFile file;
  detail::ZipWindow window;
  std::unique_ptr<zip_t, detail::DiscardZip> zip;
};

inline Result<Pt2Archive> Pt2Archive::open(const std::filesystem::path& path,
                                           const Pt2Limits& limits) {
  TENON_TRY(host::MappedFile file, host::MappedFile::open(path));
  Pt2Archive archive(host::path_text(path), limits);
  archive.state_ = std::make_shared<State>(std::move(file));
  TENON_RETURN_IF_ERROR(archive.list_entries());
  TENON_RETURN_IF_ERROR(archive.check_identity());
  return archive;
}

inline std::vector<std::string> Pt2Archive::names(std::string_view prefix,
                                                  std::string_view suffix) const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : entries_) {
    if (name.size() >= prefix.size() + suffix.size() && name.starts_with(prefix) &&
        name.ends_with(suffix)) {
      out.push_back(name);
    }
  }
  return out;
}

inline Result<SharedBytes> Pt2Archive::read(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end())
    return detail::wrong_entry(Error::InvalidProgram, path(), name, "is missing");
  const Entry& entry = found->second;
  if (entry.encrypted)
    return detail::wrong_entry(Error::NotSupported, path(), name, "is encrypted");
  if (entry.method != ZIP_CM_STORE && entry.method != ZIP_CM_DEFLATE) {
    return detail::wrong_entry(Error::NotSupported, path(), name, "is compressed by method ",
                               entry.method, ", expected 0 (stored) or 8 (deflate)");
  }
  // Deflate makes nothing 1032 times as large; a claim beyond that is not worth any memory.
  constexpr std::uint64_t largest_ratio = 1032;
  if (entry.size / largest_ratio > entry.packed_size) {
    return detail::wrong_entry(Error::InvalidProgram, path(), name, "claims to unpack ",
                               entry.packed_size, " bytes to ", entry.size);
  }
  return unpack(name, entry);
}

inline Result<SharedBytes> Pt2Archive::read_json(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return read(name);
  const Entry& entry = found->second;
  const auto refuse = [&](std::string_view what, std::uint64_t number, std::string_view limit_name,
                          std::uint64_t limit) {
    return host::detail::over_limit(concat(path(), ": entry ", host::quoted(name), ": ", what),
                                    number, limit_name, limit);
  };
  if (entry.size > limits_.json.bytes) {
    return refuse("bytes", entry.size, "json.bytes", limits_.json.bytes);
  }
  constexpr std::uint64_t free_bytes = std::uint64_t{1} << 16;
  if (entry.size <= free_bytes ||
      entry.size / std::max<std::uint64_t>(limits_.json_ratio, 1) <= entry.packed_size) {
    return read(name);
  }
  return refuse(concat("bytes for each of the ", entry.packed_size, " that are packed"),
                entry.size / std::max<std::uint64_t>(entry.packed_size, 1), "json_ratio",
                limits_.json_ratio);
}

inline Status Pt2Archive::list_entries() {
  zip_error_t failure;
  zip_error_init(&failure);
  zip_source_t* const source = state_->window.make_source(&failure);
  zip_t* const zip =
      source != nullptr ? zip_open_from_source(source, ZIP_RDONLY, &failure) : nullptr;
  const std::string why = zip == nullptr ? detail::text_of(&failure) : std::string();
  zip_error_fini(&failure);
  if (zip == nullptr) {
    zip_source_free(source);
    return error(Error::InvalidProgram, path(), ": cannot be read as a ZIP archive: ", why);
  }
  state_->zip.reset(zip);

  std::map<std::string, Entry, std::less<>> all;
  std::optional<std::string> directory;
  const zip_int64_t count = zip_get_num_entries(zip, 0);
  for (std::uint64_t index = 0; static_cast<zip_int64_t>(index) < count; ++index) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr zip_uint64_t needed =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(zip, index, ZIP_FL_ENC_RAW, &stat) != 0 || (stat.valid & needed) != needed) {
      return error(Error::InvalidProgram, path(), ": entry ", index,
                   " cannot be read: ", detail::text_of(zip_get_error(zip)));
    }
    const std::string name = stat.name;
    if (name.ends_with('/')) continue;
    if (!detail::is_harmless(name)) {
      return detail::wrong_entry(Error::InvalidProgram, path(), name,
                                 "has a name that leads out of its directory");
    }
    unpacked_bytes_ = host::detail::add_saturating(unpacked_bytes_, stat.size);
    const bool encrypted =
        (stat.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && stat.encryption_method != ZIP_EM_NONE;
    const Entry entry{index, stat.size, stat.comp_size, stat.comp_method, encrypted};
    if (!all.emplace(name, entry).second) {
      return detail::wrong_entry(Error::InvalidProgram, path(), name, "appears twice");
    }
    const std::size_t slash = name.find('/');
    if (slash != std::string::npos && name.substr(slash + 1) == "archive_format") {
      if (directory) {
        return error(Error::InvalidProgram, path(), ": holds two archives, ",
                     host::quoted(*directory), " and ", host::quoted(name.substr(0, slash)));
      }
      directory = name.substr(0, slash);
    }
  }
  if (!directory) {
    return error(Error::InvalidProgram, path(),
                 ": has no entry 'archive_format', which torch.export.save of PyTorch 2.15 writes");
  }
  constexpr std::uint64_t free_bytes = std::uint64_t{16} << 20;
  const std::uint64_t file_size = state_->window.file().size();
  if (unpacked_bytes_ > free_bytes &&
      (unpacked_bytes_ - free_bytes) / std::max<std::uint64_t>(limits_.unpacked_ratio, 1) >
          file_size) {
    return host::detail::over_limit(
        concat(path(), ": bytes of all entries for each of the file's ", file_size),
        unpacked_bytes_ / file_size, "unpacked_ratio", limits_.unpacked_ratio);
  }
  const std::string prefix = *directory + "/";
  for (auto& [name, entry] : all) {
    if (name.starts_with(prefix)) entries_.emplace(name.substr(prefix.size()), entry);
  }
  return ok();
}

inline Status Pt2Archive::check_identity() const {
  TENON_TRY(const SharedBytes format, read("archive_format"));
  if (as_text(format.bytes()) != "pt2") {
    return detail::wrong_entry(Error::InvalidProgram, path(), "archive_format", "is ",
                               host::quoted(as_text(format.bytes())), ", expected 'pt2'");
  }
  if (!has("byteorder")) return ok();
  TENON_TRY(const SharedBytes order, read("byteorder"));
  if (as_text(order.bytes()) != "little") {
    return detail::wrong_entry(Error::NotSupported, path(), "byteorder", "is ",
                               host::quoted(as_text(order.bytes())), ", expected 'little'");
  }
  return ok();
}

inline Result<SharedBytes> Pt2Archive::unpack(std::string_view name, const Entry& entry) const {
  zip_t* const zip = state_->zip.get();
  const std::unique_ptr<zip_file_t, detail::CloseZipEntry> file(
      zip_fopen_index(zip, entry.index, 0));
  if (!file) {
    return detail::wrong_entry(Error::InvalidProgram, path(), name,
                               "cannot be opened: ", detail::text_of(zip_get_error(zip)));
  }
  state_->window.watch();
  const Bytes whole = state_->window.file();
  std::vector<std::byte> chunk(std::size_t{1} << 16);
  std::vector<std::byte> copy;
  // The first read is at the data, if libzip returns the bytes that are stored there.
  bool in_place = entry.method == ZIP_CM_STORE && entry.size != 0;
  std::uint64_t offset = 0;
  for (std::uint64_t done = 0;;) {
    const zip_int64_t count = zip_fread(file.get(), chunk.data(), chunk.size());
    if (count < 0) {
      return detail::wrong_entry(Error::InvalidProgram, path(), name,
                                 "is damaged: ", detail::text_of(zip_file_get_error(file.get())));
    }
    const auto size = static_cast<std::size_t>(count);
    if (size > entry.size - done || (size == 0 && done != entry.size)) {
      return detail::wrong_entry(Error::InvalidProgram, path(), name, "does not have the ",
                                 entry.size, " bytes that it claims");
    }
    if (size == 0) break;
    if (done == 0) {
      offset = state_->window.first_read().value_or(whole.size());
      in_place =
          in_place && offset <= whole.size() && entry.size <= whole.size() - offset &&
          reinterpret_cast<std::uintptr_t>(whole.data() + offset) % alignof(std::max_align_t) == 0;
    }
    if (in_place && std::memcmp(whole.data() + offset + done, chunk.data(), size) != 0) {
      in_place = false;
      const auto read =
          whole.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(done));
      copy.assign(read.begin(), read.end());
    }
    if (!in_place) copy.insert(copy.end(), chunk.begin(), chunk.begin() + count);
    done += size;
  }
  if (!in_place) return SharedBytes(std::move(copy));
  return SharedBytes::borrow(
      whole.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(entry.size)),
      state_);
}

}}}  // namespace tenon::TENON_RELEASE::aot
