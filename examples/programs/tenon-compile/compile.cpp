// SPDX-License-Identifier: MIT
#include "compile.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/instruction_decoder.hpp"
#include "cpu_features.hpp"
#include "isolated_files.hpp"
#include "tenon/abi/draft/aoti_export.h"
#include "tenon/aot/compiler/aoti/aoti_package.hpp"
#include "tenon/aot/compiler/aoti/strip_library.hpp"
#include "tenon/aot/compiler/compile_methods.hpp"
#include "tenon/aot/compiler/emit/emit.hpp"
#include "tenon/aot/compiler/golden.hpp"
#include "tenon/aot/compiler/lower/edge_program_text.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/compiler/program_in_memory.hpp"
#include "tenon/aot/compiler/pt2/reader.hpp"
#include "tenon/aot/compiler/variants/read_program.hpp"
#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/core/aoti_names.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/platform/new_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/signatures.hpp"
#include "unused_plugin.hpp"
#include "variants.hpp"

namespace tenon::compile {
namespace {

using host::path_of;

/// The warning for a compile spec of the command line that no delegate of `program` has, with the
/// place at which it was lost; empty when one has it.
///
/// A backend's `partition` receives all specs, and decides which of them its partitions keep; only
/// these reach `preprocess` and are stored in the program.
std::string unused_spec_warning(const Spec& spec, const aot::ProgramData& program) {
  std::vector<std::string> asked;  // The backends whose delegates could have it.
  for (const aot::MethodData& method : program.methods) {
    for (const aot::DelegateData& delegate : method.delegates) {
      if (spec.backend.value_or(delegate.id) != delegate.id) continue;
      if (std::ranges::find(delegate.compile_specs, spec.key, &aot::CompileSpecData::key) !=
          delegate.compile_specs.end()) {
        return {};
      }
      if (std::ranges::find(asked, delegate.id) == asked.end()) asked.push_back(delegate.id);
    }
  }
  const std::string name = concat("--spec ", spec.backend ? *spec.backend + "." : "", spec.key,
                                  ": reaches no delegate: ");
  if (asked.empty()) {
    return concat(name, spec.backend ? *spec.backend : std::string("no backend"), " took ",
                  spec.backend ? "no node" : "a node");
  }
  return concat(name, "`partition` of ", join(asked, ", "),
                " got it and passed it on to none of its partitions");
}

/// One run of the program, stage by stage. A stage that fails decides the exit code.
class Compilation {
 public:
  Compilation(const Arguments& arguments, std::function<host::SearchReport()> search)
      : arguments_(arguments) {
    registry_.add_search(std::move(search));
  }

  [[nodiscard]] Report run() && {
    if (arguments_.model.ends_with(".pte")) return std::move(*this).change_program();
    if (!arguments_.aoti.empty()) return std::move(*this).pack();
    stage(ExitCode::wrong_usage, &Compilation::check_paths) &&
        stage(ExitCode::invalid_file, &Compilation::read_models) &&
        stage(ExitCode::wrong_usage, &Compilation::name_methods) && print_graphs() &&
        stage(ExitCode::invalid_file, &Compilation::add_plugins) &&
        stage(ExitCode::no_backend, &Compilation::find_backends) &&
        stage(ExitCode::failed, &Compilation::print_operators) && !arguments_.output.empty() &&
        stage(ExitCode::failed, &Compilation::compile_all) &&
        stage(ExitCode::wrong_usage, &Compilation::check_effect) &&
        stage(ExitCode::wrong_usage, &Compilation::write_files);
    return std::move(report_);
  }

