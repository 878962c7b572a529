// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/growth.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/process/resources.hpp"
#include "kit/process/worker_memory.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/abi/extensions/estimate.h"
#include "tenon/abi/extensions/memory_info.h"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/loader/impl/plugin/object.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

/// Suite "estimate": what a backend states about the memory of a blob (abi/extensions/estimate.h),
/// against what its delegates hold.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(estimate)

namespace {

/// Without copies of blobs, which would be counted.
LiveCaseOptions without_copies() {
  LiveCaseOptions options;
  options.host.guard_bytes = false;
  return options;
}

/// Bytes of the subject's delegates, in the process and on devices.
struct Bytes {
  std::uint64_t host = 0;
  std::uint64_t devices = 0;
};

/// The statements about the delegates of a case.
class Statements {
 public:
  Statements(Context& kit, const OpenedBackend& opened, const CaseProgram& program)
      : kit_(kit), opened_(opened), program_(program) {
    plan_ = kit.need(program.program()->plan(kit.of_case().method), "the method of the case");
    if (program.program()->num_keys() != 0 || !program.data_files().empty()) {
      data_ = kit.need(host::MergedDataMap::create(program.program(), program.data_files()),
                       "the data of the case");
    }
    const auto table = opened.backend().extension<tenon_estimate_v1>(TENON_EXTENSION_ESTIMATE);
    if (!table) kit.not_applicable("the backend does not offer " TENON_EXTENSION_ESTIMATE);
  }

  /// Asks again. A failure is a violation; none that is stated ends the test as not applicable.
  Bytes ask() {
    Bytes sum;
    bool is_stated = false;
    is_complete_ = true;
    for (const auto* delegate : *plan_->delegates()) {
      if (delegate->id()->string_view() != kit_.backend().id) continue;
      const auto estimate =
          host::estimate_delegate(opened_.backend(), *program_.program(), plan_->name()->c_str(),
                                  *delegate, data_ ? data_->abi() : nullptr);
      if (!estimate.ok()) {
        kit_.violated("TN-EST-1", "estimate failed for a blob of the case: ", estimate.text());
        continue;
      }
      is_stated = is_stated || estimate->is_stated;
      is_complete_ = is_complete_ && estimate->is_complete;
      for (const host::DelegateBytes& need : estimate->needs) {
        (host::is_cpu(need.device) ? sum.host : sum.devices) += need.weights + need.workspace;
      }
    }
    if (!is_stated) kit_.not_applicable("the backend states nothing about the blobs of the case");
    return sum;
  }

  /// Whether nothing was left out of the last answer.
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }

 private:
  Context& kit_;
  const OpenedBackend& opened_;
  const CaseProgram& program_;
  const schema::ExecutionPlan* plan_ = nullptr;
  std::shared_ptr<const host::MergedDataMap> data_;
  bool is_complete_ = true;
};

/// Memory of the process: blocks as they are counted, and mappings of files, as of a library; or
/// resident pages without a file where those grow more, as of a pool of the backend's own. glibc
/// gives pages of freed blocks back first, which no one holds. Where blocks are not counted it is
/// the least that is held: pages of blocks freed before are used again.
struct Held {
  std::int64_t counted = 0;
  std::int64_t resident = 0;

  [[nodiscard]] static Held now() {
    Held out{heap_bytes(), resident_bytes()};
    for (const Mapping& one : mappings()) {
      if (one.name.empty() || one.name.starts_with('[')) continue;
      out.counted += static_cast<std::int64_t>(one.end - one.begin);
    }
    return out;
  }
  [[nodiscard]] std::int64_t since(const Held& before) const noexcept {
    return std::max(counted - before.counted, resident - before.resident);
  }
};

/// Whether the plugin is an isolated one (docs/hosts/isolation.md), whose delegates are in another
/// process: by the mark in the object that it exports.
bool is_isolated(Context& kit) {
  constexpr std::string_view mark("tenon-isolated/1", sizeof "tenon-isolated/1");
  const auto file = kit.need(host::MappedFile::open(kit.plugin()), "the plugin's file");
  const auto object = host::detail::find_plugin_object(FileBytes(file.bytes()));
  if (!object.ok()) return false;
  const auto expected = std::as_bytes(std::span(mark));
  return std::search(object->begin(), object->end(), expected.begin(), expected.end()) !=
         object->end();
}

