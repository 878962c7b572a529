// SPDX-License-Identifier: MIT
#include "doctor.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu_without.hpp"
#include "isolated_files.hpp"
#include "payload.hpp"
#include "tenon/abi/version.h"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/layers/kernels/kernel_backends.hpp"
#include "tenon/host/layers/variants/choose_variant.hpp"
#include "tenon/host/layers/variants/requirements.hpp"
#include "tenon/host/layers/variants/variant.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/schema/program_generated.h"
#include "tenon/host/signatures.hpp"

namespace tenon::doctor {
namespace {

class Doctor {
 public:
  Doctor(const Arguments& arguments, std::function<host::SearchReport()> search)
      : arguments_(arguments),
        cpu_(tool::cpu_without(arguments.without_cpu_features)),
        registry_({"tenon-doctor " TENON_VERSION_STRING,
                   {},
                   {host::environment_library_policy(), tool_isolation()}},
                  &cpu_) {
    registry_.add_search(std::move(search));
  }

  Diagnosis run() && {
    diagnosis_.program = arguments_.model;
    if (Status opened = open_files(); !opened.ok()) {
      diagnosis_.failure = std::move(opened);
      return std::move(diagnosis_);
    }
    for (const std::string_view name : host::Variants::of(*program_)->visible_methods()) {
      if (arguments_.method && *arguments_.method != name) continue;
      diagnosis_.methods.push_back(diagnose_method(std::string(name)));
      if (!diagnosis_.methods.back().can_run()) diagnosis_.code = ExitCode::failed;
    }
    return std::move(diagnosis_);
  }

 private:
  Status open_files() {
    diagnosis_.code = ExitCode::invalid_file;
    for (const std::string& path : arguments_.plugins) {
      TENON_RETURN_IF_ERROR(registry_.register_backend(host::path_of(path)));
    }
    TENON_TRY(program_, host::Variants::open(host::path_of(arguments_.model)));
    for (const std::string& path : arguments_.data) {
      TENON_TRY(auto file, host::DataFile::open(host::path_of(path)));
      files_.push_back(std::move(file));
    }
    TENON_TRY(named_data_, host::MergedDataMap::create(program_, files_));
    TENON_TRY(external_, host::MergedDataMap::create(nullptr, files_));
    if (arguments_.method) {
      diagnosis_.code = ExitCode::wrong_usage;
      TENON_RETURN_IF_ERROR(program_->plan(*arguments_.method));
    }
    diagnosis_.code = ExitCode::success;
    return ok();
  }

  Method diagnose_method(std::string name) {
    Method out;
    const std::string_view plan_name = diagnose_variants(name, out.variants);
    const schema::ExecutionPlan& plan = **program_->plan(plan_name);
    out.name = std::move(name);
    for (std::size_t i = 0; i < plan.delegates()->size(); ++i) {
      out.delegates.push_back(diagnose_delegate(plan, i));
    }
    for (auto& [op, instructions] : host::find_missing_operators(plan, nullptr)) {
      out.operators.push_back(diagnose_operator(op, instructions));
    }
    out.missing_tensors = host::find_missing_tensors(plan, external_.get());
    diagnose_buffers(plan, out.device_buffers);
    estimate_memory(plan, out);
    if (arguments_.prove) prove(out);
    return out;
  }

  /// Returns the plan of the variant that would be loaded, or else of the default one.
  std::string_view diagnose_variants(std::string_view method, std::vector<Variant>& out) {
    host::MethodOptions options;
    options.registry = &registry_;
    options.layers.add(host::DataFiles(files_));
    auto choice = host::choose_variant(program_, method, options, host::AskVariants::all);
    // The data files were joined before.
    if (!choice.ok() || choice->answers.empty()) return method;
    std::string_view plan = method;
    for (std::size_t i = 0; i < choice->answers.size(); ++i) {
      host::VariantAnswer& one = choice->answers[i];
      Variant& variant = out.emplace_back();
      variant.name = std::string(one.variant->name);
      variant.priority = one.variant->priority;
      for (const host::VariantNeed& need : one.variant->needs) {
        variant.needs.push_back(text_of(need));
      }
      variant.is_chosen = choice->chosen == i;
      variant.refused = std::move(one.refused);
      variant.verdict = one.verdict;
      variant.reason = std::move(one.reason);
      if (variant.is_chosen) plan = program_->method_name(one.variant->plan);
    }
    return plan;
  }

