// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Process events: the kernel's connector over netlink.
//!
//! The layouts are those of linux/netlink.h, linux/connector.h and
//! linux/cn_proc.h. The connector exists in the initial network namespace
//! alone, and speaks of processes of the initial pid namespace.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
    sockopt,
};

const NETLINK_HEADER_BYTES: usize = 16;
const CONNECTOR_HEADER_BYTES: usize = 20;
const NETLINK_DONE: u16 = 3;
/// Both the index and the value of the process connector, and its group.
const CONNECTOR_PROC: u32 = 1;
const LISTEN: u32 = 1;
/// About 50,000 events: those that come while fgiod is not scheduled for a while.
const BUFFER_BYTES: usize = 8 << 20;

const FORK: u32 = 0x1;
const EXEC: u32 = 0x2;
const COMM: u32 = 0x200;
const EXIT: u32 = 0x8000_0000;

/// Something that happened to a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A process was started by a thread of `parent`, or a thread of `pid`.
    Start { parent: i32, pid: i32, tid: i32 },
    /// A process runs another program; the thread that is left has its id.
    Exec { pid: i32 },
    /// A thread was renamed.
    Rename { pid: i32, tid: i32, comm: String },
    /// A thread ended.
    End { pid: i32, tid: i32 },
}

impl Event {
    /// The label of metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start",
            Self::Exec { .. } => "exec",
            Self::Rename { .. } => "rename",
            Self::End { .. } => "end",
        }
    }
}

/// An event, and when it happened by the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    pub event: Event,
    pub at: Duration,
}

/// The outcome of an attempt to read an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    Event(Happened),
    /// An event that does not concern us.
    Other,
    /// The kernel had no room for events: some are lost.
    Lost,
    /// There is none at present.
    Nothing,
}

/// The process connector, listened to.
pub struct Connector {
    socket: OwnedFd,
}

impl Connector {
    /// Needs CAP_NET_ADMIN.
    pub fn open() -> io::Result<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            Some(netlink::CONNECTOR),
        )?;
        sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER_BYTES)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES))?;
        bind(&socket, &SocketAddrNetlink::new(0, CONNECTOR_PROC))?;
        send(&socket, &subscription(), SendFlags::empty())?;
        Ok(Self { socket })
    }

    /// Reads one event. Errors other than those of [`Received`] mean that no more
    /// will come.
    pub fn receive(&self) -> io::Result<Received> {
        let mut buffer = [0; 1024];
        match recv(&self.socket, &mut buffer, RecvFlags::empty()) {
            Ok((length, _)) => Ok(parse(&buffer[..length.min(1024)])),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Received::Nothing),
            Err(Errno::NOBUFS) => Ok(Received::Lost),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for Connector {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn subscription() -> Vec<u8> {
    let length = NETLINK_HEADER_BYTES + CONNECTOR_HEADER_BYTES + size_of::<u32>();
    let mut message = Vec::with_capacity(length);
    message.extend((length as u32).to_ne_bytes());
    message.extend(NETLINK_DONE.to_ne_bytes());
    message.extend([0; 10]);
    message.extend(CONNECTOR_PROC.to_ne_bytes());
    message.extend(CONNECTOR_PROC.to_ne_bytes());
    message.extend([0; 8]);
    message.extend((size_of::<u32>() as u16).to_ne_bytes());
    message.extend([0; 2]);
    message.extend(LISTEN.to_ne_bytes());
    message
}

/// Numbers one after the other.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn id(&mut self) -> Option<i32> {
        self.bytes().map(i32::from_ne_bytes)
    }
}

fn parse(message: &[u8]) -> Received {
    parse_event(message).unwrap_or(Received::Other)
}

/// `None` for a message that is too short.
fn parse_event(message: &[u8]) -> Option<Received> {
    let mut reader = Reader(message.get(NETLINK_HEADER_BYTES..)?);
    let index = reader.bytes().map(u32::from_ne_bytes)?;
    let value = reader.bytes().map(u32::from_ne_bytes)?;
    if (index, value) != (CONNECTOR_PROC, CONNECTOR_PROC) {
        return None;
    }
    let mut reader = Reader(message.get(NETLINK_HEADER_BYTES + CONNECTOR_HEADER_BYTES..)?);
    let what = reader.bytes().map(u32::from_ne_bytes)?;
    let _processor: [u8; 4] = reader.bytes()?;
    let at = Duration::from_nanos(reader.bytes().map(u64::from_ne_bytes)?);
    let event = match what {
        FORK => {
            let (_, parent) = (reader.id()?, reader.id()?);
            let (tid, pid) = (reader.id()?, reader.id()?);
            Event::Start { parent, pid, tid }
        }
        EXEC => {
            let (_, pid) = (reader.id()?, reader.id()?);
            Event::Exec { pid }
        }
        COMM => {
            let (tid, pid) = (reader.id()?, reader.id()?);
            let name: [u8; 16] = reader.bytes()?;
            let length = name
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(name.len());
            let comm = String::from_utf8_lossy(&name[..length]).into_owned();
            Event::Rename { pid, tid, comm }
        }
        EXIT => {
            let (tid, pid) = (reader.id()?, reader.id()?);
            Event::End { pid, tid }
        }
        _ => return None,
    };
    Some(Received::Event(Happened { event, at }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(what: u32, data: &[u8]) -> Vec<u8> {
        let mut message = subscription();
        message.truncate(NETLINK_HEADER_BYTES + CONNECTOR_HEADER_BYTES);
        message.extend(what.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(1_500_000_000_u64.to_ne_bytes());
        message.extend(data);
        message
    }

    fn ids(ids: &[i32]) -> Vec<u8> {
        ids.iter().flat_map(|id| id.to_ne_bytes()).collect()
    }

    #[test]
    fn events_are_understood() {
        let at = Duration::from_millis(1500);
        let named = [ids(&[9, 7]), b"conn12\0\0\0\0\0\0\0\0\0\0".to_vec()].concat();
        for (message, event) in [
            (
                message(FORK, &ids(&[1, 2, 9, 7])),
                Event::Start {
                    parent: 2,
                    pid: 7,
                    tid: 9,
                },
            ),
            (message(EXEC, &ids(&[7, 7])), Event::Exec { pid: 7 }),
            (
                message(COMM, &named),
                Event::Rename {
                    pid: 7,
                    tid: 9,
                    comm: "conn12".to_owned(),
                },
            ),
            (
                message(EXIT, &ids(&[9, 7, 0, 17, 1, 1])),
                Event::End { pid: 7, tid: 9 },
            ),
        ] {
            assert_eq!(parse(&message), Received::Event(Happened { event, at }));
        }
    }

    #[test]
    fn short_and_foreign_messages_are_ignored() {
        let whole = message(COMM, &[0; 24]);
        assert!(matches!(parse(&whole), Received::Event(..)));
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]), Received::Other);
        }
        assert_eq!(parse(&message(4, &[0; 24])), Received::Other);
        let mut foreign = whole.clone();
        foreign[NETLINK_HEADER_BYTES] = 9;
        assert_eq!(parse(&foreign), Received::Other);
        assert_eq!(subscription().len(), 40);
    }
}
