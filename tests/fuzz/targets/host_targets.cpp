// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>

#include "fuzz/fuzz_target.hpp"
#include "parsers.hpp"
#include "tenon/core/object/mach_o.hpp"
#include "tenon/core/object/pe_header.hpp"
#include "tenon/host/layers/arrays/compare_arrays.hpp"
#include "tenon/host/layers/arrays/element.hpp"
#include "tenon/host/layers/arrays/npy.hpp"
#include "tenon/host/layers/discovery/impl/manifest.hpp"
#include "tenon/host/layers/inspect/binary_lint.hpp"
#include "tenon/host/layers/inspect/elf_library.hpp"
#include "tenon/host/layers/inspect/platforms.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/signatures.hpp"

namespace tenon::fuzz {

void manifest(std::span<std::byte> bytes) {
  use(host::parse_manifest(text_of(bytes), "fuzz.json"));
}

void publishers(std::span<std::byte> bytes) {
  const auto read = host::parse_publishers(text_of(bytes), "fuzz.json");
  use(read);
  if (!read.ok()) return;
  for (const host::PublisherKey& key : read->keys) {
    if (key.not_before && key.not_after && *key.not_before >= *key.not_after) std::abort();
  }
}

void bundle(std::span<std::byte> bytes) {
  const auto read = host::parse_sigstore_bundle(text_of(bytes));
  use(read);
  if (!read.ok()) return;
  const Status held = host::verify_sigstore(bytes, *read, {});
  use(held);
  if (held.ok()) std::abort();
}

void signature(std::span<std::byte> bytes) {
  use(host::parse_minisign_key(text_of(bytes)));
  use(host::parse_sigstore_key(text_of(bytes)));
  bundle(bytes);
  const auto read = host::parse_minisign_signature(text_of(bytes));
  use(read);
  if (!read.ok()) return;
  if (host::key_id_text(read->key_id).size() != 16) std::abort();
  // It is no key, so that nothing was signed with it.
  const Status held = host::verify_minisign(bytes, *read, host::MinisignKey{read->key_id});
  use(held);
  if (held.ok()) std::abort();
}

void npy(std::span<std::byte> bytes) {
  auto file = host::parse_npy(bytes);
  use(file);
  if (!file.ok()) return;
  std::size_t count = 1;
  for (const std::int64_t size : file->shape) count *= static_cast<std::size_t>(size);
  if (file->data.size() != count * file->item_size) std::abort();
  // Every type that a program may ask for; a few elements of each as a person sees them.
  for (const ScalarTypeInfo& info : scalar_types) {
    host::NpyArray copy{file->kind, file->item_size, file->shape,
                        host::ArrayBytes::uninitialized(file->data.size())};
    std::copy(file->data.span().begin(), file->data.span().end(), copy.data.data());
    const auto array = host::to_scalar_type(std::move(copy), info.type);
    use(array);
    if (!array.ok()) continue;
    const std::span<const std::byte> data = array->data.span();
    if (data.size() != count * size_of(info.type)) std::abort();
    for (std::size_t i = 0; i < std::min<std::size_t>(count, 4); ++i) {
      if (host::element_text(info.type, data, i).empty()) std::abort();
    }
    const host::ArrayView view{info.type, array->shape, data};
    if (count <= 64) (void)host::compare_arrays(view, view, {});
  }
}

void elf(std::span<std::byte> bytes) {
  use(host::peek(bytes, "fuzz.so"));
  const auto library = host::read_elf_library(bytes);
  use(library);
  if (library.ok() && host::lint_plugin(*library).empty()) std::abort();
}

void mach_o(std::span<std::byte> bytes) {
  for (const std::uint32_t machine :
       {tenon::detail::macho::cpu_arm64, tenon::detail::macho::cpu_x86_64}) {
    use(host::peek(bytes, "fuzz.dylib", {BinaryFormat::mach_o, machine}));
  }
}

void pe(std::span<std::byte> bytes) {
  const auto platform = host::platform_of(bytes);
  for (const std::uint32_t machine :
       {tenon::detail::pe::machine_x86_64, platform ? platform->machine : 0U}) {
    use(host::peek(bytes, "fuzz.dll", {BinaryFormat::pe, machine}));
  }
}

}  // namespace tenon::fuzz
