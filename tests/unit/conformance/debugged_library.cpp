// SPDX-License-Identifier: MIT
//
// A library with debug information. Tests look for the line of the mark.

namespace acme {

__attribute__((visibility("default"), noinline)) int sum_of(const int* numbers, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += numbers[i];  // The mark.
  return sum;
}

}  // namespace acme
