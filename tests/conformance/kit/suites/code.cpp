// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/process/resources.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/test.hpp"

/// Suite "code": native code in a program is mapped only when the application permits it. Code is
/// recognised by its bytes: executable memory whose bytes are in the blob came from there. Packed
/// code is recognised by the bytes that the plugin asks for.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(code)

namespace {

/// The bytes of code that a plugin asked for in one `init`.
struct AskedCode {
  std::vector<std::vector<std::byte>> parts;
};
AskedCode*& asked_code() noexcept {
  thread_local AskedCode* asked = nullptr;
  return asked;
}

/// The length of the longest prefix of `code` that is anywhere in `bytes`.
[[nodiscard]] std::size_t longest_beginning(std::span<const std::byte> code,
                                            std::span<const std::byte> bytes) {
  constexpr std::size_t least = 12;
  if (code.size() < least || bytes.size() < least) return 0;
  const auto first = code.first(least);
  // Zeros are everywhere.
  if (std::ranges::count(first, std::byte{0}) > static_cast<std::ptrdiff_t>(least) - 4) return 0;
  std::size_t most = 0;
  for (auto at = bytes.begin(); at != bytes.end();) {
    at = std::search(at, bytes.end(), first.begin(), first.end());
    if (at == bytes.end()) break;
    const auto [in_code, in_bytes] = std::mismatch(code.begin(), code.end(), at, bytes.end());
    most = std::max(most, static_cast<std::size_t>(in_code - code.begin()));
    ++at;
  }
  return most;
}

/// The executable mappings of this process that did not exist on construction.
class NewCode {
 public:
  NewCode() : before_(mappings()) {}

  [[nodiscard]] std::vector<std::span<const std::byte>> now() const {
    std::vector<std::span<const std::byte>> out;
    for (const Mapping& one : mappings()) {
      if (!one.executable || !one.readable || one.name.starts_with("[v")) continue;
      const bool was = std::ranges::any_of(before_, [&](const Mapping& other) {
        return other.executable && other.begin <= one.begin && one.end <= other.end;
      });
      if (!was) {
        out.emplace_back(reinterpret_cast<const std::byte*>(one.begin), one.end - one.begin);
      }
    }
    return out;
  }
  /// The bytes of `blob` among them: the longest piece that begins a mapping.
  [[nodiscard]] std::span<const std::byte> of(std::span<const std::byte> blob) const {
    std::span<const std::byte> out;
    for (const auto code : now()) {
      const std::size_t size = longest_beginning(code, blob);
      if (size > out.size()) out = code.first(size);
    }
    return out;
  }

 private:
  std::vector<Mapping> before_;
};

std::span<const std::byte> bytes_of(const tenon_buffer* buffer) {
  if (!buffer || !buffer->data) return {};
  return {static_cast<const std::byte*>(buffer->data), static_cast<std::size_t>(buffer->nbytes)};
}

std::vector<std::byte> copy_of_blob(const WatchedInit& call) {
  const auto blob = bytes_of(call.context.processed);
  return {blob.begin(), blob.end()};
}

/// Records the request and answers with OK.
tenon_status permit_all(const tenon_init_context*, const void* code, std::uint64_t size) {
  const OutsidePlugin outside;
  if (AskedCode* asked = asked_code()) {
    const auto* first = static_cast<const std::byte*>(code);
    asked->parts.emplace_back(first, first + size);
  }
  return TENON_STATUS_OK;
}
/// Records the request and refuses it, with the reason that a host keeps.
tenon_status refuse_all(const tenon_init_context* context, const void* code, std::uint64_t size) {
  static_cast<void>(permit_all(context, code, size));
  const OutsidePlugin outside;
  const std::string_view text = "the application refuses code of programs";
  context->host->set_last_error(context->host, TENON_STATUS_ACCESS_FAILED, text.data(),
                                text.size());
  return TENON_STATUS_ACCESS_FAILED;
}

/// Calls `init` with `permit` in the context. `asked` gets the code that it asked for.
tenon_status init_with(WatchedInit& call, AskedCode& asked,
                       decltype(tenon_init_context::permit_code) permit) {
  call.context.permit_code = permit;
  asked_code() = &asked;
  const tenon_status status = call.forward();
  asked_code() = nullptr;
  return status;
}

bool runs_code(OpenedBackend& backend, Context& kit) {
  const auto* record = backend.plugin().backend_record(kit.backend().id);
  return record && record->runs_embedded_code;
}

/// Judges one `init` that may map what it asks for.
void judge_asking(Context& kit, OpenedBackend& backend, const AskedCode& asked,
                  std::span<const std::byte> mapped) {
  const bool says_so = runs_code(backend, kit);
  if (asked.parts.empty()) {
    kit.expect("TN-COD-1", mapped.empty(), "init mapped ", mapped.size(),
               " bytes of the blob as code and did not call permit_code");
    if (mapped.empty()) {
      kit.expect("TN-COD-1", !says_so,
                 "the record has RUNS_EMBEDDED_CODE, and init did not call "
                 "permit_code");
    }
    return;
  }
  kit.expect("TN-COD-1", says_so,
             "init calls permit_code, and the record does not have "
             "RUNS_EMBEDDED_CODE");
  std::size_t covered = 0;
  for (const auto& part : asked.parts) {
    covered = std::max(covered, longest_beginning(mapped, part));
    // A part that is too short to be recognised anywhere is compared from its beginning.
    const auto [in_code, in_part] = std::ranges::mismatch(mapped, part);
    covered = std::max(covered, static_cast<std::size_t>(in_code - mapped.begin()));
  }
  kit.expect("TN-COD-2", covered >= mapped.size(), "init mapped ", mapped.size(),
             " bytes of the blob as code, and asked for the first ", covered, " of them");
}

}  // namespace

