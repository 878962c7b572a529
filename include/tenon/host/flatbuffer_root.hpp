// SPDX-License-Identifier: MIT
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/quoted.hpp"

namespace tenon::host::detail {

/// Adds `where` to a failure ("value 3"). On success the pieces are not even joined.
template <class... Pieces>
[[nodiscard]] Status within(Status&& status, const Pieces&... where) {
  if (status.ok()) [[likely]]
    return std::move(status);
  return std::move(status).with_context(concat(where...));
}

/// Bounds the work that a file can cause. A flatbuffer may refer to the same vector or string from
/// many places, so that looking at each reference costs far more than the file has bytes. Writers
/// do not share that way.
class WorkLimit {
 public:
  explicit WorkLimit(std::uint64_t file_size) noexcept : left_(4 * file_size) {}

  /// Counts `nbytes` that are about to be looked at; false when the file had its share.
  [[nodiscard]] bool take(std::uint64_t nbytes) noexcept {
    if (nbytes > left_) return false;
    left_ -= nbytes;
    return true;
  }

 private:
  std::uint64_t left_;
};

inline Status shared_too_often(Error code) {
  return error(code,
               "vectors or strings are shared so often that checking them would take too "
               "long; no writer does that");
}

/// The root table of a flatbuffer, when every offset in it stays inside `bytes` and every scalar is
/// aligned. `bytes` is aligned to 16, and smaller than 2 GiB.
///
/// errors: `code`. The library does not say which offset is wrong, so the text cannot.
template <class Root>
[[nodiscard]] Result<const Root*> verify_flatbuffer(std::span<const std::byte> bytes,
                                                    const char* identifier, Error code) {
  // The deepest table lies below four others. Each reference to a table takes four bytes, so a file
  // that shares no subtrees cannot reach the limit of tables.
  flatbuffers::Verifier::Options options;
  options.max_depth = 16;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 1);
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size(), options);
  if (!verifier.VerifyBuffer<Root>(identifier)) {
    return error(code, "the flatbuffer of ", bytes.size(),
                 " bytes is corrupt: an offset, a length or a string's end is wrong");
  }
  return flatbuffers::GetRoot<Root>(data);
}

/// Whether the elements of a verified vector are aligned. The library checks this for fields, but
/// not for vectors of eight-byte elements.
template <class Element>
[[nodiscard]] bool aligned(const flatbuffers::Vector<Element>& vector) noexcept {
  return vector.size() == 0 ||
         reinterpret_cast<std::uintptr_t>(vector.Data()) % sizeof(Element) == 0;
}

/// Checks that a text is there.
[[nodiscard]] inline Status verify_text(const flatbuffers::String* text, std::string_view field,
                                        WorkLimit& limit, Error code) {
  if (text == nullptr) return error(code, field, " is missing");
  if (!limit.take(text->size())) return shared_too_often(code);
  return ok();
}

/// Checks that a text is there and that code which treats it as a C string sees all of it.
[[nodiscard]] inline Status verify_c_string(const flatbuffers::String* text, std::string_view field,
                                            WorkLimit& limit, Error code) {
  TENON_CHECK(verify_text(text, field, limit, code));
  if (text->string_view().find('\0') != std::string_view::npos) {
    return error(code, field, " ", quoted(text->string_view()), " holds a NUL byte");
  }
  return ok();
}

/// Checks one entry of a list of segments against the bytes that segments may use.
template <class Segment>
[[nodiscard]] Status verify_segment(const Segment& segment, std::uint64_t segment_size,
                                    Error code) {
  if (segment.offset() > segment_size || segment.size() > segment_size - segment.offset()) {
    return error(code, segment.size(), " bytes at offset ", segment.offset(),
                 ", but the segments of the file have ", segment_size, " bytes");
  }
  return ok();
}

}  // namespace tenon::host::detail
