// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sizes: the least that can be measured, and how they are written.

/// Fewer bytes than this are in some cache.
pub const SIZE_MIN: u64 = 16 << 20;

/// Bytes in the largest unit of which there is one.
pub fn size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = UNITS.iter().find(|(_, shift)| bytes >> shift > 0);
    match unit {
        None => format!("{bytes} bytes"),
        Some((name, shift)) => {
            let value = bytes as f64 / (1_u64 << shift) as f64;
            match value.fract() == 0.0 {
                true => format!("{value} {name}"),
                false => format!("{value:.1} {name}"),
            }
        }
    }
}
