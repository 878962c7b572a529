// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aoti/tensors/constant_adoption.hpp"
#include "tenon/aoti/tensors/device_memory_api.hpp"
#include "tenon/aoti/tensors/model_tensor.hpp"
#include "tenon/backend/cancel_flag.hpp"
#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

class SizeMask;

namespace detail {
/// Its address identifies a type, also without run-time type information.
template <class T>
inline constexpr char type_mark = 0;
}  // namespace detail

/// Makes and releases the tensors of one instance of a model.
///
/// Released objects and blocks of memory are kept in free lists, so that a model whose shapes stay
/// the same allocates nothing after its first run. Blocks are kept by size class, eight to a
/// doubling, so that a block is at most an eighth larger than requested. A block is reused only for
/// its own class, so that one run does not depend on the order of the previous one. No more than
/// `DeviceMemoryApi::max_kept` bytes are kept. On a device that allocates in the order of a stream,
/// a run that needed new blocks is followed by freeing those that it did not use, so that shapes
/// that change do not add up. An allocation that fails is repeated once, after all free blocks were
/// freed.
///
/// A pool of a device with memory of its own also has blocks of the host's memory, for the tensors
/// that a model keeps there.
///
/// Threads: one at a time. All tensors must be released before the pool is destroyed.
class TensorPool {
 public:
  explicit TensorPool(DeviceMemoryApi memory) noexcept
      : memory_(std::move(memory)), stream_(memory_.stream) {}
  TensorPool(const TensorPool&) = delete;
  TensorPool& operator=(const TensorPool&) = delete;
  ~TensorPool() {
    trim();
    // The stream may be the caller's, and must have nothing left of this pool.
    if (memory_.free_on) static_cast<void>(synchronize());
  }

  [[nodiscard]] const DeviceMemoryApi& memory() const noexcept { return memory_; }

  /// The stream that work for tensors of this pool is enqueued on.
  [[nodiscard]] void* stream() const noexcept { return stream_; }
  void set_stream(void* stream) noexcept { stream_ = stream; }

  /// Enqueues a copy of bytes between memories, for tensors of a device with memory of its own.
  [[nodiscard]] Status copy(CopyKind kind, std::byte* to, const std::byte* from,
                            std::size_t nbytes) const {
    if (nbytes == 0) return ok();
    return memory_.copy(memory_.context.get(), stream_, kind, to, from, nbytes);
  }
  [[nodiscard]] Status copy_strided(const StridedCopy& copy) const {
    return memory_.copy_strided(memory_.context.get(), stream_, copy);
  }
  /// Waits for everything enqueued on the stream; nothing to do on the CPU.
  [[nodiscard]] Status synchronize() const {
    return memory_.is_host() ? ok() : memory_.synchronize(memory_.context.get(), stream_);
  }

  /// The flag that ends the run that begins. Models make a tensor before each of their kernels,
  /// which is where they can be stopped: their own code calls nothing else that may fail.
  void set_cancel_flag(CancelFlag cancelled) noexcept { cancelled_ = cancelled; }
  [[nodiscard]] CancelFlag cancel_flag() const noexcept { return cancelled_; }

  /// Makes a tensor with its own memory, not initialised. Null strides mean contiguous. Returns
  /// null, with the reason in `failure()`, when the arguments are invalid, memory runs out or the
  /// run was cancelled.
  [[nodiscard]] ModelTensor* empty_strided(std::span<const std::int64_t> sizes,
                                           const std::int64_t* strides, ScalarType type,
                                           TorchDeviceType device, std::int32_t device_index) {
    if (cancelled_.is_set()) [[unlikely]] {
      fail("the run was cancelled");
      return nullptr;
    }
    ModelTensor* out = describe(sizes, strides, type, device, device_index);
    if (!out) return nullptr;
    const auto nbytes = extent(*out);
    const bool on_host = device == TorchDeviceType::cpu && !memory_.is_host();
    if (!nbytes || (device != memory_.device_type && !on_host)) {
      fail(nbytes ? "a new tensor: the device is not this backend's" : "a new tensor: too large");
      return abandon(out);
    }
    out->storage = on_host ? new_storage(*nbytes, true) : new_numbered_storage(*nbytes);
    if (!out->storage) return abandon(out);
    out->data = out->storage->data;
    return out;
  }

