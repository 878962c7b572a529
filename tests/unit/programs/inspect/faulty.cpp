// SPDX-License-Identifier: MIT
// A plugin whose C++ has one fault that FAULT_... names.
#if defined(FAULT_IOSTREAM)
#include <ios>
#include <iostream>
#endif
#include <string>
#include <tenon/tenon.hpp>

namespace faulty {

#if defined(FAULT_IOSTREAM)
// What that header has itself before libstdc++ 13.
static const std::ios_base::Init initialized;
#endif

#if defined(FAULT_UNIQUE)
// Its template's static object is STB_GNU_UNIQUE, as it is built without the export list.
template <class T>
struct Registry {
  static inline int count = 0;
};
#if defined(__clang__)
// clang makes the like weak.
__asm__(
    ".pushsection .data\n"
    ".type zoo_unique,%gnu_unique_object\n"
    ".size zoo_unique,4\n"
    "zoo_unique: .long 0\n"
    ".popsection");
#endif
#elif defined(FAULT_THREAD_LOCAL)
thread_local std::string scratch;
#elif defined(FAULT_GLOBAL)
std::string name = std::string(100, 'x');
#endif

class Faulty final : public tenon::Backend<Faulty> {
 public:
  static constexpr std::string_view id = "FaultyBackend";

  struct Delegate {};

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
#if defined(FAULT_UNIQUE)
    ++Registry<int>::count;
#elif defined(FAULT_THREAD_LOCAL)
    scratch += processed.text();
#elif defined(FAULT_GLOBAL)
    name += processed.text();
#elif defined(FAULT_IOSTREAM)
    std::cerr << processed.text();
#endif
    static_cast<void>(processed);
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

}  // namespace faulty

TENON_PLUGIN(faulty::Faulty);
