// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/external_memory/imported_pages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/draft/external_memory.h"
#include "tenon/core/application/external_memory.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/external_memory/external_memory.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/impl/method/page_source.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/platform/file_descriptor.hpp"
#include "tenon/host/platform/impl/pages.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Number of the planned buffers of a page or more, and the bytes that these have as whole pages
/// besides the plan's.
[[nodiscard]] inline std::pair<std::size_t, std::uint64_t> bytes_around_pages(
    const schema::ExecutionPlan& plan) {
  const auto& sizes = *plan.non_const_buffer_sizes();
  std::size_t count = 0;
  std::uint64_t around = 0;
  for (flatbuffers::uoffset_t i = 1; i < sizes.size(); ++i) {
    const auto size = static_cast<std::uint64_t>(sizes.Get(i));
    if (size < platform::page_size()) continue;
    ++count;
    around += platform::page_size() - 1 - (size - 1) % platform::page_size();
  }
  return {count, around};
}

/// The pages of one method's planned memory, and their imports.
class PagesPart final : public PartOf<PagesPart>, public PageSource {
 public:
  ~PagesPart() override {
    imported_.clear();  // Before the memory itself.
    for (const Pages& pages : all_)
      platform::give_back_pages(pages.bytes.data(), pages.bytes.size());
  }

  /// A backend that is not found is not looked at: loading its delegate reports it.
  Status before_memory(Loading& loading) override {
    if (loading.pages) return ok();  // The layer is listed twice.
    const schema::ExecutionPlan& plan = loading.method.plan;
    const auto [num_in_pages, padding] = bytes_around_pages(plan);
    if (num_in_pages == 0) return ok();
    for (const auto* delegate : *plan.delegates()) {
      if (!loading.use_backend(delegate->id()->string_view()).ok()) break;
    }
    loading.method.uses.for_each([&](const BackendUse& use) { note(use.backend); });
    if (!importing_.empty() && loading.method.arena.count(padding)) loading.pages = this;
    return ok();
  }

  [[nodiscard]] bool takes(std::uint64_t nbytes) const noexcept override {
    return nbytes >= platform::page_size();
  }

  std::span<std::byte> take(std::uint64_t nbytes) override {
    const std::size_t page = platform::page_size();
    if (nbytes > PTRDIFF_MAX - page) return {};
    const std::size_t whole = (static_cast<std::size_t>(nbytes) + page - 1) / page * page;
    all_.reserve(all_.size() + 1);  // So that no pages are lost.
    Pages pages;
    void* block = in_files_ ? platform::take_shared_pages(whole, pages.file) : nullptr;
    if (!block) block = platform::take_pages(whole);
    if (!block) return {};
    pages.bytes = {static_cast<std::byte*>(block), whole};
    all_.push_back(std::move(pages));
    return all_.back().bytes;
  }

  /// Has each backend import all pages. Pages that it refuses remain memory of the host as any
  /// other.
  void end() override {
    for (const BackendRef& backend : importing_) {
      for (const Pages& pages : all_) {
        ExternalMemory memory;
        if (pages.file.valid()) memory.descriptor = pages.file.get();
        memory.kind = MemoryKind::HostMemory;
        memory.handle = pages.bytes.data();
        memory.nbytes = pages.bytes.size();
        memory.is_written = true;
        auto imported = ImportedMemory::import(backend, memory);
        if (imported.ok()) imported_.push_back(*std::move(imported));
      }
    }
    importing_.clear();
    for (Pages& pages : all_) pages.file = {};
  }

 private:
  struct Pages {
    std::span<std::byte> bytes;
    FileDescriptor file{};  ///< In memory, until it was imported; invalid without one.
  };

  /// Whether and how `backend` works on memory of the host where it is.
  void note(const BackendRef& backend) {
    const auto table =
        backend->extension<tenon_external_memory_v1>(TENON_EXTENSION_EXTERNAL_MEMORY);
    if (!table) return;
    const tenon::detail::HandleKinds kinds = tenon::detail::memory_kinds(*table);
    if (!tenon::detail::has_kind(kinds, MemoryKind::HostMemory)) return;
    importing_.push_back(backend);
    in_files_ = in_files_ || tenon::detail::has_kind(kinds, MemoryKind::MemFd);
  }

  std::vector<BackendRef> importing_;  ///< Until all was imported.
  bool in_files_ = false;  ///< Pages belong to files in memory, where the system has such files.
  std::vector<Pages> all_;
  std::vector<ImportedMemory> imported_;
};

}  // namespace detail

Result<std::unique_ptr<detail::MethodPart>> ImportedPages::attach(
    detail::LoadRequest& request) const {
  if (detail::bytes_around_pages(*request.plan).first == 0) return nullptr;
  return std::make_unique<detail::PagesPart>();
}

}}}  // namespace tenon::TENON_RELEASE::host
