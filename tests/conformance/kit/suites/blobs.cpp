// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/fixtures/blob_trial.hpp"
#include "kit/fixtures/damaged_blobs.hpp"
#include "kit/run/budget.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/host/layers/code/code_permission.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/layers/external_memory/imported_pages.hpp"
#include "tenon/host/layers/inspect/check_blob.hpp"
#include "tenon/host/layers/kernels/plugin_kernels.hpp"
#include "tenon/host/layers/variants/variant.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/platform/read_file.hpp"

/// Suite "blobs": how `init` and `check_blob` treat blobs that were made for the backend, for
/// another one, or for none. Each ends at a forbidden page. Crashes and hangs are detected by the
/// runner.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(blobs)

namespace {

/// Judges the rules for every answer.
void judge_answer(Context& kit, const TrialBlob& blob, const BlobAnswer& answer) {
  if (!answer.asked) return;
  kit.expect("TN-BLB-2",
             answer.verdict != TENON_BLOB_INCOMPATIBLE || answer.init != TENON_STATUS_OK, blob.name,
             ": check_blob called it incompatible, and init loaded it");
  const bool was_judged = !answer.check || *answer.check == TENON_STATUS_OK;
  kit.expect("TN-BLB-2", was_judged || answer.init != TENON_STATUS_OK, blob.name,
             ": check_blob failed, and init loaded it: ", answer.check_text);
  // A verdict that is not known counts as usable.
  const bool is_compatible = answer.verdict && *answer.verdict != TENON_BLOB_INCOMPATIBLE;
  // `init` also fails where memory is short or the application refuses the code.
  const bool blames_blob = answer.init != TENON_STATUS_OK &&
                           answer.init != TENON_STATUS_MEMORY_ALLOCATION_FAILED &&
                           answer.init != TENON_STATUS_ACCESS_FAILED;
  const bool is_refused =
      blob.is_invented ? blames_blob : answer.init == TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY;
  kit.expect("TN-BLB-3", !is_compatible || !is_refused, blob.name, ": check_blob called it ",
             answer.verdict == TENON_BLOB_OPTIMAL ? "optimal" : "usable",
             ", and init refused it with ", error_name(static_cast<Error>(answer.init)), ": ",
             answer.text);
  const bool names_versions =
      std::ranges::any_of(answer.text, [](char letter) { return letter >= '0' && letter <= '9'; });
  kit.expect(
      "TN-INI-2", answer.init != TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY || names_versions,
      blob.name,
      ": refused as incompatible without a version, neither found nor expected: ", answer.text);
  kit.expect("TN-INI-2", answer.execute != TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY, blob.name,
             ": init loaded it, and execute refused it as incompatible");
}

/// The good blob must still load and run.
void judge_good(Context& kit, BlobTrials& trials) {
  const BlobAnswer answer = trials.load_good();
  kit.expect("TN-INI-1", answer.run && answer.run->ok(),
             "after blobs that were refused, the good one is refused: ",
             answer.run ? answer.run->text() : std::string_view(answer.text));
}

void need_good(Context& kit, BlobTrials& trials) {
  const BlobAnswer answer = trials.load_good();
  if (!answer.run) kit.blocked("the case cannot be loaded: ", answer.text);
  kit.need(*answer.run, "a run of the case failed");
}

void judge_damaged(Context& kit) {
  BlobTrials trials(kit);
  need_good(kit, trials);
  const std::size_t delegates = kit.options().level >= 7 ? trials.blobs().size() : 1;
  const DamageAmount amount = damage_at(kit.options().level)
                                  .at_most(static_cast<std::size_t>(
                                      rounds_of(loads_of("blobs/refuses-damaged-blob"), kit)));
  for (std::size_t i = 0; i < delegates; ++i) {
    const auto judge = [&](const TrialBlob& blob) {
      judge_answer(kit, blob, trials.load(i, blob));
    };
    for_damaged(trials.blobs()[i], amount, kit.random(), judge);
    for_garbage(amount, kit.random(), judge);
  }
  judge_good(kit, trials);
}

}  // namespace

TENON_CONFORMANCE_TEST("blobs/refuses-damaged-blob",
                       "a damaged blob is refused with a reason or runs in its bounds",
                       "[blobs][level-5][case][TN-INI-1][TN-INI-2][TN-INI-5][TN-BLB-1][TN-BLB-2]"
                       "[TN-BLB-3][TN-BCK-1][TN-BCK-7][TN-BCK-8][TN-ERR-1][TN-ERR-2]") {
  judge_damaged(kit);
}

