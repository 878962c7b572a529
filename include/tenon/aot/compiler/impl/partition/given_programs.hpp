// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/draft/preprocess.h"
#include "tenon/aot/compiler/impl/partition/weight_copies.hpp"
#include "tenon/aot/compiler/partition/plugin_call.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/edge_program_copy.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Programs as one call of a plugin gets them: descriptions of its own, compared afterwards with
/// those that it was given, and weights as `WeightAccess` says. A plugin that writes where it may
/// only read (a `const_cast`, or C) changes nothing of the caller's. (ExecuTorch passes a deep copy
/// for that: exir/backend/backend_api.py.) The programs must outlive this. Not copyable; addresses
/// stay.
class GivenPrograms {
 public:
  /// `specs` is empty, or has as many elements as `programs`.
  ///
  /// errors: MemoryAllocationFailed.
  [[nodiscard]] inline static Result<std::unique_ptr<GivenPrograms>> make(
      std::span<const EdgeProgram> programs,
      std::span<const std::span<const CompileSpecData>> specs, WeightAccess access);

  /// All of them, as `preprocess` takes them.
  [[nodiscard]] const tenon_partition* partitions() const noexcept { return partitions_; }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(programs_.size());
  }

  /// The weights, at the addresses that the plugin got.
  [[nodiscard]] std::span<const GivenWeight> weights() const noexcept { return weights_; }

  /// Internal when the plugin changed something; the text names the first that is found.
  [[nodiscard]] inline Status check_unchanged() const;

 private:
  friend class ProgramCopier<GivenPrograms>;

  /// Memory for pieces of descriptions, and what was in it.
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t capacity = 0;
    std::size_t used = 0;
    std::vector<std::byte> before{};
  };
  /// The part that the pieces from `offset` of a block on belong to.
  struct Mark {
    std::size_t block = 0;
    std::size_t offset = 0;
    std::size_t program = 0;
    bool is_specs = false;
    ProgramPart part = ProgramPart::method;
    std::uint32_t index = 0;
    std::size_t step = 0;
  };

  explicit GivenPrograms(std::span<const EdgeProgram> programs)
      : programs_(programs.begin(), programs.end()) {}

  inline void enter(ProgramPart part, std::uint32_t index, std::size_t step);
  inline void* allocate(std::size_t size);
  template <class T>
  T* copy(const T* elements, std::size_t count) {
    if (count == 0) return nullptr;
    void* const out = allocate(count * sizeof(T));
    std::memcpy(out, elements, count * sizeof(T));
    return static_cast<T*>(out);
  }
  [[nodiscard]] inline const char* copy(std::string_view text);
  [[nodiscard]] inline tenon_span data(const tenon_edge_value& value);
  inline tenon_partition add(std::size_t index, std::span<const CompileSpecData> specs);
  [[nodiscard]] inline std::string name_of(const Mark& mark, std::size_t offset) const;

  std::vector<EdgeProgram> programs_;
  std::unique_ptr<WeightCopies> copies_;
  std::deque<std::string> names_;
  std::vector<GivenWeight> weights_;
  std::vector<Block> blocks_;
  std::vector<Mark> marks_;
  Mark mark_;
  const tenon_partition* partitions_ = nullptr;
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail

#include <algorithm>
#include <utility>

#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

inline Result<std::unique_ptr<GivenPrograms>> GivenPrograms::make(
    std::span<const EdgeProgram> programs, std::span<const std::span<const CompileSpecData>> specs,
    WeightAccess access) {
  std::unique_ptr<GivenPrograms> out(new GivenPrograms(programs));
  std::vector<Bytes> weights;
  for (const EdgeProgram& program : programs) {
    for (ValueId id = 0; id < program.num_values(); ++id) {
      if (!program.value(id).data().empty()) weights.push_back(program.value(id).data());
    }
  }
  TENON_TRY(WeightCopies copies, WeightCopies::make(weights, access));
  out->copies_ = std::make_unique<WeightCopies>(std::move(copies));
  std::vector<tenon_partition> partitions;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    partitions.push_back(
        out->add(i, specs.empty() ? std::span<const CompileSpecData>() : specs[i]));
  }
  out->partitions_ = out->copy(partitions.data(), partitions.size());
  for (Block& block : out->blocks_) {
    block.before.assign(block.bytes.get(), block.bytes.get() + block.used);
  }
  return out;
}

