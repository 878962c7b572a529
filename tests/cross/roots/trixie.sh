# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Debian 13 (trixie) of this machine's architecture: its compilers, libraries and C library, in a root of its
# own. Two kinds of roots, made once in ~/.cache/tenon/cross. The one of `trixie` is installed by debootstrap,
# and by `./dev setup` in it; the one of `quick` has packages that are only unpacked, as those of `sysroot`
# do. tests/cross/run sets `here`, `quick` and `results`.
# shellcheck disable=SC2154

# installed_trixie: makes the root and prints it. debootstrap is there (`packages`).
installed_trixie() { alone trixie-root make_trixie; }
make_trixie() {
  local root=${XDG_CACHE_HOME:-$HOME/.cache}/tenon/cross/trixie-installed work log=build/cross/trixie-root.log
  if [ ! -d "$root" ]; then
    [ "$(id -u)" = 0 ] || { echo "cross: debootstrap makes a root of Debian 13 as root alone" >&2; return 1; }
    note "making a root of Debian 13 in $root: 2.4 GB on disk, some minutes, once" >&2
    mkdir -p "$(dirname "$root")" && work=$(mktemp -d "$root.XXXXXX") || return
    # What README expects of a machine with a clone.
    debootstrap --variant=minbase --include=ca-certificates,git trixie "$work" \
      >"$log" 2>&1 || { tail -n 20 "$log" >&2; rm -rf "$work"; return 1; }
    chmod 755 "$work" && mv -T "$work" "$root" || return
  fi
  echo "$root"
}

# copied_tree FOLDER: the files that git knows, as they are here, in a repository of its own. Builds in it are kept.
copied_tree() {
  mkdir -p "$1"
  find "$1" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git ls-files -z | tar --null --files-from - --create | tar --extract --directory "$1"
  git -C "$1" init --quiet
  git -C "$1" add --all
  git -C "$1" -c user.name=cross -c user.email=cross@localhost commit --quiet --message "Add a copy" >/dev/null
}

# in_root ROOT TREE COMMAND...: in a mount namespace of its own, with TREE as /tenon and what is fetched from PyPI,
# and as /; in a user namespace where this is not root. Ends with all processes that it started.
in_root() {
  local as=() cache=${XDG_CACHE_HOME:-$HOME/.cache}/tenon
  [ "$(id -u)" = 0 ] || as=(--map-root-user)
  mkdir -p "$cache" "$1"/{tenon,root/.cache/tenon,etc/ssl/certs}
  # The network of this machine, which may have an authority of its own.
  touch "$1/etc/resolv.conf" "$1/etc/ssl/certs/ca-certificates.crt"
  # shellcheck disable=SC2016
  unshare "${as[@]}" --mount --pid --fork --kill-child bash -euc '
    root=$1
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/tmp"
    mount --bind "$2" "$root/tenon"
    mount --bind "$3" "$root/root/.cache/tenon"
    mount --bind "$(realpath /etc/resolv.conf)" "$root/etc/resolv.conf"
    mount --bind "$(realpath /etc/ssl/certs/ca-certificates.crt)" "$root/etc/ssl/certs/ca-certificates.crt"
    shift 3
    exec chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      bash -c "cd /tenon && exec \"\$@\"" bash "$@"' bash "$1" "$(realpath "$2")" "$cache" "${@:3}"
}

# The flags of the builds: as `dev` has them for gcc, and not optimised for what runs once.
trixie_options=(
  --werror -Dbuildtype=release -Dbenchmarks=disabled -Dcompiled_host=true -Dunity=on -Dunity_size=100
)

# trixie_build NAME CC CXX [meson argument]...: configures build/NAME in the root. What Meson deprecates fails.
trixie_build() {
  local log=$tree/build/$1.log again=()
  [ ! -f "$tree/build/$1/build.ninja" ] || again=(--reconfigure --clearcache)
  in_root "$root" "$tree" env CC="$2" CXX="$3" CC_LD=lld CXX_LD=lld \
    meson setup "build/$1" "${again[@]}" "${trixie_options[@]}" "${@:4}" >"$log" 2>&1 || { cat "$log"; return 1; }
  ! grep -F DEPRECATION "$log"
}

# trixie_targets NAME ARGUMENT...: compiles what tests need, selected as .ci/targets-of-tests does.
trixie_targets() {
  # shellcheck disable=SC2016
  in_root "$root" "$tree" bash -c 'ninja -C "build/$1" --quiet -k0 $(.ci/targets-of-tests "build/$1" "${@:2}")' \
    bash "$@"
}

