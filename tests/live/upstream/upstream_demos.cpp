// SPDX-License-Identifier: MIT
//
// The demo backends in ExecuTorch's tests (exir/backend/test of 1.5), as a plugin:
// upstream_tests.py runs those tests on it. Blobs and outputs are the ones that the tests expect.
// Only BackendWithCompilerDemo runs programs.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "../../../examples/backends/demo_backend/demo_blob.hpp"

#include "tenon/core/hex.hpp"

namespace {

namespace aot = tenon::aot;

/// Nothing of these runs.
struct Delegates {
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return tenon::error(tenon::Error::NotSupported, "these blobs are for tests of the exporter");
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

using Targets = std::span<const std::string_view>;

bool contains(Targets targets, std::string_view target) {
  return std::ranges::find(targets, target) != targets.end();
}

tenon::Status not_supported(const aot::EdgeNode& node, std::string_view backend) {
  return tenon::error(tenon::Error::NotSupported, "call_function ", node.target(),
                      " is not supported in backend ", backend);
}

/// Each node is an event of its own.
using Handles = aot::DebugHandleMap;

aot::PreprocessResult result_of(std::string_view blob, Handles handles) {
  return {.processed_bytes = aot::SharedBytes::copy_of(blob),
          .debug_handle_map = std::move(handles)};
}

/// Runs what it compiles as upstream's runtime half does (runtime/executor/test): the operands of
/// an operator have fixed places among the arguments, and a sine is two terms of its series.
class CompilerDemo final : public tenon::Backend<CompilerDemo>,
                           public aot::BackendDetails<CompilerDemo> {
 public:
  static constexpr std::string_view id = "BackendWithCompilerDemo";

  struct Delegate {
    std::vector<demo::Instruction> instructions;
  };

  static tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed,
                                      tenon::CompileSpecs specs) {
    const auto limit = specs.find("max_value");
    if (!limit || limit->empty() || limit->front() > std::byte{4}) {
      return tenon::error(tenon::Error::InvalidArgument,
                          "compile spec max_value: expected a byte of at most 4");
    }
    TENON_TRY(auto instructions, demo::parse_blob(processed.text()));
    return Delegate{std::move(instructions)};
  }

  static tenon::Status execute(tenon::ExecutionContext&, Delegate& delegate, tenon::Args args) {
    for (const demo::Instruction& instruction : delegate.instructions) {
      TENON_RETURN_IF_ERROR(run(instruction, args));
    }
    return tenon::ok();
  }

  static tenon::Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram& program,
                                                         tenon::CompileSpecs) {
    static constexpr std::string_view known[] = {"aten.sin.default",
                                                 "aten.mm.default",
                                                 "aten.add.Tensor",
                                                 "aten.linear.default",
                                                 "aten.scaled_dot_product_attention.default",
                                                 "aten.upsample_nearest2d.vec"};
    std::string blob = tenon::concat(program.num_nodes(), "version:0#");
    Handles handles;
    for (std::size_t i = 0; i < program.num_nodes(); ++i) {
      const aot::EdgeNode node = program.node(i);
      if (!contains(known, node.target())) return not_supported(node, id);
      const aot::EdgeValue value = program.value(node.outputs()[0]);
      const char* const dtype =
          value.scalar_type() == tenon::ScalarType::Float ? "float32" : "other";
      blob += tenon::concat("op:demo::", node.target(), ", numel:", value.max_numel(),
                            ", dtype:torch.", dtype, "<debug_handle>", node.debug_handle(), "#");
      handles.add(node.debug_handle(), std::array{node.debug_handle()});
    }
    aot::PreprocessResult result = result_of(blob, std::move(handles));
    result.delegate_info = "test";
    return result;
  }

 private:
  static tenon::Status run(const demo::Instruction& instruction, const tenon::Args& args) {
    const auto numel = static_cast<std::size_t>(instruction.numel);
    const bool is_sine = instruction.op == demo::Op::sin;
    TENON_TRY(const auto out, args.tensor<float>(is_sine ? 1 : 3));
    TENON_TRY(const auto a, args.tensor<const float>(instruction.op == demo::Op::add ? 2 : 0));
    if (out.size() != numel || a.size() != numel) {
      return tenon::error(tenon::Error::InvalidArgument, "expected ", numel, " elements, found ",
                          out.size(), " and ", a.size());
    }
    switch (instruction.op) {
      case demo::Op::sin:
        for (std::size_t i = 0; i < numel; ++i) {
          out[i] = a[i] - a[i] * a[i] * a[i] / 6;
        }
        return tenon::ok();
      case demo::Op::add:
        for (std::size_t i = 0; i < numel; ++i) out[i] += a[i];
        return tenon::ok();
      case demo::Op::mm: {
        TENON_TRY(const auto b, args.tensor<const float>(1));
        if (numel != 4 || b.size() != numel) break;
        for (std::size_t i = 0; i < numel; ++i) {
          out[i] = a[i / 2 * 2] * b[i % 2] + a[i / 2 * 2 + 1] * b[2 + i % 2];
        }
        return tenon::ok();
      }
      default:
        break;
    }
    return tenon::error(tenon::Error::NotSupported, "only sines, sums and products of 2 x 2 run");
  }
};

