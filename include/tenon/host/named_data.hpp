// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/abi/host.h"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/data_file.hpp"
#include "tenon/host/program.hpp"
#include "tenon/host/quoted.hpp"
#include "tenon/host/tensor_layout.hpp"

namespace tenon::host {

/// What a plugin sees as `tenon_named_data_map`: the named data of a program and of data files, as
/// one map (ExecuTorch: MergedDataMap).
///
/// Keeps the program and the files alive. Immutable, and its address never changes: methods and
/// threads may share one. Look-up is by hash in each file in turn, so its cost depends on the
/// number of files and not on the number of keys.
class NamedDataMap final : private tenon_named_data_map {
  struct Private {
    explicit Private() = default;
  };

 public:
  struct Entry {
    std::span<const std::byte> data;
    std::optional<TensorLayout> layout;  ///< Nothing when the data is not a tensor.
  };

  /// Joins what `external` has, first, with what `program` has. `program` may be null; no pointer
  /// in `external` is. The cost grows with the number of keys only when there are several files.
  ///
  /// errors: InvalidArgument when two of them have the same key (MergedDataMap::load). The text
  ///         names the key and both files.
  [[nodiscard]] static Result<std::shared_ptr<const NamedDataMap>> create(
      std::shared_ptr<const Program> program,
      const std::vector<std::shared_ptr<const DataFile>>& external = {}) {
    std::vector<Source> sources(external.begin(), external.end());
    if (program != nullptr) sources.emplace_back(std::move(program));
    std::uint64_t num_keys = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      num_keys += num_keys_of(sources[i]);
      for (std::size_t j = 0; j < i; ++j) TENON_CHECK(verify_distinct(sources[j], sources[i]));
    }
    if (num_keys > std::numeric_limits<std::uint32_t>::max()) {
      return error(Error::InvalidArgument, "the files have ", num_keys, " keys, at most ",
                   std::numeric_limits<std::uint32_t>::max(), " can be joined");
    }
    return std::shared_ptr<const NamedDataMap>(std::make_shared<NamedDataMap>(
        Private(), std::move(sources), static_cast<std::uint32_t>(num_keys)));
  }

  NamedDataMap(const NamedDataMap&) = delete;
  NamedDataMap& operator=(const NamedDataMap&) = delete;

  /// What `tenon_init_context.named_data_map` gets: null when there are no keys. Valid while this
  /// object lives; so are buffers got from it. To release a buffer is to drop the memory of its
  /// pages: other users of the same bytes still read them, from the file again.
  [[nodiscard]] const tenon_named_data_map* abi() const noexcept {
    return num_keys_ == 0 ? nullptr : this;
  }

  [[nodiscard]] std::uint32_t num_keys() const noexcept { return num_keys_; }

  /// Key number `index`: those of external files first, each in the order of its file. Nothing when
  /// `index` is above the end.
  [[nodiscard]] std::optional<std::string_view> key(std::uint32_t index) const noexcept {
    for (const auto& source : sources_) {
      const auto count = num_keys_of(source);
      if (index < count) return key_of(source, index);
      index -= count;
    }
    return std::nullopt;
  }

  /// The data of `key`, or nothing when no file has it. Valid while this object lives.
  [[nodiscard]] std::optional<Entry> find(std::string_view key) const noexcept {
    const auto place = locate(key);
    if (!place) return std::nullopt;
    return Entry{data_of(*place), layout_of(*place)};
  }

  /// Not for use: `create` makes maps.
  NamedDataMap(
      Private,
      std::vector<std::variant<std::shared_ptr<const DataFile>, std::shared_ptr<const Program>>>
          sources,
      std::uint32_t count) noexcept
      : tenon_named_data_map{sizeof(tenon_named_data_map), count, &get_data_entry,
                             &get_tensor_layout_entry, &get_key_entry},
        sources_(std::move(sources)),
        num_keys_(count) {}

 private:
  using Source = std::variant<std::shared_ptr<const DataFile>, std::shared_ptr<const Program>>;

  struct Place {
    const Source* source;
    std::uint32_t index;
  };

