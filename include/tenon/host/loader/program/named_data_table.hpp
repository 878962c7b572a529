// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/abi/host.h"
#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The named data of one file as plugins see it; the base of `File`, which does not move. `File` is
/// `Program`, or `DataFile` of layer data, whose keys may have the layout of a tensor.
template <class File>
class NamedDataTable : private tenon_named_data_map {
 public:
  /// The value of `tenon_init_context.named_data_map`: null when there are no keys. Valid while the
  /// file lives; so are buffers got from it. Releasing a buffer drops the memory of its pages:
  /// other users of the same bytes still read them, from the file again. Any thread.
  [[nodiscard]] const tenon_named_data_map* named_data() const noexcept {
    return tenon_named_data_map::num_keys == 0 ? nullptr : this;
  }

 protected:
  explicit NamedDataTable(std::uint32_t count) noexcept
      : tenon_named_data_map{sizeof(tenon_named_data_map), count, &get_data_entry,
                             &get_tensor_layout_entry, &get_key_entry} {}
  NamedDataTable(const NamedDataTable&) = delete;
  NamedDataTable& operator=(const NamedDataTable&) = delete;
  ~NamedDataTable() = default;

 private:
  static const File& file_of(const tenon_named_data_map* map) noexcept {
    return static_cast<const File&>(*static_cast<const NamedDataTable*>(map));
  }

  static std::optional<std::uint32_t> find(const tenon_named_data_map* map, const char* key,
                                           std::uint64_t key_size) noexcept;

  static tenon_status get_data_entry(const tenon_named_data_map* map, const char* key,
                                     std::uint64_t key_size, tenon_buffer* out) noexcept;

  static void release_entry(tenon_buffer* buffer) noexcept;

  static tenon_status get_tensor_layout_entry(const tenon_named_data_map* map, const char* key,
                                              std::uint64_t key_size,
                                              tenon_tensor_layout* out) noexcept;

  static tenon_status get_key_entry(const tenon_named_data_map* map, std::uint32_t index,
                                    const char** key, std::uint64_t* key_size) noexcept;
};

}}}  // namespace tenon::TENON_RELEASE::host
