// SPDX-License-Identifier: MIT
//
// The model of asynchronous copies finds kernels that do not wait for them.
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
