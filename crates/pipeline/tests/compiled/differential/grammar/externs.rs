//! Instances and calls of the externs that PSA and PNA have in common.

use super::{Architecture, Grammar, Stage};

/// The ternary keys of tables that machine code stores in packed tables.
const SIMPLE_TERNARY: [&str; 5] = [
    "h.a.q: ternary; h.a.c: range;",
    "h.a.c: ternary;",
    "h.a.d: ternary; h.a.l: exact;",
    // Keys of more than 128 bits.
    "h.w.a: ternary; h.w.b: ternary; h.a.c: range; h.w.y: optional;",
    "h.w.a[127:40]: ternary; h.w.z: ternary; h.a.l: exact;",
];

/// An action with more than 32 bytes of data.
pub(super) const LARGE: &str =
    "action many(bit<9> to, bit<128> a, bit<64> q, bit<96> b, bit<16> c) {
        h.w.a = a; h.a.q = q ^ (bit<64>) to; h.w.b = b; h.a.c = c; }";

/// The parts of a call.
struct Parts {
    index: String,
    value: String,
    data: String,
    low: u32,
    high: u32,
}

impl Grammar<'_, '_> {
    /// Returns the instances that [`Self::shared_call`] calls.
    pub(super) fn shared_instances(&mut self) -> String {
        let of = match self.architecture {
            Architecture::Pna => "PNA",
            Architecture::Psa | Architecture::V1model => "PSA",
        };
        let mut counts = || {
            let kind = self.one_of(&["PACKETS", "BYTES", "PACKETS_AND_BYTES"]);
            format!("{of}_CounterType_t.{kind}")
        };
        let [arrays, hits] = [counts(), counts()];
        let mut meters = || format!("{of}_MeterType_t.{}", self.one_of(&["PACKETS", "BYTES"]));
        let [metered, rated] = [meters(), meters()];
        let all = [
            "CRC16",
            "CRC32",
            "IDENTITY",
            "CRC32_CUSTOM",
            "CRC16_CUSTOM",
            "ONES_COMPLEMENT16",
            "TARGET_DEFAULT",
        ];
        let with_toeplitz = [&all[..], &["TOEPLITZ"]].concat();
        let has_toeplitz = self.is_old && self.architecture == Architecture::Pna;
        let algorithm = |grammar: &mut Self| {
            let of_all = if has_toeplitz { &with_toeplitz[..] } else { &all[..] };
            format!("{of}_HashAlgorithm_t.{}", grammar.one_of(of_all))
        };
        let [one, other, ones, chosen] =
            [algorithm(self), algorithm(self), algorithm(self), algorithm(self)];
        format!(
            "Register<bit<32>, bit<32>>(4) small; Register<bit<80>, bit<32>>(4) large; Register<bit<16>, bit<8>>(4, 7) started;
    Counter<bit<64>, bit<32>>(4, {arrays}) counted; Meter<bit<32>>(4, {metered}) metered;
    DirectCounter<bit<64>>({hits}) hits; DirectMeter({rated}) rated;
    Hash<bit<16>>({one}) crc16; Hash<bit<32>>({other}) crc32; Checksum<bit<16>>({ones}) ones; InternetChecksum() sum;
    Random<bit<32>>(2, 19) drawn; ActionSelector({chosen}, 16, 10) chosen; ActionProfile(16) profiled; Inner() inner;"
        )
    }

