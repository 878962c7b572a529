// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// Metal source for layers of language models: products with weights of 4 bits, and the gated delta
/// rule. One simdgroup computes one element of the output, or one row of the state.
namespace tenon::metal_aoti {

// A weight is scale * q + bias with q from 0 to 15, so one group of a row adds scale * sum(x * q) +
// bias * sum(x). Byte i of a row of weights has q of column 2i in its low half.
inline constexpr std::string_view quantized_product_source = R"METAL(
struct Parameters {
  long x[2];
  long indices;
  int columns, inner, groups, group_size, experts, index_kind;
};
kernel void quantized_product(device T* out [[buffer(0)]], device const T* x [[buffer(1)]],
                              device const uchar* weight [[buffer(2)]],
                              device const T* scales [[buffer(3)]],
                              device const T* biases [[buffer(4)]],
                              device const int* indices [[buffer(5)]],
                              constant Parameters& p [[buffer(6)]],
                              uint2 position [[thread_position_in_grid]]) {
  const int lane = int(position.x % 32);
  const int column = int(position.x / 32);
  const long row = position.y;
  long expert = 0;
  if (p.index_kind == 1) expert = indices[row * p.indices];
  if (p.index_kind == 2) expert = reinterpret_cast<device const long*>(indices)[row * p.indices];
  device T* to = out + row * p.columns + column;
  if (expert < 0 || expert >= p.experts) {
    if (lane == 0) *to = T(NAN);
    return;
  }
  const long weight_row = expert * p.columns + column;
  device const uchar* q = weight + weight_row * (p.inner / 2);
  device const T* from = x + row * p.x[0];
  float sum = 0;
  for (int first = lane * 8; first < p.inner; first += 256) {
    float product = 0;
    float total = 0;
    for (int i = 0; i < 4; ++i) {
      const uint pair = q[first / 2 + i];
      const float low = float(from[(first + 2 * i) * p.x[1]]);
      const float high = float(from[(first + 2 * i + 1) * p.x[1]]);
      product += low * float(pair & 15) + high * float(pair >> 4);
      total += low + high;
    }
    const long group = weight_row * p.groups + first / p.group_size;
    sum += float(scales[group]) * product + float(biases[group]) * total;
  }
  sum = simd_sum(sum);
  if (lane == 0) *to = T(sum);
}
)METAL";

// Each thread keeps its columns of one row of the state in threadgroup memory that no other thread
// reads, as floats: only the state after the last step is rounded to its dtype.
inline constexpr std::string_view gated_delta_rule_source = R"METAL(
struct Parameters {
  long q[4];
  long k[4];
  long v[4];
  long g[3];
  long beta[3];
  long state[4];
  int steps, heads, keys, values, shared, g_is_float, beta_is_float, state_is_float;
};
inline float element(device const uchar* from, int is_float, long place) {
  return is_float != 0 ? reinterpret_cast<device const float*>(from)[place]
                       : float(reinterpret_cast<device const T*>(from)[place]);
}
kernel void gated_delta_rule(device T* out [[buffer(0)]], device const T* q [[buffer(1)]],
                             device const T* k [[buffer(2)]], device const T* v [[buffer(3)]],
                             device const uchar* g [[buffer(4)]],
                             device const uchar* beta [[buffer(5)]],
                             device uchar* state [[buffer(6)]],
                             constant Parameters& p [[buffer(7)]],
                             uint3 position [[thread_position_in_grid]]) {
  threadgroup float kept[1024];
  const int lane = position.x;
  const long value = position.y;
  const long batch = int(position.z) / p.heads;
  const long head = int(position.z) % p.heads;
  const long key_head = head / p.shared;
  const long row = batch * p.state[0] + head * p.state[1] + value * p.state[2];
  for (int i = lane; i < p.keys; i += 32) {
    kept[i] = element(state, p.state_is_float, row + i * p.state[3]);
  }
  for (long t = 0; t < p.steps; ++t) {
    device const T* q_row = q + batch * p.q[0] + t * p.q[1] + key_head * p.q[2];
    device const T* k_row = k + batch * p.k[0] + t * p.k[1] + key_head * p.k[2];
    const float decay =
        element(g, p.g_is_float, batch * p.g[0] + t * p.g[1] + head * p.g[2]);
    const float rate =
        element(beta, p.beta_is_float, batch * p.beta[0] + t * p.beta[1] + head * p.beta[2]);
    float known = 0;
    for (int i = lane; i < p.keys; i += 32) {
      kept[i] *= decay;
      known += kept[i] * float(k_row[i * p.k[3]]);
    }
    known = simd_sum(known);
    const float change =
        rate * (float(v[batch * p.v[0] + t * p.v[1] + head * p.v[2] + value * p.v[3]]) - known);
    float result = 0;
    for (int i = lane; i < p.keys; i += 32) {
      kept[i] += float(k_row[i * p.k[3]]) * change;
      result += kept[i] * float(q_row[i * p.q[3]]);
    }
    result = simd_sum(result);
    if (lane == 0) out[((batch * p.steps + t) * p.heads + head) * p.values + value] = T(result);
  }
  for (int i = lane; i < p.keys; i += 32) {
    const long place = row + i * p.state[3];
    if (p.state_is_float != 0) {
      reinterpret_cast<device float*>(state)[place] = kept[i];
    } else {
      reinterpret_cast<device T*>(state)[place] = T(kept[i]);
    }
  }
}
)METAL";

}  // namespace tenon::metal_aoti
