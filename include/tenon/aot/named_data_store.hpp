// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/named_data.hpp"
#include "tenon/aot/unique_bytes.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/sha256.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Options of data that is added to a NamedDataStore.
struct NamedDataOptions {
  /// Of the data in its file, in bytes; any number above 0.
  std::uint64_t alignment = 1;
  /// Nothing: stored in the program. Else in a file of its own, called `external_tag` + ".ptd".
  std::optional<std::string> external_tag = std::nullopt;
  /// When the data is a tensor.
  std::optional<DenseLayout> tensor_layout = std::nullopt;
};

/// Collects data that delegates share, by name (ExecuTorch: exir/_serialize/_named_data_store.py).
/// At run time a delegate finds it in its NamedDataMap.
///
/// - A key is unique over the program and all external files.
/// - Equal contents are stored once, whatever their keys are.
/// - Each key keeps the alignment that it asked for. A content that several keys share is written
///   at the least common multiple of theirs.
///
/// This is stricter than ExecuTorch: a key cannot be added again with another tensor layout,
/// a layout must fit its data, a key and a tag cannot be empty, and a tag must be a file name.
/// A function that fails does not change the store.
///
/// Bytes are shared, not copied. Not for several threads at once.
class NamedDataStore {
 public:
  /// Adds `data` under `key`. An existing key stays where it is, program or file, and
  /// its alignment becomes the least common multiple of both.
  ///
  /// errors: InvalidArgument when the key exists with other data or another layout; for an empty
  ///         key, an alignment of 0 or too large, a tag that is not a file name; and for a layout
  ///         that `check_layout` refuses or that needs more bytes than there are.
  Status add_named_data(std::string_view key, SharedBytes data,
                        const NamedDataOptions& options = {}) {
    TENON_RETURN_IF_ERROR(check_options(key, data, options));
    if (const auto found = places_.find(key); found != places_.end()) {
      return add_again(key, data, options, entry_at(found->second));
    }
    Slot place;
    if (options.external_tag) place.list = external_list(*options.external_tag);
    auto& list = list_at(place.list);
    place.position = list.size();
    list.push_back({std::string(key),
                    {buffers_.add(std::move(data)), options.alignment, options.tensor_layout}});
    places_.emplace(key, place);
    return ok();
  }

  /// Moves all data of the program to external files of at most `max_data_bytes` of data each;
  /// padding is not counted. Data is taken in the order of its keys, so that equal stores give
  /// equal files whatever the order of calls was. A file's tag is `tag_prefix`, "_" and the SHA-256
  /// of its keys.
  ///
  /// errors: InvalidArgument when `max_data_bytes` is 0, when `tag_prefix` is empty or no file
  ///         name, when one buffer is larger than `max_data_bytes`, and when there is external data
  ///         with such a tag already.
  Status externalize_pte_data(std::uint64_t max_data_bytes, std::string_view tag_prefix) {
    if (max_data_bytes == 0) {
      return error(Error::InvalidArgument,
                   "external data shard cap is 0 bytes, expected a positive number");
    }
    if (tag_prefix.empty()) {
      return error(Error::InvalidArgument, "external data tag prefix is empty");
    }
    TENON_RETURN_IF_ERROR(check_tag(tag_prefix));
    TENON_TRY(auto shards, shards_of(max_data_bytes));
    auto external = external_data_;
    for (auto& shard : shards) {
      std::string keys;
      for (const auto& one : shard) {
        if (!keys.empty()) keys += '\0';
        keys += one.key;
      }
      const auto digest = sha256_hex(std::as_bytes(std::span(std::string_view(keys))));
      TENON_RETURN_IF_ERROR(add_shard(external, concat(tag_prefix, "_", digest), std::move(shard)));
    }
    external_data_ = std::move(external);
    pte_data_.clear();
    find_places();
    return ok();
  }

  /// Adds everything of another store's output.
  ///
  /// errors: as `add_named_data`, and InvalidArgument for an entry whose buffer does not exist.
  Status merge_named_data_store(const NamedDataStoreOutput& other) {
    NamedDataStore merged = *this;
    for (const auto& one : other.pte_data) {
      TENON_RETURN_IF_ERROR(merged.merge_entry(other, one, std::nullopt));
    }
    for (const auto& external : other.external_data) {
      for (const auto& one : external.entries) {
        TENON_RETURN_IF_ERROR(merged.merge_entry(other, one, external.tag));
      }
    }
    *this = std::move(merged);
    return ok();
  }

