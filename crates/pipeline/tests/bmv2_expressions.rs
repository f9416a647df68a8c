//! Tests of the translation of BMv2 JSON expressions to the IR.
//!
//! In BMv2, the values of expressions are unbounded integers, which are truncated on assignment. In
//! the IR, they are only as wide as this requires. The tests evaluate random expressions with big
//! integers, and compare the bits that are assigned with those of the IR.

use std::time::Duration;

use num_bigint::BigInt;
use pipeline::Switch;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const SEED: u64 = 0x0b5e_55ed;

/// The fields of the packet: name, width, and whether the field is signed.
const FIELDS: [(&str, u32, bool); 4] =
    [("a", 8, false), ("b", 16, false), ("c", 8, true), ("d", 16, true)];

enum Expression {
    Field(usize),
    Constant(i64),
    Unary(&'static str, Box<Expression>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    Width(&'static str, Box<Expression>, u32),
    Choice(Box<Expression>, Box<Expression>, Box<Expression>),
}

fn number(random: &mut ChaCha8Rng, depth: u32) -> Expression {
    let pick = if depth == 0 { random.random_range(0..2) } else { random.random_range(0..9) };
    let inner = |random: &mut ChaCha8Rng| Box::new(number(random, depth - 1));
    match pick {
        0 => Expression::Field(random.random_range(0..FIELDS.len())),
        1 => Expression::Constant(random.random_range(-300..300)),
        2 => Expression::Unary("~", inner(random)),
        3 => {
            let operator = ["two_comp_mod", "sat_cast", "usat_cast"][random.random_range(0..3)];
            let width = random.random_range(2..20);
            Expression::Width(operator, inner(random), width)
        }
        4 => {
            let operator = ["<<", ">>"][random.random_range(0..2)];
            let amount = random.random_range(0..12);
            Expression::Binary(operator, inner(random), Box::new(Expression::Constant(amount)))
        }
        5 => {
            Expression::Choice(Box::new(condition(random, depth - 1)), inner(random), inner(random))
        }
        6 => Expression::Unary("b2d", Box::new(condition(random, depth - 1))),
        _ => {
            let operator = ["+", "-", "*", "&", "|", "^"][random.random_range(0..6)];
            Expression::Binary(operator, inner(random), inner(random))
        }
    }
}

fn condition(random: &mut ChaCha8Rng, depth: u32) -> Expression {
    let deeper = depth.saturating_sub(1);
    match if depth == 0 { 0 } else { random.random_range(0..4) } {
        1 => Expression::Unary("not", Box::new(condition(random, deeper))),
        2 => Expression::Binary(
            ["and", "or"][random.random_range(0..2)],
            Box::new(condition(random, deeper)),
            Box::new(condition(random, deeper)),
        ),
        3 => Expression::Unary("d2b", Box::new(number(random, deeper))),
        _ => Expression::Binary(
            ["==", "!=", "<", "<=", ">", ">="][random.random_range(0..6)],
            Box::new(number(random, deeper)),
            Box::new(number(random, deeper)),
        ),
    }
}

