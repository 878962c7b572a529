// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/impl/pt2/archive.hpp"
#include "tenon/aot/compiler/impl/pt2/layout.hpp"
#include "tenon/aot/compiler/impl/pt2/tensor.hpp"
#include "tenon/aot/edge_description.hpp"
#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/json.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// The name of an entry in front of an error text.
[[nodiscard]] inline std::string entry_text(std::string_view entry) {
  constexpr std::size_t longest = 200;
  return host::printable(entry, longest);
}

/// An entry of an archive as JSON, within the limits of the archive; no key appears twice.
[[nodiscard]] inline Result<nlohmann::json> read_json(const Pt2Archive& archive,
                                                      const std::string& entry) {
  TENON_TRY(const SharedBytes bytes, archive.read_json(entry));
  const std::string name = concat(archive.path(), ": ", entry_text(entry));
  return parse_json_object(as_text(bytes.bytes()), name, Error::InvalidProgram,
                           archive.limits().json);
}

/// Bytes that copies of weights may still have.
class CopyBudget {
 public:
  explicit CopyBudget(const Pt2Archive& archive)
      : limit_(archive.limits().copied_bytes),
        left_(host::detail::add_saturating(limit_, archive.unpacked_bytes())) {}

  /// Counts a copy that is about to be made. OutOfResources when it is one too many.
  [[nodiscard]] Status take(std::int64_t count, std::size_t element) {
    std::uint64_t nbytes = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(count), element, &nbytes)) {
      nbytes = host::HostLimits::none;
    }
    if (nbytes > left_) {
      return host::detail::over_limit("bytes of a copy in the plain order", nbytes, "copied_bytes",
                                      limit_);
    }
    left_ -= nbytes;
    return ok();
  }

 private:
  std::uint64_t limit_;
  std::uint64_t left_;
};

/// Elements of a tensor in the plain order, from `storage`. In place when they are stored in that
/// order, else packed; ExecuTorch does the same with each constant (exir/tensor.py).
///
/// errors: InvalidProgram when the tensor is not inside `storage`; OutOfResources for a copy that
///         is above `budget`.
[[nodiscard]] inline Result<SharedBytes> plain_bytes(const SharedBytes& storage,
                                                     const Pt2Place& place, std::size_t element,
                                                     CopyBudget& budget) {
  std::int64_t numel = 1;
  std::int64_t last = place.offset;
  bool is_inside = place.offset >= 0;
  for (std::size_t i = 0; i < place.sizes.size(); ++i) {
    is_inside = is_inside && place.strides[i] >= 0;
    numel = saturated_multiply(numel, place.sizes[i]);
    last = saturated_add(last, saturated_multiply(place.sizes[i] - 1, place.strides[i]));
  }
  if (numel == 0) return SharedBytes();
  const auto available = static_cast<std::int64_t>(storage.size() / element);
  if (!is_inside || last >= available) {
    return error(Error::InvalidProgram, "is not inside its data of ", storage.size(),
                 " bytes: offset ", place.offset, ", last element ", last, ", ", element,
                 " bytes each");
  }
  const Bytes from = storage.bytes().subspan(static_cast<std::size_t>(place.offset) * element);
  DimOrder plain(place.sizes.size());
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::uint8_t>(i);
  if (is_dense_in(place.sizes, place.strides, plain)) {
    return SharedBytes::borrow(from.first(static_cast<std::size_t>(numel) * element),
                               std::make_shared<const SharedBytes>(storage));
  }
  // Strides of 0 make much of little, and many tensors may be views of one storage.
  TENON_RETURN_IF_ERROR(budget.take(numel, element));
  const std::size_t size = static_cast<std::size_t>(numel) * element;
  std::vector<std::byte> packed(size);
  std::vector<std::int64_t> at(place.sizes.size());
  std::int64_t source = 0;
  for (std::size_t target = 0; target < size; target += element) {
    std::memcpy(packed.data() + target, from.data() + static_cast<std::size_t>(source) * element,
                element);
    for (std::size_t dim = at.size(); dim-- > 0;) {
      source += place.strides[dim];
      if (++at[dim] < place.sizes[dim]) break;
      source -= place.strides[dim] * place.sizes[dim];
      at[dim] = 0;
    }
  }
  return SharedBytes(std::move(packed));
}

