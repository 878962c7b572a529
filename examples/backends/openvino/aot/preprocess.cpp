// SPDX-License-Identifier: MIT
#include "aot/preprocess.hpp"

#include <tenon/core/sha256.hpp>
#include <utility>

#include "aot/operators.hpp"
#include "aot/options.hpp"
#include "aot/positions.hpp"
#include "common/blob.hpp"

namespace openvino_backend {

using tenon::aot::SharedBytes;

namespace {

/// The nodes that read or make a tensor in another order of memory which is not inside their
/// partition: delegates have theirs in the order of dimensions.
std::vector<std::size_t> find_misordered(const EdgeProgram& program, const EdgeUses& uses,
                                         const PartitionResult& result) {
  std::vector<std::size_t> out;
  for (std::uint32_t i = 0; i < program.num_nodes(); ++i) {
    const auto is_inside = [&](std::uint32_t other) {
      return other != EdgeUses::no_node && result.tag_of(other) == result.tag_of(i);
    };
    const auto is_ordered = [&](tenon::aot::ValueId id) {
      return !program.value(id).is_tensor() || is_in_order(program.value(id));
    };
    bool fits = true;
    program.node(i).for_each_input(
        [&](auto id) { fits = fits && (is_ordered(id) || is_inside(uses.producer(id))); });
    for (const auto id : program.node(i).outputs()) {
      if (is_ordered(id)) continue;
      fits = fits && !uses.is_output(id);
      for (const std::uint32_t user : uses.users(id)) {
        fits = fits && (is_inside(user) || !uses.is_live(user));
      }
    }
    if (!fits) out.push_back(i);
  }
  return out;
}

}  // namespace

Result<PartitionResult> partition(const EdgeProgram& program, const tenon::CompileSpecs& specs) {
  TENON_RETURN_IF_ERROR(read_options(specs));
  tenon::aot::PartitionOptions how;
  how.spec.compile_specs = tenon::aot::copy_specs(specs);
  how.gives_numbers = false;
  std::vector<bool> wanted(program.num_nodes());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] = supports(program, program.node(i)).ok();
  }
  const EdgeUses uses(program);
  while (true) {
    std::size_t next = 0;
    TENON_TRY(PartitionResult result,
              tenon::aot::partition_by_support(
                  program, [&](const auto&, const auto&) { return wanted[next++]; }, how));
    // Each round takes a node away, so there is a last one.
    bool is_final = true;
    const auto drop = [&](std::size_t node) {
      if (result.tag_of(node).empty()) return;
      wanted[node] = false;
      is_final = false;
    };
    for (const std::size_t node : find_misordered(program, uses, result)) drop(node);
    const std::vector<bool> is_exact = find_exact_integers(program, result);
    for (std::size_t i = 0; i < is_exact.size(); ++i) {
      if (!is_exact[i]) drop(i);
    }
    if (is_final) return result;
  }
}

Result<tenon::aot::PreprocessResult> preprocess(const EdgeProgram& program,
                                                const tenon::CompileSpecs& specs) {
  TENON_TRY(const Options options, read_options(specs));
  IrBuilder builder(program, IrBuilder::Purpose::Compile);
  TENON_RETURN_IF_ERROR(builder.add_inputs());
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    TENON_RETURN_IF_ERROR(lower(builder, program.node(i)));
  }
  TENON_RETURN_IF_ERROR(builder.add_outputs());

  tenon::aot::PreprocessResult result;
  result.debug_handle_map = builder.handles();
  Ir ir = builder.take_ir();
  const std::string xml = write_xml(ir);
  const std::size_t num_layers = ir.layers.size();
  std::string key;
  const std::size_t nbytes = ir.weights.size();
  if (nbytes > 0) {
    // Equal weights of several methods have one key, and are stored once.
    key = tenon::concat("openvino/", tenon::sha256_hex(ir.weights));
    tenon::aot::NamedDataOptions how;
    how.alignment = weights_alignment;
    if (options.is_external) how.external_tag = options.external_tag;
    tenon::aot::NamedDataStore store;
    TENON_RETURN_IF_ERROR(store.add_named_data(key, SharedBytes(std::move(ir.weights)), how));
    result.data_store_output = store.get_named_data_store_output();
  }
  result.processed_bytes = SharedBytes(write_ir_blob({key, nbytes, xml}));
  result.delegate_info =
      tenon::concat("OpenVINO IR of ", num_layers, " layers, ", nbytes, " bytes of weights (",
                    options.is_external ? "external" : "named", ")");
  return result;
}

Status supports(const EdgeProgram& program, const EdgeNode& node) {
  IrBuilder builder(program, IrBuilder::Purpose::Judge);
  return lower(builder, node);
}

std::vector<std::string> ops_to_not_decompose(const EdgeProgram& program) {
  return tenon::aot::targets_by_support(program, [](const auto& of, const EdgeNode& node) {
    const OperatorRow* row = find_operator(node.target());
    return row && row->keep && supports(of, node).ok();
  });
}

}  // namespace openvino_backend
