// SPDX-License-Identifier: MIT
//
// Mistakes that people make in names.
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host/layers/discovery/impl/near_names.hpp"

using namespace tenon::host;

namespace {

using Names = std::vector<std::string>;

const Names backends{"CoreMLBackend", "CudaBackend",   "EthosUBackend", "MPSBackend",
                     "QnnBackend",    "VulkanBackend", "XnnpackBackend"};

std::string nearest(std::string_view wanted) {
  const Names found = near_names(wanted, backends);
  return found.empty() ? "" : found.front();
}

}  // namespace

TEST_CASE("one slip of the hand anywhere in a name is forgiven", "[discovery]") {
  for (const std::string& name : backends) {
    for (std::size_t i = 0; i < name.size(); ++i) {
      std::string forgotten = name, doubled = name, other = name, swapped = name;
      forgotten.erase(i, 1);
      doubled.insert(i, 1, name[i]);
      other[i] = 'q';
      if (i != 0) std::swap(swapped[i], swapped[i - 1]);
      for (const std::string& wanted : {forgotten, doubled, other, swapped}) {
        if (wanted == name) continue;
        INFO(wanted);
        CHECK(nearest(wanted) == name);
      }
    }
  }
}

TEST_CASE("names in another spelling are found", "[discovery]") {
  tenon::test::check_texts(nearest, {{"xnnpackbackend", "XnnpackBackend"},
                                     {"XNNPACKBACKEND", "XnnpackBackend"},
                                     {"XNNPACK", "XnnpackBackend"},
                                     {"Xnnpack_Backend", "XnnpackBackend"},
                                     {"libCudaBackend.so", "CudaBackend"},
                                     {"CudaBackend ", "CudaBackend"},
                                     {"CudaBackend2", "CudaBackend"},
                                     {"VulcanBackend", "VulkanBackend"},
                                     {"MPS", "MPSBackend"}});
  // A part of several: all of them, as many as asked for, the shortest first.
  CHECK(near_names("backend", backends, 10).size() == backends.size());
  CHECK(near_names("backend", backends) == Names{"MPSBackend", "QnnBackend", "CudaBackend"});
}

TEST_CASE("a name that resembles none brings none", "[discovery]") {
  for (const char* wanted : {"", "?", "Acme", "TensorRT", "zzzzzzzzzzzz", "Cu", "完全不同"}) {
    INFO(wanted);
    CHECK(near_names(wanted, backends).empty());
  }
  CHECK(near_names("CudaBackend", {}).empty());
  CHECK(near_names("CudaBackend", Names{""}).empty());
  // What has been written already is no advice, but the same in another case is.
  CHECK(near_names("CudaBackend", Names{"CudaBackend"}).empty());
  CHECK(near_names("CudaBackend", Names{"cudabackend", "CudaBackend"}) == Names{"cudabackend"});
}

TEST_CASE("of short names more than a letter must be right", "[discovery]") {
  CHECK(near_names("a", Names{"b"}).empty());
  CHECK(near_names("ab", Names{"cd"}).empty());
  CHECK(near_names("ab", Names{"ba"}) == Names{"ba"});
  CHECK(near_names("ab", Names{"a"}) == Names{"a"});
  // Too short to be taken for a part.
  CHECK(near_names("cp", Names{"cpu_of_mine"}).empty());
  CHECK(near_names("cpu", Names{"cpu_of_mine"}) == Names{"cpu_of_mine"});
}

TEST_CASE("a third of the characters may differ and no more", "[discovery]") {
  CHECK(near_names("abcdefghijkl", Names{"abcdefgh1234"}) == Names{"abcdefgh1234"});
  CHECK(near_names("abcdefghijkl", Names{"abcdefg12345"}).empty());
}

TEST_CASE("the nearest comes first, then the alphabet, and never more than asked for",
          "[discovery]") {
  const Names known{"delta3xx", "delta2", "delta3x", "delta1"};
  CHECK(near_names("delta3", known, 4) == Names{"delta1", "delta2", "delta3x", "delta3xx"});
  CHECK(near_names("delta3", known, 1) == Names{"delta1"});
  CHECK(near_names("delta3", known, 0).empty());
  CHECK(near_names("delta3", known).size() == 3);
}

TEST_CASE("texts longer than 256 bytes are near nothing", "[discovery]") {
  const std::string longest(256, 'x');
  CHECK(near_names(longest, Names{longest.substr(1)}) == Names{longest.substr(1)});
  CHECK(near_names(longest.substr(1), Names{longest}) == Names{longest});
  CHECK(near_names(longest + "x", Names{longest}).empty());
  CHECK(near_names(longest, Names{longest + "x"}).empty());
  CHECK(near_names(std::string(1'000'000, 'x'), Names{longest}).empty());
  CHECK(near_names(std::string_view("a\0bcd", 5), Names{"abcd"}) == Names{"abcd"});
}

TEST_CASE("the distance counts each slip once and is the same from both sides", "[discovery]") {
  using tenon::host::detail::edit_distance;
  struct Case {
    std::string_view a, b;
    std::size_t distance;
  };
  for (const Case& each :
       {Case{"", "", 0}, Case{"", "abc", 3}, Case{"abc", "abc", 0}, Case{"abc", "abd", 1},
        Case{"abc", "acb", 1}, Case{"abc", "ab", 1}, Case{"abcd", "badc", 2},
        Case{"kitten", "sitting", 3}, Case{"ca", "abc", 3}, Case{"abcdef", "fedcba", 5}}) {
    INFO(each.a << " " << each.b);
    CHECK(edit_distance(each.a, each.b) == each.distance);
    CHECK(edit_distance(each.b, each.a) == each.distance);
  }
}
