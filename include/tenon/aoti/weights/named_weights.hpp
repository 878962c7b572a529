// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tenon/aoti/library/library_variants.hpp"
#include "tenon/aoti/tensors/model_tensor.hpp"
#include "tenon/core/aoti_names.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// One entry of the table of weights in a payload of generation 3 or 4: a constant of the model as
/// a view of a storage, and the key of that storage in the named data. Sizes, strides and the
/// offset are in elements.
struct NamedWeight {
  std::string name;  ///< The constant's name in the program that was exported (FQN).
  std::string key;
  std::uint64_t nbytes;  ///< Of the storage.
  ScalarType scalar_type;
  TorchDeviceType device_type;
  std::int64_t storage_offset;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};

/// The contents of a payload of generation 3 or 4. At least one library.
struct NamedWeightsPayload {
  std::vector<LibraryVariant> variants;
  std::vector<NamedWeight> weights;
};

/// Names of constants that begin so are the memory of a cache of keys and values that the
/// application owns and changes between runs (ExecuTorch: backends/cuda/passes/
/// lower_offgraph_kv.py).
inline constexpr std::string_view off_graph_cache_prefix = "__et_offgraph_kv_";

/// True for a compile spec that only programs with such a cache have: `offgraph_kv_manifest` and
/// `offgraph_kv_step_width`.
[[nodiscard]] constexpr bool is_off_graph_cache_spec(std::string_view key) noexcept {
  return key.starts_with("offgraph_kv_");
}

/// The refusal of a program with such a cache; `found` is the constant or the compile spec.
[[nodiscard]] inline Status off_graph_cache_refused(std::string_view found) {
  return error(Error::NotSupported, "the model's KV cache is outside of its graph (", found,
               "), and is to be bound by a runner of ExecuTorch's; this backend runs models whose "
               "caches are buffers: export it without the off-graph KV cache");
}

namespace detail {

/// Reads the fields of a payload in order. Once a field is outside the bytes, `failed` is true and
/// all further fields read as zero.
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view bytes) noexcept : rest_(bytes), size_(bytes.size()) {}

  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] std::size_t position() const noexcept { return size_ - rest_.size(); }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

  template <class T>
  T number() noexcept {
    const auto value =
        read_le<T>(Bytes(reinterpret_cast<const std::byte*>(rest_.data()), rest_.size()));
    failed_ = failed_ || !value;
    if (failed_) return 0;
    rest_.remove_prefix(sizeof(T));
    return *value;
  }

  std::string_view text() noexcept {
    const auto size = number<std::uint32_t>();
    failed_ = failed_ || size > rest_.size();
    if (failed_) return {};
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

  void numbers(std::vector<std::int64_t>& out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out.push_back(number<std::int64_t>());
  }

 private:
  std::string_view rest_;
  std::size_t size_;
  bool failed_ = false;
};

/// Reads the number of libraries and the libraries. A failure says what is wrong with them.
inline Status read_variants(PayloadReader& reader, bool has_flags,
                            std::vector<LibraryVariant>& out) {
  const auto refuse = [](const auto&... pieces) {
    return error(Error::DelegateInvalidCompatibility, pieces...);
  };
  constexpr std::uint32_t most = 256;
  const auto count = reader.number<std::uint32_t>();
  if (reader.failed() || count == 0 || count > most) {
    return refuse("expected 1 to ", most, " libraries, found ", count);
  }
  std::unordered_set<std::uint32_t> targets;
  for (std::uint32_t i = 0; i < count; ++i) {
    LibraryVariant& variant = out.emplace_back();
    variant.target_sm = reader.number<std::uint32_t>();
    variant.ptx_compute = reader.number<std::uint32_t>();
    const auto flags = has_flags ? reader.number<std::uint32_t>() : 0;
    variant.fallback_only = (flags & 1) != 0;
    variant.library_key = reader.text();
    if (reader.failed() || variant.library_key.empty()) {
      return refuse("expected the key of library ", i);
    }
    if ((flags & ~1u) != 0) return refuse("library ", i, " has unknown flags, ", flags);
    if (variant.ptx_compute > variant.target_sm) {
      return refuse("library ", i, " is for sm_", variant.target_sm, " with PTX for compute_",
                    variant.ptx_compute);
    }
    if (variant.is_untargeted() && (count != 1 || variant.fallback_only)) {
      return refuse("library ", i, " of ", count, " does not say its device");
    }
    if (variant.fallback_only && variant.ptx_compute == 0) {
      return refuse("library ", i, " is for fallback and has no PTX");
    }
    if (!variant.fallback_only && !targets.insert(variant.target_sm).second) {
      return refuse("library ", i, " is the second for sm_", variant.target_sm);
    }
  }
  return ok();
}

