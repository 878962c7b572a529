// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/check_blob.h"
#include "tenon/conformance/case_method.hpp"
#include "tenon/conformance/context.hpp"
#include "tenon/conformance/guarded_arguments.hpp"
#include "tenon/conformance/loaded_plugin.hpp"
#include "tenon/conformance/need_device.hpp"

/// What a backend does with a blob that is not the one that was made for it.
namespace tenon::conformance {

/// A blob and what it is.
struct TrialBlob {
  std::string name;  ///< "its first 7 bytes".
  std::span<const std::byte> bytes;
};

/// What became of a blob.
struct BlobAnswer {
  bool asked = false;                    ///< Whether `init` was called at all.
  tenon_status init = TENON_STATUS_OK;   ///< What `init` returned,
  std::string text;                      ///< and what it said.
  std::optional<std::uint32_t> verdict;  ///< Of check_blob; nothing where it failed or is not.
  std::optional<Status> run;             ///< The first run; nothing when nothing was loaded.
  tenon_status execute = TENON_STATUS_OK;
};

/// As many zeros as are asked for, which take no memory.
class Zeros {
 public:
  explicit Zeros(std::size_t size) : size_(size) {
    pages_ = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages_ == MAP_FAILED) throw std::bad_alloc();
  }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  ~Zeros() { ::munmap(pages_, size_); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {static_cast<const std::byte*>(pages_), size_};
  }

 private:
  void* pages_;
  std::size_t size_;
};

namespace detail {

/// Refuses the code of a program whose blob is not the author's: what damaged code does when it
/// runs is nobody's fault.
inline tenon_status refuse_code(const tenon_init_context*, const void*, std::uint64_t) {
  said_error() = {true, TENON_STATUS_ACCESS_FAILED, "code of a blob that was damaged may not run"};
  return TENON_STATUS_ACCESS_FAILED;
}

}  // namespace detail

/// Loads the case that a test is about, with other blobs in place of that of one delegate.
class BlobTrials {
 public:
  /// Ends the test without the device, and as `blocked` when the case cannot be read.
  explicit BlobTrials(Context& kit)
      : kit_(kit),
        opened_(kit),
        program_(kit.need(CaseProgram::open(kit.of_case()), "the case cannot be read")) {
    need_device(kit, opened_);
    plan_ = kit.need(program_.program()->plan(kit.of_case().method), "the method of the case");
    roles_ = find_roles(*plan_, kit.backend().id);
    for (const auto* delegate : *plan_->delegates()) {
      if (delegate->id()->string_view() != kit.backend().id) continue;
      const auto bytes = program_.program()->view().delegate_data(*delegate);
      blobs_.emplace_back(bytes.begin(), bytes.end());
    }
    if (blobs_.empty()) kit.not_applicable("the method of the case does not use the backend");
  }

  [[nodiscard]] OpenedBackend& opened() noexcept { return opened_; }
  [[nodiscard]] const CaseProgram& program() const noexcept { return program_; }
  /// The good blobs of the backend's delegates, in their order.
  [[nodiscard]] const std::vector<std::vector<std::byte>>& blobs() const noexcept { return blobs_; }

  /// Loads the method with `blob` for delegate `target`, runs it once where that succeeds, and
  /// destroys it.
  [[nodiscard]] BlobAnswer load(std::size_t target, const TrialBlob& blob) {
    return attempt(target, &blob);
  }
  /// The same with the blobs of the case.
  [[nodiscard]] BlobAnswer load_good() { return attempt(0, nullptr); }

 private:
  BlobAnswer attempt(std::size_t target, const TrialBlob* blob) {
    BlobAnswer answer;
    tenon_buffer mine{sizeof(tenon_buffer), 0, nullptr, 0, nullptr, [](tenon_buffer*) {}};
    if (blob && !blob->bytes.empty()) {
      mine.data = blob->bytes.data();
      mine.nbytes = blob->bytes.size();
    }
    detail::SeenBytes seen(blob ? &mine : nullptr, {"TN-INI-5", "around the blob"});
    tenon_buffer shown = seen.buffer();
    std::size_t number = 0;
    opened_.boundary().on_init = [&](InitCall& call) {
      if (number++ != target) return call.forward();
      answer.verdict = check(call, blob ? &mine : call.original->processed);
      if (blob) {
        call.context.processed = &shown;
        if (opened_.backend().record().runs_embedded_code && call.context.permit_code) {
          call.context.permit_code = &detail::refuse_code;
        }
      }
      answer.asked = true;
      answer.init = call.forward();
      answer.text = answer.init == TENON_STATUS_OK ? std::string() : said_error().text;
      return answer.init;
    };
    load_and_run(answer);
    opened_.boundary().on_init = nullptr;
    return answer;
  }

  void load_and_run(BlobAnswer& answer) {
    GuardedArguments guards(opened_.boundary(), roles_);
    opened_.boundary().on_execute = [&](ExecuteCall& call) {
      return answer.execute = guards.run(call);
    };
    auto method = CaseMethod::load(program_, opened_, kit_.backend());
    if (!method.ok()) return;
    const CaseRun& run = (*method)->runs().front();
    kit_.need((*method)->set_inputs(run), "the inputs of the case");
    answer.run = (*method)->method().execute();
  }

  /// What check_blob says, asked with the host's own context.
  std::optional<std::uint32_t> check(const InitCall& call, tenon_buffer* processed) {
    const auto table = opened_.backend().extension<tenon_check_blob_v1>(TENON_EXTENSION_CHECK_BLOB);
    if (!table || !opened_.boundary().extensions().check_blob.check_blob) return std::nullopt;
    auto* context = const_cast<tenon_init_context*>(call.original);
    tenon_buffer* const before = std::exchange(context->processed, processed);
    std::uint32_t verdict = TENON_BLOB_OPTIMAL;
    const tenon_status status = table->check_blob(opened_.backend().raw(), context, &verdict);
    context->processed = before;
    if (status != TENON_STATUS_OK) return std::nullopt;
    const bool has_reason = said_error().said && !said_error().text.empty();
    kit_.keep("TN-ERR-2", verdict == TENON_BLOB_OPTIMAL || has_reason, "check_blob called a blob ",
              verdict == TENON_BLOB_USABLE ? "usable" : "incompatible",
              " without calling set_last_error");
    return verdict;
  }

  Context& kit_;
  OpenedBackend opened_;
  CaseProgram program_;
  const schema::ExecutionPlan* plan_ = nullptr;
  std::vector<std::vector<ArgumentRole>> roles_;
  std::vector<std::vector<std::byte>> blobs_;
};

}  // namespace tenon::conformance
