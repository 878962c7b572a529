# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What other platforms are built with. Debian's libraries for another machine are unpacked, not installed:
# nothing of this system changes, and Debian's packages of two machines cannot be in each other's way.

# Of Debian 12, as the compilers are: a library needs the C++ library that it was built with, or a newer one.
debian_release=bookworm
# What Tenon's host and programs need; oneDNN is for 64-bit machines alone. `quick` (yes, no): without what that
# leaves out. Of trixie, also what a system needs that compiles.
libraries_of() {
  local common="libc6-dev libfmt-dev libflatbuffers-dev libcli11-dev nlohmann-json3-dev catch2"
  if [ "$1" = trixie ]; then
    echo "$common base-files bash coreutils dash grep sed git g++ clang lld python3 meson ninja-build pkgconf \
      flatbuffers-compiler"
    return
  fi
  common+=" libstdc++-12-dev"
  if [ "$quick" = yes ]; then
    echo "$common"
    return
  fi
  common+=" libzip-dev"
  case $1 in
    arm64) echo "$common libdnnl-dev libsleef3" ;;
    armhf) echo "$common" ;;
  esac
}

# unpack_libraries FOLDER OPTION...: fetches `libraries` and unpacks them into FOLDER/root.
unpack_libraries() {
  local work=$1 package
  shift
  apt-get "$@" update &&
    apt-get "$@" install --download-only -y --no-install-recommends "${libraries[@]}" || return
  for package in "$work"/cache/archives/*.deb; do
    dpkg-deb --extract "$package" "$work/root" || return
  done
}

# sysroot NAME: makes the directory of arm64, of armhf, or of this machine's architecture in trixie once and prints it.
sysroot() {
  local architecture=$1 libraries key root work debian_release=$debian_release
  if [ "$1" = trixie ]; then architecture=$(dpkg --print-architecture) debian_release=trixie; fi
  read -r -d "" -a libraries <<<"$(libraries_of "$1")" || true
  key=$(printf '%s\n' "$debian_release" "${libraries[@]}" | sha256sum | cut -c 1-12)
  root=${XDG_CACHE_HOME:-$HOME/.cache}/tenon/cross/$1-$key
  if [ -d "$root" ]; then
    echo "$root"
    return
  fi
  # In `$(sysroot ...)` a failure ends nothing by itself.
  mkdir -p "$(dirname "$root")" && work=$(mktemp -d "$root.XXXXXX") &&
    mkdir -p "$work"/{state/lists/partial,cache/archives/partial,root} || return
  : >"$work/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $debian_release main" \
    >"$work/sources.list"
  # A package manager of its own: an empty system of that architecture.
  local options=(
    -qq -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
    -o "Dir::State=$work/state" -o "Dir::State::status=$work/status" -o "Dir::Cache=$work/cache"
    -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "APT::Sandbox::User=$(id -un)"
    -o Acquire::Languages=none -o Acquire::Retries=3
  )
  unpack_libraries "$work" "${options[@]}" >&2 || { rm -rf "$work"; return 1; }
  # Of two runs at once, the first one's is kept.
  mv -T "$work/root" "$root" 2>"$work/mv.log" || [ -d "$root" ] ||
    { cat "$work/mv.log" >&2; rm -rf "$work"; return 1; }
  rm -rf "$work"
  echo "$root"
}

# zig_python: installs zig from PyPI once and prints the command of the Python that has it.
zig_version=0.17.1
zig_python() { alone zig installed_zig; }
installed_zig() {
  local folder=${XDG_CACHE_HOME:-$HOME/.cache}/tenon/zig-$zig_version
  # What an interrupted installation left is installed again.
  if ! "$folder/bin/python3" -c 'import ziglang' 2>/dev/null; then
    rm -rf "$folder"
    { python3 -m venv "$folder" &&
      "$folder/bin/pip" install --quiet --disable-pip-version-check "ziglang==$zig_version"; } >&2 ||
      { rm -rf "$folder"; return 1; }
  fi
  echo "$folder/bin/python3"
}
