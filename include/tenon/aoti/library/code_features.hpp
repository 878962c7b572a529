// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aoti/library/code_places.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/elf/elf_image.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/core/x86_features.hpp"

/// The CPU features that the code of a model needs. AOTInductor compiles for the processor of the
/// exporting machine (`-march=native`) and notes it nowhere: on another one the process ends with
/// SIGILL, maybe already in the library's static initialisers. So the instructions are read before
/// the library is loaded.
namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Reads one instruction of x86-64 at the begin of `code`: adds the features that it needs to
/// `needed` and returns its number of bytes, or returns 0 when no instruction begins there.
/// Threads: any.
using DecodeX86 = std::size_t (*)(Bytes code, X86FeatureSet& needed) noexcept;

/// The CPU features that a library's instructions need, as far as they are known.
struct CodeFeatures {
  bool is_known = false;           ///< They were decoded, or the exporter named their features.
  std::vector<std::string> names;  ///< As in a plugin's record, each once.

  void add(std::string_view name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
};

/// Features of all instructions in these bytes. Where no instruction begins, the next byte
/// is read, so the cost is linear in the number of bytes, whatever they are.
[[nodiscard]] inline X86FeatureSet x86_features_of_code(Bytes code, DecodeX86 decode) noexcept {
  X86FeatureSet needed;
  while (!code.empty()) {
    const std::size_t length = decode(code, needed);
    code = code.subspan(std::clamp<std::size_t>(length, 1, code.size()));
  }
  return needed;
}

/// Whether a file is an ELF file of 64 bits with code for x86-64.
[[nodiscard]] inline bool is_x86_library(Bytes library) noexcept {
  constexpr std::uint16_t x86_64 = 62;  // EM_X86_64
  return elf64_machine(library) == x86_64;
}

/// Features of the instructions of a library for x86-64, an ELF file. `is_known` is false for
/// another file, and without a decoder.
[[nodiscard]] inline CodeFeatures decode_library(Bytes library, DecodeX86 decode) {
  CodeFeatures out;
  if (!decode || !is_x86_library(library)) return out;
  X86FeatureSet needed;
  for (const Bytes part : code_places(library)) needed |= x86_features_of_code(part, decode);
  for (std::size_t i = 0; i < std::size(x86_features); ++i) {
    // All processors have the features of the first level.
    if (needed.test(i) && x86_features[i].level != 1) out.add(x86_features[i].name);
  }
  out.is_known = true;
  return out;
}

/// Features of the last libraries that were decoded, by the SHA-256 of their bytes: a model's
/// library is read for `check_blob`, for `init`, and for the image with checks.
/// Threads: any.
class DecodedLibraries {
 public:
  static constexpr std::size_t capacity = 64;

  /// As `decode_library`, which is called when the library is not among the last ones.
  [[nodiscard]] CodeFeatures get(Bytes library, DecodeX86 decode) {
    if (!decode || !is_x86_library(library)) return {};
    const Sha256 hash = sha256_of(library);
    {
      const std::lock_guard lock(mutex_);
      for (const Entry& entry : entries_) {
        if (entry.hash == hash && entry.decode == decode) return entry.features;
      }
    }
    CodeFeatures features = decode_library(library, decode);
    const std::lock_guard lock(mutex_);
    if (entries_.size() < capacity) {
      entries_.push_back({hash, decode, features});
    } else {
      entries_[oldest_] = {hash, decode, features};
      oldest_ = (oldest_ + 1) % capacity;
    }
    return features;
  }

 private:
  struct Entry {
    Sha256 hash;
    DecodeX86 decode;
    CodeFeatures features;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::size_t oldest_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
