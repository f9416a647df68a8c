//! The scheduler of a port: strict priorities between levels, round robin among the queues of a
//! level.

use crate::config::{QueueConfig, Share};
use crate::units::{Nanos, QueueId};
use std::collections::{BTreeMap, VecDeque};

/// The first packet of a queue, as the scheduler sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) queue: QueueId,
    pub(crate) released: Nanos,
    pub(crate) length: u32,
}

/// The scheduler of a port: its levels, and the queue whose turn it is in each.
#[derive(Debug)]
pub(crate) struct Scheduler {
    /// The queues of each level. The level with the largest number is the most urgent.
    levels: BTreeMap<u8, Rounds>,
}

/// The queues of one level, which take turns in rounds.
#[derive(Debug, Default)]
struct Rounds {
    members: Vec<Member>,
    /// The queues that have a released packet, as positions in `members`, in the order of their
    /// turns. It is the turn of the first one.
    ring: VecDeque<usize>,
    /// Whether the deficit of the first queue in `ring` already includes its share for this turn.
    in_turn: bool,
}

#[derive(Debug)]
struct Member {
    queue: QueueId,
    share: Share,
    /// The number of packets or bytes that the queue may still send in its turn.
    deficit: u64,
    is_in_ring: bool,
}

impl Member {
    fn quantum(&self) -> u64 {
        match self.share {
            Share::Packets(packets) => packets.get().into(),
            Share::Bytes(bytes) => bytes.get().into(),
        }
    }

    fn cost(&self, head: Head) -> u64 {
        match self.share {
            Share::Packets(_) => 1,
            Share::Bytes(_) => head.length.into(),
        }
    }
}

impl Scheduler {
    pub(crate) fn new(queues: &[QueueConfig]) -> Self {
        let mut levels: BTreeMap<u8, Rounds> = BTreeMap::new();
        for (number, config) in (0..).zip(queues) {
            let Some(queue) = QueueId::new(number) else { break };
            let member = Member { queue, share: config.share, deficit: 0, is_in_ring: false };
            levels.entry(config.level).or_default().members.push(member);
        }
        Self { levels }
    }

    /// Chooses the queue whose first packet is sent at `now`. `head` returns the first packet of a
    /// queue. Returns `None` if no queue has a released packet.
    pub(crate) fn choose(
        &mut self,
        now: Nanos,
        head: impl Fn(QueueId) -> Option<Head>,
    ) -> Option<QueueId> {
        let released = |queue| head(queue).filter(|head| head.released <= now);
        self.levels.values_mut().rev().find_map(|rounds| rounds.choose(&released))
    }
}

impl Rounds {
    fn choose(&mut self, head: &impl Fn(QueueId) -> Option<Head>) -> Option<QueueId> {
        if let [only] = self.members.as_slice() {
            return head(only.queue).map(|head| head.queue);
        }
        let heads: Vec<Option<Head>> = self.members.iter().map(|one| head(one.queue)).collect();
        let of = |position: usize| heads.get(position).copied().flatten();
        self.refresh(&of);
        let mut without_service = 0;
        while let Some(first) = self.ring.front().copied() {
            let (member, head) = (self.members.get_mut(first)?, of(first)?);
            if !std::mem::replace(&mut self.in_turn, true) {
                member.deficit = member.deficit.saturating_add(member.quantum());
            }
            let cost = member.cost(head);
            if let Some(rest) = member.deficit.checked_sub(cost) {
                member.deficit = rest;
                return Some(member.queue);
            }
            self.ring.rotate_left(1);
            self.in_turn = false;
            without_service += 1;
            if without_service == self.ring.len() {
                self.skip_rounds(&of);
            }
        }
        None
    }

    /// Updates the ring. Queues that no longer have a released packet are removed from it and lose
    /// their deficits. Queues that have one now are appended, in the order in which their packets
    /// were released.
    fn refresh(&mut self, head: &impl Fn(usize) -> Option<Head>) {
        if self.ring.front().is_some_and(|first| head(*first).is_none()) {
            self.in_turn = false;
        }
        self.ring.retain(|position| head(*position).is_some());
        let mut added: Vec<(Nanos, usize)> = Vec::new();
        for (position, member) in self.members.iter_mut().enumerate() {
            let found = head(position);
            if let (Some(head), false) = (found, member.is_in_ring) {
                added.push((head.released, position));
            }
            member.is_in_ring = found.is_some();
            if found.is_none() {
                member.deficit = 0;
            }
        }
        added.sort_unstable();
        self.ring.extend(added.into_iter().map(|(_, position)| position));
    }

    /// Adds the shares of all rounds in which no queue could send yet, instead of going through
    /// each round.
    fn skip_rounds(&mut self, head: &impl Fn(usize) -> Option<Head>) {
        let missing = |position: &usize| {
            let (member, head) = (self.members.get(*position)?, head(*position)?);
            Some(member.cost(head).saturating_sub(member.deficit).div_ceil(member.quantum()))
        };
        let rounds = self.ring.iter().filter_map(missing).min().unwrap_or(0).saturating_sub(1);
        for position in &self.ring {
            if let Some(member) = self.members.get_mut(*position) {
                member.deficit = member.deficit.saturating_add(rounds * member.quantum());
            }
        }
    }
}
