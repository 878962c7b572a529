// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

/// Metal source for matrix products. The threads of a threadgroup copy tiles of the operands to
/// threadgroup memory as floats, which simdgroups multiply as matrices of 8 x 8.
///
/// Matrices of a simdgroup are float for every dtype: the specification has products of one type
/// alone, and sums are kept as float.
namespace tenon::metal_aoti {

// Reads of four elements, one after the other where `vectors` says that they are adjacent and
// aligned.
inline constexpr std::string_view staging_source = R"METAL(
inline vec<float, 4> read_four(device const T* from, long step, int left, int vectors) {
  if (vectors != 0 && left >= 4) {
    return vec<float, 4>(*reinterpret_cast<device const vec<T, 4>*>(from));
  }
  vec<float, 4> out = vec<float, 4>(0.0f);
  for (int i = 0; i < 4; ++i) {
    if (i < left) out[i] = float(from[i * step]);
  }
  return out;
}
// Copies a tile of `lines` lines of `length` elements, from the element `at` of the line `line` on,
// with zeroes outside of the matrix. Lines are length + 4 floats apart.
template <int lines, int length>
inline void stage(threadgroup float* to, device const T* from, long line_step, long step, int line,
                  int num_lines, int at, int num_elements, int vectors, int thread_index) {
  for (int i = thread_index; i < lines * length / 4; i += 128) {
    const int in_line = i % (length / 4) * 4;
    const int in_tile = i / (length / 4);
    vec<float, 4> four = vec<float, 4>(0.0f);
    if (line + in_tile < num_lines) {
      four = read_four(from + (line + in_tile) * line_step + (at + in_line) * step, step,
                       num_elements - at - in_line, vectors);
    }
    for (int n = 0; n < 4; ++n) to[in_tile * (length + 4) + in_line + n] = four[n];
  }
}
)METAL";

inline constexpr std::string_view gemm_parameters_source = R"METAL(
struct Parameters {
  long a[3];
  long b[3];
  long bias[3];
  long out[3];
  int rows, columns, inner;
  float alpha, beta;
  int has_bias, a_along_inner, a_vectors, b_along_inner, b_vectors;
};
inline void write(device T* out, device const T* bias, constant Parameters& p, long batch, int row,
                  int column, float sum) {
  if (row >= p.rows || column >= p.columns) return;
  float result = p.alpha * sum;
  if (p.has_bias != 0) {
    result += p.beta * float(bias[batch * p.bias[0] + row * p.bias[1] + column * p.bias[2]]);
  }
  out[batch * p.out[0] + row * p.out[1] + column * p.out[2]] = T(result);
}
)METAL";

