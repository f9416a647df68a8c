//! Finds the entry of highest priority among thousands, each with a mask and ranges of its own, in
//! a tree of cuts. [`Search`](crate::search::Search) uses it.
//!
//! A node divides its entries by a byte of the key or by a number in the key, as decision trees for
//! packet classification do (HyperCuts, Singh et al. 2003; HyperSplit, Qi et al. 2009), but copies
//! no entry. Entries that fit no side, because their mask or range leaves the byte or number open,
//! are in an extra child that each packet also visits (as in PartitionSort and CutSplit, which keep
//! such entries apart as well). Each entry may thus have a mask of its own, and each entry is in
//! exactly one leaf. The entries of a leaf are compared with the key eight at a time. Since this is
//! cheap compared with a step through the tree, a leaf is divided only if that is expected to save
//! time ([`cut`]). Every node knows the highest priority below it, so a packet skips nodes that
//! cannot improve on its best entry so far.
//!
//! Each change copies the nodes on its path ([`Arena`]) and stores one word, which leads to the
//! root. A packet that loads this word sees all entries as they were at one moment. A part of the
//! tree that has grown to twice the size for which it was built, or has shrunk to a quarter of it,
//! is rebuilt. On average, this costs an insertion time proportional to the depth of the tree.

mod cut;
#[allow(unsafe_code, reason = "instructions that not every processor has")]
mod lanes;
mod rule;
mod together;

use crate::arena::{Arena, Block, Root, Writer, half, halves};
use crate::quiescence::Domain;
use crate::sync::{AtomicU64, Ordering};
use cut::{Cut, Rank, Window, choose, halve};
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use lanes::{Eight, Four};
pub(crate) use lanes::{Lanes, OneByOne};
pub(crate) use rule::{FieldRange, Rule};
use rule::{Rules, encode, words_of};
pub(crate) use together::Together;

/// The number of entries that are compared at once. A leaf with no more entries is never divided.
const LEAF: usize = lanes::TOGETHER;

/// The largest number of entries in a leaf. Entries that cannot be divided by a byte or a number of
/// the key are divided by priority until they fit, so that an insertion never writes more entries
/// than this.
const LARGEST_LEAF: usize = 128;

/// Appends a key in words, most significant byte first, followed by a word of zeros.
pub(crate) fn key_words(key: &[u8], words: &mut Vec<u64>) {
    for chunk in key.chunks(8) {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        words.push(u64::from_be_bytes(bytes));
    }
    words.push(0);
}

/// Returns up to 8 bytes of a key as a number: `length` bytes, of which the first has the index
/// `at`.
#[inline(always)]
fn number_at(words: &[u64], at: usize, length: usize) -> u64 {
    let word = |index: usize| words.get(index).copied().unwrap_or(0);
    let shift = 8 * (at % 8) as u32;
    let mut number = word(at / 8) << shift;
    if shift > 0 {
        number |= word(at / 8 + 1) >> (64 - shift);
    }
    number >> (64 - 8 * length as u32)
}

/// The search tree: the part that packets read, and the writer's operations on it.
pub(crate) struct TernaryTree {
    root: AtomicU64,
    arena: Arena,
    /// The number of words of a key, without the word of zeros at the end.
    words: usize,
    key_bytes: usize,
    /// The numbers in a key, each of up to eight bytes, by which the entries of a node may be
    /// divided.
    windows: Vec<Window>,
}

/// A part of the tree that the search for a key still has to visit.
pub(crate) struct Waiting {
    block: Block,
    /// The highest priority of the entries in this part.
    highest: u32,
}

/// The best of the matching entries that a search has found so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Best {
    /// The order number of the entry. Among entries of equal priority, the one with the lowest
    /// order is the best.
    order: u64,
    priority: u32,
    /// The number of the entry plus one, or 0 if none has been found.
    pub(crate) name: u32,
}

impl Best {
    /// The result of a search that has found no entry. Every entry is better than this result.
    const NONE: Self = Self { order: u64::MAX, priority: 0, name: 0 };

    #[inline(always)]
    fn take_better(&mut self, priority: u32, order: u64, number: u32) {
        if priority > self.priority || priority == self.priority && order < self.order {
            *self = Self { order, priority, name: number + 1 };
        }
    }
}

