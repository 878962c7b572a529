// SPDX-License-Identifier: MIT
// A library that a plugin needs and that is next to it.
__attribute__((visibility("default"))) long tenon_test_companion(void);
long tenon_test_companion(void) { return TENON_TEST_NUMBER; }
