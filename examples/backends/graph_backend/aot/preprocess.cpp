// SPDX-License-Identifier: MIT
#include "aot/preprocess.hpp"

#include <string_view>
#include <tenon/core/sha256.hpp>

#include "aot/operators.hpp"
#include "aot/options.hpp"
#include "common/blob.hpp"
#include "common/check_graph.hpp"

namespace graph_backend {

using namespace tenon;
using namespace tenon::aot;

namespace {

Result<Draft> lower_program(const EdgeProgram& program) {
  GraphBuilder builder(program, GraphBuilder::Purpose::Compile);
  TENON_RETURN_IF_ERROR(builder.add_inputs());
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    TENON_RETURN_IF_ERROR(lower(builder, program.node(i)));
  }
  TENON_RETURN_IF_ERROR(builder.add_outputs());
  return std::move(builder).take();
}

/// Moves constants from the blob to named data. A key names content: two partitions that use the
/// same weights store them once, and two that fold them differently have two keys.
Status name_weights(Graph& graph, const Options& options, NamedDataStore& store) {
  std::vector<const blob::TensorT*> tensor_of(graph.constants.size());
  for (const blob::TensorT& tensor : graph.tensors) {
    if (tensor.place == blob::Place::Constant) tensor_of[tensor.index] = &tensor;
  }
  for (std::size_t i = 0; i < graph.constants.size(); ++i) {
    Constant& constant = graph.constants[i];
    if (constant.nbytes == 0) continue;
    constant.key = tenon::concat("GraphBackend/", constant.name, "/",
                                 tenon::sha256_hex(constant.data.bytes()).substr(0, 16));
    tenon::aot::NamedDataOptions how;
    how.alignment = scratch_alignment;
    if (options.weights == Weights::External) how.external_tag = options.external_tag;
    how.tensor_layout = tenon::aot::DenseLayout{
        static_cast<tenon::ScalarType>(tensor_of[i]->scalar_type), tensor_of[i]->sizes};
    TENON_RETURN_IF_ERROR(store.add_named_data(constant.key, constant.data, how));
  }
  return tenon::ok();
}

/// "3 operators, 4 constants (12352 bytes, inline), 192 bytes of scratch"
std::string describe(const Graph& graph, const Options& options) {
  std::uint64_t nbytes = 0;
  for (const Constant& constant : graph.constants) nbytes += constant.nbytes;
  const std::string_view where = options.weights == Weights::Inline  ? "inline"
                                 : options.weights == Weights::Named ? "named"
                                                                     : "external";
  const auto count = [](std::size_t number, std::string_view what) {
    return tenon::concat(number, " ", what, number == 1 ? "" : "s");
  };
  return tenon::concat(count(graph.nodes.size(), "operator"), ", ",
                       count(graph.constants.size(), "constant"), " (", nbytes, " bytes, ", where,
                       "), ", graph.scratch_bytes, " bytes of scratch");
}

}  // namespace

Result<PartitionResult> partition(const EdgeProgram& program, const tenon::CompileSpecs& specs) {
  TENON_RETURN_IF_ERROR(read_options(specs));
  tenon::aot::PartitionOptions how;
  how.spec.compile_specs = tenon::aot::copy_specs(specs);
  how.gives_numbers = false;
  return tenon::aot::partition_by_support(
      program, [](const auto& of, const EdgeNode& node) { return supports(of, node).ok(); }, how);
}

Result<tenon::aot::PreprocessResult> preprocess(const EdgeProgram& program,
                                                const tenon::CompileSpecs& specs) {
  TENON_TRY(const Options options, read_options(specs));
  TENON_TRY(Draft draft, lower_program(program));
  merge_turns(draft);
  drop_unused(draft);
  if (options.fold) {
    TENON_RETURN_IF_ERROR(fold_constants(draft));
    fold_into_convolutions(draft);
  }
  drop_unused(draft);
  plan_memory(draft);
  Graph& graph = draft.graph;
  if (graph.scratch_bytes > options.max_scratch_bytes) {
    return error(Error::OutOfResources, "method '", program.method_name(), "' needs ",
                 graph.scratch_bytes, " bytes of scratch memory, max_scratch_bytes is ",
                 options.max_scratch_bytes);
  }

  tenon::aot::PreprocessResult result;
  result.delegate_info = describe(graph, options);
  NamedDataStore store;
  if (options.weights != Weights::Inline)
    TENON_RETURN_IF_ERROR(name_weights(graph, options, store));
  result.data_store_output = store.get_named_data_store_output();
  TENON_RETURN_IF_ERROR(check_graph(graph));
  TENON_TRY(result.processed_bytes, write_graph(graph));
  for (std::size_t i = 0; i < draft.handles.size(); ++i) {
    result.debug_handle_map.add(static_cast<std::int64_t>(i), draft.handles[i]);
  }
  return result;
}

Status supports(const EdgeProgram& program, const EdgeNode& node) {
  GraphBuilder builder(program, GraphBuilder::Purpose::Judge);
  return lower(builder, node);
}

std::vector<std::string> ops_to_not_decompose(const EdgeProgram& program) {
  return tenon::aot::targets_by_support(program, [](const auto& of, const EdgeNode& node) {
    const OperatorRow* row = find_operator(node.target());
    return row && row->keep && supports(of, node).ok();
  });
}

}  // namespace graph_backend
