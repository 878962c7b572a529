// SPDX-License-Identifier: MIT
#include "compile.hpp"

#include <deque>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "tenon/aot/compiler/compile_methods.hpp"
#include "tenon/aot/compiler/emit/emit.hpp"
#include "tenon/aot/compiler/lower/edge_program_text.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/compiler/pt2/reader.hpp"
#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/files/new_file.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/registry/registry.hpp"

namespace tenon::compile {
namespace {

/// One run of the program, stage by stage. A stage that fails decides the exit code.
class Compilation {
 public:
  Compilation(const Arguments& arguments, std::function<host::SearchReport()> search)
      : arguments_(arguments) {
    registry_.add_search(std::move(search));
  }

  [[nodiscard]] Report run() && {
    stage(ExitCode::wrong_usage, &Compilation::check_paths) &&
        stage(ExitCode::invalid_file, &Compilation::read_models) &&
        stage(ExitCode::wrong_usage, &Compilation::name_methods) && print_graphs() &&
        stage(ExitCode::invalid_file, &Compilation::add_plugins) &&
        stage(ExitCode::no_backend, &Compilation::find_backends) &&
        stage(ExitCode::failed, &Compilation::print_operators) && !arguments_.output.empty() &&
        stage(ExitCode::failed, &Compilation::compile_all) &&
        stage(ExitCode::wrong_usage, &Compilation::write_files);
    return std::move(report_);
  }

 private:
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
    for (const auto& [name, path] : archives()) {
      std::error_code failed;
      if (!std::filesystem::equivalent(path, arguments_.output, failed) || failed) continue;
      return error(Error::InvalidArgument, arguments_.output, ": is read, and cannot be written");
    }
    return ok();
  }

  Status read_models() {
    for (const auto& [name, path] : archives()) {
      TENON_TRY(aot::Pt2Program program, aot::read_pt2(path));
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
      TENON_RETURN_IF_ERROR(registry_.register_backend(std::filesystem::path(plugin)));
    }
    return ok();
  }

  Status find_backends() {
    for (const std::string& id : arguments_.backends) {
      TENON_TRY(aot::PluginPreprocess backend, aot::PluginPreprocess::find(registry_, id));
      aot::BackendToUse use{std::move(backend), {}, arguments_.no_partition};
      for (const Spec& spec : arguments_.specs) {
        if (spec.backend.value_or(id) != id) continue;
        use.compile_specs.push_back({spec.key, aot::SharedBytes::copy_of(spec.value)});
      }
      backends_.push_back(std::move(use));
    }
    return ok();
  }

  Status compile_all() {
    TENON_TRY(const auto compiled, aot::compile_methods(methods_, backends_));
    for (std::size_t i = 0; i < compiled.size(); ++i) describe(compiled[i], report_.methods[i]);
    aot::EmitOptions options;
    options.external_constants = arguments_.external_constants;
    TENON_TRY(program_, aot::emit(compiled, options));
    TENON_TRY(aot::FileImage image, aot::make_pte(program_));
    image_.emplace(std::move(image));
    return ok();
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
    const std::filesystem::path output = arguments_.output;
    TENON_TRY(host::NewFile file, host::NewFile::create(output));
    TENON_RETURN_IF_ERROR(image_->stream([&](Bytes part) { return file.write(part); }));
    const std::filesystem::path folder = arguments_.external.empty()
                                             ? output.parent_path()
                                             : std::filesystem::path(arguments_.external);
    TENON_TRY(const auto written, aot::write_external_data(program_.named_data, folder));
    TENON_RETURN_IF_ERROR(file.commit());
    report_.program = {arguments_.output, image_->size()};
    for (const std::filesystem::path& path : written) {
      std::error_code failed;
      const auto size = std::filesystem::file_size(path, failed);
      report_.data.push_back({path.native(), failed ? 0 : std::uint64_t{size}});
    }
    return ok();
  }

  struct Model {
    std::string name;  ///< Empty: its methods keep their names.
    std::string path;
    aot::Pt2Program program;
  };

  const Arguments& arguments_;
  host::BackendRegistry registry_;
  std::vector<Model> models_;
  std::deque<std::string> names_;
  std::deque<tenon_edge_program> renamed_;
  std::vector<aot::EdgeProgram> methods_;  ///< Refer to all of the above.
  std::vector<aot::BackendToUse> backends_;
  aot::ProgramData program_;
  std::optional<aot::FileImage> image_;
  Report report_;
};

}  // namespace

Report compile(const Arguments& arguments, std::function<host::SearchReport()> search) {
  return Compilation(arguments, std::move(search)).run();
}

}  // namespace tenon::compile
