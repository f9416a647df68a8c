//! The architecture PSA (Portable Switch Architecture, version 1.2, section 6): runs the blocks of
//! the package in order. What the architecture does between these blocks comes from
//! [`architectures`].
//!
//! The ingress deparser writes the packet that the egress parser reads, so egress runs once for
//! each layout of that packet. A packet goes either to one port or to a multicast group, so both
//! cases go through egress together.
//!
//! User metadata are undefined when the parser of ingress or egress begins ("User-defined metadata
//! for all ingress packets", and "for all egress packets"). The same sections say which of the
//! values that deparsers leave for a later pass are defined on each packet path.

use super::blocks::{self, TypedBlock, typed_control, typed_parser};
use super::copies::CopyTo;
use super::glue::{Decisions, Destination, Metadata, Numbers};
use super::{Emitted, End, Entrance, Event, Executor, Fate, Fill, Unsupported};
use crate::packet::{self, Packet};
use crate::state::{Special, State};
use crate::term::Term;
use architectures::{MetadataField, PSA, PSA_PORT_RECIRCULATE, Set};
use ir::{ControlId, Package, PackageValue, ParserId, Program, TypeId};
use std::collections::VecDeque;

/// The width in bits of the numbers of ports, clone sessions and multicast groups.
const NUMBER: u32 = 32;
/// The width in bits of the instance number of a replicated packet.
const INSTANCE: u32 = 16;
/// The largest number of passes that are executed for one received packet, its copies and all of
/// their layouts.
const MAXIMUM_PASSES: usize = 1_024;
/// The number below which the ports in tests preferably are.
const SMALL_PORT: u128 = 512;

/// The blocks of `IngressPipeline` or `EgressPipeline`, whose parser has `P` parameters.
struct Pipeline<const P: usize> {
    parser: TypedBlock<ParserId, P>,
    control: TypedBlock<ControlId, 4>,
    deparser: TypedBlock<ControlId, 6>,
}

/// The blocks of `PSA_Switch`.
struct Blocks {
    ingress: Pipeline<5>,
    egress: Pipeline<6>,
}

/// The values that an earlier pass has left for the ingress parser. All others are undefined.
enum IngressCarried {
    /// The packet comes from a port, and carries none.
    Nothing,
    Resubmitted(Vec<Term>),
    Recirculated(Vec<Term>),
}

/// The values that an earlier pass has left for the egress parser. All others are undefined.
#[derive(Clone)]
enum EgressCarried {
    /// Those that the ingress deparser leaves for packets that it sends to a port or group.
    Normal(Vec<Term>),
    ClonedAtIngress(Vec<Term>),
    ClonedAtEgress(Vec<Term>),
}

/// A packet that enters the ingress parser.
struct Ingress {
    guard: Term,
    packet: Packet,
    port: Term,
    path: &'static str,
    carried: IngressCarried,
    /// The number of this pass, counted from 1.
    number: u32,
}

/// A packet that enters the egress parser.
#[derive(Clone)]
struct Egress {
    guard: Term,
    packet: Packet,
    port: Term,
    /// The number of the packet path, such as that of a clone.
    path: Term,
    instance: Term,
    class_of_service: Term,
    carried: EgressCarried,
    number: u32,
}

/// A pass that waits to be executed.
enum Pass {
    Ingress(Ingress),
    Egress(Box<Egress>),
}

/// The passes that are still to be executed, and what has become of packets.
#[derive(Default)]
struct Agenda {
    waiting: VecDeque<Pass>,
    ends: Vec<End>,
}

/// A packet that a deparser has written.
struct Deparsed<'d> {
    emitted: &'d [Emitted],
    /// The packet that was parsed. Its unparsed rest follows the emitted bits.
    packet: &'d Packet,
    cursor: Term,
}

/// The values that ingress leaves behind for later passes of the packet.
struct LeftByIngress {
    state: State,
    decisions: Decisions,
    /// The condition under which the packet is cloned, with the number of the clone session.
    clone: Option<(Term, Term)>,
    class_of_service: Term,
    cloned: Vec<Term>,
    resubmitted: Vec<Term>,
    normal: Vec<Term>,
}

