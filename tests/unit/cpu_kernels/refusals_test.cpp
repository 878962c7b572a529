// SPDX-License-Identifier: MIT
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernel_support.hpp"
#include "support/catch.hpp"

using namespace kernel_test;
using namespace tenon::cpu_aoti;

// What kernels refuse, with the argument, what was found and what is expected.
namespace refusals_test {
namespace {

/// Calls must fail with the text.
struct Refusals : Fixture {
  Handle result, second;

  std::string text(tenon::aoti::ShimError failed) {
    CHECK(failed == 1);
    CHECK(result.get() == nullptr);
    return pool.take_failure();
  }
  ModelTensor** out() { return result.out(); }
  ModelTensor** out1() { return second.out(); }
};

Handle filled(const Shape& sizes, ScalarType type, const std::vector<double>& values) {
  Handle out = make(sizes, type);
  for (std::size_t i = 0; i < values.size(); ++i) out.set(static_cast<std::int64_t>(i), values[i]);
  return out;
}

/// Of the run that is going on: set by the allocation with this number, if there is one.
std::atomic<std::uint32_t> flag = 0;
std::size_t cancelling_allocation = 0;
std::size_t num_allocations = 0;

/// A run that can be cancelled. A kernel can be stopped between two allocations by its own looks at
/// the flag alone.
struct CancellableRun {
  TensorPool pool{tenon::aoti::DeviceMemoryApi{
      tenon::aoti::TorchDeviceType::cpu,
      [](void*, std::size_t nbytes) -> tenon::Result<std::byte*> {
        if (++num_allocations == cancelling_allocation) flag = 1;
        return static_cast<std::byte*>(std::aligned_alloc(64, (nbytes + 63) / 64 * 64));
      },
      [](void*, std::byte* block) noexcept { std::free(block); }}};
  tenon::aoti::CurrentPool current{pool};
  static_assert(sizeof(flag) == sizeof(std::uint32_t));

  explicit CancellableRun(std::size_t cancelled_by) {
    flag = 0;
    num_allocations = 0;
    cancelling_allocation = cancelled_by;
    pool.set_cancel_flag(tenon::CancelFlag(reinterpret_cast<const std::uint32_t*>(&flag)));
  }
};

/// A kernel that takes long for large arguments, and small ones.
struct LongKernel {
  const char* name;
  std::vector<Handle> arguments;
  std::function<tenon::aoti::ShimError(const std::vector<Handle>&)> run;
};

std::vector<LongKernel> long_kernels() {
  Random source;
  std::vector<LongKernel> out;
  const auto add = [&](const char* name, auto run, auto... arguments) {
    LongKernel& made = out.emplace_back();
    made.name = name;
    (made.arguments.push_back(std::move(arguments)), ...);
    made.run = run;
  };
  const auto product = [](const std::vector<Handle>& of) {
    return aoti_torch_cpu_mm_out(of[0].get(), of[1].get(), of[2].get());
  };
  constexpr auto wide = ScalarType::Double;
  add("mm of Double", product, make({20, 20}, wide), random(source, {20, 20}, wide),
      random(source, {20, 20}, wide));
  add("mm of Long", product, make({20, 20}, ScalarType::Long),
      random(source, {20, 20}, ScalarType::Long), random(source, {20, 20}, ScalarType::Long));
  add(
      "convolution of Double",
      [](const std::vector<Handle>& of) {
        const std::int64_t ones[] = {1, 1};
        const std::int64_t none[] = {0, 0};
        Handle result;
        return aoti_torch_cpu_convolution(of[0].get(), of[1].get(), nullptr, ones, 2, ones, 2, ones,
                                          2, 0, none, 2, 1, result.out());
      },
      random(source, {1, 4, 8, 8}, wide), random(source, {4, 4, 3, 3}, wide));
  for (const auto type : {ScalarType::Float, wide}) {
    add(
        "attention",
        [](const std::vector<Handle>& of) {
          ModelTensor* const all = of[0].get();
          Handle result, logsumexp;
          return aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
              all, all, all, 0, 0, nullptr, nullptr, result.out(), logsumexp.out());
        },
        random(source, {1, 2, 100, 16}, type));
  }
  add(
      "product with weights of 8 bits",
      [](const std::vector<Handle>& of) {
        Handle result;
        return aoti_torch_cpu__weight_int8pack_mm(of[0].get(), of[1].get(), of[2].get(),
                                                  result.out());
      },
      random(source, {3, 64}), random(source, {100, 64}, ScalarType::Char), random(source, {100}));
  return out;
}

}  // namespace

