// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "kernels/gemm.hpp"
#include "kernels/kernel_list.hpp"
#include "kernels/products/one_query.hpp"
#include "kernels/softmax_rows.hpp"
#include "onednn/onednn.hpp"
#include "parallel.hpp"
#include "strided.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

using aoti::shim_call;

/// The scores of a block of queries and a block of keys fit the second-level cache.
constexpr std::int64_t query_block = 64;
constexpr std::int64_t key_block = 512;

/// [batch, head, row, column] of `T` with adjacent columns.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t batch = 0, head = 0, row = 0;

  [[nodiscard]] T* at(std::int64_t b, std::int64_t h, std::int64_t r) const noexcept {
    return data + b * batch + h * head + r * row;
  }
};

/// The operands of one call, in `T` after narrow types were widened; keys and values of a single
/// query are read in their own type, `K`.
template <class T, class K>
struct Attention {
  std::int64_t batches, heads, queries, keys, size, heads_per_key;
  Rows<T> query, mask;
  Rows<K> key, value;
  bool is_one_query;  ///< `has_one_query`; always when K is not T.
  bool causal;
  T scale;
  const ModelTensor* out;
  const ModelTensor* logsumexp;
  CancelFlag cancelled;
};

/// C = alpha A B + beta C for blocks, where B may be transposed. Allocates nothing from the pool,
/// because this also runs on threads without one.
bool multiply_block(bool transposed, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                    const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta,
                    float* c, std::int64_t ldc) noexcept {
  return onednn::api().dnnl_sgemm('N', transposed ? 'T' : 'N', m, n, k, alpha, a, std::max(lda, k),
                                  b, std::max(ldb, transposed ? k : n), beta, c,
                                  ldc) == dnnl_success;
}

bool multiply_block(bool transposed, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                    const double* a, std::int64_t lda, const double* b, std::int64_t ldb,
                    double beta, double* c, std::int64_t ldc) noexcept {
  const auto bytes = [](const double* data) {  // Only read; a view has one pointer type.
    return reinterpret_cast<std::byte*>(const_cast<double*>(data));
  };
  return multiply({ScalarType::Double,
                   {bytes(a), m, k, lda, 1},
                   {bytes(b), k, n, transposed ? 1 : ldb, transposed ? ldb : 1},
                   {bytes(c), m, n, ldc, 1},
                   alpha,
                   beta})
      .ok();
}

/// Scores of `count` queries with `width` keys, in rows of `key_block`.
template <class T, class K>
bool multiply_keys(const Attention<T, K>& a, std::int64_t count, std::int64_t width, const T* query,
                   const K* keys, T* scores) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    if (a.is_one_query) {
      score_keys(query, keys, a.key.row, width, a.size, a.scale, scores);
      return true;
    }
  }
  if constexpr (std::is_same_v<T, K>) {
    return multiply_block(true, count, width, a.size, a.scale, query, a.query.row, keys, a.key.row,
                          T{0}, scores, key_block);
  }
  return false;
}

/// Adds the products of scores with `width` values to `sums`, which are 0 in the `first` block.
template <class T, class K>
bool multiply_values(const Attention<T, K>& a, std::int64_t count, std::int64_t width,
                     const T* scores, const K* values, bool first, T* sums) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    if (a.is_one_query) {
      add_values(scores, values, a.value.row, width, a.size, sums);
      return true;
    }
  }
  if constexpr (std::is_same_v<T, K>) {
    return multiply_block(false, count, a.size, width, T{1}, scores, key_block, values, a.value.row,
                          first ? T{0} : T{1}, sums, a.size);
  }
  return false;
}

/// The memory of one thread, from one allocation.
template <class T>
struct Block {
  T* scores;  ///< [query_block, key_block]
  T* sums;    ///< [query_block, size]
  SoftmaxRow<T>* rows;

  static std::int64_t elements(std::int64_t size) noexcept {
    return query_block * (key_block + size + 2) + 64;
  }
  Block(T* memory, std::int64_t size) noexcept
      : scores(memory),
        sums(scores + query_block * key_block),
        rows(reinterpret_cast<SoftmaxRow<T>*>(sums + query_block * size)) {}
};

