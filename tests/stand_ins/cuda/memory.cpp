// SPDX-License-Identifier: MIT
//
// Memory of the stand-in: blocks, copies between them and the host, and the attributes of an
// address.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "state.hpp"

using namespace tenon::stand_in_cuda;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Address = unsigned long long;

/// Enqueues a copy. Both sides are looked up when it is done, not before: bytes of the host are
/// read late, and a block that was freed by then is a misuse.
Result enqueue_copy(const char* name, Address to, Address from, std::size_t nbytes,
                    Stream* stream) {
  if (!resolve(to, nbytes, name, When::call) || !resolve(from, nbytes, name, When::call)) {
    return invalid_value;
  }
  return enqueue(stream, name, [name, to, from, nbytes] {
    std::byte* const target = resolve(to, nbytes, name, When::turn);
    const std::byte* const source = resolve(from, nbytes, name, When::turn);
    if (target && source) std::memmove(target, source, nbytes);
  });
}

Address as_address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// So that no caller relies on more than the driver's alignment of 256.
constexpr std::size_t first_byte = 256;

void unmap(const DeviceBlock& block) {
  ::munmap(reinterpret_cast<void*>(static_cast<std::uintptr_t>(block.address - block.before)),
           block.mapped);
  ::munmap(block.bytes - block.before, block.mapped);
}

/// Null when the system has no memory.
DeviceBlock* new_block(std::size_t nbytes) {
  constexpr std::size_t page = 4096;
  const std::size_t mapped = (first_byte + nbytes + page - 1) / page * page;
  const int file = ::memfd_create("stand-in-device", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(mapped)) != 0) return nullptr;
  void* const ours = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* const theirs =
      ::mmap(reinterpret_cast<void*>(static_cast<std::uintptr_t>(state().next_address)), mapped,
             PROT_NONE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
  ::close(file);
  if (ours == MAP_FAILED || theirs == MAP_FAILED) return nullptr;
  std::memset(ours, 0xa5, mapped);  // Not zero, so that no test relies on it.
  state().next_address += mapped + page;
  const Address address = as_address(theirs) + first_byte;
  const DeviceBlock block{address, nbytes, mapped, static_cast<std::byte*>(ours) + first_byte,
                          context_stack().back()->device};
  return &state().blocks.emplace(address, block).first->second;
}

/// A block whose bytes belong to another owner; null when they cannot be mapped.
DeviceBlock* new_imported_block(int file, std::uint64_t offset, std::size_t nbytes) {
  constexpr std::size_t page = 4096;
  const std::size_t before = offset % page;
  const std::size_t mapped = (before + nbytes + page - 1) / page * page;
  const auto at = static_cast<off_t>(offset - before);
  void* const ours = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, at);
  void* const theirs =
      ::mmap(reinterpret_cast<void*>(static_cast<std::uintptr_t>(state().next_address)), mapped,
             PROT_NONE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, at);
  if (ours == MAP_FAILED || theirs == MAP_FAILED) return nullptr;
  state().next_address += mapped + page;
  const Address address = as_address(theirs) + before;
  const DeviceBlock block{address,
                          nbytes,
                          mapped,
                          static_cast<std::byte*>(ours) + before,
                          context_stack().back()->device,
                          before};
  return &state().blocks.emplace(address, block).first->second;
}

MemoryPool* find_pool(MemoryPool* handle, const char* call) {
  if (state().memory_pools.contains(handle)) return handle;
  misuse(invalid_handle, std::string(call) + ": a pool that does not exist");
  return nullptr;
}

/// Frees the memory of a graph outside of it, after a launch.
Result free_of_graph(DeviceBlock& block, const char* name) {
  if (!block.is_freed_in_graph && block.is_ready) {
    block.is_ready = false;
    return success;
  }
  return misuse(invalid_value, std::string(name) + ": memory of a graph that does not have it");
}

/// The allocation that a capture records: the block is the graph's.
Result capture_allocation(Address* out, std::size_t nbytes, Stream& stream) {
  DeviceBlock* const block = new_block(nbytes);
  if (!block) return out_of_memory;
  block->is_ready = false;
  block->is_of_graph = true;
  if (!stream.captured.memory) stream.captured.memory = std::make_shared<GraphMemory>();
  stream.captured.memory->addresses.push_back(block->address);
  *out = block->address;
  return enqueue(&stream, "cuMemAllocFromPoolAsync", [address = block->address] {
    const auto found = state().blocks.find(address);
    if (found == state().blocks.end()) return;
    if (found->second.is_ready) {
      misuse(invalid_value, "cuGraphLaunch: memory of the launch before was not freed");
    }
    found->second.is_ready = true;
  });
}

}  // namespace

