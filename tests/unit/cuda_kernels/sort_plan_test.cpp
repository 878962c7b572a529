// SPDX-License-Identifier: MIT
#include "recorder.hpp"
#include "sort_items.hpp"

using namespace kernel_test;

TEST_CASE("a short sort is one launch, a long one merges runs until one is left",
          "[cuda_kernels]") {
  const struct {
    std::int64_t length;
    int merges;
    int buffers;
  } expected[] = {{257, 0, 0},  {2048, 0, 0}, {2049, 1, 1},
                  {4096, 1, 1}, {4097, 2, 2}, {16385, 4, 2}};
  for (const auto& e : expected) {
    CAPTURE(e.length);
    for (const ScalarType type : {ScalarType::Float, ScalarType::Long}) {
      const std::size_t item = type == ScalarType::Long ? 16 : 8;
      const ModelTensor self = tensor_at(0x1000, type, {3, e.length});
      const Result<kernels::SortPlan> plan = kernels::plan_sort_stable(self, -1, true);
      REQUIRE(plan.ok());
      const std::size_t buffer = (static_cast<std::size_t>(3 * e.length) * item + 15) / 16 * 16;
      CHECK(plan->scratch_bytes == buffer * static_cast<std::size_t>(e.buffers));
      Recorder recorder;
      std::byte* const scratch = reinterpret_cast<std::byte*>(std::uintptr_t{0x100000});
      REQUIRE(run(*plan, tensor_at(0x2000, type, {3, e.length}),
                  tensor_at(0x3000, ScalarType::Long, {3, e.length}), scratch, recorder.launcher())
                  .ok());
      REQUIRE(recorder.calls.size() == static_cast<std::size_t>(1 + e.merges));
      const void* from = nullptr;
      std::int64_t width = 2048;
      for (std::size_t i = 0; i < recorder.calls.size(); ++i) {
        const Recorder::Call& call = recorder.calls[i];
        CAPTURE(i);
        CHECK(listed(call.function));
        CHECK(call.function == std::string(i == 0 ? "tenon_sort_tiles_" : "tenon_sort_merge_") +
                                   (type == ScalarType::Long ? "64" : "32"));
        CHECK(call.block == std::array<unsigned, 3>{256, 1, 1});
        CHECK(call.sort.descending == 1);
        CHECK(call.sort.rows == 3);
        CHECK((call.sort.runs_to == nullptr) == (i + 1 == recorder.calls.size()));
        if (i == 0) {
          CHECK(call.grid[0] == static_cast<unsigned>(3 * ((e.length + 2047) / 2048)));
        } else {
          CHECK(call.sort.runs_from == from);
          CHECK(call.sort.runs_from != call.sort.runs_to);
          CHECK(call.sort.width == width);
          CHECK(call.grid[0] == static_cast<unsigned>((3 * ((e.length + 7) / 8) + 255) / 256));
          width *= 2;
        }
        from = call.sort.runs_to;
        const std::byte* to = static_cast<const std::byte*>(call.sort.runs_to);
        if (to != nullptr) {
          CHECK((to == scratch || to == scratch + buffer));
          CHECK(to + buffer <= scratch + plan->scratch_bytes);
        }
      }
    }
  }
}

TEST_CASE("a row of up to 256 elements is sorted by one warp", "[cuda_kernels]") {
  for (const std::int64_t length : {1, 256}) {
    for (const ScalarType type : {ScalarType::Float, ScalarType::Long}) {
      const auto plan =
          kernels::plan_sort_stable(tensor_at(0x1000, type, {300, length}), -1, false);
      REQUIRE(plan.ok());
      CHECK(plan->scratch_bytes == 0);
      Recorder recorder;
      REQUIRE(run(*plan, tensor_at(0x2000, type, {300, length}),
                  tensor_at(0x3000, ScalarType::Long, {300, length}), nullptr, recorder.launcher())
                  .ok());
      REQUIRE(recorder.calls.size() == 1);
      const Recorder::Call& call = recorder.calls[0];
      CHECK(listed(call.function));
      CHECK(call.function ==
            std::string("tenon_sort_short_") + (type == ScalarType::Long ? "64" : "32"));
      CHECK(call.grid == std::array<unsigned, 3>{300, 1, 1});
      CHECK(call.block == std::array<unsigned, 3>{32, 1, 1});
      CHECK(call.sort.runs_to == nullptr);
    }
  }
}

