// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values that rules and cases have in common.

use fgio_sys::class::Class;

use crate::facts::ThreadKind;
use crate::{Fault, Field};

pub fn class(field: &Field<'_>) -> Result<Class, Fault> {
    let text = field.text()?;
    let all = [Class::Foreground, Class::Background, Class::None];
    all.into_iter()
        .find(|class| class.name() == text)
        .ok_or_else(|| {
            field.fault(
                format!("there is no class {text}"),
                "write foreground, background or none",
            )
        })
}

pub fn thread(field: &Field<'_>) -> Result<ThreadKind, Fault> {
    match field.text()? {
        "main" => Ok(ThreadKind::Main),
        "other" => Ok(ThreadKind::Other),
        text => Err(field.fault(
            format!("there are no {text} threads"),
            "write `thread = \"main\"` for the first thread of a process, \"other\" for the rest",
        )),
    }
}
