// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why modprobe could not load the module, with advice.

/// Why the module could not be loaded, as far as modprobe's words tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadFailure {
    NotInstalled,
    NotSigned,
    WrongKernel,
    NoModprobe,
    Other,
}

impl LoadFailure {
    pub(crate) fn from_message(message: &str) -> Self {
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        if says(&["not found in directory", "not found."]) {
            Self::NotInstalled
        } else if says(&[
            "Key was rejected",
            "Required key not available",
            "Operation not permitted",
        ]) {
            Self::NotSigned
        } else if says(&[
            "Exec format error",
            "Invalid module format",
            "Unknown symbol",
        ]) {
            Self::WrongKernel
        } else {
            Self::Other
        }
    }

    pub fn advice(self, release: &str) -> String {
        match self {
            Self::NotInstalled => format!(
                "install the packages fgio-dkms and linux-headers-{release}, or load a module you built with `insmod build/kmod/{release}/fgio.ko`"
            ),
            Self::NotSigned => {
                "Secure Boot or lockdown wants a signed module: enrol the key of DKMS with `mokutil --import /var/lib/dkms/mok.pub` and reboot".into()
            }
            Self::WrongKernel => format!(
                "the module was built for another kernel: rebuild it for {release} (`dkms autoinstall`, or `make -C kmod`)"
            ),
            Self::NoModprobe => {
                format!("load the module yourself: `insmod build/kmod/{release}/fgio.ko`")
            }
            Self::Other => "the reason is in the kernel log: run `dmesg | tail`".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modprobe_messages_are_understood() {
        let cases = [
            (
                "modprobe: FATAL: Module fgio not found in directory /lib/modules/6.1.0",
                LoadFailure::NotInstalled,
            ),
            (
                "modprobe: ERROR: could not insert 'fgio': Key was rejected by service",
                LoadFailure::NotSigned,
            ),
            (
                "modprobe: ERROR: could not insert 'fgio': Exec format error",
                LoadFailure::WrongKernel,
            ),
            (
                "modprobe: ERROR: could not insert 'fgio': Cannot allocate memory",
                LoadFailure::Other,
            ),
        ];
        for (message, failure) in cases {
            assert_eq!(LoadFailure::from_message(message), failure, "{message}");
        }
    }
}
