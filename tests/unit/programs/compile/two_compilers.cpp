// SPDX-License-Identifier: MIT
//
// A plugin for tests of tenon-compile: two backends that take the operators that a compile spec
// names ("take=aten.relu.default,aten.linear.default") and compile them to the names of their
// nodes. They run nothing.
#include <stdexcept>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

using namespace tenon;

std::string_view text_of(CompileSpecs specs, std::string_view key) {
  const auto value = specs.find(key);
  if (!value) return {};
  return {reinterpret_cast<const char*>(value->data()), value->size()};
}

/// The common behaviour of both. `refuse` fails in `preprocess`; `external=TAG` and `named` put the
/// parameters outside the blob; `empty` makes a blob without bytes; `forget=KEY` is a spec that no
/// partition gets. `write=node` and
/// `write=weights` write to what they may only read.
class Taker {
 public:
  struct Delegate {};
  Result<Delegate> init(InitContext&, Blob, CompileSpecs) { return Delegate{}; }
  Status execute(ExecutionContext&, Delegate&, Args) {
    return error(Error::NotSupported, "nothing here runs");
  }

  static Result<aot::PartitionResult> partition(const aot::EdgeProgram& program,
                                                CompileSpecs options) {
    const std::string_view take = text_of(options, "take");
    aot::PartitionOptions how;
    for (std::size_t i = 0; i < options.size(); ++i) {
      if (options[i].key == text_of(options, "forget")) continue;
      how.spec.compile_specs.push_back(
          {std::string(options[i].key), aot::SharedBytes::copy_of(options[i].value)});
    }
    return aot::partition_by_support(
        program,
        [&](const aot::EdgeProgram&, const aot::EdgeNode& node) {
          return take.find(node.target()) != std::string_view::npos;
        },
        how);
  }

  /// The exporter's own operators that it finds; it wants no decomposed ones.
  static Result<std::vector<std::string>> ops_to_not_decompose(const aot::EdgeProgram& program) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < program.num_nodes(); ++i) {
      const std::string_view target = program.node(i).target();
      if (target == "aten.addmm.default") {
        return error(Error::NotSupported, "too late: there is ", target);
      }
      if (target == "aten.linear.default" || target == "aten.softmax.int") out.emplace_back(target);
    }
    return out;
  }

  static Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram& program,
                                                  CompileSpecs specs) {
    if (specs.find("refuse")) {
      return error(Error::NotSupported, "node '", program.node(0).name(), "': refused on request");
    }
    write_to(program, text_of(specs, "write"));
    std::string blob;
    for (std::size_t i = 0; i < program.num_nodes(); ++i) {
      blob += concat(program.node(i).name(), ";");
    }
    aot::PreprocessResult result;
    if (!specs.find("empty")) result.processed_bytes = aot::SharedBytes::copy_of(blob);
    result.delegate_info = concat(program.num_nodes(), " names");
    if (!specs.find("named") && !specs.find("external")) return result;
    aot::NamedDataStore store;
    aot::NamedDataOptions options;
    if (specs.find("external")) options.external_tag = std::string(text_of(specs, "external"));
    for (aot::ValueId id = 0; id < program.num_values(); ++id) {
      const aot::EdgeValue value = program.value(id);
      if (!value.has_fqn()) continue;
      TENON_RETURN_IF_ERROR(
          store.add_named_data(value.fqn(), aot::SharedBytes::copy_of(value.data()), options));
    }
    result.data_store_output = store.get_named_data_store_output();
    return result;
  }

 private:
  static void write_to(const aot::EdgeProgram& program, std::string_view what) {
    if (what == "node") *const_cast<char*>(program.node(0).raw().name) = 'X';
    for (aot::ValueId id = 0; what == "weights" && id < program.num_values(); ++id) {
      const Bytes data = program.value(id).data();
      if (!data.empty()) *const_cast<volatile std::byte*>(data.data()) = std::byte{0};
    }
  }
};

class First final : public Backend<First>, public aot::BackendDetails<First>, public Taker {
 public:
  static constexpr std::string_view id = "FirstBackend";
};

class Second final : public Backend<Second>, public aot::BackendDetails<Second>, public Taker {
 public:
  static constexpr std::string_view id = "SecondBackend";
};

}  // namespace

TENON_PLUGIN(First, Second);