    fn parts(&mut self) -> Parts {
        let data: &[&str] = match self.is_simple {
            true => &[
                "{ h.a.d, h.a.q }",
                "{ h.a.v, h.a.l, h.a.s, h.a.c }",
                "{ m.k, h.a.d }",
                // These headers may be invalid.
                "h.kept",
                "{ h.a.q, h.w }",
                "{ h.a.d, h.kept }",
            ],
            false => &[
                "h.kept",
                "{ h.a.d, h.s[1], h.w }",
                "{ h.a.d, h.kept }",
                "{ h.u, h.s, h.a.c }",
                "{ h.a.d, h.w.a }",
                "{ h.a.v, h.a.l, h.a.s, h.a.c, m.n.i, h.a.v, h.a.l }",
                "{ h.w.z, h.s[0].t }",
                "{ m.v, h.a.d }",
            ],
        };
        Parts {
            index: format!("(bit<32>) {}", self.leaf(3)),
            value: self.expression(32, 1),
            data: self.one_of(data),
            low: self.below(5),
            high: 1 + self.below(20),
        }
    }

    /// Returns a call of an extern that PSA and PNA have in common.
    pub(super) fn shared_call(&mut self, stage: Stage) -> String {
        let of = match self.architecture {
            Architecture::Pna => "PNA",
            Architecture::Psa | Architecture::V1model => "PSA",
        };
        let Parts { index, value, data, low, high } = self.parts();
        let color = self.one_of(&["RED", "GREEN", "YELLOW"]);
        let before = self.one_of(&["RED", "GREEN", "YELLOW"]);
        let color = format!("{of}_MeterColor_t.{color}");
        let before = format!("{of}_MeterColor_t.{before}");
        let kinds = if self.has_lengths { 24 } else { 21 };
        match self.below(kinds) {
            0 => format!("m.k = small.read({index}); small.write({index}, {value});"),
            1 if !self.is_simple => {
                format!("m.v = large.read({index}); large.write({index}, m.v + (bit<80>) h.a.c);")
            }
            2 => format!("counted.count({index});"),
            3 => format!("if (metered.execute({index}) == {color}) {{ m.color = 1; }}"),
            4 => format!("if (metered.execute({index}, {before}) == {color}) {{ m.color = 2; }}"),
            5 => format!("h.a.c = crc16.get_hash({data});"),
            6 => format!("m.k = crc32.get_hash(32w{low}, {data}, 32w{high});"),
            7 if !self.is_simple => {
                format!("ones.clear(); ones.update({data}); h.a.c = ones.get();")
            }
            8 if !self.is_simple => format!("ones.update({data}); m.csum = ones.get();"),
            // Packets show the sums of headers that are invalid and whose fields are not zero.
            9 => "if (h.a.l[0:0] == 1) { h.kept = h.a; h.kept.setInvalid(); } sum.clear();
        sum.add({ h.a.d, h.kept }); sum.subtract({ h.a.c }); h.a.c = sum.get();"
                .to_owned(),
            10 => {
                "sum.add({ h.a.d, m.csum }); sum.add({ h.a.v, h.a.l, h.w.p }); h.a.c = sum.get();"
                    .to_owned()
            }
            11 => "sum.set_state(h.a.c); sum.subtract(h.kept); h.a.c = sum.get_state();".to_owned(),
            12 if !self.is_simple => "m.k = drawn.read();".to_owned(),
            13 => "h.a.c = started.read((bit<8>) h.a.l); started.write((bit<8>) h.a.v, h.a.c + 1);"
                .to_owned(),
            14 if !self.is_simple => "inner.apply(h.s[1], m.w, m.color);".to_owned(),
            15 | 16 if stage != Stage::Pre => self.apply(),
            17 => self.one_of(&["exit;", "if (m.color == 1) { return; }"]),
            18..21 => self.converted(of),
            21 => format!("counted.count({index}, (bit<32>) h.a.c);"),
            22 => format!(
                "if (metered.dpdk_execute({index}, (bit<32>) h.a.l) == {color}) {{ m.color = 3; }}"
            ),
            23 => format!(
                "if (metered.dpdk_execute({index}, {before}, (bit<32>) h.a.l) == {color}) {{ m.color = 4; }}"
            ),
            _ => format!("counted.count({index});"),
        }
    }

