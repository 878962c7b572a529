// SPDX-License-Identifier: MIT
//
// What a program can hold any number of: its diagnosis by tenon-doctor.
#include "collection.hpp"
#include "doctor.hpp"
#include "growing_programs.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"

namespace tenon::test {
namespace {

/// Diagnoses a program where the backend of `growing_backend.cpp` is known, as text and as JSON.
Task diagnoses(const ProgramBuilder& builder) {
  auto directory = std::make_shared<TemporaryDirectory>();
  const AlignedBytes file = builder.build();
  const auto bytes = file.bytes();
  auto arguments = std::make_shared<doctor::Arguments>();
  arguments->model =
      directory->write("model.pte", {reinterpret_cast<const char*>(bytes.data()), bytes.size()})
          .native();
  return [directory, arguments]() -> Status {
    host::DiscoveryOptions options;
    options.static_plugins = {tenon_static_plugin_Growing};
    options.installed = "";
    options.variable = [](const char*) { return std::nullopt; };
    const doctor::Diagnosis found = doctor::diagnose(*arguments, host::discovery(options));
    if (!found.failure.ok()) return error(found.failure.error(), found.failure.text());
    const std::size_t size = doctor::to_text(found, false).size() + doctor::to_json(found).size();
    return size == 0 ? error(Error::Internal, "nothing was written") : ok();
  };
}

Collection diagnosing(std::string_view what, ProgramBuilder (*build)(std::size_t)) {
  return {what, [build](std::size_t count) { return diagnoses(build(count)); }};
}

}  // namespace

std::vector<Collection> tool_collections() {
  return {
      {"doctor: delegates", [](std::size_t n) { return diagnoses(growing::delegates(n)); }},
      diagnosing("doctor: delegates of unknown backends", growing::backend_ids),
      diagnosing("doctor: compile specs of a delegate", growing::compile_specs),
      diagnosing("doctor: operators without a kernel", growing::operators),
      diagnosing("doctor: calls of an operator without a kernel", growing::kernel_calls),
      diagnosing("doctor: external tensors", growing::external_tensors),
      diagnosing("doctor: planned buffers on a device", growing::device_buffers),
      diagnosing("doctor: keys that check_blob asks for", growing::named_data_asked_for),
  };
}

}  // namespace tenon::test
