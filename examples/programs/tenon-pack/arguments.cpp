// SPDX-License-Identifier: MIT
#include "pack.hpp"

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parse_command_line.hpp"
#include "tenon/aot/compiler/emit/tensor_text.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::pack {
namespace {

constexpr const char* footer =
    "TENSOR is DTYPE:SIZES or DTYPE:SIZES:dynamic. DTYPE is ExecuTorch's name: Float, Half, Int, "
    "...\n"
    "SIZES have commas between them; a scalar has none. With :dynamic they are the largest ones.\n"
    "\n"
    "Examples:\n"
    "  tenon-pack model.onnx --backend AcmeBackend --input Float:8,16 --output Float:8,4 "
    "-o model.pte\n"
    "  tenon-pack model.bin --backend AcmeBackend --input Long:1,512:dynamic --input Bool: "
    "--output Half:1,512,64:dynamic --spec mode=fast --data weights=model.weights -o model.pte\n"
    "\n"
    "Exit codes:\n"
    "  0  success\n"
    "  2  wrong usage, or a file cannot be read or written\n";

Status wrong(const auto&... parts) {
  return error(Error::InvalidArgument, parts..., " (see tenon-pack --help)");
}

Result<std::vector<std::pair<std::string, std::string>>> read_pairs(
    const std::vector<std::string>& texts, std::string_view option, std::string_view form) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& text : texts) {
    TENON_TRY(auto pair, key_and_value("tenon-pack", text, option, form));
    out.push_back(std::move(pair));
  }
  return out;
}

}  // namespace

Result<std::variant<Arguments, PrintAndExit>> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> specs;
  std::vector<std::string> data;
  std::vector<std::string> golden;
  CLI::App app(
      "Wraps a blob of an existing runtime, unchanged, in an ExecuTorch program (.pte): a method "
      "with\n"
      "one call of one delegate.",
      "tenon-pack");
  app.add_option("BLOB", arguments.blob,
                 "The bytes for the backend's `init`: a model of its runtime")
      ->type_name("FILE");
  app.add_option("--backend", arguments.backend, "The backend's id")->type_name("ID");
  add_list(app, "--input", inputs, "TENSOR", "An input, in the order of the call; repeatable");
  add_list(app, "--output", outputs, "TENSOR", "An output, in the order of the call; repeatable");
  add_list(app, "--spec", specs, "KEY=VALUE", "A compile spec for `init`; repeatable");
  add_list(app, "--data", data, "KEY=FILE", "Named data, stored in the program; repeatable");
  add_list(app, "--golden", golden, "FILE.npy[,...]=FILE.npy[,...]",
           "A golden case, by which a host proves a device: the inputs of a run, and its outputs; "
           "repeatable");
  app.add_option("--method", arguments.method, "The method's name (default: forward)")
      ->type_name("NAME");
  app.add_option("-o", arguments.program, "The program to write")->type_name("FILE.pte");
  app.add_flag("--onnx", arguments.onnx,
               "Write an ONNX model for ONNX Runtime instead, whose node has the method's name");
  app.add_flag("--json", arguments.json, "Print one JSON object instead of text");
  TENON_TRY(auto instead, parse_command_line(app, footer, argc, argv));
  if (instead) return std::variant<Arguments, PrintAndExit>(*std::move(instead));
  if (arguments.blob.empty()) return wrong("expected BLOB, found none");
  if (arguments.backend.empty()) return wrong("expected --backend ID, found none");
  if (arguments.method.empty()) return wrong("--method: the name is empty");
  if (outputs.empty()) return wrong("expected an --output or more, found none");
  if (arguments.program.empty()) return wrong("expected -o FILE.pte, found none");
  TENON_TRY(arguments.inputs, aot::parse_tensors(inputs, "--input"));
  TENON_TRY(arguments.outputs, aot::parse_tensors(outputs, "--output"));
  TENON_TRY(arguments.specs, read_pairs(specs, "--spec", "KEY=VALUE"));
  TENON_TRY(arguments.data, read_pairs(data, "--data", "KEY=FILE"));
  TENON_TRY(arguments.golden, read_pairs(golden, "--golden", "FILE.npy[,...]=FILE.npy[,...]"));
  return std::variant<Arguments, PrintAndExit>(std::move(arguments));
}

}  // namespace tenon::pack
