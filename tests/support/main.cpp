// SPDX-License-Identifier: MIT
//
// Entry point for Catch2 2, which has no library with a main of its own.
int run_catch(int argc, char** argv);  // runner.cpp

int main(int argc, char** argv) { return run_catch(argc, argv); }