impl TernaryTree {
    /// Creates an empty tree. `fields` holds the number of bytes of each field of a key.
    pub(crate) fn new(fields: impl Iterator<Item = usize>) -> Self {
        let mut windows = Vec::new();
        let mut at = 0;
        for bytes in fields {
            for part in (0..bytes).step_by(8) {
                windows.push(Window { at: at + part, length: (bytes - part).min(8) });
            }
            at += bytes;
        }
        Self {
            root: AtomicU64::new(0),
            arena: Arena::new(),
            words: at.div_ceil(8),
            key_bytes: at,
            windows,
        }
    }

    /// Returns the number of bytes of memory that the tree has reserved.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.bytes()
    }

    /// Returns the number of words of a key, without the word of zeros at the end.
    #[inline(always)]
    pub(crate) fn key_words(&self) -> usize {
        self.words
    }

    fn root(&self) -> Root<'_> {
        Root::new(&self.root)
    }

    /// Returns the current root of the tree, for [`TernaryTree::find`]. The caller must stay pinned
    /// while it uses the root.
    #[inline]
    pub(crate) fn now(&self) -> Block {
        self.root().load().1
    }

    /// Returns the best entry for a key in words. `stack` is scratch memory.
    #[inline(always)]
    pub(crate) fn find(
        &self,
        lanes: impl Lanes,
        tree: Block,
        key: &[u64],
        stack: &mut Vec<Waiting>,
    ) -> Best {
        let mut best = Best::NONE;
        stack.clear();
        let mut next = tree;
        loop {
            let words = if next.is_none() { &[] } else { self.arena.words(next) };
            let head = Head::of(words);
            let (side, open) = match head.kind {
                _ if head.highest < best.priority => (Block::NONE, Block::NONE),
                Kind::Leaf => {
                    self.search_leaf(lanes, words, key, &mut best);
                    (Block::NONE, Block::NONE)
                }
                _ => self.children_for(&head, words, key),
            };
            next = match (side.is_none(), open.is_none()) {
                (false, true) => side,
                (true, false) => open,
                (true, true) => loop {
                    match stack.pop() {
                        Some(waiting) if waiting.highest >= best.priority => {
                            break waiting.block;
                        }
                        Some(_) => {}
                        None => return best,
                    }
                },
                // The part with the higher priority is visited first, so that the other one may be
                // skipped.
                (false, false) => {
                    let (first, second) = (self.highest(side), self.highest(open));
                    let (now, later, highest) =
                        if first >= second { (side, open, second) } else { (open, side, first) };
                    stack.push(Waiting { block: later, highest });
                    now
                }
            };
        }
    }

    /// Replaces `best` by the best matching entry of a leaf, if that is better. The entries of a
    /// leaf are in order, the best first.
    #[inline(always)]
    fn search_leaf(&self, lanes: impl Lanes, words: &[AtomicU64], key: &[u64], best: &mut Best) {
        if let Some(rule) = self.rules(words).first_match(lanes, key) {
            best.take_better(rule.priority(), rule.order(), rule.number());
        }
    }

    /// Returns the two children of a node that a search visits: the child for the key's byte or
    /// number, and the open child, whose rules match several values of the byte or number. If the
    /// node divides its rules by rank, returns both children.
    #[inline(always)]
    fn children_for(&self, head: &Head, words: &[AtomicU64], key: &[u64]) -> (Block, Block) {
        match head.kind {
            Kind::Leaf => (Block::NONE, Block::NONE),
            Kind::Byte => at_byte(head, words, key),
            Kind::Bytes => at_bytes(head, words, key),
            Kind::Number => at_number(head, words, key),
            Kind::Rank => at_rank(words),
        }
    }

    /// Returns the rules in a leaf.
    #[inline(always)]
    fn rules<'a>(&self, words: &'a [AtomicU64]) -> Rules<'a> {
        let size = words.get(1).map_or(0, |word| word.load(Ordering::Relaxed));
        let own = words.get(2..size as u32 as usize).unwrap_or_default();
        Rules::new(own, (size >> 32) as usize, self.words)
    }

    /// Adds a rule to the tree. Returns false, and changes nothing, if memory does not suffice.
    pub(crate) fn insert(&self, writer: &mut Writer, domain: &Domain, rule: &Rule) -> bool {
        let root = self.now();
        let changed = self.with(writer, root, rule);
        self.publish(writer, domain, changed)
    }

    /// Adds rules to an empty tree. Returns false if memory does not suffice.
    pub(crate) fn fill(&self, writer: &mut Writer, domain: &Domain, rules: Vec<Rule>) -> bool {
        let root = self.build(writer, rules);
        self.publish(writer, domain, root)
    }

    /// Removes a rule. Returns false, and changes nothing, if memory does not suffice.
    pub(crate) fn remove(&self, writer: &mut Writer, domain: &Domain, rule: &Rule) -> bool {
        let root = self.now();
        let changed = self.without(writer, root, rule);
        self.publish(writer, domain, changed)
    }

    /// Returns the root of the tree with one rule more or less, which packets do not see until it
    /// is published. Returns `None`, and changes nothing, if memory does not suffice.
    pub(crate) fn prepare(&self, writer: &mut Writer, rule: &Rule, adds: bool) -> Option<Block> {
        let root = self.now();
        let changed = match adds {
            true => self.with(writer, root, rule),
            false => self.without(writer, root, rule),
        };
        if changed.is_none() {
            writer.roll_back();
        }
        changed
    }

    /// Makes a changed tree visible to packets, given its root. If there is no root because memory
    /// did not suffice, frees what was made for the change and returns false.
    pub(crate) fn publish(
        &self,
        writer: &mut Writer,
        domain: &Domain,
        root: Option<Block>,
    ) -> bool {
        match root {
            Some(root) => {
                self.root().store(0, root);
                writer.commit(domain);
                true
            }
            None => {
                writer.roll_back();
                false
            }
        }
    }

    /// Returns the tree below `block` with one additional rule.
    fn with(&self, writer: &mut Writer, block: Block, rule: &Rule) -> Option<Block> {
        let mut node = match self.draft(block) {
            Draft::Leaf(mut rules) => {
                writer.drop_block(block, self.leaf_words(&rules));
                rules.push(rule.clone());
                return self.build(writer, rules);
            }
            Draft::Inner(node) => node,
        };
        if node.count + 1 > 2 * node.built {
            let mut rules = Vec::with_capacity(node.count as usize + 1);
            self.take(writer, block, &mut rules);
            rules.push(rule.clone());
            return self.build(writer, rules);
        }
        let side = node.cut.side(rule);
        let child = self.with(writer, node.child(side), rule)?;
        writer.drop_block(block, node.encode().len());
        node.set_child(side, child);
        node.count += 1;
        node.highest = node.highest.max(rule.priority);
        writer.make(&self.arena, &node.encode())
    }

    /// Returns the tree below `block` without one rule.
    fn without(&self, writer: &mut Writer, block: Block, rule: &Rule) -> Option<Block> {
        let mut node = match self.draft(block) {
            Draft::Leaf(mut rules) => {
                writer.drop_block(block, self.leaf_words(&rules));
                rules.retain(|other| other.number != rule.number);
                return self.leaf(writer, rules);
            }
            Draft::Inner(node) => node,
        };
        if node.count as usize <= LEAF || 4 * node.count < node.built {
            let mut rules = Vec::with_capacity(node.count as usize);
            self.take(writer, block, &mut rules);
            rules.retain(|other| other.number != rule.number);
            return self.build(writer, rules);
        }
        let side = node.cut.side(rule);
        let child = self.without(writer, node.child(side), rule)?;
        writer.drop_block(block, node.encode().len());
        node.set_child(side, child);
        node.count -= 1;
        if rule.priority == node.highest {
            node.highest = node.children().map(|child| self.highest(child)).max().unwrap_or(0);
        }
        writer.make(&self.arena, &node.encode())
    }

    #[inline(always)]
    fn highest(&self, block: Block) -> u32 {
        Head::of(self.arena.words(block)).highest
    }

    /// Removes `block` and all blocks below it from the tree, and adds the rules that they hold to
    /// `rules`.
    fn take(&self, writer: &mut Writer, block: Block, rules: &mut Vec<Rule>) {
        match self.draft(block) {
            Draft::Leaf(own) => {
                writer.drop_block(block, self.leaf_words(&own));
                rules.extend(own);
            }
            Draft::Inner(node) => {
                writer.drop_block(block, node.encode().len());
                node.children().for_each(|child| self.take(writer, child, rules));
            }
        }
    }

    /// Builds a tree of these rules and returns its root. Returns `None` if memory does not
    /// suffice.
    fn build(&self, writer: &mut Writer, rules: Vec<Rule>) -> Option<Block> {
        let cut = (rules.len() > LEAF).then(|| choose(&rules, self.key_bytes, &self.windows));
        let cut = match cut.flatten() {
            Some(cut) => cut,
            None if rules.len() > LARGEST_LEAF => halve(&rules),
            None => return self.leaf(writer, rules),
        };
        let count = rules.len() as u32;
        let highest = rules.iter().map(|rule| rule.priority).max().unwrap_or(0);
        let mut node =
            Inner { cut, count, built: count, highest, sides: Vec::new(), open: Block::NONE };
        let mut sorted: Vec<(Option<u64>, Rule)> =
            rules.into_iter().map(|rule| (cut.side(&rule), rule)).collect();
        sorted.sort_by_key(|(side, _)| *side);
        let mut sorted = sorted.into_iter().peekable();
        while let Some((side, rule)) = sorted.next() {
            let mut group = vec![rule];
            while let Some((_, rule)) = sorted.next_if(|(other, _)| *other == side) {
                group.push(rule);
            }
            let child = self.build(writer, group)?;
            node.set_child(side, child);
        }
        writer.make(&self.arena, &node.encode())
    }

    fn leaf(&self, writer: &mut Writer, mut rules: Vec<Rule>) -> Option<Block> {
        if rules.is_empty() {
            return Some(Block::NONE);
        }
        rules.sort_by_key(Rank::of);
        let mut words = vec![
            Head { kind: Kind::Leaf, at: 0, length: 0, highest: rules[0].priority }.encode(),
            self.leaf_words(&rules) as u64 | (rules.len() as u64) << 32,
        ];
        encode(&rules, self.words, &mut words);
        writer.make(&self.arena, &words)
    }

    fn leaf_words(&self, rules: &[Rule]) -> usize {
        2 + words_of(rules, self.words)
    }

    /// Decodes a block of the tree, so that the writer can change it.
    fn draft(&self, block: Block) -> Draft {
        if block.is_none() {
            return Draft::Leaf(Vec::new());
        }
        let words = self.arena.words(block);
        let word = |at: usize| words.get(at).map_or(0, |word| word.load(Ordering::Relaxed));
        let head = Head::of(words);
        let (count, built) = (word(1) as u32, (word(1) >> 32) as u32);
        let node = |cut, sides, open: usize| {
            let open = Block::from_bits(half(words, open));
            Draft::Inner(Inner { cut, count, built, highest: head.highest, sides, open })
        };
        match head.kind {
            Kind::Leaf => Draft::Leaf(self.rules(words).iter().map(|rule| rule.decode()).collect()),
            Kind::Byte => {
                let values = (0..256_u64)
                    .filter(|value| word(2 + *value as usize / 64) >> (value % 64) & 1 == 1);
                let sides = values
                    .enumerate()
                    .map(|(place, value)| {
                        (value, Block::from_bits(half(words, BYTE_OPEN + 1 + place)))
                    })
                    .collect();
                node(Cut::Byte { at: head.at }, sides, BYTE_OPEN)
            }
            Kind::Bytes => {
                let child = |value| Block::from_bits(half(words, BYTES_OPEN + 1 + value));
                let sides = (0..256).map(|value| (value as u64, child(value)));
                let sides = sides.filter(|(_, child)| !child.is_none()).collect();
                node(Cut::Byte { at: head.at }, sides, BYTES_OPEN)
            }
            Kind::Number => {
                let side = |side: u64| {
                    let block = Block::from_bits(half(words, NUMBER_SIDES + side as usize));
                    (!block.is_none()).then_some((side, block))
                };
                let sides = (0..2).filter_map(side).collect();
                let window = Window { at: head.at, length: head.length };
                node(Cut::Number { window, threshold: word(2) }, sides, NUMBER_OPEN)
            }
            Kind::Rank => {
                let side = |side: u64| {
                    let block = Block::from_bits(half(words, RANK_SIDES + side as usize));
                    (!block.is_none()).then_some((side, block))
                };
                let sides = (0..2).filter_map(side).collect();
                let last = Rank { lowness: word(3) as u32, order: word(2) };
                node(Cut::Rank(last), sides, RANK_OPEN)
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Leaf,
    /// A node that divides its rules by a byte of the key, for which they have few different
    /// values.
    Byte,
    Number,
    /// A node that divides its rules by a byte of the key, for which they have many different
    /// values.
    Bytes,
    /// A node that divides its rules by their rank: their position in the order of priority.
    Rank,
}

/// The first word of a block, which describes a node or a leaf.
struct Head {
    kind: Kind,
    /// The index in the key of the byte by which the node divides its rules, or of the first byte
    /// of the number.
    at: usize,
    length: usize,
    /// The highest priority of the rules below this node.
    highest: u32,
}

impl Head {
    #[inline(always)]
    fn of(words: &[AtomicU64]) -> Self {
        let word = words.first().map_or(0, |word| word.load(Ordering::Relaxed));
        Self {
            kind: match word & 0xff {
                1 => Kind::Byte,
                2 => Kind::Number,
                3 => Kind::Bytes,
                4 => Kind::Rank,
                _ => Kind::Leaf,
            },
            at: (word >> 8) as usize & 0xffff,
            length: (word >> 24) as usize & 0xf,
            highest: (word >> 32) as u32,
        }
    }

    fn encode(&self) -> u64 {
        self.kind as u64
            | (self.at as u64) << 8
            | (self.length as u64) << 24
            | u64::from(self.highest) << 32
    }
}

/// The index, among the 32-bit halves of a node's words, of the open child (for rules that match
/// several values of the byte), in a node that divides by a byte of few values. It follows the
/// head, the counts and four words with a bit for each value. The children of the values come after
/// it.
const BYTE_OPEN: usize = 12;
/// The index, among the 32-bit halves of a node's words, of the open child (for rules that match
/// several values of the byte), in a node that divides by a byte of many values. It follows the
/// head and the counts.
const BYTES_OPEN: usize = 4;
/// The smallest number of children at which a node that divides by a byte has a slot for each of
/// the 256 values. A search of such a node needs no counting of bits, and the node is at most four
/// times as large as one that has slots for its children only.
const MANY: usize = 64;
/// The index, among the 32-bit halves of a node's words, of the first child of a node that divides
/// by a number. It follows the head, the counts and the threshold.
const NUMBER_SIDES: usize = 6;
const NUMBER_OPEN: usize = 8;
/// The index, among the 32-bit halves of a node's words, of the first child of a node that divides
/// by rank. It follows the head, the counts, and two words with the rank of the first child's last
/// rule: its order, and the complement of its priority. The open child of such a node is always
/// empty.
const RANK_SIDES: usize = 8;
const RANK_OPEN: usize = 10;

/// Returns the child for a key's byte, and the child for rules that match several values of the
/// byte, in a node that divides by a byte of few values.
#[inline(always)]
fn at_byte(head: &Head, words: &[AtomicU64], key: &[u64]) -> (Block, Block) {
    let byte = number_at(key, head.at, 1) as usize;
    (byte_child(words, byte), Block::from_bits(half(words, BYTE_OPEN)))
}

/// Returns the child for a key's byte, and the child for rules that match several values of the
/// byte, in a node that divides by a byte of many values.
#[inline(always)]
fn at_bytes(head: &Head, words: &[AtomicU64], key: &[u64]) -> (Block, Block) {
    let byte = number_at(key, head.at, 1) as usize;
    let child = |at| Block::from_bits(half(words, at));
    (child(BYTES_OPEN + 1 + byte), child(BYTES_OPEN))
}

/// Returns the child for a key's number, and the child for rules that match numbers on both sides
/// of the threshold.
#[inline(always)]
fn at_number(head: &Head, words: &[AtomicU64], key: &[u64]) -> (Block, Block) {
    let threshold = words.get(2).map_or(0, |word| word.load(Ordering::Relaxed));
    let side = usize::from(number_at(key, head.at, head.length) >= threshold);
    let child = Block::from_bits(half(words, NUMBER_SIDES + side));
    (child, Block::from_bits(half(words, NUMBER_OPEN)))
}

/// Returns both children of a node that divides by rank.
#[inline(always)]
fn at_rank(words: &[AtomicU64]) -> (Block, Block) {
    let side = |side| Block::from_bits(half(words, RANK_SIDES + side));
    (side(0), side(1))
}

#[inline(always)]
fn byte_child(words: &[AtomicU64], byte: usize) -> Block {
    let Some(values) = words.get(2..BYTE_OPEN / 2) else { return Block::NONE };
    let (word, bit) = (byte / 64, byte % 64);
    // Counts all ones in the words before the byte's word, and the ones below the byte's bit in its
    // own word. The loop has no branch on the byte, because a branch predictor could not predict
    // its value.
    let mut before = 0;
    let mut is_there = false;
    for (at, values) in values.iter().enumerate() {
        let values = values.load(Ordering::Relaxed);
        let below = if at == word { (1 << bit) - 1 } else { u64::from(at > word).wrapping_sub(1) };
        before += (values & below).count_ones();
        is_there |= at == word && values >> bit & 1 == 1;
    }
    if !is_there {
        return Block::NONE;
    }
    Block::from_bits(half(words, BYTE_OPEN + 1 + before as usize))
}

enum Draft {
    Leaf(Vec<Rule>),
    Inner(Inner),
}

/// A node as the writer changes it.
struct Inner {
    cut: Cut,
    /// The number of rules below this node.
    count: u32,
    /// The number of rules that were below this node when it was built.
    built: u32,
    highest: u32,
    /// The children, each with its side of the cut, sorted by side.
    sides: Vec<(u64, Block)>,
    /// The child for the rules that match keys on several sides of the cut.
    open: Block,
}

impl Inner {
    fn child(&self, side: Option<u64>) -> Block {
        match side {
            None => self.open,
            Some(side) => self
                .sides
                .binary_search_by_key(&side, |(side, _)| *side)
                .map_or(Block::NONE, |place| self.sides[place].1),
        }
    }

    fn set_child(&mut self, side: Option<u64>, child: Block) {
        let Some(side) = side else {
            self.open = child;
            return;
        };
        match self.sides.binary_search_by_key(&side, |(side, _)| *side) {
            Ok(place) if child.is_none() => _ = self.sides.remove(place),
            Ok(place) => self.sides[place].1 = child,
            Err(_) if child.is_none() => {}
            Err(place) => self.sides.insert(place, (side, child)),
        }
    }

    fn children(&self) -> impl Iterator<Item = Block> {
        let sides = self.sides.iter().map(|(_, child)| *child);
        sides.chain([self.open]).filter(|child| !child.is_none())
    }

    fn encode(&self) -> Vec<u64> {
        let counts = u64::from(self.count) | u64::from(self.built) << 32;
        match self.cut {
            Cut::Byte { at } if self.sides.len() >= MANY => {
                let head = Head { kind: Kind::Bytes, at, length: 1, highest: self.highest };
                let mut children = [0; 257];
                children[0] = self.open.bits();
                for (side, child) in &self.sides {
                    children[1 + *side as usize] = child.bits();
                }
                let mut words = vec![head.encode(), counts];
                words.extend(halves(children.into_iter()));
                words
            }
            Cut::Byte { at } => {
                let head = Head { kind: Kind::Byte, at, length: 1, highest: self.highest };
                let mut values = [0_u64; 4];
                for (side, _) in &self.sides {
                    values[*side as usize / 64] |= 1 << (side % 64);
                }
                let mut words = vec![head.encode(), counts];
                words.extend(values);
                let sides = self.sides.iter().map(|(_, child)| child.bits());
                words.extend(halves(std::iter::once(self.open.bits()).chain(sides)));
                words
            }
            Cut::Number { window, threshold } => {
                let Window { at, length } = window;
                let head = Head { kind: Kind::Number, at, length, highest: self.highest };
                let side = |side| self.child(Some(side)).bits();
                let children = [side(0), side(1), self.open.bits()];
                let mut words = vec![head.encode(), counts, threshold];
                words.extend(halves(children.into_iter()));
                words
            }
            Cut::Rank(last) => {
                let head = Head { kind: Kind::Rank, at: 0, length: 0, highest: self.highest };
                let side = |side| self.child(Some(side)).bits();
                let mut words = vec![head.encode(), counts, last.order, last.lowness.into()];
                words.extend(halves([side(0), side(1), 0].into_iter()));
                words
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The number of rules of a leaf that a cut should divide: comparing this many takes as long as
    /// several steps through the tree.
    const LARGE: usize = 8 * LEAF;

    /// Returns the depth of a tree and the number of rules in its largest leaf.
    fn shape(tree: &TernaryTree, block: Block) -> (usize, usize) {
        match tree.draft(block) {
            Draft::Leaf(rules) => (1, rules.len()),
            Draft::Inner(node) => node
                .children()
                .map(|child| shape(tree, child))
                .fold((1, 0), |(depth, leaf), (other, rules)| {
                    (depth.max(other + 1), leaf.max(rules))
                }),
        }
    }

    /// Returns the name of the best rule in a list.
    fn best(rules: &[Rule], key: &[u64]) -> u32 {
        let matches = |rule: &&Rule| {
            let words = rule.mask.iter().zip(&rule.value).zip(key);
            let mut words = words.map(|((mask, value), word)| word & mask == *value);
            let mut ranges = rule.ranges.iter().map(|range| {
                let number = number_at(key, range.at, range.bytes);
                (range.low[0]..=range.high[0]).contains(&number)
            });
            words.all(|fits| fits) && ranges.all(|fits| fits)
        };
        let found = rules.iter().filter(matches).max_by_key(|rule| (rule.priority, !rule.order));
        found.map_or(0, |rule| rule.number + 1)
    }

    /// Returns a rule over two addresses and a port. Many first bytes occur, so that nodes have
    /// many sides.
    fn addresses(number: u32, random: &mut fastrand::Rng) -> Rule {
        let mut prefix = || match random.u32(..8) {
            0 => 0,
            1..4 => u64::from(u32::MAX),
            _ => u64::from(u32::MAX << random.u32(..=24)),
        };
        let mask = prefix() << 32 | prefix();
        let low = random.u16(..0xf000);
        let high = low + random.u16(..0xfff);
        let has_range = random.bool();
        let range = FieldRange::new(8, &low.to_be_bytes(), &high.to_be_bytes());
        let port = if has_range { 0 } else { 0xffff_u64 << 48 };
        let first = u64::from(random.u8(..)) << 56 | u64::from(random.u8(..4)) << 48;
        let second = u64::from(random.u8(..16)) << 24 | random.u64(..4);
        Rule {
            number,
            priority: random.u32(..20),
            order: number.into(),
            mask: vec![mask, port],
            value: vec![(first | second) & mask, u64::from(low) << 48 & port],
            ranges: if has_range { vec![range] } else { Vec::new() },
        }
    }

    #[test]
    fn the_best_rule_is_found_while_rules_are_added_and_removed() {
        let (tree, mut together) = (TernaryTree::new([4, 4, 2].into_iter()), Together::default());
        let (mut writer, domain) = (Writer::default(), Domain::new());
        let mut random = fastrand::Rng::with_seed(0x9e37_79b9_7f4a_7c15);
        let mut known: Vec<Rule> = Vec::new();
        let (steps, distance) = if cfg!(miri) { (80, 20) } else { (4000, 40) };
        let (mut stack, mut hits) = (Vec::new(), 0);
        for step in 0..steps {
            // The number of rules first grows and then shrinks.
            let comes = random.u32(..steps) > step;
            if comes || known.is_empty() {
                known.push(addresses(step, &mut random));
                assert!(tree.insert(&mut writer, &domain, &known[known.len() - 1]));
            } else {
                let gone = known.swap_remove(random.usize(..known.len()));
                assert!(tree.remove(&mut writer, &domain, &gone));
            }
            if step % distance > 0 || known.is_empty() {
                continue;
            }
            let mut key = || {
                let near = &known[random.usize(..known.len())];
                let word = |at: usize, any: u64| near.value[at] | any & !near.mask[at];
                let port = near.ranges.first().map_or(word(1, 0), |range| range.low[0] << 48);
                [word(0, random.u64(..)), port, 0]
            };
            let keys: Vec<[u64; 3]> = (0..70).map(|_| key()).collect();
            let mut found = vec![0; keys.len()];
            let now = tree.now();
            tree.find_all(OneByOne, now, keys.as_flattened(), &mut found, &mut together);
            for (key, found) in keys.iter().zip(found) {
                let expected = best(&known, key);
                assert_eq!(found, expected, "{key:x?} of {} rules", known.len());
                assert_eq!(tree.find(OneByOne, now, key, &mut stack).name, expected);
                hits += usize::from(expected > 0);
            }
        }
        assert!(hits > 1000 || cfg!(miri), "{hits} hits");
    }

    fn ports(number: u32, low: u16, high: u16) -> Rule {
        let range = FieldRange::new(0, &low.to_be_bytes(), &high.to_be_bytes());
        let order = number.into();
        Rule { number, priority: 1, order, mask: vec![0], value: vec![0], ranges: vec![range] }
    }

    /// Inserts entries in the order that would be the worst for a tree that is never rebuilt.
    #[test]
    fn ranges_in_ascending_order_do_not_degenerate_the_tree() {
        let count = if cfg!(miri) { 100 } else { 4000 };
        let tree = TernaryTree::new([2].into_iter());
        let (mut writer, domain) = (Writer::default(), Domain::new());
        let rules: Vec<Rule> =
            (0..count).map(|at| ports(at, 16 * at as u16, 16 * at as u16 + 20)).collect();
        for rule in &rules {
            assert!(tree.insert(&mut writer, &domain, rule));
        }
        let (depth, leaf) = shape(&tree, tree.now());
        assert!(depth <= 20 && leaf <= LARGE, "{depth} deep, {leaf} in a leaf");
        for rule in &rules[8..] {
            assert!(tree.remove(&mut writer, &domain, rule));
        }
        assert_eq!(shape(&tree, tree.now()), (1, 8), "what shrinks becomes a leaf again");
    }

    /// Inserts nested ranges, which no cut can divide: at every byte and every threshold, they have
    /// values on both sides.
    #[test]
    fn entries_that_no_cut_divides_take_memory_and_writes_in_proportion() {
        let count: u32 = if cfg!(miri) { 300 } else { 2500 };
        let mut random = fastrand::Rng::with_seed(0x51_7cc1_b727_220a);
        let mut shuffled: Vec<u32> = (1..=count).collect();
        random.shuffle(&mut shuffled);
        let priorities = [
            ("ascending", (1..=count).collect()),
            ("descending", (1..=count).rev().collect()),
            ("shuffled", shuffled),
            ("equal", vec![7; count as usize]),
        ];
        for (name, priorities) in priorities {
            let tree = TernaryTree::new([2].into_iter());
            let (mut writer, domain) = (Writer::default(), Domain::new());
            let nested = |number: u32| {
                let (low, high) = (number as u16, u16::MAX - number as u16);
                Rule { priority: priorities[number as usize], ..ports(number, low, high) }
            };
            let mut known: Vec<Rule> = (0..count).map(nested).collect();
            for rule in &known {
                assert!(tree.insert(&mut writer, &domain, rule));
            }
            let (depth, leaf) = shape(&tree, tree.now());
            assert!(depth <= 16 && leaf <= LARGEST_LEAF, "{name}: {depth} deep, {leaf} in a leaf");
            let (bytes, written) = (tree.bytes(), writer.written / u64::from(count));
            println!("{name}: {bytes} bytes, {written} words written an insertion");
            // A rule takes 8 words of a leaf. A new segment of the arena doubles its memory.
            assert!(bytes <= 2 << 20, "{name}: {bytes} bytes");
            assert!(written <= 8 * 3 * LARGEST_LEAF as u64, "{name}: {written} words an insertion");
            let check = |known: &[Rule]| {
                let mut stack = Vec::new();
                for port in (0..=u16::MAX).step_by(1009) {
                    let key = [u64::from(port) << 48, 0];
                    let found = tree.find(OneByOne, tree.now(), &key, &mut stack).name;
                    assert_eq!(found, best(known, &key), "{name}: port {port}");
                }
            };
            check(&known);
            // Removing and inserting rules repeatedly must not increase the memory either.
            writer.written = 0;
            for round in 0..count / 4 {
                let place = random.usize(..known.len());
                let rule = known.swap_remove(place);
                assert!(tree.remove(&mut writer, &domain, &rule));
                assert!(tree.insert(&mut writer, &domain, &rule), "round {round}");
                known.push(rule);
            }
            let (again, written) = (tree.bytes(), writer.written / u64::from(count / 4));
            assert!(again <= 2 * bytes, "{name}: {again} bytes after {bytes}");
            assert!(written <= 8 * 6 * LARGEST_LEAF as u64, "{name}: {written} words a change");
            known.sort_by_key(|rule| rule.number);
            for rule in known.drain(8..) {
                assert!(tree.remove(&mut writer, &domain, &rule));
            }
            assert_eq!(shape(&tree, tree.now()), (1, 8), "{name}");
            check(&known);
        }
    }

    /// Inserts hundreds of masks: a packet meets few rules, while a search by mask would probe
    /// hundreds of tables.
    #[test]
    fn hundreds_of_masks_are_divided() {
        let tree = TernaryTree::new([4, 4].into_iter());
        let (mut writer, domain) = (Writer::default(), Domain::new());
        let mut random = fastrand::Rng::with_seed(0x2545_f491_4f6c_dd1d);
        let prefix = |length: u64| (u64::MAX << 32 << (32 - length)) >> 32 & 0xffff_ffff;
        let mut masks = std::collections::HashSet::new();
        let count: u32 = if cfg!(miri) { 50 } else { 2000 };
        for number in 0..count {
            let mask = prefix(random.u64(8..=32)) << 32 | prefix(random.u64(8..=32));
            masks.insert(mask);
            let rule = Rule {
                number,
                priority: 1 + number,
                order: number.into(),
                mask: vec![mask],
                value: vec![random.u64(..) & mask],
                ranges: Vec::new(),
            };
            assert!(tree.insert(&mut writer, &domain, &rule));
        }
        let (depth, leaf) = shape(&tree, tree.now());
        assert!(masks.len() > 300 || cfg!(miri), "{} masks", masks.len());
        assert!(depth <= 10 && leaf <= LARGE, "{depth} deep, {leaf} in a leaf");
    }
}