  /// Runs the golden cases of all that can run, whatever was found before.
  void prove(Method& method) {
    if (method.variants.empty()) return prove_one(method, {});
    for (const Variant& variant : method.variants) {
      if (variant.refused.ok()) prove_one(method, variant.name);
    }
  }
  void prove_one(Method& method, const std::string& variant) {
    ProofHere& out = method.proofs.emplace_back();
    out.variant = variant;
    host::MethodOptions options;
    options.registry = &registry_;
    options.layers.add(host::DataFiles(files_));
    options.layers.add(host::Prove().again());
    if (!variant.empty()) options.layers.add(host::Variant(variant));
    auto loaded = host::Method::load(program_, method.name, options);
    if (loaded.ok()) {
      out.proof = *host::proof_of(**loaded);
    } else {
      out.failure = std::move(loaded).status();
    }
  }

  static std::string text_of(const host::VariantNeed& need) {
    std::string out(need.backend_id);
    if (!need.target.empty()) out += concat(", for ", need.target);
    if (need.payload_version != 0) out += concat(", payload version ", need.payload_version);
    if (!need.cpu_features.empty()) out += concat(", CPU features ", join(need.cpu_features, ", "));
    return out;
  }

  Operator diagnose_operator(const std::string& name, const std::string& instructions) {
    if (!kernels_) kernels_ = list_kernels();
    Operator out{name, instructions, {}, {}};
    for (const KernelBackend& backend : *kernels_) {
      if (std::ranges::find(backend.operators, name) != backend.operators.end()) {
        out.served_by = backend.id;
        return out;
      }
      out.asked += concat("\n", backend.id, ": ", backend.answer);
    }
    return out;
  }

  /// A backend that offers kernels.
  struct KernelBackend {
    std::string id;
    std::vector<std::string> operators;
    std::string answer;  ///< To a question for another one.
  };

  /// The backends that a host would ask for kernels, in its order. Loads them.
  [[nodiscard]] std::vector<KernelBackend> list_kernels() const {
    std::vector<KernelBackend> out;
    for (std::string& id : host::find_kernel_backends({}, &registry_)) {
      auto operators = list_operators(id);
      KernelBackend& backend = out.emplace_back();
      backend.id = std::move(id);
      if (operators.ok()) {
        backend.operators = *std::move(operators);
        backend.answer = concat("it is not among its ", backend.operators.size(),
                                backend.operators.size() == 1 ? " operator" : " operators");
      } else {
        backend.answer = operators.text();
      }
    }
    return out;
  }
  [[nodiscard]] Result<std::vector<std::string>> list_operators(std::string_view id) const {
    TENON_TRY(const host::BackendRef backend, registry_.lookup_backend(id));
    TENON_RETURN_IF_ERROR(backend->is_available());
    return host::list_operators(*backend);
  }

  /// Each device is asked for once: a program may have any number of buffers on one. The problem is
  /// written out for the first of them.
  void diagnose_buffers(const schema::ExecutionPlan& plan, std::vector<DeviceBuffer>& out) const {
    const std::vector<std::string_view> ids = host::find_backend_ids(plan);
    std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> first_of;
    for (const host::DeviceBuffer& planned : host::find_device_buffers(plan)) {
      const auto [known, is_new] =
          first_of.try_emplace({planned.device.device_type, planned.device.device_id}, out.size());
      if (is_new) {
        out.push_back(diagnose_buffer(planned, ids));
        continue;
      }
      DeviceBuffer same{planned, out[known->second].served_by, {}};
      if (!out[known->second].problem.empty()) {
        same.problem =
            concat(planned.text(), ": no backend serves ", host::device_name(planned.device),
                   ", as for planned buffer ", out[known->second].planned.index);
      }
      out.push_back(std::move(same));
    }
  }

  [[nodiscard]] DeviceBuffer diagnose_buffer(const host::DeviceBuffer& planned,
                                             std::span<const std::string_view> ids) const {
    const auto memory = host::find_device_memory(
        planned.device, ids, [this](std::string_view id) { return registry_.lookup_backend(id); });
    if (memory.ok()) return {planned, std::string(memory->backend().id()), {}};
    return {planned, {}, concat(planned.text(), ": ", memory.text())};
  }

  void estimate_memory(const schema::ExecutionPlan& plan, Method& out) const {
    out.estimate = host::estimate_host(plan);
    for (const Delegate& delegate : out.delegates)
      out.estimate.delegates.push_back(delegate.estimate);
    for (const host::DeviceBytes& needed : out.estimate.totals()) {
      out.memory.push_back({needed, free_on(needed.device, out.delegates)});
    }
  }

  /// The answer of the first backend that has one.
  [[nodiscard]] std::optional<std::uint64_t> free_on(tenon_dl_device device,
                                                     const std::vector<Delegate>& delegates) const {
    if (host::is_cpu(device)) {
      const auto free = host::free_host_memory();
      return free.ok() ? std::optional(*free) : std::nullopt;
    }
    for (const Delegate& delegate : delegates) {
      if (!delegate.found.ok() || !delegate.available.ok()) continue;
      const auto backend = registry_.lookup_backend(delegate.backend_id);
      if (!backend.ok()) continue;
      if (const auto free = host::free_memory(**backend, device); free.ok()) return *free;
    }
    return std::nullopt;
  }

