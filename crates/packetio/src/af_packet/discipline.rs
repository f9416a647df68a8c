//! Queries the queueing discipline (`tc`) of an interface over rtnetlink(7): its kind, and the
//! number of packets in its queue. A query with `RTM_GETQDISC` for the root returns statistics that
//! include all child disciplines.

use crate::sys;
use std::fs::File;
use std::io::{self, Read, Write};

/// The parent handle of a root discipline (linux/pkt_sched.h).
const TC_H_ROOT: u32 = 0xffff_ffff;
const REQUEST_BYTES: u32 = 36;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;
/// The lengths of `nlmsghdr`, `tcmsg` and `rtattr` in bytes.
const MESSAGE: usize = 16;
const DISCIPLINE: usize = 20;
const ATTRIBUTE: usize = 4;

/// The queueing disciplines that treat a super-frame like its segments, because they do no more
/// than forward packets or share a link among flows.
const HANDS_ON: [&[u8]; 5] = [b"noqueue", b"pfifo_fast", b"fq_codel", b"fq", b"mq"];

/// The queueing discipline of one interface.
#[derive(Debug)]
pub(super) struct Discipline {
    /// A netlink socket. The kernel's answer can be read as soon as a request has been sent.
    socket: File,
    ifindex: u32,
}

impl Discipline {
    pub(super) fn of(ifindex: u32) -> io::Result<Self> {
        let socket = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW)?;
        Ok(Self { socket: File::from(socket), ifindex })
    }

    /// Returns whether the discipline treats a super-frame as it would treat the frame's segments.
    /// Disciplines that shape, drop, delay or change packets do not.
    pub(super) fn takes_super_frames(&mut self) -> bool {
        let mut answer = [0; 4096];
        let answer = self.answer(&mut answer);
        answer.and_then(kind).is_some_and(|kind| HANDS_ON.contains(&kind))
    }

    /// Returns the number of packets in the discipline's queue, or `None` if the interface has no
    /// queue (`noqueue`) or the kernel does not report it.
    pub(super) fn waiting(&mut self) -> Option<u32> {
        let mut answer = [0; 4096];
        self.answer(&mut answer).and_then(queue_length)
    }

    fn answer<'a>(&mut self, answer: &'a mut [u8]) -> Option<&'a [u8]> {
        let requested = self.socket.write(&request(self.ifindex));
        let length = requested.and_then(|_| self.socket.read(answer)).unwrap_or(0);
        answer.get(..length)
    }
}

/// Returns a request for the root discipline of an interface: `nlmsghdr` and `tcmsg`, in native
/// byte order.
fn request(ifindex: u32) -> [u8; REQUEST_BYTES as usize] {
    let kind = libc::RTM_GETQDISC.to_ne_bytes();
    // The kernel sends its answer as a notification, which only reaches senders that request an
    // echo.
    let flags = ((libc::NLM_F_REQUEST | libc::NLM_F_ECHO) as u16).to_ne_bytes();
    let mut request = [0; REQUEST_BYTES as usize];
    request[..4].copy_from_slice(&REQUEST_BYTES.to_ne_bytes());
    request[4..6].copy_from_slice(&kind);
    request[6..8].copy_from_slice(&flags);
    request[20..24].copy_from_slice(&ifindex.to_ne_bytes());
    request[28..32].copy_from_slice(&TC_H_ROOT.to_ne_bytes());
    request
}

/// Returns the attributes in the kernel's answer about a discipline.
fn attributes(answer: &[u8]) -> Option<&[u8]> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    answer.get(MESSAGE + DISCIPLINE..).filter(|_| kind == libc::RTM_NEWQDISC)
}

/// Returns the kind of discipline that the kernel's answer describes.
fn kind(answer: &[u8]) -> Option<&[u8]> {
    let name = attribute(attributes(answer)?, TCA_KIND)?;
    name.split(|byte| *byte == 0).next()
}

/// Returns the first word of `gnet_stats_queue`, which is the length of the queue. Returns `None`
/// if the discipline has no queue or the answer lacks this attribute.
fn queue_length(answer: &[u8]) -> Option<u32> {
    let attributes = attributes(answer)?;
    if kind(answer)? == b"noqueue" {
        return None;
    }
    let statistics = attribute(attributes, TCA_STATS2)?;
    let queue = attribute(statistics, TCA_STATS_QUEUE)?;
    Some(u32::from_ne_bytes(queue.get(..4)?.try_into().ok()?))
}

/// Returns the value of the attribute with the wanted type.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    const TYPE: u16 = 0x3fff;
    loop {
        let length = u16::from_ne_bytes(attributes.get(..2)?.try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(attributes.get(2..4)?.try_into().ok()?) & TYPE;
        let value = attributes.get(ATTRIBUTE..length)?;
        if kind == wanted {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = (ATTRIBUTE + value.len()) as u16;
        let mut all = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        all.extend_from_slice(value);
        all.resize(all.len().next_multiple_of(4), 0);
        all
    }

    #[test]
    fn the_queue_is_found_among_the_statistics() {
        let queue =
            attribute_of(TCA_STATS_QUEUE, &[7_u32, 900, 0, 0, 0].map(u32::to_ne_bytes).concat());
        let statistics = [attribute_of(1, &[0; 12]), queue].concat();
        let attributes =
            [attribute_of(TCA_KIND, b"tbf\0"), attribute_of(0x8000 | TCA_STATS2, &statistics)]
                .concat();
        let mut answer = vec![0; MESSAGE + DISCIPLINE];
        answer[4..6].copy_from_slice(&libc::RTM_NEWQDISC.to_ne_bytes());
        answer.extend(attributes);
        assert_eq!(queue_length(&answer), Some(7));
        assert_eq!(kind(&answer), Some(&b"tbf"[..]));
        // A truncated answer yields no queue length, and no panic.
        for length in 0..answer.len() - 16 {
            assert_eq!(queue_length(&answer[..length]), None, "{length}");
        }
        answer[4..6].copy_from_slice(&(libc::NLMSG_ERROR as u16).to_ne_bytes());
        assert_eq!(queue_length(&answer), None);
    }
}
