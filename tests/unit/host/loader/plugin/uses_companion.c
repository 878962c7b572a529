// SPDX-License-Identifier: MIT
// A part of a plugin that makes it need the library next to it.
long tenon_test_companion(void);
__attribute__((used)) static long (*const companion)(void) = &tenon_test_companion;