  Delegate diagnose_delegate(const schema::ExecutionPlan& plan, std::size_t index) {
    const auto& serialized = *plan.delegates()->Get(static_cast<std::uint32_t>(index));
    const std::span<const std::byte> blob = program_->view().delegate_data(serialized);
    Delegate out;
    out.index = index;
    out.backend_id = serialized.id()->str();
    out.blob_size = blob.size();
    for (const auto* spec : *serialized.compile_specs()) {
      const auto value = std::as_bytes(std::span(spec->value()->data(), spec->value()->size()));
      out.compile_specs.push_back({spec->key()->str(), {value.begin(), value.end()}});
    }
    const auto named = std::ranges::find(out.compile_specs, "method_name", &CompileSpec::key);
    const auto method =
        named == out.compile_specs.end() ? std::string_view() : FileBytes(named->value).text();
    for (std::string& key : keys_of_payload(out.backend_id, method, blob)) {
      if (!named_data_->find(key)) out.missing_data.push_back(std::move(key));
    }
    ask_backend(plan, serialized, out);
    return out;
  }

  void ask_backend(const schema::ExecutionPlan& plan, const schema::BackendDelegate& serialized,
                   Delegate& out) {
    auto backend = registry_.lookup_backend(out.backend_id);
    for (host::BackendInfo& info : registry_.enumerate_backends()) {
      const bool serves =
          info.state == host::BackendState::loaded || info.state == host::BackendState::known;
      if (serves && info.id() == out.backend_id) out.served_by = std::move(info);
    }
    if (!backend.ok()) {
      out.found = std::move(backend).status();
      if (!out.served_by) out.not_found = registry_.explain(out.backend_id);
      return;
    }
    out.available = (*backend)->is_available();
    auto estimate = host::estimate_delegate(**backend, *program_, plan.name()->c_str(), serialized,
                                            named_data_->abi());
    if (estimate.ok()) {
      out.estimate = *std::move(estimate);
    } else {
      out.estimated = std::move(estimate).status();
    }
    auto check = host::check_blob(**backend, *program_, plan.name()->c_str(), serialized,
                                  named_data_->abi(), &registry_);
    if (!check.ok()) {
      out.checked = std::move(check).status();
      return;
    }
    out.check = *std::move(check);
    if (!out.check) return;
    const std::set<std::string> known(out.missing_data.begin(), out.missing_data.end());
    for (const std::string& key : out.check->missing_keys) {
      if (!known.contains(key)) out.missing_data.push_back(key);
    }
  }

  const Arguments& arguments_;
  Diagnosis diagnosis_;
  const host::CpuFeatures cpu_;
  host::BackendRegistry registry_;
  std::shared_ptr<const host::Program> program_;
  std::vector<std::shared_ptr<const host::DataFile>> files_;
  std::shared_ptr<const host::MergedDataMap> named_data_;  // Of the program and the data files.
  std::shared_ptr<const host::MergedDataMap> external_;    // Of the data files alone.
  std::optional<std::vector<KernelBackend>> kernels_;      // Once they are needed.
};

}  // namespace

std::vector<std::string> Delegate::problems() const {
  std::vector<std::string> out;
  if (!found.ok()) out.emplace_back(found.text());
  if (!available.ok()) out.emplace_back(available.text());
  if (!checked.ok()) out.emplace_back(checked.text());
  if (check && check->verdict == TENON_BLOB_INCOMPATIBLE) {
    out.push_back(concat("the blob does not fit: ", check->reason));
  }
  for (const std::string& key : missing_data) {
    out.push_back(concat("named data '", key, "' is neither in the program nor in a --data file"));
  }
  return out;
}

bool Method::can_run() const {
  const bool has_variant = variants.empty() || std::ranges::any_of(variants, [](const Variant& v) {
                             return v.is_chosen;
                           });
  return has_variant && missing_tensors.empty() &&
         std::ranges::all_of(operators, [](const Operator& o) { return !o.served_by.empty(); }) &&
         std::ranges::all_of(device_buffers,
                             [](const DeviceBuffer& b) { return b.problem.empty(); }) &&
         std::ranges::all_of(delegates, [](const Delegate& d) { return d.problems().empty(); }) &&
         std::ranges::all_of(proofs, [](const ProofHere& p) { return p.failure.ok(); });
}

Diagnosis diagnose(const Arguments& arguments, std::function<host::SearchReport()> search) {
  return Doctor(arguments, std::move(search)).run();
}

}  // namespace tenon::doctor