/// The rows from `first` on, for one head.
template <class T, class K>
bool attend(const Attention<T, K>& a, const Block<T>& block, std::int64_t b, std::int64_t h,
            std::int64_t first) noexcept {
  const std::int64_t count = std::min(query_block, a.queries - first);
  const std::int64_t kv = h / a.heads_per_key;
  // A causal query attends to the keys up to its own index.
  const std::int64_t keys = a.causal ? std::min(a.keys, first + count) : a.keys;
  for (std::int64_t r = 0; r < count; ++r) {
    block.rows[r] = {-std::numeric_limits<T>::infinity(), 0};
  }
  std::fill_n(block.sums, count * a.size, T{0});
  for (std::int64_t start = 0; start < keys; start += key_block) {
    if (a.cancelled.is_set()) return true;
    const std::int64_t width = std::min(key_block, keys - start);
    if (!multiply_keys(a, count, width, a.query.at(b, h, first), a.key.at(b, kv, start),
                       block.scores)) {
      return false;
    }
    for (std::int64_t r = 0; r < count; ++r) {
      T* scores = block.scores + r * key_block;
      const std::int64_t seen =
          a.causal ? std::clamp<std::int64_t>(first + r + 1 - start, 0, width) : width;
      const T* mask = a.mask.data ? a.mask.at(b, h, first + r) + start : nullptr;
      const T factor = update_softmax(block.rows[r], scores, mask, seen);
      std::fill(scores + seen, scores + width, T{0});
      if (start > 0 && factor != 1) {
        T* sums = block.sums + r * a.size;
        for (std::int64_t i = 0; i < a.size; ++i) sums[i] *= factor;
      }
    }
    if (!multiply_values(a, count, width, block.scores, a.value.at(b, kv, start), start == 0,
                         block.sums)) {
      return false;
    }
  }
  const auto at = [&](const ModelTensor& tensor) {
    const std::int64_t offset =
        b * tensor.strides[0] + h * tensor.strides[1] + first * tensor.strides[2];
    return tensor.data + offset * static_cast<std::int64_t>(size_of(tensor.scalar_type));
  };
  auto* logsumexp = reinterpret_cast<T*>(at(*a.logsumexp));
  for (std::int64_t r = 0; r < count; ++r) {
    const SoftmaxRow<T>& row = block.rows[r];
    // A query that attends to no key gets 0, and 0 as its logarithm.
    const bool nothing = row.sum == 0;
    const T share = nothing ? T{0} : T{1} / row.sum;
    T* sums = block.sums + r * a.size;
    for (std::int64_t i = 0; i < a.size; ++i) sums[i] *= share;
    logsumexp[r * a.logsumexp->strides[2]] = nothing ? T{0} : row.most + std::log(row.sum);
  }
  const std::int64_t sizes[] = {count, a.size};
  const std::int64_t strides[] = {a.out->strides[2], a.out->strides[3]};
  if constexpr (std::is_same_v<T, float>) {
    from_floats(sizes, a.out->scalar_type, block.sums, {at(*a.out), strides});
  } else {
    const std::int64_t rows[] = {a.size, 1};
    copy_strided(sizes, sizeof(T), {at(*a.out), strides},
                 {reinterpret_cast<std::byte*>(block.sums), rows});
  }
  return true;
}

template <class T, class K>
Status attend_all(const Attention<T, K>& a) {
  const std::int64_t blocks = (a.queries + query_block - 1) / query_block;
  const std::int64_t items = a.batches * a.heads * blocks;
  const std::int64_t threads =
      std::is_same_v<T, float> ? std::clamp<std::int64_t>(items, 1, num_threads()) : 1;
  const std::int64_t elements = Block<T>::elements(a.size);
  TENON_TRY(const Scratch scratch,
            Scratch::of(threads * elements * static_cast<std::int64_t>(sizeof(T))));
  std::atomic<bool> good = true;
  const auto work = [&](std::int64_t thread) noexcept {
    const Block<T> block(scratch.as<T>() + thread * elements, a.size);
    for (std::int64_t item = thread; item < items; item += threads) {
      const std::int64_t head = item / blocks;
      if (!attend(a, block, head / a.heads, head % a.heads, item % blocks * query_block)) {
        good.store(false, std::memory_order_relaxed);
      }
    }
  };
  if (threads > 1) {
    in_parallel(threads, work);
  } else {
    work(0);
  }
  TENON_RETURN_IF_ERROR(a.cancelled.check());
  return good ? ok() : error(Error::Internal, "oneDNN: a product of blocks failed");
}

