// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The module: is it loaded, is it installed.

use crate::{Result, Root, files};

/// Whether the module is loaded.
pub fn is_loaded(root: &Root) -> bool {
    root.path("/sys/module/fgio").is_dir()
}

/// Whether the kernel has the module `name`, loaded or built in.
pub fn is_present(root: &Root, name: &str) -> bool {
    root.path("/sys/module").join(name).is_dir()
}

/// The version of the loaded module; `None` when it is not loaded.
pub fn version(root: &Root) -> Option<String> {
    files::read_optional(&root.path("/sys/module/fgio/version"))
}

/// The running kernel's release, such as `6.12.117+deb12-amd64`.
pub fn kernel_release(root: &Root) -> Result<String> {
    files::read(&root.path("/proc/sys/kernel/osrelease"))
}

/// Where the module is installed for `release`, if it is, according to depmod.
pub fn installed(root: &Root, release: &str) -> Option<String> {
    let index = root.path(format!("/lib/modules/{release}/modules.dep"));
    let text = files::read_optional(&index)?;
    text.lines()
        .filter_map(|line| line.split(':').next())
        .find(|path| is_module_file(path))
        .map(str::to_owned)
}

fn is_module_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(
        name,
        "fgio.ko" | "fgio.ko.xz" | "fgio.ko.zst" | "fgio.ko.gz"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn installed_module_is_found_in_the_index() {
        let fixture = Fixture::new();
        fixture.file(
            "/lib/modules/6.12.1/modules.dep",
            "kernel/fs/ext4/ext4.ko: kernel/lib/crc16.ko\nupdates/dkms/notfgio.ko:\nupdates/dkms/fgio.ko.xz:\n",
        );
        assert_eq!(
            installed(fixture.root(), "6.12.1").as_deref(),
            Some("updates/dkms/fgio.ko.xz")
        );
        assert_eq!(installed(fixture.root(), "6.1.0"), None);
    }
}
