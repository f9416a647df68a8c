//! Copies of packets: clones, and replicas for multicast groups. Each clone session and multicast
//! group has one member, or does not exist.

use super::{Copied, Executor, Member};
use crate::term::Term;
use ir::Architecture;

/// The width in bits of the numbers of clone sessions and multicast groups.
const NUMBER: u32 = 32;

/// The purpose of a copy of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CopyTo {
    /// The clone session with this number.
    Session(Term),
    /// The multicast group with this number.
    Group(Term),
}

impl Executor<'_> {
    /// Records that packets are copied under the condition `on`. Returns the member of the session
    /// or group, which says where the copies go.
    pub(super) fn copied(&mut self, on: Term, to: CopyTo) -> Member {
        let to = match to {
            CopyTo::Session(number) => CopyTo::Session(self.terms.resize(number, NUMBER)),
            CopyTo::Group(number) => CopyTo::Group(self.terms.resize(number, NUMBER)),
        };
        let (is_group, number) = match to {
            CopyTo::Session(number) => (false, number),
            CopyTo::Group(number) => (true, number),
        };
        let others: Vec<Copied> =
            self.copies.iter().filter(|copied| copied.is_group == is_group).cloned().collect();
        let known = others.iter().find(|other| other.number == number);
        let member = known.map(|known| known.member);
        let member = member.unwrap_or_else(|| self.member_of(to));
        if known.is_none() {
            // Sessions with the same number are one session, and so are groups.
            for other in &others {
                let same = self.terms.equal(number, other.number);
                let equal = member.equal(&mut self.terms, &other.member);
                let function = self.terms.implies(same, equal);
                self.assumptions.push(function);
            }
        }
        self.copies.push(Copied { on, is_group, number, member });
        member
    }

    /// Returns the member of a session or group. In a comparison of programs, the second one gets
    /// the member that the first already has.
    fn member_of(&mut self, to: CopyTo) -> Member {
        let [port_width, instance_width] = self.member_widths;
        let shared = self.configured.members.get(&to).copied();
        let shared = shared.filter(|member| {
            self.is_second && member.widths(&self.terms) == [port_width, instance_width]
        });
        let member = shared.unwrap_or_else(|| {
            let exists = self.chosen(1);
            let port = self.chosen(port_width);
            Member { exists, port, instance: self.chosen(instance_width) }
        });
        match self.program.architecture {
            Architecture::V1model => self.assume_port(member.port),
            Architecture::Psa | Architecture::Pna | Architecture::Other(_) => {
                self.prefer_small(member.port);
            }
        }
        if !self.is_second {
            self.configured.members.insert(to, member);
        }
        member
    }
}