/// A tensor as rows of `T`: itself when it has that layout, else a copy in `copy`.
template <class T>
Result<Rows<T>> rows_of(const ModelTensor& tensor, std::optional<Scratch>& copy) {
  const auto& s = tensor.strides;
  const auto& z = tensor.sizes;
  if (scalar_type_of<T> == tensor.scalar_type && (s[3] == 1 || z[3] == 1) &&
      (s[2] >= z[3] || z[2] == 1)) {
    return Rows<T>{tensor.as<T>(), s[0], s[1], s[2]};
  }
  TENON_TRY(copy, Scratch::of(tensor.numel * static_cast<std::int64_t>(sizeof(T))));
  const std::int64_t strides[] = {z[1] * z[2] * z[3], z[2] * z[3], z[3], 1};
  if constexpr (std::is_same_v<T, float>) {
    to_floats(tensor.shape(), tensor.scalar_type, {tensor.data, s.data()}, copy->as<float>());
  } else {
    copy_strided(tensor.shape(), sizeof(T), {copy->as<std::byte>(), strides},
                 {tensor.data, s.data()});
  }
  return Rows<T>{copy->as<T>(), strides[0], strides[1], strides[2]};
}

/// The mask that is added to the scores. A mask of bools selects the keys to attend to.
template <class T>
Result<Rows<T>> mask_of(const ModelTensor& mask, const ModelTensor& query, const ModelTensor& key,
                        std::optional<Scratch>& copy) {
  const std::int64_t sizes[] = {query.sizes[0], query.sizes[1], query.sizes[2], key.sizes[2]};
  ModelTensor wide = mask;
  wide.rank = 4;
  Dims strides{};
  if ((mask.rank != 2 && mask.rank != 4) || !broadcast_strides(mask, sizes, strides)) {
    return error(Error::InvalidArgument, "a mask ", shape_text(mask.shape()),
                 ": expected 2 or 4 dimensions that broadcast to ", shape_text(Sizes(sizes)));
  }
  const bool bools = mask.scalar_type == ScalarType::Bool;
  if (!bools && mask.scalar_type != query.scalar_type && scalar_type_of<T> != mask.scalar_type) {
    return error(Error::InvalidType, "a mask of ", name_of(mask.scalar_type),
                 ": expected Bool or the type of the query, ", name_of(query.scalar_type));
  }
  // Only existing elements are converted: a broadcast dimension keeps its stride 0.
  std::int64_t count = 1;
  for (std::size_t d = 0; d < 4; ++d) {
    wide.sizes[d] = strides[d] == 0 && d != 3 ? 1 : sizes[d];
    wide.strides[d] = strides[d];
    count *= wide.sizes[d];
  }
  wide.numel = count;
  Rows<T> rows;
  if (bools) {
    TENON_TRY(copy, Scratch::of(count * static_cast<std::int64_t>(sizeof(T))));
    T* to = copy->as<T>();
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t offset = 0;
      std::int64_t rest = i;
      for (std::size_t d = 4; d-- > 0; rest /= wide.sizes[d]) {
        offset += rest % wide.sizes[d] * wide.strides[d];
      }
      to[i] = mask.as<std::uint8_t>()[offset] ? T{0} : -std::numeric_limits<T>::infinity();
    }
    const auto& z = wide.sizes;
    rows = {to, z[1] * z[2] * z[3], z[2] * z[3], z[3]};
  } else {
    TENON_TRY(rows, rows_of<T>(wide, copy));
  }
  if (wide.sizes[0] == 1) rows.batch = 0;
  if (wide.sizes[1] == 1) rows.head = 0;
  if (wide.sizes[2] == 1) rows.row = 0;
  return rows;
}