void tenon::stand_in_cuda::erase_block(std::uint64_t address) {
  const auto found = state().blocks.find(address);
  if (found == state().blocks.end()) return;
  const DeviceBlock& block = found->second;
  if (block.pool) {
    block.pool->used -= block.nbytes;
    block.pool->cached += block.nbytes;
  }
  unmap(block);
  state().blocks.erase(found);
}

EXPORT Result cuMemAlloc_v2(Address* out, std::size_t nbytes) {
  const CallScope call("cuMemAlloc", CallScope::needs_context, nullptr, nbytes);
  if (call.code != success) return call.code;
  if (nbytes == 0) return misuse(invalid_value, "cuMemAlloc: 0 bytes");
  if (const Result refused = refuse_unsafe_call(); refused != success) return refused;
  if (bytes_reserved() + nbytes > state().memory_limit) return out_of_memory;
  const DeviceBlock* const block = new_block(nbytes);
  if (!block) return out_of_memory;
  *out = block->address;
  return success;
}
EXPORT Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const CallScope call("cuMemGetInfo", CallScope::needs_context);
  if (call.code != success) return call.code;
  *total = state().memory_limit;
  *free = state().memory_limit - bytes_reserved();
  return success;
}
EXPORT Result cuMemFree_v2(Address address) {
  const CallScope call("cuMemFree", CallScope::gives_back);
  const auto found = state().blocks.find(address);
  if (found == state().blocks.end() || found->second.is_freed) {
    return misuse(invalid_value, "cuMemFree: a block that does not exist");
  }
  if (const Result refused = refuse_unsafe_call(); refused != success) return refused;
  if (found->second.is_of_graph) return free_of_graph(found->second, "cuMemFree");
  run_everything();  // As the driver does.
  erase_block(address);
  shrink_pools();
  return call.end(success);
}

/// The beginnings of CUDA_EXTERNAL_MEMORY_HANDLE_DESC, for a descriptor, and of
/// CUDA_EXTERNAL_MEMORY_BUFFER_DESC.
struct ExternalHandle {
  int type;
  union {
    int file;
    void* handles[2];
  };
  unsigned long long size;
  unsigned flags;
};
struct ExternalRange {
  unsigned long long offset;
  unsigned long long size;
  unsigned flags;
};
/// Takes over the descriptor, as the driver does, when it succeeds. A file in memory is what
/// another interface of the GPU exported.
EXPORT Result cuImportExternalMemory(ExternalObject** out, const ExternalHandle* from) {
  const CallScope call("cuImportExternalMemory", CallScope::needs_context, nullptr, from->size);
  if (call.code != success) return call.code;
  struct stat status{};
  if (from->type != 1 || ::fstat(from->file, &status) != 0 ||
      static_cast<std::uint64_t>(status.st_size) < from->size) {
    return invalid_value;
  }
  auto made = std::make_unique<ExternalObject>(ExternalObject{from->file, from->size});
  *out = made.get();
  state().external_objects.emplace(*out, std::move(made));
  return success;
}
EXPORT Result cuExternalMemoryGetMappedBuffer(Address* out, ExternalObject* object,
                                              const ExternalRange* range) {
  const CallScope call("cuExternalMemoryGetMappedBuffer", CallScope::needs_context, nullptr,
                       range->size);
  if (call.code != success) return call.code;
  if (!state().external_objects.contains(object)) {
    return misuse(invalid_handle, "cuExternalMemoryGetMappedBuffer: memory that does not exist");
  }
  if (range->flags != 0 || range->size == 0 || range->offset + range->size > object->size) {
    return misuse(invalid_value, "cuExternalMemoryGetMappedBuffer: a range outside of the object");
  }
  const DeviceBlock* const block = new_imported_block(object->file, range->offset, range->size);
  if (!block) return out_of_memory;
  *out = block->address;
  return success;
}
EXPORT Result cuDestroyExternalMemory(ExternalObject* object) {
  const CallScope call("cuDestroyExternalMemory", CallScope::gives_back);
  const auto found = state().external_objects.find(object);
  if (found == state().external_objects.end()) {
    return misuse(invalid_handle, "cuDestroyExternalMemory: memory that does not exist");
  }
  ::close(object->file);
  state().external_objects.erase(found);
  return call.end(success);
}