/// Bytes of a storage that a view reaches; empty when the numbers are out of range.
inline std::optional<std::uint64_t> reach(const NamedWeight& weight) noexcept {
  std::int64_t last = weight.storage_offset;
  bool empty = false;
  bool good = last >= 0;
  for (std::size_t d = 0; d < weight.sizes.size(); ++d) {
    std::int64_t step = 0;
    good = good && weight.sizes[d] >= 0 && weight.strides[d] >= 0;
    empty = empty || weight.sizes[d] == 0;
    good = good && (weight.sizes[d] == 0 ||
                    (!__builtin_mul_overflow(weight.sizes[d] - 1, weight.strides[d], &step) &&
                     !__builtin_add_overflow(last, step, &last)));
  }
  const auto element = static_cast<std::int64_t>(size_of(weight.scalar_type));
  if (!good || element == 0 || __builtin_add_overflow(last, std::int64_t{empty ? 0 : 1}, &last) ||
      __builtin_mul_overflow(last, element, &last)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(empty ? 0 : last);
}

}  // namespace detail

/// Reads a payload that begins with "ETCUDAFQN" and a digit, as CudaBackend's exporters write it
/// (backends/cuda/cuda_weight_collector.py): little-endian, each text after its length. After the
/// digit comes
///
/// - 3 (executorch 1.5.1): the library's key;
/// - 0 (later ones, pytorch/executorch#22198): a u32, 1 to 256, and as many libraries: u32
///   target_sm, u32 ptx_compute, u32 flags (bit 0: fallback_only), key;
/// - 4 and 5 (in between, never released): the same, in 4 without the flags;
///
/// then the table of weights. Of 0, 4 and 5, a library that does not say its device is alone; no
/// two are for one device, and one for fallback has PTX.
///
/// errors: DelegateInvalidCompatibility for another digit, and for bytes that are cut off, left
/// over, or do not describe libraries and tensors; NotSupported for a cache outside of the graph.
[[nodiscard]] inline Result<NamedWeightsPayload> parse_named_weights(std::string_view processed) {
  constexpr std::size_t magic_size = 10;
  const std::string_view magic = processed.substr(0, magic_size);
  if (magic != "ETCUDAFQN3" && magic != "ETCUDAFQN0" && magic != "ETCUDAFQN4" &&
      magic != "ETCUDAFQN5") {
    return error(Error::DelegateInvalidCompatibility, "the blob begins with '", magic,
                 "'; of its kind only ETCUDAFQN0, ETCUDAFQN3, ETCUDAFQN4 and ETCUDAFQN5 are "
                 "understood");
  }
  NamedWeightsPayload out;
  detail::PayloadReader reader(processed.substr(magic_size));
  const auto malformed = [&](const auto&... pieces) {
    return error(Error::DelegateInvalidCompatibility, "the blob of ", processed.size(),
                 " bytes is malformed: ", pieces..., " at byte ", magic_size + reader.position());
  };
  if (magic == "ETCUDAFQN3") {
    out.variants.push_back({std::string(reader.text())});
    if (out.variants.front().library_key.empty()) return malformed("expected the library's key");
  } else if (Status read = detail::read_variants(reader, magic != "ETCUDAFQN4", out.variants);
             !read.ok()) {
    return malformed(read.text());
  }
  const auto count = reader.number<std::uint32_t>();
  constexpr std::size_t least_entry = 36;  // Two lengths, the fixed numbers, no dimension.
  if (reader.failed() || count > reader.left() / least_entry) {
    return malformed("expected ", count, " weights");
  }
  out.weights.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    NamedWeight& weight = out.weights.emplace_back();
    weight.name = reader.text();
    weight.key = reader.text();
    weight.nbytes = reader.number<std::uint64_t>();
    weight.scalar_type = static_cast<ScalarType>(reader.number<std::int32_t>());
    weight.device_type = static_cast<TorchDeviceType>(reader.number<std::int32_t>());
    weight.storage_offset = reader.number<std::int64_t>();
    const auto rank = reader.number<std::uint32_t>();
    if (reader.failed() || rank > max_rank) return malformed("weight ", i, " has no shape");
    reader.numbers(weight.sizes, rank);
    reader.numbers(weight.strides, rank);
    if (reader.failed()) return malformed("weight ", i, " is cut off");
    const std::string_view lacking =
        name_of_lacking_type(static_cast<std::int32_t>(weight.scalar_type));
    if (!lacking.empty()) {
      return error(Error::NotSupported, "weight '", std::string_view(weight.name), "' ",
                   shape_text(weight.sizes), " has elements of ", lacking, ": ",
                   lacking_types_advice);
    }
    const auto reached = detail::reach(weight);
    const bool good_device =
        weight.device_type == TorchDeviceType::cpu || weight.device_type == TorchDeviceType::cuda;
    if (!reached || *reached > weight.nbytes || !good_device || weight.name.empty()) {
      return malformed("weight '", std::string_view(weight.name), "' ", shape_text(weight.sizes),
                       " of dtype number ", static_cast<std::int32_t>(weight.scalar_type),
                       " on device type ", static_cast<std::int32_t>(weight.device_type),
                       " does not fit its ", weight.nbytes, " bytes");
    }
    if (std::string_view(weight.name).starts_with(off_graph_cache_prefix)) {
      return off_graph_cache_refused(concat("constant '", std::string_view(weight.name), "'"));
    }
  }
  if (reader.left() != 0) return malformed(reader.left(), " bytes are left over");
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aoti
