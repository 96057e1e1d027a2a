// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `uapi/fgio.h` in Rust.
//!
//! Written by hand, because users who build the tools need not have libclang;
//! `tests/uapi_layout.rs` compares it with the header.

use rustix::ioctl::{Opcode, opcode};

/// `FGIO_DEVICE_PATH`
pub const DEVICE_PATH: &str = "/dev/fgio";
/// `FGIO_ABI_VERSION`
pub const ABI_VERSION: u32 = 1;

/// `FGIO_TAG_NONE`
pub const TAG_NONE: u32 = 0;
/// `FGIO_TAG_FOREGROUND`
pub const TAG_FOREGROUND: u32 = 1;
/// `FGIO_TAG_BACKGROUND`
pub const TAG_BACKGROUND: u32 = 2;

/// `FGIO_HOOK_BLOCK_BIO_QUEUE`
pub const HOOK_BLOCK_BIO_QUEUE: u32 = 1 << 0;
/// `FGIO_HOOK_SCHED_PROCESS_EXIT`
pub const HOOK_SCHED_PROCESS_EXIT: u32 = 1 << 1;

/// Largest `capacity` that `FGIO_IOC_LIST_TAGS` accepts.
pub const TAG_LIST_CAPACITY_MAX: u32 = 1_048_576;

/// `struct fgio_info`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioInfo {
    pub abi: u32,
    pub hooks_expected: u32,
    pub hooks_live: u32,
    pub tags: u32,
    pub tags_max: u32,
    pub queues: u32,
    pub reserved: [u32; 2],
    pub version: [u8; 32],
}

/// `struct fgio_tag`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FgioTag {
    pub tid: i32,
    pub class: u32,
}

/// `struct fgio_tag_list`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioTagList {
    pub tags: u64,
    pub capacity: u32,
    pub count: u32,
}

/// `struct fgio_promote`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioPromote {
    pub sector: u64,
    pub major: u32,
    pub minor: u32,
    pub promoted: u32,
    pub reserved: u32,
}

/// `FGIO_IOC_MAGIC`
pub const IOC_MAGIC: u8 = 0xF6;
/// `FGIO_IOC_INFO`
pub const IOC_INFO: Opcode = opcode::read::<FgioInfo>(IOC_MAGIC, 0);
/// `FGIO_IOC_SET_TAG`
pub const IOC_SET_TAG: Opcode = opcode::write::<FgioTag>(IOC_MAGIC, 1);
/// `FGIO_IOC_GET_TAG`
pub const IOC_GET_TAG: Opcode = opcode::read_write::<FgioTag>(IOC_MAGIC, 2);
/// `FGIO_IOC_LIST_TAGS`
pub const IOC_LIST_TAGS: Opcode = opcode::read_write::<FgioTagList>(IOC_MAGIC, 3);
/// `FGIO_IOC_PROMOTE`
pub const IOC_PROMOTE: Opcode = opcode::read_write::<FgioPromote>(IOC_MAGIC, 4);
