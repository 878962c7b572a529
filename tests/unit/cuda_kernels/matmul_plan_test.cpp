// SPDX-License-Identifier: MIT
#include "large_product.hpp"
#include "recorder.hpp"

using namespace kernel_test;

namespace {

/// Arguments of an int4 product: 5 rows, 24 columns, depth 512, groups of 32.
struct Int4 {
  ModelTensor self = tensor_at(0x1000, ScalarType::BFloat16, {5, 512});
  ModelTensor qdata = tensor_at(0x2000, ScalarType::Byte, {24, 256});
  ModelTensor scale = tensor_at(0x3001, ScalarType::Byte, {24, 16});
  ModelTensor scale_step = tensor_at(0x4002, ScalarType::Half, {24, 2});
  ModelTensor zero = tensor_at(0x5003, ScalarType::Byte, {24, 16});
  ModelTensor zero_step = tensor_at(0x6004, ScalarType::Half, {24, 2});
  std::int64_t group = 32;

  Result<kernels::MatmulPlan> plan() const {
    return kernels::plan_int4_plain_mm(self, qdata, scale, scale_step, zero, zero_step, group);
  }
};

const void* address(std::uintptr_t value) { return reinterpret_cast<const void*>(value); }

}  // namespace

TEST_CASE("a product says what it launches for one row, a few, and many", "[cuda_kernels]") {
  const struct {
    std::int64_t rows;
    const char* function;
    std::array<unsigned, 3> grid, block;
  } expected[] = {{1, "tenon_int4_plain_mm_one_narrow", {2, 1, 1}, {32, 16, 1}},
                  {2, "tenon_int4_plain_mm_few", {2, 1, 1}, {32, 8, 1}},
                  {4, "tenon_int4_plain_mm_few", {2, 1, 1}, {32, 8, 1}},
                  {5, "tenon_int4_plain_mm_tiles", {1, 1, 1}, {128, 1, 1}},
                  {65, "tenon_int4_plain_mm_tiles", {2, 1, 1}, {128, 1, 1}}};
  for (const auto& e : expected) {
    CAPTURE(e.rows);
    Int4 a;
    a.self = tensor_at(0x1000, ScalarType::BFloat16, {e.rows, 512});
    const Result<kernels::MatmulPlan> plan = a.plan();
    REQUIRE(plan.ok());
    CHECK(plan->rows == e.rows);
    CHECK(plan->columns == 24);
    Recorder recorder;
    const ModelTensor out = tensor_at(0x9000, ScalarType::BFloat16, {e.rows, 24});
    REQUIRE(run(*plan, out, recorder.launcher()).ok());
    REQUIRE(recorder.calls.size() == 1);
    const Recorder::Call& call = recorder.calls[0];
    CHECK(call.function == e.function);
    CHECK(listed(call.function));
    CHECK(call.grid == e.grid);
    CHECK(call.block == e.block);
    CHECK(call.parameters == 1);
    CHECK(call.matmul.self == address(0x1000));
    CHECK(call.matmul.out == address(0x9000));
    CHECK(call.matmul.rows == e.rows);
    CHECK(call.matmul.self_row_stride == 512);
    CHECK(call.matmul.self_vector_loads == 1);
    const kernels::Weights& w = call.matmul.weights;
    CHECK(w.low == address(0x2000));
    CHECK(w.scale == address(0x3001));
    CHECK(w.scale_step == address(0x4002));
    CHECK(w.zero == address(0x5003));
    CHECK(w.zero_step == address(0x6004));
    CHECK(w.columns == 24);
    CHECK(w.depth == 512);
    CHECK(w.group_shift == 5);
  }
}

