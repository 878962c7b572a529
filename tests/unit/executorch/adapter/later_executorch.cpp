// SPDX-License-Identifier: MIT
#include "later_executorch.hpp"

#include <cstddef>
#include <cstdint>

namespace tenon::test::later {

/// How DeviceAllocator begins, but for the types: the destructor, allocate, deallocate, one copy.
struct OneCopy {
  virtual ~OneCopy() = default;
  virtual void allocate() = 0;
  virtual void deallocate() = 0;
  virtual int copy_host_to_device(void*, const void*, std::size_t, int) = 0;
};
struct AllCopies : OneCopy {
  virtual int copy_device_to_host(void*, const void*, std::size_t, int) = 0;
  virtual int copy_device_to_device(void*, int, const void*, int, std::size_t) = 0;
};

/// DeviceAllocator with `More` functions between two copies and device_type; -1 lacks a copy.
template <int More>
struct Allocator;
template <>
struct Allocator<-1> : OneCopy {
  virtual std::int8_t device_type() const = 0;
};
template <>
struct Allocator<1> : AllCopies {
  virtual std::int8_t device_type() const = 0;
};
template <>
struct Allocator<2> : AllCopies {
  virtual void synchronize() = 0;
  virtual std::int8_t device_type() const = 0;
};

/// BackendInterface: the destructor, six functions, and the one after them.
struct Backend {
  virtual ~Backend() = default;
  virtual bool is_available() const = 0;
  virtual void init() const = 0;
  virtual void execute() const = 0;
  virtual void set_option() = 0;
  virtual void get_option() = 0;
  virtual void destroy() const = 0;
  virtual std::uint32_t initialize_backend_data(void* context, void* writer) const = 0;
};

int device_type_of(void* allocator) {
  return static_cast<const Allocator<1>*>(allocator)->device_type();
}
int device_type_behind_two(void* allocator) {
  return static_cast<const Allocator<2>*>(allocator)->device_type();
}
int device_type_one_earlier(void* allocator) {
  return static_cast<const Allocator<-1>*>(allocator)->device_type();
}

unsigned initialize_backend_data(void* backend) {
  return static_cast<const Backend*>(backend)->initialize_backend_data(nullptr, nullptr);
}

}  // namespace tenon::test::later