  static std::uint32_t num_keys_of(const Source& source) noexcept {
    return std::visit([](const auto& file) { return file->num_keys(); }, source);
  }
  static std::string_view key_of(const Source& source, std::uint32_t index) noexcept {
    return std::visit([&](const auto& file) { return file->key(index); }, source);
  }
  static std::optional<std::uint32_t> find_in(const Source& source, std::string_view key) noexcept {
    return std::visit([&](const auto& file) { return file->find_key(key); }, source);
  }
  static const std::string& name_of(const Source& source) noexcept {
    return std::visit([](const auto& file) -> const std::string& { return file->name(); }, source);
  }
  static std::span<const std::byte> data_of(const Place& place) noexcept {
    return std::visit([&](const auto& file) { return file->key_data(place.index); }, *place.source);
  }
  static std::optional<TensorLayout> layout_of(const Place& place) noexcept {
    const auto* file = std::get_if<std::shared_ptr<const DataFile>>(place.source);
    return file == nullptr ? std::nullopt : (*file)->key_layout(place.index);
  }

  static Status verify_distinct(const Source& first, const Source& second) {
    for (std::uint32_t i = 0; i < num_keys_of(second); ++i) {
      const auto key = key_of(second, i);
      if (!find_in(first, key)) continue;
      return error(Error::InvalidArgument, "key ", quoted(key), " is both in ", name_of(first),
                   " and in ", name_of(second));
    }
    return ok();
  }

  [[nodiscard]] std::optional<Place> locate(std::string_view key) const noexcept {
    for (const auto& source : sources_) {
      if (const auto index = find_in(source, key)) return Place{&source, *index};
    }
    return std::nullopt;
  }

  static std::optional<Place> locate(const tenon_named_data_map* map, const char* key,
                                     std::uint64_t key_size) noexcept {
    const auto* self = static_cast<const NamedDataMap*>(map);
    return self->locate(std::string_view(key, static_cast<std::size_t>(key_size)));
  }

  static tenon_status get_data_entry(const tenon_named_data_map* map, const char* key,
                                     std::uint64_t key_size, tenon_buffer* out) noexcept {
    if (map == nullptr || (key == nullptr && key_size != 0) || out == nullptr ||
        !TENON_HAS_MEMBER(*out, release)) {
      return TENON_STATUS_INVALID_ARGUMENT;
    }
    const auto place = locate(map, key, key_size);
    if (!place) return TENON_STATUS_NOT_FOUND;
    const auto data = data_of(*place);
    out->data = data.empty() ? nullptr : data.data();
    out->nbytes = data.size();
    out->owner = const_cast<Source*>(place->source);
    out->release = &release_entry;
    return TENON_STATUS_OK;
  }

  static void release_entry(tenon_buffer* buffer) noexcept {
    if (buffer == nullptr || buffer->data == nullptr) return;
    const std::span part(static_cast<const std::byte*>(buffer->data),
                         static_cast<std::size_t>(buffer->nbytes));
    std::visit([&](const auto& file) { file->drop(part); },
               *static_cast<const Source*>(buffer->owner));
    buffer->data = nullptr;
    buffer->nbytes = 0;
  }

  static tenon_status get_tensor_layout_entry(const tenon_named_data_map* map, const char* key,
                                              std::uint64_t key_size,
                                              tenon_tensor_layout* out) noexcept {
    if (map == nullptr || (key == nullptr && key_size != 0) || out == nullptr ||
        !TENON_HAS_MEMBER(*out, dim_order)) {
      return TENON_STATUS_INVALID_ARGUMENT;
    }
    const auto place = locate(map, key, key_size);
    const auto layout = place ? layout_of(*place) : std::nullopt;
    if (!layout) return TENON_STATUS_NOT_FOUND;
    out->scalar_type = static_cast<std::int32_t>(layout->scalar_type);
    out->rank = static_cast<std::uint32_t>(layout->sizes.size());
    out->sizes = layout->sizes.data();
    out->dim_order = layout->dim_order.data();
    return TENON_STATUS_OK;
  }

  static tenon_status get_key_entry(const tenon_named_data_map* map, std::uint32_t index,
                                    const char** key, std::uint64_t* key_size) noexcept {
    if (map == nullptr || key == nullptr || key_size == nullptr) {
      return TENON_STATUS_INVALID_ARGUMENT;
    }
    const auto found = static_cast<const NamedDataMap*>(map)->key(index);
    if (!found) return TENON_STATUS_INVALID_ARGUMENT;
    *key = found->data();
    *key_size = found->size();
    return TENON_STATUS_OK;
  }

  std::vector<Source> sources_;
  std::uint32_t num_keys_;
};

}  // namespace tenon::host
