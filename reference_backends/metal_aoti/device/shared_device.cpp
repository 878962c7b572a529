// SPDX-License-Identifier: MIT
#include "device/shared_device.hpp"

#include <unistd.h>

#include <functional>
#include <iterator>
#include <string>

namespace tenon::metal_aoti {

Result<std::byte*> SharedDevice::allocate(std::size_t nbytes) {
  TENON_TRY(auto buffer, device_->allocate(nbytes));
  std::byte* const contents = buffer->contents();
  const std::lock_guard lock(mutex_);
  buffers_.emplace(contents, std::move(buffer));
  return contents;
}

bool SharedDevice::adopt(Bytes bytes) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data()) / page * page;
  const auto end =
      (reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size() + page - 1) / page * page;
  auto* const pages = reinterpret_cast<std::byte*>(begin);
  const std::lock_guard lock(mutex_);
  const auto known = buffers_.find(pages);
  if (known == buffers_.end()) {
    auto made = device_->adopt(pages, end - begin);
    if (!made) return false;
    buffers_.emplace(pages, std::move(made));
  } else if (known->second->nbytes() < end - begin) {
    return false;
  }
  ++uses_[pages];
  adopted_.emplace(bytes.data(), pages);
  return true;
}

void SharedDevice::free(std::byte* contents) noexcept {
  const std::lock_guard lock(mutex_);
  const std::byte* buffer = contents;
  if (const auto adopted = adopted_.find(contents); adopted != adopted_.end()) {
    buffer = adopted->second;
    adopted_.erase(adopted);
    if (--uses_[buffer] != 0) return;
    uses_.erase(buffer);
  }
  generation_.fetch_add(1, std::memory_order_release);
  buffers_.erase(buffer);
}

MetalBuffer* SharedDevice::find(const std::byte* address) const {
  const std::lock_guard lock(mutex_);
  auto place = buffers_.upper_bound(address);
  if (place == buffers_.begin()) return nullptr;
  MetalBuffer& buffer = *std::prev(place)->second;
  return std::less{}(address, buffer.contents() + buffer.nbytes()) ? &buffer : nullptr;
}

std::size_t SharedDevice::num_buffers() const {
  const std::lock_guard lock(mutex_);
  return buffers_.size();
}

Result<const MetalFunction*> SharedDevice::own_kernel(OwnKernel kernel, ScalarType type) {
  const char* const metal_type = metal_type_for(kernel, type);
  if (!metal_type) {
    return error(Error::NotSupported, "dtype ", name_of(type),
                 ": the backend's kernel for this takes ", supported_types(kernel));
  }
  return get(kernel, static_cast<std::size_t>(type), metal_type);
}

Result<const MetalFunction*> SharedDevice::copy_kernel(std::size_t element_size) {
  const char* const metal_type = metal_type_of_size(element_size);
  if (!metal_type) {
    return error(Error::NotSupported, "a copy of elements of ", element_size,
                 " bytes: expected 1, 2, 4, 8 or 16");
  }
  return get(OwnKernel::copy, element_size, metal_type);
}

Result<const MetalFunction*> SharedDevice::get(OwnKernel kernel, std::size_t variant,
                                               const char* metal_type) {
  auto& known = functions_[static_cast<std::size_t>(kernel)][variant];
  if (const MetalFunction* found = known.load(std::memory_order_acquire)) return found;
  const std::string source = own_kernel_source(kernel, metal_type);
  // Two threads may both compile; one of the results is used, and both are kept.
  TENON_TRY(auto library, device_->compile(source.c_str()));
  TENON_TRY(auto function, library->function(own_kernel_name(kernel)));
  const std::lock_guard lock(mutex_);
  compiled_.push_back({std::move(library), std::move(function)});
  known.store(compiled_.back().function.get(), std::memory_order_release);
  return known.load(std::memory_order_relaxed);
}

Result<std::shared_ptr<SharedDevice>> system_device() {
  static std::mutex mutex;
  static std::shared_ptr<SharedDevice> only;
  const std::lock_guard lock(mutex);
  if (!only) {
    TENON_TRY(auto device, open_metal_device());
    only = std::make_shared<SharedDevice>(std::move(device));
  }
  return only;
}

}  // namespace tenon::metal_aoti