impl Blocks {
    fn new(program: &Program) -> Result<Self, Unsupported> {
        let packages = program.main.arguments.iter().filter_map(|argument| match &argument.value {
            PackageValue::Package(package) => Some(package),
            PackageValue::Parser(_)
            | PackageValue::Control(_)
            | PackageValue::Extern(_)
            | PackageValue::Value(_) => None,
        });
        let packages: Vec<&Package> = packages.collect();
        let [ingress, egress] = packages.as_slice() else {
            return Err(Unsupported::new("a package without both pipelines of PSA_Switch"));
        };
        Ok(Self {
            ingress: Pipeline::new(program, ingress)?,
            egress: Pipeline::new(program, egress)?,
        })
    }
}

impl<const P: usize> Pipeline<P> {
    fn new(program: &Program, package: &Package) -> Result<Self, Unsupported> {
        Ok(Self {
            parser: typed_parser(program, package, 0)?,
            control: typed_control(program, package, 1)?,
            deparser: typed_control(program, package, 2)?,
        })
    }
}

/// A packet that enters the program again, at whose entrance an execution of single passes ends.
struct Entering {
    /// The condition under which the packet enters.
    guard: Term,
    entrance: Entrance,
    port: Term,
    /// The metadata that the packet takes along.
    carried: Vec<Term>,
}