    /// Returns a statement that applies a table.
    pub(super) fn apply(&mut self) -> String {
        let kinds = match (self.is_fixed, self.is_simple) {
            (true, _) => 2,
            (false, true) => 4,
            (false, false) => 6,
        };
        match self.below(kinds) {
            0 => "if (exact_.apply().hit) { h.a.l = 1; }".to_owned(),
            1 => "switch (wide_.apply().action_run) { port: { m.color = 1; } change: { h.w.x = 3; } default: { } }".to_owned(),
            2 => "if (ternary_.apply().miss) { m.k = 5; }".to_owned(),
            3 => "profiled_.apply();".to_owned(),
            4 => "spread_.apply();".to_owned(),
            _ => "if (timed_.apply().hit) { h.a.l = 2; }".to_owned(),
        }
    }

    /// Returns exact keys.
    pub(super) fn exact_keys(&mut self) -> String {
        if self.is_fixed {
            return self.one_of(&["h.a.v: exact;", "h.a.l: exact; h.a.c: exact;", "h.a.d: exact;"]);
        }
        self.one_of(&[
            "h.a.v: exact; h.a.isValid(): exact;",
            "h.a.v: exact;",
            "h.a.l: exact; h.a.c: exact;",
            "m.k: exact; h.a.l: exact;",
        ])
    }

    /// Returns the keys of the table with wide keys, of which some have more than 128 bits.
    pub(super) fn wide_keys(&mut self) -> String {
        if self.is_fixed {
            // Keys of more than 128 bits are not prefetched.
            return self.one_of(&[
                "h.a.d: lpm;",
                "h.a.q: lpm;",
                "h.w.a: lpm; h.a.l: exact;",
                "h.w.a: exact; h.w.b: exact;",
            ]);
        }
        self.one_of(&[
            if self.is_simple { "h.a.d: lpm;" } else { "h.w.a: lpm;" },
            "h.w.a: lpm; h.a.l: exact;",
            "h.a.l: exact; h.w.a: exact; h.w.b: exact;",
            "m.w: exact; h.a.v: exact;",
            "m.w: lpm; h.w.y: exact;",
        ])
    }

    /// Returns the keys of the table with ternary keys. `others` are those of programs that may
    /// leave the table to the interpreter.
    pub(super) fn ternary_keys(&mut self, others: &str) -> String {
        if self.is_simple || self.below(2) == 0 {
            return self.one_of(&SIMPLE_TERNARY);
        }
        others.to_owned()
    }

    /// Returns statements that convert numbers between the types for headers and those of the
    /// architecture.
    fn converted(&mut self, of: &str) -> String {
        let mut kinds = vec![
            ("PortId", "32"),
            ("MulticastGroup", "32"),
            ("ClassOfService", "8"),
            ("PacketLength", "16"),
            ("Timestamp", "64"),
        ];
        match of {
            "PSA" => kinds.extend([("CloneSessionId", "16"), ("EgressInstance", "16")]),
            _ => {
                kinds.extend([
                    ("InterfaceId", "32"),
                    ("MirrorSessionId", "16"),
                    ("MulticastInstance", "16"),
                    ("FlowId", "32"),
                    ("ExpireTimeProfileId", "8"),
                ]);
                if self.is_old {
                    kinds.push(("PassNumber", "8"));
                }
            }
        }
        let position = self.below(kinds.len() as u32) as usize;
        let lower = of.to_lowercase();
        // Each call converts four kinds, so that a few programs together convert all kinds.
        let some = (position..position + 4).map(|position| {
            let (kind, width) = kinds.get(position % kinds.len()).copied().unwrap_or(("PortId", "32"));
            let value = self.leaf(width.parse().unwrap_or(32));
            format!(
                "h.a.q = (bit<64>) ({kind}InHeaderUint_t) {lower}_{kind}_int_to_header({lower}_{kind}_header_to_int(({kind}InHeader_t) ({kind}InHeaderUint_t) {value}));"
            )
        });
        some.collect::<Vec<_>>().join(" ")
    }

