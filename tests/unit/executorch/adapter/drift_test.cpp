// SPDX-License-Identifier: MIT
//
// Classes of ExecuTorch that are longer in a library than in the headers of the bridge: what shows
// it, and what is called then.
#include "later_executorch.hpp"
#include "tenon/executorch/adapter/device_allocator.hpp"
#include "tenon/executorch/adapter/plugin_adapter.hpp"
#include "tenon/executorch/layout_probe.hpp"
#include "unit/executorch/adapter/stock.hpp"

using namespace tenon;
using namespace tenon::test;

namespace drift_test {
namespace {

/// The interface of headers that have the function.
struct Context {};
struct Writer {};
class LaterInterface : public et::BackendInterface {
 public:
  [[nodiscard]] virtual et::Error initialize_backend_data(Context&, Writer&) const {
    return et::Error::Internal;
  }
};

/// The allocator of headers that have the function, in front of `device_type`.
class LaterAllocator : public et::DeviceAllocator {
 public:
  [[nodiscard]] virtual et::Error copy_device_to_device(void*, et::etensor::DeviceIndex,
                                                        const void*, et::etensor::DeviceIndex,
                                                        std::size_t) {
    return et::Error::NotSupported;
  }
};

class CopyingAllocator final : public bridge::AllocatorThatCopies<LaterAllocator> {
 public:
  et::Result<void*> allocate(std::size_t, et::etensor::DeviceIndex, std::size_t) override {
    return et::Error::NotSupported;
  }
  void deallocate(void*, et::etensor::DeviceIndex) override {}
  et::Error copy_host_to_device(void*, const void*, std::size_t,
                                et::etensor::DeviceIndex) override {
    return et::Error::NotSupported;
  }
  et::Error copy_device_to_host(void*, const void*, std::size_t,
                                et::etensor::DeviceIndex) override {
    return et::Error::NotSupported;
  }
  et::Error copy_between(void*, et::etensor::DeviceIndex to_index, const void*,
                         et::etensor::DeviceIndex from_index, std::size_t nbytes) override {
    return to_index == 1 && from_index == 2 && nbytes == 3 ? et::Error::Ok : et::Error::Internal;
  }
  [[nodiscard]] et::etensor::DeviceType device_type() const override {
    return et::etensor::DeviceType::CUDA;
  }
};

template <class Interface>
using Adapted = IdleInterface<bridge::adapter::AdaptedInterface<Interface>>;

}  // namespace

TEST_CASE("the loaded library calls allocators where the headers say", "[executorch]") {
  CHECK(bridge::detail::check_device_allocator().ok());
}

TEST_CASE("a library that calls another function of an allocator is refused", "[executorch]") {
  using bridge::detail::check_device_allocator;
  struct Library {
    bridge::detail::RegisterAllocator take;
    const char* called;
  };
  const Library libraries[] = {
      {[](et::DeviceAllocatorRegistry&, et::DeviceAllocator* each) {
         CHECK(later::device_type_of(each) == 1);
       },
       "calls a function behind the headers' last"},
      {[](et::DeviceAllocatorRegistry&, et::DeviceAllocator* each) {
         CHECK(later::device_type_behind_two(each) == 1);
       },
       "calls a function behind the headers' last"},
      {[](et::DeviceAllocatorRegistry&, et::DeviceAllocator* each) {
         CHECK(later::device_type_one_earlier(each) == 0);
       },
       "calls copy_device_to_host"},
      {[](et::DeviceAllocatorRegistry&, et::DeviceAllocator*) {}, "calls nothing"},
  };
  for (const Library& library : libraries) {
    const Status checked = check_device_allocator(library.take);
    CHECK(checked.error() == Error::NotSupported);
    CHECK_THAT(std::string(checked.text()),
               ContainsSubstring("DeviceAllocator is laid out otherwise") &&
                   ContainsSubstring(library.called));
  }
}

TEST_CASE("with headers that have copy_device_to_device, an allocator's copies are the plugin's",
          "[executorch]") {
  static_assert(!bridge::HasCopyBetween<et::DeviceAllocator>);
  static_assert(bridge::HasCopyBetween<LaterAllocator>);
  CopyingAllocator made;
  LaterAllocator& allocator = made;
  CHECK(allocator.copy_device_to_device(nullptr, 1, nullptr, 2, 3) == et::Error::Ok);
  CHECK(allocator.device_type() == et::etensor::DeviceType::CUDA);
}

TEST_CASE("a library with initialize_backend_data is answered that nothing is stored",
          "[executorch]") {
  static_assert(!bridge::adapter::HasBackendData<et::BackendInterface>);
  static_assert(bridge::adapter::HasBackendData<LaterInterface>);
  constexpr auto refused = static_cast<unsigned>(et::Error::NotSupported);
  Adapted<et::BackendInterface> today;
  CHECK(later::initialize_backend_data(static_cast<et::BackendInterface*>(&today)) == refused);
  // With headers that have the function, the adapter overrides it.
  Adapted<LaterInterface> with_function;
  Context context;
  Writer writer;
  const LaterInterface& interface = with_function;
  CHECK(interface.initialize_backend_data(context, writer) == et::Error::NotSupported);
  CHECK(later::initialize_backend_data(static_cast<et::BackendInterface*>(&with_function)) ==
        refused);
}

}  // namespace drift_test
