// SPDX-License-Identifier: MIT
//
// Mutations of JSON that leave it JSON: members and elements are removed, copied and replaced.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fuzz/mutate/random.hpp"

namespace tenon::fuzz {

class JsonMutator {
 public:
  using Json = nlohmann::json;

  explicit JsonMutator(Random& random) noexcept : random_(random) {}

  /// The text with one to three changes; empty when it is not JSON, or nested so deeply that its
  /// recursion would be the only finding.
  [[nodiscard]] std::string mutate(std::string_view text) {
    if (depth_of(text) > 80) return {};
    Json root = Json::parse(text, nullptr, false);
    if (root.is_discarded()) return {};
    for (std::size_t i = 0, count = 1 + random_.below(3); i < count; ++i) change(root);
    return root.dump(-1, ' ', random_.one_in(8), Json::error_handler_t::replace);
  }

 private:
  /// Brackets that are open at once, those in texts included.
  static std::size_t depth_of(std::string_view text) {
    std::size_t now = 0;
    std::size_t most = 0;
    for (const char c : text) {
      if (c == '[' || c == '{') most = std::max(most, ++now);
      if ((c == ']' || c == '}') && now != 0) --now;
    }
    return most;
  }

  static bool has_children(const Json& value) { return value.is_structured() && !value.empty(); }

  Json& child(Json& of) {
    return *std::next(of.begin(), static_cast<std::ptrdiff_t>(random_.below(of.size())));
  }
  /// Any value inside `root`, or itself.
  Json& any(Json& root) {
    Json* at = &root;
    while (has_children(*at) && !random_.one_in(6)) at = &child(*at);
    return *at;
  }
  /// Any value inside `root` that has children; null without one.
  Json* parent(Json& root) {
    if (!has_children(root)) return nullptr;
    Json* at = &root;
    for (;;) {
      Json& next = child(*at);
      if (!has_children(next) || random_.one_in(6)) return at;
      at = &next;
    }
  }

  Json leaf() {
    switch (random_.below(12)) {
      case 0:
        return nullptr;
      case 1:
        return random_.one_in(2);
      case 2:
        return Json::array();
      case 3:
        return Json::object();
      case 4:
        return "";
      case 5:
        return std::string(1 + random_.below(40), 'x');
      case 6: {
        static constexpr double reals[] = {0.0, -0.0, 0.5, -1.5, 1e-320, 1e18, 1e300, -1e300};
        return random_.pick(reals);
      }
      case 7:
        return static_cast<std::int64_t>(random_.next());
      case 8:
        return random_.next() >> random_.below(64);
      default: {
        static constexpr std::int64_t numbers[] = {
            0, 1, 2, -1, 63, 64, 255, 65536, 0x7fffffff, 0x80000000, INT64_MAX, INT64_MIN};
        return random_.pick(numbers);
      }
    }
  }

  void change_leaf(Json& value) {
    if (value.is_string()) {
      auto& text = value.get_ref<std::string&>();
      return mutate_text(text, text.size() + 16);
    }
    if (value.is_number_integer()) {
      value = static_cast<std::int64_t>(value.get<std::uint64_t>() + random_.below(5) - 2);
    } else if (value.is_boolean()) {
      value = !value.get<bool>();
    } else {
      value = leaf();
    }
  }

  void change(Json& root) {
    Json* const of = parent(root);
    switch (random_.below(8)) {
      case 0:
        any(root) = leaf();
        return;
      case 1:
        if (of) remove_child(*of);
        return;
      case 2:
        if (of) add_child(*of, Json(child(*of)));
        return;
      case 3: {
        Json copy = any(root);
        any(root) = std::move(copy);
        return;
      }
      case 4: {
        Json copy = any(root);
        if (of) add_child(*of, std::move(copy));
        return;
      }
      case 5:
        if (of) std::swap(child(*of), child(*of));
        return;
      default:
        return change_leaf(of ? child(*of) : root);
    }
  }

  void remove_child(Json& of) {
    of.erase(std::next(of.begin(), static_cast<std::ptrdiff_t>(random_.below(of.size()))));
  }

  void add_child(Json& to, Json value) {
    if (to.is_array()) {
      const auto at = static_cast<std::ptrdiff_t>(random_.below(to.size() + 1));
      to.insert(std::next(to.begin(), at), std::move(value));
      return;
    }
    std::string key =
        std::next(to.begin(), static_cast<std::ptrdiff_t>(random_.below(to.size()))).key();
    if (random_.one_in(2)) mutate_text(key, key.size() + 8);
    // A key of the outside that is not UTF-8 is replaced when it is written.
    to[key] = std::move(value);
  }

  Random& random_;
};

/// A mutator for targets whose input is one JSON text.
[[nodiscard]] inline std::size_t mutate_json(std::span<std::uint8_t> input, std::size_t size,
                                             Random& random) {
  if (!random.one_in(4)) {
    const std::string text =
        JsonMutator(random).mutate({reinterpret_cast<const char*>(input.data()), size});
    if (!text.empty() && replace(input, size, std::as_bytes(std::span(text)))) return size;
  }
  return mutate_bytes(input, size);
}

/// Mutates one JSON text a line, some of which have a word in front.
[[nodiscard]] inline std::size_t mutate_json_lines(std::span<std::uint8_t> input, std::size_t size,
                                                   Random& random) {
  const std::string_view all(reinterpret_cast<const char*>(input.data()), size);
  const std::size_t begin =
      size == 0 ? 0 : all.rfind('\n', random.below(size)) + 1;  // npos + 1 is 0.
  const std::size_t end = std::min(all.find('\n', begin), size);
  const std::size_t json = std::min(all.find('{', begin), end);
  if (begin >= end || random.one_in(4)) return mutate_bytes(input, size);
  const std::string line(all.substr(begin, end - begin));
  std::string changed;
  switch (random.below(6)) {
    case 0:
      changed = line + "\n" + line;
      break;
    case 1:
      break;
    default:
      changed =
          line.substr(0, json - begin) + JsonMutator(random).mutate(all.substr(json, end - json));
  }
  std::string out;
  out.append(all.substr(0, begin)).append(changed).append(all.substr(end));
  return replace(input, size, std::as_bytes(std::span(out))) ? size : mutate_bytes(input, size);
}

}  // namespace tenon::fuzz
