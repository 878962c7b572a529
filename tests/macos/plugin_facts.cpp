// SPDX-License-Identifier: MIT
//
// Prints what a host reads from a library for an arm64 Mac, "backend ID" for each of its backends,
// and then "function NAME" for each function that it has to offer to models for Metal.
#include <cstdio>
#include <string>

#include "shims/shim_list.hpp"
#include "tenon/core/object/mach_o.hpp"
#include "tenon/host/layers/inspect/platforms.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"

int main(int argc, char** argv) {
  using namespace tenon;
  if (argc != 2) return 2;
  const auto file = host::MappedFile::open(argv[1]);
  if (!file.ok()) {
    std::fprintf(stderr, "%s\n", std::string(file.text()).c_str());
    return 1;
  }
  const host::Platform mac{BinaryFormat::mach_o, detail::macho::cpu_arm64};
  const auto record = host::peek(file->bytes(), argv[1], mac);
  if (!record.ok()) {
    std::fprintf(stderr, "%s\n", std::string(record.text()).c_str());
    return 1;
  }
  for (const host::BackendRecord& backend : record->backends) {
    std::printf("backend %s\n", backend.id.c_str());
  }
  for (const aoti::Shim& shim : metal_aoti::metal_shims()) {
    std::printf("function %s\n", std::string(shim.name).c_str());
  }
  return 0;
}
