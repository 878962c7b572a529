// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// A `.pte` or `.ptd` file that is laid out and not written yet: a head, and pieces behind it that
/// it shares with their makers. Large data is copied only into the file. Immutable; any thread
/// may use it.
class FileImage {
 public:
  /// Bytes at a place in the file. Pieces are in order and do not overlap; between them are zeros.
  struct Piece {
    std::uint64_t offset = 0;
    SharedBytes bytes;
  };

  FileImage(std::uint64_t size, std::vector<Piece> pieces) noexcept
      : size_(size), pieces_(std::move(pieces)) {}

  /// Bytes of the file.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] const std::vector<Piece>& pieces() const noexcept { return pieces_; }

  /// Gives the whole file to `write`, a function that takes Bytes and returns a Status, in order
  /// and in parts. Stops at its first failure and returns it.
  template <class Write>
  Status stream(Write&& write) const {
    static constexpr std::array<std::byte, 4096> zeros{};
    std::uint64_t at = 0;
    const auto pad_to = [&](std::uint64_t offset) -> Status {
      while (at < offset) {
        const auto part =
            static_cast<std::size_t>(std::min<std::uint64_t>(offset - at, zeros.size()));
        TENON_RETURN_IF_ERROR(write(Bytes(zeros).first(part)));
        at += part;
      }
      return ok();
    };
    for (const Piece& piece : pieces_) {
      TENON_RETURN_IF_ERROR(pad_to(piece.offset));
      if (piece.bytes.empty()) continue;
      TENON_RETURN_IF_ERROR(write(piece.bytes.bytes()));
      at += piece.bytes.size();
    }
    return pad_to(size_);
  }

  /// The file in memory. `host::Program::from_bytes` and `host::DataFile::from_bytes` take it where
  /// `operator new` aligns to 16, as on every 64-bit system that Tenon runs on.
  [[nodiscard]] std::vector<std::byte> bytes() const;

  /// Writes the file. It appears at `path` when it is complete, or not at all (host::NewFile).
  ///
  /// errors: AccessFailed; OutOfResources when the disk is full. The text begins with the path.
  Status write(const std::filesystem::path& path) const;

 private:
  std::uint64_t size_;
  std::vector<Piece> pieces_;
};

}}}  // namespace tenon::TENON_RELEASE::aot
