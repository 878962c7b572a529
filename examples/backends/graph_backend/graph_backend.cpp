// SPDX-License-Identifier: MIT
//
// A backend with both halves: it compiles PyTorch's exported graphs to blobs of its own, and runs
// them on the CPU. docs/aot/graph-backend.md walks through it.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <tenon/backend/cancel_flag.hpp>
#include <tenon/backend/mapped_memory.hpp>
#include <tenon/backend/threads.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "aot/preprocess.hpp"
#include "common/blob.hpp"
#include "runtime/model.hpp"

namespace {

/// Adds to a count for as long as it lives.
class Counted {
 public:
  Counted(std::atomic<std::uint64_t>& total, std::uint64_t nbytes)
      : total_(&total), nbytes_(nbytes) {
    total_->fetch_add(nbytes_, std::memory_order_relaxed);
  }
  Counted(Counted&& other) noexcept
      : total_(other.total_), nbytes_(std::exchange(other.nbytes_, 0)) {}
  Counted& operator=(Counted&&) = delete;
  ~Counted() { total_->fetch_sub(nbytes_, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t>* total_;
  std::uint64_t nbytes_;
};

class GraphBackend final : public tenon::Backend<GraphBackend>,
                           public tenon::WithCheckBlob<GraphBackend>,
                           public tenon::WithEstimate<GraphBackend>,
                           public tenon::WithMemoryInfo<GraphBackend>,
                           public tenon::WithIntermediates<GraphBackend>,
                           public tenon::WithExternalMemory<GraphBackend>,
                           public tenon::aot::BackendDetails<GraphBackend> {
 public:
  static constexpr std::string_view id = "GraphBackend";
  static constexpr std::string_view tags = "example,cpu";
  static constexpr std::string_view description =
      "example with both halves: compiles graphs of ATen operators and runs them";
  static constexpr tenon::PayloadVersions payload_versions = {graph_backend::first_payload_version,
                                                              graph_backend::payload_version};

  // Ahead of time.

  static tenon::Result<tenon::aot::PreprocessResult> preprocess(
      const tenon::aot::EdgeProgram& program, tenon::CompileSpecs specs) {
    return graph_backend::preprocess(program, specs);
  }

  static tenon::Result<tenon::aot::PartitionResult> partition(
      const tenon::aot::EdgeProgram& program, tenon::CompileSpecs options) {
    return graph_backend::partition(program, options);
  }

  static tenon::Result<std::vector<std::string>> ops_to_not_decompose(
      const tenon::aot::EdgeProgram& program) {
    return graph_backend::ops_to_not_decompose(program);
  }

  // At run time.

  struct Delegate {
    graph_backend::Model model;
    Counted scratch;
    tenon::IntermediateRecorder recorder{};
  };

  tenon::Status open() {
    if (!host().has_library_policy()) {
      graph_backend::CpuKernels::set_plugin_file(host().plugin_path());
    }
    return tenon::ok();
  }

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    // The options were for the ahead-of-time half; all that is left of them is in the blob.
    TENON_TRY(graph_backend::Graph graph, graph_backend::read_graph(processed.bytes()));
    TENON_TRY(graph_backend::Model model, graph_backend::Model::load(std::move(graph), context));
    const std::uint64_t scratch = model.scratch_bytes();
    Delegate delegate{std::move(model), Counted(scratch_, scratch)};
    context.tracer().log_counter("scratch", static_cast<double>(scratch_.load()), "bytes");
    return delegate;
  }

  tenon::Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    return delegate.model.execute(
        context, args, {tenon::threads_of(*this, context), tenon::CancelFlag(*this, context)},
        delegate.recorder);
  }

  tenon::Result<tenon::BlobVerdict> check_blob(tenon::InitContext&, tenon::Blob processed,
                                               tenon::CompileSpecs) {
    const auto graph = graph_backend::read_graph(processed.bytes());
    if (graph.ok()) return tenon::BlobVerdict{};
    return tenon::BlobVerdict{tenon::Compatibility::Incompatible, std::string(graph.text())};
  }

  tenon::Result<tenon::MemoryUses> estimate(tenon::InitContext&, tenon::Blob processed,
                                            tenon::CompileSpecs) {
    TENON_TRY(const graph_backend::Graph graph, graph_backend::read_graph(processed.bytes()));
    return tenon::MemoryUses{{.workspace = graph_backend::Model::bytes_for(graph)}};
  }
  std::vector<tenon::Intermediate> intermediates(const Delegate& delegate) {
    return delegate.model.intermediates();
  }
  tenon::IntermediateRecorder& recorder(Delegate& delegate) { return delegate.recorder; }

  // Memory of cameras, decoders and other processes, and their fences.
  using ImportedMemory = tenon::MappedMemory;
  static constexpr std::array memory_kinds{tenon::MemoryKind::MemFd};
  static constexpr std::array fence_kinds{tenon::FenceKind::SyncFile, tenon::FenceKind::EventFd};
  static tenon::Result<ImportedMemory> import_memory(const tenon::ExternalMemory& memory) {
    return ImportedMemory::map(memory);
  }
  static tenon::Status wait_fence(Delegate&, const tenon::ExternalFence& fence) {
    return tenon::wait_for(fence, longest_wait_ms);
  }
  static tenon::Status signal_fence(Delegate&, const tenon::ExternalFence& fence) {
    return tenon::signal(fence);  // A run is done when `execute` returns.
  }

  tenon::MemoryUses memory_info(const Delegate* delegate) {
    if (!delegate) return {};
    return {{.workspace = delegate->model.scratch_bytes()}};
  }

 private:
  static constexpr int longest_wait_ms = 10'000;

  std::atomic<std::uint64_t> scratch_{0};
};

}  // namespace

TENON_PLUGIN(GraphBackend);