TEST_CASE("kthvalue, mode and median refuse what has no such element", "[cpu_aoti]") {
  Refusals r;
  Handle x = make({2, 3}), none = make({2, 0}), empty = make({0}, ScalarType::Long);
  CHECK_THAT(r.text(aoti_torch_cpu_kthvalue(x.get(), 4, 1, 0, r.out(), r.out1())),
             ContainsSubstring("kthvalue: k 4: expected 1 to 3, the size of dimension 1"));
  CHECK_THAT(r.text(aoti_torch_cpu_kthvalue(x.get(), 0, 0, 0, r.out(), r.out1())),
             ContainsSubstring("k 0: expected 1 to 2"));
  CHECK_THAT(r.text(aoti_torch_cpu_kthvalue(x.get(), 1, 2, 0, r.out(), r.out1())),
             ContainsSubstring("dimension 2 of 2"));
  CHECK_THAT(r.text(aoti_torch_cpu_mode(none.get(), 1, 0, r.out(), r.out1())),
             ContainsSubstring("mode: dimension 1 of [2, 0]: expected at least one element"));
  CHECK_THAT(r.text(aoti_torch_cpu_median(empty.get(), r.out())),
             ContainsSubstring("median: no element in [0] of Long"));
}

TEST_CASE("searches refuse sequences, sorters and ranges that do not fit", "[cpu_aoti]") {
  Refusals r;
  Handle x = make({2, 3}), edges = make({4}), rows = make({3, 4}), scalar = make({});
  Handle whole = make({2, 3}, ScalarType::Long);
  CHECK_THAT(r.text(aoti_torch_cpu_bucketize_Tensor(x.get(), rows.get(), 0, 0, r.out())),
             ContainsSubstring("boundaries [3, 4]: expected one dimension"));
  CHECK_THAT(r.text(aoti_torch_cpu_bucketize_Tensor(whole.get(), edges.get(), 0, 0, r.out())),
             ContainsSubstring("values of Long: expected the type of the sequence, Float"));
  const auto search = [&](const Handle& sequence, const char* side, ModelTensor* sorter) {
    return r.text(aoti_torch_cpu_searchsorted_Tensor(sequence.get(), x.get(), 0, 1,
                                                     side ? &side : nullptr,
                                                     sorter ? &sorter : nullptr, r.out()));
  };
  CHECK_THAT(search(rows, nullptr, nullptr), ContainsSubstring("a sequence [3, 4] for values"));
  CHECK_THAT(search(scalar, nullptr, nullptr), ContainsSubstring("a sequence [] for values"));
  CHECK_THAT(search(edges, "left", nullptr), ContainsSubstring("side 'left' with right"));
  CHECK_THAT(search(edges, "middle", nullptr), ContainsSubstring("side 'middle'"));
  Handle few = filled({3}, ScalarType::Long, {0, 1, 2});
  Handle far = filled({4}, ScalarType::Long, {0, 1, 4, 2});
  CHECK_THAT(search(edges, "right", few.get()), ContainsSubstring("a sorter [3] of Long"));
  CHECK_THAT(search(edges, "right", far.get()),
             ContainsSubstring("index 4 in the sorter: expected 0 to below 4"));
  CHECK_THAT(r.text(aoti_torch_cpu_histc(x.get(), 0, 0, 1, r.out())),
             ContainsSubstring("histc: 0 bins: expected at least 1"));
  CHECK_THAT(r.text(aoti_torch_cpu_histc(x.get(), 4, 2, 1, r.out())),
             ContainsSubstring("a range from 2 to 1"));
  CHECK_THAT(r.text(aoti_torch_cpu_histc(x.get(), 4, 0, 0, r.out())),
             ContainsSubstring("expected finite numbers"));
  CHECK_THAT(r.text(aoti_torch_cpu_histc(whole.get(), 4, 0, 1, r.out())),
             ContainsSubstring("elements of Long"));
}

