// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio set`

use fgio_sys::setting::{self, Setting, Value};
use serde::Serialize;

use crate::Context;
use crate::cli::SetArguments;
use crate::failure::{self, Failure};
use crate::render;

#[derive(Serialize)]
struct All<'a> {
    settings: &'a [Setting],
}

/// The changed setting.
#[derive(Serialize)]
struct Change {
    name: String,
    previous: Value,
    /// The value in force now.
    value: Value,
    changed: bool,
    /// The value in force when the module is loaded again, if that was asked
    /// for.
    persisted: Option<Value>,
}

#[derive(Serialize)]
struct Reset {
    changes: Vec<setting::Set>,
    persisted: bool,
}

pub fn set(context: &Context, arguments: &SetArguments) -> Result<u8, Failure> {
    match (&arguments.name, &arguments.value) {
        (Some(name), Some(text)) => change(context, name, text, arguments.persist)?,
        (Some(name), None) => show(context, name)?,
        (None, _) if arguments.reset => reset(context, arguments.persist)?,
        (None, _) => show_all(context)?,
    }
    Ok(failure::OK)
}

fn show_all(context: &Context) -> Result<(), Failure> {
    let settings = setting::all(&context.root)?;
    let answer = All {
        settings: &settings,
    };
    let width = context.output.width();
    context
        .output
        .answer(&answer, || render::setting::all(&settings, width))
}

fn show(context: &Context, name: &str) -> Result<(), Failure> {
    let setting = setting::get(&context.root, name)?;
    context
        .output
        .answer(&setting, || format!("{}\n", setting.value))
}

fn change(context: &Context, name: &str, text: &str, persist: bool) -> Result<(), Failure> {
    let present = setting::get(&context.root, name)?;
    let mut change = if persist && !present.writable {
        Change {
            name: present.name,
            previous: present.value.clone(),
            value: present.value,
            changed: false,
            persisted: None,
        }
    } else {
        let set = setting::set(&context.root, name, text)?;
        Change {
            name: set.name,
            previous: set.previous,
            value: set.value,
            changed: set.changed,
            persisted: None,
        }
    };
    if persist {
        change.persisted = Some(setting::persist(&context.root, name, text)?);
    }
    context.output.answer(&change, || describe(&change))
}

fn describe(change: &Change) -> String {
    let Change {
        name,
        value,
        previous,
        ..
    } = change;
    let mut text = match change.changed {
        true => format!("{name}: {value} now, was {previous}\n"),
        false => format!("{name}: still {value}\n"),
    };
    if let Some(persisted) = &change.persisted {
        text += &format!(
            "  {persisted} whenever the module is loaded ({})\n",
            setting::PERSISTENT
        );
    }
    text
}

fn reset(context: &Context, persist: bool) -> Result<(), Failure> {
    let changes = setting::reset(&context.root)?;
    if persist {
        setting::persist_nothing(&context.root)?;
    }
    let answer = Reset {
        changes,
        persisted: persist,
    };
    context.output.answer(&answer, || describe_reset(&answer))
}

fn describe_reset(answer: &Reset) -> String {
    let changes = answer.changes.iter();
    let mut text: String = changes
        .map(|set| format!("{}: {} now, was {}\n", set.name, set.value, set.previous))
        .collect();
    if text.is_empty() {
        text += "all that can be changed is at its default\n";
    }
    if answer.persisted {
        text += &format!(
            "  and nothing else is asked for in {}\n",
            setting::PERSISTENT
        );
    }
    text
}
