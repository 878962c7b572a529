// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/layers/prepared/prepared_store.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/impl/pages.hpp"
#include "tenon/host/platform/new_file.hpp"
#include "tenon/host/platform/opened_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_at.hpp"

/// A file of a PreparedCache: a page with the facts, and the bytes.
namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Pages of memory, read-only once they are `seal`ed.
class SealedBytes {
 public:
  SealedBytes() noexcept = default;
  [[nodiscard]] static Result<SealedBytes> take(std::size_t size) {
    SealedBytes out;
    if (size == 0) return out;
    out.data_ = platform::take_pages(size);
    if (!out.data_) return error(Error::MemoryAllocationFailed, "no memory for ", size, " bytes");
    out.size_ = size;
    return out;
  }
  SealedBytes(SealedBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  SealedBytes& operator=(SealedBytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~SealedBytes() {
    if (data_) platform::give_back_pages(data_, size_);
  }

  [[nodiscard]] std::span<std::byte> writable() noexcept {
    return {static_cast<std::byte*>(data_), size_};
  }
  [[nodiscard]] Bytes bytes() const noexcept {
    return {static_cast<const std::byte*>(data_), size_};
  }
  [[nodiscard]] Status seal() noexcept {
    if (!data_ || platform::protect_pages(data_, size_, platform::PageAccess::read)) return ok();
    return error(Error::AccessFailed, "cannot make pages read-only: ", std::strerror(errno));
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The first page of a file. Numbers are little-endian, texts end with a NUL.
struct PreparedHead {
  static constexpr std::size_t size = 4096;
  static constexpr std::string_view magic = "TNPREP01";
  static constexpr std::size_t most_text = 1024;

  std::uint64_t nbytes = 0;
  Sha256 key;
  Sha256 content;
  std::string backend_id;
  std::string plugin_path;

  [[nodiscard]] std::array<std::byte, size> write() const {
    std::array<std::byte, size> out{};
    std::memcpy(out.data(), magic.data(), magic.size());
    std::memcpy(out.data() + 8, &nbytes, sizeof nbytes);
    std::memcpy(out.data() + 16, key.bytes.data(), key.bytes.size());
    std::memcpy(out.data() + 48, content.bytes.data(), content.bytes.size());
    const auto put = [&](std::size_t at, std::string_view text) {
      std::memcpy(out.data() + at, text.data(), std::min(text.size(), most_text - 1));
    };
    put(first_text, backend_id);
    put(second_text, plugin_path);
    return out;
  }

  [[nodiscard]] static Result<PreparedHead> read(std::span<const std::byte, size> page) {
    if (as_text(Bytes(page).first(magic.size())) != magic) {
      return error(Error::InvalidExternalData, "begins with ",
                   quoted(as_text(Bytes(page).first(magic.size()))), ", expected ", magic);
    }
    PreparedHead out;
    std::memcpy(&out.nbytes, page.data() + 8, sizeof out.nbytes);
    std::memcpy(out.key.bytes.data(), page.data() + 16, out.key.bytes.size());
    std::memcpy(out.content.bytes.data(), page.data() + 48, out.content.bytes.size());
    const auto text = [&](std::size_t at) {
      const std::string_view whole = as_text(Bytes(page).subspan(at, most_text));
      return std::string(whole.substr(0, whole.find('\0')));
    };
    out.backend_id = text(first_text);
    out.plugin_path = text(second_text);
    return out;
  }

 private:
  static constexpr std::size_t first_text = 1024;
  static constexpr std::size_t second_text = first_text + most_text;
};

/// All of `to`, from `offset` of an open file.
inline Status read_exactly(const OpenedFile& file, std::span<std::byte> to, std::uint64_t offset) {
  const std::ptrdiff_t got = read_at(file.descriptor.get(), to, offset);
  if (got < 0) return error(Error::AccessFailed, "cannot be read: ", std::strerror(errno));
  if (static_cast<std::size_t>(got) == to.size()) return ok();
  return error(Error::InvalidExternalData, "ends after ", offset + static_cast<std::uint64_t>(got),
               " bytes, expected ", offset + to.size());
}

/// The head of a file whose size fits it.
inline Result<PreparedHead> read_prepared_head(const OpenedFile& file) {
  std::array<std::byte, PreparedHead::size> page;
  TENON_RETURN_IF_ERROR(read_exactly(file, page, 0));
  TENON_TRY(PreparedHead head, PreparedHead::read(page));
  if (file.identity.size - PreparedHead::size == head.nbytes) return head;
  return error(Error::InvalidExternalData, "has ", file.identity.size, " bytes, expected ",
               PreparedHead::size, " and ", head.nbytes);
}

inline Status other_bytes() {
  return error(Error::InvalidExternalData, "its bytes are not those that were stored");
}

/// A copy of the bytes of a file, checked and read-only. A file that is larger than the whole cache
/// may be, `max_bytes`, is not read.
inline Result<SealedBytes> read_prepared(const OpenedFile& file, const PreparedHead& head,
                                         std::uint64_t max_bytes) {
  if (file.identity.size > std::min<std::uint64_t>(max_bytes, PTRDIFF_MAX)) {
    return error(Error::InvalidExternalData, "has ", file.identity.size,
                 " bytes, expected at most ", max_bytes, ", the limit of the cache");
  }
  TENON_TRY(SealedBytes out, SealedBytes::take(static_cast<std::size_t>(head.nbytes)));
  TENON_RETURN_IF_ERROR(read_exactly(file, out.writable(), PreparedHead::size));
  TENON_RETURN_IF_ERROR(out.seal());
  if (sha256_of(out.bytes()).bytes == head.content.bytes) return out;
  return other_bytes();
}

/// Whether the bytes of a file are those that were stored, of any size: they are read in pieces.
inline Status check_prepared(const OpenedFile& file, const PreparedHead& head) {
  constexpr std::uint64_t piece = 256 * 1024;
  std::vector<std::byte> buffer(piece);
  Sha256Hasher hasher;
  for (std::uint64_t done = 0; done < head.nbytes;) {
    const std::span part(buffer.data(),
                         static_cast<std::size_t>(std::min(piece, head.nbytes - done)));
    TENON_RETURN_IF_ERROR(read_exactly(file, part, PreparedHead::size + done));
    hasher.update(part);
    done += part.size();
  }
  if (hasher.finish().bytes == head.content.bytes) return ok();
  return other_bytes();
}

/// Writes a file of `parts`, for the user of the process alone.
inline Status write_prepared(const std::filesystem::path& path, PreparedHead head,
                             std::span<const Bytes> parts) {
  Sha256Hasher hasher;
  head.nbytes = 0;
  for (const Bytes part : parts) {
    hasher.update(part);
    head.nbytes += part.size();
  }
  head.content = hasher.finish();
  TENON_TRY(NewFile file, NewFile::replace(path));
  const std::array page = head.write();
  TENON_RETURN_IF_ERROR(file.write(page));
  for (const Bytes part : parts) TENON_RETURN_IF_ERROR(file.write(part));
  return file.commit();
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
