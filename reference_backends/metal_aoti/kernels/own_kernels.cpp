// SPDX-License-Identifier: MIT
#include "kernels/own_kernels.hpp"

#include "kernels/attention_kernels.hpp"
#include "kernels/decoder_kernels.hpp"
#include "kernels/matrix_kernels.hpp"

namespace tenon::metal_aoti {

namespace {

constexpr std::string_view copy_source = R"METAL(
struct Parameters {
  long sizes[16];
  long to[16];
  long from[16];
  long rank;
};
kernel void copy(device T* to [[buffer(0)]], device const T* from [[buffer(1)]],
                 constant Parameters& p [[buffer(2)]],
                 uint index [[thread_position_in_grid]]) {
  ulong rest = index;
  long to_offset = 0;
  long from_offset = 0;
  for (long d = p.rank - 1; d >= 0; --d) {
    const long i = rest % ulong(p.sizes[d]);
    rest /= ulong(p.sizes[d]);
    to_offset += i * p.to[d];
    from_offset += i * p.from[d];
  }
  to[to_offset] = from[from_offset];
}
)METAL";

constexpr std::string_view convolution_source = R"METAL(
struct Parameters {
  long in_strides[5];
  long weight_strides[5];
  long out_strides[5];
  long bias_stride;
  int in_size[3], out_size[3], kernel_size[3], stride[3], padding[3], dilation[3];
  int in_channels_of_group, out_channels_of_group, transposed, has_bias;
};
// Position in one dimension of the input that a tap of the kernel reads for an element of the
// output, or -1.
inline int source(constant Parameters& p, int d, int out, int tap) {
  int i = 0;
  if (p.transposed != 0) {
    i = out + p.padding[d] - tap * p.dilation[d];
    if (i < 0 || i % p.stride[d] != 0) return -1;
    i /= p.stride[d];
  } else {
    i = out * p.stride[d] - p.padding[d] + tap * p.dilation[d];
  }
  return i < p.in_size[d] ? i : -1;
}
kernel void convolution(device T* out [[buffer(0)]], device const T* in [[buffer(1)]],
                        device const T* weight [[buffer(2)]], device const T* bias [[buffer(3)]],
                        constant Parameters& p [[buffer(4)]],
                        uint3 position [[thread_position_in_grid]]) {
  const int channel = position.y;
  const int x = int(position.x) % p.out_size[2];
  const int y = int(position.x) / p.out_size[2] % p.out_size[1];
  const int z = int(position.x) / p.out_size[2] / p.out_size[1];
  const int group = channel / p.out_channels_of_group;
  const int channel_of_group = channel % p.out_channels_of_group;
  float sum = 0;
  for (int c = 0; c < p.in_channels_of_group; ++c) {
    const int in_channel = group * p.in_channels_of_group + c;
    device const T* in_plane = in + position.z * p.in_strides[0] + in_channel * p.in_strides[1];
    device const T* taps = p.transposed != 0
        ? weight + in_channel * p.weight_strides[0] + channel_of_group * p.weight_strides[1]
        : weight + channel * p.weight_strides[0] + c * p.weight_strides[1];
    for (int i = 0; i < p.kernel_size[0]; ++i) {
      const int in_z = source(p, 0, z, i);
      if (in_z < 0) continue;
      for (int j = 0; j < p.kernel_size[1]; ++j) {
        const int in_y = source(p, 1, y, j);
        if (in_y < 0) continue;
        for (int k = 0; k < p.kernel_size[2]; ++k) {
          const int in_x = source(p, 2, x, k);
          if (in_x < 0) continue;
          sum += float(in_plane[in_z * p.in_strides[2] + in_y * p.in_strides[3] +
                                in_x * p.in_strides[4]]) *
                 float(taps[i * p.weight_strides[2] + j * p.weight_strides[3] +
                            k * p.weight_strides[4]]);
        }
      }
    }
  }
  if (p.has_bias != 0) sum += float(bias[channel * p.bias_stride]);
  out[position.z * p.out_strides[0] + channel * p.out_strides[1] + z * p.out_strides[2] +
      y * p.out_strides[3] + x * p.out_strides[4]] = T(sum);
}
)METAL";

