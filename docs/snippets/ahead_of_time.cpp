// SPDX-License-Identifier: MIT
// Code of docs/aot/ahead-of-time.md: a backend with both halves, and a tool that uses it.
//
//   ahead_of_time BACKENDS_PLUGIN MODEL.pt2 OUT.pte
#include <tenon/host/schema/program_generated.h>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <tenon/aot/compiler/compile_methods.hpp>
#include <tenon/aot/compiler/emit/emit.hpp>
#include <tenon/aot/compiler/pt2/reader.hpp>
#include <tenon/aot/compiler/write/ptd_writer.hpp>
#include <tenon/aot/compiler/write/pte_writer.hpp>
#include <tenon/host.hpp>
#include <utility>
#include <vector>

namespace {

namespace aot = tenon::aot;

// [tool]
// Compiles `model` with backend `id` of a registered plugin, as tenon-compile does.
tenon::Status compile(const tenon::host::BackendRegistry& registry, std::string_view id,
                      const std::filesystem::path& model, const std::filesystem::path& output) {
  TENON_TRY(const aot::Pt2Program archive, aot::read_pt2(model));
  std::vector<aot::EdgeProgram> methods;
  for (const aot::Pt2Method& method : archive.methods) methods.push_back(method.program.view());

  TENON_TRY(auto backend, aot::PluginPreprocess::find(registry, id));
  std::vector<aot::BackendToUse> backends;
  backends.push_back({std::move(backend), {{"mode", aot::SharedBytes::copy_of("fast")}}});

  TENON_TRY(const auto compiled, aot::compile_methods(methods, backends));
  TENON_TRY(const aot::ProgramData program, aot::emit(compiled));
  TENON_TRY(auto files, aot::write_external_data(program.named_data, output.parent_path()));
  return aot::write_pte(program, output);
}
// [tool]

tenon::Status run(const char* plugin, const char* model, const char* output) {
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(std::filesystem::path(plugin)));
  TENON_RETURN_IF_ERROR(compile(registry, "ReluBackend", model, output));
  TENON_TRY(const auto program, tenon::host::Program::open(output));
  TENON_TRY(const auto* plan, program->plan("forward"));
  std::printf("%u delegates\n", plan->delegates()->size());
  return plan->delegates()->size() == 1
             ? tenon::ok()
             : tenon::error(tenon::Error::Internal, "expected one delegate");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const tenon::Status status = run(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", tenon::describe(status).c_str());
  return status.ok() ? 0 : 1;
}