  /// Memory of the caller for a tensor that the model will make: the one with that number
  /// (Storage::number), if it has exactly that many bytes.
  struct Placement {
    std::uint32_t number;
    std::byte* data;
    std::size_t nbytes;
  };
  /// The model's run begins: its tensors are numbered from 0 on. `placements` are in the order of
  /// their numbers, and valid until the next call.
  void begin_model(std::span<const Placement> placements) noexcept {
    placements_ = placements;
    next_number_ = 0;
  }

  /// Makes a tensor on memory that the caller owns and keeps for as long as the tensor lives.
  /// `data` is the beginning of the storage, from which the offset counts. Null as for
  /// `empty_strided`.
  [[nodiscard]] ModelTensor* from_blob(void* data, std::span<const std::int64_t> sizes,
                                       const std::int64_t* strides, std::int64_t storage_offset,
                                       ScalarType type, TorchDeviceType device,
                                       std::int32_t device_index) {
    ModelTensor* out = describe(sizes, strides, type, device, device_index);
    if (!out) return nullptr;
    const auto placed = place(*out, storage_offset);
    if (!placed) {
      fail(concat("a tensor ", shape_text(sizes), " at element ", storage_offset,
                  " of given memory: sizes or offset are out of range"));
      return abandon(out);
    }
    out->storage = take(storages_);
    if (!out->storage) return abandon(out);
    *out->storage = {
        this,  static_cast<std::byte*>(data), placed->end, 1, Storage::borrowed, nullptr, 0,
        false, Storage::not_numbered};
    out->storage_offset = storage_offset;
    out->data = data ? out->storage->data + placed->begin : nullptr;
    return out;
  }

  /// Makes another tensor on the storage of `self`. Null, with the reason in `failure()`, when it
  /// would reach outside that storage.
  [[nodiscard]] ModelTensor* view(const ModelTensor& self, std::span<const std::int64_t> sizes,
                                  const std::int64_t* strides, std::int64_t storage_offset) {
    ModelTensor* out =
        describe(sizes, strides, self.scalar_type, self.device_type, self.device_index);
    if (!out) return nullptr;
    const auto placed = place(*out, storage_offset);
    if (!placed || placed->end > self.storage->nbytes) {
      fail(concat("a view ", shape_text(sizes), " at element ", storage_offset,
                  ": expected it inside a storage of ", self.storage->nbytes, " bytes"));
      return abandon(out);
    }
    out->storage = self.storage;
    ++out->storage->references;
    out->storage_offset = storage_offset;
    out->data = out->storage->data ? out->storage->data + placed->begin : nullptr;
    return out;
  }

  /// Makes a second handle to the same tensor.
  [[nodiscard]] ModelTensor* share(const ModelTensor& self) noexcept {
    ModelTensor* out = take(tensors_);
    if (!out) return nullptr;
    *out = self;
    ++out->storage->references;
    return out;
  }

  /// Releases a tensor, and its storage when no other tensor uses it.
  void release(ModelTensor* tensor) noexcept {
    Storage* storage = tensor->storage;
    give(tensors_, tensor);
    --live_;
    if (--storage->references != 0) return;
    if (storage->size_class == Storage::borrowed) return give(storages_, storage);
    const std::size_t size = block_size(storage->size_class);
    used_bytes_ -= size;
    if (size > memory_.max_kept || cached_bytes_ > memory_.max_kept - size) {
      free_block(storage);
      return give(storages_, storage);
    }
    cached_bytes_ += size;
    storage->next = std::exchange(kept_[storage->size_class], storage);
  }

  /// Frees every block that is not in use. Objects are kept.
  void trim() noexcept {
    free_kept([](const Storage&) { return true; });
  }