// A threadgroup computes a row. Each thread keeps the first of its own columns that was not taken;
// the group takes the first of these, and only the thread that had it looks for another.
constexpr std::string_view topk_source = R"METAL(
struct Parameters {
  long rows;
  long columns;
  long k;
  long inner;
  long largest;
};
constant uint none = 0xffffffff;
// True when `a` precedes `b`; equal elements are ordered by index.
inline bool is_before(T a, uint a_place, T b, uint b_place, bool largest) {
  const bool a_nan = a != a;
  const bool b_nan = b != b;
  if (a_nan != b_nan) return a_nan == largest;
  if (a_nan || a == b) return a_place < b_place;
  return largest ? a > b : a < b;
}
// The one of two columns that precedes the other.
inline uint first_of(device const T* from, long inner, uint a, uint b, bool largest) {
  if (a == none || a == b) return b;
  if (b == none) return a;
  return is_before(from[long(a) * inner], a, from[long(b) * inner], b, largest) ? a : b;
}
// The first of a thread's columns after `last`, in the order of the result, or `none`.
inline uint next(device const T* from, constant Parameters& p, uint thread_index, uint step,
                 uint last, bool largest) {
  uint best = none;
  for (long i = thread_index; i < p.columns; i += step) {
    const uint place = uint(i);
    if (last != none && !is_before(from[long(last) * p.inner], last, from[i * p.inner], place,
                                   largest)) {
      continue;
    }
    best = first_of(from, p.inner, best, place, largest);
  }
  return best;
}
kernel void topk(device T* values [[buffer(0)]], device long* places [[buffer(1)]],
                 device const T* in [[buffer(2)]], constant Parameters& p [[buffer(3)]],
                 uint3 position [[thread_position_in_grid]],
                 uint3 threads [[threads_per_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint width [[threads_per_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]],
                 uint simdgroups [[simdgroups_per_threadgroup]]) {
  // Two, so that a thread may write the next while another still reads: one barrier for each.
  threadgroup uint firsts[2][32];
  const long outer = long(position.y) / p.inner;
  const long side = long(position.y) % p.inner;
  device const T* from = in + outer * p.columns * p.inner + side;
  const bool largest = p.largest != 0;
  uint mine = next(from, p, position.x, threads.x, none, largest);
  for (long n = 0; n < p.k; ++n) {
    uint taken = mine;
    for (uint distance = width / 2; distance > 0; distance /= 2) {
      taken = first_of(from, p.inner, taken, simd_shuffle_xor(taken, ushort(distance)), largest);
    }
    if (lane == 0) firsts[n % 2][simdgroup] = taken;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < simdgroups; ++i) {
      taken = first_of(from, p.inner, taken, firsts[n % 2][i], largest);
    }
    if (position.x == 0) {
      const long to = (outer * p.k + n) * p.inner + side;
      values[to] = from[long(taken) * p.inner];
      places[to] = taken;
    }
    if (taken == mine) mine = next(from, p, position.x, threads.x, taken, largest);
  }
}
)METAL";

}  // namespace

const char* own_kernel_name(OwnKernel kernel) noexcept {
  static constexpr std::array<const char*, num_own_kernels> names = {"copy",
                                                                     "gemm",
                                                                     "matrix_vector",
                                                                     "convolution",
                                                                     "attention",
                                                                     "attention_weights",
                                                                     "topk",
                                                                     "quantized_product",
                                                                     "gated_delta_rule"};
  return names[static_cast<std::size_t>(kernel)];
}

const char* metal_type_for(OwnKernel kernel, ScalarType type) noexcept {
  switch (type) {
    case ScalarType::Float:
      return "float";
    case ScalarType::Half:
      return "half";
    case ScalarType::BFloat16:
      return "bfloat";
    default:
      break;
  }
  if (kernel != OwnKernel::topk) return nullptr;
  switch (type) {
    case ScalarType::Byte:
      return "uchar";
    case ScalarType::Char:
      return "char";
    case ScalarType::Short:
      return "short";
    case ScalarType::Int:
      return "int";
    case ScalarType::Long:
      return "long";
    default:
      return nullptr;
  }
}

const char* metal_type_of_size(std::size_t element_size) noexcept {
  switch (element_size) {
    case 1:
      return "uchar";
    case 2:
      return "ushort";
    case 4:
      return "uint";
    case 8:
      return "ulong";
    case 16:
      return "uint4";
    default:
      return nullptr;
  }
}

std::string_view supported_types(OwnKernel kernel) noexcept {
  return kernel == OwnKernel::topk ? "Float, Half, BFloat16, Byte, Char, Short, Int and Long"
                                   : "Float, Half and BFloat16";
}

std::string own_kernel_source(OwnKernel kernel, const char* metal_type) {
  // Each kernel with what it shares with others.
  static constexpr std::array<std::array<std::string_view, 3>, num_own_kernels> sources = {
      {{copy_source},
       {staging_source, gemm_parameters_source, gemm_source},
       {staging_source, gemm_parameters_source, matrix_vector_source},
       {convolution_source},
       {staging_source, attention_parameters_source, attention_source},
       {attention_parameters_source, attention_weights_source},
       {topk_source},
       {quantized_product_source},
       {gated_delta_rule_source}}};
  std::string out = "#include <metal_stdlib>\nusing namespace metal;\ntypedef ";
  out += metal_type;
  out += " T;\n";
  for (const std::string_view part : sources[static_cast<std::size_t>(kernel)]) out += part;
  return out;
}

}  // namespace tenon::metal_aoti
