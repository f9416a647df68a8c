//! Calls of externs that programs of PSA and PNA have alike.

use super::Grammar;

/// What a call is made from.
pub(super) struct ExternCall {
    pub(super) index: String,
    pub(super) value: String,
    pub(super) data: String,
    pub(super) low: u32,
    pub(super) high: u32,
}

impl Grammar<'_, '_> {
    pub(super) fn parts_of_call(&mut self) -> ExternCall {
        ExternCall {
            index: format!("(bit<32>) {}", self.leaf(3)),
            value: self.expression(32, 1),
            data: self.one_of(&[
                "{ h.a.d, h.w.a }",
                "{ h.a.v, h.a.l, h.a.s, h.a.c, m.n.i, h.a.v, h.a.l }",
                "{ h.w.z, h.s[0].t }",
                "{ m.v, h.a.d }",
            ]),
            low: self.below(5),
            high: 1 + self.below(20),
        }
    }
}

impl ExternCall {
    /// One of nine; the architecture's name is the beginning of those of its types.
    pub(super) fn text(&self, kind: u32, architecture: &str) -> String {
        let Self { index, value, data, low, high } = self;
        match kind {
            0 => format!("m.k = small.read({index}); small.write({index}, {value});"),
            1 => format!("m.v = large.read({index}); large.write({index}, m.v + (bit<80>) h.a.c);"),
            2 => format!("counted.count({index});"),
            3 => format!("if (metered.execute({index}) == {architecture}_MeterColor_t.GREEN) {{ m.color = 1; }}"),
            4 => format!("m.csum = crc16.get_hash({data});"),
            5 => format!("m.k = crc32.get_hash(32w{low}, {data}, 32w{high});"),
            6 => format!("ones.clear(); ones.update({data}); h.a.c = ones.get();"),
            7 => "sum.clear(); sum.add({ h.a.d, h.a.q }); sum.subtract({ h.a.c }); m.csum = sum.get();".to_owned(),
            _ => "m.k = drawn.read();".to_owned(),
        }
    }
}