  /// To be called after each run of the model: frees blocks that were not used since the last call,
  /// if there are new ones and the device allocates in the order of a stream.
  void end_run() noexcept {
    placements_ = {};
    if (has_new_blocks_ && memory_.free_on && !holds_blocks_) {
      free_kept([&](const Storage& storage) {
        return storage.size_class < num_sizes && storage.run != run_;
      });
    }
    has_new_blocks_ = false;
    ++run_;
  }

  /// While true, blocks are only freed by `trim`, because something outside the pool uses those
  /// that are free, such as a recorded run.
  void hold_blocks(bool hold) noexcept { holds_blocks_ = hold; }

  /// Tensors that were made and not released.
  [[nodiscard]] std::size_t num_live() const noexcept { return live_; }
  /// Bytes of blocks, in use or kept.
  [[nodiscard]] std::size_t nbytes() const noexcept { return used_bytes_ + cached_bytes_; }
  /// The most that `nbytes` was.
  [[nodiscard]] std::size_t peak_nbytes() const noexcept { return peak_bytes_; }

  /// The constants that the model is loading from a blob at this moment, or null.
  [[nodiscard]] ConstantAdoption* adoption() const noexcept { return adoption_; }
  void set_adoption(ConstantAdoption* adoption) noexcept { adoption_ = adoption; }

  /// The sizes that are hidden from the model's checks at this moment, or null.
  [[nodiscard]] SizeMask* size_mask() const noexcept { return size_mask_; }
  void set_size_mask(SizeMask* mask) noexcept { size_mask_ = mask; }

  /// An object that a shim keeps between the calls of one model, such as prepared work: one of each
  /// type, made at the first call, destroyed with the pool. Throws std::bad_alloc.
  template <class T>
  [[nodiscard]] T& cache() {
    for (const auto& [type, object] : caches_) {
      if (type == &detail::type_mark<T>) return *static_cast<T*>(object.get());
    }
    caches_.emplace_back(&detail::type_mark<T>, std::make_shared<T>());
    return *static_cast<T*>(caches_.back().second.get());
  }

  /// Records why a call failed, for the error that the model's caller gets. Only the first text is
  /// kept: later failures follow from it.
  void fail(std::string text, Error code = Error::Internal) {
    if (!failure_.empty()) return;
    failure_ = std::move(text);
    failure_code_ = code;
  }
  /// The code of the failure that was recorded last.
  [[nodiscard]] Error failure_code() const noexcept { return failure_code_; }
  [[nodiscard]] std::string_view failure() const noexcept { return failure_; }
  [[nodiscard]] std::string take_failure() noexcept { return std::exchange(failure_, {}); }

 private:
  /// Objects of one type, allocated in chunks.
  template <class T>
  struct Objects {
    union Slot {
      Slot* next;
      T object;
    };
    std::vector<std::unique_ptr<Slot[]>> chunks;
    Slot* free = nullptr;
  };

  template <class T>
  T* take(Objects<T>& objects) {
    using Slot = typename Objects<T>::Slot;
    if (!objects.free) {
      constexpr std::size_t chunk_size = 64;
      objects.chunks.push_back(std::unique_ptr<Slot[]>(new Slot[chunk_size]));
      Slot* slots = objects.chunks.back().get();
      for (std::size_t i = 0; i < chunk_size; ++i) {
        slots[i].next = objects.free;
        objects.free = &slots[i];
      }
    }
    Slot* slot = std::exchange(objects.free, objects.free->next);
    if constexpr (std::is_same_v<T, ModelTensor>) ++live_;
    return ::new (static_cast<void*>(&slot->object)) T;  // Not zeroed: the caller fills it.
  }

  template <class T>
  static void give(Objects<T>& objects, T* object) noexcept {
    auto* slot = reinterpret_cast<typename Objects<T>::Slot*>(object);
    slot->next = objects.free;
    objects.free = slot;
  }

  ModelTensor* abandon(ModelTensor* tensor) noexcept {
    give(tensors_, tensor);
    --live_;
    return nullptr;
  }