TEST_CASE("a product in parts of the depth launches tiles for each, and their addition",
          "[cuda_kernels]") {
  Int4 a;
  a.self = tensor_at(0x1000, ScalarType::BFloat16, {17, 512});
  const Result<kernels::MatmulPlan> plan = a.plan();
  REQUIRE(plan.ok());
  const ModelTensor out = tensor_at(0x9000, ScalarType::BFloat16, {17, 24});
  int partial = 0;
  // Eight steps in three parts: of three, three and two.
  Recorder recorder;
  REQUIRE(run_in_parts(*plan, out, 3, &partial, recorder.launcher()).ok());
  REQUIRE(recorder.calls.size() == 2);
  const Recorder::Call& tiles = recorder.calls[0];
  CHECK(tiles.function == "tenon_int4_plain_mm_tiles");
  CHECK(tiles.grid == std::array{1u, 1u, 3u});
  CHECK(tiles.block == std::array{128u, 1u, 1u});
  CHECK(static_cast<void*>(tiles.matmul.partial) == &partial);
  CHECK(tiles.matmul.steps_of_part == 3);
  const Recorder::Call& sum = recorder.calls[1];
  CHECK(sum.function == "tenon_matmul_sum");
  CHECK(listed(sum.function));
  CHECK(sum.grid == std::array{2u, 1u, 1u});  // 17 rows of 64 / 4 threads.
  CHECK(sum.block == std::array{256u, 1u, 1u});
  CHECK(sum.matmul.out == address(0x9000));
  CHECK(kernels::partial_bytes(*plan, 3) == 3 * 17 * 64 * sizeof(float));
  // No part without a step.
  Recorder many;
  REQUIRE(run_in_parts(*plan, out, 5, &partial, many.launcher()).ok());
  CHECK(many.calls[0].grid == std::array{1u, 1u, 4u});
  CHECK(many.calls[0].matmul.steps_of_part == 2);
  fails(run_in_parts(*plan, out, 0, &partial, many.launcher()), Error::InvalidArgument,
        "expected parts of the depth, found 0");
  // Without parts, nothing is partial.
  Recorder whole;
  REQUIRE(run(*plan, out, whole.launcher()).ok());
  CHECK(whole.calls[0].matmul.partial == nullptr);
  CHECK(whole.calls[0].matmul.steps_of_part == 8);
}

TEST_CASE("a product has parts where its tiles leave multiprocessors without work",
          "[cuda_kernels]") {
  // H100, A100 and RTX 4090: four, three and two tiles of a multiprocessor, by its shared memory.
  CHECK(kernels::tiles_at_once(132, 233472) == 528);
  CHECK(kernels::tiles_at_once(108, 167936) == 324);
  CHECK(kernels::tiles_at_once(128, 102400) == 256);
  CHECK(kernels::tiles_at_once(1, 0) == 1);
  const auto parts = [](std::int64_t rows, std::int64_t columns, std::int32_t depth,
                        std::int64_t at_once) {
    kernels::MatmulPlan plan{};
    plan.rows = rows;
    plan.columns = columns;
    plan.arguments.weights.depth = depth;
    return kernels::num_parts(plan, at_once);
  };
  CHECK(parts(1, 4096, 4096, 528) == 1);
  CHECK(parts(4, 4096, 4096, 528) == 1);
  CHECK(parts(5, 4096, 4096, 528) == 8);
  CHECK(parts(17, 4096, 4096, 528) == 8);
  CHECK(parts(64, 4096, 4096, 528) == 8);
  CHECK(parts(65, 4096, 4096, 528) == 4);
  CHECK(parts(255, 4096, 4096, 528) == 2);
  CHECK(parts(512, 4096, 4096, 528) == 1);
  CHECK(parts(17, 14336, 4096, 528) == 2);
  CHECK(parts(17, 4096, 14336, 528) == 8);
  // At most 16, of at least four steps each.
  CHECK(parts(17, 64, 4096, 528) == 16);
  CHECK(parts(17, 64, 512, 528) == 2);
  CHECK(parts(17, 64, 256, 528) == 1);
  CHECK(parts(17, 0, 4096, 528) == 1);
  CHECK(parts(std::int64_t{1} << 40, 4096, 4096, 528) == 1);
}

TEST_CASE("one row of a packed product has a block for each tile of eight columns",
          "[cuda_kernels]") {
  for (const std::int64_t rows : {1, 2}) {
    CAPTURE(rows);
    const auto plan =
        kernels::plan_weight_int4pack_mm(tensor_at(0x1000, ScalarType::BFloat16, {rows, 512}),
                                         tensor_at(0x2000, ScalarType::Int, {3, 4, 32, 4}), 32,
                                         tensor_at(0x3000, ScalarType::BFloat16, {16, 24, 2}));
    REQUIRE(plan.ok());
    Recorder recorder;
    REQUIRE(
        run(*plan, tensor_at(0x9000, ScalarType::BFloat16, {rows, 24}), recorder.launcher()).ok());
    REQUIRE(recorder.calls.size() == 1);
    CHECK(recorder.calls[0].grid == std::array<unsigned, 3>{rows == 1 ? 3u : 6u, 1, 1});
    CHECK(recorder.calls[0].block == std::array<unsigned, 3>{32, 4, 1});
  }
}

