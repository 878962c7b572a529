# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# libzip, and zlib for it, compiled from Debian's sources for a system that Debian has no library for:
# tenon-compile reads PyTorch's archives with it. Once for each system, into ~/.cache/tenon.

libzip_release=bookworm

# sources_of FOLDER PACKAGE...: unpacks the upstream sources of Debian's packages into FOLDER/PACKAGE.
sources_of() {
  local folder=$1 package work
  shift
  work=$(mktemp -d) && mkdir -p "$work"/lists/partial || return
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $libzip_release main" \
    >"$work/sources.list"
  : >"$work/status"
  # A package manager of its own, which knows sources alone.
  local options=(
    -qq -o "Dir::State=$work" -o "Dir::State::status=$work/status" -o "Dir::Cache=$work"
    -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "APT::Sandbox::User=$(id -un)"
    -o Acquire::Languages=none -o Acquire::Retries=3
  )
  apt-get "${options[@]}" update >&2 &&
    (cd "$work" && apt-get "${options[@]}" source --download-only "$@" >&2) || { rm -rf "$work"; return 1; }
  for package in "$@"; do
    mkdir -p "$folder/$package" &&
      tar -xf "$work/$package"_*.orig.tar.* -C "$folder/$package" --strip-components=1 || { rm -rf "$work"; return 1; }
  done
  rm -rf "$work"
}

# zlib_objects CC SOURCES FOLDER
zlib_objects() {
  local object
  for object in adler32 compress crc32 deflate infback inffast inflate inftrees trees uncompr zutil; do
    # zlib takes macOS for Mac OS 9, which had no such function.
    $1 -O2 -w -Dfdopen=fdopen -c "$2/$object.c" -o "$3/$object.o" || return
  done
}

# libzip NAME SYSTEM CC: prints the folder with include/, lib/ and libzip.pc. SYSTEM as CMake names it, which
# asks for tools of Apple where it is Darwin: any Unix is right there.
libzip() {
  local name=$1 system=$2 cc=$3 root work sources
  root=${XDG_CACHE_HOME:-$HOME/.cache}/tenon/cross/libzip-$name
  if [ -d "$root" ]; then
    echo "$root"
    return
  fi
  mkdir -p "$(dirname "$root")" && work=$(mktemp -d "$root.XXXXXX") || return
  sources=$work/sources
  {
    sources_of "$sources" zlib libzip && mkdir -p "$work"/zlib "$work"/root/{include,lib} &&
      zlib_objects "$cc" "$sources/zlib" "$work/zlib" &&
      llvm-ar rcs "$work/root/lib/libz.a" "$work"/zlib/*.o && cp "$sources"/zlib/{zlib,zconf}.h "$work/root/include" &&
      CC=$cc cmake -S "$sources/libzip" -B "$work/build" -G Ninja "-DCMAKE_SYSTEM_NAME=$system" \
        -DCMAKE_AR="$(command -v llvm-ar)" -DCMAKE_RANLIB="$(command -v llvm-ranlib)" \
        -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
        -D{ZLIB_LIBRARY,ZLIB_LIBRARY_RELEASE}="$work/root/lib/libz.a" -DZLIB_INCLUDE_DIR="$work/root/include" \
        -DENABLE_{COMMONCRYPTO,GNUTLS,MBEDTLS,OPENSSL,WINDOWS_CRYPTO,BZIP2,LZMA,ZSTD}=OFF \
        -DBUILD_{TOOLS,REGRESS,EXAMPLES,DOC}=OFF &&
      ninja -C "$work/build" lib/libzip.a &&
      cp "$work/build/lib/libzip.a" "$work/root/lib" && cp "$sources/libzip/lib/zip.h" "$work/build/zipconf.h" "$work/root/include"
  } >&2 || { rm -rf "$work"; return 1; }
  {
    echo "Name: libzip"
    echo "Description: read and write ZIP archives"
    echo "Version: $(sed -n 's/#define LIBZIP_VERSION "\(.*\)"/\1/p' "$work/root/include/zipconf.h")"
    echo "Cflags: -isystem $root/include"
    echo "Libs: -L$root/lib -lzip -lz"
  } >"$work/root/libzip.pc"
  mv -T "$work/root" "$root" 2>/dev/null || [ -d "$root" ] || { rm -rf "$work"; return 1; }
  rm -rf "$work"
  echo "$root"
}
