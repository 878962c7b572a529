# SPDX-License-Identifier: MIT
# shellcheck shell=bash

# header_packages FOLDER: descriptions for pkg-config of the packages of `./dev setup` that are used
# as headers alone, for a build for another system or C++ library, and FOLDER/packages.ini for Meson,
# which points to them and says where the sources are. Run in the repository's root.
header_packages() {
  local package name headers version
  # /usr/include itself would bring in the headers of glibc.
  mkdir -p "$1/include"
  for package in fmt:fmt flatbuffers:flatbuffers nlohmann_json:nlohmann CLI11:CLI catch2:catch2; do
    name=${package%%:*}
    headers=${package##*:}
    version=$(pkg-config --modversion "$name")
    ln -sfn "/usr/include/$headers" "$1/include/$headers"
    {
      echo "Name: $name"
      echo "Description: the headers of this machine"
      echo "Version: $version"
      echo "Cflags: -isystem $PWD/$1/include $([ "$name" != fmt ] || echo -DFMT_HEADER_ONLY)"
    } >"$1/$name.pc"
  done
  printf "[constants]\nsource = '%s'\n[properties]\npkg_config_libdir = '%s'\n" "$PWD" "$PWD/$1" \
    >"$1/packages.ini"
}

# cross_build FOLDER CROSS_FILES TESTS TARGET...: configures the host, its programs, the kit and the example
# plugins, and with TESTS (enabled, disabled) the unit tests; builds what is named. Archives of PyTorch are
# read where FOLDER-packages has libzip. One translation unit a target, not optimised: it is not measured.
# `compiled_host` is a variable: whether the host and the kit are compiled once.
cross_build() {
  local build=$1 tests=$3 pt2=disabled cross_files
  read -ra cross_files <<<"${2//,/ }"
  shift 3
  [ ! -f "$build-packages/libzip.pc" ] || pt2=enabled
  header_packages "$build-packages"
  if [ ! -f "$build/build.ninja" ]; then
    meson setup "$build" --cross-file "$build-packages/packages.ini" "${cross_files[@]/#/--cross-file=}" \
      --wrap-mode=nofallback --buildtype=release \
      -Doptimization=0 -Dwerror=true -Dcompiled_host="${compiled_host:-true}" -Dunity=on -Dunity_size=100 \
      -Dtests="$tests" -Dconformance=enabled -Dpython=disabled -Dpt2=$pt2 -Dcpu_aoti=disabled \
      -Dcuda=disabled -Dbenchmarks=disabled
  fi
  ninja -C "$build" --quiet -j "$(nproc)" "$@"
}
