// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The signals that ask a program to end.

use std::sync::mpsc::{Receiver, channel};

use crate::failure::{self, Failure};

/// Tells of Ctrl-C, and of the other signals that ask a program to end; `advice`
/// is for when that cannot be done.
pub fn on_signal(advice: &str) -> Result<Receiver<()>, Failure> {
    let (sender, receiver) = channel();
    let tell = move || {
        // Sending fails once the receiver has gone, when the end has come.
        let _ = sender.send(());
    };
    ctrlc::set_handler(tell).map_err(|error| {
        Failure::new(
            fgio_model::ErrorKind::OperationFailed.name(),
            failure::FAILED,
            format!("cannot wait for signals: {error}"),
            advice,
        )
    })?;
    Ok(receiver)
}
