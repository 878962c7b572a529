// SPDX-License-Identifier: MIT
#include <utility>

#include "gpu.hpp"
#include "tenon/aoti/tensors/strided_copy.hpp"

namespace gpu_test {
namespace {

using Lengths = std::vector<std::int64_t>;

/// Elements from the first to the last one of a layout.
std::size_t extent(const Lengths& sizes, const Lengths& strides) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
  return static_cast<std::size_t>(last + 1);
}

/// A copy: sizes and strides in elements.
struct Copy {
  Lengths sizes, from, to;
};

std::byte* bytes_at(const Memory& memory, std::size_t first) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(memory.address() + first));
}

/// Compares with the CPU's copy, the bytes between the elements of the target included. `offset` is
/// the first element's on both sides, in elements. With indices of 64 bits as well.
void compare(const Copy& copy, std::size_t element_size, std::size_t offset) {
  const std::size_t first = offset * element_size;
  std::vector<unsigned char> content(first + extent(copy.sizes, copy.from) * element_size);
  for (std::size_t i = 0; i < content.size(); ++i) {
    content[i] = static_cast<unsigned char>(i * 7 + i / 251);
  }
  const std::vector<unsigned char> before(first + extent(copy.sizes, copy.to) * element_size, 0x5a);
  std::vector<unsigned char> expected = before;
  tenon::aoti::copy_strided(reinterpret_cast<std::byte*>(expected.data() + first), copy.to,
                            reinterpret_cast<const std::byte*>(content.data() + first), copy.from,
                            copy.sizes, element_size);
  const Memory from(content);
  for (const bool is_large : {false, true}) {
    const Memory to(before);
    const std::string what = "copy of elements of " + std::to_string(element_size) +
                             " bytes, sizes " + tenon::shape_text(copy.sizes) + ", strides " +
                             tenon::shape_text(copy.from) + " to " + tenon::shape_text(copy.to) +
                             ", offset " + std::to_string(offset) +
                             (is_large ? ", indices of 64 bits" : "");
    auto plan = kernels::plan_copy_strided(
        {bytes_at(to, first), copy.to, bytes_at(from, first), copy.from, copy.sizes, element_size});
    if (!plan.ok()) return fail(what + ": " + std::string(plan.text()));
    if (is_large) plan->is_large = 1;
    const tenon::Status status = run(*plan, gpu().launcher());
    if (!status.ok()) return fail(what + ": " + std::string(status.text()));
    if (to.read<unsigned char>() != expected) return fail(what + ": other bytes than on the CPU");
  }
}

/// Strides of a contiguous layout whose dimensions are stored in `order`.
Lengths strides_in(const Lengths& sizes, const std::vector<std::size_t>& order) {
  Lengths out(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    out[order[i]] = stride;
    stride *= sizes[order[i]];
  }
  return out;
}

/// Dimensions in reverse, one rank after the other.
void test_ranks(std::size_t element_size) {
  for (std::size_t rank = 0; rank <= 8; ++rank) {
    Lengths sizes;
    std::vector<std::size_t> forward, backward;
    for (std::size_t d = 0; d < rank; ++d) {
      sizes.push_back(static_cast<std::int64_t>(2 + d % 3));
      forward.push_back(d);
      backward.insert(backward.begin(), d);
    }
    compare({sizes, strides_in(sizes, backward), strides_in(sizes, forward)}, element_size, 0);
  }
}

void test_refused() {
  const Memory memory(std::vector<unsigned char>(64));
  std::byte* const at = bytes_at(memory, 0);
  const Lengths sizes = {2, 3}, strides = {3, 1}, repeated = {0, 1};
  if (kernels::plan_copy_strided({at, repeated, at + 32, strides, sizes, 4}).error() !=
      tenon::Error::InvalidArgument) {
    fail("a copy that writes elements twice was accepted");
  }
  for (const auto& [first, element_size] : {std::pair{0, 3}, std::pair{2, 4}}) {
    if (kernels::plan_copy_strided(
            {at + first, strides, at + 32, strides, sizes, static_cast<std::size_t>(element_size)})
            .error() != tenon::Error::NotSupported) {
      fail("a copy of " + std::to_string(element_size) + " bytes at " + std::to_string(first) +
           " was accepted");
    }
  }
  const Lengths empty = {2, 0};
  const auto plan = kernels::plan_copy_strided({at, strides, at, strides, empty, 4});
  if (!plan.ok() || plan->numel != 0 || !run(*plan, gpu().launcher()).ok()) {
    fail("a copy of nothing failed");
  }
}

/// A copy in a graph.
void test_replayed() {
  const std::vector<std::uint32_t> content = {0, 1, 2, 3, 4, 5};
  const Memory from(content), to(std::vector<std::uint32_t>(6));
  const Lengths sizes = {2, 3}, transposed = {1, 2}, rows = {3, 1};
  gpu().replay(2, [&](const kernels::Launcher& launcher) {
    const auto plan = kernels::plan_copy_strided(
        {bytes_at(to, 0), rows, bytes_at(from, 0), transposed, sizes, sizeof content[0]});
    if (!plan.ok() || !run(*plan, launcher).ok()) fail("a copy cannot be captured");
  });
  if (to.read<std::uint32_t>() != std::vector<std::uint32_t>{0, 2, 4, 1, 3, 5}) {
    fail("a captured copy has other elements");
  }
}

}  // namespace

void test_copies() {
  const Copy copies[] = {
      // Transposes.
      {{500, 3}, {1, 500}, {3, 1}},
      {{3, 500}, {1, 3}, {500, 1}},
      {{129, 67}, {1, 129}, {67, 1}},
      // With other dimensions, gaps, and sizes around the tiles' sizes.
      {{3, 64, 2, 65}, {130 * 64, 1, 64, 128}, {64 * 130, 130, 65, 1}},
      {{16, 33}, {1, 20}, {40, 1}},
      {{2, 66, 130}, {66 * 130, 1, 66}, {66 * 130, 130, 1}},
      {{3, 16, 64, 18}, {64 * 34, 1, 34 * 64 * 3, 34}, {16 * 64 * 20, 20, 320, 1}},
      {{33, 2, 31}, {1, 40, 80}, {1, 33, 66}},
      {{40, 40}, {1, 41}, {82, 2}},
      // Heads before positions, and after them; rows of 8 elements, and of 5.
      {{2, 30, 4, 8}, {960, 8, 240, 1}, {960, 32, 8, 1}},
      {{2, 30, 4, 5}, {600, 5, 150, 1}, {600, 20, 5, 1}},
      // With gaps on both sides, and in the order of the other.
      {{2, 3, 4}, {24, 8, 2}, {1, 2, 6}},
      {{5, 16}, {24, 1}, {40, 1}},
      // Elements that repeat.
      {{7, 9}, {0, 1}, {1, 7}},
      {{7, 9}, {1, 0}, {9, 1}},
      {{3, 4, 16}, {16, 0, 1}, {64, 16, 1}},
      // One element, and rows that are adjacent throughout.
      {{1}, {1}, {1}},
      {{4, 64}, {64, 1}, {64, 1}},
  };
  for (const std::size_t element_size : {1u, 2u, 4u, 8u, 16u}) {
    for (const std::size_t offset : {0u, 1u}) {
      for (const Copy& copy : copies) compare(copy, element_size, offset);
    }
    test_ranks(element_size);
  }
  // Many blocks.
  compare({{300, 1000}, {1, 300}, {1000, 1}}, 2, 0);
  test_refused();
  test_replayed();
}

}  // namespace gpu_test
