// SPDX-License-Identifier: MIT
#include "tenon/aoti/weights/shared_by_content.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace tenon;
using tenon::aoti::SharedByContent;

namespace {

struct Object {
  std::string text;
  [[nodiscard]] std::size_t nbytes() const noexcept { return text.size(); }
};
using Store = SharedByContent<Object>;

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

Result<std::shared_ptr<const Object>> get(Store& store, const std::string& text, int& num_made) {
  return store.get(
      bytes_of(text), [&](const Object& object) -> Result<bool> { return object.text == text; },
      [&]() -> Result<std::shared_ptr<const Object>> {
        ++num_made;
        return std::make_shared<const Object>(Object{text});
      });
}

}  // namespace

TEST_CASE("equal bytes share an object for as long as one of its users lives", "[aoti]") {
  Store store;
  int num_made = 0;
  auto first = *get(store, "weights", num_made);
  auto second = *get(store, "weights", num_made);
  const auto other = *get(store, "others", num_made);
  CHECK(first == second);
  CHECK(first != other);
  CHECK(num_made == 2);
  CHECK(store.nbytes() == 7 + 6);
  first.reset();
  CHECK(store.nbytes() == 7 + 6);
  second.reset();
  CHECK(store.nbytes() == 6);
  CHECK((*get(store, "weights", num_made))->text == "weights");
  CHECK(num_made == 3);
}

TEST_CASE("many objects that come and go leave the others as they are", "[aoti]") {
  Store store;
  int num_made = 0;
  std::vector<std::shared_ptr<const Object>> kept;
  for (int i = 0; i < 1000; ++i) {
    auto made = *get(store, std::to_string(i), num_made);
    if (i % 10 == 0) kept.push_back(std::move(made));
  }
  CHECK(num_made == 1000);
  for (int i = 0; i < 1000; i += 10) {
    CHECK(*get(store, std::to_string(i), num_made) == kept[static_cast<std::size_t>(i) / 10]);
  }
  CHECK(num_made == 1000);
}

TEST_CASE("objects of different bytes are made at the same time", "[aoti][threads]") {
  Store store;
  std::promise<void> started;
  std::promise<void> other_is_made;
  const auto is_same = [](const Object&) -> Result<bool> { return true; };
  const std::string slow = "slow";
  std::future_status waited = std::future_status::deferred;
  auto first = std::async(std::launch::async, [&] {
    return store.get(bytes_of(slow), is_same, [&]() -> Result<std::shared_ptr<const Object>> {
      started.set_value();
      waited = other_is_made.get_future().wait_for(std::chrono::seconds(10));
      return std::make_shared<const Object>(Object{slow});
    });
  });
  started.get_future().wait();
  int num_made = 0;
  CHECK(get(store, "quick", num_made).ok());
  other_is_made.set_value();
  CHECK(first.get().ok());
  CHECK(waited == std::future_status::ready);
}
