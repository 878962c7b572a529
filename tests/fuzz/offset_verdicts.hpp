// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/core/file_bytes.hpp"
#include "tenon/host/loader/impl/program/flatbuffer_root.hpp"
#include "tenon/host/loader/program/file_header.hpp"
#include "tenon/host/schema/flat_tensor_generated.h"
#include "tenon/host/schema/program_generated.h"

namespace tenon::test {

/// Two verdicts on the offsets of one flatbuffer.
struct OffsetVerdicts {
  bool ours = false;     ///< Of `OffsetCheck`.
  bool library = false;  ///< Of flatbuffers' own verifier.
  std::size_t nbytes = 0;

  /// `OffsetCheck` may only accept what the library accepts; the reverse costs time and no more.
  [[nodiscard]] bool agree() const { return library || !ours; }
};

template <class Root>
[[nodiscard]] OffsetVerdicts offset_verdicts(std::span<const std::byte> flatbuffer,
                                             const char* identifier) {
  const auto max_tables = static_cast<std::uint32_t>(flatbuffer.size() / 4 + 1);
  return {host::detail::OffsetCheck(flatbuffer, max_tables).accepts<Root>(identifier),
          host::detail::library_accepts<Root>(flatbuffer, identifier, max_tables),
          flatbuffer.size()};
}

/// The verdicts of the flatbuffer of a program or a data file. Without a header that says how long
/// it is all bytes are taken.
[[nodiscard]] inline OffsetVerdicts offset_verdicts(std::span<const std::byte> file) {
  const FileBytes bytes(file);
  const bool is_data_file = host::detail::file_identifier(bytes) == "FT01";
  const auto parts = is_data_file ? host::detail::read_data_file_header(bytes)
                                  : host::detail::read_program_header(bytes, file.size());
  const auto flatbuffer =
      parts.ok() ? file.first(static_cast<std::size_t>(parts->flatbuffer_size)) : file;
  if (is_data_file) {
    namespace schema = tenon::flat_tensor_schema;
    return offset_verdicts<schema::FlatTensor>(flatbuffer, schema::FlatTensorIdentifier());
  }
  return offset_verdicts<schema::Program>(flatbuffer, schema::ProgramIdentifier());
}

}  // namespace tenon::test