TEST_CASE("the weight of a product is unpacked by a thread for each 32 of its columns' depth",
          "[cuda_kernels]") {
  Recorder recorder;
  REQUIRE(unpack_weight(*Int4().plan(), reinterpret_cast<void*>(0x8000), recorder.launcher()).ok());
  REQUIRE(recorder.calls.size() == 1);
  const Recorder::Call& call = recorder.calls[0];
  CHECK(call.function == "tenon_int4_plain_mm_unpack");
  CHECK(listed(call.function));
  CHECK(call.grid == std::array<unsigned, 3>{2, 1, 1});  // 24 columns of 16 chunks, by 256.
  CHECK(call.block == std::array<unsigned, 3>{256, 1, 1});
  CHECK(call.matmul.out == address(0x8000));
  CHECK(call.matmul.weights.low == address(0x2000));
  recorder.fail_at = 1;
  fails(unpack_weight(*Int4().plan(), nullptr, recorder.launcher()), Error::Internal,
        "cuLaunchKernel failed");
}

TEST_CASE("a large product has at least 192 rows, 2^30 multiplications and aligned rows",
          "[cuda_kernels]") {
  const auto shape = [](std::int64_t rows, std::int64_t columns, std::int64_t depth,
                        std::int64_t stride, std::uint64_t at = 0x1000) {
    const auto plan =
        kernels::plan_int8_plain_mm(tensor_at(at, ScalarType::BFloat16, {rows, depth}, {stride, 1}),
                                    tensor_at(0x2000, ScalarType::Char, {columns, depth}),
                                    tensor_at(0x3000, ScalarType::BFloat16, {columns, depth / 32}),
                                    tensor_at(0x4000, ScalarType::Char, {columns, depth / 32}), 32);
    REQUIRE(plan.ok());
    return kernels::large_product(*plan);
  };
  const auto found = shape(256, 2048, 2048, 2056);
  REQUIRE(found.has_value());
  CHECK(*found == kernels::ProductShape{256, 2048, 2048, 2056});
  CHECK(shape(192, 4096, 4096, 4096));
  CHECK_FALSE(shape(191, 4096, 4096, 4096));
  CHECK_FALSE(shape(256, 2047, 2048, 2048));
  CHECK(shape(257, 2047, 2048, 2048));
  CHECK_FALSE(shape(256, 2048, 2048, 2049));          // Rows of odd stride.
  CHECK_FALSE(shape(256, 2048, 2048, 2048, 0x1002));  // A start that is not aligned.
  CHECK_FALSE(shape(256, 2048, 2048, 0));             // One row, repeated.
  CHECK(shape(std::int64_t{1} << 40, 1, 32, 32));
  // All sizes together are more than 64 bits have room for.
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 32;
  CHECK(shape(most, most, most, most));
  CHECK_FALSE(shape(std::int64_t{1} << 40, 0, 32, 32));
}

TEST_CASE("views of self are read in place, by smaller loads where needed", "[cuda_kernels]") {
  Int4 a;
  a.self = tensor_at(0x1010, ScalarType::BFloat16, {5, 512}, {520, 1});
  CHECK(a.plan()->arguments.self_row_stride == 520);
  CHECK(a.plan()->arguments.self_vector_loads == 1);
  a.self = tensor_at(0x1002, ScalarType::BFloat16, {5, 512}, {520, 1});
  CHECK(a.plan()->arguments.self_vector_loads == 0);
  a.self = tensor_at(0x1000, ScalarType::BFloat16, {5, 512}, {513, 1});
  CHECK(a.plan()->arguments.self_vector_loads == 0);
  a.self = tensor_at(0x1000, ScalarType::BFloat16, {5, 512}, {1, 5});
  fails(a.plan(), Error::InvalidArgument, "self: expected rows without gaps, found strides");
}