/// The beginning of CUmemPoolProps: kind of memory, kind of handles, and the place.
struct PoolProperties {
  int allocation_type;
  int handle_types;
  int location_type;
  int location_id;
};
EXPORT Result cuMemPoolCreate(MemoryPool** out, const PoolProperties* properties) {
  const CallScope call("cuMemPoolCreate", CallScope::needs_nothing);
  if (call.code != success) return call.code;
  if (!state().has_memory_pools) return misuse(not_supported, "cuMemPoolCreate: no pools here");
  if (properties->allocation_type != 1 || properties->location_type != 1) return invalid_value;
  auto pool = std::make_unique<MemoryPool>();
  pool->device = properties->location_id;
  *out = pool.get();
  state().memory_pools.emplace(*out, std::move(pool));
  return success;
}
EXPORT Result cuMemPoolDestroy(MemoryPool* pool) {
  const CallScope call("cuMemPoolDestroy", CallScope::gives_back);
  if (!find_pool(pool, "cuMemPoolDestroy")) return invalid_handle;
  run_everything();
  if (pool->used != 0) misuse(invalid_value, "cuMemPoolDestroy: blocks of it are in use");
  state().memory_pools.erase(pool);
  return call.end(success);
}
EXPORT Result cuMemPoolSetAttribute(MemoryPool* pool, int attribute, void* value) {
  const CallScope call("cuMemPoolSetAttribute", CallScope::needs_nothing);
  if (call.code != success) return call.code;
  constexpr int release_threshold = 4;
  if (!find_pool(pool, "cuMemPoolSetAttribute")) return invalid_handle;
  if (attribute == release_threshold) std::memcpy(&pool->threshold, value, sizeof pool->threshold);
  return success;
}
EXPORT Result cuMemPoolTrimTo(MemoryPool* pool, std::size_t kept) {
  const CallScope call("cuMemPoolTrimTo", CallScope::needs_nothing);
  if (call.code != success) return call.code;
  if (!find_pool(pool, "cuMemPoolTrimTo")) return invalid_handle;
  pool->cached = std::min(pool->cached, kept > pool->used ? kept - pool->used : 0);
  return success;
}
EXPORT Result cuMemAllocFromPoolAsync(Address* out, std::size_t nbytes, MemoryPool* pool,
                                      Stream* stream) {
  const char* const name = "cuMemAllocFromPoolAsync";
  const CallScope call(name, CallScope::needs_context, stream, nbytes);
  if (call.code != success) return call.code;
  Stream* const on = find_stream(stream, name);
  if (!on || !find_pool(pool, name)) return invalid_handle;
  if (nbytes == 0 || pool->device != context_stack().back()->device) {
    return misuse(invalid_value, "cuMemAllocFromPoolAsync: 0 bytes, or a pool of another device");
  }
  if (on->is_capturing) return capture_allocation(out, nbytes, *on);
  const std::size_t reused = std::min(nbytes, pool->cached);
  if (bytes_reserved() - reused + nbytes > state().memory_limit) return out_of_memory;
  DeviceBlock* const block = new_block(nbytes);
  if (!block) return out_of_memory;
  block->pool = pool;
  block->is_ready = false;
  pool->used += nbytes;
  pool->cached -= reused;
  *out = block->address;
  return enqueue(stream, name, [address = block->address] {
    const auto found = state().blocks.find(address);
    if (found != state().blocks.end()) found->second.is_ready = true;
  });
}
EXPORT Result cuMemFreeAsync(Address address, Stream* stream) {
  const CallScope call("cuMemFreeAsync", CallScope::gives_back, stream);
  const auto found = state().blocks.find(address);
  if (found == state().blocks.end() || found->second.is_freed) {
    return misuse(invalid_value, "cuMemFreeAsync: a block that does not exist");
  }
  const Stream* const on = find_stream(stream, "cuMemFreeAsync");
  if (on && on->is_capturing) {
    const auto& memory = on->captured.memory;
    const bool is_of_this =
        memory && std::ranges::find(memory->addresses, address) != memory->addresses.end();
    if (!is_of_this || found->second.is_freed_in_graph) {
      return misuse(invalid_value, "cuMemFreeAsync: in a capture, a block that is not the graph's");
    }
    found->second.is_freed_in_graph = true;
    return call.end(enqueue(stream, "cuMemFreeAsync", [address] {
      const auto block = state().blocks.find(address);
      if (block != state().blocks.end()) block->second.is_ready = false;
    }));
  }
  if (found->second.is_of_graph) {
    return enqueue(stream, "cuMemFreeAsync", [address] {
      const auto block = state().blocks.find(address);
      if (block != state().blocks.end()) free_of_graph(block->second, "cuMemFreeAsync");
    });
  }
  found->second.is_freed = true;
  const Result code = enqueue(stream, "cuMemFreeAsync", [address] { erase_block(address); });
  return code != success ? code : call.end(success);
}

EXPORT Result cuMemHostAlloc(void** out, std::size_t nbytes, unsigned) {
  const CallScope call("cuMemHostAlloc", CallScope::needs_context, nullptr, nbytes);
  if (call.code != success) return call.code;
  if (const Result refused = refuse_unsafe_call(); refused != success) return refused;
  *out = std::aligned_alloc(4096, (nbytes + 4095) / 4096 * 4096);
  if (!*out) return out_of_memory;
  state().host_blocks.emplace(*out, nbytes);
  return success;
}
EXPORT Result cuMemFreeHost(void* block) {
  const CallScope call("cuMemFreeHost", CallScope::gives_back);
  if (const Result refused = refuse_unsafe_call(); refused != success) return refused;
  if (state().host_blocks.erase(block) == 0) {
    return misuse(invalid_value, "cuMemFreeHost: a block that does not exist");
  }
  run_everything();
  std::free(block);
  return call.end(success);
}

