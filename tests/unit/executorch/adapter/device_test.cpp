// SPDX-License-Identifier: MIT
//
// Memory on devices, with the stand-in for CUDA that cannot be touched by the host.

#include <array>

#include "plugins/far/far_memory.hpp"
#include "unit/executorch/adapter/stock.hpp"

using namespace tenon;
using namespace tenon::test;

namespace device_test {

et::DeviceAllocator& allocator() {
  adapted();
  auto* const found = et::get_device_allocator(et::etensor::DeviceType::CUDA);
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace device_test

using device_test::allocator;

TEST_CASE("ExecuTorch allocates and copies on a device through the plugin that serves it",
          "[executorch][TN-DEV-1]") {
  const std::array<float, 3> values{1, 2, 3};
  std::array<float, 3> back{};
  const auto block = allocator().allocate(sizeof values, 1, 64);
  REQUIRE(block.ok());
  CHECK(reinterpret_cast<std::uintptr_t>(*block) % 64 == 0);
  CHECK(allocator().copy_host_to_device(*block, values.data(), sizeof values, 1) == et::Error::Ok);
  CHECK(allocator().copy_device_to_host(back.data(), *block, sizeof values, 1) == et::Error::Ok);
  CHECK(back == values);
  CHECK(far_memory().live == 1);
  allocator().deallocate(*block, 1);
  CHECK(far_memory().live == 0);
  CHECK(far_memory().wrong_frees == 0);
}

TEST_CASE("memory of an absent device, and exhausted memory, is an error with a text",
          "[executorch]") {
  CHECK(allocator().allocate(8, 5, 8).error() == et::Error::NotFound);
  CHECK_THAT(last_text(), ContainsSubstring("no CUDA device 5"));
  CHECK(allocator().allocate(8, 0, 3).error() == et::Error::InvalidArgument);
  far_memory().fail_allocation = 1;
  CHECK(allocator().allocate(8, 0, 8).error() == et::Error::MemoryAllocationFailed);
  CHECK_THAT(last_text(), ContainsSubstring("told to have no memory"));
  std::byte here{};
  CHECK(allocator().copy_host_to_device(&here, &here, 1, 0) == et::Error::InvalidArgument);
  CHECK(allocator().copy_host_to_device(nullptr, nullptr, 0, 0) == et::Error::Ok);
  const auto nothing = allocator().allocate(0, 0, 8);
  REQUIRE(nothing.ok());
  allocator().deallocate(*nothing, 0);
  CHECK(far_memory().live == 0);
}

TEST_CASE("a copy from device to device does not take the way over the host",
          "[executorch][TN-DEV-9]") {
  auto& plugin = static_cast<bridge::PluginDeviceAllocator&>(allocator());
  const std::array<float, 3> values{1, 2, 3};
  std::array<float, 3> back{};
  const auto from = plugin.allocate(sizeof values, 0, 64);
  const auto to = plugin.allocate(sizeof values, 1, 64);
  REQUIRE((from.ok() && to.ok()));
  REQUIRE(plugin.copy_host_to_device(*from, values.data(), sizeof values, 0) == et::Error::Ok);
  const int to_host = far_memory().to_host;
  const int between = far_memory().between;
  CHECK(plugin.copy_between(*to, 1, *from, 0, sizeof values) == et::Error::Ok);
  CHECK(far_memory().to_host == to_host);
  CHECK(far_memory().between == between + 1);
  REQUIRE(plugin.copy_device_to_host(back.data(), *to, sizeof back, 1) == et::Error::Ok);
  CHECK(back == values);
  CHECK(plugin.copy_between(*to, 1, *from, 7, 4) == et::Error::NotFound);
  CHECK_THAT(last_text(), ContainsSubstring("no CUDA device 7"));
  CHECK(plugin.copy_between(*to, 1, values.data(), 0, 4) == et::Error::InvalidArgument);
  plugin.deallocate(*from, 0);
  plugin.deallocate(*to, 1);
}

TEST_CASE("a method of ExecuTorch with memory on a device runs on a plugin's", "[executorch]") {
  adapted();
  const AlignedBytes bytes = program_on_device();
  ::executorch::extension::Module module(
      std::make_unique<::executorch::extension::BufferDataLoader>(bytes.bytes().data(),
                                                                  bytes.bytes().size()));
  REQUIRE(module.load_forward() == et::Error::Ok);
  const int planned = far_memory().live;
  CHECK(planned > 0);

  const std::array<float, 6> values{1, 2, 3, 4, 5, 6};
  const auto in = allocator().allocate(sizeof values, 0, 64);
  const auto out = allocator().allocate(sizeof values, 0, 64);
  REQUIRE((in.ok() && out.ok()));
  REQUIRE(allocator().copy_host_to_device(*in, values.data(), sizeof values, 0) == et::Error::Ok);
  std::array<std::int32_t, 2> sizes{2, 3}, strides{3, 1};
  std::array<std::uint8_t, 2> order{0, 1};
  const auto on_device = [&](void* data) {
    return TensorImpl(EtScalarType::Float, 2, sizes.data(), data, order.data(), strides.data(),
                      et::TensorShapeDynamism::STATIC, ::executorch::aten::DeviceType::CUDA, 0);
  };
  TensorImpl input = on_device(*in), output = on_device(*out);
  REQUIRE(module.set_output(et::EValue(::executorch::aten::Tensor(&output)), 0) == et::Error::Ok);
  const auto done = module.forward({et::EValue(::executorch::aten::Tensor(&input))});
  INFO(last_text());
  REQUIRE(done.ok());
  std::array<float, 6> back{};
  REQUIRE(allocator().copy_device_to_host(back.data(), *out, sizeof back, 0) == et::Error::Ok);
  CHECK(back == values);
  allocator().deallocate(*in, 0);
  allocator().deallocate(*out, 0);
  CHECK(module.unload_forward());
  CHECK(far_memory().live == 0);
}
