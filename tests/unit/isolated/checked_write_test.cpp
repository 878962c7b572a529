// SPDX-License-Identifier: MIT
#include "application/checked_write.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "boundary/descriptors.hpp"
#include "support/catch.hpp"

using namespace tenon;

/// Writing to memory of an application, whatever its protection is.
namespace isolated_checked_write_test { namespace {

constexpr std::size_t page = 4096;

/// Four pages, of which the first two can be written.
class Pages {
 public:
  Pages() {
    void* const made =
        ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(made != MAP_FAILED);
    data_ = static_cast<std::byte*>(made);
    REQUIRE(::mprotect(data_ + 2 * page, 2 * page, PROT_READ) == 0);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(data_, 4 * page); }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_ = nullptr;
};

TEST_CASE("memory is written as far as it can be, and read-only memory is a failure") {
  struct Case {
    std::size_t at;
    std::size_t size;
    bool is_written;
  };
  const auto [at, size, is_written] = GENERATE(values<Case>({{0, 1, true},
                                                             {3, 3, true},
                                                             {8, 4, true},
                                                             {page - 2, 4, true},
                                                             {page - 7, 9, true},
                                                             {1, 2 * page - 1, true},
                                                             {2 * page, 1, false},
                                                             {2 * page, 64, false},
                                                             {2 * page - 4, 8, false},
                                                             {2 * page - 1, 2, false},
                                                             {0, 4 * page, false}}));
  INFO("at " << at << ", " << size << " bytes");
  auto file = isolated::memory_file("test", 5 * page);
  REQUIRE(file.ok());
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i % 251 + 1);
  REQUIRE(write_all(file->get(), bytes, 64));
  const auto is_zero = [](std::byte each) { return each == std::byte{0}; };
  const Pages pages;
  CHECK(isolated::can_write(pages.data() + at, size) == (is_written && size >= 4));
  // The bytes are as before, whether or not all of them can be written.
  CHECK(std::all_of(pages.data(), pages.data() + 4 * page, is_zero));
  CHECK(isolated::checked_write(pages.data() + at, bytes, file->get(), 64) == is_written);
  if (is_written) CHECK(std::ranges::equal(std::span(pages.data() + at, size), bytes));
  // Nothing beside it.
  CHECK(std::all_of(pages.data(), pages.data() + at, is_zero));
  CHECK(std::all_of(pages.data() + at + size, pages.data() + 4 * page, is_zero));
}

}}  // namespace isolated_checked_write_test
