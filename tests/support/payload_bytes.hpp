// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::test {

/// One weight of a PayloadBytes. As it is: a float32 weight [2, 3] on a CUDA device.
struct PayloadWeight {
  std::string name = "a.weight";
  std::string key = "cuda_fqn_weight:cuda:a.weight";
  std::uint64_t nbytes = 24;  ///< Of its storage.
  std::int32_t dtype = 6;
  std::int32_t device = 1;  ///< PyTorch's number of its type.
  std::int64_t offset = 0;
  std::vector<std::int64_t> sizes = {2, 3};
  std::vector<std::int64_t> strides = {3, 1};
};

/// One library of a PayloadBytes of generation 4.
struct PayloadVariant {
  std::uint32_t target_sm = 0;
  std::uint32_t ptx_compute = 0;
  std::uint32_t flags = 0;
  std::string key = "so_blob";
};

/// Bytes of an AOTInductor payload of generation 3 or 4, field by field: the key of the library or
/// the libraries, the number of weights, and each weight.
class PayloadBytes {
 public:
  explicit PayloadBytes(std::string_view magic = "ETCUDAFQN3") : bytes_(magic) {}

  template <class T>
  PayloadBytes& number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  PayloadBytes& text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
    return *this;
  }
  PayloadBytes& weight(const PayloadWeight& weight = {}) {
    text(weight.name).text(weight.key).number(weight.nbytes);
    number(weight.dtype).number(weight.device).number(weight.offset);
    number(static_cast<std::uint32_t>(weight.sizes.size()));
    for (const std::int64_t size : weight.sizes) number(size);
    for (const std::int64_t stride : weight.strides) number(stride);
    return *this;
  }

  PayloadBytes& variants(const std::vector<PayloadVariant>& variants, bool has_flags = true) {
    number(static_cast<std::uint32_t>(variants.size()));
    for (const PayloadVariant& variant : variants) {
      number(variant.target_sm).number(variant.ptx_compute);
      if (has_flags) number(variant.flags);
      text(variant.key);
    }
    return *this;
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace tenon::test
