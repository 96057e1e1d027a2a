// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Completions and manual pages, for packages.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use fgio_sys::setting;

use crate::Context;
use crate::cli::Arguments;
use crate::failure::{self, Failure};
use crate::output::Output;

pub fn completions(shell: Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    let mut command = Arguments::command();
    clap_complete::generate(shell, &mut command, "fgio", &mut script);
    if shell == Shell::Fish {
        script.extend(setting_names_for_fish().bytes());
    }
    // A script is the answer in every output format.
    Output::new(false).print(&String::from_utf8_lossy(&script))?;
    Ok(failure::OK)
}

/// The generator for fish leaves out positional arguments.
fn setting_names_for_fish() -> String {
    let names: Vec<&str> = setting::KNOWN.iter().map(|known| known.name).collect();
    format!(
        "complete -c fgio -n \"__fish_fgio_using_subcommand set\" -f -a \"{}\"\n",
        names.join(" ")
    )
}

pub fn man(context: &Context, out: &Path) -> Result<u8, Failure> {
    clap_mangen::generate_to(Arguments::command(), out).map_err(|source| {
        Failure::new(
            fgio_sys::ErrorKind::OperationFailed.name(),
            failure::FAILED,
            format!("cannot write manual pages to {}: {source}", out.display()),
            "name an existing directory that you may write to",
        )
    })?;
    context
        .output
        .line(format_args!("manual pages are in {}", out.display()))?;
    Ok(failure::OK)
}
