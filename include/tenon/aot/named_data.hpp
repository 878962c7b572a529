// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/aot/dense_layout.hpp"
#include "tenon/aot/shared_bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// The place of the data of a key, its alignment and its layout (ExecuTorch:
/// exir/_serialize/data_serializer.py).
struct DataEntry {
  std::uint32_t buffer_index = 0;            ///< Into NamedDataStoreOutput::buffers.
  std::uint64_t alignment = 1;               ///< Of the data in its file, in bytes.
  std::optional<DenseLayout> tensor_layout;  ///< Nothing when the data is not a tensor.

  friend bool operator==(const DataEntry&, const DataEntry&) = default;
};

struct NamedEntry {
  std::string key;
  DataEntry entry;

  friend bool operator==(const NamedEntry&, const NamedEntry&) = default;
};

/// Data for a file of its own.
struct ExternalData {
  std::string tag;  ///< The file is called `tag` + ".ptd".
  std::vector<NamedEntry> entries;

  friend bool operator==(const ExternalData&, const ExternalData&) = default;
};

/// Named data, ready to be written (ExecuTorch: exir/_serialize/_named_data_store.py). Lists are in
/// the order in which keys and tags were first seen, so that equal calls give equal files.
///
/// NamedDataStore makes it. Made by hand it is checked where it is used: by
/// NamedDataStore::merge_named_data_store and by the writers.
struct NamedDataStoreOutput {
  std::vector<SharedBytes> buffers;  ///< Distinct contents.
  std::vector<NamedEntry> pte_data;  ///< Stored in the program.
  std::vector<ExternalData> external_data;

  [[nodiscard]] const ExternalData* find_external_data(std::string_view tag) const noexcept {
    for (const auto& one : external_data) {
      if (one.tag == tag) return &one;
    }
    return nullptr;
  }
};

}}}  // namespace tenon::TENON_RELEASE::aot