  /// All that was added. Tags without entries are left out.
  [[nodiscard]] NamedDataStoreOutput get_named_data_store_output() const {
    return {buffers_.all(), pte_data_, external_data_};
  }

  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }

  /// InvalidArgument for a tag that cannot be a file's name.
  static Status check_tag(std::string_view tag) {
    if (tag.empty()) return error(Error::InvalidArgument, "external tag is empty");
    if (tag.find_first_of(std::string_view("/\\\0", 3)) != std::string_view::npos) {
      return error(Error::InvalidArgument, "external tag '", tag,
                   "' is not a file name: it holds a slash, a backslash or a NUL");
    }
    return ok();
  }

  /// Largest alignment of one key, and of what keys with the same data share.
  static constexpr std::uint64_t max_alignment = std::uint64_t{1} << 30;

 private:
  static constexpr std::size_t in_program = static_cast<std::size_t>(-1);

  /// The place of a key's entry: a list, and its number in it.
  struct Slot {
    std::size_t list = in_program;  ///< `in_program`, or an index into `external_data_`.
    std::size_t position = 0;
  };

  [[nodiscard]] std::vector<NamedEntry>& list_at(std::size_t list) noexcept {
    return list == in_program ? pte_data_ : external_data_[list].entries;
  }
  [[nodiscard]] DataEntry& entry_at(const Slot& place) noexcept {
    return list_at(place.list)[place.position].entry;
  }

  [[nodiscard]] std::size_t external_list(std::string_view tag) {
    std::size_t index = 0;
    while (index < external_data_.size() && external_data_[index].tag != tag) ++index;
    if (index == external_data_.size()) external_data_.push_back({std::string(tag), {}});
    return index;
  }

  static Status check_options(std::string_view key, const SharedBytes& data,
                              const NamedDataOptions& options) {
    if (key.empty()) return error(Error::InvalidArgument, "the key of named data is empty");
    if (options.alignment == 0 || options.alignment > max_alignment) {
      return error(Error::InvalidArgument, "key '", key, "': alignment is ", options.alignment,
                   ", expected more than 0 and at most ", max_alignment);
    }
    if (options.external_tag) {
      TENON_RETURN_IF_ERROR(
          check_tag(*options.external_tag).with_context(concat("key '", key, "'")));
    }
    if (!options.tensor_layout) return ok();
    TENON_RETURN_IF_ERROR(check_layout(*options.tensor_layout)
                              .with_context(concat("key '", key, "': tensor layout")));
    if (options.tensor_layout->nbytes() <= data.size()) return ok();
    return error(Error::InvalidArgument, "key '", key, "': the tensor layout needs ",
                 options.tensor_layout->nbytes(), " bytes, but the data has ", data.size());
  }

  Status add_again(std::string_view key, const SharedBytes& data, const NamedDataOptions& options,
                   DataEntry& entry) {
    const auto& existing = buffers_[entry.buffer_index];
    if (!UniqueBytes::equal(existing.bytes(), data.bytes())) {
      return error(Error::InvalidArgument, "duplicate key '", key,
                   "' with different data: existing data has ", existing.size(),
                   " bytes, new data has ", data.size(), " bytes");
    }
    if (entry.tensor_layout && options.tensor_layout &&
        entry.tensor_layout != options.tensor_layout) {
      return error(Error::InvalidArgument, "duplicate key '", key,
                   "' with the same data and a different tensor layout");
    }
    const auto alignment = std::lcm(entry.alignment, options.alignment);
    if (alignment > max_alignment) {
      return error(Error::InvalidArgument, "duplicate key '", key, "': the alignments ",
                   entry.alignment, " and ", options.alignment, " need ", alignment,
                   " together, expected at most ", max_alignment);
    }
    entry.alignment = alignment;
    if (!entry.tensor_layout) entry.tensor_layout = options.tensor_layout;
    return ok();
  }

  Status merge_entry(const NamedDataStoreOutput& other, const NamedEntry& one,
                     const std::optional<std::string>& tag) {
    if (one.entry.buffer_index >= other.buffers.size()) {
      return error(Error::InvalidArgument, "key '", one.key, "': buffer index is ",
                   one.entry.buffer_index, ", expected an index of one of ", other.buffers.size(),
                   " buffers");
    }
    return add_named_data(one.key, other.buffers[one.entry.buffer_index],
                          {one.entry.alignment, tag, one.entry.tensor_layout});
  }

  using EntriesByKey = std::map<std::string_view, const NamedEntry*>;

  /// The program's entries in shards, the entries of one buffer together. Buffers are in the order
  /// of their first keys, and a shard's entries are sorted by key.
  Result<std::vector<std::vector<NamedEntry>>> shards_of(std::uint64_t max_data_bytes) const {
    EntriesByKey all;
    for (const auto& one : pte_data_) all.emplace(one.key, &one);
    std::map<std::uint32_t, std::vector<const NamedEntry*>> by_buffer;
    for (const auto& [key, one] : all) by_buffer[one->entry.buffer_index].push_back(one);
    for (const auto& [index, group] : by_buffer) {
      if (buffers_[index].size() <= max_data_bytes) continue;
      return error(Error::InvalidArgument, "the data of key '", group.front()->key, "' has ",
                   buffers_[index].size(), " bytes and exceeds the external data shard cap, ",
                   max_data_bytes);
    }
    std::vector<EntriesByKey> shards;
    std::uint64_t left = 0;
    for (const auto& [key, one] : all) {
      const auto& group = by_buffer[one->entry.buffer_index];
      if (group.front() != one) continue;
      const auto size = buffers_[one->entry.buffer_index].size();
      if (shards.empty() || size > left) {
        shards.emplace_back();
        left = max_data_bytes;
      }
      left -= size;
      for (const auto* member : group) shards.back().emplace(member->key, member);
    }
    std::vector<std::vector<NamedEntry>> out;
    for (const auto& shard : shards) {
      auto& entries = out.emplace_back();
      for (const auto& [key, one] : shard) entries.push_back(*one);
    }
    return out;
  }

  static Status add_shard(std::vector<ExternalData>& external, std::string tag,
                          std::vector<NamedEntry> shard) {
    for (const auto& one : external) {
      if (one.tag == tag) {
        return error(Error::InvalidArgument, "external data tag collision for '", tag, "'");
      }
    }
    external.push_back({std::move(tag), std::move(shard)});
    return ok();
  }

  void find_places() {
    places_.clear();
    for (std::size_t i = 0; i < external_data_.size(); ++i) {
      const auto& entries = external_data_[i].entries;
      for (std::size_t j = 0; j < entries.size(); ++j) places_.emplace(entries[j].key, Slot{i, j});
    }
  }

  UniqueBytes buffers_;
  std::vector<NamedEntry> pte_data_;
  std::vector<ExternalData> external_data_;
  std::map<std::string, Slot, std::less<>> places_;
};

}}}  // namespace tenon::TENON_RELEASE::aot
