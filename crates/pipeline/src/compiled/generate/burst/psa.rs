//! A packet of PSA behind ingress: its deparser, and for one port egress, from parser to deparser.
//!
//! The packet that the ingress deparser leaves is parsed where it lies. Whoever is copied, goes to a group or comes again
//! leaves the burst.

use super::Loop;
use crate::architecture::PSA_PORT_RECIRCULATE;
use crate::bound::Field;
use crate::compiled::burst::{ASKED_IN_EGRESS, ASKED_IN_INGRESS};
use crate::compiled::context::NEW_PACKET;
use crate::compiled::generate::{Function, context_offset};
use crate::compiled::plan::Plan;
use crate::compiled::straight::{DEPARSER, EGRESS, Psa};
use crate::layout::MetadataField as Of;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

impl Function<'_, '_> {
    /// All of a packet behind ingress, of so many bytes where it leaves from.
    pub(super) fn behind_ingress_of_psa(
        &mut self,
        looped: Loop<'_>,
        plan: &Plan,
        psa: &Psa,
        (output, length): (Value, Value),
    ) {
        let said = &psa.at_ingress;
        let drops = self.value_in(said, Of::Drop);
        let group = self.value_in(said, Of::MulticastGroup);
        let resubmits = self.value_in(said, Of::Resubmit);
        let more = self.builder.ins().bor(group, resubmits);
        self.hand_over_if_more(looped, plan, (more, drops, said), ASKED_IN_INGRESS);
        if psa.drops_early {
            self.next_if(looped, drops);
        }
        let [before, behind] = &psa.moves;
        self.block(before);
        let start = self.emitted(looped, psa.ingress_deparser, output);
        if !psa.drops_early {
            self.next_if(looped, drops);
        }
        let port = self.value_in(said, Of::EgressPort);
        let class = self.value_in(said, Of::ClassOfService);
        self.clear_locals(plan);
        self.block(behind);
        let end = self.builder.ins().iadd(output, length);
        let bytes = self.builder.ins().isub(end, start);
        self.begin_egress_packet(plan, psa, (start, bytes));
        let unicast = self.number(psa.unicast);
        let [of_parser, of_control, of_deparser] = &psa.told;
        for (field, value) in [(Of::EgressPort, port), (Of::PacketPath, unicast)] {
            self.set_in(of_parser, field, value);
        }
        let error = self.parse(psa.egress_parser);
        let now = self.now(looped);
        for (field, value) in [
            (Of::ClassOfService, class),
            (Of::EgressPort, port),
            (Of::PacketPath, unicast),
            (Of::EgressTimestamp, now),
            (Of::ParserError, error),
        ] {
            self.set_in(of_control, field, value);
        }
        self.run_block(looped, EGRESS);
        self.set_word(self.frame, plan.error as usize, port);
        let said = &psa.at_egress;
        let drops = self.value_in(said, Of::Drop);
        let again =
            self.builder.ins().icmp_imm_s(IntCC::Equal, port, PSA_PORT_RECIRCULATE.cast_signed());
        let again = self.builder.ins().uextend(cranelift_codegen::ir::types::I64, again);
        self.hand_over_if_more(looped, plan, (again, drops, said), ASKED_IN_EGRESS);
        self.set_in(of_deparser, Of::EgressPort, port);
        let first = self.emitted(looped, looped.straight.blocks[DEPARSER], start);
        self.next_if(looped, drops);
        self.send(looped, plan, port, (first, end));
    }

    /// Ends the function with a packet that is copied, or for which there is more to do and which is not dropped.
    fn hand_over_if_more(
        &mut self,
        looped: Loop<'_>,
        plan: &Plan,
        (more, drops, said): (Value, Value, &[Option<Field>]),
        what: u64,
    ) {
        let none = self.number(0);
        let more = self.builder.ins().select(drops, none, more);
        let copies = self.value_in(said, Of::Clone);
        let more = self.builder.ins().bor(more, copies);
        let (leaves, goes_on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(leaves);
        self.builder.ins().brif(more, leaves, &[], goes_on, &[]);
        self.builder.switch_to_block(leaves);
        self.hand_over(looped, plan, what);
        self.builder.switch_to_block(goes_on);
    }

    fn next_if(&mut self, looped: Loop<'_>, drops: Value) {
        let goes_on = self.builder.create_block();
        self.builder.ins().brif(drops, looped.next, &[], goes_on, &[]);
        self.builder.switch_to_block(goes_on);
    }

    /// The packet that egress parses lies where it leaves from, and what may be read of it is what is written.
    fn begin_egress_packet(&mut self, plan: &Plan, psa: &Psa, (start, bytes): (Value, Value)) {
        use context_offset as field;
        let zero = self.number(0);
        for (field, value) in [
            (field::PACKET, start),
            (field::LENGTH, bytes),
            (field::CURSOR, zero),
            (field::ERROR, zero),
            (field::LENGTH_CHANGE, zero),
        ] {
            self.set_context_field(field, value);
        }
        if !psa.keeps_length {
            self.set_word(self.context, field::RECEIVED_LENGTH, bytes);
        }
        if plan.interprets {
            let new = self.number(NEW_PACKET);
            self.set_word(self.context, field::ASKED, new);
        }
        self.parses_output();
    }
}