TEST_CASE("masks refuse other types, shapes, and sources that are too small", "[cpu_aoti]") {
  Refusals r;
  Handle x = filled({2, 2}, ScalarType::Float, {1, 2, 3, 4});
  Handle mask = filled({2, 2}, ScalarType::Bool, {1, 0, 1, 1});
  Handle long_mask = make({3}, ScalarType::Bool), bytes = make({2, 2}, ScalarType::Byte);
  Handle two = make({2}), whole = make({4}, ScalarType::Long);
  const auto scatter = [&](const Handle& by, const Handle& source) {
    return r.text(aoti_torch_cpu_masked_scatter(x.get(), by.get(), source.get(), r.out()));
  };
  CHECK_THAT(scatter(mask, two), ContainsSubstring("a source of 2 elements: expected 3"));
  CHECK_THAT(scatter(mask, whole), ContainsSubstring("a source of Long"));
  CHECK_THAT(scatter(bytes, x), ContainsSubstring("a mask of Byte: expected Bool"));
  CHECK_THAT(r.text(aoti_torch_cpu_masked_select(x.get(), long_mask.get(), r.out())),
             ContainsSubstring("masked_select: tensors [2, 2] and [3]"));
  CHECK_THAT(r.text(aoti_torch_cpu_nonzero_static(x.get(), -1, 0, r.out())),
             ContainsSubstring("a size -1: expected at least 0"));
  Handle negative = filled({2}, ScalarType::Long, {2, -1});
  Handle repeats = filled({2}, ScalarType::Long, {2, 1});
  const auto repeat = [&](const Handle& counts, std::int64_t size) {
    return r.text(aoti_torch_cpu_repeat_interleave_Tensor(counts.get(), &size, r.out()));
  };
  CHECK_THAT(repeat(negative, 1), ContainsSubstring("repeats -1 at place 1"));
  CHECK_THAT(repeat(repeats, 4), ContainsSubstring("an output size 4: expected 3"));
  CHECK_THAT(repeat(two, 4), ContainsSubstring("repeats of Float"));
  CHECK_THAT(repeat(x, 4), ContainsSubstring("repeats [2, 2]: expected one dimension"));
  const auto index = [&](const Handle& by) {
    ModelTensor* const tensor = by.get();
    ModelTensor* const* const indices[] = {&tensor};
    return r.text(aoti_torch_cpu_index_Tensor(x.get(), indices, 1, r.out()));
  };
  CHECK_THAT(index(long_mask), ContainsSubstring("a mask [3] as an index from dimension 0"));
  CHECK_THAT(index(two), ContainsSubstring("an index of Float: expected Long, Int or Bool"));
  Handle deep = make({2, 2, 2}, ScalarType::Bool), scalar = make({}, ScalarType::Bool);
  CHECK_THAT(index(deep), ContainsSubstring("indices for 3 dimensions of [2, 2]"));
  CHECK_THAT(index(scalar), ContainsSubstring("a mask []"));
  Handle source = make({2, 2}), indices = make({3}, ScalarType::Long);
  CHECK_THAT(r.text(aoti_torch_cpu_index_reduce(x.get(), 0, indices.get(), source.get(), "mean", 1,
                                                r.out())),
             ContainsSubstring("an index [3] and a source [2, 2]"));
}

