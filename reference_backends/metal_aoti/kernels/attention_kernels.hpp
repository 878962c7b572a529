// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// Metal source for attention. Scores are never in the device's memory: a threadgroup keeps the
/// scores of 32 rows and 32 keys, with the largest score and the sum of each row so far, and
/// corrects what it has added up when a larger one comes.
namespace tenon::metal_aoti {

inline constexpr std::string_view attention_parameters_source = R"METAL(
struct Parameters {
  long query[4];
  long key[4];
  long value[4];
  long mask[4];
  int key_heads, queries, keys, depth, width, group, is_causal, mask_kind, query_vectors,
      key_vectors, value_vectors, keeps_rows;
  float scale;
};
// The score of a query for a key, or -INFINITY where it is masked.
inline float masked(float product, device const uchar* mask, constant Parameters& p, long batch,
                    long head, int q, int k) {
  float score = product * p.scale;
  const long place = batch * p.mask[0] + head * p.mask[1] + q * p.mask[2] + k * p.mask[3];
  if (p.mask_kind == 1) score += float(reinterpret_cast<device const T*>(mask)[place]);
  if (p.mask_kind == 2 && mask[place] == 0) score = -INFINITY;
  return p.is_causal != 0 && k > q ? float(-INFINITY) : score;
}
)METAL";

