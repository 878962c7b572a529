// SPDX-License-Identifier: MIT
//
// Memory of the stand-in: blocks, copies between them and the host, and the attributes of an
// address.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "state.hpp"

using namespace tenon::stand_in_cuda;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Address = unsigned long long;

/// Enqueues a copy. Both sides are looked up when it is done, not before: bytes of the host are
/// read late, and a block that was freed by then is a misuse.
Result enqueue_copy(const char* name, Address to, Address from, std::size_t nbytes,
                    Stream* stream) {
  if (!resolve(to, nbytes, name) || !resolve(from, nbytes, name)) return invalid_value;
  return enqueue(stream, name, [name, to, from, nbytes] {
    std::byte* const target = resolve(to, nbytes, name);
    const std::byte* const source = resolve(from, nbytes, name);
    if (target && source) std::memmove(target, source, nbytes);
  });
}

Address as_address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

void unmap(const DeviceBlock& block) {
  ::munmap(reinterpret_cast<void*>(static_cast<std::uintptr_t>(block.address)), block.mapped);
  ::munmap(block.bytes, block.mapped);
}

}  // namespace

EXPORT Result cuMemAlloc_v2(Address* out, std::size_t nbytes) {
  const CallScope call("cuMemAlloc", CallScope::needs_context, nullptr, nbytes);
  if (call.code != success) return call.code;
  if (nbytes == 0) return misuse(invalid_value, "cuMemAlloc: 0 bytes");
  constexpr std::size_t page = 4096;
  const std::size_t mapped = (nbytes + page - 1) / page * page;
  if (nbytes > std::size_t{1} << 32) return out_of_memory;
  const int file = ::memfd_create("stand-in-device", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(mapped)) != 0) return out_of_memory;
  void* const ours = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* const theirs =
      ::mmap(reinterpret_cast<void*>(static_cast<std::uintptr_t>(state().next_address)), mapped,
             PROT_NONE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
  ::close(file);
  if (ours == MAP_FAILED || theirs == MAP_FAILED) return out_of_memory;
  std::memset(ours, 0xa5, mapped);  // Not zero, so that no test relies on it.
  *out = as_address(theirs);
  state().blocks.emplace(*out, DeviceBlock{*out, nbytes, mapped, static_cast<std::byte*>(ours),
                                           context_stack().back()->device});
  state().next_address += mapped + page;
  return success;
}
EXPORT Result cuMemFree_v2(Address address) {
  const CallScope call("cuMemFree", CallScope::gives_back);
  const auto found = state().blocks.find(address);
  if (found == state().blocks.end()) {
    return misuse(invalid_value, "cuMemFree: a block that does not exist");
  }
  run_everything();  // As the driver does.
  unmap(found->second);
  state().blocks.erase(found);
  return call.end(success);
}
EXPORT Result cuMemHostAlloc(void** out, std::size_t nbytes, unsigned) {
  const CallScope call("cuMemHostAlloc", CallScope::needs_context, nullptr, nbytes);
  if (call.code != success) return call.code;
  *out = std::aligned_alloc(4096, (nbytes + 4095) / 4096 * 4096);
  if (!*out) return out_of_memory;
  state().host_blocks.emplace(*out, nbytes);
  return success;
}
EXPORT Result cuMemFreeHost(void* block) {
  const CallScope call("cuMemFreeHost", CallScope::gives_back);
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
  const CallScope call("cuMemcpyHtoDAsync", CallScope::needs_context, stream, nbytes);
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
    if (std::byte* const target = resolve(to, nbytes, "cuMemsetD8Async")) {
      std::memset(target, value, nbytes);
    }
  });
}

EXPORT Result cuPointerGetAttribute(void* out, int attribute, Address address) {
  const CallScope call("cuPointerGetAttribute", CallScope::needs_context);
  if (call.code != success) return call.code;
  const DeviceBlock* block = find_block(address, 1);
  if (!block) return invalid_value;
  const int answer = attribute == 2 ? 2 : attribute == 9 ? block->device : 0;
  std::memcpy(out, &answer, sizeof answer);
  return success;
}
