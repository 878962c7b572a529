// SPDX-License-Identifier: MIT
//
// The plugin: its runtime half loads and runs the blobs of its ahead-of-time half.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <tenon/backend/cancel_flag.hpp>
#include <tenon/tenon.hpp>
#include <utility>

#include "aot/compile.hpp"
#include "common/blob.hpp"
#include "common/id.hpp"
#include "runtime/interpreter.hpp"

namespace {

using tenon::Error;
using tenon::Status;

class MyNpu final : public tenon::Backend<MyNpu>,
                    public tenon::aot::BackendDetails<MyNpu>,
                    public tenon::WithOptions<MyNpu>,
                    public tenon::WithCheckBlob<MyNpu>,
                    public tenon::WithEstimate<MyNpu> {
 public:
  static constexpr std::string_view id = my_npu::backend_id;
  static constexpr std::string_view tags = "cpu";
  static constexpr std::string_view description = "element by element: add, sub, mul and relu";
  static constexpr tenon::PayloadVersions payload_versions = {my_npu::blob_version,
                                                              my_npu::blob_version};
  static constexpr std::array options{
      tenon::OptionSpec{"block", std::int64_t{256}, "elements that are computed at a time"}.between(
          16, 65536)};

  /// The state of one loaded blob. Its destructor is `destroy`.
  using Delegate = my_npu::Interpreter;

  /// Runs at every load, on the user's machine: only what depends on that machine and this load.
  /// All other work belongs ahead of time, into `aot/`, and its result into the blob.
  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const auto block, values.get<std::int64_t>("block"));
    TENON_TRY(auto code, my_npu::read_blob(processed.bytes()));
    processed.release();
    return Delegate(std::move(code), static_cast<std::size_t>(block));
  }

  Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    const tenon::TracerScope scope(context.tracer(), "my_npu");
    const std::size_t num_inputs = delegate.code().num_inputs;
    const std::size_t num_outputs = delegate.code().outputs.size();
    TENON_RETURN_IF_ERROR(args.expect(num_inputs + num_outputs));
    TENON_TRY(const auto first, args.tensor<const float>(0));
    for (std::size_t i = 0; i < num_inputs; ++i) {
      TENON_TRY(const auto in, args.tensor<const float>(i));
      if (!same_layout(first, in)) return refuse(i, first, in);
      delegate.set_input(i, in.data());
    }
    for (std::size_t i = 0; i < num_outputs; ++i) {
      TENON_RETURN_IF_ERROR(args.resize(num_inputs + i, first.sizes()));
      TENON_TRY(const auto out, args.tensor<float>(num_inputs + i));
      if (!same_layout(first, out)) return refuse(num_inputs + i, first, out);
      delegate.set_output(i, out.data());
    }
    return delegate.run(first.size(), tenon::CancelFlag(*this, context));
  }

  static tenon::Result<tenon::aot::PartitionResult> partition(
      const tenon::aot::EdgeProgram& program, tenon::CompileSpecs specs) {
    return my_npu::partition(program, specs);
  }

  static tenon::Result<tenon::aot::PreprocessResult> preprocess(
      const tenon::aot::EdgeProgram& program, tenon::CompileSpecs specs) {
    return my_npu::preprocess(program, specs);
  }

  tenon::Result<tenon::BlobVerdict> check_blob(tenon::InitContext&, tenon::Blob processed,
                                               tenon::CompileSpecs) {
    const auto code = my_npu::read_blob(processed.bytes());
    if (code.ok()) return tenon::BlobVerdict{};
    return tenon::BlobVerdict{tenon::Compatibility::Incompatible, std::string(code.text())};
  }

  /// The bytes that `init` takes for the blob.
  tenon::Result<tenon::MemoryUses> estimate(tenon::InitContext& context, tenon::Blob processed,
                                            tenon::CompileSpecs) {
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const auto block, values.get<std::int64_t>("block"));
    TENON_TRY(const auto code, my_npu::read_blob(processed.bytes()));
    const std::size_t scratch =
        code.instructions.size() * static_cast<std::size_t>(block) * sizeof(float);
    return tenon::MemoryUses{{.workspace = processed.bytes().size() + scratch}};
  }

 private:
  static Status refuse(std::size_t index, const tenon::TensorView& first,
                       const tenon::TensorView& found) {
    return tenon::error(Error::InvalidArgument, "argument ", index,
                        ": expected the sizes and order in memory of argument 0, ",
                        tenon::shape_text(first.sizes()), ", found ",
                        tenon::shape_text(found.sizes()));
  }
};

}  // namespace

TENON_PLUGIN(MyNpu);