/// Bytes on devices that the subject's backend reports for no delegate.
std::uint64_t shared_on_devices(LiveCase& live) {
  const host::LoadedBackend& backend = live.backend().backend();
  const auto table = backend.extension<tenon_memory_info_v1>(TENON_EXTENSION_MEMORY_INFO);
  std::uint64_t sum = 0;
  if (!table) return sum;
  const auto sink = [](void* to, const tenon_memory_use* use) noexcept {
    if (!host::is_cpu(use->device)) *static_cast<std::uint64_t*>(to) += use->nbytes;
  };
  static_cast<void>(table->memory_info(backend.raw(), nullptr, sink, &sum));
  return sum;
}

/// Bytes on devices that the subject's delegates hold, and what no delegate reports.
std::uint64_t devices_of(Context& kit, const host::MethodMemory& memory) {
  std::uint64_t sum = 0;
  const auto add = [&](std::string_view id, const std::vector<host::DelegateBytes>& held) {
    if (id != kit.backend().id) return;
    for (const host::DelegateBytes& each : held) {
      if (!host::is_cpu(each.device)) sum += each.total();
    }
  };
  for (const host::DelegateMemory& each : memory.delegates) add(each.backend_id, each.held);
  for (const host::BackendMemory& each : memory.backends) add(each.backend_id, each.held);
  return sum;
}

/// The memory that the delegates of a case hold once their runs are over, without the memory of the
/// host and the kit. In this process it is counted, or in an isolated plugin's worker; on devices
/// the backend reports it.
Bytes measure(Context& kit, LiveCase& live, bool is_elsewhere) {
  live.boundary().watched().watch().watch_process(false);
  // What is done once for all loads is not part of it.
  auto first = live.load();
  live.run(*first);
  // In a worker blocks are not counted: what the first one holds must not be used again.
  if (!is_elsewhere) first.reset();
  // What `first` shares with the next load is held already.
  const auto shared_before = is_elsewhere ? 0 : shared_on_devices(live);
  const std::int64_t worker_before = is_elsewhere ? worker_bytes() : 0;
  const Held before = Held::now();
  const auto method = live.load();
  live.run(*method);
  const Held after = Held::now();
  const std::int64_t worker_after = is_elsewhere ? worker_bytes() : 0;
  const host::MethodMemory memory =
      kit.need(method->method().memory_info(), "the memory of the method");
  Bytes out;
  // Each argument once: the kit holds inputs, and outputs that are not in planned memory.
  std::uint64_t others = memory.tables + memory.temp + method->held_bytes();
  for (const host::DeviceBytes& planned : memory.planned) {
    if (host::is_cpu(planned.device)) others += planned.nbytes;
  }
  const std::int64_t grown = after.since(before) - static_cast<std::int64_t>(others);
  out.host = static_cast<std::uint64_t>(std::max(grown, std::int64_t{0}));
  if (is_elsewhere) {
    out.host = static_cast<std::uint64_t>(std::max(worker_after - worker_before, std::int64_t{0}));
  }
  const std::uint64_t on_devices = devices_of(kit, memory);
  out.devices = on_devices - std::min(on_devices, shared_before);
  return out;
}

/// Not judged: the tables of a small delegate, pages that are not full.
constexpr double slack = 64.0 * 1024;

void judge(Context& kit, std::string_view where, std::uint64_t stated, std::uint64_t held,
           bool is_complete, bool is_exact = true) {
  const double factor = kit.backend().estimate_factor;
  const auto has = static_cast<double>(held);
  const auto says = static_cast<double>(stated);
  kit.measure(concat("stated ", where), says, "bytes");
  kit.measure(concat("held ", where), has, "bytes");
  kit.expect("TN-EST-2", !is_complete || has <= says * factor + slack, "the delegates hold ", held,
             " bytes ", where, ", and ", stated,
             " were estimated (see estimate_factor in the subject file)");
  if (!is_exact) return;
  kit.expect("TN-EST-3", says <= has * factor + slack, "the estimate is ", stated, " bytes ", where,
             ", and the delegates hold ", held, " (see estimate_factor in the subject file)");
}

}  // namespace