TEST_CASE("a sort finds the rows of any layout along any dimension", "[cuda_kernels]") {
  const ModelTensor self = tensor_at(0x1000, ScalarType::Half, {4, 5, 6}, {1, 24, 4});
  const Result<kernels::SortPlan> plan = kernels::plan_sort_stable(self, 1, false);
  REQUIRE(plan.ok());
  Recorder recorder;
  REQUIRE(run(*plan, tensor_at(0x2000, ScalarType::Half, {4, 5, 6}, {30, 1, 5}),
              tensor_at(0x3000, ScalarType::Long, {4, 5, 6}), nullptr, recorder.launcher())
              .ok());
  const kernels::SortArguments& sort = recorder.calls.at(0).sort;
  CHECK(sort.length == 5);
  CHECK(sort.rows == 24);
  CHECK(sort.self_step == 24);
  CHECK(sort.values_step == 1);
  CHECK(sort.indices_step == 6);
  for (std::int64_t row = 0; row < 24; ++row) {
    const kernels::RowStarts starts = kernels::row_starts(sort, row);
    CHECK(starts.self == row / 6 * 1 + row % 6 * 4);
    CHECK(starts.values == row / 6 * 30 + row % 6 * 5);
    CHECK(starts.indices == row / 6 * 30 + row % 6);
  }
}

TEST_CASE("a number and a tensor without elements can be sorted", "[cuda_kernels]") {
  Recorder recorder;
  const auto sort = [&](const Sizes& sizes, std::int64_t dim) {
    const auto plan =
        kernels::plan_sort_stable(tensor_at(0x1000, ScalarType::Bool, sizes), dim, false);
    REQUIRE(plan.ok());
    REQUIRE(run(*plan, tensor_at(0x2000, ScalarType::Bool, sizes),
                tensor_at(0x3000, ScalarType::Long, sizes), nullptr, recorder.launcher())
                .ok());
  };
  sort({0, 3}, 1);
  sort({3, 0}, 1);
  sort({5000, 0}, 0);
  CHECK(recorder.calls.empty());
  sort({}, -1);
  REQUIRE(recorder.calls.size() == 1);
  CHECK(recorder.calls[0].sort.length == 1);
  CHECK(recorder.calls[0].grid == std::array<unsigned, 3>{1, 1, 1});
}

TEST_CASE("a sort with a wrong argument is refused by its name", "[cuda_kernels]") {
  const ModelTensor self = tensor_at(0, ScalarType::Float, {3, 5000});
  fails(kernels::plan_sort_stable(self, 2, false), Error::InvalidArgument,
        "dim: expected -2 to 1, found 2");
  fails(kernels::plan_sort_stable(self, -3, false), Error::InvalidArgument,
        "dim: expected -2 to 1, found -3");
  fails(kernels::plan_sort_stable(tensor_at(0, ScalarType::ComplexFloat, {3}), 0, false),
        Error::NotSupported, "ComplexFloat cannot be sorted");
  fails(
      kernels::plan_sort_stable(tensor_at(0, ScalarType::Byte, {std::int64_t{1} << 31}), 0, false),
      Error::NotSupported, "less than 2^31 elements");
  ModelTensor host = self;
  host.device_type = TorchDeviceType::cpu;
  fails(kernels::plan_sort_stable(host, 0, false), Error::InvalidArgument, "self: expected memory");

  Recorder recorder;
  const kernels::SortPlan plan = *kernels::plan_sort_stable(self, 1, false);
  const ModelTensor indices = tensor_at(0, ScalarType::Long, {3, 5000});
  const auto refused = [&](const ModelTensor& values, const ModelTensor& places, const char* text) {
    std::byte scratch{};
    fails(run(plan, values, places, &scratch, recorder.launcher()), Error::InvalidArgument, text);
  };
  refused(tensor_at(0, ScalarType::Half, {3, 5000}), indices, "values: expected Float");
  refused(tensor_at(0, ScalarType::Float, {5000, 3}), indices, "values: expected sizes");
  refused(self, tensor_at(0, ScalarType::Int, {3, 5000}), "indices: expected Long, found Int");
  refused(self, tensor_at(0, ScalarType::Long, {3, 4999}), "indices: expected sizes");
  fails(run(plan, self, indices, nullptr, recorder.launcher()), Error::InvalidArgument,
        "scratch: expected 240000 bytes, found none");
  CHECK(recorder.calls.empty());
  recorder.fail_at = 1;
  std::byte scratch{};
  fails(run(plan, self, indices, &scratch, recorder.launcher()), Error::Internal,
        "cuLaunchKernel failed");
  CHECK(recorder.calls.size() == 1);
}