// A threadgroup of four simdgroups computes 64 x 64 elements, a simdgroup 32 x 32 of them. The tile
// of an operand is stored with the dimension last in which its elements are adjacent.
inline constexpr std::string_view gemm_source = R"METAL(
kernel void gemm(device T* out [[buffer(0)]], device const T* a [[buffer(1)]],
                 device const T* b [[buffer(2)]], device const T* bias [[buffer(3)]],
                 constant Parameters& p [[buffer(4)]],
                 uint3 group [[threadgroup_position_in_grid]],
                 uint thread_index [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float tile_a[64 * 20];
  threadgroup float tile_b[64 * 20];
  threadgroup float results[4][64];
  const int first_row = int(group.y) * 64;
  const int first_column = int(group.x) * 64;
  const int row = int(simdgroup) / 2 * 32;
  const int column = int(simdgroup) % 2 * 32;
  const long batch = group.z;
  // Parts of 8 rows and columns that are not outside of the result.
  const int row_parts = (p.rows - first_row - row + 7) / 8;
  const int column_parts = (p.columns - first_column - column + 7) / 8;
  simdgroup_float8x8 sums[4][4];
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  }
  for (int first = 0; first < p.inner; first += 16) {
    if (p.a_along_inner != 0) {
      stage<64, 16>(tile_a, a + batch * p.a[0], p.a[1], p.a[2], first_row, p.rows, first, p.inner,
                    p.a_vectors, thread_index);
    } else {
      stage<16, 64>(tile_a, a + batch * p.a[0], p.a[2], p.a[1], first, p.inner, first_row, p.rows,
                    p.a_vectors, thread_index);
    }
    if (p.b_along_inner != 0) {
      stage<64, 16>(tile_b, b + batch * p.b[0], p.b[2], p.b[1], first_column, p.columns, first,
                    p.inner, p.b_vectors, thread_index);
    } else {
      stage<16, 64>(tile_b, b + batch * p.b[0], p.b[1], p.b[2], first, p.inner, first_column,
                    p.columns, p.b_vectors, thread_index);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int k = 0; k < 16; k += 8) {
      simdgroup_float8x8 b_parts[4];
      for (int j = 0; j < 4; ++j) {
        if (p.b_along_inner != 0) {
          simdgroup_load(b_parts[j], tile_b + (column + 8 * j) * 20 + k, 20, ulong2(0, 0), true);
        } else {
          simdgroup_load(b_parts[j], tile_b + k * 68 + column + 8 * j, 68);
        }
      }
      for (int i = 0; i < 4; ++i) {
        if (i >= row_parts) continue;
        simdgroup_float8x8 a_part;
        if (p.a_along_inner != 0) {
          simdgroup_load(a_part, tile_a + (row + 8 * i) * 20 + k, 20);
        } else {
          simdgroup_load(a_part, tile_a + k * 68 + row + 8 * i, 68, ulong2(0, 0), true);
        }
        for (int j = 0; j < 4; ++j) {
          if (j >= column_parts) continue;
          simdgroup_multiply_accumulate(sums[i][j], a_part, b_parts[j], sums[i][j]);
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      if (i >= row_parts || j >= column_parts) continue;
      simdgroup_store(sums[i][j], results[simdgroup], 8);
      simdgroup_barrier(mem_flags::mem_threadgroup);
      for (int e = lane; e < 64; e += 32) {
        write(out, bias, p, batch, first_row + row + 8 * i + e / 8,
              first_column + column + 8 * j + e % 8, results[simdgroup][e]);
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
}
)METAL";

// At most four rows, so that each element of `b` is read once. Where the elements of a column are
// adjacent, a simdgroup computes four columns, 128 elements at a time. Elsewhere a threadgroup
// computes 32 columns, four a thread, and each fourth of a simdgroup has rows of `b` of its own.
inline constexpr std::string_view matrix_vector_source = R"METAL(
kernel void matrix_vector(device T* out [[buffer(0)]], device const T* a [[buffer(1)]],
                          device const T* b [[buffer(2)]], device const T* bias [[buffer(3)]],
                          constant Parameters& p [[buffer(4)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_index_in_threadgroup]],
                          uint lane [[thread_index_in_simdgroup]],
                          uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float parts[4][4][32];
  const long batch = group.z;
  device const T* a_matrix = a + batch * p.a[0];
  device const T* b_matrix = b + batch * p.b[0];
  float sums[4][4];
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 4; ++c) sums[r][c] = 0.0f;
  }
  if (p.b_along_inner != 0) {
    const int first = int(group.x) * 16 + int(simdgroup) * 4;
    for (int k = int(lane) * 4; k < p.inner; k += 128) {
      vec<float, 4> x[4];
      for (int r = 0; r < 4; ++r) {
        if (r < p.rows) {
          x[r] = read_four(a_matrix + r * p.a[1] + k * p.a[2], p.a[2], p.inner - k, p.a_vectors);
        }
      }
      for (int c = 0; c < 4; ++c) {
        if (first + c >= p.columns) continue;
        const vec<float, 4> w = read_four(b_matrix + k * p.b[1] + (first + c) * p.b[2], p.b[1],
                                          p.inner - k, p.b_vectors);
        for (int r = 0; r < 4; ++r) {
          if (r < p.rows) {
            for (int i = 0; i < 4; ++i) sums[r][c] += x[r][i] * w[i];
          }
        }
      }
    }
    for (int r = 0; r < 4; ++r) {
      if (r >= p.rows) continue;
      for (int c = 0; c < 4; ++c) {
        const float sum = simd_sum(sums[r][c]);
        if (int(lane) == c) write(out, bias, p, batch, r, first + c, sum);
      }
    }
    return;
  }
  const int first = int(group.x) * 32;
  const int column = int(lane) % 8 * 4;
  for (int k = int(simdgroup) * 4 + int(lane) / 8; k < p.inner; k += 16) {
    const vec<float, 4> w = read_four(b_matrix + k * p.b[1] + (first + column) * p.b[2], p.b[2],
                                      p.columns - first - column, p.b_vectors);
    for (int r = 0; r < 4; ++r) {
      if (r < p.rows) {
        const float x = float(a_matrix[r * p.a[1] + k * p.a[2]]);
        for (int c = 0; c < 4; ++c) sums[r][c] += x * w[c];
      }
    }
  }
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 4; ++c) {
      float sum = sums[r][c];
      sum += simd_shuffle_xor(sum, ushort(8));
      sum += simd_shuffle_xor(sum, ushort(16));
      if (lane < 8) parts[simdgroup][r][column + c] = sum;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const int r = int(thread_index) / 32;
  const int c = int(thread_index) % 32;
  float sum = 0.0f;
  for (int i = 0; i < 4; ++i) sum += parts[i][r][c];
  write(out, bias, p, batch, r, first + c, sum);
}
)METAL";

}  // namespace tenon::metal_aoti