TENON_CONFORMANCE_TEST("blobs/refuses-invented-blob",
                       "a blob that nobody made is refused with a reason",
                       "[blobs][level-5][backend][TN-INI-2][TN-INI-5][TN-BCK-1][TN-BCK-7][TN-BCK-8]"
                       "[TN-ERR-1][TN-ERR-2]") {
  OpenedBackend opened(kit);
  need_device(kit, opened);
  host::Arena arena;
  const host::EmbeddedCodePolicy no_code = host::EmbeddedCodePolicy::deny();
  for_garbage(damage_at(kit.options().level), kit.random(), [&](const TrialBlob& blob) {
    tenon_buffer processed{sizeof(tenon_buffer), 0,       nullptr,
                           blob.bytes.size(),    nullptr, [](tenon_buffer*) {}};
    if (!blob.bytes.empty()) processed.data = blob.bytes.data();
    host::detail::CodePermission permission(no_code);
    host::detail::InitCall context;
    permission.answer(context);
    context.host = opened.backend().host();
    context.method_name = "forward";
    context.processed = &processed;
    context.runtime_allocator = arena.table();
    tenon_delegate* delegate = nullptr;
    const host::LoadedBackend& backend = opened.backend();
    const tenon_status status = backend.api().init(backend.raw(), &context, &delegate);
    BlobAnswer answer;
    answer.asked = true;
    answer.init = status;
    if (status != TENON_STATUS_OK) answer.text = said_error().text;
    judge_answer(kit, blob, answer);
    if (status == TENON_STATUS_OK) backend.api().destroy(backend.raw(), delegate);
  });
}

TENON_CONFORMANCE_TEST("blobs/own-blob-is-compatible",
                       "a blob that was made for the backend gets a verdict, and not incompatible",
                       "[blobs][level-5][case][TN-BLB-1][TN-BLB-2][TN-ERR-2]") {
  BlobTrials trials(kit);
  const BlobAnswer answer = trials.load_good();
  if (!answer.asked) kit.blocked("the case cannot be loaded");
  if (!answer.check) kit.not_applicable("the backend has no " TENON_EXTENSION_CHECK_BLOB);
  judge_answer(kit, {"the blob of the case", {}}, answer);
}

TENON_CONFORMANCE_TEST("blobs/checks-without-device", "a blob is judged without the device",
                       "[blobs][level-5][case][TN-BLB-1]") {
  OpenedBackend opened(kit);
  const CaseProgram program = kit.need(CaseProgram::open(kit.of_case()), "the case");
  const std::string& name = kit.of_case().method;
  const auto* plan = kit.need(program.program()->plan(name), "the method of the case");
  std::shared_ptr<const host::MergedDataMap> data;
  if (program.program()->num_keys() != 0 || !program.data_files().empty()) {
    data = kit.need(host::MergedDataMap::create(program.program(), program.data_files()), "data");
  }
  if (opened.backend().is_available().ok()) kit.not_applicable("the device is present");
  for (const auto* delegate : *plan->delegates()) {
    if (delegate->id()->string_view() != kit.backend().id) continue;
    const auto check = host::check_blob(opened.backend(), *program.program(), name.c_str(),
                                        *delegate, data ? data->abi() : nullptr);
    if (check.ok() && !check->has_value()) {
      kit.not_applicable("the backend has no " TENON_EXTENSION_CHECK_BLOB);
    }
    kit.expect("TN-BLB-1", check.ok(), check.text());
  }
}

// The usual case: the file is damaged, and the host cannot detect that in the blob.
TENON_CONFORMANCE_TEST(
    "blobs/refuses-damaged-program",
    "a program with a damaged blob is refused with a reason or loaded",
    "[blobs][level-7][case][TN-INI-1][TN-INI-5][TN-BCK-1][TN-BCK-7][TN-BCK-8][TN-ERR-1]"
    "[TN-ERR-2]") {
  OpenedBackend opened(kit);
  need_device(kit, opened);
  if (opened.backend().record().runs_embedded_code) {
    kit.not_applicable("the backend runs code of programs, and damaged code may do anything");
  }
  const CaseProgram good = kit.need(CaseProgram::open(kit.of_case()), "the case");
  const std::string text = kit.need(host::read_file(kit.of_case().program), "the case");
  constexpr std::size_t alignment = 16;
  std::vector<std::byte> memory(text.size() + alignment);
  const std::size_t skipped =
      (alignment - reinterpret_cast<std::uintptr_t>(memory.data()) % alignment) % alignment;
  const std::span<std::byte> bytes(memory.data() + skipped, text.size());
  std::ranges::copy(std::as_bytes(std::span(text)), bytes.begin());
  const auto open = [&] { return host::Program::from_bytes(bytes, nullptr, "damaged"); };
  const auto load = [&](std::shared_ptr<const host::Program> program) {
    host::MethodOptions options;
    options.backends = {opened.ref()};
    options.layers = {host::Variant(), host::Devices(), host::ImportedPages(),
                      host::PluginKernels(), host::DataFiles(good.data_files())};
    return host::Method::load(std::move(program), kit.of_case().method, std::move(options)).ok();
  };
  auto program = kit.need(open(), "the program");
  if (!load(program)) kit.blocked("the case cannot be loaded");
  const auto* plan = kit.need(program->plan(kit.of_case().method), "the method of the case");
  for (const auto* delegate : *plan->delegates()) {
    const auto blob = program->view().delegate_data(*delegate);
    if (delegate->id()->string_view() != kit.backend().id || blob.empty()) continue;
    const auto at = static_cast<std::size_t>(blob.data() - bytes.data());
    for (const detail::Flip& flip : detail::sample_flips(
             blob.size(), damage_at(kit.options().level).flips / 4, kit.random())) {
      bytes[at + flip.at] ^= flip.mask;
      if (auto damaged = open(); damaged.ok()) load(*std::move(damaged));
      bytes[at + flip.at] ^= flip.mask;
    }
  }
  kit.expect("TN-INI-1", load(std::move(program)),
             "after damaged programs, the good one is refused");
}

}}}  // namespace tenon::TENON_RELEASE::conformance