EXPORT Result cuMemcpyAsync(Address to, Address from, std::size_t nbytes, Stream* stream) {
  const CallScope call("cuMemcpyAsync", CallScope::needs_context, stream, nbytes);
  if (call.code != success) return call.code;
  return enqueue_copy("cuMemcpyAsync", to, from, nbytes, stream);
}
EXPORT Result cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t nbytes,
                                   Stream* stream) {
  const CallScope call("cuMemcpyHtoDAsync", CallScope::needs_context, stream, nbytes, from);
  if (call.code != success) return call.code;
  if (!find_block(to, nbytes)) return misuse(invalid_value, "cuMemcpyHtoDAsync: not on the device");
  return enqueue_copy("cuMemcpyHtoDAsync", to, as_address(from), nbytes, stream);
}
EXPORT Result cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t nbytes, Stream* stream) {
  const CallScope call("cuMemcpyDtoHAsync", CallScope::needs_context, stream, nbytes);
  if (call.code != success) return call.code;
  if (!find_block(from, nbytes)) {
    return misuse(invalid_value, "cuMemcpyDtoHAsync: not on the device");
  }
  return enqueue_copy("cuMemcpyDtoHAsync", as_address(to), from, nbytes, stream);
}
EXPORT Result cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t nbytes, Stream* stream) {
  const CallScope call("cuMemcpyDtoDAsync", CallScope::needs_context, stream, nbytes);
  if (call.code != success) return call.code;
  if (!find_block(to, nbytes) || !find_block(from, nbytes)) {
    return misuse(invalid_value, "cuMemcpyDtoDAsync: not on the device");
  }
  return enqueue_copy("cuMemcpyDtoDAsync", to, from, nbytes, stream);
}

/// CUDA_MEMCPY2D_v2, for copies within a device.
struct Copy2D {
  std::size_t from_x;
  std::size_t from_y;
  int from_type;
  const void* from_host;
  Address from;
  void* from_array;
  std::size_t from_pitch;
  std::size_t to_x;
  std::size_t to_y;
  int to_type;
  void* to_host;
  Address to;
  void* to_array;
  std::size_t to_pitch;
  std::size_t width;
  std::size_t height;
};
EXPORT Result cuMemcpy2DAsync_v2(const Copy2D* copy, Stream* stream) {
  const CallScope call("cuMemcpy2DAsync", CallScope::needs_context, stream,
                       copy->width * copy->height);
  if (call.code != success) return call.code;
  if (copy->from_type != 2 || copy->to_type != 2 || copy->from_pitch < copy->width ||
      copy->to_pitch < copy->width) {
    return misuse(invalid_value, "cuMemcpy2DAsync: pitches below the width, or not on the device");
  }
  for (std::size_t row = 0; row < copy->height; ++row) {
    const Result code = enqueue_copy("cuMemcpy2DAsync", copy->to + row * copy->to_pitch,
                                     copy->from + row * copy->from_pitch, copy->width, stream);
    if (code != success) return code;
  }
  return success;
}
EXPORT Result cuMemsetD8Async(Address to, unsigned char value, std::size_t nbytes, Stream* stream) {
  const CallScope call("cuMemsetD8Async", CallScope::needs_context, stream, nbytes);
  if (call.code != success) return call.code;
  if (!find_block(to, nbytes)) return misuse(invalid_value, "cuMemsetD8Async: not on the device");
  return enqueue(stream, "cuMemsetD8Async", [to, value, nbytes] {
    if (std::byte* const target = resolve(to, nbytes, "cuMemsetD8Async", When::turn)) {
      std::memset(target, value, nbytes);
    }
  });
}

EXPORT Result cuPointerGetAttribute(void* out, int attribute, Address address) {
  const CallScope call("cuPointerGetAttribute", CallScope::needs_context);
  if (call.code != success) return call.code;
  constexpr int memory_type = 2;
  constexpr int device_ordinal = 9;
  const DeviceBlock* block = find_block(address, 1);
  const auto pinned = state().host_blocks.find(reinterpret_cast<const void*>(address));
  if (!block && pinned == state().host_blocks.end()) return invalid_value;
  const int type = block ? 2 : 1;
  const int device = block ? block->device : 0;
  const int answer = attribute == memory_type ? type : attribute == device_ordinal ? device : 0;
  std::memcpy(out, &answer, sizeof answer);
  return success;
}