TENON_CONFORMANCE_TEST("estimate/holds-what-was-stated",
                       "delegates hold about as much memory as was estimated",
                       "[estimate][level-5][case][TN-EST-2][TN-EST-3]") {
  LiveCase live(kit, without_copies());
  Statements statements(kit, live.backend(), live.program());
  const Bytes stated = statements.ask();
  const bool is_elsewhere = is_isolated(kit);
  const Bytes held = measure(kit, live, is_elsewhere);
  // Of a worker pages are counted, which its threads have as well: the least is not known.
  judge(kit, is_elsewhere ? "in its worker" : "in the process", stated.host, held.host,
        statements.is_complete() && !is_elsewhere, is_elsewhere || counts_heap_bytes());
  judge(kit, "on devices", stated.devices, held.devices, statements.is_complete());
}

TENON_CONFORMANCE_TEST("estimate/without-device",
                       "a blob is estimated without the device, and nothing is kept",
                       "[estimate][level-5][case][TN-EST-1]") {
  OpenedBackend opened(kit);
  const CaseProgram program = kit.need(CaseProgram::open(kit.of_case()), "the case");
  Statements statements(kit, opened, program);
  const Bytes first = statements.ask();
  for (const std::string& more :
       growth_of(opened, stretch_of(kit), [&] { static_cast<void>(statements.ask()); })) {
    kit.violated("TN-EST-1", "after estimate the plugin holds ", more);
  }
  const Bytes last = statements.ask();
  kit.expect("TN-EST-1", first.host == last.host && first.devices == last.devices,
             "estimate gave two answers about the same blobs");
}

TENON_CONFORMANCE_TEST("estimate/reports-what-there-is",
                       "a backend reports no more memory than there is, on devices that it has",
                       "[estimate][level-5][case][TN-MEM-1]") {
  LiveCase live(kit);
  const host::LoadedBackend& backend = live.backend().backend();
  if (!backend.extension<tenon_memory_info_v1>(TENON_EXTENSION_MEMORY_INFO)) {
    kit.not_applicable("the backend does not offer " TENON_EXTENSION_MEMORY_INFO);
  }
  const auto method = live.load();
  live.run(*method);
  const auto memory = method->method().memory_info();
  if (!memory.ok()) kit.blocked("the memory of the method: ", memory.text());
  const auto devices = kit.need(host::list_devices(backend), "the devices of the backend");
  // The memory of an isolated plugin is its worker's.
  std::uint64_t mapped = 0;
  for (const Mapping& one : mappings()) mapped += one.end - one.begin;
  if (mapped == 0 || is_isolated(kit)) mapped = UINT64_MAX;
  std::uint64_t in_process = 0;
  const auto judge_one = [&](std::string_view whose, const host::DelegateBytes& held) {
    if (host::is_cpu(held.device)) {
      in_process = in_process > UINT64_MAX - held.total() ? UINT64_MAX : in_process + held.total();
      return;
    }
    const auto listed = std::ranges::find_if(devices, [&](const host::BackendDevice& each) {
      return host::is_same_device(each.device, held.device);
    });
    if (!kit.expect("TN-MEM-1", listed != devices.end(), whose, " reports memory on ",
                    host::device_name(held.device), ", which the backend does not list")) {
      return;
    }
    kit.expect("TN-MEM-1", listed->memory_bytes == 0 || held.total() <= listed->memory_bytes, whose,
               " reports ", held.total(), " bytes on ", host::device_name(held.device),
               ", which has ", listed->memory_bytes);
  };
  for (const host::DelegateMemory& delegate : memory->delegates) {
    if (delegate.backend_id != kit.backend().id) continue;
    for (const host::DelegateBytes& held : delegate.held) judge_one("a delegate", held);
  }
  for (const host::BackendMemory& each : memory->backends) {
    if (each.backend_id != kit.backend().id) continue;
    for (const host::DelegateBytes& held : each.held) judge_one("the backend", held);
  }
  kit.expect("TN-MEM-1", in_process <= mapped, "the backend reports ", in_process,
             " bytes on the CPU, and the process has mapped ", mapped);
}

}}}  // namespace tenon::TENON_RELEASE::conformance
