//! Tests that the memory of entries is freed when they are removed: memory on the heap, which an
//! allocator counts here, and memory that tables map themselves.

#![allow(unsafe_code, reason = "an allocator")]

use ir::TableId;
use ir::bits::Bits;
use p4lang::preprocess::{MemoryFiles, Options};
use pipeline::{EntryAction, FieldMatch, Switch, TableEntry};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The system's allocator, with a count of the allocated bytes.
struct Counting;

static GIVEN: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is passed on to the system's allocator, which meets the contract; the counter
// allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        GIVEN.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller guarantees that the layout is not of zero size.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        GIVEN.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller guarantees that this allocator, and so the system's, allocated the
        // block with this layout.
        unsafe { System.dealloc(start, layout) }
    }
}

const PROGRAM: &str = "#include <v1model.p4>
header h_t { bit<32> to; } struct headers { h_t h; } struct meta { }
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; } }
control v(inout headers h, inout meta m) { apply { } }
control i(inout headers h, inout meta m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets) hits;
    action forward(bit<9> port) { s.egress_spec = port; COUNT }
    CONFIG table t { key = { h.h.to: KIND; } actions = { forward; } default_action = forward(3);
        PROPERTY }
    apply { t.apply(); } }
control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers h) { apply { b.emit(h.h); } }
V1Switch(p(), v(), i(), e(), v(), d()) main;";

/// The memory that the entries of one table take.
#[derive(Clone, Copy, Debug)]
struct Taken {
    heap: usize,
    own: usize,
}

struct Table {
    switch: Switch,
    kind: &'static str,
}

impl Table {
    fn new(kind: &'static str, config: &str, counts: bool, compiled: bool) -> Self {
        let text = PROGRAM
            .replace("KIND", kind)
            .replace("CONFIG", config)
            .replace("PROPERTY", if counts { "counters = hits;" } else { "" })
            .replace("COUNT", if counts { "hits.count();" } else { "" });
        let program =
            p4lang::compile_text("memory.p4", &text, &Options::default(), &MemoryFiles::default());
        let mut switch = Switch::new(program.program.expect("it compiles")).expect("it loads");
        if compiled {
            switch.compile().expect("there is code for it");
        }
        Self { switch, kind }
    }

    fn taken(&self) -> Taken {
        let own = self.switch.table_bytes(TableId(0)).expect("the table");
        // Small blocks of the tables' own memory are on the heap too.
        Taken { heap: GIVEN.load(Ordering::Relaxed), own }
    }

    fn matching(&self, number: u32) -> (Vec<FieldMatch>, u32) {
        let bits = |value: u32| Bits::unsigned(32, value.into());
        let value = bits(number << 4);
        let (found, priority) = match self.kind {
            "exact" => (FieldMatch::Exact(value), 0),
            "lpm" => (FieldMatch::Lpm { value, prefix_length: 28 + number % 2 }, 0),
            "ternary" => (FieldMatch::Ternary { value, mask: bits(!15) }, 1),
            _ => (FieldMatch::Range { low: value, high: bits(number << 4 | 15) }, 1),
        };
        (vec![found], priority)
    }

    fn insert(&self, number: u32) {
        let actions = &self.switch.program().actions;
        let forward = actions.iter().position(|action| action.name.ends_with("forward"));
        let forward = ir::ActionId(forward.expect("the action") as u32);
        let call = self.switch.action_call(forward, &[Bits::unsigned(9, 2)]).expect("it fits");
        let (matches, priority) = self.matching(number);
        let action = EntryAction::Action(call);
        let entry = TableEntry { matches, priority, action, idle_timeout: None };
        self.switch.add_entry(TableId(0), entry, Duration::ZERO).expect("there is room");
    }

    fn delete(&self, number: u32) {
        let (matches, priority) = self.matching(number);
        self.switch.delete_entry(TableId(0), &matches, priority).expect("it is there");
    }

    fn port(&mut self, number: u32) -> u32 {
        let packet = (number << 4).to_be_bytes();
        self.switch.process(1, &packet, Duration::ZERO).expect("it runs")[0].port
    }
}

fn check(kind: &'static str, config: &str, counts: bool, compiled: bool) {
    let context = format!("{kind} {config} counts {counts}, compiled {compiled}");
    let entries = if kind == "range" { 4_000 } else { 10_000 };
    let mut table = Table::new(kind, config, counts, compiled);
    // This packet allocates what a worker needs, which is not counted for the table.
    assert_eq!(table.port(1), 3, "{context}");
    for round in 0..2 {
        let empty = table.taken();
        (0..entries).for_each(|number| table.insert(number));
        assert_eq!(table.port(entries - 1), 2, "{context}");
        let full = table.taken();
        // All entries but the first hundred are removed, then these too. Searches use the number of
        // an entry as its position, so the last entry decides how much memory is left.
        let left = 100;
        (left..entries).rev().for_each(|number| table.delete(number));
        let few = table.taken();
        assert_eq!((table.port(0), table.port(entries - 1)), (2, 3), "{context}");
        (0..left).for_each(|number| table.delete(number));
        let none = table.taken();
        assert_eq!((table.port(0), table.port(entries - 1)), (3, 3), "{context}");
        let more = |taken: Taken, of: fn(&Taken) -> usize| of(&taken).saturating_sub(of(&empty));
        let [heap, own]: [fn(&Taken) -> usize; 2] = [|taken| taken.heap, |taken| taken.own];
        let described = format!("{context}, round {round}: {empty:?} {full:?} {few:?} {none:?}");
        assert!(more(full, heap) > 100 * entries as usize, "{described}");
        // Some memory has the same size regardless of the entries.
        assert!(more(none, heap) < more(full, heap) / 100 + (256 << 10), "{described}");
        assert!(more(few, heap) < more(full, heap) / 8, "{described}");
        assert!(more(none, own) < more(full, own) / 20 + (128 << 10), "{described}");
    }
}

#[test]
fn the_memory_of_deleted_entries_is_freed() {
    for compiled in [false, true] {
        for kind in ["exact", "lpm", "ternary", "range"] {
            check(kind, "", false, compiled);
        }
    }
    check("exact", "", true, true);
    for config in [
        "@tableconfig(impl=\"t4p4s\")",
        "@tableconfig(store=\"static\")",
        "@tableconfig(store=\"dynamic\")",
        "@tableconfig(impl=\"sharded\")",
    ] {
        check("exact", config, false, true);
    }
}
