//! A link between ranks that are threads of one process, for tests.

use std::sync::mpsc::Sender;
use std::time::Duration;

use crate::inbox::Inbox;
use crate::{Event, Group, Link, Rank};

/// Creates one link for each of `size` ranks within this process, in the order of the ranks. Each
/// link can be moved to a thread and become a [`Group`] there. When a link is dropped, the other
/// ranks consider its rank lost.
pub fn in_memory(size: u32) -> Vec<MemoryLink> {
    let (senders, inboxes): (Vec<_>, Vec<_>) = (0..size).map(|_| Inbox::new()).unzip();
    let links = inboxes.into_iter().zip(0..size).map(|(inbox, rank)| MemoryLink {
        rank: Rank(rank),
        inbox,
        others: senders.clone(),
    });
    links.collect()
}

/// The link of one rank, which is a thread, to the others in the same process.
#[derive(Debug)]
pub struct MemoryLink {
    rank: Rank,
    inbox: Inbox,
    others: Vec<Sender<Event>>,
}

impl Link for MemoryLink {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.others.len() as u32
    }

    fn send(&mut self, to: Rank, message: &[u8]) {
        if let Some(other) = self.others.get(to.0 as usize) {
            let _ = other.send(Event::Message { from: self.rank, bytes: message.to_vec() });
        }
    }

    fn receive(&mut self, patience: Duration) -> Option<Event> {
        self.inbox.receive(patience)
    }
}

impl From<MemoryLink> for Group {
    fn from(link: MemoryLink) -> Self {
        Self::new(Box::new(link))
    }
}

impl Drop for MemoryLink {
    fn drop(&mut self) {
        for (other, rank) in self.others.iter().zip(0..) {
            if rank != self.rank.0 {
                let cause = "it ended".to_owned();
                let _ = other.send(Event::Lost { rank: self.rank, cause });
            }
        }
    }
}
