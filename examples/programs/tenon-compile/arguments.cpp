// SPDX-License-Identifier: MIT
#include "compile.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

#include "parse_command_line.hpp"
#include "variants.hpp"

namespace tenon::compile {
namespace {

constexpr const char* footer =
    "Examples:\n"
    "  tenon-compile model.pt2 --backend AcmeBackend -o model.pte\n"
    "  tenon-compile model.pt2 --backend AcmeBackend --plugin ./libacme.so --spec mode=fast "
    "-o model.pte\n"
    "  tenon-compile model.pt2 --backend FirstBackend --backend SecondBackend "
    "--spec FirstBackend.mode=fast -o model.pte\n"
    "  tenon-compile --method encode=encoder.pt2 --method decode=decoder.pt2 -o model.pte\n"
    "  tenon-compile model.pt2 --aoti compiled.pt2 -o model.pte\n"
    "  tenon-compile model.pt2 --backend FirstBackend --variant SecondBackend:GPU "
    "--variant other.pte -o model.pte\n"
    "  tenon-compile model.pte --strip-variants best -o small.pte\n"
    "  tenon-compile model.pt2 --print-graph\n"
    "\n"
    "Exit codes:\n"
    "  0  success\n"
    "  1  a backend refused, or a node has neither backend nor kernel\n"
    "  2  wrong usage\n"
    "  3  an archive or a plugin is not valid\n"
    "  4  no such backend, or it cannot compile\n";

Status wrong(const auto&... parts) {
  return error(Error::InvalidArgument, parts..., " (see tenon-compile --help)");
}

Status read_methods(const std::vector<std::string>& texts, Arguments& arguments) {
  for (const std::string& text : texts) {
    TENON_TRY(auto method, key_and_value("tenon-compile", text, "--method", "NAME=FILE.pt2"));
    if (method.second.empty()) {
      return error(Error::InvalidArgument, "--method ", text, ": the file's name is empty");
    }
    arguments.methods.push_back(std::move(method));
  }
  return ok();
}

/// "KEY=VALUE" is for all backends, "BACKEND.KEY=VALUE" for the one of that id when it was given,
/// "VARIANT.KEY=VALUE" for all of a variant.
Status read_specs(const std::vector<std::string>& texts, Arguments& arguments) {
  for (const std::string& text : texts) {
    TENON_TRY(auto parts,
              key_and_value("tenon-compile", text, "--spec", "KEY=VALUE or BACKEND.KEY=VALUE"));
    Spec spec{std::nullopt, std::move(parts.first), std::move(parts.second)};
    const auto take = [&](std::optional<std::string>& of, const std::string& name) {
      if (spec.backend || spec.variant || !spec.key.starts_with(name + ".")) return;
      of = name;
      spec.key.erase(0, name.size() + 1);
    };
    for (const std::string& backend : arguments.backends) take(spec.backend, backend);
    for (const VariantArgument& variant : arguments.variants) {
      for (const std::string& backend : variant.backends) take(spec.backend, backend);
    }
    for (const VariantArgument& variant : arguments.variants) {
      if (!variant.backends.empty()) take(spec.variant, variant.name);
    }
    if (spec.key.empty()) {
      return error(Error::InvalidArgument, "--spec ", text, ": the key is empty");
    }
    arguments.specs.push_back(std::move(spec));
  }
  return ok();
}

Status read_variants(const std::vector<std::string>& texts, Arguments& arguments) {
  for (const std::string& text : texts) {
    TENON_TRY(VariantArgument variant, read_variant_argument(text));
    arguments.variants.push_back(std::move(variant));
  }
  return ok();
}

/// Refuses options that have no meaning for a program that was written before.
Status check_variants(const Arguments& arguments) {
  const bool is_program = arguments.model.ends_with(".pte");
  bool compiles = false;
  for (const VariantArgument& one : arguments.variants) compiles |= one.file.empty();
  if (compiles && (is_program || !arguments.aoti.empty())) {
    return wrong("--variant of backends needs MODEL.pt2 without --aoti; name a FILE.pte");
  }
  if (arguments.strip_variants && (!is_program || !arguments.variants.empty())) {
    return wrong("--strip-variants needs MODEL.pte, without --variant");
  }
  if (!is_program) return ok();
  if (arguments.variants.empty() && !arguments.strip_variants) {
    return wrong(arguments.model, ": a program needs --variant or --strip-variants");
  }
  if (arguments.output.empty()) return wrong("a program needs -o FILE.pte");
  if (!arguments.methods.empty() || !arguments.backends.empty() || !arguments.aoti.empty() ||
      !arguments.specs.empty() || arguments.external_constants || arguments.debug_handles ||
      arguments.no_partition || arguments.print_graph || arguments.print_ops_to_not_decompose ||
      arguments.golden) {
    return wrong(arguments.model, ": nothing of a program is compiled");
  }
  if (!arguments.plugins.empty() && arguments.strip_variants != "best") {
    return wrong("--plugin is for --strip-variants best");
  }
  return ok();
}

Status read_aoti_keys(const std::optional<std::string>& text, Arguments& arguments) {
  if (!text) return ok();
  if (arguments.aoti.empty()) {
    return wrong("--aoti-keys without --aoti");
  }
  if (*text != "content" && *text != "method") {
    return wrong("--aoti-keys ", *text, ": expected content or method");
  }
  if (*text == "method") arguments.aoti_keys = aot::AotiKeys::Method;
  return ok();
}

/// The command line of golden cases, as texts and numbers.
struct GoldenArguments {
  std::optional<std::size_t> cases;
  std::optional<std::uint64_t> seed;
  std::optional<double> tolerance;
};

Status read_golden(const GoldenArguments& from, Arguments& arguments) {
  if (!from.cases) {
    if (from.seed) return wrong("--golden-seed without --golden");
    if (from.tolerance) return wrong("--golden-tolerance without --golden");
    if (!arguments.golden_reference.empty()) return wrong("--golden-reference without --golden");
    return ok();
  }
  if (*from.cases == 0) return wrong("--golden 0: expected a case or more");
  if (from.tolerance && !(*from.tolerance >= 0 && *from.tolerance < 1)) {
    return wrong("--golden-tolerance ", *from.tolerance, ": expected a number from 0 to below 1");
  }
  if (arguments.output.empty()) return wrong("--golden needs -o FILE.pte");
  arguments.golden = {*from.cases, from.seed.value_or(0), from.tolerance};
  return ok();
}

/// Refuses options that have no meaning with or without --aoti.
Status check_aoti(const Arguments& arguments) {
  if (arguments.aoti.empty()) {
    if (!arguments.aoti_weights.empty()) return wrong("--aoti-weights without --aoti");
    if (arguments.external_weights) return wrong("--external-weights without --aoti");
    if (arguments.keep_symbols) return wrong("--keep-symbols without --aoti");
    if (arguments.cpu_features) return wrong("--cpu-features without --aoti");
    return ok();
  }
  if (!arguments.aoti_weights.empty() && arguments.aoti.ends_with(".pt2")) {
    return wrong("--aoti-weights is for a library; ", arguments.aoti, " holds its weights");
  }
  if (arguments.output.empty()) return wrong("--aoti needs -o FILE.pte");
  if (arguments.backends.size() > 1) {
    return wrong("--aoti takes one --backend, found ", arguments.backends.size());
  }
  if (!arguments.plugins.empty()) return wrong("--aoti loads no --plugin");
  if (arguments.no_partition) return wrong("--no-partition is not for --aoti");
  if (arguments.external_constants) return wrong("--external-constants is not for --aoti");
  if (arguments.debug_handles) return wrong("--debug-handles is not for --aoti");
  if (arguments.print_ops_to_not_decompose) {
    return wrong("--print-ops-to-not-decompose is not for --aoti");
  }
  return ok();
}

/// Refuses options that exclude each other.
Status check(const Arguments& arguments) {
  if (arguments.model.empty() && arguments.methods.empty()) {
    return wrong("expected MODEL or --method, found neither");
  }
  const bool prints = arguments.print_graph || arguments.print_ops_to_not_decompose;
  if (arguments.output.empty() && !prints) {
    return wrong("expected -o FILE.pte or something to print, found neither");
  }
  if (arguments.json && prints) {
    return wrong("--json cannot be given together with --print-...");
  }
  if (arguments.print_ops_to_not_decompose && arguments.backends.empty()) {
    return wrong("--print-ops-to-not-decompose needs a --backend");
  }
  TENON_RETURN_IF_ERROR(check_variants(arguments));
  const bool compiles = !arguments.backends.empty() || !arguments.variants.empty();
  if (!compiles && arguments.aoti.empty() && !arguments.specs.empty()) {
    return wrong("--spec without --backend");
  }
  if (arguments.no_partition && arguments.backends.size() != 1) {
    return wrong("--no-partition needs one --backend, found ", arguments.backends.size());
  }
  for (std::size_t i = 0; i < arguments.backends.size(); ++i) {
    const auto& id = arguments.backends[i];
    if (id.empty()) return wrong("--backend: the id is empty");
    if (std::ranges::count(arguments.backends, id) != 1) return wrong("--backend ", id, ": twice");
  }
  return check_aoti(arguments);
}

}  // namespace

Result<std::variant<Arguments, PrintAndExit>> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  std::vector<std::string> methods;
  std::vector<std::string> specs;
  std::vector<std::string> variants;
  std::optional<std::string> aoti_keys;
  GoldenArguments golden;
  CLI::App app(
      "Compiles models that PyTorch exported (.pt2) with the backends of plugins and writes an\n"
      "ExecuTorch program (.pte). Kernels run the nodes that no backend takes.",
      "tenon-compile");
  app.add_option("MODEL", arguments.model,
                 "The archive that torch.export.save wrote; a program (.pte) for --variant FILE "
                 "and --strip-variants")
      ->type_name("FILE.pt2");
  add_list(app, "--backend", arguments.backends, "ID",
           "Backend that may take nodes; repeatable, in the order of asking");
  add_list(app, "--variant", variants, "[NAME=]ID[+ID...][:TARGET]|[NAME=]FILE.pte",
           "A further variant of the methods, the most wanted first: the model compiled by other "
           "backends, or another program; repeatable. Runtimes without variants run the program of "
           "--backend");
  app.add_option("--strip-variants", arguments.strip_variants,
                 "Keep one variant of each method of MODEL.pte: NAME, or with `best` the variant "
                 "that would run here")
      ->type_name("NAME");
  add_list(app, "--plugin", arguments.plugins, "FILE",
           "Plugin to use before all found plugins; repeatable");
  add_list(app, "--spec", specs, "KEY=VALUE",
           "Compile spec for all backends, or for one: BACKEND.KEY=VALUE, or for a variant: "
           "VARIANT.KEY=VALUE; repeatable");
  add_list(app, "--method", methods, "NAME=FILE.pt2",
           "A further method, from an archive with one model; repeatable");
  app.add_option("-o,--output", arguments.output, "The program to write")->type_name("FILE.pte");
  app.add_option("--external", arguments.external,
                 "Directory for the .ptd files of backends (default: the program's)")
      ->type_name("DIR");
  app.add_option("--external-constants", arguments.external_constants,
                 "Put the constants of nodes that are left to kernels into NAME.ptd")
      ->type_name("NAME");
  app.add_option(
         "--aoti", arguments.aoti,
         "Models that AOTInductor compiled, for all methods: an archive (.pt2) or a library")
      ->type_name("FILE");
  app.add_option("--aoti-weights", arguments.aoti_weights, "The weights of a library")
      ->type_name("FILE");
  app.add_option("--aoti-keys", aoti_keys,
                 "Name libraries and weights by their content (default), or by the method")
      ->type_name("content|method");
  app.add_flag("--external-weights", arguments.external_weights,
               "Put the weights of --aoti into aoti_DEVICE_blob.ptd (always for CUDA)");
  app.add_flag("--keep-symbols", arguments.keep_symbols,
               "Keep the symbol tables and debug information of the libraries of --aoti");
  app.add_option("--cpu-features", arguments.cpu_features,
                 "CPU features that the code of --aoti needs, such as avx2,fma or x86-64-v3 "
                 "(default: read from its instructions, where that is possible)")
      ->type_name("LIST");
  app.add_flag("--debug-handles", arguments.debug_handles,
               "Store the names of nodes and their debug handles in the program, for tenon-run "
               "--compare-layers");
  app.add_option(
         "--golden", golden.cases,
         "Store N golden cases of each method, by which a host proves a device (tenon-doctor "
         "--prove): random inputs, and what kernels compute of them")
      ->type_name("N");
  app.add_option("--golden-seed", golden.seed, "The seed of their inputs (default: 0)")
      ->type_name("N");
  app.add_option("--golden-tolerance", golden.tolerance,
                 "How far outputs may be from them, over themselves and over their largest value "
                 "(default: by dtype, 1e-3 for Float)")
      ->type_name("R");
  app.add_option("--golden-reference", arguments.golden_reference,
                 "Backend that computes them instead of kernels")
      ->type_name("ID");
  app.add_flag("--no-partition", arguments.no_partition,
               "Give the backend all nodes, without asking which ones it takes");
  app.add_flag("--print-graph", arguments.print_graph,
               "Print the graphs; without -o, do nothing else");
  app.add_flag("--print-ops-to-not-decompose", arguments.print_ops_to_not_decompose,
               "Print the operators that the backends want undecomposed; without -o, do nothing "
               "else");
  app.add_flag("--strict", arguments.strict,
               "Fail on a --spec or --plugin without effect, instead of warning");
  app.add_flag("--json", arguments.json, "Print one JSON object instead of text");
  TENON_TRY(auto instead, parse_command_line(app, footer, argc, argv));
  if (instead) return std::variant<Arguments, PrintAndExit>(*std::move(instead));
  TENON_RETURN_IF_ERROR(read_methods(methods, arguments));
  TENON_RETURN_IF_ERROR(read_variants(variants, arguments));
  TENON_RETURN_IF_ERROR(read_specs(specs, arguments));
  TENON_RETURN_IF_ERROR(read_aoti_keys(aoti_keys, arguments));
  TENON_RETURN_IF_ERROR(read_golden(golden, arguments));
  TENON_RETURN_IF_ERROR(check(arguments));
  return std::variant<Arguments, PrintAndExit>(std::move(arguments));
}

}  // namespace tenon::compile
