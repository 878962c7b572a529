// SPDX-License-Identifier: MIT
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "kernels/fft/fft.hpp"
#include "kernels/kernel_list.hpp"
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

/// Takes the results of an operator that models call by number.
ShimError give(Call& c, const tenon::Status& status, std::initializer_list<OwnedTensor*> made) {
  if (!status.ok()) return 1;
  std::size_t i = 0;
  for (OwnedTensor* const one : made) *c.out(i++) = one->take();
  return 0;
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

/// Kernels whose cases leave arguments out, or have them in another order.
void add_in_another_order(std::map<std::string, Kernel>& k) {
  k["index_put"] = [](Call& c) {
    const auto indices = c.optional_from(2);
    return aoti_torch_cpu_index_put(c.in(0), indices.data(),
                                    static_cast<std::int64_t>(indices.size()), c.in(1), c.flag(0),
                                    c.out());
  };
  k["avg_pool2d"] = [](Call& c) { return pool(aoti_torch_cpu_avg_pool2d, c); };
  k["avg_pool3d"] = [](Call& c) { return pool(aoti_torch_cpu_avg_pool3d, c); };
  k["_trilinear"] = [](Call& c) {
    return aoti_torch_cpu__trilinear(c.in(0), c.in(1), c.in(2), c.list(0), c.length(0), c.list(1),
                                     c.length(1), c.list(2), c.length(2), c.list(3), c.length(3), 1,
                                     c.out());
  };
  k["sort_stable"] = [](Call& c) {
    return aoti_torch_cpu_sort_stable(c.in(0), nullptr, c.whole(0), c.flag(1), c.out(), c.out(1));
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

/// Operators that models call by number.
void add_operators(std::map<std::string, Kernel>& k) {
  k["median.dim"] = [](Call& c) {
    OwnedTensor values(nullptr), places(nullptr);
    const auto status = median_along(*c.in(0), c.whole(0), c.flag(1) != 0, false, values, places);
    return give(c, status, {&values, &places});
  };
  k["_fft_c2r"] = [](Call& c) {
    OwnedTensor made(nullptr);
    const auto status = transform_to_real(*c.in(0), c.of.lists[0], c.whole(0), c.whole(1), made);
    return give(c, status, {&made});
  };
  k["_upsample_bicubic2d_aa"] = [](Call& c) { return resize(ResizeFilter::cubic, c); };
  k["_upsample_bilinear2d_aa"] = [](Call& c) { return resize(ResizeFilter::linear, c); };
}

/// The name that cases have.
std::string name_in_cases(std::string_view name) {
  constexpr std::string_view prefix = "aoti_torch_cpu_";
  return std::string(name.substr(name.starts_with(prefix) ? prefix.size() : 0));
}

}  // namespace

std::map<std::string, Kernel> kernels() {
  std::map<std::string, Kernel> out;
#define ADD(name, parameters) out[name_in_cases(#name)] = in_order(&name);
  TENON_CPU_AOTI_KERNELS(ADD)
#undef ADD
  add_in_another_order(out);
  add_random(out);
  add_operators(out);
  return out;
}

}  // namespace recorded_test
