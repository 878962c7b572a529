// SPDX-License-Identifier: MIT
#include "toy_backend.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graphs.hpp"
#include "tenon/tenon.hpp"

namespace graphs {

std::vector<tenon::aot::EdgeProgram>& toy_programs() {
  static std::vector<tenon::aot::EdgeProgram> programs;
  return programs;
}

}  // namespace graphs

namespace {

/// Interprets partitions, so that what is lowered, emitted, written and loaded can be compared with
/// what the whole graph computes. Delegates have state.
class Toy final : public tenon::Backend<Toy> {
 public:
  static constexpr std::string_view id = "Toy";

  struct Delegate {
    tenon::aot::EdgeProgram program;
    graphs::State state;
  };

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob blob, tenon::CompileSpecs) {
    const auto number = tenon::read_le<std::uint32_t>(blob.bytes());
    if (!number || *number >= graphs::toy_programs().size()) {
      return tenon::error(tenon::Error::DelegateInvalidCompatibility, "no such program");
    }
    return Delegate{graphs::toy_programs()[*number], {}};
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    std::vector<graphs::Vector> inputs;
    for (std::size_t i = 0; i < delegate.program.inputs().size(); ++i) {
      TENON_TRY(auto tensor, args.tensor<const std::int64_t>(i));
      inputs.emplace_back(tensor.begin(), tensor.end());
    }
    const auto outputs = graphs::run(delegate.program, inputs, delegate.state);
    TENON_RETURN_IF_ERROR(args.expect(inputs.size() + outputs.size()));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      TENON_TRY(auto tensor, args.tensor<std::int64_t>(inputs.size() + i));
      std::ranges::copy(outputs[i], tensor.begin());
    }
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(Toy);
