// SPDX-License-Identifier: MIT
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/impl/program/verify_offsets.hpp"
#include "tenon/host/loader/program/tensor_layout.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A failure with its location ("value 3").
[[nodiscard, gnu::cold]] inline Status failure_with_location(
    Status&& failure, tenon::detail::Piece a, tenon::detail::Piece b = "",
    tenon::detail::Piece c = "", tenon::detail::Piece d = "", tenon::detail::Piece e = "") {
  return std::move(failure).with_context(concat(a, b, c, d, e));
}

/// Adds the location to a failure. On success, the common case, the pieces are not made.
template <class... Pieces>
[[nodiscard, gnu::always_inline]] inline Status with_location(Status&& status,
                                                              const Pieces&... pieces) {
  if (status.ok()) [[likely]]
    return ok();
  return failure_with_location(std::move(status), pieces...);
}

/// Bounds the work that a file can cause. A flatbuffer may refer to the same vector or string from
/// many places, so that looking at each reference costs far more than the file has bytes. Writers
/// do not share that way.
class WorkLimit {
 public:
  /// `limits` is borrowed: what one name may have.
  WorkLimit(std::uint64_t file_size, const HostLimits& limits) noexcept
      : left_(4 * file_size), limits_(limits) {}

  [[nodiscard]] const HostLimits& limits() const noexcept { return limits_; }

  /// Counts `nbytes` that are about to be looked at; false when the file had its share.
  [[nodiscard]] bool take(std::uint64_t nbytes) noexcept {
    if (nbytes > left_) return false;
    left_ -= nbytes;
    return true;
  }

 private:
  std::uint64_t left_;
  const HostLimits& limits_;
};

inline Status shared_too_often(Error code) {
  return error(code,
               "vectors or strings are shared so often that checking them would take too "
               "long; no writer does that");
}

/// Whether flatbuffers' own verifier finds no fault. `max_tables` are counted at each reference.
///
/// The library's checks of the tables of a schema are many small functions, of which compilers put
/// few in place of their calls, although most are called from one place: all in one function take
/// two thirds of the time.
template <class Root>
[[nodiscard, gnu::flatten]] bool library_accepts(std::span<const std::byte> bytes,
                                                 const char* identifier, std::uint32_t max_tables) {
  // The deepest table is below four others.
  flatbuffers::Verifier::Options options;
  options.max_depth = 16;
  options.max_tables = max_tables;
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
                                 options);
  return verifier.VerifyBuffer<Root>(identifier);
}

/// The root table of a flatbuffer, when every offset in it stays inside `bytes` and every scalar is
/// aligned. `bytes` is aligned to 16, and smaller than 2 GiB. Flatbuffers' verifier decides:
/// `OffsetCheck` only finds sooner what the verifier accepts.
///
/// errors: `code`. The library does not say which offset is wrong, so the text cannot.
template <class Root>
[[nodiscard]] Result<const Root*> verify_flatbuffer(std::span<const std::byte> bytes,
                                                    const char* identifier, Error code) {
  // Of fewer bytes most tables are the first of their kind, which the library checks sooner.
  constexpr std::size_t many = 2048;
  // Each reference to a table takes four bytes, so a file that shares no subtrees cannot reach the
  // limit of tables.
  const auto max_tables = static_cast<std::uint32_t>(bytes.size() / 4 + 1);
  const bool accepted =
      bytes.size() >= many && OffsetCheck(bytes, max_tables).accepts<Root>(identifier);
  if (!accepted && !library_accepts<Root>(bytes, identifier, max_tables)) {
    return error(code, "the flatbuffer of ", bytes.size(),
                 " bytes is corrupt: an offset, a length or a string's end is wrong");
  }
  return flatbuffers::GetRoot<Root>(bytes.data());
}

/// Whether the elements of a verified vector are aligned. The library checks this for fields, but
/// not for vectors of eight-byte elements.
template <class Element>
[[nodiscard]] bool aligned(const flatbuffers::Vector<Element>& vector) noexcept {
  return vector.size() == 0 ||
         reinterpret_cast<std::uintptr_t>(vector.Data()) % sizeof(Element) == 0;
}

/// Checks that a name is not too long; it may be missing.
[[nodiscard]] inline Status verify_name_size(const flatbuffers::String* text,
                                             std::string_view field, const HostLimits& limits) {
  if (text == nullptr || text->size() <= limits.name_bytes) [[likely]]
    return ok();
  return over_limit(concat("bytes of ", field), text->size(), "name_bytes", limits.name_bytes);
}

/// Checks that a name is present and not too long.
[[nodiscard]] inline Status verify_text(const flatbuffers::String* text, std::string_view field,
                                        WorkLimit& limit, Error code) {
  if (text == nullptr) return error(code, field, " is missing");
  TENON_RETURN_IF_ERROR(verify_name_size(text, field, limit.limits()));
  if (!limit.take(text->size())) return shared_too_often(code);
  return ok();
}

