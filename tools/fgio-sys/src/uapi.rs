// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `uapi/fgio.h` in Rust.
//!
//! Kinds of waits come from the list in the header, by `build.rs`. The rest is written
//! by hand, because building the tools must not take libclang; `tests/uapi_layout.rs`
//! compares all of it with the header.

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

include!(concat!(env!("OUT_DIR"), "/wait_kinds.rs"));
include!(concat!(env!("OUT_DIR"), "/reasons.rs"));

/// `FGIO_HOOK_WORKS`
pub const HOOK_WORKS: u32 = 1 << 0;
/// `FGIO_HOOK_ATTACHED`
pub const HOOK_ATTACHED: u32 = 1 << 1;
/// `FGIO_HOOK_OPTIONAL`
pub const HOOK_OPTIONAL: u32 = 1 << 2;

/// `FGIO_BLAME_STEPS`
pub const BLAME_STEPS: usize = 8;
/// `FGIO_BLAME_BOOSTED`
pub const BLAME_BOOSTED: u32 = 1 << 0;
/// `FGIO_BLAME_PROMOTED_REQUEST`
pub const BLAME_PROMOTED_REQUEST: u32 = 1 << 1;
/// `FGIO_BLAME_PROMOTED_SLEEPER`
pub const BLAME_PROMOTED_SLEEPER: u32 = 1 << 2;
/// `FGIO_BLAME_PROMOTED_WRITER`
pub const BLAME_PROMOTED_WRITER: u32 = 1 << 3;

/// `FGIO_REQUEST_MS_SHIFT`
pub const REQUEST_MS_SHIFT: u32 = 24;
/// `FGIO_REQUEST_ORIGINS`
pub const REQUEST_ORIGINS: u64 = 4096;
/// `FGIO_REQUEST_FOREIGN_MS`
pub const REQUEST_FOREIGN_MS: i64 = 600_000;

/// Largest `capacity` that `FGIO_IOC_BLAME` accepts.
pub const BLAME_CAPACITY_MAX: u32 = 65_536;

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

/// `struct fgio_wait_for`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioWaitFor {
    pub tid: i32,
    pub reserved: u32,
}

/// `struct fgio_hook_state`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FgioHookState {
    pub name: [u8; 48],
    pub mechanism: [u8; 16],
    pub state: u32,
    pub error: u32,
    pub missed: u64,
}

impl Default for FgioHookState {
    fn default() -> Self {
        Self {
            name: [0; 48],
            mechanism: [0; 16],
            state: 0,
            error: 0,
            missed: 0,
        }
    }
}

/// `struct fgio_hook_list`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioHookList {
    pub hooks: u64,
    pub capacity: u32,
    pub count: u32,
}

/// `struct fgio_state`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FgioState {
    pub foreground_waiting: u32,
    pub boosted: u32,
    pub walks: u64,
    pub walk_ns: u64,
    pub boosts: u64,
    pub boosted_ns: u64,
    pub boosted_in_vain_ns: u64,
    pub promoted_requests: u64,
    pub promoted_sleepers: u64,
    pub promoted_writers: u64,
    pub parked_ns: u64,
    pub waits_lost: u64,
    pub walk_overflows: u64,
    pub blame_lost: u64,
    pub watchdog_tripped: u32,
    pub watches_lost: u32,
    pub watchdog_at_ns: u64,
    pub watchdog_reason: [u8; 128],
}

impl Default for FgioState {
    fn default() -> Self {
        Self {
            foreground_waiting: 0,
            boosted: 0,
            walks: 0,
            walk_ns: 0,
            boosts: 0,
            boosted_ns: 0,
            boosted_in_vain_ns: 0,
            promoted_requests: 0,
            promoted_sleepers: 0,
            promoted_writers: 0,
            parked_ns: 0,
            waits_lost: 0,
            walk_overflows: 0,
            blame_lost: 0,
            watchdog_tripped: 0,
            watches_lost: 0,
            watchdog_at_ns: 0,
            watchdog_reason: [0; 128],
        }
    }
}

/// `struct fgio_blame_step`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioBlameStep {
    pub tid: i32,
    pub kind: u32,
    pub comm: [u8; 16],
}

/// `struct fgio_blame_entry`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioBlameEntry {
    pub end_ns: u64,
    pub waited_ns: u64,
    pub object: u64,
    pub request: u64,
    pub deadline_ms: u32,
    pub parts: u32,
    pub tid: i32,
    pub kind: u32,
    pub inner_kind: u32,
    pub actions: u32,
    pub steps: u32,
    pub reason: u32,
    pub comm: [u8; 16],
    pub step: [FgioBlameStep; BLAME_STEPS],
}

/// `FGIO_REASONS_ROOM`
pub const REASONS_ROOM: usize = 32;

