// SPDX-License-Identifier: MIT
//
// Arguments in memory of the host that the device works on where it is.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/shared_device.hpp"
#include "metal_programs.hpp"
#include "stand_in_device.hpp"
#include "sum_model.hpp"
#include "tenon/host/layers/budget/budget.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"

using namespace metal_test;
using tenon::metal_stand_in::control;

namespace host_memory_test {
namespace {

using Sum = SumModel;

bool was_given(const std::vector<const std::byte*>& given, const std::byte* address) {
  return std::ranges::find(given, address) != given.end();
}

std::string refusal(host::BackendRef backend, const ExternalMemory& memory) {
  const auto imported = host::ImportedMemory::import(std::move(backend), memory);
  CHECK(imported.error() == Error::NotSupported);
  return std::string(imported.text());
}

}  // namespace

TEST_CASE("inputs and outputs in imported and planned pages are not copied", "[metal]") {
  const int adopted = control().num_adopted;
  {
    Sum sum;
    const Pages pages(2);
    const auto imported = host::ImportedMemory::import(sum.backend(), pages.memory());
    INFO(imported.text());
    REQUIRE(imported.ok());
    CHECK(imported->bytes().data() == pages.data());
    sum.load();
    // The first run shows which tensor the model returns.
    const auto first = sum.run(pages.data(), 1);
    CHECK(was_given(first, pages.data()));
    CHECK_FALSE(was_given(first, sum.output()));
    const int buffers = control().num_buffers;
    const int in_place = control().num_adopted;
    for (int run = 2; run < 5; ++run) {
      const auto given = sum.run(pages.data(), static_cast<float>(run));
      CHECK(was_given(given, pages.data()));
      CHECK(was_given(given, sum.output()));
      CHECK(control().num_buffers == buffers);
      CHECK(control().num_adopted == in_place);
    }
    // At another place in them, with the alignment that kernels are compiled for, and without it.
    CHECK(was_given(sum.run(pages.data() + 256, 7), pages.data() + 256));
    CHECK_FALSE(was_given(sum.run(pages.data() + 4, 8), pages.data() + 4));
  }
  CHECK(control().num_adopted == adopted);
  CHECK(control().num_buffers == 0);
}

TEST_CASE("inputs in other memory of the host are copied", "[metal]") {
  Sum sum;
  sum.load();
  const Pages pages(2);
  for (int run = 0; run < 3; ++run) {
    CHECK_FALSE(was_given(sum.run(pages.data(), static_cast<float>(run)), pages.data()));
  }
  // Half of the input is in imported pages.
  ExternalMemory first_page = pages.memory();
  first_page.nbytes = page();
  const auto imported = host::ImportedMemory::import(sum.backend(), first_page);
  REQUIRE(imported.ok());
  CHECK_FALSE(was_given(sum.run(pages.data(), 5), pages.data()));
}

TEST_CASE("memory that was released and is in use again is other memory", "[metal]") {
  Sum sum;
  sum.load();
  std::optional<Pages> pages(std::in_place, std::size_t{2});
  std::byte* const address = pages->data();
  {
    const auto imported = host::ImportedMemory::import(sum.backend(), pages->memory());
    REQUIRE(imported.ok());
    CHECK(was_given(sum.run(address, 1), address));
  }
  const int adopted = control().num_adopted;
  pages.reset();
  pages.emplace(std::size_t{2}, address);
  CHECK_FALSE(was_given(sum.run(address, 2), address));
  CHECK(control().num_adopted == adopted);
  const auto again = host::ImportedMemory::import(sum.backend(), pages->memory());
  REQUIRE(again.ok());
  CHECK(was_given(sum.run(address, 3), address));
}

TEST_CASE("memory that Metal makes no buffer of is refused, and runs copy", "[metal][TN-EXM-2]") {
  Sum sum;
  const Pages pages(3);
  ExternalMemory memory = pages.memory();
  memory.offset = 64;
  memory.nbytes = page();
  CHECK_THAT(refusal(sum.backend(), memory),
             ContainsSubstring("expected whole pages") && ContainsSubstring("64 bytes after"));
  memory.offset = 0;
  memory.nbytes = page() + 16;
  CHECK_THAT(refusal(sum.backend(), memory), ContainsSubstring("expected whole pages"));
  memory.nbytes = page();
  memory.is_written = false;
  CHECK_THAT(refusal(sum.backend(), memory), ContainsSubstring("for writing, too"));
  memory.is_written = true;
  memory.device = {TENON_DL_METAL, 1};
  CHECK(host::ImportedMemory::import(sum.backend(), memory).error() == Error::InvalidArgument);
  // Of two mappings: what is there has other rights in the middle.
  REQUIRE(::mprotect(pages.data() + page(), page(), PROT_READ) == 0);
  CHECK_THAT(refusal(sum.backend(), pages.memory()), ContainsSubstring("of one mapping"));
  REQUIRE(::mprotect(pages.data() + page(), page(), PROT_READ | PROT_WRITE) == 0);

  control().adopts = false;
  CHECK_THAT(refusal(sum.backend(), pages.memory()), ContainsSubstring("memory of its own"));
  sum.load();
  control().adopts = true;
  for (int run = 0; run < 3; ++run) {
    const auto given = sum.run(pages.data(), static_cast<float>(run));
    CHECK_FALSE(was_given(given, pages.data()));
    CHECK_FALSE(was_given(given, sum.output()));
  }
}

TEST_CASE("pages of planned memory are within the budget, or there are none", "[metal]") {
  Sum sum;
  const Pages pages(2);
  const auto with_budget = [](std::uint64_t most) {
    host::MethodOptions options;
    options.layers.add(host::Budget({{{TENON_DL_CPU, 0}, most}}));
    return options;
  };
  // The host's own need is refused first, then that with the delegate.
  std::uint64_t needed = 1;
  for (int i = 0; i < 2; ++i) {
    const auto refused = metal_test::load(sum.host, sum.program.bytes(), with_budget(needed));
    REQUIRE(refused.error() == Error::OutOfResources);
    const std::string text(refused.text());
    const std::string_view before = "needs ";
    REQUIRE(text.find(before) != std::string::npos);
    needed = std::stoull(text.substr(text.find(before) + before.size()));
  }
  for (const bool has_room : {false, true}) {
    // What is planned ends 288 bytes before the end of a page of 4096.
    sum.load(with_budget(needed + (has_room ? page() : 0)));
    sum.run(pages.data(), 1);
    CHECK(was_given(sum.run(pages.data(), 2), sum.output()) == has_room);
  }
}

TEST_CASE("pages are one buffer until the last that imported them releases them", "[metal]") {
  auto opened = metal_aoti::open_metal_device();
  REQUIRE(opened.ok());
  metal_aoti::SharedDevice device(*std::move(opened));
  const Pages pages(4);
  const auto import = [&](std::size_t first, std::size_t count) {
    return device.import_from_host({pages.data() + first * page(), count * page()});
  };
  REQUIRE(import(1, 2).ok());
  REQUIRE(import(1, 2).ok());
  CHECK(device.num_buffers() == 1);
  // Others of which some are in that buffer, and weights there.
  for (const auto [first, count] : {std::array{0u, 2u}, std::array{1u, 1u}, std::array{2u, 2u}}) {
    CHECK_THAT(std::string(import(first, count).text()), ContainsSubstring("another buffer"));
  }
  CHECK_FALSE(device.adopt({pages.data() + 2 * page() + 64, 100}));
  REQUIRE(device.adopt({pages.data() + 3 * page() + 64, 100}));
  CHECK_FALSE(import(3, 1).ok());
  CHECK(device.find(pages.data() + page()).is_hosts);
  CHECK_FALSE(device.find(pages.data() + 3 * page()).is_hosts);
  device.free(pages.data() + page());
  CHECK(device.find(pages.data() + page()).buffer != nullptr);
  device.free(pages.data() + page());
  CHECK(device.find(pages.data() + page()).buffer == nullptr);
  device.free(pages.data() + 3 * page() + 64);
  CHECK(device.num_buffers() == 0);
}

TEST_CASE("memory on the device comes from buffers, with any alignment", "[metal][TN-DEV-5]") {
  Sum sum;
  const auto memory = host::DeviceMemory::of(sum.backend(), {TENON_DL_METAL, 0});
  INFO(memory.text());
  REQUIRE(memory.ok());
  const int before = control().num_buffers;
  std::vector<void*> blocks;
  for (const std::uint64_t alignment : {1u, 64u, 4096u, 1u << 20}) {
    const auto block = memory->allocate(100, alignment);
    REQUIRE(block.ok());
    blocks.push_back(*block);
    const std::uint64_t number = alignment;
    REQUIRE(memory->copy_to_device(*block, &number, sizeof number).ok());
  }
  CHECK(control().num_buffers == before + 4);
  std::uint64_t number = 0;
  REQUIRE(memory->copy_on(nullptr, blocks[0], {TENON_DL_METAL, 0}, blocks[3], 8).ok());
  REQUIRE(memory->copy_to_host(&number, blocks[0], sizeof number).ok());
  CHECK(number == 1 << 20);
  for (void* const block : blocks) memory->free(block);
  CHECK(control().num_buffers == before);
  CHECK(memory->allocate(std::uint64_t{1} << 40, 64).error() == Error::MemoryAllocationFailed);
  CHECK(memory->allocate(UINT64_MAX, 64).error() == Error::MemoryAllocationFailed);
  CHECK(memory->copy_on(nullptr, &number, {TENON_DL_METAL, 1}, &number, 8).error() ==
        Error::InvalidArgument);
}

}  // namespace host_memory_test
