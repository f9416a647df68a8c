//! Tests random programs of calls with side effects on variables that the same expressions read. A
//! second implementation of the rules of the P4_16 specification, version 1.2.4, determines the
//! results: operands are evaluated from left to right (section 8.1.1), arguments are copied in and
//! out in order (6.8), and `exit` takes effect after copying out (12.5).

use super::support::{V1model, load, packet};
use pipeline::Switch;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::fmt::Write;

const FIELDS: usize = 6;
const ELEMENTS: usize = 4;
const FUNCTIONS: usize = 3;
const ACTIONS: usize = 2;

#[derive(Clone, Debug)]
enum Target {
    /// A parameter or variable of a function or action, named x, y, z or t.
    Local(usize),
    /// A field of the header.
    Field(usize),
    /// An element of the stack, whose index is the low bits of an expression.
    Element(Box<Value>),
}

#[derive(Clone, Debug)]
enum Value {
    Constant(u8),
    Read(Target),
    Binary(char, Box<Value>, Box<Value>),
    /// The expression `left < right ? then : otherwise`.
    Choice(Box<[Value; 4]>),
    Call(usize, Box<(Target, Target, Value)>),
}

#[derive(Clone, Debug)]
enum Step {
    Assign(Target, Value),
    If(Value, Value, Vec<Step>, Vec<Step>),
    Action(usize, Target, Target, Value),
    Return(Value),
    Exit,
}

/// The kinds of expressions and statements that a body may contain.
#[derive(Clone, Copy)]
struct Scope {
    locals: bool,
    globals: bool,
    functions: usize,
    actions: usize,
}

struct Generator(ChaCha8Rng);

impl Generator {
    fn below(&mut self, limit: usize) -> usize {
        self.0.random_range(0..limit)
    }

    fn target(&mut self, scope: Scope, depth: u32) -> Target {
        match (scope.locals, scope.globals) {
            (true, false) => Target::Local([0, 1, 3][self.below(3)]),
            (true, true) if self.below(2) == 0 => Target::Local([0, 1, 3][self.below(3)]),
            _ if depth > 0 && self.below(4) == 0 => {
                Target::Element(Box::new(self.value(scope, depth - 1)))
            }
            _ => Target::Field(self.below(FIELDS)),
        }
    }

    fn value(&mut self, scope: Scope, depth: u32) -> Value {
        let depth_below = depth.saturating_sub(1);
        match self.below(if depth == 0 { 3 } else { 10 }) {
            0 => Value::Constant([0, 1, 2, 3, 128, 255][self.below(6)]),
            1 if scope.locals => Value::Read(Target::Local(self.below(4))),
            1 | 2 => Value::Read(self.target(scope, depth_below)),
            3..=5 => Value::Binary(
                ['+', '-', '^', '&'][self.below(4)],
                Box::new(self.value(scope, depth_below)),
                Box::new(self.value(scope, depth_below)),
            ),
            6 => Value::Choice(Box::new(std::array::from_fn(|_| self.value(scope, depth_below)))),
            _ if scope.functions > 0 => {
                let function = self.below(scope.functions);
                let (x, y) = (self.target(scope, depth_below), self.target(scope, depth_below));
                Value::Call(function, Box::new((x, y, self.value(scope, depth_below))))
            }
            _ => Value::Constant(7),
        }
    }

    fn steps(&mut self, scope: Scope, depth: u32, count: usize) -> Vec<Step> {
        (0..count).map(|_| self.step(scope, depth)).collect()
    }

    fn step(&mut self, scope: Scope, depth: u32) -> Step {
        match self.below(10) {
            0..=1 if depth > 0 => {
                let (left, right) = (self.value(scope, 1), self.value(scope, 1));
                let then = self.steps(scope, depth - 1, 2);
                Step::If(left, right, then, self.steps(scope, depth - 1, 1))
            }
            2..=4 if scope.actions > 0 => {
                let action = self.below(scope.actions);
                let (x, y) = (self.target(scope, 1), self.target(scope, 1));
                Step::Action(action, x, y, self.value(scope, 2))
            }
            5 if scope.globals && depth == 0 && self.below(3) == 0 => Step::Exit,
            _ => Step::Assign(self.target(scope, 1), self.value(scope, 2)),
        }
    }
}