/// `struct fgio_reasons`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioReasons {
    pub waits: [u64; REASONS_ROOM],
    pub waited_ns: [u64; REASONS_ROOM],
}

/// `struct fgio_blame`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioBlame {
    pub cursor: u64,
    pub entries: u64,
    pub capacity: u32,
    pub count: u32,
    pub lost: u64,
}

/// `FGIO_WORDS_BYTES_MAX`
pub const WORDS_BYTES_MAX: usize = 1 << 20;
/// `FGIO_WORD_CLEAR`
pub const WORD_CLEAR: u32 = 1 << 0;

/// `struct fgio_word`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioWord {
    pub class: u32,
    pub reserved: u32,
    pub request: u64,
    pub deadline_ms: u32,
    pub parts: u32,
    pub reserved_more: [u64; 5],
}

/// `struct fgio_word_slot`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioWordSlot {
    pub index: u32,
    pub flags: u32,
}

/// `struct fgio_word_at`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioWordAt {
    pub address: u64,
}

/// `struct fgio_rearm`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioRearm {
    pub major: u32,
    pub minor: u32,
    pub tripped: u32,
    pub reserved: u32,
}

/// `FGIO_SHARE_ASKS`
pub const SHARE_ASKS: u32 = 1 << 0;
/// `FGIO_SHARES_FOLLOWED`
pub const SHARES_FOLLOWED: u32 = 1 << 0;
/// `FGIO_SHARES_ON`
pub const SHARES_ON: u32 = 1 << 1;
/// `FGIO_SHARES_AT_ONCE`
pub const SHARES_AT_ONCE: u32 = 512;

/// `struct fgio_share`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioShare {
    pub cgroup: u64,
    pub parent: u64,
    pub requests: u64,
    pub sectors: u64,
    pub drive_ns: u64,
    pub held: u64,
    pub lag_ns: u64,
    pub weight: u32,
    pub guarantee: u32,
    pub queued: u32,
    pub in_drive: u32,
    pub flags: u32,
    pub scale: u32,
}

/// `struct fgio_share_list`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioShareList {
    pub cursor: u64,
    pub shares: u64,
    pub capacity: u32,
    pub count: u32,
    pub major: u32,
    pub minor: u32,
    pub state: u32,
    pub groups: u32,
    pub asking: u32,
    pub reserved: u32,
}

/// `FGIO_SCALE_LEAST`
pub const SCALE_LEAST: u32 = 256;
/// `FGIO_SCALE_MOST`
pub const SCALE_MOST: u32 = 4096;
/// `FGIO_SCALE_HOLD_MS_MAX`
pub const SCALE_HOLD_MS_MAX: u32 = 60_000;

/// `struct fgio_share_scale`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FgioShareScale {
    pub cgroup: u64,
    pub scale: u32,
    pub hold_ms: u32,
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
/// `FGIO_IOC_WAIT_FOR`
pub const IOC_WAIT_FOR: Opcode = opcode::write::<FgioWaitFor>(IOC_MAGIC, 5);
/// `FGIO_IOC_HOOKS`
pub const IOC_HOOKS: Opcode = opcode::read_write::<FgioHookList>(IOC_MAGIC, 6);
/// `FGIO_IOC_STATE`
pub const IOC_STATE: Opcode = opcode::read::<FgioState>(IOC_MAGIC, 7);
/// `FGIO_IOC_REARM`
pub const IOC_REARM: Opcode = opcode::none(IOC_MAGIC, 8);
/// `FGIO_IOC_BLAME`
pub const IOC_BLAME: Opcode = opcode::read_write::<FgioBlame>(IOC_MAGIC, 9);
/// `FGIO_IOC_SET_WORD`
pub const IOC_SET_WORD: Opcode = opcode::write::<FgioWordSlot>(IOC_MAGIC, 10);
/// `FGIO_IOC_TIE_WORD`
pub const IOC_TIE_WORD: Opcode = opcode::write::<FgioWordAt>(IOC_MAGIC, 11);

/// `FGIO_IOC_REARM_DISK`
pub const IOC_REARM_DISK: Opcode = opcode::read_write::<FgioRearm>(IOC_MAGIC, 12);

/// `FGIO_IOC_REASONS`
pub const IOC_REASONS: Opcode = opcode::read::<FgioReasons>(IOC_MAGIC, 14);

/// `FGIO_IOC_SHARES`
pub const IOC_SHARES: Opcode = opcode::read_write::<FgioShareList>(IOC_MAGIC, 13);

/// `FGIO_IOC_SCALE_SHARE`
pub const IOC_SCALE_SHARE: Opcode = opcode::write::<FgioShareScale>(IOC_MAGIC, 15);

/// The text of a field that ends with a NUL.
pub(crate) fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0);
    let field = &field[..end.unwrap_or(field.len())];
    String::from_utf8_lossy(field).into_owned()
}
