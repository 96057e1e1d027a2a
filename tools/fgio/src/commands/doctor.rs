// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio doctor`

use fgio_doctor::{Finding, Level};
use serde::Serialize;

use crate::Context;
use crate::failure::{self, Failure};
use crate::render;

#[derive(Serialize)]
struct Answer<'a> {
    findings: &'a [Finding],
    errors: usize,
    warnings: usize,
}

pub fn doctor(context: &Context) -> Result<u8, Failure> {
    let findings = fgio_doctor::examine(&context.root)?;
    let count = |level| {
        let of_level = findings.iter().filter(|finding| finding.level == level);
        of_level.count()
    };
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    let answer = Answer {
        findings: &findings,
        errors,
        warnings,
    };
    context
        .output
        .answer(&answer, || render::findings(&findings, errors, warnings))?;
    Ok(if errors == 0 {
        failure::OK
    } else {
        failure::FAILED
    })
}