  ModelTensor* describe(std::span<const std::int64_t> sizes, const std::int64_t* strides,
                        ScalarType type, TorchDeviceType device, std::int32_t device_index) {
    if (sizes.size() > max_rank || size_of(type) == 0) {
      fail(concat("a tensor of rank ", sizes.size(), " and dtype number ", static_cast<int>(type),
                  ": expected at most ", max_rank, " dimensions and a dtype of PyTorch"));
      return nullptr;
    }
    ModelTensor* out = take(tensors_);
    out->storage_offset = 0;
    out->rank = static_cast<std::int32_t>(sizes.size());
    out->scalar_type = type;
    out->device_type = device;
    out->device_index = device_index;
    out->numel = 1;
    bool good = true;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      good = good && sizes[d] >= 0 && (!strides || strides[d] >= 0) &&
             !__builtin_mul_overflow(out->numel, sizes[d], &out->numel);
      out->sizes[d] = sizes[d];
    }
    if (!good) {
      fail(concat("a tensor ", shape_text(sizes), ": sizes or strides are out of range"));
      return abandon(out);
    }
    if (strides) {
      std::copy_n(strides, sizes.size(), out->strides.begin());
    } else {
      contiguous_strides(sizes, std::span(out->strides).first(sizes.size()));
    }
    return out;
  }

  /// Bytes from the first element to the end of the last one; empty on overflow.
  static std::optional<std::size_t> extent(const ModelTensor& tensor) noexcept {
    if (tensor.numel == 0) return 0;
    std::int64_t last = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(tensor.rank); ++d) {
      std::int64_t reach = 0;
      if (__builtin_mul_overflow(tensor.sizes[d] - 1, tensor.strides[d], &reach) ||
          __builtin_add_overflow(last, reach, &last)) {
        return std::nullopt;
      }
    }
    const auto element = static_cast<std::int64_t>(size_of(tensor.scalar_type));
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
    if (last >= most / element) return std::nullopt;
    return static_cast<std::size_t>((last + 1) * element);
  }

  /// Bytes from the beginning of a storage to the first element, and to the end of the last one.
  struct Place {
    std::size_t begin;
    std::size_t end;
  };
  /// Of a tensor at element `storage_offset`; empty on overflow.
  static std::optional<Place> place(const ModelTensor& tensor,
                                    std::int64_t storage_offset) noexcept {
    const auto nbytes = extent(tensor);
    Place out{};
    if (!nbytes || storage_offset < 0 ||
        __builtin_mul_overflow(static_cast<std::size_t>(storage_offset),
                               size_of(tensor.scalar_type), &out.begin) ||
        __builtin_add_overflow(out.begin, *nbytes, &out.end) ||
        out.end > std::size_t{std::numeric_limits<std::ptrdiff_t>::max()}) {
      return std::nullopt;
    }
    return out;
  }

  static constexpr std::uint32_t num_sizes = 64 * 8;
  /// In a device's pool the classes of blocks in the host's memory follow the device's classes.
  static constexpr std::size_t num_classes = std::size_t{num_sizes} * 2;

  /// Class of a block for `nbytes`: the next multiple of an eighth of the power of two below.
  static std::uint32_t size_class(std::size_t nbytes) noexcept {
    const std::size_t wanted = std::max<std::size_t>(nbytes, 64);
    const auto shift = static_cast<std::uint32_t>(std::bit_width(wanted - 1) - 4);
    return shift * 8 + static_cast<std::uint32_t>((wanted - 1) >> shift) - 8;
  }
  static std::size_t block_size(std::uint32_t index) noexcept {
    return std::size_t{index % 8 + 9} << (index % num_sizes / 8);
  }

  template <class Which>
  void free_kept(Which which) noexcept {
    for (Storage*& first : kept_) {
      for (Storage** place = &first; *place;) {
        Storage* const storage = *place;
        if (!which(*storage)) {
          place = &storage->next;
          continue;
        }
        *place = storage->next;
        cached_bytes_ -= block_size(storage->size_class);
        free_block(storage);
        give(storages_, storage);
      }
    }
  }

  Result<std::byte*> new_block(std::size_t nbytes, bool on_host) {
    Result<std::byte*> out = try_new_block(nbytes, on_host);
    if (out.ok() || out.error() != Error::MemoryAllocationFailed || cached_bytes_ == 0 ||
        holds_blocks_) {
      return out;
    }
    // Enqueued work may still use the blocks, and those that were freed in the order of the stream
    // are free once it is there.
    static_cast<void>(synchronize());
    trim();
    if (memory_.free_on) static_cast<void>(synchronize());
    return try_new_block(nbytes, on_host);
  }

  Result<std::byte*> try_new_block(std::size_t nbytes, bool on_host) const {
    if (!on_host && memory_.allocate_on) {
      return memory_.allocate_on(memory_.context.get(), stream_, nbytes);
    }
    if (!on_host) return memory_.allocate(memory_.context.get(), nbytes);
    if (memory_.allocate_host) return memory_.allocate_host(memory_.context.get(), nbytes);
    constexpr std::size_t alignment = 64;
    if (auto* block = static_cast<std::byte*>(
            std::aligned_alloc(alignment, (nbytes + alignment - 1) / alignment * alignment))) {
      return block;
    }
    return error(Error::MemoryAllocationFailed, "no memory for ", nbytes, " bytes");
  }

  void free_block(const Storage* storage) const noexcept {
    if (storage->size_class < num_sizes && memory_.free_on) {
      memory_.free_on(memory_.context.get(), stream_, storage->data);
    } else if (storage->size_class < num_sizes) {
      memory_.free(memory_.context.get(), storage->data);
    } else if (memory_.free_host) {
      memory_.free_host(memory_.context.get(), storage->data);
    } else {
      std::free(storage->data);
    }
  }

  Storage* new_numbered_storage(std::size_t nbytes) {
    const std::uint32_t number = next_number_++;
    Placement place{};
    if (!placements_.empty() && placements_.front().number == number) [[unlikely]] {
      place = placements_.front();
      placements_ = placements_.subspan(1);
    }
    const bool is_placed = place.data && place.nbytes == nbytes;
    Storage* const out = is_placed ? take(storages_) : new_storage(nbytes, false);
    if (is_placed) {
      *out = {this, place.data, nbytes, 1, Storage::borrowed, nullptr, 0, false, number};
    }
    if (out) out->number = number;
    return out;
  }

  Storage* new_storage(std::size_t nbytes, bool on_host) {
    const std::uint32_t index = size_class(nbytes) + (on_host ? num_sizes : 0);
    const std::size_t size = block_size(index);
    Storage* out = kept_[index];
    if (out) {
      kept_[index] = out->next;
      cached_bytes_ -= size;
    } else {
      const Result<std::byte*> data = new_block(size, on_host);
      if (!data.ok()) {
        fail(concat("a new tensor: no memory for ", nbytes, " bytes: ", data.text()),
             Error::MemoryAllocationFailed);
        return nullptr;
      }
      has_new_blocks_ = true;
      peak_bytes_ = std::max(peak_bytes_, used_bytes_ + cached_bytes_ + size);
      out = take(storages_);
      out->data = *data;
    }
    used_bytes_ += size;
    *out = {this, out->data, nbytes, 1, index, nullptr, run_, false, Storage::not_numbered};
    return out;
  }

  DeviceMemoryApi memory_;
  void* stream_;
  CancelFlag cancelled_;
  Objects<ModelTensor> tensors_;
  Objects<Storage> storages_;
  std::array<Storage*, num_classes> kept_{};
  std::size_t live_ = 0;
  std::size_t used_bytes_ = 0;
  std::size_t cached_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
  std::vector<std::pair<const char*, std::shared_ptr<void>>> caches_;
  ConstantAdoption* adoption_ = nullptr;
  SizeMask* size_mask_ = nullptr;
  std::span<const Placement> placements_{};
  std::uint32_t next_number_ = 0;
  std::uint32_t run_ = 0;
  bool has_new_blocks_ = false;
  bool holds_blocks_ = false;
  Error failure_code_ = Error::Internal;
  std::string failure_;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
