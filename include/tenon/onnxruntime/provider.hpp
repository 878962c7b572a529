// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/onnxruntime/blob_verdict.hpp"
#include "tenon/onnxruntime/bridge.hpp"
#include "tenon/onnxruntime/node_program.hpp"
#include "tenon/onnxruntime/node_run.hpp"
#include "tenon/onnxruntime/options.hpp"
#include "tenon/onnxruntime/profiler.hpp"
#include "tenon/onnxruntime/read_node.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// The execution provider of one backend in one session.
class Provider final : public Ep {
 public:
  /// Wrong options fail when a node is loaded: of a provider that cannot be made ONNX Runtime 1.23
  /// loses the reason.
  Provider(std::shared_ptr<const Bridge> bridge, std::string id, ProviderOptions options,
           bool must_be_optimal, const Logger* logger)
      : bridge_(std::move(bridge)),
        id_(std::move(id)),
        options_(std::move(options)),
        must_be_optimal_(must_be_optimal),
        logger_(logger) {
    if (bridge_->runtime.has(ep_api::CreateProfilingEvent)) version = profiler_version;
    get_name = [](const Ep* self) -> const char* {
      return static_cast<const Provider*>(self)->id_.c_str();
    };
    get_capability = [](Ep* self, const Graph* graph, EpGraphSupportInfo* info) -> StatusPointer {
      const auto& provider = *static_cast<const Provider*>(self);
      return provider.bridge_->runtime.guarded([&] { return provider.claim(*graph, *info); });
    };
    compile = [](Ep* self, const Graph** graphs, const Node** fused, std::size_t count,
                 NodeComputeInfo** infos, Node**) -> StatusPointer {
      auto& provider = *static_cast<Provider*>(self);
      return provider.bridge_->runtime.guarded([&] {
        if (!provider.trace_) provider.trace_ = std::make_shared<SessionTrace>();
        return provider.load_all({graphs, count}, {fused, count}, {infos, count});
      });
    };
    release_node_compute_infos = [](Ep*, NodeComputeInfo** infos, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) delete static_cast<NodeRun*>(infos[i]);
    };
    // A session's own. A profile of one run begins after the load, which decides who records.
    create_profiler = [](Ep* self, EpProfiler** out) -> StatusPointer {
      auto& provider = *static_cast<Provider*>(self);
      *out = nullptr;
      if (provider.trace_) return nullptr;
      return provider.bridge_->runtime.guarded([&] {
        provider.trace_ = std::make_shared<SessionTrace>();
        *out = new Profiler(provider.bridge_, provider.id_, provider.trace_);
        return ok();
      });
    };
  }

 private:
  /// Takes the context nodes of this backend, each alone.
  [[nodiscard]] Status claim(const Graph& graph, EpGraphSupportInfo& info) const {
    const Runtime& runtime = bridge_->runtime;
    TENON_TRY(const auto nodes, read_nodes(runtime, graph));
    for (const Node* const node : nodes) {
      TENON_TRY(const bool is_context, is_context_node(runtime, *node));
      if (!is_context) continue;
      TENON_TRY(const std::string source, read_text_attribute(runtime, *node, "source"));
      if (source != id_) continue;
      const NodeFusionOptions options;
      TENON_RETURN_IF_ERROR(runtime.check(ep_api::EpGraphSupportInfo_AddNodesToFuse, &info, &node,
                                          std::size_t{1}, &options));
    }
    return ok();
  }

  [[nodiscard]] Status load_all(std::span<const Graph*> graphs, std::span<const Node*> fused,
                                std::span<NodeComputeInfo*> infos) const {
    std::vector<std::unique_ptr<NodeRun>> loaded;
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      TENON_TRY(auto run, load(*graphs[i], *fused[i]));
      loaded.push_back(std::move(run));
    }
    for (std::size_t i = 0; i < loaded.size(); ++i) infos[i] = loaded[i].release();
    return ok();
  }

  [[nodiscard]] Result<std::unique_ptr<NodeRun>> load(const Graph& graph, const Node& fused) const {
    const Runtime& runtime = bridge_->runtime;
    TENON_TRY(const auto nodes, read_nodes(runtime, graph));
    if (nodes.size() != 1) {
      return error(Error::Internal, "expected a graph of one node, found ", nodes.size());
    }
    TENON_TRY(const std::string_view given,
              detail::read_text(runtime, *nodes.front(), api::Node_GetName));
    std::string name = concat("EPContext node ", host::quoted(given));
    auto out = load_node(graph, *nodes.front(), fused, name);
    if (out.ok()) return out;
    Status failed = std::move(out).status().with_context(name);
    runtime.log(logger_, LoggingLevel::Error, id_, failed.text());
    return failed;
  }

  [[nodiscard]] Result<std::unique_ptr<NodeRun>> load_node(const Graph& graph, const Node& node,
                                                           const Node& fused,
                                                           std::string name) const {
    const Runtime& runtime = bridge_->runtime;
    TENON_TRY(Attributes attributes, read_attributes(runtime, node));
    TENON_TRY(ContextNode context, read_context_node(std::move(attributes)));
    TENON_TRY(auto inputs,
              read_tensors(runtime, node, api::Node_GetNumInputs, api::Node_GetInputs));
    TENON_TRY(auto outputs,
              read_tensors(runtime, node, api::Node_GetNumOutputs, api::Node_GetOutputs));
    TENON_TRY(auto method, load_method(std::move(context), inputs, outputs, graph));
    TENON_TRY(auto input_ports,
              match(std::move(inputs), fused, api::Node_GetNumInputs, api::Node_GetInputs));
    TENON_TRY(auto output_ports,
              match(std::move(outputs), fused, api::Node_GetNumOutputs, api::Node_GetOutputs));
    return NodeRun::make(bridge_, std::move(method), std::move(name), std::move(input_ports),
                         std::move(output_ports));
  }

  [[nodiscard]] Result<std::unique_ptr<host::Method>> load_method(
      ContextNode context, std::span<const NodeTensor> inputs, std::span<const NodeTensor> outputs,
      const Graph& graph) const {
    const PathChar* path = nullptr;
    TENON_RETURN_IF_ERROR(bridge_->runtime.check(api::Graph_GetModelPath, &graph, &path));
    const std::filesystem::path model = path ? path : std::filesystem::path();

    TENON_TRY(LoadOptions given, read_load_options(options_));
    TENON_TRY(const host::BackendRef backend, bridge_->registry->lookup_backend(id_));
    TENON_RETURN_IF_ERROR(check_payload(context, backend->record()));
    host::MethodOptions options;
    options.registry = bridge_->registry.get();
    options.limits = given.limits;
    if (given.embedded_code) options.layers.add(*std::move(given.embedded_code));
    TENON_TRY(options.backend_options, backend_options(*backend, given.backend));
    TENON_TRY(const NodeProgram program,
              make_node_program(std::move(context), inputs, outputs, model, options.limits));
    TENON_TRY(const host::BlobCheck check, judge_blobs(*backend, program, options));
    if (check.verdict != TENON_BLOB_OPTIMAL) {
      const std::string text = concat("the context is usable, not optimal: ", check.reason);
      if (must_be_optimal_) return error(Error::DelegateInvalidCompatibility, text);
      bridge_->runtime.log(logger_, LoggingLevel::Warning, id_, text);
    }
    if (trace_->trace) options.layers.add(*trace_->trace);
    return host::Method::load(program.program, program.method, std::move(options));
  }

  [[nodiscard]] static Status check_payload(const ContextNode& context,
                                            const host::BackendRecord& record) {
    const auto version = context.payload_version;
    const bool has_versions = record.min_payload_version != 0 || record.max_payload_version != 0;
    if (!version || !has_versions ||
        (*version >= record.min_payload_version && *version <= record.max_payload_version)) {
      return ok();
    }
    return error(Error::DelegateInvalidCompatibility, "attribute tenon_payload_version is ",
                 *version, "; the plugin reads ", record.min_payload_version, " to ",
                 record.max_payload_version);
  }

  /// Finds the tensors of a node in the list of the node that ONNX Runtime made of it, which has a
  /// tensor once that the node has twice.
  [[nodiscard]] Result<std::vector<NodeRun::Port>> match(
      std::vector<NodeTensor> tensors, const Node& fused,
      const Function<StatusPointer(const Node*, std::size_t*)>& count_of,
      const Function<StatusPointer(const Node*, const ValueInfo**, std::size_t)>& list_of) const {
    TENON_TRY(const auto given, read_tensors(bridge_->runtime, fused, count_of, list_of));
    std::vector<NodeRun::Port> out;
    for (NodeTensor& tensor : tensors) {
      const auto found = std::find_if(given.begin(), given.end(), [&](const NodeTensor& each) {
        return !tensor.name.empty() && each.name == tensor.name;
      });
      out.push_back({std::nullopt, std::move(tensor)});
      if (found != given.end()) out.back().index = static_cast<std::size_t>(found - given.begin());
    }
    return out;
  }

  const std::shared_ptr<const Bridge> bridge_;
  const std::string id_;
  const ProviderOptions options_;
  const bool must_be_optimal_;
  const Logger* const logger_;
  std::shared_ptr<SessionTrace> trace_;  // Null before the session asks for a profiler, or loads.
};

}}}  // namespace tenon::TENON_RELEASE::ort