TEST_CASE("a product without elements launches nothing", "[cuda_kernels]") {
  Recorder recorder;
  Int4 a;
  a.self = tensor_at(0, ScalarType::BFloat16, {0, 512});
  CHECK(run(*a.plan(), tensor_at(0, ScalarType::BFloat16, {0, 24}), recorder.launcher()).ok());
  CHECK(recorder.calls.empty());
}

TEST_CASE("a product with a wrong argument is refused by its name", "[cuda_kernels]") {
  const auto with = [](auto change, const char* text) {
    Int4 a;
    change(a);
    fails(a.plan(), Error::InvalidArgument, text);
  };
  with([](Int4& a) { a.self.scalar_type = ScalarType::Float; },
       "self: expected BFloat16, found Float");
  with([](Int4& a) { a.self = tensor_at(0, ScalarType::BFloat16, {512}); },
       "self: expected 2 dimensions");
  with([](Int4& a) { a.self = tensor_at(0, ScalarType::BFloat16, {5, 384}); },
       "self: expected a multiple of 256 columns");
  with([](Int4& a) { a.self = tensor_at(0, ScalarType::BFloat16, {5, 0}); },
       "self: expected a multiple of 256 columns");
  with([](Int4& a) { a.self.device_type = TorchDeviceType::cpu; },
       "self: expected memory of CUDA device 0, found device type 0");
  with([](Int4& a) { a.qdata.device_index = 1; }, "qdata: expected memory of CUDA device 0");
  with([](Int4& a) { a.qdata.scalar_type = ScalarType::Int; },
       "qdata: expected Byte or Char, found Int");
  with([](Int4& a) { a.qdata.data += 8; }, "qdata: expected an address that is a multiple of 16");
  with([](Int4& a) { a.qdata = tensor_at(0, ScalarType::Byte, {24, 255}); },
       "qdata: expected sizes");
  with([](Int4& a) { a.qdata = tensor_at(0, ScalarType::Byte, {24, 256}, {1, 24}); },
       "qdata: expected contiguous elements");
  with([](Int4& a) { a.scale = tensor_at(0, ScalarType::Byte, {16, 24}); },
       "scale: expected sizes");
  with([](Int4& a) { a.scale_step = tensor_at(0, ScalarType::Half, {24, 16}); },
       "scale_step: expected sizes");
  with([](Int4& a) { a.scale_step.scalar_type = ScalarType::BFloat16; },
       "scale_step: expected Half, found BFloat16");
  with([](Int4& a) { a.zero = tensor_at(0, ScalarType::Byte, {24}); }, "zero: expected sizes");
  with([](Int4& a) { a.zero_step = tensor_at(0, ScalarType::Half, {23, 2}); },
       "zero_point_step: expected sizes");
  for (const std::int64_t group : {0, -32, 4, 48, 512}) {
    with([&](Int4& a) { a.group = group; }, "group_size: expected a power of 2 from 8 to 256");
  }
}

TEST_CASE("a result of the wrong form is refused, and a failed launch is passed on",
          "[cuda_kernels]") {
  Recorder recorder;
  const kernels::MatmulPlan plan = *Int4().plan();
  const auto refused = [&](const ModelTensor& out, const char* text) {
    fails(run(plan, out, recorder.launcher()), Error::InvalidArgument, text);
  };
  refused(tensor_at(0, ScalarType::Half, {5, 24}), "out: expected BFloat16, found Half");
  refused(tensor_at(0, ScalarType::BFloat16, {24, 5}), "out: expected sizes");
  refused(tensor_at(0, ScalarType::BFloat16, {5, 24}, {1, 5}), "out: expected contiguous");
  CHECK(recorder.calls.empty());
  recorder.fail_at = 0;
  fails(run(plan, tensor_at(0, ScalarType::BFloat16, {5, 24}), recorder.launcher()),
        Error::Internal, "cuLaunchKernel failed");
}