 private:
  /// Nothing is compiled here: AOTInductor did it.
  [[nodiscard]] Report pack() && {
    stage(ExitCode::wrong_usage, &Compilation::check_paths) &&
        stage(ExitCode::invalid_file, &Compilation::read_models) &&
        stage(ExitCode::wrong_usage, &Compilation::name_methods) && print_graphs() &&
        stage(ExitCode::invalid_file, &Compilation::read_compiled_models) &&
        stage(ExitCode::invalid_file, &Compilation::strip_compiled_models) &&
        stage(ExitCode::wrong_usage, &Compilation::name_cpu_features) &&
        stage(ExitCode::wrong_usage, &Compilation::match_compiled_models) &&
        stage(ExitCode::failed, &Compilation::pack_all) &&
        stage(ExitCode::wrong_usage, &Compilation::check_effect) &&
        stage(ExitCode::wrong_usage, &Compilation::write_files);
    return std::move(report_);
  }

  /// The model is a program that was written before.
  [[nodiscard]] Report change_program() && {
    stage(ExitCode::wrong_usage, &Compilation::check_paths) &&
        stage(ExitCode::invalid_file, &Compilation::add_plugins) &&
        stage(ExitCode::invalid_file, &Compilation::open_program) &&
        (arguments_.strip_variants ? stage(code_of_stripping(), &Compilation::strip_variants)
                                   : stage(ExitCode::invalid_file, &Compilation::join_programs)) &&
        stage(ExitCode::wrong_usage, &Compilation::check_effect) &&
        stage(ExitCode::wrong_usage, &Compilation::write_files);
    return std::move(report_);
  }

  [[nodiscard]] ExitCode code_of_stripping() const {
    return arguments_.strip_variants == "best" ? ExitCode::no_backend : ExitCode::wrong_usage;
  }

  bool stage(ExitCode code, Status (Compilation::*step)()) {
    report_.failure = (this->*step)();
    if (report_.failure.ok()) return true;
    report_.code = code;
    return false;
  }

  /// False when nothing else was asked for.
  bool print_graphs() {
    if (arguments_.print_graph) {
      for (const aot::EdgeProgram& method : methods_) report_.printed += aot::to_text(method);
    }
    return !arguments_.output.empty() || arguments_.print_ops_to_not_decompose;
  }

  /// Each operator once, sorted.
  Status print_operators() {
    if (!arguments_.print_ops_to_not_decompose) return ok();
    std::set<std::string> operators;
    for (const aot::BackendToUse& use : backends_) {
      for (const aot::EdgeProgram& method : methods_) {
        TENON_TRY(auto kept, use.backend.ops_to_not_decompose(method));
        operators.insert(kept.begin(), kept.end());
      }
    }
    for (const std::string& one : operators) report_.printed += one + "\n";
    return ok();
  }

  /// All archives, the one without a name first.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> archives() const {
    auto out = arguments_.methods;
    if (!arguments_.model.empty()) out.insert(out.begin(), {std::string(), arguments_.model});
    return out;
  }

  Status check_paths() {
    auto read = archives();
    read.emplace_back(std::string(), arguments_.aoti);
    read.emplace_back(std::string(), arguments_.aoti_weights);
    for (const VariantArgument& one : arguments_.variants) {
      read.emplace_back(std::string(), one.file);
    }
    for (const auto& [name, path] : read) {
      std::error_code failed;
      if (!std::filesystem::equivalent(path_of(path), path_of(arguments_.output), failed) || failed)
        continue;
      return error(Error::InvalidArgument, arguments_.output, ": is read, and cannot be written");
    }
    return ok();
  }

  Status read_models() {
    const auto content =
        arguments_.aoti.empty() ? aot::Pt2Content::Graph : aot::Pt2Content::Signature;
    for (const auto& [name, path] : archives()) {
      TENON_TRY(aot::Pt2Program program, aot::read_pt2(path_of(path), {}, content));
      models_.push_back({name, path, std::move(program)});
    }
    return ok();
  }

