// SPDX-License-Identifier: MIT
#include "run/kernel_source.hpp"

namespace opencl_backend {

const char* const kernel_source = R"CL(
typedef struct { long size[8]; long a[8]; long b[8]; } Strided;
typedef struct {
  long height, width, out_height, out_width;
  long kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w;
} Window;

#define IN(name) global const float* name, ulong name##_at
#define OUT(name) global float* name, ulong name##_at
#define ITEM \
  const long i = (long)get_global_id(0); \
  if (i >= count) return;
// Moves places to the elements of item i: `step` is done with its index k in each dimension d.
#define MOVE(step) \
  for (long rest = i, d = 7; d >= 0; --d) { \
    const long k = rest % shape.size[d]; \
    rest /= shape.size[d]; \
    step; \
  }

float apply_binary(int kind, float alpha, float a, float b) {
  switch (kind) {
    case 0: return a + alpha * b;
    case 1: return a - alpha * b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return pow(a, b);
    case 5: return a > b || isnan(a) ? a : b;
    default: return a < b || isnan(a) ? a : b;
  }
}

kernel void binary(int kind, float alpha, IN(a), long a_step, IN(b), long b_step, OUT(out),
                   long count) {
  ITEM
  out[out_at + i] = apply_binary(kind, alpha, a[a_at + i * a_step], b[b_at + i * b_step]);
}

kernel void binary_strided(int kind, float alpha, IN(a), IN(b), OUT(out), Strided shape,
                           long count) {
  ITEM
  MOVE(a_at += k * shape.a[d]; b_at += k * shape.b[d])
  out[out_at + i] = apply_binary(kind, alpha, a[a_at], b[b_at]);
}

// A bound that is NaN makes everything NaN.
float clamp_to(float v, float least, float most) {
  const float raised = v < least || isnan(least) ? least : v;
  return raised > most || isnan(most) ? most : raised;
}

// Exactly 1 where a driver's own may be a little less, which gelu multiplies by large numbers.
float tanh_of(float v) { return fabs(v) > 10 ? copysign(1.0f, v) : tanh(v); }

float sigmoid(float v) { return 1.0f / (1.0f + exp(-v)); }

// float16 (type 5) and bfloat16 (15), rounded to nearest even.
ushort to_short(int type, float v) {
  ushort bits;
  if (type == 5) {
    vstore_half_rte(v, 0, (private half*)&bits);
    return bits;
  }
  const uint all = as_uint(v);
  return isnan(v) ? 0x7fc0 : (ushort)((all + 0x7fff + (all >> 16 & 1)) >> 16);
}
float from_short(int type, ushort bits) {
  return type == 5 ? vload_half(0, (private half*)&bits) : as_float((uint)bits << 16);
}

kernel void widen(int type, global const ushort* x, ulong x_at, OUT(out), long count) {
  ITEM
  out[out_at + i] = from_short(type, x[x_at + i]);
}

kernel void shorten(int type, IN(x), global ushort* out, ulong out_at, long count) {
  ITEM
  out[out_at + i] = to_short(type, x[x_at + i]);
}

// Comparisons are written so that NaN stays NaN, as in PyTorch, whose gelu is NaN of infinities.
kernel void unary(int kind, float least, float most, IN(x), OUT(out), long count) {
  ITEM
  const float v = x[x_at + i];
  float y = v;
  switch (kind) {
    case 0: y = v < 0 ? 0.0f : v; break;
    case 1: y = sigmoid(v); break;
    case 2: y = tanh_of(v); break;
    case 3: y = v * (1.0f + erf(v * 0.70710678118654752f)) * 0.5f + (v - v); break;
    case 4:
      y = 0.5f * v * (1.0f + tanh_of(0.79788456080286536f * (v + 0.044715f * v * v * v)));
      break;
    case 5: y = clamp_to(v, least, most); break;
    case 6: y = -v; break;
    case 7: y = exp(v); break;
    case 8: y = sqrt(v); break;
    case 9: y = 1.0f / sqrt(v); break;
    case 10: y = fabs(v); break;
    case 11: y = v * sigmoid(v); break;
    case 12: y = clamp_to(v + 3, 0, 6) / 6; break;
    case 13: y = v * clamp_to(v + 3, 0, 6) / 6; break;
    case 14: y = log(v); break;
    case 15: y = cos(v); break;
    case 16: y = sin(v); break;
    case 17: y = from_short(5, to_short(5, v)); break;
    default: y = from_short(15, to_short(15, v)); break;
  }
  out[out_at + i] = y;
}

// out[i] = factor * a[where the strides point]
kernel void copy_strided(float factor, IN(a), OUT(out), Strided shape, long count) {
  ITEM
  MOVE(a_at += k * shape.a[d])
  out[out_at + i] = factor * a[a_at];
}

kernel void compare(int kind, IN(a), IN(b), global uchar* out, ulong out_at, Strided shape,
                    long count) {
  ITEM
  MOVE(a_at += k * shape.a[d]; b_at += k * shape.b[d])
  const float x = a[a_at], y = b[b_at];
  int is_true = 0;
  switch (kind) {
    case 0: is_true = x == y; break;
    case 1: is_true = x != y; break;
    case 2: is_true = x < y; break;
    case 3: is_true = x <= y; break;
    case 4: is_true = x > y; break;
    default: is_true = x >= y; break;
  }
  out[out_at + i] = (uchar)is_true;
}

// `shape.a` finds a, `shape.b` b, and `of_condition.a` the condition.
kernel void where(global const uchar* condition, ulong condition_at, IN(a), IN(b), OUT(out),
                  Strided shape, Strided of_condition, long count) {
  ITEM
  MOVE(a_at += k * shape.a[d]; b_at += k * shape.b[d]; condition_at += k * of_condition.a[d])
  out[out_at + i] = condition[condition_at] ? a[a_at] : b[b_at];
}

kernel void copy_bytes(global const uchar* x, ulong x_at, global uchar* out, ulong out_at,
                       long count) {
  ITEM
  out[out_at + i] = x[x_at + i];
}

// One item for four rows of one column: what it fetches of b serves all of them. Elements of b are
// k_step apart in its columns, and n_step in its rows.
kernel void matmul(float alpha, int add, IN(a), IN(b), OUT(out), long m_size, long k_size,
                   long n_size, long k_step, long n_step, long count) {
  ITEM
  const long groups = (m_size + 3) / 4;
  const long n = i % n_size;
  const long m = i / n_size % groups * 4;
  const long batch = i / n_size / groups;
  const long rows = min(4L, m_size - m);
  a_at += (batch * m_size + m) * k_size;
  b_at += batch * k_size * n_size + n * n_step;
  out_at += (batch * m_size + m) * n_size + n;
  float sums[4] = {0, 0, 0, 0};
  if (rows == 4) {
    for (long k = 0; k < k_size; ++k) {
      const float factor = b[b_at + k * k_step];
      for (int r = 0; r < 4; ++r) sums[r] += a[a_at + r * k_size + k] * factor;
    }
  } else {
    for (long k = 0; k < k_size; ++k) {
      const float factor = b[b_at + k * k_step];
      for (long r = 0; r < rows; ++r) sums[r] += a[a_at + r * k_size + k] * factor;
    }
  }
  for (long r = 0; r < rows; ++r) {
    const float before = add ? out[out_at + r * n_size] : 0.0f;
    out[out_at + r * n_size] = alpha == 0 ? before : before + alpha * sums[r];
  }
}

kernel void convolution(IN(x), IN(weight), IN(bias), int has_bias, OUT(out), Window w,
                        long channels, long outputs, long outputs_of_group, long channels_of_group,
                        long count) {
  ITEM
  const long ow = i % w.out_width;
  const long oh = i / w.out_width % w.out_height;
  const long o = i / w.out_width / w.out_height % outputs;
  const long n = i / w.out_width / w.out_height / outputs;
  const long first = o / outputs_of_group * channels_of_group;
  float sum = has_bias ? bias[bias_at + o] : 0.0f;
  for (long c = 0; c < channels_of_group; ++c) {
    const ulong plane = x_at + (n * channels + first + c) * w.height * w.width;
    const ulong taps = weight_at + (o * channels_of_group + c) * w.kernel_h * w.kernel_w;
    for (long kh = 0; kh < w.kernel_h; ++kh) {
      const long h = oh * w.stride_h - w.padding_h + kh * w.dilation_h;
      if (h < 0 || h >= w.height) continue;
      for (long kw = 0; kw < w.kernel_w; ++kw) {
        const long v = ow * w.stride_w - w.padding_w + kw * w.dilation_w;
        if (v < 0 || v >= w.width) continue;
        sum += weight[taps + kh * w.kernel_w + kw] * x[plane + h * w.width + v];
      }
    }
  }
  out[out_at + i] = sum;
}

kernel void max_pool(IN(x), OUT(out), Window w, long count) {
  ITEM
  const long ow = i % w.out_width;
  const long oh = i / w.out_width % w.out_height;
  const ulong plane = x_at + i / w.out_width / w.out_height * w.height * w.width;
  float best = -INFINITY;
  for (long kh = 0; kh < w.kernel_h; ++kh) {
    const long h = oh * w.stride_h - w.padding_h + kh * w.dilation_h;
    if (h < 0 || h >= w.height) continue;
    for (long kw = 0; kw < w.kernel_w; ++kw) {
      const long v = ow * w.stride_w - w.padding_w + kw * w.dilation_w;
      if (v < 0 || v >= w.width) continue;
      const float value = x[plane + h * w.width + v];
      if (value > best || isnan(value)) best = value;
    }
  }
  out[out_at + i] = best;
}

float sum_of_window(IN(plane), long width, long h, long h_end, long w, long w_end) {
  float sum = 0;
  for (; h < h_end; ++h) {
    for (long v = w; v < w_end; ++v) sum += plane[plane_at + h * width + v];
  }
  return sum;
}

// A divisor of 0 is the number of elements, with the padding or without.
kernel void average_pool(IN(x), OUT(out), Window w, int count_padding, long divisor, long count) {
  ITEM
  const long h = i / w.out_width % w.out_height * w.stride_h - w.padding_h;
  const long v = i % w.out_width * w.stride_w - w.padding_w;
  const long h_end = min(h + w.kernel_h, w.height + w.padding_h);
  const long v_end = min(v + w.kernel_w, w.width + w.padding_w);
  const long h_in = max(h, 0L), h_in_end = min(h_end, w.height);
  const long v_in = max(v, 0L), v_in_end = min(v_end, w.width);
  if (divisor == 0) {
    divisor = count_padding ? (h_end - h) * (v_end - v) : (h_in_end - h_in) * (v_in_end - v_in);
  }
  const ulong plane = x_at + i / w.out_width / w.out_height * w.height * w.width;
  out[out_at + i] =
      sum_of_window(x, plane, w.width, h_in, h_in_end, v_in, v_in_end) / (float)divisor;
}

kernel void adaptive_average_pool(IN(x), OUT(out), Window w, long count) {
  ITEM
  const long oh = i / w.out_width % w.out_height;
  const long ow = i % w.out_width;
  const long h = oh * w.height / w.out_height;
  const long h_end = ((oh + 1) * w.height + w.out_height - 1) / w.out_height;
  const long v = ow * w.width / w.out_width;
  const long v_end = ((ow + 1) * w.width + w.out_width - 1) / w.out_width;
  const ulong plane = x_at + i / w.out_width / w.out_height * w.height * w.width;
  out[out_at + i] = sum_of_window(x, plane, w.width, h, h_end, v, v_end) /
                    (float)((h_end - h) * (v_end - v));
}

// `kept` has the dimensions of the output, `summed` the others; the mean of nothing is NaN.
kernel void reduce(int mean, IN(x), OUT(out), Strided kept, Strided summed, long length,
                   long count) {
  ITEM
  long rest = i;
  for (int d = 7; d >= 0; --d) {
    x_at += rest % kept.size[d] * kept.a[d];
    rest /= kept.size[d];
  }
  float sum = 0;
  for (long k = 0; k < length; ++k) {
    ulong at = x_at;
    rest = k;
    for (int d = 7; d >= 0; --d) {
      at += rest % summed.size[d] * summed.a[d];
      rest /= summed.size[d];
    }
    sum += x[at];
  }
  out[out_at + i] = mean ? sum / (float)length : sum;
}

kernel void softmax(int is_log, IN(x), OUT(out), long size, long step, long count) {
  ITEM
  const ulong offset = i / step * size * step + i % step;
  x_at += offset;
  out_at += offset;
  float most = -INFINITY;
  for (long k = 0; k < size; ++k) most = fmax(most, x[x_at + k * step]);
  float sum = 0;
  for (long k = 0; k < size; ++k) sum += exp(x[x_at + k * step] - most);
  if (is_log) {
    const float logarithm = log(sum);
    for (long k = 0; k < size; ++k) out[out_at + k * step] = x[x_at + k * step] - most - logarithm;
  } else {
    for (long k = 0; k < size; ++k) out[out_at + k * step] = exp(x[x_at + k * step] - most) / sum;
  }
}

kernel void layer_norm(IN(x), IN(weight), IN(bias), int has_weight, OUT(out), float eps, long size,
                       long count) {
  ITEM
  x_at += i * size;
  out_at += i * size;
  float mean = 0;
  for (long k = 0; k < size; ++k) mean += x[x_at + k];
  mean /= (float)size;
  float variance = 0;
  for (long k = 0; k < size; ++k) {
    const float distance = x[x_at + k] - mean;
    variance += distance * distance;
  }
  // As in PyTorch, a row whose mean has no square is NaN.
  const float scale = isinf(mean * mean) ? NAN : 1.0f / sqrt(variance / (float)size + eps);
  for (long k = 0; k < size; ++k) {
    const float normal = (x[x_at + k] - mean) * scale;
    out[out_at + k] = has_weight ? normal * weight[weight_at + k] + bias[bias_at + k] : normal;
  }
}

// One part of a row of `out_length` elements.
kernel void cat(IN(x), OUT(out), long length, long out_length, long count) {
  ITEM
  out[out_at + i / length * out_length + i % length] = x[x_at + i];
}

// One query: the sums so far are scaled when the largest score changes. `shape.a` finds the mask.
kernel void attention(float scale, int causal, int has_mask, IN(query), IN(key), IN(value),
                      IN(mask), OUT(out), Strided shape, long length, long keys, long size,
                      long count) {
  ITEM
  const long head = i / length;
  const long end = causal ? min(keys, i % length + 1) : keys;
  long rest = i;
  for (int d = 6; d >= 0; --d) {
    mask_at += rest % shape.size[d] * shape.a[d];
    rest /= shape.size[d];
  }
  query_at += i * size;
  key_at += head * keys * size;
  value_at += head * keys * size;
  out_at += i * size;
  for (long d = 0; d < size; ++d) out[out_at + d] = 0;
  float most = -INFINITY, sum = 0;
  for (long k = 0; k < end; ++k) {
    float score = 0;
    for (long d = 0; d < size; ++d) score += query[query_at + d] * key[key_at + k * size + d];
    score *= scale;
    if (has_mask) score += mask[mask_at + k * shape.a[7]];
    if (score == -INFINITY) continue;
    const float larger = score > most ? score : most;
    const float factor = exp(most - larger), share = exp(score - larger);
    for (long d = 0; d < size; ++d) {
      out[out_at + d] = out[out_at + d] * factor + share * value[value_at + k * size + d];
    }
    sum = sum * factor + share;
    most = larger;
  }
  for (long d = 0; sum != 0 && d < size; ++d) out[out_at + d] /= sum;
}

// An index outside of the table is written to `failure`: node + 1, its number, itself, the rows.
kernel void embedding(IN(table), global const long* indices, ulong indices_at, OUT(out),
                      global long* failure, ulong failure_at, int wraps, long rows, long width,
                      long node, long count) {
  ITEM
  long index = indices[indices_at + i / width];
  if (wraps && index >= -rows && index < 0) index += rows;
  if (index >= 0 && index < rows) {
    out[out_at + i] = table[table_at + index * width + i % width];
  } else if (atomic_cmpxchg((volatile global int*)failure, 0, (int)node + 1) == 0) {
    failure[1] = i / width;
    failure[2] = index;
    failure[3] = rows;
  }
}

kernel void clear(global long* failure, ulong failure_at, long count) {
  ITEM
  failure[i] = 0;
}
)CL";

}  // namespace opencl_backend
