// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/named_data_map.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/core/result.hpp"
#include "tenon/executorch/allocator_probe.hpp"
#include "tenon/executorch/error.hpp"
#include "tenon/executorch/tensor_members.hpp"
#include "tenon/executorch/version.hpp"

/// Checks that the objects of the loaded ExecuTorch have the layouts of the headers that this was
/// compiled with. The version is checked first; this finds a library that has no version, was
/// patched, or was built with other options.
namespace tenon { inline namespace TENON_RELEASE { namespace bridge {

namespace detail {

/// The failure for the first difference.
inline Status differs(std::string_view what) {
  return error(Error::NotSupported, what,
               " is laid out otherwise in the loaded ExecuTorch than in the headers that this "
               "bridge was compiled with, ExecuTorch ",
               compiled_version().text);
}

/// A tensor that the library constructs and resizes, read by the headers' accessors, in an EValue
/// that the library reads.
inline Status check_values() {
  using ::executorch::aten::DeviceType;
  using ::executorch::aten::ScalarType;
  using ::executorch::aten::Tensor;
  using OptionalTensor = std::optional<Tensor>;

  std::array<TensorImpl::SizesType, 2> sizes{2, 3};
  std::array<TensorImpl::DimOrderType, 2> order{0, 1};
  std::array<TensorImpl::StridesType, 2> strides{3, 1};
  std::array<float, 6> data{};
  // Space behind the object, for a library whose object is larger.
  constexpr std::size_t room = 256;
  constexpr std::byte untouched{0xa5};
  alignas(TensorImpl) std::array<std::byte, sizeof(TensorImpl) + room> storage;
  storage.fill(untouched);
  auto& impl = *new (storage.data()) TensorImpl(
      ScalarType::Float, 2, sizes.data(), data.data(), order.data(), strides.data(),
      et::TensorShapeDynamism::DYNAMIC_BOUND, DeviceType::CUDA, 1);
  const bool is_read =
      impl.dim() == 2 && impl.numel() == 6 && numel_bound(impl) == 6 &&
      impl.scalar_type() == ScalarType::Float && impl.sizes().data() == sizes.data() &&
      impl.dim_order().data() == order.data() && impl.strides().data() == strides.data() &&
      strides_of(impl) == strides.data() && dim_order_of(impl) == order.data() &&
      impl.data() == data.data() &&
      impl.shape_dynamism() == et::TensorShapeDynamism::DYNAMIC_BOUND &&
      impl.device_type() == DeviceType::CUDA && impl.device_index() == 1;
  const bool fits = std::all_of(storage.begin() + sizeof(TensorImpl), storage.end(),
                                [&](std::byte each) { return each == untouched; });
  if (!is_read || !fits || impl.nbytes() != sizeof data) return differs("TensorImpl");

  const std::array<TensorImpl::SizesType, 2> smaller{1, 3};
  const auto resized = et::internal::resize_tensor_impl(&impl, {smaller.data(), smaller.size()});
  if (resized != et::Error::Ok || sizes != smaller || impl.numel() != 3 || numel_bound(impl) != 6) {
    return differs("TensorImpl");
  }

  std::array<et::EValue, 2> values{et::EValue(Tensor(&impl)), et::EValue()};
  std::array<et::EValue*, 3> wrapped{&values[0], &values[1], nullptr};
  std::array<OptionalTensor, 3> unwrapped;
  const et::BoxedEvalueList<OptionalTensor> list(wrapped.data(), unwrapped.data(), 3);
  const auto got = list.tryGet();
  const bool is_list = got.ok() && got->size() == 3 && (*got)[0].has_value() &&
                       (*got)[0]->unsafeGetTensorImpl() == &impl && !(*got)[1].has_value() &&
                       !(*got)[2].has_value();
  return is_list ? ok() : differs("EValue");
}

/// Checks that the registry behaves as declared.
inline Status check_registry() {
  const std::size_t count = et::get_num_registered_backends();
  const auto beyond = et::get_backend_name(count);
  bool is_registry = !beyond.ok() && beyond.error() == et::Error::InvalidArgument;
  for (std::size_t i = 0; is_registry && i < count; ++i) {
    const auto name = et::get_backend_name(i);
    is_registry = name.ok() && *name != nullptr && et::get_backend_class(*name) != nullptr;
  }
  return is_registry ? ok() : differs("the registry of backends");
}

/// Offset of `function` in a table of virtual functions according to the headers, in bytes.
template <class Function>
std::uintptr_t offset_in_table(Function function) noexcept {
  // Itanium C++ ABI, 2.3: a pointer to a virtual function is its offset, plus 1 where the lowest
  // bit marks it as virtual; on Arm another word does.
  std::uintptr_t word = 0;
  static_assert(sizeof function >= sizeof word);
  std::memcpy(&word, &function, sizeof word);
#if defined(__arm__) || defined(__aarch64__)
  return word;
#else
  return word - 1;
#endif
}

/// A virtual function of a class that backends are given objects of.
struct VirtualFunction {
  const char* table;        ///< Symbol of the table of a class of the library that derives from it.
  std::uintptr_t offset;    ///< In the table, according to the headers.
  std::string_view symbol;  ///< Text that its symbol contains.
};

/// Compares the offsets of virtual functions with the library's symbols. Returns how many could be
/// compared, or the first difference.
inline Result<int> check_virtual_functions(const std::string& library) {
  const std::unique_ptr<void, int (*)(void*)> handle(
      ::dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD),
      [](void* each) { return each ? ::dlclose(each) : 0; });
  if (!handle) return 0;
  constexpr const char* allocator = "_ZTVN10executorch7runtime8internal23PlatformMemoryAllocatorE";
  constexpr const char* map = "_ZTVN10executorch7runtime8internal10PteDataMapE";
  const std::array functions{
      VirtualFunction{allocator, offset_in_table(&et::MemoryAllocator::allocate), "8allocateE"},
      VirtualFunction{allocator, offset_in_table(&et::MemoryAllocator::reset), "5resetE"},
      VirtualFunction{map, offset_in_table(&et::NamedDataMap::get_data), "8get_dataE"},
      VirtualFunction{map, offset_in_table(&et::NamedDataMap::get_tensor_layout),
                      "17get_tensor_layoutE"},
      VirtualFunction{map, offset_in_table(&et::NamedDataMap::get_num_keys), "12get_num_keysE"},
      VirtualFunction{map, offset_in_table(&et::NamedDataMap::get_key), "7get_keyE"}};
  int compared = 0;
  for (const VirtualFunction& function : functions) {
    const auto* table = static_cast<const std::byte*>(::dlsym(handle.get(), function.table));
    if (!table) continue;
    constexpr std::size_t head = 2 * sizeof(void*);  // The table's bytes before its functions.
    void* address = nullptr;
    std::memcpy(&address, table + head + function.offset, sizeof address);
    ::Dl_info info{};
    const bool is_named = ::dladdr(address, &info) != 0 && info.dli_sname != nullptr;
    if (!is_named || info.dli_saddr != address) continue;
    if (std::string_view(info.dli_sname).find(function.symbol) == std::string_view::npos) {
      return differs(concat("the table of ", std::string_view(info.dli_sname)));
    }
    ++compared;
  }
  return compared;
}

}  // namespace detail

/// Ok when the loaded library's objects are as in the headers, as far as can be checked without
/// registering a backend. Takes some microseconds. Any thread.
///
/// errors: NotSupported, naming the difference.
[[nodiscard]] inline Status check_layouts(const LoadedRuntime& found) {
  TENON_RETURN_IF_ERROR(detail::check_values());
  TENON_RETURN_IF_ERROR(detail::check_registry());
  TENON_RETURN_IF_ERROR(detail::check_virtual_functions(found.path));
  TENON_RETURN_IF_ERROR(detail::check_device_allocator());
  return ok();
}

/// Ok when this code fits the loaded ExecuTorch: its minor version, then its layouts. Call it
/// before any other use of ExecuTorch.
///
/// threads: any. errors: NotSupported; the text names both versions.
[[nodiscard]] inline Status check_runtime() {
  const LoadedRuntime found = loaded_runtime();
  TENON_RETURN_IF_ERROR(check_version(found));
  Status layouts = check_layouts(found);
  if (layouts.ok()) return ok();
  return std::move(layouts).with_context(
      concat(found.path.empty() ? std::string_view("ExecuTorch") : std::string_view(found.path),
             " (", found.version ? found.version->text : std::string("no version known"), ")"));
}

}}}  // namespace tenon::TENON_RELEASE::bridge