TEST_CASE("the other products take their weights in their own shapes", "[cuda_kernels]") {
  const ModelTensor self = tensor_at(0x1000, ScalarType::BFloat16, {1, 512});
  const ModelTensor ql = tensor_at(0x2000, ScalarType::Byte, {24, 256});
  const ModelTensor codes = tensor_at(0x4000, ScalarType::Byte, {24, 32});
  const ModelTensor steps = tensor_at(0x5000, ScalarType::Half, {24, 2});
  const ModelTensor qh5 = tensor_at(0x3000, ScalarType::Byte, {24, 64});
  const ModelTensor qh6 = tensor_at(0x3000, ScalarType::Char, {24, 128});
  const auto five = kernels::plan_int5_plain_mm(self, ql, qh5, codes, steps, codes, steps, 16);
  REQUIRE(five.ok());
  CHECK(std::string(five->functions[0]) == "tenon_int5_plain_mm_one_narrow");
  CHECK(five->arguments.weights.high == address(0x3000));
  fails(kernels::plan_int5_plain_mm(self, ql, qh6, codes, steps, codes, steps, 16),
        Error::InvalidArgument, "qh: expected sizes");

  const auto six = kernels::plan_int6_plain_mm(self, ql, qh6, codes, steps, 16);
  REQUIRE(six.ok());
  CHECK(std::string(six->functions[1]) == "tenon_int6_plain_mm_few");
  CHECK(six->arguments.weights.zero == nullptr);
  fails(kernels::plan_int6_plain_mm(self, ql, qh5, codes, steps, 16), Error::InvalidArgument,
        "qh: expected sizes");
  fails(kernels::plan_int6_plain_mm(self, ql, qh6, steps, steps, 16), Error::InvalidArgument,
        "scale: expected Byte or Char, found Half");

  const ModelTensor q8 = tensor_at(0x2000, ScalarType::Char, {24, 512});
  const ModelTensor scale8 = tensor_at(0x4000, ScalarType::BFloat16, {24, 1});
  const ModelTensor zero8 = tensor_at(0x5001, ScalarType::Char, {24, 1});
  const auto eight = kernels::plan_int8_plain_mm(self, q8, scale8, zero8, 512);
  REQUIRE(eight.ok());
  CHECK(std::string(eight->functions[2]) == "tenon_int8_plain_mm_tiles");
  CHECK(eight->arguments.weights.group_shift == 9);
  fails(kernels::plan_int8_plain_mm(self, ql, scale8, zero8, 512), Error::InvalidArgument,
        "qdata: expected Char, found Byte");
  fails(kernels::plan_int8_plain_mm(self, q8, scale8, zero8, 1024), Error::InvalidArgument,
        "self: expected columns in multiples of 1024 (groups)");

  const ModelTensor packed = tensor_at(0x2000, ScalarType::Int, {3, 8, 32, 2});
  const ModelTensor scales = tensor_at(0x4000, ScalarType::BFloat16, {8, 24, 2});
  const auto four = kernels::plan_weight_int4pack_mm(self, packed, 64, scales);
  REQUIRE(four.ok());
  CHECK(std::string(four->functions[0]) == "tenon_weight_int4pack_mm_one");
  CHECK(four->columns == 24);
  CHECK(four->arguments.weights.inner_k_tiles == 4);
  fails(kernels::plan_weight_int4pack_mm(self, packed, 16, scales), Error::InvalidArgument,
        "group_size: expected a power of 2 from 32 to 256, found 16");
  fails(kernels::plan_weight_int4pack_mm(self, tensor_at(0, ScalarType::Int, {3, 8, 32, 3}), 64,
                                         scales),
        Error::InvalidArgument, "mat2: expected a last dimension of 1, 2 or 4");
  fails(kernels::plan_weight_int4pack_mm(self, tensor_at(0, ScalarType::Int, {3, 4, 32, 2}), 64,
                                         scales),
        Error::InvalidArgument, "mat2: expected sizes");
  fails(kernels::plan_weight_int4pack_mm(tensor_at(0, ScalarType::BFloat16, {1, 96}), packed, 64,
                                         scales),
        Error::InvalidArgument, "self: expected columns in multiples of 64 (tiles)");
  fails(kernels::plan_weight_int4pack_mm(self, packed, 64,
                                         tensor_at(0, ScalarType::BFloat16, {8, 16, 2})),
        Error::InvalidArgument, "scales_and_zeros: expected sizes");
}
