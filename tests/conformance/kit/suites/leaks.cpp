// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/growth.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/fixtures/loaded_plugin.hpp"
#include "kit/platform/system.hpp"
#include "kit/process/guarded_memory.hpp"
#include "kit/process/resources.hpp"
#include "kit/run/budget.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/layers/inspect/binary_lint.hpp"
#include "tenon/host/layers/inspect/elf_library.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/platform/path_text.hpp"

/// Suite "leaks": resources that a plugin holds longer than it may. Growth from round to round is a
/// leak; a resource that is taken once is not.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(leaks)

namespace {

/// Opens and closes the backend of a library that is already loaded: each further `dlopen` of a
/// library makes the dynamic loader keep a name.
void open_and_close(Context& kit, const LoadedPlugin& plugin, bool ask_whether_available) {
  const std::string& id = kit.backend().id;
  const tenon_backend_api* table = plugin.table(id);
  if (!table) kit.blocked("the plugin has no table for backend ", id);
  host::HostTable host(host::all_layers(), host::path_text(kit.plugin()));
  Boundary boundary(kit.need(host::complete_api(*table, id), "the table"), kit.crumbs(),
                    [&kit](Finding finding) { kit.report(std::move(finding)); });
  const auto backend = kit.need(
      host::LoadedBackend::open(*plugin.backend_record(id), host.get(), boundary.api()), "open");
  if (ask_whether_available) static_cast<void>(backend.is_available());
}

/// A blob that replaces the case's own. Any number of calls of `init` may get it, one after the
/// other.
class OtherBlob {
 public:
  explicit OtherBlob(std::span<const std::byte> bytes)
      : memory_(bytes.size(), 16, {"TN-INI-5", "around a damaged blob"}) {
    if (!bytes.empty()) std::memcpy(memory_.data(), bytes.data(), bytes.size());
    memory_.forbid_writes({"TN-INI-5", "of a damaged blob"});
  }
  [[nodiscard]] tenon_buffer* buffer() noexcept {
    buffer_ = {sizeof(tenon_buffer), 0, memory_.data(), memory_.size(), nullptr, &release};
    return &buffer_;
  }

 private:
  static void release(tenon_buffer* seen) {
    seen->data = nullptr;
    seen->nbytes = 0;
  }

  GuardedMemory memory_;
  tenon_buffer buffer_{};
};

/// A copy of the blob that the first `init` of the case gets.
[[nodiscard]] std::vector<std::byte> first_blob(LiveCase& live) {
  std::vector<std::byte> out;
  live.boundary().on_init = [&](WatchedInit& call) {
    const tenon_buffer* blob = call.context.processed;
    if (out.empty() && blob && blob->data && blob->nbytes != 0) {
      const auto* first = static_cast<const std::byte*>(blob->data);
      out.assign(first, first + blob->nbytes);
    }
    return call.forward();
  };
  static_cast<void>(live.load());
  live.boundary().on_init = nullptr;
  return out;
}

/// Whether `path` is mapped into this process.
[[nodiscard]] bool is_mapped(const std::filesystem::path& path) {
  for (const Mapping& one : mappings()) {
    if (one.name == host::path_text(path)) return true;
  }
  return false;
}

/// Keeps the libraries that a plugin needs loaded: memory that they leave when they are unloaded
/// (libgomp leaves some bytes) is not the plugin's.
class NeededLibraries {
 public:
  explicit NeededLibraries(Context& kit) {
    const LoadedPlugin plugin = kit.need(LoadedPlugin::load(kit.plugin()), "the plugin");
    for (const std::string& name : platform::loaded_libraries()) {
      if (name == host::path_text(kit.plugin())) continue;
      if (void* library = platform::keep_library(name)) libraries_.push_back(library);
    }
  }
  NeededLibraries(const NeededLibraries&) = delete;
  NeededLibraries& operator=(const NeededLibraries&) = delete;
  ~NeededLibraries() {
    for (void* library : libraries_) platform::release_library(library);
  }

