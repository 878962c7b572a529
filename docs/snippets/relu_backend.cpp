// SPDX-License-Identifier: MIT
// Code of docs/aot/ahead-of-time.md: a backend with both halves. It takes relu of float32.
//
// Blob: the number of inputs, then for each output the number of its input; a byte each.
#include <algorithm>
#include <map>
#include <tenon/aot.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

namespace {

namespace aot = tenon::aot;

// [class]
class Relu final : public tenon::Backend<Relu>, public aot::BackendDetails<Relu> {
 public:
  static constexpr std::string_view id = "ReluBackend";
  // [class]

  // [partition]
  // Ahead of time: which nodes this backend takes.
  static tenon::Result<aot::PartitionResult> partition(const aot::EdgeProgram& program,
                                                       tenon::CompileSpecs) {
    const auto supports = [](const aot::EdgeProgram& all, const aot::EdgeNode& node) {
      return node.target() == "aten.relu.default" &&
             all.value(node.outputs()[0]).scalar_type() == tenon::ScalarType::Float;
    };
    aot::PartitionOptions options;
    options.tag_constant_data = false;  // Parameters come as inputs.
    return aot::partition_by_support(program, supports, options);
  }
  // [partition]

  // [preprocess]
  // Ahead of time: one part becomes a blob. relu(relu(x)) is relu(x), so the input of
  // each output is enough.
  static tenon::Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram& program,
                                                         tenon::CompileSpecs) {
    std::map<aot::ValueId, std::byte> made_of;
    for (const aot::ValueId input : program.inputs()) {
      const auto number = static_cast<std::byte>(made_of.size());
      made_of.emplace(input, number);
    }
    for (std::size_t i = 0; i < program.num_nodes(); ++i) {
      const aot::EdgeCall call(program, program.node(i));
      if (call.node().target() != "aten.relu.default" || made_of.size() > 255) {
        return call.refuse("expected one of at most 255 calls of aten.relu.default");
      }
      TENON_TRY(const aot::ValueId self, call.tensor("self"));
      const auto from = made_of.find(self);
      if (from == made_of.end()) {
        return call.refuse_argument("self", "an input or the result of another relu");
      }
      made_of.emplace(call.node().outputs()[0], from->second);
    }
    std::vector<std::byte> blob = {static_cast<std::byte>(program.inputs().size())};
    for (std::size_t i = 0; i < program.num_outputs(); ++i) {
      blob.push_back(made_of.at(program.output(i).value));
    }
    aot::PreprocessResult result;
    result.processed_bytes = aot::SharedBytes(std::move(blob));
    result.delegate_info = tenon::concat(program.num_outputs(), " loops");
    return result;
  }
  // [preprocess]

  // At run time.
  struct Delegate {
    std::size_t num_inputs;
    std::vector<std::byte> made_of;
  };
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    const tenon::Bytes bytes = processed.bytes();
    if (bytes.empty()) return tenon::error(tenon::Error::InvalidProgram, "the blob is empty");
    for (const std::byte number : bytes.subspan(1)) {
      if (number < bytes[0]) continue;
      return tenon::error(tenon::Error::InvalidProgram, "the blob names an input behind the last");
    }
    return Delegate{std::to_integer<std::size_t>(bytes[0]), {bytes.begin() + 1, bytes.end()}};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(delegate.num_inputs + delegate.made_of.size()));
    for (std::size_t i = 0; i < delegate.made_of.size(); ++i) {
      const std::size_t to = delegate.num_inputs + i;
      TENON_TRY(auto x,
                args.tensor<const float>(std::to_integer<std::size_t>(delegate.made_of[i])));
      TENON_RETURN_IF_ERROR(args.resize(to, x.sizes()));
      TENON_TRY(auto out, args.tensor<float>(to));
      if (!same_layout(x, out)) {
        return tenon::error(tenon::Error::InvalidArgument, "argument ", to, ": another layout");
      }
      std::ranges::transform(x, out.begin(), [](float value) { return std::max(value, 0.0f); });
    }
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(Relu);
