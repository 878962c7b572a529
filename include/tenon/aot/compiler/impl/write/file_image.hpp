// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/write/file_image.hpp"

#include <bit>
#include <cstring>
#include <numeric>
#include <span>

#include "tenon/host/platform/new_file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

std::vector<std::byte> FileImage::bytes() const {
  std::vector<std::byte> out(static_cast<std::size_t>(size_));
  for (const auto& [offset, piece] : pieces_) {
    const auto bytes = piece.bytes();
    if (!bytes.empty()) {
      std::memcpy(out.data() + static_cast<std::size_t>(offset), bytes.data(), bytes.size());
    }
  }
  return out;
}

Status FileImage::write(const std::filesystem::path& path) const {
  TENON_TRY(auto file, host::NewFile::create(path));
  TENON_RETURN_IF_ERROR(stream([&file](Bytes part) { return file.write(part); }));
  return file.commit();
}

namespace detail {

[[nodiscard]] inline std::uint64_t round_up(std::uint64_t number, std::uint64_t multiple) noexcept {
  return (number + multiple - 1) / multiple * multiple;
}

/// The segments behind a flatbuffer, while they are laid out. Offsets are from the first one.
class SegmentLayout {
 public:
  struct Segment {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };

  /// Every segment begins at a multiple of `alignment`, a power of two.
  explicit SegmentLayout(std::uint64_t alignment) noexcept
      : alignment_(alignment), base_alignment_(alignment) {}

  /// Begins a segment, at a multiple of `alignment` as well, and returns its index.
  std::uint32_t begin(std::uint64_t alignment = 1) {
    segments_.push_back({round_up(end(), std::lcm(alignment_, alignment)), 0});
    base_alignment_ = std::max(base_alignment_, power_of_two_in(alignment));
    return static_cast<std::uint32_t>(segments_.size()) - 1;
  }
  /// Adds bytes to the last segment, at a multiple of `alignment` from its start, and returns the
  /// distance from there.
  std::uint64_t append(SharedBytes bytes, std::uint64_t alignment = 1) {
    auto& segment = segments_.back();
    const auto at = round_up(segment.size, alignment);
    segment.size = at + bytes.size();
    pieces_.push_back({segment.offset + at, std::move(bytes)});
    return at;
  }
  /// A segment of its own for `bytes`.
  std::uint32_t add(SharedBytes bytes, std::uint64_t alignment = 1) {
    const auto index = begin(alignment);
    append(std::move(bytes));
    return index;
  }

  [[nodiscard]] const std::vector<Segment>& all() const noexcept { return segments_; }
  /// Bytes of all segments, with the padding between them.
  [[nodiscard]] std::uint64_t end() const noexcept {
    return segments_.empty() ? 0 : segments_.back().offset + segments_.back().size;
  }

  /// The offset of the first segment in a file whose head has `head_size` bytes. Every alignment
  /// that is a power of two then holds from the start of the file, too.
  [[nodiscard]] std::uint64_t base(std::uint64_t head_size) const noexcept {
    return round_up(head_size, base_alignment_);
  }

  /// The file: `head`, and the segments at `base(head.size())`.
  [[nodiscard]] FileImage image(std::vector<std::byte> head) && {
    const auto first = base(head.size());
    for (auto& piece : pieces_) piece.offset += first;
    pieces_.insert(pieces_.begin(), FileImage::Piece{0, SharedBytes(std::move(head))});
    return FileImage(first + end(), std::move(pieces_));
  }

 private:
  static std::uint64_t power_of_two_in(std::uint64_t number) noexcept {
    return std::uint64_t{1} << std::countr_zero(number);
  }

  std::uint64_t alignment_;
  std::uint64_t base_alignment_;
  std::vector<Segment> segments_;
  std::vector<FileImage::Piece> pieces_;
};

/// Makes room for `header_size` bytes behind the first eight bytes of a flatbuffer, which are the
/// offset of its root and its identifier. A multiple of 16, so that nothing loses its alignment.
[[nodiscard]] inline std::vector<std::byte> insert_header(Bytes flatbuffer,
                                                          std::uint32_t header_size) {
  constexpr std::size_t at = 8;
  std::vector<std::byte> out;
  out.reserve(flatbuffer.size() + header_size);
  out.assign(flatbuffer.begin(), flatbuffer.begin() + at);
  out.resize(at + header_size);
  out.insert(out.end(), flatbuffer.begin() + at, flatbuffer.end());
  const auto root = *read_le<std::uint32_t>(flatbuffer) + header_size;
  std::memcpy(out.data(), &root, sizeof root);
  return out;
}

/// Writes a number at `offset`, little-endian as the machine is.
template <class Number>
void put(std::span<std::byte> bytes, std::size_t offset, Number number) noexcept {
  std::memcpy(bytes.subspan(offset, sizeof number).data(), &number, sizeof number);
}

}  // namespace detail
}}}  // namespace tenon::TENON_RELEASE::aot
