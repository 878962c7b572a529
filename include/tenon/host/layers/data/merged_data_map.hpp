// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/host.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/loader/program/tensor_layout.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The named data of a program and of data files as one map (ExecuTorch: MergedDataMap). Plugins
/// see it as `tenon_named_data_map`. A program without data files needs none: it has its own
/// (`Program::named_data`).
///
/// Keeps the program and the files alive. Its contents and its address never change: methods
/// and threads may share one. Look-up is by hash in each file in turn, so its cost depends on the
/// number of files and not on the number of keys.
class MergedDataMap final : private tenon_named_data_map {
 public:
  struct Entry {
    std::span<const std::byte> data;
    std::optional<StoredTensorLayout> layout;  ///< Nothing when the data is not a tensor.
  };

  /// Joins the data of `external`, which comes first, with the data of `program`. `program` may be
  /// null; no pointer in `external` is. The cost grows with the number of keys only when there are
  /// several files.
  ///
  /// errors: InvalidArgument when two of them have the same key (MergedDataMap::load). The text
  ///         names the key and both files.
  [[nodiscard]] static Result<std::shared_ptr<const MergedDataMap>> create(
      std::shared_ptr<const Program> program,
      const std::vector<std::shared_ptr<const DataFile>>& external = {});

  MergedDataMap(const MergedDataMap&) = delete;
  MergedDataMap& operator=(const MergedDataMap&) = delete;

  /// The value of `tenon_init_context.named_data_map`: null when there are no keys. Valid while
  /// this object lives; so are buffers got from it. Releasing a buffer drops the memory of its
  /// pages: other users of the same bytes still read them, from the file again.
  [[nodiscard]] const tenon_named_data_map* abi() const noexcept;

  [[nodiscard]] std::uint32_t num_keys() const noexcept { return num_keys_; }

  /// Key number `index`: the keys of external files first, each in the order of its file. Nothing
  /// when `index` is above the end.
  [[nodiscard]] std::optional<std::string_view> key(std::uint32_t index) const noexcept;

  /// The data of `key`, or nothing when no file has it. Valid while this object lives.
  [[nodiscard]] std::optional<Entry> find(std::string_view key) const noexcept;

 private:
  /// One file of the map: a data file, or the program.
  struct Source {
    std::shared_ptr<const DataFile> file;
    std::shared_ptr<const Program> program;  ///< Null when there is a data file.

    [[nodiscard]] std::uint32_t num_keys() const noexcept;
    [[nodiscard]] std::string_view key(std::uint32_t index) const noexcept;
    [[nodiscard]] std::optional<std::uint32_t> find_key(std::string_view key) const noexcept;
    [[nodiscard]] const std::string& name() const noexcept;
    [[nodiscard]] Entry entry(std::uint32_t index) const noexcept;
    /// As plugins see the file; null when it has no keys.
    [[nodiscard]] const tenon_named_data_map* named_data() const noexcept;
  };

  MergedDataMap(std::vector<Source> sources, std::uint32_t count) noexcept;

  static Status verify_distinct(const Source& first, const Source& second);

  /// The first answer of a file that has the key: keys differ.
  template <class Ask>
  [[nodiscard]] tenon_status ask_files(const Ask& ask) const noexcept;

  static tenon_status get_data_entry(const tenon_named_data_map* map, const char* key,
                                     std::uint64_t key_size, tenon_buffer* out) noexcept;

  static tenon_status get_tensor_layout_entry(const tenon_named_data_map* map, const char* key,
                                              std::uint64_t key_size,
                                              tenon_tensor_layout* out) noexcept;

  static tenon_status get_key_entry(const tenon_named_data_map* map, std::uint32_t index,
                                    const char** key, std::uint64_t* key_size) noexcept;

  std::vector<Source> sources_;
  std::uint32_t num_keys_;
};

}}}  // namespace tenon::TENON_RELEASE::host