  /// Gives each method the name that was asked for.
  Status name_methods() {
    for (const Model& model : models_) {
      if (!model.name.empty() && model.program.methods.size() != 1) {
        return error(Error::InvalidArgument, "--method ", model.name, ": ", model.path, " holds ",
                     model.program.methods.size(), " models, expected one");
      }
      for (const aot::Pt2Method& method : model.program.methods) {
        const std::string& name =
            names_.emplace_back(model.name.empty() ? method.name : model.name);
        for (const aot::EdgeProgram& other : methods_) {
          if (other.method_name() != name) continue;
          return error(Error::InvalidArgument, model.path, ": there is a method ",
                       host::quoted(name), " already; name one with --method NAME=FILE.pt2");
        }
        tenon_edge_program& renamed = renamed_.emplace_back(method.program.view().raw());
        renamed.method_name = name.c_str();
        methods_.emplace_back(renamed);
        report_.methods.push_back({name, {}, {}, method.left_out});
      }
    }
    return ok();
  }

  Status add_plugins() {
    for (const std::string& plugin : arguments_.plugins) {
      TENON_TRY(const auto record, host::peek(path_of(plugin)));
      auto& ids = plugins_.emplace_back(plugin, std::vector<std::string>()).second;
      for (const host::BackendRecord& backend : record.backends) ids.push_back(backend.id);
      TENON_RETURN_IF_ERROR(registry_.register_backend(path_of(plugin)));
    }
    return ok();
  }

  Status find_backends() {
    TENON_TRY(backends_, find_these(arguments_.backends, nullptr));
    for (const VariantArgument& one : arguments_.variants) {
      TENON_TRY(auto found, find_these(one.backends, &one));
      variant_backends_.push_back(std::move(found));
    }
    return ok();
  }

  /// `variant` is null for the backends of --backend.
  Result<std::vector<aot::BackendToUse>> find_these(const std::vector<std::string>& ids,
                                                    const VariantArgument* variant) {
    std::vector<aot::BackendToUse> out;
    for (const std::string& id : ids) {
      auto backend = aot::PluginPreprocess::find(registry_, id);
      if (!backend.ok()) return name_aoti(std::move(backend).status(), id);
      aot::BackendToUse use{*std::move(backend), {}, !variant && arguments_.no_partition};
      if (variant && !variant->target.empty()) {
        use.compile_specs.push_back({"device", aot::SharedBytes::copy_of(variant->target)});
      }
      for (const Spec& spec : arguments_.specs) {
        if (spec.backend.value_or(id) != id) continue;
        if (spec.variant && (!variant || *spec.variant != variant->name)) continue;
        use.compile_specs.push_back({spec.key, aot::SharedBytes::copy_of(spec.value)});
      }
      out.push_back(std::move(use));
    }
    return out;
  }

  /// Adds the option for models of AOTInductor where the backend runs those, and compiles none.
  Status name_aoti(Status failure, std::string_view id) const {
    if (failure.error() != Error::NotSupported) return failure;
    const auto backend = registry_.lookup_backend(id);
    if (!backend.ok() ||
        !(*backend)->extension<tenon_aoti_export_v1>(TENON_EXTENSION_AOTI_EXPORT)) {
      return failure;
    }
    return error(failure.error(), failure.text(), "; ", id,
                 " runs what AOTInductor compiled, which --aoti FILE packs");
  }

  Status compile_all() {
    TENON_TRY(const auto compiled, aot::compile_methods(methods_, backends_));
    for (std::size_t i = 0; i < compiled.size(); ++i) describe(compiled[i], report_.methods[i]);
    aot::EmitOptions options;
    options.external_constants = arguments_.external_constants;
    options.debug_handles = arguments_.debug_handles;
    TENON_TRY(program_, aot::emit(compiled, options));
    TENON_RETURN_IF_ERROR(add_variants(options));
    TENON_RETURN_IF_ERROR(add_golden());
    return make_image();
  }

