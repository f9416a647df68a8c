//! Tests of generated programs, with statements over fields of random widths and signs, and headers
//! that become valid and invalid.

use crate::both::V1model;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::fmt::Write;

/// The number of programs. Each gets [`PACKETS`] packets.
const PROGRAMS: u64 = 60;
const PACKETS: usize = 150;

/// A variable that a program reads and writes: its name, width and sign.
#[derive(Clone)]
struct Field {
    name: String,
    width: u32,
    signed: bool,
}

struct Generator {
    random: ChaCha8Rng,
    fields: Vec<Field>,
}

impl Generator {
    fn below(&mut self, bound: u32) -> u32 {
        self.random.random_range(0..bound)
    }

    fn type_name(width: u32, signed: bool) -> String {
        format!("{}<{width}>", if signed { "int" } else { "bit" })
    }

    /// Adds a header with random fields, which fill whole bytes.
    fn header(&mut self, name: &str) -> String {
        let mut text = format!("header {} {{", name.to_uppercase());
        let mut bit = 0;
        let count = 2 + self.below(6);
        for number in 0..count {
            let most = 64 - bit % 8;
            let mut width = match self.below(4) {
                0 => [8, 16, 32, 48, 64][self.below(5) as usize],
                1 => 1 + self.below(7),
                _ => 1 + self.below(64),
            }
            .min(most);
            if number + 1 == count {
                width = if bit % 8 == 0 { 8 } else { 8 - bit % 8 };
            }
            // The checker accepts `int` with more than one bit only.
            let signed = width > 1 && self.below(3) == 0;
            let field = format!("{name}{number}");
            write!(text, " {} {field};", Self::type_name(width, signed)).expect("text");
            self.fields.push(Field { name: format!("h.{name}.{field}"), width, signed });
            bit += width;
        }
        text + " }"
    }

    /// Returns a constant of a type.
    fn constant(&mut self, width: u32, signed: bool) -> String {
        let number: u64 = self.random.random();
        let bits = if signed { width - 1 } else { width };
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let number = match self.below(4) {
            0 => 0,
            1 => mask,
            2 => number & mask & 7,
            _ => number & mask,
        };
        format!("{width}{}{number}", if signed { 's' } else { 'w' })
    }

    fn condition(&mut self, depth: u32) -> String {
        let width = 1 + self.below(64);
        let signed = width > 1 && self.below(3) == 0;
        let (left, right) =
            (self.expression(width, signed, depth), self.expression(width, signed, depth));
        let comparison = ["==", "!=", "<", "<=", ">", ">="][self.below(6) as usize];
        match self.below(5) {
            0 => format!("(({left} {comparison} {right}) || h.a.isValid())"),
            1 => format!("(!({left} {comparison} {right}) && h.b.isValid())"),
            _ => format!("({left} {comparison} {right})"),
        }
    }

    fn expression(&mut self, width: u32, signed: bool, depth: u32) -> String {
        if depth == 0 || self.below(5) == 0 {
            return self.leaf(width, signed);
        }
        let depth = depth - 1;
        let name = Self::type_name(width, signed);
        match self.below(10) {
            0..=3 => {
                let saturates = !signed || width < 64;
                let operators = if saturates {
                    ["+", "-", "*", "&", "|", "^", "|+|", "|-|"]
                } else {
                    ["+", "-", "*", "&", "|", "^", "+", "-"]
                };
                let operator = operators[self.below(8) as usize];
                let (left, right) =
                    (self.expression(width, signed, depth), self.expression(width, signed, depth));
                format!("({left} {operator} {right})")
            }
            4 => {
                let operand = self.expression(width, signed, depth);
                format!("({}{operand})", ["~", "-"][self.below(2) as usize])
            }
            5 => {
                let operand = self.expression(width, signed, depth);
                let bits = 1 + self.below(8);
                let amount = self.expression(bits, false, depth);
                format!("({operand} {} {amount})", ["<<", ">>"][self.below(2) as usize])
            }
            6 if !signed && width > 1 => {
                let low = 1 + self.below(width - 1);
                let left = self.expression(width - low, false, depth);
                let right = self.expression(low, false, depth);
                format!("({left} ++ {right})")
            }
            7 if !signed => {
                let from = width + self.below(65 - width);
                let low = self.below(from - width + 1);
                let operand = self.expression(from, false, depth);
                format!("({operand})[{}:{low}]", low + width - 1)
            }
            8 => {
                let condition = self.condition(depth.min(1));
                let (then, otherwise) =
                    (self.expression(width, signed, depth), self.expression(width, signed, depth));
                format!("({condition} ? {then} : {otherwise})")
            }
            _ => {
                // The expression is cast to another width, and then to `int` if the type is signed.
                let from = 1 + self.below(64);
                let operand = self.expression(from, false, depth);
                if signed {
                    format!("({name}) (bit<{width}>) ({operand})")
                } else {
                    format!("({name}) ({operand})")
                }
            }
        }
    }

