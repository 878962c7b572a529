// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/loader/program/key_index.hpp"
#include "tenon/host/loader/program/named_data_table.hpp"
#include "tenon/host/loader/program/tensor_layout.hpp"
#include "tenon/host/schema/forward.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Data by name: the contents of one `.ptd` file ("FT01", ExecuTorch's extension/flat_tensor).
///
/// Opening verifies all of it: the header, the flatbuffer, that version is 0, that segments are in
/// the file, that keys are distinct and name existing segments, and that each tensor layout is
/// sound and its data complete and aligned to the element size. The bytes of segments are not
/// touched. Immutable: any thread may use it, and any number of programs share it. Everything that
/// it returns points into it and is valid while it lives.
class DataFile : public NamedDataTable<DataFile> {
 public:
  /// Maps the file at `path` and verifies it.
  ///
  /// errors: AccessFailed (MappedFile::open); InvalidExternalData for whatever a correct writer
  ///         cannot have written (FlatTensorDataMap::load); OutOfResources for names and named data
  ///         above `limits`. The text begins with the path.
  [[nodiscard]] static Result<std::shared_ptr<const DataFile>> open(
      const std::filesystem::path& path, const HostLimits& limits = {});

  /// Verifies data that is in memory already. `bytes` begins at a multiple of 16; it is not copied,
  /// and must not change while the data file lives. `keep_alive` is held as long and may own the
  /// bytes. `name` replaces the path in errors.
  ///
  /// errors: as `open`; InvalidArgument when `bytes` is not aligned.
  [[nodiscard]] static Result<std::shared_ptr<const DataFile>> from_bytes(
      std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive, std::string name,
      const HostLimits& limits = {});

  /// The path, as it was given to `open`, or the name given to `from_bytes`.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// The verified flatbuffer.
  [[nodiscard]] const flat_tensor_schema::FlatTensor& flatbuffer() const noexcept { return *root_; }

  [[nodiscard]] std::uint32_t num_keys() const noexcept { return keys_.size(); }
  /// Key `index`, below `num_keys()`.
  [[nodiscard]] std::string_view key(std::uint32_t index) const noexcept;
  /// The number of the key, or nothing when the file does not have it. Found by hash.
  [[nodiscard]] std::optional<std::uint32_t> find_key(std::string_view key) const noexcept;
  /// The bytes of key `index`, below `num_keys()`.
  [[nodiscard]] std::span<const std::byte> key_data(std::uint32_t index) const noexcept;
  /// The layout of key `index`, below `num_keys()`; nothing when its data is not a tensor.
  [[nodiscard]] std::optional<StoredTensorLayout> key_layout(std::uint32_t index) const noexcept;

  /// The sizes of a layout in 64 bits, as plugins see them. Valid while the file lives.
  [[nodiscard]] const std::int64_t* keep_wide(std::span<const std::int32_t> sizes) const {
    return sizes_.keep(sizes);
  }

  /// Gives the memory of the whole pages inside `part` back to the system. The bytes stay readable,
  /// at the cost of reading them from the file again. Does nothing for data in memory.
  void drop(std::span<const std::byte> part) const noexcept { file_.drop(part); }

 private:
  struct Verified {
    const flat_tensor_schema::FlatTensor* root;
    std::span<const std::byte> segments;
    detail::KeyIndex keys;
  };

  DataFile(MappedFile file, std::shared_ptr<const void> keep_alive, std::string name,
           Verified verified) noexcept;

  static Result<std::shared_ptr<const DataFile>> make(std::span<const std::byte> bytes,
                                                      MappedFile file,
                                                      std::shared_ptr<const void> keep_alive,
                                                      std::string name, const HostLimits& limits);
  static Result<Verified> verify(std::span<const std::byte> bytes, const HostLimits& limits);

  MappedFile file_;
  std::shared_ptr<const void> keep_alive_;
  std::string name_;
  const flat_tensor_schema::FlatTensor* root_;
  std::span<const std::byte> segments_;
  detail::KeyIndex keys_;
  mutable WideSizes sizes_;
};

}}}  // namespace tenon::TENON_RELEASE::host