  /// Stores what kernels, or the backend that is named, compute of random inputs.
  Status add_golden() {
    if (!arguments_.golden) return ok();
    const auto add = [&]() -> Status {
      std::vector<std::string> ids;
      if (!arguments_.golden_reference.empty()) ids.push_back(arguments_.golden_reference);
      TENON_TRY(const auto backends, find_these(ids, nullptr));
      TENON_TRY(const auto compiled, aot::compile_methods(methods_, backends));
      TENON_TRY(const auto reference, aot::make_program(compiled, "the reference"));
      host::MethodOptions options;
      options.registry = &registry_;
      TENON_TRY(auto cases, aot::make_golden(methods_, reference, options, *arguments_.golden));
      return aot::set_golden(program_, std::move(cases));
    };
    return add().with_context("--golden");
  }

  /// Joins what was compiled with the variants that were asked for, the most wanted first.
  Status add_variants(const aot::EmitOptions& options) {
    if (arguments_.variants.empty()) return ok();
    std::vector<aot::VariantToMerge> all;
    all.push_back({std::move(program_), {}, 0, needs_of(backends_)});
    auto priority = static_cast<std::int32_t>(arguments_.variants.size());
    for (std::size_t i = 0; i < arguments_.variants.size(); ++i) {
      const VariantArgument& one = arguments_.variants[i];
      auto made = one.file.empty() ? compile_variant(variant_backends_[i], options)
                                   : read_program_file(one.file);
      if (!made.ok()) {
        return std::move(made).status().with_context(concat("--variant ", one.text));
      }
      aot::NeedsByBackend needs;
      if (one.file.empty()) needs = needs_of(variant_backends_[i]);
      all.push_back({*std::move(made), one.name, priority--, std::move(needs)});
    }
    TENON_TRY(program_, join_variants(std::move(all), report_.variants));
    return ok();
  }

  Result<aot::ProgramData> compile_variant(std::span<const aot::BackendToUse> backends,
                                           const aot::EmitOptions& options) {
    TENON_TRY(const auto compiled, aot::compile_methods(methods_, backends));
    return aot::emit(compiled, options);
  }

  Status open_program() {
    TENON_TRY(opened_, host::Variants::open(path_of(arguments_.model)));
    return ok();
  }

  Status join_programs() {
    TENON_TRY(program_, aot::read_program(opened_));
    TENON_RETURN_IF_ERROR(add_variants({}));
    return make_image();
  }

  Status strip_variants() {
    auto stripped = strip_program(opened_, *arguments_.strip_variants, registry_, report_.variants);
    TENON_TRY(program_, std::move(stripped));
    return make_image();
  }

  Status make_image() {
    aot::PteOptions options;
    if (!arguments_.variants.empty()) options.segment_alignment = aot::variants_alignment;
    TENON_TRY(aot::FileImage image, aot::make_pte(program_, options));
    image_.emplace(std::move(image));
    return ok();
  }

  /// Finds arguments without effect, and fails for them with --strict.
  Status check_effect() {
    for (const Spec& spec : arguments_.specs) warn(unused_spec_warning(spec, program_));
    for (const auto& [path, ids] : plugins_) {
      if (arguments_.strip_variants) break;
      warn(tool::unused_plugin_warning(path, ids, "--backend names", named_backends()));
    }
    if (!arguments_.strict || report_.warnings.empty()) return ok();
    Status failure = error(Error::InvalidArgument, report_.warnings.front());
    report_.warnings.erase(report_.warnings.begin());
    return failure;
  }

  [[nodiscard]] std::vector<std::string> named_backends() const {
    std::vector<std::string> out = arguments_.backends;
    for (const VariantArgument& one : arguments_.variants) {
      out.insert(out.end(), one.backends.begin(), one.backends.end());
    }
    return out;
  }

  void warn(std::string text) {
    if (!text.empty()) report_.warnings.push_back(std::move(text));
  }