/// The failure of a name that `verify_c_string` refuses.
[[nodiscard, gnu::cold]] inline Status refuse_c_string(const flatbuffers::String* text,
                                                       std::string_view field, WorkLimit& limit,
                                                       Error code) {
  TENON_RETURN_IF_ERROR(verify_text(text, field, limit, code));
  return error(code, field, " ", quoted(text->string_view()), " holds a NUL byte");
}

/// Checks that a name is present, not too long, and contains no NUL, so that it can be used as a C
/// string.
[[nodiscard]] inline Status verify_c_string(const flatbuffers::String* text, std::string_view field,
                                            WorkLimit& limit, Error code) {
  if (text != nullptr && text->size() <= limit.limits().name_bytes &&
      std::memchr(text->data(), 0, text->size()) == nullptr && limit.take(text->size())) [[likely]]
    return ok();
  return refuse_c_string(text, field, limit, code);
}

/// Entries and bytes of the named data of one file.
class NamedDataSize {
 public:
  /// `limits` is borrowed.
  NamedDataSize(std::uint64_t entries, const HostLimits& limits) noexcept
      : entries_(entries), limits_(limits) {}

  void add(std::uint64_t nbytes) noexcept { nbytes_ = add_saturating(nbytes_, nbytes); }

  [[nodiscard]] Status check() const {
    if (entries_ > limits_.named_data_entries) {
      return over_limit("entries of named_data", entries_, "named_data_entries",
                        limits_.named_data_entries);
    }
    if (nbytes_ <= limits_.named_data_bytes) return ok();
    return over_limit("bytes of named_data", nbytes_, "named_data_bytes", limits_.named_data_bytes);
  }

 private:
  std::uint64_t entries_;
  std::uint64_t nbytes_ = 0;
  const HostLimits& limits_;
};

/// Checks one entry of a list of segments against the bytes that segments may use.
[[nodiscard]] inline Status verify_segment(std::uint64_t offset, std::uint64_t size,
                                           std::uint64_t segment_size, Error code) {
  if (offset > segment_size || size > segment_size - offset) {
    return error(code, size, " bytes at offset ", offset, ", but the segments of the file have ",
                 segment_size, " bytes");
  }
  return ok();
}

template <class Segment>
[[nodiscard]] Status verify_segment(const Segment& segment, std::uint64_t segment_size,
                                    Error code) {
  return verify_segment(segment.offset(), segment.size(), segment_size, code);
}

/// The layout of a table with `scalar_type`, `sizes` and `dim_order`, unchecked.
template <class Table>
[[nodiscard]] StoredTensorLayout layout_of(const Table& table) noexcept {
  return {static_cast<ScalarType>(table.scalar_type()),
          {table.sizes()->data(), table.sizes()->size()},
          {table.dim_order()->data(), table.dim_order()->size()}};
}

/// Checks what `layout_of` and the arithmetic of `StoredTensorLayout` rely on: a known scalar type,
/// at most 16 dimensions, no negative size, a dim order that is a permutation, and a number of
/// bytes that fits in 63 bits even when sizes of 0 count as 1 (strides are computed that way).
///
/// errors: `code`.
[[nodiscard]] inline Status verify_layout(int scalar_type,
                                          const flatbuffers::Vector<std::int32_t>* sizes,
                                          const flatbuffers::Vector<std::uint8_t>* dim_order,
                                          Error code) {
  if (find_scalar_type(scalar_type) == nullptr) {
    return error(code, "scalar_type is ", scalar_type, ", expected a known type, 0 to ",
                 scalar_types.size() - 1);
  }
  if (sizes == nullptr) return error(code, "sizes is missing");
  if (dim_order == nullptr) return error(code, "dim_order is missing");
  const std::size_t rank = sizes->size();
  if (rank > max_rank) {
    return error(code, "rank is ", rank, ", expected at most ", max_rank);
  }
  if (dim_order->size() != rank) {
    return error(code, "dim_order has ", dim_order->size(), " entries, expected the rank, ", rank);
  }
  std::uint32_t seen = 0;
  std::uint64_t nbytes = size_of(static_cast<ScalarType>(scalar_type));
  for (flatbuffers::uoffset_t i = 0; i < rank; ++i) {
    if (sizes->Get(i) < 0) {
      return error(code, "sizes[", i, "] is ", sizes->Get(i), ", expected 0 or more");
    }
    const std::uint32_t dimension = dim_order->Get(i);
    if (dimension >= rank) {
      return error(code, "dim_order[", i, "] is ", dimension, ", expected below the rank, ", rank);
    }
    if ((seen >> dimension & 1u) != 0) {
      return error(code, "dim_order[", i, "] is ", dimension, ", which appeared before");
    }
    seen |= 1u << dimension;
    const auto size = static_cast<std::uint64_t>(std::max(sizes->Get(i), 1));
    if (nbytes > std::uint64_t{std::numeric_limits<std::int64_t>::max()} / size) {
      return error(code, "sizes: the number of bytes overflows at dimension ", i);
    }
    nbytes *= size;
  }
  return ok();
}

template <class Table>
[[nodiscard]] Status verify_layout(const Table& table, Error code) {
  return verify_layout(static_cast<int>(table.scalar_type()), table.sizes(), table.dim_order(),
                       code);
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
