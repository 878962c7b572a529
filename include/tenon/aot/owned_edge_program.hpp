// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/edge_program.h"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/shared_bytes.hpp"

namespace tenon::aot {

/// An edge program with all that it refers to. Moving it moves nothing that views refer to.
class OwnedEdgeProgram {
 public:
  [[nodiscard]] EdgeProgram view() const noexcept { return EdgeProgram(parts_->program); }

 private:
  friend class EdgeProgramBuilder;

  struct Parts {
    std::deque<std::string> texts;
    std::deque<std::vector<tenon_edge_size>> sizes;
    std::deque<std::vector<std::uint8_t>> bytes;
    std::deque<std::vector<std::uint32_t>> ids;
    std::deque<std::vector<std::int64_t>> integers;
    std::deque<std::vector<double>> reals;
    std::deque<std::vector<tenon_edge_argument>> arguments;
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

}  // namespace tenon::aot
