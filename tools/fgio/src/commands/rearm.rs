// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fgio rearm`

use fgio_sys::block;
use fgio_sys::control::{DeviceFile, Diagnosis};
use fgio_sys::inheritance::Watchdog;
use fgio_sys::{Error, Root};
use serde::Serialize;

use super::switch;
use crate::Context;
use crate::failure::{self, Failure};

#[derive(Serialize)]
struct Answer {
    /// `false` when the watchdog had not tripped.
    rearmed: bool,
    /// The reason for which it had tripped.
    watchdog: Watchdog,
}

/// Of one disk that was named.
#[derive(Serialize)]
struct Rearmed {
    device: String,
    /// The partition that was named, when it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<String>,
    /// `false` when the watchdog had not tripped for it.
    rearmed: bool,
}

pub fn rearm(context: &Context, devices: &[String]) -> Result<u8, Failure> {
    let module = DeviceFile::open(&context.root)?;
    if !devices.is_empty() {
        return switch::each(
            context,
            devices,
            |root, device| take_up_work_on(&module, root, device),
            describe_one,
        );
    }
    let answer = take_up_work(&module)?;
    context.output.answer(&answer, || describe(&answer))?;
    Ok(failure::OK)
}

fn take_up_work_on(module: &dyn Diagnosis, root: &Root, name: &str) -> Result<Rearmed, Error> {
    let resolved = block::resolve(root, name)?;
    let (major, minor) = resolved
        .disk
        .major_minor()
        .ok_or_else(|| Error::NoSuchDevice {
            name: name.to_owned(),
        })?;
    Ok(Rearmed {
        rearmed: module.rearm_disk(major, minor)?,
        device: resolved.disk.name,
        partition: resolved.partition,
    })
}

fn describe_one(rearmed: &Rearmed) -> String {
    let device = &rearmed.device;
    let text = match rearmed.rearmed {
        true => format!("{device}: fgio takes up work again"),
        false => format!("{device}: the watchdog has not tripped: nothing to do"),
    };
    text + &switch::partition_note(device, rearmed.partition.as_ref())
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
    use std::cell::{Cell, RefCell};
    use std::fs;

    use fgio_sys::Result;
    use fgio_sys::inheritance::{HookState, State};
    use fgio_sys::wait::{Page, Reasons};

    use super::*;

    /// tripped_disk: the only disk that it tripped for
    struct Module {
        tripped: Cell<bool>,
        tripped_disk: RefCell<Option<(u32, u32)>>,
        is_root: bool,
    }

    fn module(tripped: bool, is_root: bool) -> Module {
        Module {
            tripped: Cell::new(tripped),
            tripped_disk: RefCell::new(tripped.then_some((8, 16))),
            is_root,
        }
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

        fn reasons(&self) -> Result<Reasons> {
            Ok(Reasons::default())
        }

        fn rearm(&self) -> Result<()> {
            if !self.is_root {
                let action = "use the call REARM of the module".to_owned();
                return Err(Error::Permission { action });
            }
            self.tripped.set(false);
            Ok(())
        }

        fn rearm_disk(&self, major: u32, minor: u32) -> Result<bool> {
            match (major, minor) {
                (8, 0 | 16) => Ok(self
                    .tripped_disk
                    .borrow_mut()
                    .take_if(|disk| *disk == (major, minor))
                    .is_some()),
                _ => Err(Error::NotUnderFgio { major, minor }),
            }
        }

        fn blame(&self, _: u64, _: u32) -> Result<Page> {
            Err(Error::ModuleOlder { call: "BLAME" })
        }
    }

    #[test]
    fn only_a_watchdog_that_tripped_is_rearmed() {
        let module = module(true, true);
        let answer = take_up_work(&module).unwrap();
        assert!(answer.rearmed && !module.tripped.get());
        assert!(describe(&answer).contains("sda: nothing moved"));
        let answer = take_up_work(&module).unwrap();
        assert!(!answer.rearmed);
        assert!(describe(&answer).contains("nothing to do"));
    }

    #[test]
    fn only_the_disk_that_is_named_is_rearmed() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        for (disk, number) in [("sda", "8:0"), ("sdb", "8:16"), ("nvme0n1", "259:0")] {
            let path = root.path(format!("/sys/class/block/{disk}"));
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("dev"), format!("{number}\n")).unwrap();
        }
        let module = module(true, true);
        for (disk, rearmed) in [("sda", false), ("sdb", true), ("sdb", false)] {
            let answer = take_up_work_on(&module, &root, disk).unwrap();
            assert_eq!((answer.device.as_str(), answer.rearmed), (disk, rearmed));
            let said = describe_one(&answer);
            assert_eq!(said.contains("nothing to do"), !rearmed, "{said}");
        }
        let error = take_up_work_on(&module, &root, "nvme0n1").err().unwrap();
        assert!(matches!(
            error,
            Error::NotUnderFgio {
                major: 259,
                minor: 0
            }
        ));
        let error = take_up_work_on(&module, &root, "sdz").err().unwrap();
        assert!(matches!(error, Error::NoSuchDevice { .. }));
    }

    #[test]
    fn it_takes_root() {
        let module = module(true, false);
        let failure = take_up_work(&module).map(|_| ()).unwrap_err();
        assert_eq!(failure.status, failure::PERMISSION_DENIED);
        assert!(module.tripped.get());
    }
}
