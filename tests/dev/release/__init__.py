# SPDX-License-Identifier: MIT
"""`./dev release`: makes the files of a release, and checks them."""
