// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Wrong usage, in the words and the form of other errors.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error};

use crate::cli::Arguments;
use crate::failure::{self, Failure};

/// The failure for `arguments`, which were refused.
pub fn failure(error: &Error, arguments: impl IntoIterator<Item = OsString>) -> Failure {
    let message = message(error).unwrap_or_else(|| first_paragraph(error));
    let advice = advice(error, &usage(arguments));
    Failure::new("usage", failure::USAGE, message, advice)
}

/// How the command that was named is used: `fgio tag [OPTIONS] <PID|TID>...`.
fn usage(arguments: impl IntoIterator<Item = OsString>) -> String {
    let mut command = Arguments::command();
    command.build();
    for word in arguments {
        if let Some(inner) = command.find_subcommand(&word) {
            command = inner.clone();
        }
    }
    let usage = command.render_usage().to_string();
    let words: Vec<&str> = usage.split_whitespace().skip(1).collect();
    words.join(" ")
}

fn text(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(" or ")),
        ContextValue::StyledStr(text) => Some(text.to_string()),
        ContextValue::StyledStrs(texts) => texts.first().map(ToString::to_string),
        _ => None,
    }
}

fn message(error: &Error) -> Option<String> {
    let argument = || text(error, ContextKind::InvalidArg);
    let value = || text(error, ContextKind::InvalidValue);
    let near =
        |kind| text(error, kind).map_or_else(String::new, |near| format!("; did you mean {near}?"));
    Some(match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = text(error, ContextKind::InvalidSubcommand)?;
            let near = near(ContextKind::SuggestedSubcommand);
            format!("there is no command {name}{near}")
        }
        ErrorKind::UnknownArgument => {
            let name = argument()?;
            match name.starts_with('-') {
                true => format!(
                    "there is no option {name} here{}",
                    near(ContextKind::SuggestedArg)
                ),
                false => format!("{name:?} is one argument too many"),
            }
        }
        ErrorKind::InvalidValue if value()?.is_empty() => {
            format!("{} lacks its value", argument()?)
        }
        ErrorKind::InvalidValue => {
            let values = text(error, ContextKind::ValidValue)?;
            format!(
                "{:?} is no value for {}: give {values}",
                value()?,
                argument()?
            )
        }
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error)?;
            format!("{:?} is no value for {}: {why}", value()?, argument()?)
        }
        ErrorKind::MissingRequiredArgument => format!("{} is missing", argument()?),
        ErrorKind::ArgumentConflict => {
            let other = text(error, ContextKind::PriorArg)?;
            match argument()? {
                same if same == other => format!("{same} is given twice"),
                one => format!("{one} cannot be given together with {other}"),
            }
        }
        _ => return None,
    })
}

/// The message of clap, without the usage.
fn first_paragraph(error: &Error) -> String {
    let text = error.to_string();
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty());
    let message = lines.collect::<Vec<_>>().join(" ");
    let message = message.strip_prefix("error: ");
    message.map_or_else(|| text.trim().to_owned(), str::to_owned)
}

fn advice(error: &Error, usage: &str) -> String {
    // "fgio profile test [OPTIONS] <PID>": the command comes first.
    let words = usage.split_whitespace();
    let command: Vec<&str> = words
        .take_while(|word| word.starts_with(|first: char| first.is_ascii_alphabetic()))
        .collect();
    match command[..] {
        [] | ["fgio"] => "run `fgio --help` to see all commands".to_owned(),
        // The rest of an argument when `$(pgrep ...)` finds nothing.
        ["fgio", "tag", ..] if error.kind() == ErrorKind::MissingRequiredArgument => format!(
            "name processes: `{usage}`; a `$(pgrep ...)` that finds none leaves nothing to tag"
        ),
        _ => {
            let usage = usage.lines().next().unwrap_or_default();
            format!(
                "use it as `{usage}`; `{} --help` explains it",
                command.join(" ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn told(arguments: &[&str]) -> Failure {
        let all = std::iter::once(&"fgio").chain(arguments);
        let error = Arguments::try_parse_from(all).unwrap_err();
        failure(&error, arguments.iter().map(OsString::from))
    }

    #[test]
    fn errors_have_their_fault_and_advice() {
        let cases: [(&[&str], &str, &str); 12] = [
            (
                &["stats"],
                "there is no command stats; did you mean status?",
                "`fgio --help`",
            ),
            (&["zzz"], "there is no command zzz", "`fgio --help`"),
            (
                &["tag", "--nome", "1"],
                "there is no option --nome here; did you mean --none?",
                "fgio tag",
            ),
            (
                &["doctor", "sda"],
                "\"sda\" is one argument too many",
                "`fgio doctor --help`",
            ),
            (
                &["tag", "x"],
                "\"x\" is no value for <PID|TID>...: give the number",
                "fgio tag",
            ),
            (
                &["tag", "0"],
                "\"0\" is no value for <PID|TID>...: give the number",
                "fgio tag",
            ),
            (
                &["tag"],
                "<PID|TID>... is missing",
                "`$(pgrep ...)` that finds none",
            ),
            (&["enable"], "<DEV>... is missing", "`fgio enable --help`"),
            (
                &["blame", "--by", "x"],
                "\"x\" is no value for --by <BY>: give cause or kind",
                "fgio blame",
            ),
            (
                &["blame", "--by"],
                "--by <BY> lacks its value",
                "fgio blame",
            ),
            (
                &["record", "--max-mib", "0"],
                "give a whole number from 1 to 65536",
                "fgio record",
            ),
            (
                &["tag", "1", "--none", "--background"],
                "cannot be given together with",
                "fgio tag",
            ),
        ];
        for (arguments, message, advice) in cases {
            let failure = told(arguments);
            assert!(failure.message.contains(message), "{}", failure.message);
            assert!(failure.advice.contains(advice), "{}", failure.advice);
            assert!(!failure.message.contains('\n') && !failure.advice.contains('\n'));
        }
    }
}