# trixie_tests NAME ARGUMENT...: runs tests, as `meson test` selects them; each is a check.
trixie_tests() {
  local outcome name log=$tree/build/$1/meson-logs
  rm -f "$log"/trixie.*
  in_root "$root" "$tree" meson test -C "build/$1" --no-rebuild --logbase trixie --timeout-multiplier 5 "${@:2}" \
    >"$log.txt" 2>&1 || true
  while IFS=$'\t' read -r outcome name; do
    case $outcome in
      OK | EXPECTEDFAIL) ok "$name" ;;
      SKIP) not_run "$name: skipped" ;;
      *) not_ok "$name: $outcome" ;;
    esac
  done < <(python3 - "$log/trixie.json" <<'PYTHON'
import json, sys
for test in map(json.loads, open(sys.argv[1], encoding="utf-8")):
    print(test["result"], test["name"], sep="\t")
PYTHON
  )
}

# Sets `root` and `tree` of the caller: the root, and a copy of this tree in which it builds.
open_trixie() {
  tree=build/cross/trixie/tree
  packages debootstrap:debootstrap
  root=$(installed_trixie)
  copied_tree "$tree"
  mkdir -p "$tree/build"
}

# What of README's `./dev test` is about this system: warnings of its compilers, its libraries.
trixie() {
  local root tree
  open_trixie
  check "./dev setup" in_root "$root" "$tree" ./dev setup
  check "no command was missing before it was installed" lacks "command not found"
  check "./dev demo" in_root "$root" "$tree" ./dev demo
  detail "$(in_root "$root" "$tree" bash -c 'g++ --version | sed -n 1p; clang++ --version | sed -n 1p; ldd --version | sed -n 1p;
    python3 --version; ls -l /usr/lib/*/libdnnl.so.* | sed "s/.*libdnnl/libdnnl/"' | paste -sd ';' | sed 's/;/; /g')"
  note "gcc"
  check "configured with gcc" trixie_build gcc gcc g++ -Doptimization=g -Dprecompiled_tests=true
  local suites=(--suite unit --suite abi --suite headers --suite docs --suite lint --no-suite slow)
  check "compiled by gcc, warnings are errors" trixie_targets gcc "${suites[@]}"
  trixie_tests gcc "${suites[@]}"
  note "clang"
  check "configured with clang" trixie_build clang clang clang++ -Doptimization=0
  check "compiled by clang, warnings are errors" trixie_targets clang --suite headers --test core --test backend --test host
  trixie_tests clang core backend host
  not_run "the sanitizers, the conformance kit's judgements, live models, the wheel (tests/cross/run trixie --whole: ./dev test)"
}

# README's second command, which takes half an hour.
trixie_whole() {
  local root tree
  open_trixie
  check "./dev demo" in_root "$root" "$tree" ./dev demo
  in_root "$root" "$tree" ./dev test 2>&1 | tee "$tree/build/test.log" || true
  check "./dev test" grep -qE '^[0-9]+ passed, 0 failed' "$tree/build/test.log"
  detail "$(grep -E '^[0-9]+ passed, ' "$tree/build/test.log" | tail -n 1)"
}

# Headers and a part of the tests, in less than two minutes of one processor.
trixie_quick() {
  local root tree=build/cross/trixie-quick
  root=$(sysroot trixie)
  if ! in_root "$root" . true; then
    not_run "Debian 13: this system lets no process have a root of its own"
    return
  fi
  copied_tree "$tree"
  mkdir -p "$tree/build"
  local without=(-Dpython=disabled -Dpt2=disabled -Dcpu_aoti=disabled -Dcuda=disabled -Doptimization=0)
  local name
  for name in gcc:g++ clang:clang++; do
    check "configured with ${name%:*}" trixie_build "${name%:*}" "${name%:*}" "${name#*:}" "${without[@]}"
    check "all headers, compiled by ${name%:*} with warnings as errors" in_root "$root" "$tree" \
      ninja -C "build/${name%:*}" --quiet tests/headers/everything-compiled
  done
  check "compiled by gcc, warnings are errors" trixie_targets gcc --test core
  trixie_tests gcc core
}

lacks() { ! grep -F "$1" "$(log_of_check)"; }