TEST_CASE("pools, distances and grids refuse arguments that do not fit", "[cpu_aoti]") {
  Refusals r;
  Handle image = make({1, 2, 4, 4}), rows = make({3, 2}), others = make({3, 4});
  const std::int64_t three = 3, one = 1, two = 2;
  std::int64_t zero = 0;
  CHECK_THAT(r.text(aoti_torch_cpu_avg_pool2d(image.get(), &three, 1, &one, 1, &two, 1, 0, 1,
                                              nullptr, r.out())),
             ContainsSubstring("avg_pool2d: a padding 2: expected at most half"));
  CHECK_THAT(r.text(aoti_torch_cpu_avg_pool2d(image.get(), &three, 1, &one, 1, &one, 1, 0, 1, &zero,
                                              r.out())),
             ContainsSubstring("a divisor 0"));
  CHECK_THAT(r.text(aoti_torch_cpu_avg_pool3d(rows.get(), &three, 1, &one, 1, &one, 1, 0, 1,
                                              nullptr, r.out())),
             ContainsSubstring("an input [3, 2]: expected 4 or 5 dimensions"));
  CHECK_THAT(r.text(aoti_torch_cpu__cdist_forward(rows.get(), others.get(), 2, nullptr, r.out())),
             ContainsSubstring("_cdist_forward: rows of [3, 2] of Float and [3, 4] of Float"));
  CHECK_THAT(r.text(aoti_torch_cpu__pdist_forward(rows.get(), -1, r.out())),
             ContainsSubstring("a norm -1: expected at least 0"));
  CHECK_THAT(r.text(aoti_torch_cpu__pdist_forward(image.get(), 2, r.out())),
             ContainsSubstring("rows of [1, 2, 4, 4]: expected 2 dimensions"));
  Handle volume = make({1, 1, 2, 2, 2}), grid = make({1, 1, 1, 1, 2});
  CHECK_THAT(r.text(aoti_torch_cpu_grid_sampler_3d(volume.get(), grid.get(), 0, 0, 0, r.out())),
             ContainsSubstring("a grid [1, 1, 1, 1, 2] of Float: expected [N, C, D, H, W]"));
  CHECK_THAT(r.text(aoti_torch_cpu_grid_sampler_3d(volume.get(), grid.get(), 2, 0, 0, r.out())),
             ContainsSubstring("interpolation mode 2"));
  CHECK_THAT(r.text(aoti_torch_cpu_grid_sampler_3d(volume.get(), grid.get(), 0, 3, 0, r.out())),
             ContainsSubstring("padding mode 3"));
  const std::int64_t twice[] = {0, 0};
  CHECK_THAT(r.text(aoti_torch_cpu__trilinear(rows.get(), rows.get(), rows.get(), twice, 2, twice,
                                              2, twice, 2, &one, 1, 1, r.out())),
             ContainsSubstring("dimensions [0, 0] of 4: expected none of them twice"));
}

TEST_CASE("products of 8-bit numbers refuse other types and shapes", "[cpu_aoti]") {
  Refusals r;
  Handle a = make({2, 3}, ScalarType::Char), b = make({4, 2}, ScalarType::Char);
  Handle real = make({3, 2}), out = make({2, 2}, ScalarType::Int), scales = make({2});
  CHECK_THAT(r.text(aoti_torch_cpu__int_mm_out(out.get(), a.get(), b.get())),
             ContainsSubstring("a product of [2, 3] and [4, 2] in [2, 2]"));
  CHECK_THAT(r.text(aoti_torch_cpu__int_mm_out(out.get(), a.get(), real.get())),
             ContainsSubstring("a product of Char and Float in Int"));
  CHECK_THAT(r.text(aoti_torch_cpu__weight_int8pack_mm(real.get(), b.get(), scales.get(), r.out())),
             ContainsSubstring("weights [4, 2] and scales [2]: expected [M, K], [N, K] and [N]"));
  Handle half = make({4}, ScalarType::Half);
  CHECK_THAT(r.text(aoti_torch_cpu__weight_int8pack_mm(real.get(), b.get(), half.get(), r.out())),
             ContainsSubstring("scales of Half"));
}

TEST_CASE("grouped products refuse groups that do not fit", "[cpu_aoti]") {
  Refusals r;
  Handle rows = make({5, 8}), experts = make({2, 8, 4}), others = make({3, 8, 4});
  Handle doubles = make({5, 8}, ScalarType::Double);
  Handle ends = filled({2}, ScalarType::Int, {2, 5}), far = filled({2}, ScalarType::Int, {2, 6});
  Handle down = filled({2}, ScalarType::Int, {3, 2}), longs = filled({2}, ScalarType::Long, {2, 5});
  const auto text = [&](const Handle& a, const Handle& b, const Handle* offsets,
                        std::int32_t* out_dtype = nullptr) {
    ModelTensor* given = offsets ? offsets->get() : nullptr;
    return r.text(aoti_torch_cpu__grouped_mm(a.get(), b.get(), given ? &given : nullptr, nullptr,
                                             out_dtype, r.out()));
  };
  CHECK_THAT(text(doubles, experts, &ends), ContainsSubstring("operands of Double and Float"));
  CHECK_THAT(text(experts, rows, &ends),
             ContainsSubstring("operands [2, 8, 4] and [5, 8]: expected [M, K] or [G, M, K]"));
  CHECK_THAT(text(rows, experts, nullptr),
             ContainsSubstring("operands [5, 8] and [2, 8, 4] without offsets"));
  CHECK_THAT(text(rows, others, &ends),
             ContainsSubstring("an operand [3, 8, 4]: expected as many matrices as groups, 2"));
  CHECK_THAT(text(rows, experts, &longs), ContainsSubstring("offsets of Long [2]: expected Int"));
  CHECK_THAT(text(rows, experts, &far),
             ContainsSubstring("offset 6 of group 1: expected one from 2 to 5"));
  CHECK_THAT(text(rows, experts, &down),
             ContainsSubstring("offset 2 of group 1: expected one from 3 to 5"));
  auto half = static_cast<std::int32_t>(ScalarType::Half);
  CHECK_THAT(text(rows, experts, &ends, &half),
             ContainsSubstring("a result of dtype 5: expected the dtype of the operands, Float"));
  ModelTensor *given = ends.get(), *bias = rows.get();
  CHECK_THAT(r.text(aoti_torch_cpu__grouped_mm(rows.get(), experts.get(), &given, &bias, nullptr,
                                               r.out())),
             ContainsSubstring("a bias: expected none"));
}