 private:
  std::vector<void*> libraries_;
};

/// Ends the test where the library may stay in memory, or where the mappings cannot be read.
std::filesystem::path need_unloading(Context& kit) {
  if (!host::unloads_libraries()) {
    kit.not_applicable(
        "libraries stay in memory: TENON_NO_UNLOAD is set, or the C library is musl");
  }
  if (mappings().empty()) kit.not_applicable("the system does not report what is mapped");
  const auto file = kit.need(host::open_file(kit.plugin(), host::Trust::caller), "the file");
  const auto library = host::with_bytes(
      file, [](std::span<const std::byte> bytes) { return host::read_elf_library(bytes); });
  // Only ELF files can ask for that.
  if constexpr (host::this_platform.format == BinaryFormat::elf) {
    if (!library.ok()) kit.not_applicable("not an ELF library: ", library.text());
  }
  const auto checks = library.ok() ? host::lint_plugin(*library) : std::vector<host::LintResult>();
  for (const host::LintResult& check : checks) {
    const bool stays = check.id == "no-gnu-unique" || check.id == "no-nodelete";
    if (stays && check.verdict == host::Verdict::fail) {
      kit.blocked("the file asks to stay in memory: ", check.text);
    }
  }
  return std::filesystem::canonical(kit.plugin());
}

/// Reports TN-BCK-5 when the library at `path` is still mapped after it was closed, with possible
/// causes.
void judge_unloading(Context& kit, const std::filesystem::path& path, const Resources& before,
                     std::string_view after) {
  if (!is_mapped(path)) return;
  const std::vector<std::string> more =
      before.more_in(Resources::once_threads_ended(before.threads.size()));
  kit.violated("TN-BCK-5", "after ", after, " the library is still in memory: ",
               more.empty()
                   ? "it opened itself again, another library needs it, or a destructor of a "
                     "thread-local object of it is still to come"
                   : concat("what it left is ", join_with_and(more)));
}

}  // namespace

TENON_CONFORMANCE_TEST("leaks/closed-holds-nothing",
                       "a backend that was closed holds no descriptor and no thread and no process",
                       "[leaks][level-6][backend][TN-BCK-5]") {
  const LoadedPlugin plugin = kit.need(LoadedPlugin::load(kit.plugin()), "the plugin");
  const Resources before = Resources::now();
  open_and_close(kit, plugin, false);
  const auto more = before.more_in(Resources::once_threads_ended(before.threads.size()));
  kit.expect("TN-BCK-5", more.empty(),
             "after open and close there is more than before: ", join_with_and(more));
}

TENON_CONFORMANCE_TEST("leaks/open-and-close",
                       "opening and closing a backend again and again takes nothing more",
                       "[leaks][level-6][backend][TN-BCK-5]") {
  const LoadedPlugin plugin = kit.need(LoadedPlugin::load(kit.plugin()), "the plugin");
  const auto growth = growth_of(stretch_of(kit), [&] { open_and_close(kit, plugin, true); });
  kit.expect("TN-BCK-5", growth.empty(), "open and close: ", join_with_and(growth));
}

TENON_CONFORMANCE_TEST("leaks/load-and-unload",
                       "loading and unloading the library again and again takes nothing more",
                       "[leaks][level-6][plugin][TN-BCK-5]") {
  static_cast<void>(need_unloading(kit));
  const NeededLibraries needed(kit);
  const int stretch = kit.options().level >= 10 ? 333 : 33;
  const auto growth = growth_of(
      stretch, [&] { static_cast<void>(kit.need(LoadedPlugin::load(kit.plugin()), "a load")); });
  kit.expect("TN-BCK-5", growth.empty(), "load and unload: ", join_with_and(growth));
}

TENON_CONFORMANCE_TEST("leaks/unmapped-after-load",
                       "a library that was loaded and closed is not in memory any more",
                       "[leaks][level-6][plugin][TN-BCK-5]") {
  const auto path = need_unloading(kit);
  const Resources before = Resources::now();
  static_cast<void>(kit.need(LoadedPlugin::load(kit.plugin()), "the plugin"));
  judge_unloading(kit, path, before, "load and unload");
}

TENON_CONFORMANCE_TEST("leaks/unmapped-after-open",
                       "a library whose backend was opened and closed is not in memory any more",
                       "[leaks][level-6][backend][TN-BCK-5]") {
  const auto path = need_unloading(kit);
  const Resources before = Resources::now();
  {
    const OpenedBackend backend(kit);
    static_cast<void>(backend.backend().is_available());
  }
  judge_unloading(kit, path, before, "open and close");
}

TENON_CONFORMANCE_TEST("leaks/unmapped-after-run",
                       "a library whose backend ran a program is not in memory any more",
                       "[leaks][level-6][case][TN-BCK-5]") {
  const auto path = need_unloading(kit);
  const Resources before = Resources::now();
  {
    LiveCase live(kit);
    static_cast<void>(live.run(*live.load()));
  }
  judge_unloading(kit, path, before, "init, execute, destroy and close");
}

TENON_CONFORMANCE_TEST("leaks/load-and-destroy",
                       "loading and destroying a program again and again takes nothing more",
                       "[leaks][level-6][case][TN-DES-3]") {
  LiveCase live(kit);
  const int stretch = rounds_of(loads_of("leaks/load-and-destroy"), kit);
  const auto growth = growth_of(live.backend(), stretch, [&] { static_cast<void>(live.load()); });
  kit.expect("TN-DES-3", growth.empty(), "init and destroy: ", join_with_and(growth));
}

TENON_CONFORMANCE_TEST("leaks/run-repeatedly",
                       "running a program again and again takes nothing more",
                       "[leaks][level-6][case][TN-EXE-9]") {
  LiveCase live(kit);
  const auto method = live.load();
  const auto growth = growth_of(live.backend(), stretch_of(kit), [&] {
    kit.need(method->execute(method->runs().front()), "the case does not run");
  });
  kit.expect("TN-EXE-9", growth.empty(), "execute: ", join_with_and(growth));
}

