//! The best rule is found whatever comes and goes, and the shape and the cost of trees.

use super::*;

/// Rules of a leaf that may well be divided: so many take as long to compare as several steps through the tree.
const LARGE: usize = 8 * LEAF;

/// How deep a tree is, and how many rules its largest leaf has.
fn shape(tree: &TernaryTree, block: Block) -> (usize, usize) {
    match tree.draft(block) {
        Draft::Leaf(rules) => (1, rules.len()),
        Draft::Chain(chain) => {
            let rules = |leaf| tree.rules(tree.arena.words(leaf)).len();
            (1, chain.leaves.into_iter().map(rules).max().unwrap_or(0))
        }
        Draft::Inner(node) => node
            .children()
            .map(|child| shape(tree, child))
            .fold((1, 0), |(depth, leaf), (other, rules)| (depth.max(other + 1), leaf.max(rules))),
    }
}

/// The name of the best rule in a list.
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

/// A rule over two addresses and a port, whose first byte is one of all, so that nodes have many sides.
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
fn the_best_of_rules_that_come_and_go_is_found() {
    let (tree, mut together) = (TernaryTree::new([4, 4, 2].into_iter()), Together::default());
    let (mut writer, domain) = (Writer::default(), Domain::new());
    let mut random = fastrand::Rng::with_seed(0x9e37_79b9_7f4a_7c15);
    let mut known: Vec<Rule> = Vec::new();
    let (steps, distance) = if cfg!(miri) { (80, 20) } else { (4000, 40) };
    let (mut stack, mut hits) = (Vec::new(), 0);
    for step in 0..steps {
        // They become more, and then fewer.
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

/// The worst order for a tree that is never built anew.
#[test]
fn ranges_in_ascending_order_do_not_make_a_list() {
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

/// A range that all those before it lie in, or that lies in all of them: no cut divides them.
fn nested(number: u32, priority: u32) -> Rule {
    let low = number as u16;
    Rule { priority, ..ports(number, low, u16::MAX - low) }
}

/// What it takes to insert n rules that no cut divides: words written and rules looked at, and bytes reserved.
fn cost_of_nested(count: u32) -> (u64, usize) {
    let tree = TernaryTree::new([2].into_iter());
    let (mut writer, domain) = (Writer::default(), Domain::new());
    for number in 0..count {
        assert!(tree.insert(&mut writer, &domain, &nested(number, number % 7)));
    }
    (writer.steps(), tree.bytes())
}

/// Every rule is in one leaf of a tree that nothing divides; written at each insertion, n rules would take the time
/// and the memory of n squared.
#[test]
fn rules_that_no_cut_divides_take_linear_memory_and_nearly_linear_time() {
    let (most, bytes_each) = if cfg!(miri) { (128, 8192) } else { (16_000, 512) };
    let (half, half_bytes) = cost_of_nested(most / 2);
    let (steps, bytes) = cost_of_nested(most);
    assert!(steps * 10 < half * 23, "{half} steps for {}, {steps} for {most}", most / 2);
    assert!(steps < 4000 * u64::from(most), "{steps} steps for {most} rules");
    assert!(bytes < bytes_each * most as usize, "{half_bytes}, then {bytes} bytes");
}

#[test]
fn the_best_of_rules_that_no_cut_divides_is_found() {
    let (tree, mut together) = (TernaryTree::new([2].into_iter()), Together::default());
    let (mut writer, domain) = (Writer::default(), Domain::new());
    let mut random = fastrand::Rng::with_seed(0x51_7cc1_b727_2202);
    let (count, distance) = if cfg!(miri) { (90, 45) } else { (2000, 25) };
    let (mut known, mut stack) = (Vec::new(), Vec::new());
    for step in 0..2 * count {
        if step < count {
            let rule = nested(random.u32(..30_000), random.u32(..20));
            let rule = Rule { number: step, order: step.into(), ..rule };
            assert!(tree.insert(&mut writer, &domain, &rule));
            known.push(rule);
        } else {
            let gone = known.swap_remove(random.usize(..known.len()));
            assert!(tree.remove(&mut writer, &domain, &gone));
        }
        if step % distance > 0 || known.is_empty() {
            continue;
        }
        let keys: Vec<[u64; 2]> = (0..50).map(|_| [random.u64(..) << 48, 0]).collect();
        let mut found = vec![0; keys.len()];
        tree.find_all(OneByOne, tree.now(), keys.as_flattened(), &mut found, &mut together);
        for (key, found) in keys.iter().zip(found) {
            assert_eq!(found, best(&known, key), "{key:x?} of {} rules", known.len());
            assert_eq!(tree.find(OneByOne, tree.now(), key, &mut stack).name, found);
        }
        let (_, leaf) = shape(&tree, tree.now());
        assert!(leaf <= chain::MOST, "{leaf} in a leaf");
    }
    assert!(tree.now().is_none());
}

/// Hundreds of masks: a packet meets few rules, where a search by mask would probe hundreds of tables.
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