    /// Returns the tables of PSA and PNA. `to` sends to a port; `more` are further actions and
    /// their names in a list.
    pub(super) fn shared_tables(&mut self, to: &str, drop: &str, more: [&str; 2]) -> String {
        let of = match self.architecture {
            Architecture::Pna => "pna",
            Architecture::Psa | Architecture::V1model => "psa",
        };
        let upper = of.to_uppercase();
        let [actions, names] = more;
        let idle = self.one_of(match of {
            "pna" => &["NO_TIMEOUT", "NOTIFY_CONTROL", "AUTO_DELETE"][..],
            _ => &["NO_TIMEOUT", "NOTIFY_CONTROL"],
        });
        let color = self.one_of(&["", "PSA_MeterColor_t.YELLOW"]).replace("PSA", &upper);
        let wide = if self.is_simple { "bit<64> w" } else { "bit<128> w" };
        let [xors, ternary_keys, spread_keys] = match self.is_simple {
            true => ["h.a.q = h.a.q ^ w;", "", "h.a.d: selector;"],
            false => [
                "h.w.a = h.w.a ^ w;",
                "h.w.z: ternary; h.a.s: range; h.u.a.a: optional;",
                "h.a.d: selector; h.w.b: selector;",
            ],
        };
        let change = match self.is_simple {
            true => "inout bit<7> y",
            false => "inout bit<65> y",
        };
        let changed = if self.is_simple { "h.w.x" } else { "h.w.y" };
        let default = self.one_of(&["port(1, 5)", "drop()", "NoAction()", "note(7)"]);
        let exact_keys = self.exact_keys();
        let wide_key = self.wide_keys();
        let ternary_keys = self.ternary_keys(ternary_keys);
        let large = self.one_of(&["", "many;"]);
        let count =
            if self.has_lengths { self.one_of(&["", "(bit<32>) h.a.c"]) } else { String::new() };
        let execute = match self.has_lengths && self.below(2) == 0 {
            true if color.is_empty() => "rated.dpdk_execute((bit<32>) h.a.l)".to_owned(),
            true => format!("rated.dpdk_execute({color}, (bit<32>) h.a.l)"),
            false => format!("rated.execute({color})"),
        };
        format!(
            "
    action port(bit<9> to, {wide}) {{ {to} {xors} }}
    action note(bit<16> c) {{ h.a.c = c; }}
    action rate(bit<16> c) {{ h.a.c = c; if ({execute} == {upper}_MeterColor_t.RED) {{ m.color = 1; }} }}
    action counts(bit<16> to) {{ hits.count({count}); m.y = (int<16>) to; }}
    action change({change}, bit<4> l) {{ h.a.l = l; y = ~y; if (l == 2) {{ exit; }} }}
    action drop() {{ {drop} }}
    {LARGE}
    {actions}
    table exact_ {{ key = {{ {exact_keys} }} actions = {{ port; note; counts; drop; {names} {large} NoAction; }}
        default_action = {default}; {of}_direct_counter = hits; }}
    table wide_ {{ key = {{ {wide_key} }} actions = {{ port; change({changed}); {large} NoAction; }} default_action = NoAction(); }}
    table ternary_ {{ key = {{ {ternary_keys} }} actions = {{ rate; drop; NoAction; }}
        default_action = NoAction(); {of}_direct_meter = rated; }}
    table spread_ {{ key = {{ h.a.l: exact; {spread_keys} }} actions = {{ port; note; }} {of}_implementation = chosen; }}
    table profiled_ {{ key = {{ h.a.l: exact; }} actions = {{ port; note; }} {of}_implementation = profiled; }}
    table timed_ {{ key = {{ h.a.v: exact; }} actions = {{ port; note; NoAction; }} default_action = NoAction();
        {of}_idle_timeout = {upper}_IdleTimeout_t.{idle}; }}
"
        )
    }
}