impl Executor<'_> {
    /// Executes the program on a received packet. The packet and its copies may pass through the
    /// program up to `passes` times. Returns what becomes of them, and the input for the port of
    /// arrival.
    pub(crate) fn psa(&mut self, passes: u32) -> Result<(Vec<End>, Term), Unsupported> {
        let blocks = Blocks::new(self.program)?;
        let port = packet::port(&mut self.terms, self.arrival, NUMBER);
        let entrance = self.entrance.unwrap_or(Entrance::Received);
        if entrance == Entrance::Received {
            let recirculates = self.terms.number(NUMBER, PSA_PORT_RECIRCULATE.into());
            let real = self.terms.not_equal(port, recirculates);
            self.assumptions.push(real);
        }
        self.prefer_small(port);
        self.member_widths = [NUMBER, INSTANCE];

        let mut agenda = Agenda::default();
        let first = self.first_pass(&blocks, entrance, port)?;
        agenda.waiting.push_back(first);
        let mut executed = 0;
        while let Some(pass) = agenda.waiting.pop_front() {
            let (number, guard) = match &pass {
                Pass::Ingress(pass) => (pass.number, pass.guard),
                Pass::Egress(pass) => (pass.number, pass.guard),
            };
            if !self.is_feasible(guard)? {
                continue;
            }
            executed += 1;
            if number > passes {
                self.cut_pass(guard, passes);
                continue;
            }
            if executed > MAXIMUM_PASSES {
                self.cut(guard, "a packet with too many copies and layouts", None);
                continue;
            }
            match pass {
                Pass::Ingress(pass) => self.psa_ingress(&blocks, pass, &mut agenda)?,
                Pass::Egress(pass) => self.psa_egress(&blocks, *pass, &mut agenda)?,
            }
        }
        Ok((agenda.ends, port))
    }

    /// Returns a pass that begins at an entrance with any packet and any carried metadata.
    fn first_pass(
        &mut self,
        blocks: &Blocks,
        entrance: Entrance,
        port: Term,
    ) -> Result<Pass, Unsupported> {
        let packet = Packet::received(&mut self.terms, self.arrival);
        let ingress = blocks.ingress.parser.types;
        let egress = blocks.egress.parser.types;
        let (path, carried) = match entrance {
            Entrance::Received => ("NORMAL", IngressCarried::Nothing),
            Entrance::Resubmitted => {
                ("RESUBMIT", IngressCarried::Resubmitted(self.carried(ingress[3])?))
            }
            Entrance::Recirculated => {
                ("RECIRCULATE", IngressCarried::Recirculated(self.carried(ingress[4])?))
            }
            Entrance::ClonedAtIngress => {
                let carried = EgressCarried::ClonedAtIngress(self.carried(egress[4])?);
                return Ok(self.first_egress(&packet, port, "CLONE_I2E", carried));
            }
            Entrance::ClonedAtEgress => {
                let carried = EgressCarried::ClonedAtEgress(self.carried(egress[5])?);
                return Ok(self.first_egress(&packet, port, "CLONE_E2E", carried));
            }
        };
        let guard = self.terms.truth(true);
        Ok(Pass::Ingress(Ingress { guard, packet, port, path, carried, number: 1 }))
    }

    /// Returns the pass of a clone that begins in egress.
    fn first_egress(
        &mut self,
        packet: &Packet,
        port: Term,
        path: &str,
        carried: EgressCarried,
    ) -> Pass {
        let mut first = self.empty_egress(carried, packet);
        first.guard = self.terms.truth(true);
        first.port = port;
        first.path = self.path(path);
        first.number = 1;
        Pass::Egress(Box::new(first))
    }

    /// Ends an execution of single passes where a packet enters the program again.
    fn end_before(&mut self, entering: Entering, deparsed: &Deparsed<'_>, agenda: &mut Agenda) {
        let Entering { guard, entrance, port, carried } = entering;
        if self.terms.truth_of(guard) != Some(false) {
            let fate = Fate::Enters {
                entrance,
                port,
                carried,
                emitted: deparsed.emitted.to_vec(),
                packet: deparsed.packet.clone(),
                cursor: deparsed.cursor,
            };
            agenda.ends.push(End { guard, fate });
        }
    }

    /// Adds the preference that a port in a test has a small number.
    pub(super) fn prefer_small(&mut self, port: Term) {
        let most = self.terms.number(self.terms.width_of(port), SMALL_PORT);
        let small = self.terms.less(port, most);
        self.preferences.push(small);
    }

    /// Returns the initial output metadata of ingress or egress. The specification leaves the port
    /// and the clone session undefined (`psa.p4`).
    fn initial_says(&mut self, type_id: TypeId, sets: &[Set], numbers: &Numbers) -> Vec<Term> {
        let mut says = self.filled(type_id, sets, numbers);
        for field in [MetadataField::EgressPort, MetadataField::CloneSessionId] {
            let Some(at) = self.field_leaf(type_id, field) else { continue };
            if let Some(leaf) = says.get_mut(at) {
                let width = self.terms.width_of(*leaf);
                *leaf = self.undefined(width);
            }
        }
        says
    }

    /// Returns the number of the packet path with this name.
    fn path(&mut self, name: &str) -> Term {
        let number = self.enumerator(&["PSA_PacketPath_t"], name);
        self.terms.number(32, number.into())
    }

    /// Executes a pass through ingress, and adds the passes that it causes.
    fn psa_ingress(
        &mut self,
        blocks: &Blocks,
        pass: Ingress,
        agenda: &mut Agenda,
    ) -> Result<(), Unsupported> {
        let (packet, port, number) = (pass.packet.clone(), pass.port, pass.number);
        self.packet = packet.clone();
        let Some(left) = self.through_ingress(blocks, pass)? else { return Ok(()) };
        let emitted = std::mem::take(&mut self.emitted);
        let cursor = left.state.special(Special::Cursor);
        let LeftByIngress { decisions, clone, class_of_service, normal, .. } = left;

        if let Some(clone) = clone {
            self.clone_received(clone, left.cloned, &packet, number, agenda);
        }
        if let Some(guard) = decisions.dropped {
            agenda.ends.push(End { guard, fate: Fate::Dropped });
        }
        if let Some(guard) = decisions.resubmitted {
            let pass = Ingress {
                guard,
                packet: packet.clone(),
                port,
                path: "RESUBMIT",
                carried: IngressCarried::Nothing,
                number: number + 1,
            };
            self.resubmit(pass, left.resubmitted, agenda);
        }

        let spec = decisions.port.unwrap_or_else(|| self.terms.zero(NUMBER));
        let mut leaving = Egress {
            guard: decisions.otherwise,
            port: self.terms.resize(spec, NUMBER),
            path: self.path("NORMAL_UNICAST"),
            class_of_service,
            number,
            ..self.empty_egress(EgressCarried::Normal(normal), &packet)
        };
        if let Some((guard, group)) = decisions.replicated {
            let member = self.copied(guard, CopyTo::Group(group));
            let no_group = self.terms.not(member.exists);
            let dropped = self.terms.and(guard, no_group);
            agenda.ends.push(End { guard: dropped, fate: Fate::Dropped });
            let sent = self.terms.and(guard, member.exists);
            let path = self.path("NORMAL_MULTICAST");
            leaving.guard = self.terms.or(leaving.guard, sent);
            leaving.port = self.terms.if_then_else(sent, member.port, leaving.port);
            leaving.path = self.terms.if_then_else(sent, path, leaving.path);
            let instance = self.terms.resize(member.instance, 32);
            leaving.instance = self.terms.if_then_else(sent, instance, leaving.instance);
        }
        let deparsed = Deparsed { emitted: &emitted, packet: &packet, cursor };
        self.enter_egress(&leaving, &deparsed, agenda)
    }

    /// Adds the pass of a clone that ingress requests. The clone enters egress as it was received.
    fn clone_received(
        &mut self,
        clone: (Term, Term),
        cloned: Vec<Term>,
        packet: &Packet,
        number: u32,
        agenda: &mut Agenda,
    ) {
        let carried = EgressCarried::ClonedAtIngress(cloned.clone());
        let mut copy = self.copy(clone, carried, packet, number);
        if self.entrance.is_some() {
            let cursor = self.terms.zero(NUMBER);
            let unchanged = Deparsed { emitted: &[], packet, cursor };
            let entering = Entering {
                guard: copy.guard,
                entrance: Entrance::ClonedAtIngress,
                port: copy.port,
                carried: cloned,
            };
            self.end_before(entering, &unchanged, agenda);
            return;
        }
        copy.path = self.path("CLONE_I2E");
        agenda.waiting.push_back(Pass::Egress(Box::new(copy)));
    }

    /// Adds the pass of a packet that is resubmitted with these metadata.
    fn resubmit(&mut self, mut pass: Ingress, resubmitted: Vec<Term>, agenda: &mut Agenda) {
        self.events.push((Event::Resubmit, pass.guard));
        if self.entrance.is_some() {
            let cursor = self.terms.zero(NUMBER);
            let unchanged = Deparsed { emitted: &[], packet: &pass.packet, cursor };
            let entering = Entering {
                guard: pass.guard,
                entrance: Entrance::Resubmitted,
                port: pass.port,
                carried: resubmitted,
            };
            self.end_before(entering, &unchanged, agenda);
            return;
        }
        pass.carried = IngressCarried::Resubmitted(resubmitted);
        agenda.waiting.push_back(Pass::Ingress(pass));
    }

    /// Runs the blocks of ingress. Returns `None` if no packet leaves them.
    fn through_ingress(
        &mut self,
        blocks: &Blocks,
        pass: Ingress,
    ) -> Result<Option<LeftByIngress>, Unsupported> {
        let Pipeline { parser, control, deparser } = &blocks.ingress;
        let mut numbers = self.numbers(pass.port, pass.packet.length);
        numbers.path = self.path(pass.path);
        let state = self.initial_state(pass.guard);
        let mut values = vec![
            self.initial(parser.types[0], Fill::Undefined),
            self.initial(parser.types[1], Fill::Undefined),
            self.filled(parser.types[2], PSA.before_parser, &numbers),
            self.initial(parser.types[3], Fill::Undefined),
            self.initial(parser.types[4], Fill::Undefined),
        ];
        if let [.., resubmitted, recirculated] = values.as_mut_slice() {
            match pass.carried {
                IngressCarried::Nothing => {}
                IngressCarried::Resubmitted(carried) => *resubmitted = carried,
                IngressCarried::Recirculated(carried) => *recirculated = carried,
            }
        }
        let Some((state, values)) = self.parser_block(parser.id, state, values)? else {
            return Ok(None);
        };
        let [headers, metadata, ..] = blocks::arguments::<5>(values)?;
        numbers.parser_error = state.special(Special::ParserError);
        self.errors.push((state.guard, numbers.parser_error));

        let values = vec![
            headers,
            metadata,
            self.filled(control.types[2], PSA.before_ingress, &numbers),
            self.initial_says(control.types[3], PSA.ingress_says, &numbers),
        ];
        let Some((state, values)) = self.control_block(control.id, state, values)? else {
            return Ok(None);
        };
        let [headers, metadata, _, says] = blocks::arguments::<4>(values)?;
        let of = Metadata { leaves: &says, type_id: control.types[3] };
        let decisions = self.decide(&PSA.after_ingress, &state, of);
        let clone = self.copied_by_field(&PSA.after_ingress, &state, of);
        let class_of_service = self.field_number(of, MetadataField::ClassOfService);

        self.emitted.clear();
        let values = vec![
            self.initial(deparser.types[0], Fill::Undefined),
            self.initial(deparser.types[1], Fill::Undefined),
            self.initial(deparser.types[2], Fill::Undefined),
            headers,
            metadata,
            says,
        ];
        let Some((state, values)) = self.control_block(deparser.id, state, values)? else {
            return Ok(None);
        };
        let [cloned, resubmitted, normal, ..] = blocks::arguments::<6>(values)?;
        Ok(Some(LeftByIngress {
            state,
            decisions,
            clone,
            class_of_service,
            cloned,
            resubmitted,
            normal,
        }))
    }

    /// Returns a pass through egress with initial values, under a condition that no packet
    /// satisfies yet.
    fn empty_egress(&mut self, carried: EgressCarried, packet: &Packet) -> Egress {
        let zero = self.terms.zero(32);
        Egress {
            guard: self.terms.truth(false),
            packet: packet.clone(),
            port: self.terms.zero(NUMBER),
            path: zero,
            instance: zero,
            class_of_service: zero,
            carried,
            number: 0,
        }
    }

    /// Returns the pass through egress of a clone.
    fn copy(
        &mut self,
        (guard, session): (Term, Term),
        carried: EgressCarried,
        packet: &Packet,
        number: u32,
    ) -> Egress {
        let member = self.copied(guard, CopyTo::Session(session));
        self.events.push((Event::Clone, guard));
        self.assume_session_to_cpu(guard, session, member);
        let mut copy = self.empty_egress(carried, packet);
        copy.guard = self.terms.and(guard, member.exists);
        copy.port = member.port;
        copy.number = number + 1;
        copy
    }

    /// Adds passes through egress for a packet that a deparser has written, one for each layout.
    fn enter_egress(
        &mut self,
        pass: &Egress,
        deparsed: &Deparsed<'_>,
        agenda: &mut Agenda,
    ) -> Result<(), Unsupported> {
        let Deparsed { emitted, packet, cursor } = deparsed;
        let Some(layouts) = self.layouts(pass.guard, emitted, packet, *cursor)? else {
            self.cut(pass.guard, "a packet of too many layouts that enters egress", None);
            return Ok(());
        };
        for (guard, packet) in layouts {
            let next = Egress { guard, packet, ..pass.clone() };
            agenda.waiting.push_back(Pass::Egress(Box::new(next)));
        }
        Ok(())
    }

    /// Executes a pass through egress. Then transmits, recirculates or drops the packet.
    fn psa_egress(
        &mut self,
        blocks: &Blocks,
        pass: Egress,
        agenda: &mut Agenda,
    ) -> Result<(), Unsupported> {
        let Pipeline { parser, control, deparser } = &blocks.egress;
        let (packet, port, number) = (pass.packet.clone(), pass.port, pass.number);
        self.packet = packet.clone();
        let mut numbers = self.numbers(port, packet.length);
        numbers.path = pass.path;
        numbers.instance = pass.instance;
        numbers.class_of_service = pass.class_of_service;
        let state = self.initial_state(pass.guard);
        let mut values = vec![
            self.initial(parser.types[0], Fill::Undefined),
            self.initial(parser.types[1], Fill::Undefined),
            self.filled(parser.types[2], PSA.before_egress_parser, &numbers),
            self.initial(parser.types[3], Fill::Undefined),
            self.initial(parser.types[4], Fill::Undefined),
            self.initial(parser.types[5], Fill::Undefined),
        ];
        if let [.., normal, at_ingress, at_egress] = values.as_mut_slice() {
            match pass.carried {
                EgressCarried::Normal(carried) => *normal = carried,
                EgressCarried::ClonedAtIngress(carried) => *at_ingress = carried,
                EgressCarried::ClonedAtEgress(carried) => *at_egress = carried,
            }
        }
        let Some((state, values)) = self.parser_block(parser.id, state, values)? else {
            return Ok(());
        };
        let [headers, metadata, ..] = blocks::arguments::<6>(values)?;
        numbers.parser_error = state.special(Special::ParserError);
        self.errors.push((state.guard, numbers.parser_error));

        let values = vec![
            headers,
            metadata,
            self.filled(control.types[2], PSA.before_egress, &numbers),
            self.initial_says(control.types[3], &[], &numbers),
        ];
        let Some((state, values)) = self.control_block(control.id, state, values)? else {
            return Ok(());
        };
        let [headers, metadata, _, says] = blocks::arguments::<4>(values)?;
        let of = Metadata { leaves: &says, type_id: control.types[3] };
        let destination = Destination { port: Some(port), nowhere: None };
        let decisions = self.decide_at(&PSA.after_egress, &state, of, destination);
        let clone = self.copied_by_field(&PSA.after_egress, &state, of);

        self.emitted.clear();
        let values = vec![
            self.initial(deparser.types[0], Fill::Undefined),
            self.initial(deparser.types[1], Fill::Undefined),
            headers,
            metadata,
            says,
            self.filled(deparser.types[5], PSA.before_egress_deparser, &numbers),
        ];
        let Some((state, values)) = self.control_block(deparser.id, state, values)? else {
            return Ok(());
        };
        let [cloned, recirculated, ..] = blocks::arguments::<6>(values)?;
        let emitted = std::mem::take(&mut self.emitted);
        let cursor = state.special(Special::Cursor);
        let deparsed = Deparsed { emitted: &emitted, packet: &packet, cursor };
        if let Some(clone) = clone {
            let carried = EgressCarried::ClonedAtEgress(cloned.clone());
            let mut copy = self.copy(clone, carried, &packet, number);
            copy.path = self.path("CLONE_E2E");
            if self.entrance.is_some() {
                let entering = Entering {
                    guard: copy.guard,
                    entrance: Entrance::ClonedAtEgress,
                    port: copy.port,
                    carried: cloned,
                };
                self.end_before(entering, &deparsed, agenda);
            } else {
                self.enter_egress(&copy, &deparsed, agenda)?;
            }
        }
        self.after_egress(port, number, &decisions, (&deparsed, &recirculated), agenda)
    }

    /// Drops, recirculates or transmits packets that leave egress.
    fn after_egress(
        &mut self,
        port: Term,
        number: u32,
        decisions: &Decisions,
        (deparsed, recirculated): (&Deparsed<'_>, &[Term]),
        agenda: &mut Agenda,
    ) -> Result<(), Unsupported> {
        let Deparsed { emitted, packet, cursor } = deparsed;
        if let Some(guard) = decisions.dropped {
            agenda.ends.push(End { guard, fate: Fate::Dropped });
        }
        if let Some(guard) = decisions.recirculated {
            self.events.push((Event::Recirculate, guard));
            if self.entrance.is_some() {
                let entering = Entering {
                    guard,
                    entrance: Entrance::Recirculated,
                    port,
                    carried: recirculated.to_vec(),
                };
                self.end_before(entering, deparsed, agenda);
            } else {
                self.recirculate(guard, port, number, (deparsed, recirculated), agenda)?;
            }
        }
        let guard = decisions.otherwise;
        if self.terms.truth_of(guard) != Some(false) {
            let fate = Fate::Sent {
                port,
                emitted: emitted.to_vec(),
                packet: (*packet).clone(),
                cursor: *cursor,
                truncate: self.terms.ones(32),
            };
            agenda.ends.push(End { guard, fate });
        }
        Ok(())
    }

    /// Adds passes through ingress for a recirculated packet, one for each layout.
    fn recirculate(
        &mut self,
        guard: Term,
        port: Term,
        number: u32,
        (deparsed, recirculated): (&Deparsed<'_>, &[Term]),
        agenda: &mut Agenda,
    ) -> Result<(), Unsupported> {
        let Deparsed { emitted, packet, cursor } = deparsed;
        let Some(layouts) = self.layouts(guard, emitted, packet, *cursor)? else {
            self.cut(guard, "a recirculated packet of too many layouts", None);
            return Ok(());
        };
        for (guard, packet) in layouts {
            let pass = Ingress {
                guard,
                packet,
                port,
                path: "RECIRCULATE",
                carried: IngressCarried::Recirculated(recirculated.to_vec()),
                number: number + 1,
            };
            agenda.waiting.push_back(Pass::Ingress(pass));
        }
        Ok(())
    }
}