fn target_text(target: &Target) -> String {
    match target {
        Target::Local(position) => ["x", "y", "z", "t"][*position].to_owned(),
        Target::Field(position) => format!("h.r.{}", char::from(b'a' + *position as u8)),
        Target::Element(index) => format!("h.s[({})[1:0]].v", text(index)),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Constant(number) => format!("8w{number}"),
        Value::Read(target) => target_text(target),
        Value::Binary(operator, left, right) => {
            format!("({} {operator} {})", text(left), text(right))
        }
        Value::Choice(parts) => {
            let [left, right, then, otherwise] = &**parts;
            format!("({} < {} ? {} : {})", text(left), text(right), text(then), text(otherwise))
        }
        Value::Call(function, arguments) => {
            let (x, y, z) = &**arguments;
            format!("f{function}({}, {}, {})", target_text(x), target_text(y), text(z))
        }
    }
}

fn body(steps: &[Step]) -> String {
    let mut written = String::new();
    for step in steps {
        let line = match step {
            Step::Assign(target, value) => format!("{} = {};", target_text(target), text(value)),
            Step::If(left, right, then, otherwise) => format!(
                "if ({} < {}) {{ {} }} else {{ {} }}",
                text(left),
                text(right),
                body(then),
                body(otherwise)
            ),
            Step::Action(action, x, y, z) => {
                format!("a{action}({}, {}, {});", target_text(x), target_text(y), text(z))
            }
            Step::Return(value) => format!("return {};", text(value)),
            Step::Exit => "if (h.r.a < 128) { exit; }".to_owned(),
        };
        writeln!(written, "{line}").expect("a string");
    }
    written
}

enum Leave {
    Return(u8),
    Exit,
}

/// A left value whose index has been evaluated.
#[derive(Clone, Copy)]
enum Fixed {
    Local(usize),
    Field(usize),
    Element(usize),
}

struct Evaluation<'p> {
    functions: &'p [Vec<Step>],
    actions: &'p [Vec<Step>],
    fields: [u8; FIELDS],
    elements: [u8; ELEMENTS],
}

impl Evaluation<'_> {
    fn fix(&mut self, target: &Target, locals: &mut [u8; 4]) -> Fixed {
        match target {
            Target::Local(position) => Fixed::Local(*position),
            Target::Field(position) => Fixed::Field(*position),
            Target::Element(index) => {
                Fixed::Element(usize::from(self.value(index, locals)) % ELEMENTS)
            }
        }
    }

    fn place<'e>(&'e mut self, fixed: Fixed, locals: &'e mut [u8; 4]) -> &'e mut u8 {
        match fixed {
            Fixed::Local(position) => &mut locals[position],
            Fixed::Field(position) => &mut self.fields[position],
            Fixed::Element(position) => &mut self.elements[position],
        }
    }

    fn value(&mut self, value: &Value, locals: &mut [u8; 4]) -> u8 {
        match value {
            Value::Constant(number) => *number,
            Value::Read(target) => {
                let fixed = self.fix(target, locals);
                *self.place(fixed, locals)
            }
            Value::Binary(operator, left, right) => {
                let (left, right) = (self.value(left, locals), self.value(right, locals));
                match operator {
                    '+' => left.wrapping_add(right),
                    '-' => left.wrapping_sub(right),
                    '^' => left ^ right,
                    _ => left & right,
                }
            }
            Value::Choice(parts) => {
                let [left, right, then, otherwise] = &**parts;
                let holds = self.value(left, locals) < self.value(right, locals);
                self.value(if holds { then } else { otherwise }, locals)
            }
            Value::Call(function, arguments) => {
                let (x, y, z) = &**arguments;
                match self.call(&self.functions[*function].clone(), x, y, z, locals) {
                    Err(Leave::Return(value)) => value,
                    _ => unreachable!("a function returns"),
                }
            }
        }
    }

    fn call(
        &mut self,
        steps: &[Step],
        x: &Target,
        y: &Target,
        z: &Value,
        locals: &mut [u8; 4],
    ) -> Result<(), Leave> {
        let x = self.fix(x, locals);
        let first = *self.place(x, locals);
        let y = self.fix(y, locals);
        let second = *self.place(y, locals);
        let third = self.value(z, locals);
        let mut inner = [first, second, third, 0];
        let left = self.steps(steps, &mut inner);
        *self.place(x, locals) = inner[0];
        *self.place(y, locals) = inner[1];
        left
    }

    fn steps(&mut self, steps: &[Step], locals: &mut [u8; 4]) -> Result<(), Leave> {
        for step in steps {
            match step {
                Step::Assign(target, value) => {
                    let fixed = self.fix(target, locals);
                    let value = self.value(value, locals);
                    *self.place(fixed, locals) = value;
                }
                Step::If(left, right, then, otherwise) => {
                    let holds = self.value(left, locals) < self.value(right, locals);
                    self.steps(if holds { then } else { otherwise }, locals)?;
                }
                Step::Action(action, x, y, z) => {
                    match self.call(&self.actions[*action].clone(), x, y, z, locals) {
                        Err(Leave::Exit) => return Err(Leave::Exit),
                        Ok(()) | Err(Leave::Return(_)) => {}
                    }
                }
                Step::Return(value) => return Err(Leave::Return(self.value(value, locals))),
                Step::Exit if self.fields[0] < 128 => return Err(Leave::Exit),
                Step::Exit => {}
            }
        }
        Ok(())
    }
}

