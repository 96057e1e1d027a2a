// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio rearm`

use fgio_model::control::{DeviceFile, Diagnosis};
use fgio_model::inheritance::Watchdog;
use serde::Serialize;

use crate::Context;
use crate::failure::{self, Failure};

#[derive(Serialize)]
struct Answer {
    /// `false` when the watchdog had not tripped.
    rearmed: bool,
    /// What it had tripped for.
    watchdog: Watchdog,
}

pub fn rearm(context: &Context) -> Result<u8, Failure> {
    let answer = take_up_work(&DeviceFile::open(&context.root)?)?;
    context.output.answer(&answer, || describe(&answer))?;
    Ok(failure::OK)
}

fn take_up_work(device: &dyn Diagnosis) -> Result<Answer, Failure> {
    let watchdog = device.state()?.watchdog;
    if watchdog.tripped {
        device.rearm()?;
    }
    Ok(Answer {
        rearmed: watchdog.tripped,
        watchdog,
    })
}

fn describe(answer: &Answer) -> String {
    if !answer.rearmed {
        return "the watchdog has not tripped: nothing to do\n".to_owned();
    }
    let reason = answer.watchdog.reason.as_deref();
    format!(
        "fgio takes up work again on {}\n  the watchdog had let all I/O through: {}\n",
        answer.watchdog.which(),
        reason.unwrap_or("no reason given")
    )
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use fgio_model::blame::Page;
    use fgio_model::inheritance::{HookState, State};
    use fgio_model::{Error, Result};

    use super::*;

    struct Module {
        tripped: Cell<bool>,
        is_root: bool,
    }

    impl Diagnosis for Module {
        fn hooks(&self) -> Result<Vec<HookState>> {
            Ok(Vec::new())
        }

        fn state(&self) -> Result<State> {
            let tripped = self.tripped.get();
            Ok(State {
                watchdog: Watchdog {
                    tripped,
                    disks: tripped.into(),
                    at_ns: None,
                    reason: tripped.then(|| "sda: nothing moved".to_owned()),
                },
                ..State::default()
            })
        }

        fn rearm(&self) -> Result<()> {
            if !self.is_root {
                let action = "use the call REARM of the module".to_owned();
                return Err(Error::Permission { action });
            }
            self.tripped.set(false);
            Ok(())
        }

        fn blame(&self, _: u64, _: u32) -> Result<Page> {
            Err(Error::ModuleOlder { call: "BLAME" })
        }
    }

    #[test]
    fn only_a_watchdog_that_tripped_is_rearmed() {
        let module = Module {
            tripped: Cell::new(true),
            is_root: true,
        };
        let answer = take_up_work(&module).unwrap();
        assert!(answer.rearmed && !module.tripped.get());
        assert!(describe(&answer).contains("sda: nothing moved"));
        let answer = take_up_work(&module).unwrap();
        assert!(!answer.rearmed);
        assert!(describe(&answer).contains("nothing to do"));
    }

    #[test]
    fn it_takes_root() {
        let module = Module {
            tripped: Cell::new(true),
            is_root: false,
        };
        let failure = take_up_work(&module).map(|_| ()).unwrap_err();
        assert_eq!(failure.status, failure::PERMISSION_DENIED);
        assert!(module.tripped.get());
    }
}