// The rows of a threadgroup are queries of all heads that share a head of the keys, so that keys
// and values are read once for all of them. Each simdgroup has 8 rows and four threads a row. A row
// that is fully masked becomes zeroes, as in PyTorch's _safe_softmax; NaN is no mask.
inline constexpr std::string_view attention_source = R"METAL(
kernel void attention(device T* out [[buffer(0)]], device const T* query [[buffer(1)]],
                      device const T* key [[buffer(2)]], device const T* value [[buffer(3)]],
                      device const uchar* mask [[buffer(4)]], device float* kept [[buffer(5)]],
                      constant Parameters& p [[buffer(6)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_index_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float queries[32 * 132];
  threadgroup float staged[32 * 68];
  threadgroup float scores[4][8 * 36];
  threadgroup float moved[4][64];
  const int rows = p.group * p.queries;
  const int first_row = int(group.x) * 32;
  const int first_width = int(group.y) * 128;
  const long batch = int(group.z) / p.key_heads;
  const long key_head = int(group.z) % p.key_heads;
  // Whether the simdgroup has a row.
  const bool is_busy = first_row + int(simdgroup) * 8 < rows;
  const int row = first_row + int(simdgroup) * 8 + int(lane) / 4;
  const long head = key_head * p.group + row / p.queries;
  const int q = row % p.queries;
  int last_key = p.keys;
  if (p.is_causal != 0) {
    // The rows of one head are in order; a tile with rows of several has its last query.
    const int last_row = min(first_row + 31, rows - 1);
    const bool is_one_head = first_row / p.queries == last_row / p.queries;
    last_key = min(p.keys, is_one_head ? last_row % p.queries + 1 : p.queries);
  }
  float largest = -INFINITY;
  float sum = 0.0f;
  simdgroup_float8x8 sums[16];
  for (int j = 0; j < 16; ++j) sums[j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  for (int first_key = 0; first_key < last_key; first_key += 32) {
    simdgroup_float8x8 products[4];
    for (int j = 0; j < 4; ++j) products[j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    for (int at = 0; at < p.depth; at += 64) {
      if (at % 128 == 0 && (first_key == 0 || p.depth > 128)) {
        for (int i = thread_index; i < 32 * 32; i += 128) {
          const int from_row = first_row + i / 32;
          const int element = at + i % 32 * 4;
          vec<float, 4> four = vec<float, 4>(0.0f);
          if (from_row < rows) {
            const long from_head = key_head * p.group + from_row / p.queries;
            four = read_four(query + batch * p.query[0] + from_head * p.query[1] +
                                 from_row % p.queries * p.query[2] + element * p.query[3],
                             p.query[3], p.depth - element, p.query_vectors);
          }
          for (int n = 0; n < 4; ++n) queries[i / 32 * 132 + i % 32 * 4 + n] = four[n];
        }
      }
      stage<32, 64>(staged, key + batch * p.key[0] + key_head * p.key[1], p.key[2], p.key[3],
                    first_key, p.keys, at, p.depth, p.key_vectors, thread_index);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (is_busy) {
        for (int d = 0; d < 64; d += 8) {
          if (at + d >= p.depth) continue;
          simdgroup_float8x8 from_query;
          simdgroup_load(from_query, queries + int(simdgroup) * 8 * 132 + at % 128 + d, 132);
          for (int j = 0; j < 4; ++j) {
            simdgroup_float8x8 from_key;
            simdgroup_load(from_key, staged + j * 8 * 68 + d, 68, ulong2(0, 0), true);
            simdgroup_multiply_accumulate(products[j], from_query, from_key, products[j]);
          }
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (is_busy) {
      for (int j = 0; j < 4; ++j) simdgroup_store(products[j], scores[simdgroup] + j * 8, 36);
      simdgroup_barrier(mem_flags::mem_threadgroup);
      float mine[8];
      float most = -INFINITY;
      for (int i = 0; i < 8; ++i) {
        const int k = first_key + i * 4 + int(lane) % 4;
        mine[i] = -INFINITY;
        if (row < rows && k < p.keys) {
          mine[i] = masked(scores[simdgroup][int(lane) / 4 * 36 + i * 4 + int(lane) % 4], mask, p,
                           batch, head, q, k);
        }
        if (mine[i] > most) most = mine[i];
      }
      most = max(most, simd_shuffle_xor(most, ushort(1)));
      most = max(most, simd_shuffle_xor(most, ushort(2)));
      const float before = largest;
      if (most > largest) largest = most;
      const float base = largest == -INFINITY ? float(0) : largest;
      float added = 0.0f;
      for (int i = 0; i < 8; ++i) {
        const float weight = precise::exp(mine[i] - base);
        added += weight;
        scores[simdgroup][int(lane) / 4 * 36 + i * 4 + int(lane) % 4] = weight;
      }
      added += simd_shuffle_xor(added, ushort(1));
      added += simd_shuffle_xor(added, ushort(2));
      // Not as a product with a diagonal matrix, in which a NaN would reach the other rows.
      if (first_key != 0 && simd_any(before != largest)) {
        const float factor = before == largest ? 1.0f : precise::exp(before - base);
        sum *= factor;
        for (int j = 0; j < 16; ++j) {
          if (first_width + j * 8 >= p.width) continue;
          simdgroup_store(sums[j], moved[simdgroup], 8);
          simdgroup_barrier(mem_flags::mem_threadgroup);
          moved[simdgroup][lane * 2] *= factor;
          moved[simdgroup][lane * 2 + 1] *= factor;
          simdgroup_barrier(mem_flags::mem_threadgroup);
          simdgroup_load(sums[j], moved[simdgroup], 8);
          simdgroup_barrier(mem_flags::mem_threadgroup);
        }
      }
      sum += added;
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (int part = 0; part < 2; ++part) {
      const int at = first_width + part * 64;
      if (at >= p.width) continue;
      stage<32, 64>(staged, value + batch * p.value[0] + key_head * p.value[1], p.value[2],
                    p.value[3], first_key, p.keys, at, p.width, p.value_vectors, thread_index);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (is_busy) {
        for (int i = 0; i < 4; ++i) {
          simdgroup_float8x8 weights;
          simdgroup_load(weights, scores[simdgroup] + i * 8, 36);
          for (int j = 0; j < 8; ++j) {
            if (at + j * 8 >= p.width) continue;
            simdgroup_float8x8 values;
            simdgroup_load(values, staged + i * 8 * 68 + j * 8, 68);
            simdgroup_multiply_accumulate(sums[part * 8 + j], weights, values, sums[part * 8 + j]);
          }
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
  if (!is_busy) return;
  const long to_row = (batch * p.key_heads * p.group + head) * p.queries + q;
  for (int j = 0; j < 16; ++j) {
    if (first_width + j * 8 >= p.width) continue;
    simdgroup_store(sums[j], moved[simdgroup], 8);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (int n = 0; n < 2; ++n) {
      const int column = first_width + j * 8 + int(lane) % 4 * 2 + n;
      const float result = sum == 0.0f ? float(0) : moved[simdgroup][lane * 2 + n] / sum;
      if (row < rows && column < p.width) out[to_row * p.width + column] = T(result);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (p.keeps_rows != 0 && group.y == 0 && row < rows && lane % 4 == 0) {
    kept[to_row * 2] = largest == -INFINITY ? float(0) : largest;
    kept[to_row * 2 + 1] = sum;
  }
}
)METAL";

// The weights, for models that ask for them, from the largest score and the sum of each row.
inline constexpr std::string_view attention_weights_source = R"METAL(
kernel void attention_weights(device T* weights [[buffer(0)]], device const T* query [[buffer(1)]],
                              device const T* key [[buffer(2)]],
                              device const uchar* mask [[buffer(3)]],
                              device const float* kept [[buffer(4)]],
                              constant Parameters& p [[buffer(5)]],
                              uint3 position [[thread_position_in_grid]]) {
  const int k = position.x;
  const int q = position.y;
  const long heads = long(p.key_heads) * p.group;
  const long batch = long(position.z) / heads;
  const long head = long(position.z) % heads;
  device const T* q_row = query + batch * p.query[0] + head * p.query[1] + q * p.query[2];
  device const T* k_row = key + batch * p.key[0] + head / p.group * p.key[1] + k * p.key[2];
  float product = 0.0f;
  for (int i = 0; i < p.depth; ++i) {
    product += float(q_row[i * p.query[3]]) * float(k_row[i * p.key[3]]);
  }
  const float score = masked(product, mask, p, batch, head, q, k);
  const long row = long(position.z) * p.queries + q;
  const float sum = kept[row * 2 + 1];
  weights[row * p.keys + k] = sum == 0.0f ? T(0.0f) : T(precise::exp(score - kept[row * 2]) / sum);
}
)METAL";

}  // namespace tenon::metal_aoti