  Status read_compiled_models() {
    if (arguments_.aoti.ends_with(".pt2")) {
      TENON_TRY(compiled_, aot::read_aoti_package(path_of(arguments_.aoti)));
      return ok();
    }
    std::optional<std::filesystem::path> weights;
    if (!arguments_.aoti_weights.empty()) weights = path_of(arguments_.aoti_weights);
    TENON_TRY(aot::AotiModel model, aot::read_aoti_library(path_of(arguments_.aoti), weights));
    if (const char* device = known_device()) model.torch_device = device;
    compiled_.push_back(std::move(model));
    return ok();
  }

  /// A library whose symbols cannot be removed without a loss keeps them, with a warning.
  Status strip_compiled_models() {
    for (aot::AotiModel& model : compiled_) {
      if (arguments_.keep_symbols) break;
      auto stripped = aot::strip_library(model.library);
      if (stripped.ok()) {
        model.library = *std::move(stripped);
      } else if (stripped.error() == Error::NotSupported) {
        warn(concat(place_of(model), ": the library keeps its symbols: ", stripped.text()));
      } else {
        return std::move(stripped).status().with_context(arguments_.aoti);
      }
    }
    return ok();
  }

  /// AOTInductor does not note which processors its code runs on.
  Status name_cpu_features() {
    for (aot::AotiModel& model : compiled_) {
      auto found = find_cpu_features(model.library.bytes(), arguments_.cpu_features,
                                     aoti_common::instruction_decoder());
      if (!found.ok()) {
        return std::move(found).status().with_context(place_of(model));
      }
      model.cpu_features = *std::move(found);
    }
    return ok();
  }

  [[nodiscard]] std::string place_of(const aot::AotiModel& model) const {
    return concat("--aoti ", arguments_.aoti, model.name.empty() ? "" : ": model ", model.name);
  }

  /// A library does not say which device it is for; the backend's id does.
  [[nodiscard]] const char* known_device() const {
    for (const aoti::ModelDevice& one : aoti::model_devices) {
      const bool is_it = arguments_.backends.empty() ? one.name == "cpu"
                                                     : arguments_.backends[0] == one.backend_id;
      if (is_it) return one.torch_name.data();
    }
    return nullptr;
  }

  /// The compiled model of each method: the model of its name, or the only model for the only
  /// method.
  Status match_compiled_models() {
    for (const aot::EdgeProgram& method : methods_) {
      const aot::AotiModel* found = nullptr;
      for (const aot::AotiModel& model : compiled_) {
        if (model.name == method.method_name()) found = &model;
      }
      if (found == nullptr && methods_.size() == 1 && compiled_.size() == 1) found = &compiled_[0];
      if (found == nullptr) {
        return error(Error::InvalidArgument, arguments_.aoti, ": has no model for method ",
                     host::quoted(method.method_name()), ", found ", names_of(compiled_));
      }
      packed_.push_back({method, found});
    }
    return ok();
  }

  static std::string names_of(const std::vector<aot::AotiModel>& models) {
    constexpr std::size_t shown = 8;
    std::string out;
    for (std::size_t i = 0; i < models.size() && i < shown; ++i) {
      const std::string_view name = models[i].name;
      out +=
          concat(out.empty() ? "" : ", ", name.empty() ? "one without a name" : host::quoted(name));
    }
    return models.size() > shown ? out + ", ..." : out;
  }

