// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aoti/tensors/model_tensor.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::aoti {

/// One entry of the table of weights in a payload of generation 3: a constant of the model as a
/// view of a storage, and the key of that storage in the named data. Sizes, strides and the offset
/// are in elements.
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

/// The contents of a payload of generation 3.
struct NamedWeightsPayload {
  std::string library_key;
  std::vector<NamedWeight> weights;
};

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

/// Reads a payload that begins with "ETCUDAFQN" and a digit, as CudaBackend's exporter of
/// executorch 1.5.1 writes it (backends/cuda/cuda_weight_collector.py,
/// encode_cuda_weight_metadata): little-endian, each text after its length.
///
/// errors: DelegateInvalidCompatibility for a digit other than 3, and for bytes that are cut off,
/// left over, or do not describe tensors.
[[nodiscard]] inline Result<NamedWeightsPayload> parse_named_weights(std::string_view processed) {
  constexpr std::string_view magic = "ETCUDAFQN3";
  if (!processed.starts_with(magic)) {
    return error(Error::DelegateInvalidCompatibility, "the blob begins with '",
                 processed.substr(0, magic.size()), "'; of its kind only ", magic,
                 " is understood");
  }
  NamedWeightsPayload out;
  detail::PayloadReader reader(processed.substr(magic.size()));
  out.library_key = reader.text();
  const auto count = reader.number<std::uint32_t>();
  const auto malformed = [&](const auto&... pieces) {
    return error(Error::DelegateInvalidCompatibility, "the blob of ", processed.size(),
                 " bytes is malformed: ", pieces..., " at byte ", magic.size() + reader.position());
  };
  constexpr std::size_t least_entry = 36;  // Two lengths, the fixed numbers, no dimension.
  if (reader.failed() || out.library_key.empty() || count > reader.left() / least_entry) {
    return malformed("expected the library's key and ", count, " weights");
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
    const auto reached = detail::reach(weight);
    const bool good_device =
        weight.device_type == TorchDeviceType::cpu || weight.device_type == TorchDeviceType::cuda;
    if (!reached || *reached > weight.nbytes || !good_device || weight.name.empty()) {
      return malformed("weight '", std::string_view(weight.name), "' ", shape_text(weight.sizes),
                       " of dtype number ", static_cast<std::int32_t>(weight.scalar_type),
                       " on device type ", static_cast<std::int32_t>(weight.device_type),
                       " does not fit its ", weight.nbytes, " bytes");
    }
  }
  if (reader.left() != 0) return malformed(reader.left(), " bytes are left over");
  return out;
}

}  // namespace tenon::aoti
