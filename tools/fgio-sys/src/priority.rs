// SPDX-License-Identifier: Apache-2.0 OR MIT
//! I/O priorities, the classes of I/O that children inherit.

use crate::class::Class;
use crate::{Error, Result, syscall};

const CLASS_SHIFT: i32 = 13;
const CLASS_BEST_EFFORT: i32 = 2;
const CLASS_IDLE: i32 = 3;

/// The `ioprio_set(2)` value that stands for `class`: best-effort level 0 for
/// the foreground, the idle class for the background, and no priority at all
/// for none. None of them needs a privilege.
pub fn value(class: Class) -> i32 {
    match class {
        Class::Foreground => CLASS_BEST_EFFORT << CLASS_SHIFT,
        Class::Background => CLASS_IDLE << CLASS_SHIFT,
        Class::None => 0,
    }
}

/// Gives the calling thread, and all threads it starts from now on, the I/O
/// priority that stands for `class`.
pub fn set_own(class: Class) -> Result<()> {
    syscall::set_own_io_priority(value(class)).map_err(|source| Error::SetPriority { source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_ionice() {
        assert_eq!(value(Class::Foreground), 0x4000);
        assert_eq!(value(Class::Background), 0x6000);
        assert_eq!(value(Class::None), 0);
    }
}
