// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Units of metrics as the encoder calls them.

use fgio_model::metric;
use prometheus_client::registry::Unit;

pub fn unit(unit: metric::Unit) -> Unit {
    match unit {
        metric::Unit::Seconds => Unit::Seconds,
        metric::Unit::Bytes => Unit::Bytes,
        metric::Unit::Ratio => Unit::Other(metric::Unit::Ratio.name().to_owned()),
    }
}