  Status pack_all() {
    aot::AotiOptions options;
    options.keys = arguments_.aoti_keys;
    if (!arguments_.backends.empty()) options.backend_id = arguments_.backends[0];
    if (arguments_.external_weights) options.external_weights = true;
    for (const Spec& spec : arguments_.specs) {
      options.compile_specs.push_back({spec.key, aot::SharedBytes::copy_of(spec.value)});
    }
    TENON_TRY(program_, aot::make_aoti_program(packed_, options));
    for (std::size_t i = 0; i < packed_.size(); ++i) {
      const aot::EdgeProgram& graph = packed_[i].program;
      Method& method = report_.methods[i];
      for (std::size_t node = 0; node < graph.num_nodes(); ++node) {
        ++method.delegation.delegation_by_operator[std::string(graph.node(node).target())]
              .delegated;
      }
      method.delegation.num_delegated_subgraphs = 1;
      method.delegation.num_delegated_nodes = graph.num_nodes();
      const auto& data = delegate_of(graph.method_name());
      const aot::AotiModel& model = *packed_[i].model;
      method.delegates.push_back(
          {data.id, graph.num_nodes(), data.processed.size(),
           concat("AOTInductor for ", model.torch_device.empty() ? "?" : model.torch_device,
                  ", library of ", model.library.size(), " bytes, weights of ",
                  model.weights ? model.weights->size() : 0, " bytes, CPU features ",
                  !model.cpu_features           ? "not known"
                  : model.cpu_features->empty() ? "none"
                                                : std::string_view(*model.cpu_features)),
           model.cpu_features});
    }
    TENON_RETURN_IF_ERROR(add_variants({}));
    TENON_RETURN_IF_ERROR(add_golden());
    return make_image();
  }

  [[nodiscard]] const aot::DelegateData& delegate_of(std::string_view method) const {
    return std::ranges::find(program_.methods, method, &aot::MethodData::name)->delegates[0];
  }

  static void describe(const aot::CompiledMethod& compiled, Method& method) {
    method.delegation = aot::get_delegation_info(compiled.program);
    for (std::size_t i = 0; i < compiled.results.size(); ++i) {
      const aot::LoweredPartition& part = compiled.program.partitions[i];
      const aot::PreprocessResult& result = compiled.results[i];
      method.delegates.push_back({part.backend_id, part.nodes.size(), result.processed_bytes.size(),
                                  result.delegate_info});
    }
  }

  /// The program appears last, after all files that it needs.
  Status write_files() {
    const std::filesystem::path output = path_of(arguments_.output);
    TENON_TRY(host::NewFile file, host::NewFile::create(output));
    TENON_RETURN_IF_ERROR(image_->stream([&](Bytes part) { return file.write(part); }));
    const std::filesystem::path directory =
        arguments_.external.empty() ? output.parent_path() : path_of(arguments_.external);
    TENON_TRY(const auto written, aot::write_external_data(program_.named_data, directory));
    TENON_RETURN_IF_ERROR(file.commit());
    report_.program = {arguments_.output, image_->size()};
    for (const std::filesystem::path& path : written) {
      std::error_code failed;
      const auto size = std::filesystem::file_size(path, failed);
      report_.data.push_back({host::path_text(path), failed ? 0 : std::uint64_t{size}});
    }
    return ok();
  }

  struct Model {
    std::string name;  ///< Empty: its methods keep their names.
    std::string path;
    aot::Pt2Program program;
  };

  const Arguments& arguments_;
  host::BackendRegistry registry_{
      host::HostInfo{.gates = {host::environment_library_policy(), tool_isolation()}}};
  std::vector<std::pair<std::string, std::vector<std::string>>> plugins_;  ///< Paths and ids.
  std::vector<Model> models_;
  std::deque<std::string> names_;
  std::deque<tenon_edge_program> renamed_;
  std::vector<aot::EdgeProgram> methods_;  ///< Refer to all of the above.
  std::vector<aot::BackendToUse> backends_;
  std::vector<std::vector<aot::BackendToUse>> variant_backends_;  ///< In the order of --variant.
  std::vector<aot::AotiModel> compiled_;
  std::vector<aot::AotiMethod> packed_;          ///< Refers to the models above.
  std::shared_ptr<const host::Program> opened_;  ///< Null for an archive.
  aot::ProgramData program_;
  std::optional<aot::FileImage> image_;
  Report report_;
};

}  // namespace

Report compile(const Arguments& arguments, std::function<host::SearchReport()> search) {
  return Compilation(arguments, std::move(search)).run();
}

}  // namespace tenon::compile