impl Expression {
    fn json(&self) -> String {
        let operation = |operator: &str, left: &str, right: &str, more: &str| {
            format!(
                r#"{{"type":"expression","value":{{"op":"{operator}","left":{left},"right":{right}{more}}}}}"#
            )
        };
        match self {
            Self::Field(field) => {
                format!(r#"{{"type":"field","value":["h","{}"]}}"#, FIELDS[*field].0)
            }
            Self::Constant(value) => {
                let sign = if *value < 0 { "-" } else { "" };
                format!(r#"{{"type":"hexstr","value":"{sign}0x{:x}"}}"#, value.unsigned_abs())
            }
            Self::Unary(operator, operand) => operation(operator, "null", &operand.json(), ""),
            Self::Binary(operator, left, right) => {
                operation(operator, &left.json(), &right.json(), "")
            }
            Self::Width(operator, operand, width) => operation(
                operator,
                &operand.json(),
                &format!(r#"{{"type":"hexstr","value":"0x{width:x}"}}"#),
                "",
            ),
            Self::Choice(condition, yes, no) => {
                operation("?", &yes.json(), &no.json(), &format!(r#","cond":{}"#, condition.json()))
            }
        }
    }

    /// Evaluates the expression with unbounded integers. A condition is 0 or 1.
    fn value(&self, fields: &[BigInt; 4]) -> BigInt {
        let truth = |value: bool| BigInt::from(u8::from(value));
        match self {
            Self::Field(field) => fields[*field].clone(),
            Self::Constant(value) => BigInt::from(*value),
            Self::Unary(operator, operand) => {
                let operand = operand.value(fields);
                match *operator {
                    "~" => -operand - 1,
                    "not" => truth(operand == BigInt::ZERO),
                    "d2b" => truth(operand != BigInt::ZERO),
                    _ => operand,
                }
            }
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.value(fields), right.value(fields));
                let amount = || u32::try_from(&right).expect("shifts are by small constants");
                match *operator {
                    "+" => left + right,
                    "-" => left - right,
                    "*" => left * right,
                    "&" => left & right,
                    "|" => left | right,
                    "^" => left ^ right,
                    "<<" => left << amount(),
                    ">>" => left >> amount(),
                    "==" => truth(left == right),
                    "!=" => truth(left != right),
                    "<" => truth(left < right),
                    "<=" => truth(left <= right),
                    ">" => truth(left > right),
                    ">=" => truth(left >= right),
                    "and" => left & right,
                    _ => left | right,
                }
            }
            Self::Width(operator, operand, width) => {
                let value = operand.value(fields);
                let all = BigInt::from(1) << *width;
                let half: BigInt = BigInt::from(1) << (*width - 1);
                match *operator {
                    "two_comp_mod" => {
                        let low = value & (all.clone() - 1);
                        if low >= half { low - all } else { low }
                    }
                    "sat_cast" => value.max(-half.clone()).min(half - 1),
                    _ => value.max(BigInt::ZERO).min(all - 1),
                }
            }
            Self::Choice(condition, yes, no) => {
                if condition.value(fields) == BigInt::ZERO {
                    no.value(fields)
                } else {
                    yes.value(fields)
                }
            }
        }
    }
}

fn program(expression: &Expression) -> String {
    let fields: Vec<String> = FIELDS
        .iter()
        .map(|(name, width, signed)| format!(r#"["{name}",{width},{signed}]"#))
        .collect();
    format!(
        r#"{{"__meta__":{{"version":[2,23]}},
"header_types":[{{"name":"h_t","id":0,"fields":[{},["r",16,false],["s",8,true]]}}],
"headers":[{{"name":"h","id":0,"header_type":"h_t","metadata":false}}],
"parsers":[{{"name":"parser","id":0,"init_state":"start","parse_states":[{{"name":"start","id":0,
 "parser_ops":[{{"op":"extract","parameters":[{{"type":"regular","value":"h"}}]}}],
 "transition_key":[],"transitions":[{{"type":"default","value":null,"mask":null,"next_state":null}}]}}]}}],
"deparsers":[{{"name":"deparser","id":0,"order":["h"]}}],
"actions":[{{"name":"act","id":0,"runtime_data":[],"primitives":[
 {{"op":"assign","parameters":[{{"type":"field","value":["h","r"]}},{expression}]}},
 {{"op":"assign","parameters":[{{"type":"field","value":["h","s"]}},{expression}]}}]}}],
"pipelines":[{{"name":"ingress","id":0,"init_table":"call","tables":[],"conditionals":[],
 "action_calls":[{{"name":"call","id":0,"action_id":0,"next_node":null}}]}}]}}"#,
        fields.join(","),
        expression = expression.json()
    )
}

#[test]
fn expressions_are_as_wide_as_they_need_to_be() {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    for case in 0..300 {
        let expression = number(&mut random, 1 + case % 4);
        let text = program(&expression);
        let program = p4lang::bmv2::load_bmv2_json(&text)
            .unwrap_or_else(|error| panic!("seed {SEED}, case {case}: {error}\n{text}"));
        let mut switch = Switch::new(program).expect("the program is loaded");
        for _ in 0..4 {
            let mut packet: [u8; 9] = random.random();
            if random.random_range(0..3) == 0 {
                packet[3] = 0x80;
            }
            let fields = [
                BigInt::from(packet[0]),
                BigInt::from(u16::from_be_bytes([packet[1], packet[2]])),
                BigInt::from(packet[3].cast_signed()),
                BigInt::from(i16::from_be_bytes([packet[4], packet[5]])),
            ];
            let value = expression.value(&fields);
            let low: BigInt = value & BigInt::from(0xffff);
            let low = u16::try_from(&low).expect("16 bits");
            let outputs = switch.process(1, &packet, Duration::ZERO).expect("the packet is run");
            let output = outputs.first().expect("a packet leaves");
            let expected = [low.to_be_bytes()[0], low.to_be_bytes()[1], low.to_be_bytes()[1]];
            assert_eq!(
                output.packet.get(6..9),
                Some(expected.as_slice()),
                "seed {SEED}, case {case}, packet {packet:?}\n{}",
                expression.json()
            );
        }
    }
}