    fn leaf(&mut self, width: u32, signed: bool) -> String {
        let fitting: Vec<Field> = self
            .fields
            .iter()
            .filter(|field| field.width == width && field.signed == signed)
            .cloned()
            .collect();
        if !fitting.is_empty() && self.below(3) > 0 {
            return fitting[self.below(fitting.len() as u32) as usize].name.clone();
        }
        let of_sign: Vec<Field> =
            self.fields.iter().filter(|field| field.signed == signed).cloned().collect();
        if of_sign.is_empty() || self.below(4) == 0 {
            return self.constant(width, signed);
        }
        let field = &of_sign[self.below(of_sign.len() as u32) as usize];
        format!("({}) {}", Self::type_name(width, signed), field.name)
    }

    fn statements(&mut self, count: u32, depth: u32) -> String {
        let mut text = String::new();
        for _ in 0..count {
            let position = self.below(self.fields.len() as u32) as usize;
            let field = self.fields[position].clone();
            match self.below(12) {
                0 => {
                    let header = ["a", "b"][self.below(2) as usize];
                    let to = ["setValid", "setInvalid"][self.below(2) as usize];
                    write!(text, "h.{header}.{to}(); ").expect("text");
                }
                1 if depth > 0 => {
                    let condition = self.condition(1);
                    let (then, otherwise) =
                        (self.statements(2, depth - 1), self.statements(1, depth - 1));
                    write!(text, "if ({condition}) {{ {then} }} else {{ {otherwise} }} ")
                        .expect("text");
                }
                2 => {
                    let high = self.below(field.width);
                    let low = self.below(high + 1);
                    let value = self.expression(high - low + 1, false, 2);
                    write!(text, "{}[{high}:{low}] = {value}; ", field.name).expect("text");
                }
                3 => {
                    let ends = ["h.kept = h.a;", "h.a = h.kept;", "h.kept.setInvalid();"];
                    let end = ends[self.below(3) as usize];
                    write!(text, "{end} ").expect("text");
                }
                _ => {
                    let value = self.expression(field.width, field.signed, 3);
                    write!(text, "{} = {value}; ", field.name).expect("text");
                }
            }
        }
        text
    }
}

#[test]
fn generated_programs_have_the_same_outputs() {
    let (mut left, mut in_bursts) = (0, 0);
    for seed in 0..PROGRAMS {
        let mut generator =
            Generator { random: ChaCha8Rng::seed_from_u64(seed), fields: Vec::new() };
        let (a, b) = (generator.header("a"), generator.header("b"));
        let widths = [1, 9, 33, 64].map(|width| (width, false)).into_iter();
        let mut metadata = String::new();
        for (number, (width, signed)) in widths.chain([(16, true), (64, true)]).enumerate() {
            let name = Generator::type_name(width, signed);
            write!(metadata, "{name} m{number}; ").expect("text");
            generator.fields.push(Field { name: format!("m.m{number}"), width, signed });
        }
        let declarations =
            format!("{a} {b} struct H {{ A a; B b; A kept; }} struct M {{ {metadata} }}");
        let of_a: Vec<Field> = generator
            .fields
            .iter()
            .filter(|field| field.name.starts_with("h.a"))
            .cloned()
            .collect();
        let subject = &of_a[generator.below(of_a.len() as u32) as usize];
        let mut case = || generator.constant(subject.width, subject.signed);
        let parser = format!(
            "state start {{ b.extract(h.a); transition select({}) {{ {}: accept; {} &&& {}: more; {} .. {}: more; default: reject; }} }}
            state more {{ b.extract(h.b); transition accept; }}",
            subject.name, case(), case(), case(), case(), case()
        );
        let ingress = format!("apply {{ s.egress_spec = 1; {} }}", generator.statements(10, 2));
        let egress = format!("apply {{ {} }}", generator.statements(4, 1));
        let program = V1model {
            declarations: &declarations,
            parser: &parser,
            ingress: &ingress,
            egress: &egress,
            ..V1model::default()
        };
        let mut both = program.both();
        in_bursts += u64::from(both.one_by_one().is_none());
        left += both.random_packets(seed, PACKETS, 80);
        let mut packet =
            || (1, (0..generator.below(80)).map(|_| generator.random.random()).collect());
        let packets: Vec<(u32, Vec<u8>)> = (0..70).map(|_| packet()).collect();
        both.batch(&packets);
    }
    assert!(in_bursts > PROGRAMS / 2, "only {in_bursts} programs went in bursts");
    assert!(left > PROGRAMS as usize * PACKETS / 2, "only {left} packets left");
}