TENON_CONFORMANCE_TEST("leaks/destroy-after-run",
                       "destroying a program that ran gives back what its runs took",
                       "[leaks][level-6][case][TN-DES-3]") {
  LiveCase live(kit);
  const int stretch = rounds_of(loads_of("leaks/destroy-after-run"), kit);
  const auto growth_with = [&](int runs) {
    return growth_of(live.backend(), stretch, [&] {
      const auto method = live.load();
      for (int i = 0; i < runs; ++i) {
        kit.need(method->execute(method->runs().front()), "the case does not run");
      }
    });
  };
  const auto once = growth_with(1);
  if (once.empty()) return;
  // Another test reports what each run leaves; what destroy leaves does not depend on the number of
  // runs.
  if (growth_with(4) != once) kit.blocked("each run takes more: ", join_with_and(once));
  kit.violated("TN-DES-3", "init, execute and destroy: ", join_with_and(once));
}

TENON_CONFORMANCE_TEST("leaks/failed-init", "an init that failed leaves nothing",
                       "[leaks][level-6][case][TN-INI-1]") {
  LiveCase live(kit);
  const std::vector<std::byte> blob = first_blob(live);
  std::vector<std::byte> changed = blob;
  if (!changed.empty()) changed.front() ^= std::byte{0xFF};
  OtherBlob empty({});
  OtherBlob half(std::span<const std::byte>(blob).first(blob.size() / 2));
  OtherBlob wrong(changed);
  const std::array<std::pair<std::string_view, OtherBlob*>, 4> ways = {
      {{"an empty blob", &empty},
       {"half a blob", &half},
       {"a blob whose first byte is another", &wrong},
       {"no memory from the runtime allocator", nullptr}}};
  const int stretch = rounds_of(loads_of("leaks/failed-init"), kit);
  std::size_t failed = 0;
  for (const auto& [what, other] : ways) {
    bool fails = true;
    live.boundary().on_init = [&, given = other](WatchedInit& call) {
      if (given) {
        call.context.processed = given->buffer();
      } else {
        live.boundary().watched().faults().fail(Service::runtime_memory, 1);
      }
      const tenon_status status = call.forward();
      live.boundary().watched().faults().fail(Service::runtime_memory, 0);
      fails = fails && status != TENON_STATUS_OK;
      return status;
    };
    const auto round = [&] {
      static_cast<void>(CaseMethod::load(live.program(), live.backend(), kit.backend()));
    };
    round();
    if (!fails) continue;
    ++failed;
    const auto growth = growth_of(live.backend(), stretch, round);
    kit.expect("TN-INI-1", growth.empty(), "init with ", what, " fails and leaves ",
               join_with_and(growth));
  }
  live.boundary().on_init = nullptr;
  if (failed == 0) kit.not_applicable("init fails neither with a damaged blob nor without memory");
}

TENON_CONFORMANCE_TEST("leaks/destroy-after-failure",
                       "destroying a program whose last run failed gives back all of it",
                       "[leaks][level-6][case][TN-DES-3]") {
  LiveCase live(kit);
  const int stretch = rounds_of(loads_of("leaks/destroy-after-failure"), kit);
  const auto load_and_run = [&] {
    const auto method = live.load();
    static_cast<void>(method->execute(method->runs().front()));
  };
  if (const auto growth = growth_of(live.backend(), stretch, load_and_run); !growth.empty()) {
    kit.blocked("also when the run succeeds there are ", join_with_and(growth));
  }
  bool fails = true;
  const std::array<std::pair<std::string_view, std::function<tenon_status(WatchedExecute&)>>, 2>
      ways = {{{"an argument too few",
                [](WatchedExecute& call) {
                  return call.forward(call.args, call.num_args == 0 ? 0 : call.num_args - 1);
                }},
               {"no temporary memory", [](WatchedExecute& call) {
                  call.boundary.watched().faults().fail(Service::temp_memory, 1);
                  const tenon_status status = call.forward();
                  call.boundary.watched().faults().fail(Service::temp_memory, 0);
                  return status;
                }}}};
  std::size_t failed = 0;
  for (const auto& [what, way] : ways) {
    fails = true;
    live.boundary().on_execute = [&, &run = way](WatchedExecute& call) {
      const tenon_status status = run(call);
      fails = fails && status != TENON_STATUS_OK;
      return status;
    };
    load_and_run();
    if (!fails) continue;
    ++failed;
    const auto growth = growth_of(live.backend(), stretch, load_and_run);
    kit.expect("TN-DES-3", growth.empty(), "a run with ", what,
               " fails, and after destroy there are ", join_with_and(growth));
  }
  live.boundary().on_execute = nullptr;
  if (failed == 0) kit.not_applicable("no run can be made to fail");
}

}}}  // namespace tenon::TENON_RELEASE::conformance
