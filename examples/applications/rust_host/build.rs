// SPDX-License-Identifier: MIT
//! Finds libtenon.so: in TENON_LIBDIR, or by pkg-config.
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=TENON_LIBDIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let folder = std::env::var("TENON_LIBDIR").unwrap_or_else(|_| {
        let output = Command::new("pkg-config")
            .args(["--variable=clibdir", "tenon-c"])
            .output()
            .expect("pkg-config runs; or set TENON_LIBDIR to the directory of libtenon.so");
        assert!(output.status.success(), "pkg-config does not find tenon-c; set PKG_CONFIG_PATH");
        String::from_utf8(output.stdout).expect("a path is UTF-8").trim().to_owned()
    });
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:rustc-link-lib=dylib=tenon");
    // Tests and examples of this crate run without LD_LIBRARY_PATH.
    println!("cargo:rustc-link-arg-tests=-Wl,-rpath,{folder}");
    println!("cargo:rustc-link-arg-examples=-Wl,-rpath,{folder}");
}