TEST_CASE("grouped products are zero where no group is", "[cpu_aoti]") {
  Fixture fixture;
  Handle rows = make({5, 8}), experts = make({2, 8, 3}), out;
  Handle ends = filled({2}, ScalarType::Int, {1, 2});
  for (Handle* tensor : {&rows, &experts}) {
    for (std::int64_t i = 0; i < (*tensor)->numel; ++i) tensor->set(i, 1);
  }
  ModelTensor* given = ends.get();
  REQUIRE(aoti_torch_cpu__grouped_mm(rows.get(), experts.get(), &given, nullptr, nullptr,
                                     out.out()) == 0);
  CHECK(out.values() == std::vector<double>{8, 8, 8, 8, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  // A group without columns of the first and rows of the second has a product of zeros.
  Handle left = make({2, 4}), right = make({4, 3}), none = filled({2}, ScalarType::Int, {0, 4});
  for (std::int64_t i = 0; i < left->numel; ++i) left.set(i, 1);
  for (std::int64_t i = 0; i < right->numel; ++i) right.set(i, 1);
  given = none.get();
  Handle products;
  REQUIRE(aoti_torch_cpu__grouped_mm(left.get(), right.get(), &given, nullptr, nullptr,
                                     products.out()) == 0);
  CHECK(products.values() == std::vector<double>{0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4});
}

TEST_CASE("functions of factored matrices refuse what does not fit", "[cpu_aoti]") {
  Refusals r;
  Handle square = filled({3, 3}, ScalarType::Float, std::vector<double>(9));
  Handle other = make({2, 4}), wide = make({3, 4}), tau = make({3});
  Handle half = make({3, 3}, ScalarType::Half), doubles = make({3, 2}, ScalarType::Double);
  CHECK_THAT(r.text(aoti_torch_cpu_cholesky_solve(other.get(), square.get(), 0, r.out())),
             ContainsSubstring("matrices [3, 3] of Float and right sides [2, 4] of Float: expected "
                               "one type, right sides with 3 rows"));
  CHECK_THAT(r.text(aoti_torch_cpu_cholesky_solve(doubles.get(), square.get(), 0, r.out())),
             ContainsSubstring("right sides [3, 2] of Double"));
  CHECK_THAT(r.text(aoti_torch_cpu_cholesky_solve(half.get(), half.get(), 0, r.out())),
             ContainsSubstring("elements of Half: expected Float or Double"));
  CHECK_THAT(r.text(aoti_torch_cpu_cholesky_inverse(wide.get(), 0, r.out())),
             ContainsSubstring("a tensor [3, 4]: expected square matrices"));
  CHECK_THAT(r.text(aoti_torch_cpu_cholesky_inverse(square.get(), 1, r.out())),
             ContainsSubstring("matrix 0: number 1 of the diagonal is zero"));
  CHECK_THAT(r.text(aoti_torch_cpu_triangular_solve(other.get(), square.get(), 0, 0, 0, r.out(),
                                                    r.out1())),
             ContainsSubstring("right sides with 3 rows"));
  CHECK_THAT(r.text(aoti_torch_cpu_geqrf(tau.get(), r.out(), r.out1())),
             ContainsSubstring("a tensor [3]: expected matrices"));
  CHECK_THAT(r.text(aoti_torch_cpu_ormqr(square.get(), tau.get(), other.get(), 1, 0, r.out())),
             ContainsSubstring("factors [3, 3] of Float, scalars [3] of Float and matrices [2, 4] "
                               "of Float: expected one type and batch, at most 3 scalars, and "
                               "factors with as many rows as the matrices have rows"));
  Handle pivots = filled({3}, ScalarType::Int, {1, 4, 3}), third;
  CHECK_THAT(r.text(aoti_torch_cpu_lu_unpack(square.get(), pivots.get(), 1, 1, r.out(), r.out1(),
                                             third.out())),
             ContainsSubstring("pivots of matrix 0: expected rows from 1 to 3"));
  CHECK_THAT(r.text(aoti_torch_cpu_lu_unpack(square.get(), tau.get(), 1, 1, r.out(), r.out1(),
                                             third.out())),
             ContainsSubstring("pivots [3] of Float for factors [3, 3]: expected Int"));
}

TEST_CASE("views refuse what is outside the tensor", "[cpu_aoti]") {
  Refusals r;
  Handle x = make({2, 3}), scalar = make({}), complex = make({2}, ScalarType::ComplexFloat);
  CHECK_THAT(r.text(aoti_torch_cpu_slice_Tensor(x.get(), 0, nullptr, nullptr, 0, r.out())),
             ContainsSubstring("a step 0: expected at least 1"));
  CHECK_THAT(r.text(aoti_torch_cpu_slice_Tensor(scalar.get(), 0, nullptr, nullptr, 1, r.out())),
             ContainsSubstring("a tensor []: expected at least one dimension"));
  CHECK_THAT(r.text(aoti_torch_cpu_narrow(x.get(), 1, 2, 2, r.out())),
             ContainsSubstring("narrow: 2 elements from 2 on: expected them in 3"));
  CHECK_THAT(r.text(aoti_torch_cpu_narrow(x.get(), 1, -4, 1, r.out())),
             ContainsSubstring("1 elements from -4 on"));
  const std::int64_t same[] = {0, 0}, one[] = {1}, shape[] = {-1, 4}, open[] = {-1, -1};
  CHECK_THAT(r.text(aoti_torch_cpu_permute(x.get(), same, 2, r.out())),
             ContainsSubstring("dimensions [0, 0]: expected each of 2 once"));
  CHECK_THAT(r.text(aoti_torch_cpu_permute(x.get(), one, 1, r.out())),
             ContainsSubstring("dimensions [1]"));
  CHECK_THAT(r.text(aoti_torch_cpu_reshape(x.get(), shape, 2, r.out())),
             ContainsSubstring("a shape [-1, 4]: expected one for 6 elements"));
  CHECK_THAT(r.text(aoti_torch_cpu_reshape(x.get(), open, 2, r.out())),
             ContainsSubstring("a shape [-1, -1]"));
  CHECK_THAT(r.text(aoti_torch_cpu_view_as_complex(x.get(), r.out())),
             ContainsSubstring("expected a last dimension of 2 adjacent elements"));
  CHECK_THAT(r.text(aoti_torch_cpu_view_as_complex(complex.get(), r.out())),
             ContainsSubstring("elements of ComplexFloat: expected Float or Double"));
  CHECK_THAT(r.text(aoti_torch_cpu_view_as_real(x.get(), r.out())),
             ContainsSubstring("elements of Float: expected ComplexFloat"));
  CHECK_THAT(r.text(aoti_torch_cpu_view_dtype(x.get(), 7, r.out())),
             ContainsSubstring("elements of Float in [2, 3] as Double"));
  CHECK_THAT(r.text(aoti_torch_cpu_view_dtype(x.get(), 99, r.out())),
             ContainsSubstring("dtype number 99"));
  ModelTensor* const parts[] = {x.get(), complex.get()};
  CHECK_THAT(r.text(aoti_torch_cpu_cat(parts, 2, 0, r.out())),
             ContainsSubstring("a tensor [2] of ComplexFloat next to [2, 3] of Float"));
  CHECK_THAT(r.text(aoti_torch_cpu_cat(nullptr, 0, 0, r.out())), ContainsSubstring("no tensors"));
}

TEST_CASE("slices and bins take numbers at the ends of their types", "[cpu_aoti]") {
  Refusals r;
  const std::int64_t step = std::numeric_limits<std::int64_t>::max();
  Handle x = filled({2, 3}, ScalarType::Float, {1, 2, 3, 4, 5, 6});
  // The stride would not fit into 64 bits, but nothing uses it.
  Handle first;
  REQUIRE(aoti_torch_cpu_slice_Tensor(x.get(), 0, nullptr, nullptr, step, first.out()) == 0);
  CHECK(first.values() == std::vector<double>{1, 2, 3});
  REQUIRE(aoti_torch_cpu_slice_Tensor(x.get(), 1, nullptr, nullptr, step, r.out()) == 0);
  CHECK(r.result.values() == std::vector<double>{1, 4});
  Handle far = filled({2}, ScalarType::Float, {-3e38, 3e38}), counts;
  REQUIRE(aoti_torch_cpu_histc(far.get(), 4, -3.4e38, 3.4e38, counts.out()) == 0);
  double sum = 0;
  for (const double count : counts.values()) sum += count;
  CHECK(sum == 2);
}

TEST_CASE("arithmetic refuses types that differ and shapes that do not broadcast", "[cpu_aoti]") {
  Refusals r;
  Handle x = make({2, 3}), y = make({4}), whole = make({3}, ScalarType::Long);
  CHECK_THAT(r.text(aoti_torch_cpu_mul_Tensor(x.get(), y.get(), r.out())),
             ContainsSubstring("mul_Tensor: tensors [2, 3] and [4]"));
  CHECK_THAT(r.text(aoti_torch_cpu_add_Tensor(x.get(), whole.get(), 1, r.out())),
             ContainsSubstring("operands of Float and Long"));
  CHECK_THAT(r.text(aoti_torch_cpu_polar(x.get(), whole.get(), r.out())),
             ContainsSubstring("elements of Float and Long: expected both Float or both Double"));
  CHECK_THAT(r.text(aoti_torch_cpu_gcd(x.get(), x.get(), r.out())),
             ContainsSubstring("gcd: operands of Float and Float: expected whole numbers"));
  CHECK_THAT(r.text(aoti_torch_cpu_addbmm(x.get(), x.get(), x.get(), 1, 1, r.out())),
             ContainsSubstring("addbmm: batches [2, 3] and [2, 3]: expected [B, M, K]"));
  CHECK_THAT(r.text(aoti_torch_cpu_logcumsumexp(whole.get(), 0, r.out())),
             ContainsSubstring("logcumsumexp: elements of Long"));
}

TEST_CASE("fill_ writes each element, whatever the strides and the type", "[cpu_aoti]") {
  Fixture fixture;
  for (const ScalarType type : {ScalarType::Float, ScalarType::Char, ScalarType::BFloat16}) {
    Handle x = make({2, 3}, type, {1, 2});
    REQUIRE(aoti_torch_cpu_fill__Scalar(x.get(), -3) == 0);
    CHECK(x.values() == std::vector<double>(6, -3));
  }
  Handle complex = make({1}, ScalarType::ComplexDouble);
  REQUIRE(aoti_torch_cpu_fill__Scalar(complex.get(), 2.5) == 0);
  CHECK(read(ScalarType::Double, complex->data, 0) == 2.5);
  CHECK(read(ScalarType::Double, complex->data, 1) == 0);
}

TEST_CASE("kernels that take long look at the flag of their run", "[cpu_aoti]") {
  Fixture of_arguments;
  for (const LongKernel& kernel : long_kernels()) {
    INFO(kernel.name);
    std::size_t allocated = 0;
    {
      const CancellableRun run(0);
      REQUIRE(kernel.run(kernel.arguments) == 0);
      allocated = num_allocations;
    }
    CancellableRun run(allocated);
    if (allocated == 0) flag = 1;
    CHECK(kernel.run(kernel.arguments) != 0);
    CHECK(run.pool.failure().find("the run was cancelled") != std::string::npos);
    CHECK(num_allocations == allocated);
  }
}

TEST_CASE("a run that can be cancelled computes the same", "[cpu_aoti]") {
  Random source;
  for (const std::int64_t columns : {1024, 1027}) {
    Fixture plain;
    const Handle x = random(source, {64, 1024});
    const Handle weights = random(source, {columns, 1024}, ScalarType::Char);
    const Handle scales = random(source, {columns});
    const auto product = [&] {
      Handle out;
      REQUIRE(aoti_torch_cpu__weight_int8pack_mm(x.get(), weights.get(), scales.get(), out.out()) ==
              0);
      return out.values();
    };
    const auto expected = product();
    const CancellableRun run(0);
    CHECK(product() == expected);
  }
}

}  // namespace refusals_test