TENON_CONFORMANCE_TEST("code/asks-before-mapping",
                       "code of a program is mapped only after it was asked for",
                       "[code][level-4][case][TN-COD-1][TN-COD-2]") {
  if (mappings().empty()) kit.not_applicable("the system does not report what is mapped");
  LiveCase live(kit);
  live.boundary().on_init = [&](WatchedInit& call) {
    const std::vector<std::byte> blob = copy_of_blob(call);
    const NewCode code;
    AskedCode asked;
    const tenon_status status = init_with(call, asked, &permit_all);
    if (status == TENON_STATUS_OK) judge_asking(kit, live.backend(), asked, code.of(blob));
    return status;
  };
  static_cast<void>(live.load());
}

TENON_CONFORMANCE_TEST("code/respects-refusal", "code that the application refuses is not mapped",
                       "[code][level-4][case][TN-COD-3]") {
  if (mappings().empty()) kit.not_applicable("the system does not report what is mapped");
  LiveCase live(kit);
  bool asks = false;
  live.boundary().on_init = [&](WatchedInit& call) {
    AskedCode asked;
    const tenon_status status = init_with(call, asked, &permit_all);
    asks = asks || !asked.parts.empty();
    return status;
  };
  static_cast<void>(live.load());
  if (!asks) kit.not_applicable("init asks for no code");
  live.boundary().on_init = [&](WatchedInit& call) {
    const std::vector<std::byte> blob = copy_of_blob(call);
    const NewCode code;
    AskedCode asked;
    const tenon_status status = init_with(call, asked, &refuse_all);
    if (asked.parts.empty()) return status;
    kit.expect("TN-COD-3", status == TENON_STATUS_ACCESS_FAILED,
               "permit_code gave AccessFailed and "
               "init returned ",
               status == TENON_STATUS_OK ? "success" : "another failure: ",
               error_name(static_cast<Error>(status)));
    std::size_t mapped = code.of(blob).size();
    for (const auto& part : asked.parts) mapped = std::max(mapped, code.of(part).size());
    kit.expect("TN-COD-3", mapped == 0, "permit_code refused, and ", mapped,
               " bytes of the code are mapped");
    return status;
  };
  static_cast<void>(CaseMethod::load(live.program(), live.backend(), kit.backend()));
}

TENON_CONFORMANCE_TEST("code/check-blob-maps-nothing", "looking at a blob maps no code of it",
                       "[code][level-4][case][TN-COD-4]") {
  if (mappings().empty()) kit.not_applicable("the system does not report what is mapped");
  LiveCase live(kit);
  Boundary& boundary = live.boundary();
  if (!live.backend().backend().extension<tenon_check_blob_v1>(TENON_EXTENSION_CHECK_BLOB)) {
    kit.not_applicable("the backend does not offer " TENON_EXTENSION_CHECK_BLOB);
  }
  bool released = false;
  boundary.on_init = [&](WatchedInit& call) {
    const std::vector<std::byte> blob = copy_of_blob(call);
    const NewCode code;
    AskedCode asked;
    asked_code() = &asked;
    tenon_init_context context = call.context;
    context.permit_code = &permit_all;
    std::uint32_t verdict = TENON_BLOB_OPTIMAL;
    boundary.watched().watch().nothing_of("check_blob", 0, [&] {
      boundary.watched().with_context(
          call.delegate, context, *call.original, [&](tenon_init_context* seen) {
            return boundary.watched().extension<tenon_check_blob_v1>().check_blob(boundary.opened(),
                                                                                  seen, &verdict);
          });
    });
    asked_code() = nullptr;
    std::size_t mapped = code.of(blob).size();
    for (const auto& part : asked.parts) mapped = std::max(mapped, code.of(part).size());
    kit.expect("TN-COD-4", mapped == 0, "after check_blob ", mapped,
               " bytes of the blob are mapped as code");
    released = call.delegate.bytes.was_released();
    return released ? tenon_status{TENON_STATUS_INTERNAL} : call.forward();
  };
  const auto method = CaseMethod::load(live.program(), live.backend(), kit.backend());
  if (released) kit.blocked("check_blob released the blob");
  if (!method.ok()) kit.blocked("the case is not loaded: ", method.text());
}

}}}  // namespace tenon::TENON_RELEASE::conformance
