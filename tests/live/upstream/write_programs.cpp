// SPDX-License-Identifier: MIT
//
// Writes programs for written_programs.py, which reads them with ExecuTorch's own readers:
//
//   write-programs DIR COUNT [NAME/model.pte]...
//
// N.pte and N.TAG.ptd are random programs, N.json says what is in them. portable.pte and the files
// next to it are programs of portable kernels, whose numbers Python checks. stores.json holds calls
// of NamedDataStore. NAME.pte is the program of that name, written anew with a memory plan of ours.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "portable_programs.hpp"
#include "random_stores.hpp"
#include "support/random_program.hpp"
#include "tenon/aot/compiler/emit/method_memory.hpp"
#include "tenon/aot/compiler/variants/read_program.hpp"
#include "tenon/aot/compiler/write/program_check.hpp"
#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/layers/trust/sha256.hpp"

namespace tenon::test { namespace {

using nlohmann::json;

std::string hash(Bytes bytes) { return tenon::sha256_of(bytes).to_hex(); }

json layout_json(const aot::DenseLayout& layout) {
  return {{"scalar_type", static_cast<int>(layout.scalar_type)},
          {"sizes", layout.sizes},
          {"dim_order", layout.full_dim_order()}};
}

json device_json(const aot::ProgramDevice& device) {
  return {static_cast<int>(device.type), device.index};
}

json tensor_json(const aot::ProgramData& program, const aot::TensorValue& tensor) {
  json out = layout_json(tensor.layout);
  out["is_dynamic"] = tensor.is_dynamic;
  out["requires_grad"] = tensor.requires_grad;
  out["name"] = tensor.fully_qualified_name;
  out["device"] = device_json(tensor.device);
  out["storage"] = tensor.data.index();
  out["nbytes"] = tensor.layout.nbytes();
  if (const auto* place = tensor.place()) out["place"] = {place->memory_id, place->offset};
  const auto first = [&](const aot::SharedBytes& bytes) {
    return hash(bytes.bytes().first(static_cast<std::size_t>(tensor.layout.nbytes())));
  };
  if (const auto* constant = std::get_if<aot::storage::Constant>(&tensor.data)) {
    out["data"] = first(program.constants[constant->index]);
  }
  if (const auto* state = std::get_if<aot::storage::InitialState>(&tensor.data)) {
    out["data"] = first(program.initial_states[state->index]);
  }
  return out;
}

json value_json(const aot::ProgramData& program, const aot::Value& value) {
  const auto content = [&](const auto& one) -> json {
    using Kind = std::remove_cvref_t<decltype(one)>;
    if constexpr (std::is_same_v<Kind, std::monostate>) {
      return nullptr;
    } else if constexpr (std::is_same_v<Kind, aot::TensorValue>) {
      return tensor_json(program, one);
    } else if constexpr (std::is_same_v<Kind, aot::IntList> ||
                         std::is_same_v<Kind, aot::TensorList> ||
                         std::is_same_v<Kind, aot::OptionalTensorList>) {
      return one.items;
    } else {
      return one;
    }
  };
  return {{"kind", aot::detail::kind_of(value)}, {"content", std::visit(content, value)}};
}

json instruction_json(const aot::Instruction& instruction) {
  if (const auto* call = std::get_if<aot::KernelCall>(&instruction)) {
    return {"KernelCall", call->op_index, call->args};
  }
  if (const auto* call = std::get_if<aot::DelegateCall>(&instruction)) {
    return {"DelegateCall", call->delegate_index, call->args};
  }
  if (const auto* move = std::get_if<aot::MoveCall>(&instruction)) {
    return {"MoveCall", move->from, move->to};
  }
  if (const auto* jump = std::get_if<aot::JumpFalseCall>(&instruction)) {
    return {"JumpFalseCall", jump->condition, jump->destination};
  }
  return {"FreeCall", std::get<aot::FreeCall>(instruction).value};
}

json method_json(const aot::ProgramData& program, const aot::MethodData& method) {
  json out = {{"name", method.name},
              {"encoded_inputs", method.encoded_inputs},
              {"encoded_outputs", method.encoded_outputs},
              {"inputs", method.inputs},
              {"outputs", method.outputs}};
  out["values"] = out["operators"] = out["delegates"] = out["instructions"] = out["memory"] =
      json::array();
  for (const auto& value : method.values) out["values"].push_back(value_json(program, value));
  for (const auto& op : method.operators) out["operators"].push_back({op.name, op.overload});
  for (const auto& delegate : method.delegates) {
    json specs = json::array();
    for (const auto& [key, value] : delegate.compile_specs) {
      specs.push_back({key, hash(value.bytes())});
    }
    out["delegates"].push_back(
        {{"id", delegate.id}, {"processed", hash(delegate.processed.bytes())}, {"specs", specs}});
  }
  for (const auto& one : method.instructions) out["instructions"].push_back(instruction_json(one));
  for (const auto& [nbytes, device] : method.planned_memory) {
    out["memory"].push_back({nbytes, device_json(device)});
  }
  return out;
}

json named_json(const aot::NamedDataStoreOutput& data,
                const std::vector<aot::NamedEntry>& entries) {
  json out = json::array();
  for (const auto& [key, entry] : entries) {
    json one = {{"key", key}, {"data", hash(data.buffers[entry.buffer_index].bytes())}};
    if (entry.tensor_layout) one["layout"] = layout_json(*entry.tensor_layout);
    out.push_back(std::move(one));
  }
  return out;
}

Status write_random(const std::filesystem::path& directory, std::uint64_t seed) {
  const auto program = RandomProgram(seed).make();
  const auto name = std::to_string(seed);
  TENON_RETURN_IF_ERROR(aot::write_pte(program, directory / (name + ".pte")));
  json out = {{"named_data", named_json(program.named_data, program.named_data.pte_data)}};
  out["methods"] = json::array();
  out["files"] = json::object();
  for (const auto& method : program.methods) out["methods"].push_back(method_json(program, method));
  for (const auto& [tag, entries] : program.named_data.external_data) {
    const auto file = name + "." + tag + ".ptd";
    TENON_RETURN_IF_ERROR(aot::write_ptd(program.named_data.buffers, entries, directory / file));
    out["files"][file] = named_json(program.named_data, entries);
  }
  std::ofstream(directory / (name + ".json")) << out;
  return ok();
}

/// Reads a program, plans its memory anew and writes it.
Status rewrite(const std::filesystem::path& path, const std::filesystem::path& directory) {
  TENON_TRY(auto program, host::Program::open(path));
  TENON_TRY(auto described, aot::read_program(std::move(program)));
  for (auto& method : described.methods) {
    method.planned_memory.resize(1);
    for (auto& value : method.values) {
      auto* tensor = std::get_if<aot::TensorValue>(&value);
      if (tensor != nullptr && tensor->place() != nullptr) *tensor->place() = {};
    }
    aot::MethodMemoryOptions options;
    options.extra_bytes = 64;  // For XNNPACK.
    TENON_RETURN_IF_ERROR(aot::plan_method_memory(method, options));
  }
  return aot::write_pte(described, directory / (path.parent_path().filename().native() + ".pte"));
}

Status write_all(const std::filesystem::path& directory, std::uint64_t count,
                 const std::vector<std::filesystem::path>& exported) {
  std::filesystem::create_directories(directory);
  for (std::uint64_t seed = 0; seed < count; ++seed)
    TENON_RETURN_IF_ERROR(write_random(directory, seed));
  std::ofstream(directory / "stores.json") << RandomStores(1).make(1000);
  TENON_TRY(const auto portable, portable_program(false));
  TENON_RETURN_IF_ERROR(aot::write_pte(portable, directory / "portable.pte"));
  TENON_TRY(const auto external, portable_program(true));
  TENON_RETURN_IF_ERROR(aot::write_pte(external, directory / "external.pte"));
  TENON_TRY(const auto files, aot::write_external_data(external.named_data, directory));
  for (const auto& path : exported) TENON_RETURN_IF_ERROR(rewrite(path, directory));
  return files.size() == 1 ? ok() : error(Error::Internal, "expected one data file");
}

}}  // namespace tenon::test

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: write-programs DIR COUNT [NAME/model.pte]...\n", stderr);
    return 2;
  }
  const auto status =
      tenon::test::write_all(argv[1], std::stoull(argv[2]), {argv + 3, argv + argc});
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", tenon::describe(status).c_str());
  return 1;
}
