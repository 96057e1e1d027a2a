// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The header of a frame, before each sample on disk.
//!
//! A segment is a sequence of frames, numbers in little endian:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | mark: `F6 47 46 01` |
//! | 4 | length of the payload |
//! | 8 | session: when the recorder began, nanoseconds of the Unix epoch |
//! | 8 | number of the frame in its session, from 0 on |
//! | 8 | when the sample was taken, nanoseconds of the Unix epoch |
//! | 4 | CRC-32 (IEEE) of the four fields before it and the payload |
//! | | payload: a [`fgio_model::sample::Sample`] in JSON, as one Zstandard frame |
//!
//! Each frame stands alone. A reader goes on at the next mark after damage, and
//! the numbers tell how many frames that cost.

/// The first bytes of a frame.
pub const MARK: [u8; 4] = [0xf6, b'G', b'F', 1];
/// Larger ones are not written, and not believed when read.
pub const PAYLOAD_MAX: usize = 16 << 20;

/// The fields of a frame between its mark and its checksum, in their order. This
/// list is the one source of their size, place, writing and reading.
macro_rules! fields {
    ($($(#[$doc:meta])* $field:ident: $number:ty,)+) => {
        /// The fixed part of a frame.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Header {
            $($(#[$doc])* pub $field: $number,)+
        }

        impl Header {
            const FIELDS: usize = 0 $(+ size_of::<$number>())+;

            /// The fields in little endian, as the checksum covers them.
            fn fields(self) -> Vec<u8> {
                let mut bytes = Vec::with_capacity(Self::FIELDS);
                $(bytes.extend(self.$field.to_le_bytes());)+
                bytes
            }

            /// The fields that `bytes` begin with, and the bytes after them.
            fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
                $(
                    let ($field, bytes) = bytes.split_first_chunk()?;
                    let $field = <$number>::from_le_bytes(*$field);
                )+
                Some((Self { $($field),+ }, bytes))
            }
        }
    };
}

fields! {
    /// Bytes of the payload.
    length: u32,
    /// When the recorder began, nanoseconds of the Unix epoch.
    session: u64,
    /// Number of the frame in its session, from 0 on.
    number: u64,
    /// When the sample was taken, nanoseconds of the Unix epoch.
    at_ns: i64,
}

impl Header {
    /// Bytes before the payload: the mark, the fields, the checksum.
    pub const SIZE: usize = MARK.len() + Self::FIELDS + size_of::<u32>();

    /// Bytes of the payload.
    pub fn payload(self) -> usize {
        self.length as usize
    }

    fn checksum(self, payload: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.fields());
        hasher.update(payload);
        hasher.finalize()
    }

    /// The whole frame.
    pub fn frame(self, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::with_capacity(Self::SIZE + payload.len());
        frame.extend(MARK);
        frame.extend(self.fields());
        frame.extend(self.checksum(payload).to_le_bytes());
        frame.extend(payload);
        frame
    }

    /// The header of the frame that `bytes` begin with, when it is whole and undamaged.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (header, rest) = Self::read(bytes.strip_prefix(&MARK)?)?;
        let (checksum, rest) = rest.split_first_chunk()?;
        let payload = rest.get(..header.payload())?;
        let is_whole = header.payload() <= PAYLOAD_MAX
            && header.checksum(payload) == u32::from_le_bytes(*checksum);
        is_whole.then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_these_bytes() {
        let header = Header {
            length: 3,
            session: 0x0807_0605_0403_0201,
            number: 9,
            at_ns: -1,
        };
        let mut expected = vec![0xf6, b'G', b'F', 1, 3, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        expected.extend([0; 7]);
        expected.extend([0xff; 8]);
        expected.extend(crc32fast::hash(&[&expected[4..], b"abc"].concat()).to_le_bytes());
        assert_eq!((expected.len(), Header::SIZE), (36, 36));
        expected.extend(b"abc");
        let frame = header.frame(b"abc");
        assert_eq!(frame, expected);
        assert_eq!(Header::parse(&frame), Some(header));
        assert_eq!(Header::parse(&frame[..frame.len() - 1]), None);
    }
}
