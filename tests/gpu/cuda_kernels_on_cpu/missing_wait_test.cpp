// SPDX-License-Identifier: MIT
//
// The emulation finds kernels that do not wait for their copies, or for other threads.
#include "cuda_instructions.hpp"
#include "gpu.hpp"
#include "support/catch.hpp"

TEST_CASE("a kernel that does not wait for its copies computes wrong numbers", "[cuda_kernels]") {
  REQUIRE(gpu_test::gpu().open().empty());
  const int before = gpu_test::failures();
  gpu_test::test_tiles_of_many_steps();
  REQUIRE(gpu_test::failures() == before);
  cuda_threads::are_waits_ignored = true;
  gpu_test::test_tiles_of_many_steps();
  cuda_threads::are_waits_ignored = false;
  CHECK(gpu_test::failures() > before);
}

TEST_CASE("a kernel without one of its barriers computes wrong numbers", "[cuda_kernels]") {
  REQUIRE(gpu_test::gpu().open().empty());
  // One in each of its seven steps, then two around the result.
  for (const unsigned ignored : {1u, 6u, 7u}) {
    CAPTURE(ignored);
    const int before = gpu_test::failures();
    cuda_threads::ignored_barriers = ignored;
    gpu_test::test_tiles_of_many_steps();
    cuda_threads::ignored_barriers = 0;
    CHECK(gpu_test::failures() > before);
  }
  const int before = gpu_test::failures();
  gpu_test::test_tiles_of_many_steps();
  CHECK(gpu_test::failures() == before);
}
