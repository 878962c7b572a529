// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tenon::cpu_aoti {

/// Takes the pages that are wholly in this memory out of the resident set of the process, where
/// they are unchanged pages of a mapped file; the next access reads them from the file again.
/// Memory of any other kind keeps its pages and its contents, and so do pages whose kind the kernel
/// does not report. Nothing may write to the memory meanwhile.
void release_file_pages(const std::byte* data, std::size_t nbytes) noexcept;

}  // namespace tenon::cpu_aoti