/// A parameter, buffer or constant.
struct Pt2Weight {
  Pt2Tensor description;
  SharedBytes data;  ///< Elements in the plain order.
};

/// Parameters, buffers and constants of one model by their fully-qualified names. Weights that
/// share memory in the archive share it here.
class Pt2Weights {
 public:
  /// Reads the descriptions of the weights of `model`, not the weights themselves. `copies` is the
  /// budget of all models of the archive, and outlives what is returned.
  [[nodiscard]] static Result<Pt2Weights> open(const Pt2Archive& archive, std::string_view model,
                                               CopyBudget& copies) {
    Pt2Weights out(archive, copies);
    for (const std::string_view directory : {"data/weights/", "data/constants/"}) {
      const std::string_view kind = directory == "data/weights/" ? "weights" : "constants";
      const std::string entry = concat(directory, model, "_", kind, "_config.json");
      if (!archive.has(entry)) continue;
      TENON_TRY(nlohmann::json json, read_json(archive, entry));
      Config& config = out.configs_[std::string(directory)];
      config.json = std::make_unique<const nlohmann::json>(std::move(json));
      config.entry = entry;
    }
    return out;
  }

  /// errors: InvalidProgram when no weight has that name or its data is wrong; NotSupported when
  ///         it is an object of Python, which only Python can read.
  [[nodiscard]] Result<Pt2Weight> read(std::string_view fqn, const Pt2Symbols& symbols) {
    for (const auto& [directory, config] : configs_) {
      auto found = find(fqn, directory, config, symbols);
      if (!found.ok()) {
        // An error in the entry that holds the data already names that entry.
        if (found.text().starts_with(archive_->path())) return std::move(found).status();
        return std::move(found).status().with_context(
            concat(archive_->path(), ": ", entry_text(config.entry)));
      }
      if (*found) return *std::move(*found);
    }
    return error(Error::InvalidProgram, archive_->path(), ": has no data of ", host::quoted(fqn));
  }

 private:
  struct Config {
    std::unique_ptr<const nlohmann::json> json;
    std::string entry;
  };

  Pt2Weights(const Pt2Archive& archive, CopyBudget& copies)
      : archive_(&archive), copies_(&copies) {}

  [[nodiscard]] Result<std::optional<Pt2Weight>> find(std::string_view fqn,
                                                      std::string_view directory,
                                                      const Config& config,
                                                      const Pt2Symbols& symbols) {
    const JsonAt root(*config.json, "", Error::InvalidProgram);
    TENON_TRY(const JsonAt table, root.member("config"));
    TENON_RETURN_IF_ERROR(table.check_object());
    const auto at = table.find_set(fqn);
    if (!at) return std::optional<Pt2Weight>();
    TENON_TRY(const JsonAt pickled_at, at->member("use_pickle"));
    TENON_TRY(const bool pickled, pickled_at.boolean());
    if (pickled) return at->not_supported("is a pickled object of Python, expected plain data");
    Pt2Weight out;
    TENON_TRY(const JsonAt tensor_at, at->member("tensor_meta"));
    TENON_TRY(out.description, read_tensor(tensor_at, symbols));
    if (!out.description.place) return tensor_at.wrong("has sizes that are not known");
    TENON_TRY(const JsonAt path_at, at->member("path_name"));
    TENON_TRY(const std::string path, path_at.text());
    if (path.empty() || path.find('/') != std::string::npos) {
      return path_at.wrong("is ", host::quoted(path), ", expected the name of an entry");
    }
    TENON_TRY(const SharedBytes storage, storage_of(concat(directory, path)));
    auto data = plain_bytes(storage, *out.description.place,
                            size_of(out.description.tensor.scalar_type), *copies_);
    if (!data.ok()) return std::move(data).status().with_context(at->where());
    out.data = *std::move(data);
    return std::optional<Pt2Weight>(std::move(out));
  }

  [[nodiscard]] Result<SharedBytes> storage_of(const std::string& entry) {
    const auto found = storages_.find(entry);
    if (found != storages_.end()) return found->second;
    TENON_TRY(SharedBytes bytes, archive_->read(entry));
    storages_.emplace(entry, bytes);
    return bytes;
  }

  const Pt2Archive* archive_;
  CopyBudget* copies_;
  std::map<std::string, Config, std::greater<>> configs_;  ///< Weights come before constants.
  std::map<std::string, SharedBytes> storages_;
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