#[test]
fn calls_with_side_effects_follow_the_specification() {
    for seed in 0..80 {
        let mut generator = Generator(ChaCha8Rng::seed_from_u64(seed));
        let mut functions = Vec::new();
        for number in 0..FUNCTIONS {
            let scope = Scope { locals: true, globals: false, functions: number, actions: 0 };
            let mut steps = generator.steps(scope, 2, 3);
            steps.push(Step::Return(generator.value(scope, 2)));
            functions.push(steps);
        }
        let mut actions = Vec::new();
        for number in 0..ACTIONS {
            let scope =
                Scope { locals: true, globals: true, functions: FUNCTIONS, actions: number };
            actions.push(generator.steps(scope, 2, 4));
        }
        let scope = Scope { locals: false, globals: true, functions: FUNCTIONS, actions: ACTIONS };
        let main = generator.steps(scope, 2, 6);

        let parameters = "(inout bit<8> x, inout bit<8> y, in bit<8> z)";
        let declare = |kind: &str, letter: char, bodies: &[Vec<Step>]| -> String {
            let each = bodies.iter().enumerate().map(|(number, steps)| {
                let steps = body(steps);
                format!("{kind} {letter}{number}{parameters} {{ bit<8> t = 0; {steps} }}\n")
            });
            each.collect()
        };
        let declarations = format!(
            "header R {{ bit<8> a; bit<8> b; bit<8> c; bit<8> d; bit<8> e; bit<8> f; }} header B {{ bit<8> v; }}
            struct H {{ R r; B[4] s; }} struct M {{ }} {}",
            declare("bit<8>", 'f', &functions)
        );
        let ingress = format!("{} apply {{ {} }}", declare("action", 'a', &actions), body(&main));
        let parser = "b.extract(h.r); b.extract(h.s.next); b.extract(h.s.next); b.extract(h.s.next); b.extract(h.s.next);
            transition accept;";
        let mut v1model = V1model {
            declarations: &declarations,
            parser: &format!("state start {{ {parser} }}"),
            ingress: &ingress,
            ..V1model::default()
        }
        .load();
        let mut psa = in_both_controls_of_psa(&declarations, parser, &ingress);
        for _ in 0..4 {
            let sent: [u8; FIELDS + ELEMENTS] = std::array::from_fn(|_| generator.below(256) as u8);
            let mut evaluation = Evaluation {
                functions: &functions,
                actions: &actions,
                fields: std::array::from_fn(|position| sent[position]),
                elements: std::array::from_fn(|position| sent[FIELDS + position]),
            };
            let mut run = || {
                let _ = evaluation.steps(&main, &mut [0; 4]);
                evaluation.fields.into_iter().chain(evaluation.elements).collect::<Vec<u8>>()
            };
            let (once, twice) = (run(), run());
            for (switch, expected) in [(&mut v1model, once), (&mut psa, twice)] {
                let left = packet(switch, 1, &sent);
                assert_eq!(left, expected, "seed {seed}, {sent:?}:\n{declarations}\n{ingress}");
            }
        }
    }
}

/// Returns a PSA program whose ingress and egress both have this body. `exit` ends each by itself.
fn in_both_controls_of_psa(declarations: &str, parser: &str, body: &str) -> Switch {
    load(&format!(
        "#include <core.p4>
        #include <bmv2/psa.p4>
        {declarations}
        parser IP(packet_in b, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in M n, in M o) {{
            state start {{ {parser} }} }}
        control Body(inout H h) {{ {body} }}
        control I(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {{
            Body() body; apply {{ send_to_port(o, (PortId_t) 1); body.apply(h); }} }}
        control ID(packet_out p, out M c, out M r, out M n, inout H h, in M m, in psa_ingress_output_metadata_t i) {{
            apply {{ p.emit(h); }} }}
        parser EP(packet_in b, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in M n, in M c, in M d) {{
            state start {{ {parser} }} }}
        control E(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {{
            Body() body; apply {{ body.apply(h); }} }}
        control ED(packet_out p, out M c, out M r, inout H h, in M m, in psa_egress_output_metadata_t i,
            in psa_egress_deparser_input_metadata_t d) {{ apply {{ p.emit(h); }} }}
        IngressPipeline(IP(), I(), ID()) ip; EgressPipeline(EP(), E(), ED()) ep;
        PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;"
    ))
}
