// SPDX-License-Identifier: MIT
#include "device/shared_device.hpp"

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <string>

namespace tenon::metal_aoti {

namespace {

std::uintptr_t address_of(const std::byte* bytes) noexcept {
  return reinterpret_cast<std::uintptr_t>(bytes);
}

std::uintptr_t page_size() noexcept {
  static const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

Result<std::byte*> SharedDevice::allocate(std::size_t nbytes) {
  TENON_TRY(auto buffer, device_->allocate(nbytes));
  std::byte* const contents = buffer->contents();
  const std::lock_guard lock(mutex_);
  buffers_.emplace(contents, Entry{std::move(buffer)});
  return contents;
}

Result<std::byte*> SharedDevice::allocate_for_host(std::size_t nbytes, std::size_t alignment) {
  // Metal does not say how contents are aligned.
  if (nbytes > SIZE_MAX - alignment) {
    return error(Error::MemoryAllocationFailed, "a buffer of ", nbytes, " bytes aligned to ",
                 alignment, ": more than can be addressed");
  }
  TENON_TRY(auto buffer, device_->allocate(nbytes));
  if (address_of(buffer->contents()) % alignment != 0) {
    TENON_TRY(buffer, device_->allocate(nbytes + alignment - 1));
  }
  std::byte* const contents = buffer->contents();
  const std::uintptr_t over = address_of(contents) % alignment;
  const std::lock_guard lock(mutex_);
  buffers_.emplace(contents, Entry{std::move(buffer), true});
  return contents + (over == 0 ? 0 : alignment - over);
}

bool SharedDevice::has_buffer_in(const std::byte* begin, const std::byte* end,
                                 bool of_hosts) const {
  for (auto at = buffers_.lower_bound(end); at != buffers_.begin();) {
    const auto& [contents, entry] = *--at;
    const bool is_before = !std::less{}(begin, contents + entry.buffer->nbytes());
    if (!is_before && (!of_hosts || entry.is_hosts)) return true;
  }
  return false;
}

Status SharedDevice::import_from_host(std::span<std::byte> pages) {
  if (address_of(pages.data()) % page_size() != 0 || pages.size() % page_size() != 0) {
    return error(Error::NotSupported, "expected whole pages of ", page_size(), " bytes, found ",
                 pages.size(), " bytes that begin ", address_of(pages.data()) % page_size(),
                 " bytes after a page");
  }
  const std::lock_guard lock(mutex_);
  if (const auto known = buffers_.find(pages.data()); known != buffers_.end()) {
    const Entry& entry = known->second;
    if (entry.is_hosts && entry.buffer->nbytes() == pages.size() && uses_.contains(pages.data())) {
      ++uses_[pages.data()];
      return ok();
    }
  }
  if (has_buffer_in(pages.data(), pages.data() + pages.size(), false)) {
    return error(Error::NotSupported, "some of the ", pages.size(),
                 " bytes are in another buffer of the device");
  }
  auto made = device_->adopt(pages.data(), pages.size());
  if (!made) {
    return error(Error::NotSupported, "Metal makes no buffer of these ", pages.size(),
                 " bytes: the device has memory of its own, or they are not of one mapping");
  }
  // First what may fail for lack of memory and leaves no buffer.
  std::size_t& uses = uses_[pages.data()];
  buffers_.emplace(pages.data(), Entry{std::move(made), true});
  uses = 1;
  return ok();
}

bool SharedDevice::adopt(Bytes bytes) {
  const std::uintptr_t page = page_size();
  const std::uintptr_t begin = address_of(bytes.data()) / page * page;
  const std::uintptr_t end = (address_of(bytes.data()) + bytes.size() + page - 1) / page * page;
  auto* const pages = reinterpret_cast<std::byte*>(begin);
  const std::lock_guard lock(mutex_);
  if (has_buffer_in(pages, pages + (end - begin), true)) return false;
  const auto known = buffers_.find(pages);
  if (known == buffers_.end()) {
    auto made = device_->adopt(pages, end - begin);
    if (!made) return false;
    buffers_.emplace(pages, Entry{std::move(made)});
  } else if (known->second.buffer->nbytes() < end - begin) {
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
  }
  if (const auto used = uses_.find(buffer); used != uses_.end()) {
    if (--used->second != 0) return;
    uses_.erase(used);
  }
  generation_.fetch_add(1, std::memory_order_release);
  // A block for a host may begin inside of its buffer.
  auto place = buffers_.upper_bound(buffer);
  if (place == buffers_.begin()) return;
  --place;
  if (std::less{}(buffer, place->first + place->second.buffer->nbytes())) buffers_.erase(place);
}

SharedDevice::Found SharedDevice::find(const std::byte* address) const {
  const std::lock_guard lock(mutex_);
  const auto place = buffers_.upper_bound(address);
  if (place == buffers_.begin()) return {};
  const Entry& entry = std::prev(place)->second;
  MetalBuffer& buffer = *entry.buffer;
  if (!std::less{}(address, buffer.contents() + buffer.nbytes())) return {};
  return {&buffer, entry.is_hosts};
}

Result<SharedDevice::Place> SharedDevice::place_in(MetalBuffer* buffer, const std::byte* address,
                                                   std::size_t nbytes) {
  if (!buffer) {
    return error(Error::InvalidArgument,
                 "expected the address of memory of the Metal device, found another one");
  }
  const auto offset = static_cast<std::size_t>(address - buffer->contents());
  if (nbytes > buffer->nbytes() - offset) {
    return error(Error::InvalidArgument, "expected ", nbytes, " bytes at byte ", offset,
                 " of a buffer, found a buffer of ", buffer->nbytes());
  }
  return Place{buffer, offset};
}

Result<SharedDevice::Place> SharedDevice::place(const void* address, std::size_t nbytes) const {
  const auto* const first = static_cast<const std::byte*>(address);
  return place_in(find(first).buffer, first, nbytes);
}

std::size_t SharedDevice::num_buffers() const {
  const std::lock_guard lock(mutex_);
  return buffers_.size();
}

void SharedDevice::note_unfinished(const std::shared_ptr<UnfinishedWork>& work) {
  const std::lock_guard lock(mutex_);
  std::erase_if(unfinished_, [](const auto& each) { return each.expired(); });
  unfinished_.push_back(work);
}

Status SharedDevice::finish() {
  std::vector<std::shared_ptr<UnfinishedWork>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& each : unfinished_) {
      if (auto work = each.lock()) all.push_back(std::move(work));
    }
  }
  Status first = ok();
  for (const auto& each : all) {
    Status status = each->wait();
    if (first.ok()) first = std::move(status);
  }
  return first;
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
