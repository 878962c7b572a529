// SPDX-License-Identifier: MIT
//
// The plugin: it runs the models of an existing runtime. The blob is the runtime's own format, made
// by its own compiler; nothing here looks into it.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tenon/backend/cancel_flag.hpp>
#include <tenon/tenon.hpp>
#include <utility>

#include "runtime/id.hpp"
#include "runtime/library.hpp"
#include "runtime/model.hpp"

namespace {

using my_npu::check;
using tenon::Access;
using tenon::Status;

class MyNpu final : public tenon::Backend<MyNpu>,
                    public tenon::WithOptions<MyNpu>,
                    public tenon::WithCheckBlob<MyNpu>,
                    public tenon::WithCancel<MyNpu>,
                    public tenon::WithEstimate<MyNpu>,
                    public tenon::WithSessions<MyNpu> {
 public:
  static constexpr std::string_view id = my_npu::backend_id;
  static constexpr std::string_view tags = "npu";
  static constexpr std::string_view description = "runs models of the NPU runtime";
  static constexpr tenon::PayloadVersions payload_versions = my_npu::payload_versions;
  static constexpr std::array options{
      tenon::OptionSpec{"num_threads", std::int64_t{0}, "threads of the runtime; 0: all processors"}
          .between(0, 64)};

  using Delegate = my_npu::Request;

  Status is_available() { return library_.functions().status(); }

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const auto threads, values.get<std::int64_t>("num_threads"));
    TENON_RETURN_IF_ERROR(my_npu::check_head(processed.bytes()));
    TENON_TRY(const my_npu::Functions* npu, library_.functions());
    TENON_TRY(auto model, my_npu::Model::load(*npu, processed.bytes(), static_cast<int>(threads)));
    // Only because the runtime keeps no pointer into the blob, as its header says (TN-BUF-1). For a
    // runtime that does, or may, leave this line out: the bytes stay until `destroy`.
    processed.release();
    return Delegate::create(std::move(model));
  }

  /// Allocates nothing: the ports were read at load, the tensors are the host's own.
  Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    const my_npu::Model& model = *delegate.model();
    const my_npu::Functions& npu = model.npu();
    const std::size_t num_inputs = model.inputs().size();
    const std::size_t num_outputs = model.outputs().size();
    TENON_RETURN_IF_ERROR(args.expect(num_inputs + num_outputs));
    for (std::size_t i = 0; i < num_inputs; ++i) {
      TENON_TRY(const auto in, args.tensor(i, model.inputs()[i], Access::Read));
      const auto status = npu.npu_request_set_input(delegate.handle(), i, in.data(),
                                                    in.sizes().data(), rank_of(in));
      if (status != NPU_OK) [[unlikely]]
        return failure_of_argument(npu, status, i);
    }
    for (std::size_t i = 0; i < num_outputs; ++i) {
      const std::size_t argument = num_inputs + i;
      std::array<std::int64_t, NPU_MAX_RANK> sizes;
      std::uint32_t rank = 0;
      TENON_RETURN_IF_ERROR(check(
          npu, npu.npu_request_output_sizes(delegate.handle(), i, sizes.data(), &rank), "inputs"));
      TENON_RETURN_IF_ERROR(args.resize(argument, {sizes.data(), rank}));
      TENON_TRY(const auto out, args.tensor(argument, model.outputs()[i], Access::Write));
      const auto status = npu.npu_request_set_output(delegate.handle(), i, out.data());
      if (status != NPU_OK) [[unlikely]]
        return failure_of_argument(npu, status, argument);
    }
    const tenon::TracerScope scope(context.tracer(), "npu_request");
    TENON_RETURN_IF_ERROR(check(npu, npu.npu_request_start(delegate.handle()), "start"));
    // A `cancel` that came before the run had begun found nothing to end.
    if (tenon::CancelFlag(*this, context).is_set()) cancel(delegate);
    return check(npu, npu.npu_request_wait(delegate.handle()), "run");
  }

  /// Ends the run that is going on. Comes from another thread, at most once in a run.
  void cancel(Delegate& delegate) noexcept {
    delegate.model()->npu().npu_request_cancel(delegate.handle());
  }

  /// A request of its own for the same model: the second conversation over weights that are loaded
  /// once. May be called while `delegate` runs.
  tenon::Result<Delegate> create_session(const Delegate& delegate) {
    return Delegate::create(delegate.model());
  }

  /// Works without the runtime.
  tenon::Result<tenon::BlobVerdict> check_blob(tenon::InitContext&, tenon::Blob processed,
                                               tenon::CompileSpecs) {
    const Status status = my_npu::check_head(processed.bytes());
    if (status.ok()) return tenon::BlobVerdict{};
    return tenon::BlobVerdict{tenon::Compatibility::Incompatible, std::string(status.text())};
  }

  /// Works without the runtime, which copies the blob. What its requests take is known only once
  /// there is one; for a runtime that can say it of a file, ask it here.
  tenon::Result<tenon::MemoryUses> estimate(tenon::InitContext&, tenon::Blob processed,
                                            tenon::CompileSpecs) {
    using tenon::MemoryUse;
    TENON_RETURN_IF_ERROR(my_npu::check_head(processed.bytes()));
    return tenon::MemoryUses{{.weights = processed.bytes().size(),
                              .workspace = MemoryUse::unknown,
                              .session = MemoryUse::unknown}};
  }

 private:
  static std::uint32_t rank_of(const tenon::TensorView& tensor) noexcept {
    return static_cast<std::uint32_t>(tensor.rank());
  }

  static Status failure_of_argument(const my_npu::Functions& npu, npu_status status,
                                    std::size_t index) {
    return check(npu, status, tenon::concat("argument ", index));
  }

  my_npu::Library library_;
};

}  // namespace

TENON_PLUGIN(MyNpu);
