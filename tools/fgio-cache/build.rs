// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the policy of core/, which is freestanding C.

use std::path::Path;

fn main() {
    let core = Path::new("../../core");
    for name in ["cache_shares.c", "cache_shares.h", "number.h", "types.h"] {
        println!("cargo::rerun-if-changed={}", core.join(name).display());
    }
    cc::Build::new()
        .file(core.join("cache_shares.c"))
        .std("c11")
        .flag("-ffreestanding")
        .warnings_into_errors(true)
        .compile("fgio_cache_shares");
}