inline tenon_partition GivenPrograms::add(std::size_t index,
                                          std::span<const CompileSpecData> specs) {
  mark_.program = index;
  const tenon_edge_program program =
      ProgramCopier<GivenPrograms>(*this).copy(programs_[index].raw());
  enter(ProgramPart::method, 0, 0);
  const tenon_edge_program* const kept = copy(&program, 1);
  mark_.is_specs = true;
  enter(ProgramPart::method, 0, 0);
  std::vector<tenon_compile_spec> list;
  for (const CompileSpecData& spec : specs) {
    list.push_back({sizeof(tenon_compile_spec), 0, copy(std::string_view(spec.key)),
                    copy(spec.value.bytes().data(), spec.value.size()), spec.value.size()});
  }
  const auto count = static_cast<std::uint32_t>(list.size());
  const tenon_compile_spec* const kept_specs = copy(list.data(), list.size());
  mark_.is_specs = false;
  return {sizeof(tenon_partition), count, kept, kept_specs};
}

inline void GivenPrograms::enter(ProgramPart part, std::uint32_t index, std::size_t step) {
  mark_.part = part;
  mark_.index = index;
  mark_.step = step;
}

inline void* GivenPrograms::allocate(std::size_t size) {
  constexpr std::size_t alignment = alignof(std::max_align_t);
  constexpr std::size_t usual = std::size_t{32} << 10;
  const std::size_t needed = (size + alignment - 1) / alignment * alignment;
  if (blocks_.empty() || blocks_.back().capacity - blocks_.back().used < needed) {
    const std::size_t capacity = std::max(needed, usual);
    blocks_.push_back({std::make_unique<std::byte[]>(capacity), capacity});
  }
  Block& block = blocks_.back();
  mark_.block = blocks_.size() - 1;
  mark_.offset = block.used;
  marks_.push_back(mark_);
  block.used += needed;
  return block.bytes.get() + mark_.offset;
}

inline const char* GivenPrograms::copy(std::string_view text) {
  char* const out = static_cast<char*>(allocate(text.size() + 1));
  text.copy(out, text.size());
  out[text.size()] = '\0';
  return out;
}

inline tenon_span GivenPrograms::data(const tenon_edge_value& value) {
  const EdgeValue view(value);
  const Bytes place = copies_->place_of(view.data());
  if (!place.empty()) {
    const std::string& name = names_.emplace_back(view.fqn());
    weights_.push_back({place.data(), place.data() + place.size(), name.c_str()});
  }
  return {place.data(), place.size()};
}

inline std::string GivenPrograms::name_of(const Mark& mark, std::size_t offset) const {
  const EdgeProgram& program = programs_[mark.program];
  const std::string method = concat("method '", program.method_name(), "'");
  if (mark.is_specs) return concat("the compile specs of ", method);
  const std::size_t index = mark.index + (mark.step == 0 ? 0 : (offset - mark.offset) / mark.step);
  switch (mark.part) {
    case ProgramPart::value:
      if (index >= program.num_values()) break;
      return concat("value '", program.value(static_cast<ValueId>(index)).name(), "' of ", method);
    case ProgramPart::node:
      if (index >= program.num_nodes()) break;
      return concat("node '", program.node(index).name(), "' of ", method);
    case ProgramPart::inputs:
      return concat("the inputs of ", method);
    case ProgramPart::outputs:
      return concat("the outputs of ", method);
    case ProgramPart::method:
      break;
  }
  return method;
}

inline Status GivenPrograms::check_unchanged() const {
  const auto changed = [](std::string_view what) {
    return error(Error::Internal, "changed ", what, ", which it may only read (TN-AOT-6)");
  };
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (std::memcmp(block.bytes.get(), block.before.data(), block.used) == 0) continue;
    const auto at = std::ranges::mismatch(std::span<const std::byte>(block.bytes.get(), block.used),
                                          block.before);
    const auto offset = static_cast<std::size_t>(at.in2 - block.before.begin());
    const auto after = std::ranges::upper_bound(
        marks_, std::pair(i, offset), {},
        [](const Mark& mark) { return std::pair(mark.block, mark.offset); });
    return changed(name_of(*(after - 1), offset));
  }
  for (const EdgeProgram& program : programs_) {
    for (ValueId id = 0; id < program.num_values(); ++id) {
      const EdgeValue value = program.value(id);
      if (value.data().empty() || copies_->is_unchanged(value.data())) continue;
      return changed(concat("the data of '", value.fqn(), "'"));
    }
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
