// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the policy of core/, which is freestanding C.

use std::path::Path;

fn main() {
    let core = Path::new("../../core");
    let sources = ["cache_shares.c", "cache_hits.c"].map(|name| core.join(name));
    let headers = [
        "cache_hits.h",
        "cache_shares.h",
        "number.h",
        "shares_tree.h",
        "types.h",
    ];
    for file in sources
        .iter()
        .cloned()
        .chain(headers.map(|name| core.join(name)))
    {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    cc::Build::new()
        .files(&sources)
        .std("c11")
        .flag("-ffreestanding")
        .warnings_into_errors(true)
        .compile("fgio_cache_shares");
}
