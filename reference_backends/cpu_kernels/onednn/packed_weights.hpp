// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "onednn/onednn.hpp"
#include "strided.hpp"

namespace tenon::cpu_aoti::onednn {

/// Copies one argument into another format. Threads: one at a time.
class Reorder {
 public:
  /// errors: oneDNN's.
  Status make(const Format& from, const Format& to);

  /// Bytes of an argument in either format.
  [[nodiscard]] std::int64_t from_nbytes() const noexcept { return from_nbytes_; }
  [[nodiscard]] std::int64_t to_nbytes() const noexcept { return to_nbytes_; }

  Status run(const std::byte* source, std::byte* target);

 private:
  Bound bound_;
  std::int64_t from_nbytes_ = 0;
  std::int64_t to_nbytes_ = 0;
};

/// A weight in the format that a primitive chose, in memory of its own.
class PackedWeight {
 public:
  /// Reorders `source`, of format `from`.
  /// errors: oneDNN's; MemoryAllocationFailed.
  static Result<std::shared_ptr<const PackedWeight>> make(const std::byte* source,
                                                          const Format& from, const Format& to);

  [[nodiscard]] std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t nbytes() const noexcept { return nbytes_; }
  [[nodiscard]] bool equals(const PackedWeight& other) const noexcept;

 private:
  struct Free {
    void operator()(std::byte* block) const noexcept;
  };

  Format format_;
  std::size_t nbytes_ = 0;
  std::unique_ptr<std::byte, Free> data_;
};

/// The packed weights of one instance of a model: its fixed constants, each packed at the first run
/// that needs it. Equal ones are in memory once in the process, for as long as an instance uses
/// them. Pages of the program's file that were packed leave the resident set
/// (`release_file_pages`).
///
/// It is destroyed with the pool of the instance (`TensorPool::cache`). Threads: one at a time;
/// `nbytes`, and other instances in other threads, at any time.
class PackedWeights {
 public:
  /// With false, later calls of `get` return null.
  void enable(bool enabled) noexcept { is_enabled_ = enabled; }

  /// `source`, a constant that is fixed, of format `from` in format `to`, valid for as long as this
  /// object. Null when it is to be reordered in each run: packing is off, shapes of other runs took
  /// the two formats that a weight is kept in at most, or there is no memory for another copy.
  /// Takes a lock and allocates: `PackedForms` calls it once for each weight of a primitive.
  /// errors: as `PackedWeight::make`, except MemoryAllocationFailed.
  Result<std::byte*> get(const std::byte* source, const Format& from, const Format& to);

  /// Bytes of all packed weights of this instance, also those that others share.
  [[nodiscard]] std::size_t nbytes() const;

  /// Bytes of all packed weights of these instances. A weight that several instances share counts
  /// once.
  [[nodiscard]] static std::size_t nbytes_of(std::span<const PackedWeights* const> instances);

  /// Bytes of all packed weights of the process.
  [[nodiscard]] static std::size_t nbytes_of_process();

 private:
  struct Entry {
    const std::byte* source;
    Format from;
    Format to;
    std::shared_ptr<const PackedWeight> weight;
  };

  mutable std::mutex mutex_;  ///< Of writing to `entries_`, and of reading them in other threads.
  std::vector<Entry> entries_;
  bool is_enabled_ = true;
};

/// The packed forms of the weights that one primitive runs with, so that weights of equal shapes
/// share a primitive. Threads: one at a time.
class PackedForms {
 public:
  /// Weights have the format `from`, the primitive reads them in the format `to`.
  void set_formats(const Format& from, const Format& to);

  /// Whether the two formats differ.
  [[nodiscard]] bool are_needed() const noexcept { return are_needed_; }

  /// The packed form of `source`, as `PackedWeights::get` returns it for the current model. Later
  /// calls with the same source return the same, also a null, without a lock and without
  /// allocating.
  Result<std::byte*> get(const std::byte* source);

  /// `source` in the format of the primitive: `source` itself where the formats are equal, its
  /// packed form where it is fixed and there is one, else a copy that is made now, in `copy`.
  Result<std::byte*> get_or_copy(std::byte* source, bool is_fixed, std::optional<Scratch>& copy);

 private:
  using Form = std::pair<const std::byte*, std::byte*>;  ///< Source and packed weight.

  Format from_;
  Format to_;
  std::vector<Form> forms_;         ///< By source.
  std::optional<Reorder> reorder_;  ///< Made when it is needed.
  bool are_needed_ = false;
};

}  // namespace tenon::cpu_aoti::onednn
