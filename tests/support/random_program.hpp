// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/named_data_store.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::test {

/// Makes valid programs of everything that a program may hold: methods with values of every kind,
/// delegates inside and in segments, instructions of every kind, constants, initial states, named
/// data, external tensors. A seed gives the same program on every machine.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] aot::ProgramData make() {
    aot::ProgramData out;
    program_ = &out;
    add_named_data();
    for (std::size_t i = 0, count = below(4); i < count; ++i) {
      out.methods.push_back(method(i));
    }
    // External tensors have added to it.
    out.named_data = store_.get_named_data_store_output();
    return out;
  }

  /// A number from 0 to `count` - 1.
  [[nodiscard]] std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(random_() % count);
  }
  [[nodiscard]] bool one_in(std::size_t count) { return below(count) == 0; }

  /// Often empty or equal to what was returned before.
  [[nodiscard]] aot::SharedBytes bytes(std::size_t at_least = 0) {
    if (at_least == 0 && one_in(8)) return {};
    std::vector<std::byte> out(at_least + below(200));
    const auto step = below(3);  // Few different ones, so that contents repeat.
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(7 * i * step + 1);
    return out;
  }

  [[nodiscard]] std::string text() {
    static constexpr std::array<std::string_view, 6> words{"x",
                                                           "weight",
                                                           "gr\xc3\xb6\xc3\x9f"
                                                           "e",
                                                           "\xe9\x87\x8d\xe3\x81\xbf",
                                                           "\xf0\x9f\x8c\xb1",
                                                           "a b"};
    std::string out(words[below(words.size())]);
    while (one_in(3)) out += words[below(words.size())];
    return out;
  }

 private:
  static constexpr std::array<ScalarType, 10> types{
      ScalarType::Byte,   ScalarType::Short,   ScalarType::Int,    ScalarType::Long,
      ScalarType::Half,   ScalarType::Float,   ScalarType::Double, ScalarType::Bool,
      ScalarType::UInt16, ScalarType::BFloat16};

  void expect(const Status& status) {
    if (!status.ok()) throw std::logic_error(std::string(status.text()));
  }

  void add_named_data() {
    static constexpr std::array<std::uint64_t, 6> alignments{1, 2, 3, 16, 64, 4096};
    for (std::size_t i = 0, count = below(6); i < count; ++i) {
      aot::NamedDataOptions options;
      options.alignment = alignments[below(alignments.size())];
      if (one_in(2)) options.external_tag = one_in(2) ? "shared" : "model";
      std::size_t nbytes = 0;
      if (one_in(2)) {
        options.tensor_layout = layout();
        nbytes = static_cast<std::size_t>(options.tensor_layout->nbytes());
      }
      const auto key = text() + std::to_string(i);
      expect(store_.add_named_data(key, bytes(nbytes), options));
    }
  }

  [[nodiscard]] aot::DenseLayout layout() {
    aot::DenseLayout out;
    out.scalar_type = types[below(types.size())];
    out.sizes.resize(below(5));
    for (auto& size : out.sizes) size = static_cast<std::int32_t>(below(6));
    if (one_in(2)) return out;
    out.dim_order = out.full_dim_order();
    for (std::size_t i = out.dim_order.size(); i > 1; --i) {
      std::swap(out.dim_order[i - 1], out.dim_order[below(i)]);
    }
    return out;
  }

  [[nodiscard]] aot::ProgramDevice device() {
    if (!one_in(4)) return {};
    return {aot::ProgramDeviceType::CUDA, static_cast<std::int8_t>(below(3))};
  }

  /// Space for a tensor after all others.
  [[nodiscard]] aot::Place place(aot::MethodData& method, const aot::DenseLayout& layout) {
    if (method.planned_memory.size() == 1 || one_in(6)) {
      method.planned_memory.push_back({0, device()});
    }
    const auto id = 1 + below(method.planned_memory.size() - 1);
    auto& memory = method.planned_memory[id];
    const auto offset = (memory.nbytes + 15) / 16 * 16;
    memory.nbytes = offset + layout.nbytes() + below(40);
    return {static_cast<std::uint32_t>(id), offset};
  }

  [[nodiscard]] aot::TensorValue tensor(aot::MethodData& method) {
    aot::TensorValue out;
    out.layout = layout();
    out.requires_grad = one_in(8);
    out.device = device();
    if (one_in(3)) out.fully_qualified_name = text();
    const auto nbytes = static_cast<std::size_t>(out.layout.nbytes());
    switch (below(6)) {
      case 0:
        out.is_dynamic = one_in(2);
        break;
      case 1:
        out.data = aot::storage::Constant{program_->add_constant(bytes(nbytes))};
        break;
      case 2:
        out.data = aot::storage::InitialState{program_->add_initial_state(bytes(nbytes)),
                                              place(method, out.layout)};
        break;
      case 3:
        make_external(method, out);
        break;
      default:
        out.is_dynamic = one_in(2);
        out.data = aot::storage::Planned{place(method, out.layout)};
        break;
    }
    return out;
  }

  void make_external(aot::MethodData& method, aot::TensorValue& tensor) {
    tensor.fully_qualified_name = concat("external.", externals_++);
    aot::storage::External external;
    if (one_in(2)) external.place = place(method, tensor.layout);
    tensor.data = external;
    // The file may also come from elsewhere.
    if (one_in(3)) return;
    const auto nbytes = static_cast<std::size_t>(tensor.layout.nbytes());
    expect(store_.add_named_data(tensor.fully_qualified_name, bytes(nbytes),
                                 {1, one_in(2) ? "shared" : "model", tensor.layout}));
  }

  /// Indices of values of kind `Kind`; with `or_none` also of None, and -1.
  template <class Kind>
  [[nodiscard]] std::vector<aot::ValueIndex> some(const aot::MethodData& method, bool or_none) {
    std::vector<aot::ValueIndex> fitting;
    for (std::size_t i = 0; i < method.values.size(); ++i) {
      if (std::holds_alternative<Kind>(method.values[i]) ||
          (or_none && std::holds_alternative<std::monostate>(method.values[i]))) {
        fitting.push_back(static_cast<aot::ValueIndex>(i));
      }
    }
    if (or_none) fitting.push_back(-1);
    std::vector<aot::ValueIndex> out;
    for (std::size_t i = 0, count = fitting.empty() ? 0 : below(4); i < count; ++i) {
      out.push_back(fitting[below(fitting.size())]);
    }
    return out;
  }

  [[nodiscard]] aot::Value value(aot::MethodData& method) {
    switch (below(14)) {
      case 0:
        return {};
      case 1:
        return static_cast<std::int64_t>(random_());
      case 2:
        return static_cast<double>(static_cast<std::int64_t>(random_())) / 1e9;
      case 3:
        return one_in(2);
      case 4:
        return one_in(4) ? std::string() : text();
      case 5:
        return aot::IntList{some<std::int64_t>(method, false)};
      case 6: {
        std::vector<double> out(below(4));
        for (auto& one : out) one = static_cast<double>(below(100)) / 8;
        return out;
      }
      case 7: {
        std::vector<bool> out;
        for (std::size_t i = 0, count = below(4); i < count; ++i) out.push_back(one_in(2));
        return out;
      }
      case 8:
        return aot::TensorList{some<aot::TensorValue>(method, false)};
      case 9:
        return aot::OptionalTensorList{some<aot::TensorValue>(method, true)};
      default:
        return tensor(method);
    }
  }

  [[nodiscard]] std::vector<aot::ValueIndex> any_values(const aot::MethodData& method) {
    std::vector<aot::ValueIndex> out;
    for (std::size_t i = 0, count = method.values.empty() ? 0 : below(5); i < count; ++i) {
      out.push_back(any_value(method));
    }
    return out;
  }
  [[nodiscard]] aot::ValueIndex any_value(const aot::MethodData& method) {
    return static_cast<aot::ValueIndex>(below(method.values.size()));
  }

  [[nodiscard]] aot::DelegateData delegate() {
    aot::DelegateData out;
    out.id = concat("Backend", below(3));
    out.processed = bytes();
    for (std::size_t i = 0, count = below(3); i < count; ++i) {
      out.compile_specs.push_back({text(), bytes()});
    }
    static constexpr std::array<aot::BlobPlacement, 3> placements{
        aot::BlobPlacement::Default, aot::BlobPlacement::Inline, aot::BlobPlacement::Segment};
    out.placement = placements[below(placements.size())];
    return out;
  }

  [[nodiscard]] aot::Instruction instruction(const aot::MethodData& method, std::size_t count) {
    const auto kind = below(5);
    if (kind == 0 && !method.operators.empty()) {
      return aot::KernelCall{static_cast<std::uint32_t>(below(method.operators.size())),
                             any_values(method)};
    }
    if (kind == 1 && !method.delegates.empty()) {
      return aot::DelegateCall{static_cast<std::uint32_t>(below(method.delegates.size())),
                               any_values(method)};
    }
    if (kind == 2) return aot::MoveCall{any_value(method), any_value(method)};
    if (kind == 3) {
      return aot::JumpFalseCall{any_value(method), static_cast<std::uint32_t>(below(count + 1))};
    }
    return aot::FreeCall{any_value(method)};
  }

  [[nodiscard]] aot::MethodData method(std::size_t number) {
    aot::MethodData out;
    out.name = text() + std::to_string(number);
    if (one_in(2)) out.encoded_inputs = R"([1, {"type": null}])";
    if (one_in(2)) out.encoded_outputs = text();
    for (std::size_t i = 0, count = below(16); i < count; ++i) out.values.push_back(value(out));
    // Runtimes take what is given to them and what they give back for tensors.
    out.inputs = some<aot::TensorValue>(out, false);
    out.outputs = some<aot::TensorValue>(out, false);
    for (std::size_t i = 0, count = below(4); i < count; ++i) {
      (void)out.op(concat("aten::", text()), one_in(2) ? "out" : "");
    }
    for (std::size_t i = 0, count = below(4); i < count; ++i) out.add_delegate(delegate());
    const auto count = out.values.empty() ? 0 : below(7);
    for (std::size_t i = 0; i < count; ++i) out.instructions.push_back(instruction(out, count));
    return out;
  }

  std::mt19937_64 random_;
  aot::ProgramData* program_ = nullptr;
  aot::NamedDataStore store_;
  std::size_t externals_ = 0;
};

}  // namespace tenon::test
