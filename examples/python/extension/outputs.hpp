// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <span>

#include "input_array.hpp"
#include "method.hpp"

namespace tenon::python {

/// Makes Python objects of the outputs of a method that has run.
class OutputReader {
 public:
  /// With `borrow`, arrays are views of the method's memory.
  OutputReader(const std::shared_ptr<MethodState>& state, std::span<const InputArray> inputs,
               bool borrow) noexcept
      : state_(state), inputs_(inputs), borrow_(borrow) {}
  ~OutputReader() {
    for (RawMemory& copy : state_->copies) copy.reset();
  }
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;

  /// Copies the tensors that `output` makes arrays of. Needs no GIL: while large ones are copied
  /// under it, no other thread runs. What cannot be copied is left to `output`, which says why.
  void copy_tensors();

  [[nodiscard]] nanobind::object output(std::size_t index) const;

 private:
  [[nodiscard]] nanobind::object object_of(const tenon_value& value, std::size_t index,
                                           bool is_element) const;
  [[nodiscard]] nanobind::object tensor(const tenon_tensor& tensor, std::size_t index,
                                        bool is_element) const;
  [[nodiscard]] bool is_of_an_input(const tenon_tensor& tensor) const noexcept;

  const std::shared_ptr<MethodState>& state_;
  std::span<const InputArray> inputs_;
  bool borrow_;
};

}  // namespace tenon::python
