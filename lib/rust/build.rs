// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds libfgio by pkg-config.

fn main() {
    if let Err(error) = pkg_config::Config::new()
        .atleast_version("0.1")
        .probe("libfgio")
    {
        eprintln!(
            "libfgio is not installed (Debian: libfgio-dev; or make -C lib install): {error}"
        );
        std::process::exit(1);
    }
}