Status check_arguments(const ModelTensor& query, const ModelTensor& key, const ModelTensor& value,
                       double dropout) {
  const auto shapes = [&](const auto&... expected) {
    return error(Error::InvalidArgument, "query ", shape_text(query.shape()), ", key ",
                 shape_text(key.shape()), ", value ", shape_text(value.shape()), ": expected ",
                 expected...);
  };
  if (dropout != 0) {
    return error(Error::NotSupported,
                 "dropout: expected 0, as in a model that does not learn, found ", dropout);
  }
  if (query.rank != 4 || key.rank != 4 || value.rank != 4) return shapes("4 dimensions of each");
  const auto& q = query.sizes;
  const auto& k = key.sizes;
  if (key.shape()[0] != q[0] || k[3] != q[3]) {
    return shapes("one batch size and one head size");
  }
  if (!std::equal(k.begin(), k.begin() + 4, value.sizes.begin())) {
    return shapes("a value of the key's shape");
  }
  if (k[1] == 0 ? q[1] != 0 : q[1] % k[1] != 0) {
    return shapes("heads of the query to be a multiple of the key's");
  }
  const ScalarType type = query.scalar_type;
  if (key.scalar_type != type || value.scalar_type != type) {
    return error(Error::InvalidType, "query, key and value of ", name_of(type), ", ",
                 name_of(key.scalar_type), " and ", name_of(value.scalar_type),
                 ": expected one type");
  }
  if (type != ScalarType::Float && type != ScalarType::BFloat16 && type != ScalarType::Half &&
      type != ScalarType::Double) {
    return error(Error::NotSupported, "a query of ", name_of(type),
                 ": expected Float, BFloat16, Half or Double");
  }
  return ok();
}

template <class T, class K>
Status run_with(const ModelTensor& query, const ModelTensor& key, const ModelTensor& value,
                const ModelTensor* mask, bool causal, const double* scale, const ModelTensor& out,
                const ModelTensor& logsumexp, bool is_one_query) {
  std::optional<Scratch> query_copy, key_copy, value_copy, mask_copy;
  TENON_TRY(const Rows<T> q, rows_of<T>(query, query_copy));
  TENON_TRY(const Rows<K> k, rows_of<K>(key, key_copy));
  TENON_TRY(const Rows<K> v, rows_of<K>(value, value_copy));
  Rows<T> m;
  if (mask) {
    TENON_TRY(m, mask_of<T>(*mask, query, key, mask_copy));
  }
  const auto& z = query.sizes;
  const double factor = scale ? *scale : 1 / std::sqrt(static_cast<double>(z[3]));
  const std::int64_t shared = key.sizes[1] == 0 ? 1 : z[1] / key.sizes[1];
  return attend_all(Attention<T, K>{z[0], z[1], z[2], key.sizes[2], z[3], shared, q, m, k, v,
                                    is_one_query, causal, static_cast<T>(factor), &out, &logsumexp,
                                    aoti::cancel_flag()});
}

Status run(const ModelTensor& query, const ModelTensor& key, const ModelTensor& value,
           const ModelTensor* mask, bool causal, const double* scale, const ModelTensor& out,
           const ModelTensor& logsumexp) {
  const ScalarType type = query.scalar_type;
  const bool is_one_query = query.sizes[2] == 1 && has_one_query(type, query.sizes[3]);
  auto* chosen = run_with<float, float>;
  if (type == ScalarType::Double) chosen = run_with<double, double>;
  if (is_one_query && type == ScalarType::Half) chosen = run_with<float, Half>;
  if (is_one_query && type == ScalarType::BFloat16) chosen = run_with<float, BFloat16>;
  return chosen(query, key, value, mask, causal, scale, out, logsumexp, is_one_query);
}

}  // namespace

ShimError aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
    ModelTensor* query, ModelTensor* key, ModelTensor* value, double dropout_p,
    std::int32_t is_causal, ModelTensor** attn_mask, double* scale, ModelTensor** ret0,
    ModelTensor** ret1) noexcept {
  return shim_call("_scaled_dot_product_flash_attention_for_cpu", [&]() -> Status {
    TENON_RETURN_IF_ERROR(check_arguments(*query, *key, *value, dropout_p));
    const bool wide = query->scalar_type == ScalarType::Double;
    const Dims strides = dense_strides_like(*query);
    TENON_TRY(OwnedTensor out, new_tensor(query->shape(), strides.data(), query->scalar_type));
    const auto& z = query->sizes;
    const std::int64_t order[] = {z[2] * z[1], 1, z[1]};  // In memory [batch, query, head].
    TENON_TRY(OwnedTensor logsumexp,
              new_tensor(Sizes(z).first(3), order, wide ? ScalarType::Double : ScalarType::Float));
    const ModelTensor* mask = attn_mask ? *attn_mask : nullptr;
    TENON_RETURN_IF_ERROR(run(*query, *key, *value, mask, is_causal != 0, scale, *out, *logsumexp));
    *ret0 = out.take();
    *ret1 = logsumexp.take();
    return ok();
  });
}

}  // namespace tenon::cpu_aoti
