// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/draft/edge_program.h"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/shared_bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// An edge program and all that it refers to. Views stay valid when it is moved.
class OwnedEdgeProgram {
 public:
  [[nodiscard]] EdgeProgram view() const noexcept { return EdgeProgram(parts_->program); }

 private:
  friend class EdgeProgramBuilder;

  /// The storage of a program; addresses in it stay valid.
  struct Parts {
    Parts() = default;
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;
    ~Parts() {
      while (blocks != nullptr) ::operator delete(std::exchange(blocks, blocks->next));
    }

    /// A copy of `count` elements.
    template <class T>
    T* copy(const T* elements, std::size_t count) {
      return static_cast<T*>(copy_bytes(elements, count * sizeof(T)));
    }
    template <class T>
    T* copy(const std::vector<T>& elements) {
      return copy(elements.data(), elements.size());
    }
    /// The text, with a NUL behind it.
    const char* copy(std::string_view text) {
      char* const out = static_cast<char*>(allocate(text.size() + 1));
      text.copy(out, text.size());
      out[text.size()] = '\0';
      return out;
    }

    void* copy_bytes(const void* bytes, std::size_t size) {
      void* const out = allocate(size);
      if (size != 0) std::memcpy(out, bytes, size);
      return out;
    }
    /// Never null, and aligned for every type of the boundary.
    void* allocate(std::size_t size) {
      blocks = ::new (::operator new(sizeof(Block) + size)) Block{blocks};
      return blocks + 1;
    }

    struct alignas(std::max_align_t) Block {
      Block* next;
    };
    Block* blocks = nullptr;
    std::vector<SharedBytes> kept;
    std::vector<tenon_edge_value> values;
    std::vector<tenon_edge_node> nodes;
    std::vector<std::uint32_t> inputs;
    std::vector<tenon_edge_output> outputs;
    tenon_edge_program program{};
  };
  explicit OwnedEdgeProgram(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

  std::unique_ptr<Parts> parts_;
};

}}}  // namespace tenon::TENON_RELEASE::aot