class Demo final : public tenon::Backend<Demo>, public aot::BackendDetails<Demo>, public Delegates {
 public:
  static constexpr std::string_view id = "DemoBackend";

  static tenon::Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram& program,
                                                         tenon::CompileSpecs) {
    std::vector<std::uint32_t> all;
    for (std::size_t i = 0; i < program.num_nodes(); ++i) {
      all.push_back(program.node(i).debug_handle());
    }
    Handles handles;
    handles.add(1, all);
    return result_of("imqnncompiled", std::move(handles));
  }
};

/// Bytes that are no letters: b'\x02'.
std::string as_python_writes(tenon::Bytes bytes) {
  std::string out = "b'";
  for (const std::byte byte : bytes) {
    out += "\\x";
    tenon::append_hex(out, byte);
  }
  return out + "'";
}

/// Its blobs name the number of nodes in all partitions of all methods.
template <class Derived>
struct PreprocessAll : Delegates {
  static tenon::Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram&,
                                                         tenon::CompileSpecs) {
    return result_of(std::string_view("\0", 1), {});
  }

  static tenon::Result<aot::ResultsByMethod> preprocess_multimethod(
      const aot::ProgramsByMethod& programs, const aot::SpecsByMethod& specs) {
    std::size_t total = 0;
    for (const auto& [method, parts] : programs) {
      for (const aot::EdgeProgram& part : parts) total += part.num_nodes();
    }
    aot::ResultsByMethod out;
    for (const auto& [method, parts] : programs) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        TENON_TRY(auto one, compile(parts[i], specs.at(method)[i], total));
        out[method].push_back(std::move(one));
      }
    }
    return out;
  }

 private:
  static tenon::Result<aot::PreprocessResult> compile(const aot::EdgeProgram& program,
                                                      tenon::CompileSpecs specs,
                                                      std::size_t total) {
    std::string blob = tenon::concat(Derived::id, "#", total, "#");
    for (aot::ValueId id = 0; id < program.num_values(); ++id) {
      const aot::EdgeValue value = program.value(id);
      if (value.has_fqn()) blob += tenon::concat("CONST", value.name(), ":");
    }
    Handles handles;
    for (std::size_t i = 0; i < program.num_nodes(); ++i) {
      const aot::EdgeNode node = program.node(i);
      if (!contains(Derived::targets, node.target())) return not_supported(node, Derived::id);
      blob += tenon::concat(node.target(), ":");
      handles.add(node.debug_handle(), std::array{node.debug_handle()});
    }
    blob += "#";
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto [key, value] = specs[i];
      blob += tenon::concat(key, ":", as_python_writes(value), ";");
    }
    return result_of(blob, std::move(handles));
  }
};

class First final : public tenon::Backend<First>,
                    public aot::BackendDetails<First>,
                    public PreprocessAll<First> {
 public:
  static constexpr std::string_view id = "FirstBackendWithPreprocessAll";
  using PreprocessAll::preprocess;
  using PreprocessAll::preprocess_multimethod;
  static constexpr std::string_view targets[] = {"aten.sin.default", "aten.add.Tensor"};
};

class Second final : public tenon::Backend<Second>,
                     public aot::BackendDetails<Second>,
                     public PreprocessAll<Second> {
 public:
  static constexpr std::string_view id = "SecondBackendWithPreprocessAll";
  using PreprocessAll::preprocess;
  using PreprocessAll::preprocess_multimethod;
  static constexpr std::string_view targets[] = {"aten.cos.default", "aten.sub.Tensor"};
};

class NamedDataMap final : public tenon::Backend<NamedDataMap>,
                           public aot::BackendDetails<NamedDataMap>,
                           public Delegates {
 public:
  static constexpr std::string_view id = "BackendWithNamedDataMap";

  static tenon::Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram& program,
                                                         tenon::CompileSpecs) {
    static constexpr std::string_view known[] = {"aten.sin.default", "aten.add.Tensor",
                                                 "aten.sub.Tensor", "aten.mul.Tensor",
                                                 "aten.div.Tensor"};
    aot::NamedDataStore store;
    for (std::size_t i = 0; i < program.num_nodes(); ++i) {
      const auto* const code = std::ranges::find(known, program.node(i).target());
      if (code == std::end(known)) continue;
      const auto length = static_cast<std::size_t>(code - known);
      TENON_RETURN_IF_ERROR(store.add_named_data(*code, std::vector<std::byte>(length)));
    }
    aot::PreprocessResult result;
    result.data_store_output = store.get_named_data_store_output();
    return result;
  }
};

/// Upstream's runs ExecuTorch in ExecuTorch; its tests of partitioners look at the lowered programs
/// alone.
class Executor final : public tenon::Backend<Executor>,
                       public aot::BackendDetails<Executor>,
                       public Delegates {
 public:
  static constexpr std::string_view id = "ExecutorBackend";

  static tenon::Result<aot::PreprocessResult> preprocess(const aot::EdgeProgram& program,
                                                         tenon::CompileSpecs) {
    std::string blob;
    for (std::size_t i = 0; i < program.num_nodes(); ++i) {
      blob += tenon::concat(program.node(i).target(), "\n");
    }
    return result_of(blob, {});
  }
};

}  // namespace

TENON_PLUGIN(CompilerDemo, Demo, First, Second, NamedDataMap, Executor);
