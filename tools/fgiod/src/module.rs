// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel module, which may come and go.

use std::cell::RefCell;
use std::rc::Rc;

use fgio_sys::class::Class;
use fgio_sys::control::{Control, DeviceFile, Info};
use fgio_sys::{Result, Root};

/// `/dev/fgio`, opened when it is needed and closed by [`Module::release`]: the
/// module cannot be unloaded while a process has it open.
pub struct Module {
    root: Root,
    device: RefCell<Option<Rc<DeviceFile>>>,
}

impl Module {
    pub fn new(root: &Root) -> Self {
        Self {
            root: root.clone(),
            device: RefCell::new(None),
        }
    }

    fn device(&self) -> Result<Rc<DeviceFile>> {
        if let Some(device) = &*self.device.borrow() {
            return Ok(device.clone());
        }
        let device = Rc::new(DeviceFile::open(&self.root)?);
        *self.device.borrow_mut() = Some(device.clone());
        Ok(device)
    }

    pub fn release(&self) {
        *self.device.borrow_mut() = None;
    }
}

impl Control for Module {
    fn info(&self) -> Result<Info> {
        self.device()?.info()
    }

    fn set_tag(&self, tid: i32, class: Class) -> Result<()> {
        self.device()?.set_tag(tid, class)
    }

    fn get_tag(&self, tid: i32) -> Result<Class> {
        self.device()?.get_tag(tid)
    }

    fn list_tags(&self) -> Result<Vec<(i32, Class)>> {
        self.device()?.list_tags()
    }
}
