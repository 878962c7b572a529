// SPDX-License-Identifier: MIT
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kernels/fft/fft.hpp"
#include "kernels/selection/rank.hpp"
#include "operators/resize.hpp"
#include "recorded.hpp"

namespace recorded_test {
namespace {

using namespace tenon::cpu_aoti;

using Pool = ShimError (*)(ModelTensor*, const std::int64_t*, std::int64_t, const std::int64_t*,
                           std::int64_t, const std::int64_t*, std::int64_t, std::int32_t,
                           std::int32_t, std::int64_t*, ModelTensor**) noexcept;

ShimError pool(Pool function, Call& c) {
  std::int64_t divisor = c.whole(2);
  return function(c.in(0), c.list(0), c.length(0), c.list(1), c.length(1), c.list(2), c.length(2),
                  c.flag(0), c.flag(1), divisor != 0 ? &divisor : nullptr, c.out());
}

void add_selection(std::map<std::string, Kernel>& k) {
  k["median"] = [](Call& c) { return aoti_torch_cpu_median(c.in(0), c.out()); };
  k["nanmedian"] = [](Call& c) { return aoti_torch_cpu_nanmedian(c.in(0), c.out()); };
  k["kthvalue"] = [](Call& c) {
    return aoti_torch_cpu_kthvalue(c.in(0), c.whole(0), c.whole(1), c.flag(2), c.out(), c.out(1));
  };
  k["mode"] = [](Call& c) {
    return aoti_torch_cpu_mode(c.in(0), c.whole(0), c.flag(1), c.out(), c.out(1));
  };
  k["bucketize_Tensor"] = [](Call& c) {
    return aoti_torch_cpu_bucketize_Tensor(c.in(0), c.in(1), c.flag(0), c.flag(1), c.out());
  };
  k["searchsorted_Tensor"] = [](Call& c) {
    const char* side = c.of.texts[0].c_str();
    ModelTensor* sorter = c.in(2);
    return aoti_torch_cpu_searchsorted_Tensor(c.in(0), c.in(1), c.flag(0), c.flag(1), &side,
                                              sorter ? &sorter : nullptr, c.out());
  };
  k["searchsorted_Scalar"] = [](Call& c) {
    const char* side = c.of.texts[0].c_str();
    return aoti_torch_cpu_searchsorted_Scalar(c.in(0), c.number(0), c.flag(1), c.flag(2), &side,
                                              nullptr, c.out());
  };
  k["histc"] = [](Call& c) {
    return aoti_torch_cpu_histc(c.in(0), c.whole(0), c.number(1), c.number(2), c.out());
  };
  k["masked_scatter"] = [](Call& c) {
    return aoti_torch_cpu_masked_scatter(c.in(0), c.in(1), c.in(2), c.out());
  };
  k["masked_select"] = [](Call& c) {
    return aoti_torch_cpu_masked_select(c.in(0), c.in(1), c.out());
  };
  k["nonzero"] = [](Call& c) { return aoti_torch_cpu_nonzero(c.in(0), c.out()); };
  k["nonzero_static"] = [](Call& c) {
    return aoti_torch_cpu_nonzero_static(c.in(0), c.whole(0), c.whole(1), c.out());
  };
  k["repeat_interleave_Tensor"] = [](Call& c) {
    return aoti_torch_cpu_repeat_interleave_Tensor(c.in(0), nullptr, c.out());
  };
  k["index_Tensor"] = [](Call& c) {
    const auto indices = c.optional_from(1);
    return aoti_torch_cpu_index_Tensor(c.in(0), indices.data(),
                                       static_cast<std::int64_t>(indices.size()), c.out());
  };
  k["index_put"] = [](Call& c) {
    const auto indices = c.optional_from(2);
    return aoti_torch_cpu_index_put(c.in(0), indices.data(),
                                    static_cast<std::int64_t>(indices.size()), c.in(1), c.flag(0),
                                    c.out());
  };
  k["index_reduce"] = [](Call& c) {
    return aoti_torch_cpu_index_reduce(c.in(0), c.whole(0), c.in(1), c.in(2), c.of.texts[0].c_str(),
                                       c.flag(1), c.out());
  };
}

void add_numeric(std::map<std::string, Kernel>& k) {
  k["cummax"] = [](Call& c) {
    return aoti_torch_cpu_cummax(c.in(0), c.whole(0), c.out(), c.out(1));
  };
  k["cummin"] = [](Call& c) {
    return aoti_torch_cpu_cummin(c.in(0), c.whole(0), c.out(), c.out(1));
  };
  k["logcumsumexp"] = [](Call& c) {
    return aoti_torch_cpu_logcumsumexp(c.in(0), c.whole(0), c.out());
  };
  k["avg_pool2d"] = [](Call& c) { return pool(aoti_torch_cpu_avg_pool2d, c); };
  k["avg_pool3d"] = [](Call& c) { return pool(aoti_torch_cpu_avg_pool3d, c); };
  k["_cdist_forward"] = [](Call& c) {
    return aoti_torch_cpu__cdist_forward(c.in(0), c.in(1), c.number(0), nullptr, c.out());
  };
  k["_pdist_forward"] = [](Call& c) {
    return aoti_torch_cpu__pdist_forward(c.in(0), c.number(0), c.out());
  };
  k["_trilinear"] = [](Call& c) {
    return aoti_torch_cpu__trilinear(c.in(0), c.in(1), c.in(2), c.list(0), c.length(0), c.list(1),
                                     c.length(1), c.list(2), c.length(2), c.list(3), c.length(3), 1,
                                     c.out());
  };
  k["grid_sampler_3d"] = [](Call& c) {
    return aoti_torch_cpu_grid_sampler_3d(c.in(0), c.in(1), c.whole(0), c.whole(1), c.flag(2),
                                          c.out());
  };
  k["addbmm"] = [](Call& c) {
    return aoti_torch_cpu_addbmm(c.in(0), c.in(1), c.in(2), c.number(0), c.number(1), c.out());
  };
  k["cholesky_solve"] = [](Call& c) {
    return aoti_torch_cpu_cholesky_solve(c.in(0), c.in(1), c.flag(0), c.out());
  };
  k["cholesky_inverse"] = [](Call& c) {
    return aoti_torch_cpu_cholesky_inverse(c.in(0), c.flag(0), c.out());
  };
  k["triangular_solve"] = [](Call& c) {
    return aoti_torch_cpu_triangular_solve(c.in(0), c.in(1), c.flag(0), c.flag(1), c.flag(2),
                                           c.out(), c.out(1));
  };
  k["geqrf"] = [](Call& c) { return aoti_torch_cpu_geqrf(c.in(0), c.out(), c.out(1)); };
  k["ormqr"] = [](Call& c) {
    return aoti_torch_cpu_ormqr(c.in(0), c.in(1), c.in(2), c.flag(0), c.flag(1), c.out());
  };
  k["lu_unpack"] = [](Call& c) {
    return aoti_torch_cpu_lu_unpack(c.in(0), c.in(1), c.flag(0), c.flag(1), c.out(), c.out(1),
                                    c.out(2));
  };
  k["_grouped_mm"] = [](Call& c) {
    ModelTensor* ends = c.in(2);
    return aoti_torch_cpu__grouped_mm(c.in(0), c.in(1), ends ? &ends : nullptr, nullptr, nullptr,
                                      c.out());
  };
  k["_int_mm_out"] = [](Call& c) {
    return aoti_torch_cpu__int_mm_out(c.made_out(), c.in(0), c.in(1));
  };
  k["_weight_int8pack_mm"] = [](Call& c) {
    return aoti_torch_cpu__weight_int8pack_mm(c.in(0), c.in(1), c.in(2), c.out());
  };
}

void add_views(std::map<std::string, Kernel>& k) {
  k["slice_Tensor"] = [](Call& c) {
    std::int64_t start = c.whole(1), end = c.whole(2);
    return aoti_torch_cpu_slice_Tensor(c.in(0), c.whole(0), &start, &end, c.whole(3), c.out());
  };
  k["narrow"] = [](Call& c) {
    return aoti_torch_cpu_narrow(c.in(0), c.whole(0), c.whole(1), c.whole(2), c.out());
  };
  k["permute"] = [](Call& c) {
    return aoti_torch_cpu_permute(c.in(0), c.list(0), c.length(0), c.out());
  };
  k["squeeze_dim"] = [](Call& c) {
    return aoti_torch_cpu_squeeze_dim(c.in(0), c.whole(0), c.out());
  };
  k["reshape"] = [](Call& c) {
    return aoti_torch_cpu_reshape(c.in(0), c.list(0), c.length(0), c.out());
  };
  k["view_dtype"] = [](Call& c) { return aoti_torch_cpu_view_dtype(c.in(0), c.flag(0), c.out()); };
  k["view_as_real"] = [](Call& c) { return aoti_torch_cpu_view_as_real(c.in(0), c.out()); };
  k["view_as_complex"] = [](Call& c) { return aoti_torch_cpu_view_as_complex(c.in(0), c.out()); };
  k["cat"] = [](Call& c) {
    return aoti_torch_cpu_cat(c.tensors.data(), static_cast<std::int64_t>(c.tensors.size()),
                              c.whole(0), c.out());
  };
}

void add_arithmetic(std::map<std::string, Kernel>& k) {
  k["abs"] = [](Call& c) { return aoti_torch_cpu_abs(c.in(0), c.out()); };
  k["angle"] = [](Call& c) { return aoti_torch_cpu_angle(c.in(0), c.out()); };
  k["polar"] = [](Call& c) { return aoti_torch_cpu_polar(c.in(0), c.in(1), c.out()); };
  k["add_Tensor"] = [](Call& c) {
    return aoti_torch_cpu_add_Tensor(c.in(0), c.in(1), c.number(0), c.out());
  };
  k["mul_Tensor"] = [](Call& c) { return aoti_torch_cpu_mul_Tensor(c.in(0), c.in(1), c.out()); };
  k["mul_Scalar"] = [](Call& c) {
    return aoti_torch_cpu_mul_Scalar(c.in(0), c.number(0), c.out());
  };
  k["add_Scalar"] = [](Call& c) {
    return aoti_torch_cpu_add_Scalar(c.in(0), c.number(0), c.number(1), c.out());
  };
  k["gcd"] = [](Call& c) { return aoti_torch_cpu_gcd(c.in(0), c.in(1), c.out()); };
  k["pow_Tensor_Tensor"] = [](Call& c) {
    return aoti_torch_cpu_pow_Tensor_Tensor(c.in(0), c.in(1), c.out());
  };
  k["pow_Tensor_Scalar"] = [](Call& c) {
    return aoti_torch_cpu_pow_Tensor_Scalar(c.in(0), c.number(0), c.out());
  };
  k["pow_Scalar"] = [](Call& c) {
    return aoti_torch_cpu_pow_Scalar(c.number(0), c.in(0), c.out());
  };
}

/// Takes the results of an operator that models call by number.
ShimError give(Call& c, const tenon::Status& status, std::initializer_list<OwnedTensor*> made) {
  if (!status.ok()) return 1;
  std::size_t i = 0;
  for (OwnedTensor* const one : made) *c.out(i++) = one->take();
  return 0;
}

ShimError max_pool(decltype(&aoti_torch_cpu_max_pool2d_with_indices) function, Call& c) {
  return function(c.in(0), c.list(0), c.length(0), c.list(1), c.length(1), c.list(2), c.length(2),
                  c.list(3), c.length(3), c.flag(0), c.out(), c.out(1));
}

ShimError resize(ResizeFilter filter, Call& c) {
  OwnedTensor made(nullptr);
  const auto status = resize_images(*c.in(0), {filter, c.of.lists[0], false, {}, {}}, made);
  return give(c, status, {&made});
}

ShimError embedding_bag(decltype(&aoti_torch_cpu__embedding_bag) function, Call& c) {
  return function(c.in(0), c.in(1), c.in(2), 0, c.whole(0), 0, nullptr, 0, -1, c.out(), c.out(1),
                  c.out(2), c.out(3));
}

void add_windows(std::map<std::string, Kernel>& k) {
  k["max_pool2d_with_indices"] = [](Call& c) {
    return max_pool(aoti_torch_cpu_max_pool2d_with_indices, c);
  };
  k["max_pool3d_with_indices"] = [](Call& c) {
    return max_pool(aoti_torch_cpu_max_pool3d_with_indices, c);
  };
  k["_adaptive_avg_pool2d"] = [](Call& c) {
    return aoti_torch_cpu__adaptive_avg_pool2d(c.in(0), c.list(0), c.length(0), c.out());
  };
  k["_adaptive_avg_pool3d"] = [](Call& c) {
    return aoti_torch_cpu__adaptive_avg_pool3d(c.in(0), c.list(0), c.length(0), c.out());
  };
  k["adaptive_max_pool2d"] = [](Call& c) {
    return aoti_torch_cpu_adaptive_max_pool2d(c.in(0), c.list(0), c.length(0), c.out(), c.out(1));
  };
  k["adaptive_max_pool3d"] = [](Call& c) {
    return aoti_torch_cpu_adaptive_max_pool3d(c.in(0), c.list(0), c.length(0), c.out(), c.out(1));
  };
  k["convolution"] = [](Call& c) {
    return aoti_torch_cpu_convolution(c.in(0), c.in(1), nullptr, c.list(0), c.length(0), c.list(1),
                                      c.length(1), c.list(2), c.length(2), c.flag(0), c.list(3),
                                      c.length(3), c.whole(1), c.out());
  };
  k["_upsample_bicubic2d_aa"] = [](Call& c) { return resize(ResizeFilter::cubic, c); };
  k["_upsample_bilinear2d_aa"] = [](Call& c) { return resize(ResizeFilter::linear, c); };
}

void add_rows(std::map<std::string, Kernel>& k) {
  k["cumsum"] = [](Call& c) {
    return aoti_torch_cpu_cumsum(c.in(0), c.whole(0), nullptr, c.out());
  };
  k["cumprod"] = [](Call& c) {
    return aoti_torch_cpu_cumprod(c.in(0), c.whole(0), nullptr, c.out());
  };
  k["sort"] = [](Call& c) {
    return aoti_torch_cpu_sort(c.in(0), c.whole(0), c.flag(1), c.out(), c.out(1));
  };
  k["sort_stable"] = [](Call& c) {
    return aoti_torch_cpu_sort_stable(c.in(0), nullptr, c.whole(0), c.flag(1), c.out(), c.out(1));
  };
  k["topk"] = [](Call& c) {
    return aoti_torch_cpu_topk(c.in(0), c.whole(0), c.whole(1), c.flag(2), c.flag(3), c.out(),
                               c.out(1));
  };
  k["median.dim"] = [](Call& c) {
    OwnedTensor values(nullptr), places(nullptr);
    const auto status = median_along(*c.in(0), c.whole(0), c.flag(1) != 0, false, values, places);
    return give(c, status, {&values, &places});
  };
  k["_fft_c2c"] = [](Call& c) {
    return aoti_torch_cpu__fft_c2c(c.in(0), c.list(0), c.length(0), c.whole(0), c.flag(1), c.out());
  };
  k["_fft_r2c"] = [](Call& c) {
    return aoti_torch_cpu__fft_r2c(c.in(0), c.list(0), c.length(0), c.whole(0), c.flag(1), c.out());
  };
  k["_fft_c2r"] = [](Call& c) {
    OwnedTensor made(nullptr);
    const auto status = transform_to_real(*c.in(0), c.of.lists[0], c.whole(0), c.whole(1), made);
    return give(c, status, {&made});
  };
  k["_scaled_dot_product_flash_attention_for_cpu"] = [](Call& c) {
    return aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
        c.in(0), c.in(1), c.in(2), 0, 0, nullptr, nullptr, c.out(), c.out(1));
  };
  k["_embedding_bag"] = [](Call& c) { return embedding_bag(aoti_torch_cpu__embedding_bag, c); };
  k["_embedding_bag_forward_only"] = [](Call& c) {
    return embedding_bag(aoti_torch_cpu__embedding_bag_forward_only, c);
  };
}

void add_random(std::map<std::string, Kernel>& k) {
  k["rand_like"] = [](Call& c) {
    return aoti_torch_cpu_rand_like(c.in(0), nullptr, nullptr, nullptr, 0, nullptr, nullptr,
                                    c.out());
  };
  k["randn_like"] = [](Call& c) {
    return aoti_torch_cpu_randn_like(c.in(0), nullptr, nullptr, nullptr, 0, nullptr, nullptr,
                                     c.out());
  };
  k["randint_like"] = [](Call& c) {
    return aoti_torch_cpu_randint_like(c.in(0), c.whole(0), nullptr, nullptr, nullptr, 0, nullptr,
                                       nullptr, c.out());
  };
  k["randint_like_low_dtype"] = [](Call& c) {
    return aoti_torch_cpu_randint_like_low_dtype(c.in(0), c.whole(0), c.whole(1), nullptr, nullptr,
                                                 nullptr, 0, nullptr, nullptr, c.out());
  };
  k["uniform"] = [](Call& c) { return aoti_torch_cpu_uniform(c.in(0), 0, 1, nullptr, c.out()); };
  k["normal_functional"] = [](Call& c) {
    return aoti_torch_cpu_normal_functional(c.in(0), 0, 1, nullptr, c.out());
  };
  k["exponential"] = [](Call& c) {
    return aoti_torch_cpu_exponential(c.in(0), 1, nullptr, c.out());
  };
  k["native_dropout"] = [](Call& c) {
    std::int32_t train = c.flag(0);
    return aoti_torch_cpu_native_dropout(c.in(0), 0.5, &train, c.out(), c.out(1));
  };
}

}  // namespace

std::map<std::string, Kernel> kernels() {
  std::map<std::string, Kernel> out;
  add_selection(out);
  add_numeric(out);
  add_views(out);
  add_arithmetic(out);
  add_windows(out);
  add_rows(out);
  add_random(out);
  return out;
}

}  // namespace recorded_test
