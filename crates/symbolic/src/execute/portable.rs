//! Executes the externs of PSA and PNA.

use super::externs::Call;
use super::{Executor, Hashed, Member, Stop, unsupported};
use crate::hash;
use crate::state::{Special, State};
use crate::term::Term;
use architectures::{MetadataField, PSA_PORT_RECIRCULATE};
use ir::{
    Argument, ExternFunction, ExternId, ExternInstance, ExternMethod, ExternType, Location, Type,
    Value,
};

/// The number of bits of the sum that an `InternetChecksum` object holds.
pub(super) const SUM_BITS: u32 = 16;
/// The clone session that sends copies to the control plane (`PSA_CLONE_SESSION_TO_CPU` and
/// `PNA_MIRROR_SESSION_TO_CPU`).
const SESSION_TO_CPU: u128 = 0;

impl Executor<'_> {
    /// Executes a call of a function of PSA or PNA.
    pub(super) fn call_portable(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        function: &ExternFunction,
        location: Option<Location>,
    ) -> Result<(), Stop> {
        use ExternFunction as Of;
        match function {
            Of::PsaCloneE2e
            | Of::PsaCloneI2e
            | Of::PsaNormal
            | Of::PsaRecirculate
            | Of::PsaResubmit => {
                let takes = self.takes_path(state, call, function)?;
                self.store_result(state, call, takes)
            }
            Of::DropPacket => {
                let no = self.terms.truth(false);
                state.set_special(Special::HasPort, no);
                Ok(())
            }
            Of::SendToPort => {
                let port = self.input(state, call, 0)?;
                let (port, yes) = (self.terms.resize(port, 32), self.terms.truth(true));
                state.set_special(Special::HasPort, yes);
                state.set_special(Special::Port, port);
                Ok(())
            }
            Of::MirrorPacket => self.mirror_packet(state, call, location),
            Of::SelectByDirection => self.select_by_direction(state, call),
            Of::IsHostPort | Of::IsNetPort => {
                let is_host = self.host_port();
                let is = match function {
                    Of::IsHostPort => is_host,
                    _ => self.terms.not(is_host),
                };
                self.store_result(state, call, is)
            }
            Of::AllocateFlowId => {
                let id = self.unknown(32);
                self.store_result(state, call, id)
            }
            Of::AddEntry => {
                let always = self.terms.truth(true);
                let added = self.add_entry(state, call, 0, always)?;
                self.store_status(state, call, added)
            }
            Of::AddEntryIf => {
                let condition = self.input(state, call, 0)?;
                let added = self.add_entry(state, call, 1, condition)?;
                self.store_status(state, call, added)
            }
            Of::RestartExpireTimer
            | Of::SetEntryExpireTime
            | Of::SetEntryExpireTimeIf
            | Of::UpdateExpireInfo => self.call_timer(state, call, function),
            other => Err(unsupported(format!("a call of `{other}`"))),
        }
    }

    /// Stores the result of a call at the place to which it is assigned.
    pub(super) fn store_result(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        value: Term,
    ) -> Result<(), Stop> {
        if let Some(place) = call.result {
            let place = self.locate(state, place)?;
            self.write_resized(state, &place, value);
        }
        Ok(())
    }

    /// Stores the result of `add_entry`. It is 0 for success and 1 otherwise, but before version
    /// 0.7 of PNA it is a `bool` that is true on success.
    fn store_status(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        added: Term,
    ) -> Result<(), Stop> {
        let type_id = call.result.and_then(|place| self.program.place_type(place));
        let is_bool = type_id.is_some_and(|id| self.program.types.get(id) == Type::Bool);
        let status = if is_bool { added } else { self.terms.not(added) };
        self.store_result(state, call, status)
    }

    /// Returns whether the output metadata in a deparser request the packet path that a function
    /// such as `psa_resubmit` tests (PSA specification, section 6).
    fn takes_path(
        &mut self,
        state: &State,
        call: &Call<'_>,
        function: &ExternFunction,
    ) -> Result<Term, Stop> {
        let dropped = self.flag(state, call, MetadataField::Drop)?;
        let stays = self.terms.not(dropped);
        let wanted = match function {
            ExternFunction::PsaCloneI2e | ExternFunction::PsaCloneE2e => {
                return self.flag(state, call, MetadataField::Clone);
            }
            ExternFunction::PsaResubmit => self.flag(state, call, MetadataField::Resubmit)?,
            ExternFunction::PsaNormal => {
                let resubmits = self.flag(state, call, MetadataField::Resubmit)?;
                self.terms.not(resubmits)
            }
            _ => {
                let port = self.field_of_argument(state, call, 1, MetadataField::EgressPort)?;
                let width = self.terms.width_of(port);
                let recirculates = self.terms.number(width, PSA_PORT_RECIRCULATE.into());
                self.terms.equal(port, recirculates)
            }
        };
        Ok(self.terms.and(stays, wanted))
    }

    /// Returns whether a field of the metadata in the call's first argument is set.
    fn flag(&mut self, state: &State, call: &Call<'_>, field: MetadataField) -> Result<Term, Stop> {
        let number = self.field_of_argument(state, call, 0, field)?;
        let zero = self.terms.zero(self.terms.width_of(number));
        Ok(self.terms.not_equal(number, zero))
    }

    /// Returns the value of a metadata field, where the metadata are the argument at `position`.
    fn field_of_argument(
        &mut self,
        state: &State,
        call: &Call<'_>,
        position: usize,
        field: MetadataField,
    ) -> Result<Term, Stop> {
        let Some(Argument::In(expression)) = call.arguments.get(position) else {
            return Err(unsupported("metadata of this kind as an argument"));
        };
        let value = self.value(state, expression)?;
        let metadata = super::glue::Metadata { leaves: &value, type_id: expression.type_id };
        Ok(self.field_number(metadata, field))
    }

    /// Returns whether the packet's port is one of the host. A test cannot declare such ports, so
    /// packets for which this holds are not followed.
    pub(super) fn host_port(&mut self) -> Term {
        if let Some(known) = self.from_host {
            return known;
        }
        let is_host = self.chosen(1);
        self.from_host = Some(is_host);
        self.cut(is_host, "a port of the host, which no script can declare", None);
        is_host
    }

    /// Executes `SelectByDirection(direction, from the network, from the host)`. Before version
    /// 0.7, the first argument is a `bool` that says whether the port is one of the network.
    fn select_by_direction(&mut self, state: &mut State, call: &Call<'_>) -> Result<(), Stop> {
        let [Argument::In(direction), Argument::In(from_net), Argument::In(from_host)] =
            call.arguments
        else {
            return Err(unsupported("`SelectByDirection` with arguments of this kind"));
        };
        let number = self.scalar(state, direction)?;
        let is_net = if self.program.types.get(direction.type_id) == Type::Bool {
            number
        } else {
            let from_network = self.enumerator(&["PNA_Direction_t"], "NET_TO_HOST");
            let wanted = self.terms.number(self.terms.width_of(number), from_network.into());
            self.terms.equal(number, wanted)
        };
        let (net, host) = (self.value(state, from_net)?, self.value(state, from_host)?);
        let chosen = self.choose(is_net, &net, &host);
        match (chosen.as_slice(), call.result) {
            ([only], _) => self.store_result(state, call, *only),
            (several, Some(place)) => {
                let place = self.locate(state, place)?;
                self.write(state, &place, several);
                Ok(())
            }
            (_, None) => Ok(()),
        }
    }

    /// Executes `mirror_packet(slot, session)`.
    fn mirror_packet(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        location: Option<Location>,
    ) -> Result<(), Stop> {
        let slot = self.input(state, call, 0)?;
        let slot = self.terms.resize(slot, 32);
        let session = self.input(state, call, 1)?;
        let session = self.terms.resize(session, 32);
        let other_slot = self.terms.not_equal(slot, state.special(Special::CloneList));
        let twice = self.terms.and(state.special(Special::Clone), other_slot);
        let reached = self.terms.and(state.guard, twice);
        self.cut(reached, "a packet that is mirrored in two slots", location);
        let yes = self.terms.truth(true);
        state.set_special(Special::Clone, yes);
        state.set_special(Special::CloneSession, session);
        state.set_special(Special::CloneList, slot);
        Ok(())
    }

    /// Assumes that the clone session to the control plane exists, as it does in a switch that has
    /// not been configured. A test whose packet uses this session configures it all the same.
    pub(super) fn assume_session_to_cpu(&mut self, copied: Term, session: Term, member: Member) {
        let width = self.terms.width_of(session);
        let to_cpu = self.terms.number(width, SESSION_TO_CPU);
        let is_to_cpu = self.terms.equal(session, to_cpu);
        let uses = self.terms.and(copied, is_to_cpu);
        let exists = self.terms.implies(uses, member.exists);
        self.assumptions.push(exists);
    }

    /// Returns the number of a member of an enumeration, or 0 if the program does not declare it.
    pub(super) fn enumerator(&self, of: &[&str], member: &str) -> u32 {
        let enums = &self.program.types.enums;
        let found = enums.iter().find(|known| of.contains(&known.name.as_str()));
        let position = found.and_then(|known| known.members.iter().position(|one| one == member));
        position.and_then(|position| u32::try_from(position).ok()).unwrap_or(0)
    }

    /// Executes a call of a method of a PSA or PNA extern object.
    pub(super) fn call_portable_method(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        id: ExternId,
        instance: &ExternInstance,
        (method, location): (&ExternMethod, Option<Location>),
    ) -> Result<(), Stop> {
        use ExternMethod as Method;
        use ExternType as Of;
        match (&instance.extern_type, method) {
            (Of::Counter | Of::DirectCounter, Method::Count) | (Of::Digest, Method::Pack) => Ok(()),
            (Of::Register, Method::Read) => {
                let index = self.input(state, call, 0)?;
                let inside = self.inside(id, index);
                let value = self.read_register(state, id, index, inside)?;
                let beyond = self.undefined(self.terms.width_of(value));
                let value = self.terms.if_then_else(inside, value, beyond);
                self.store_result(state, call, value)
            }
            (Of::Register, Method::Write) => self.write_register(state, call, id),
            (Of::Meter, Method::Execute | Method::DpdkExecute) => {
                self.execute_meter(state, call, 1, location)
            }
            (Of::DirectMeter, Method::Execute | Method::DpdkExecute) => {
                self.execute_meter(state, call, 0, location)
            }
            (Of::Hash, Method::GetHash) => self.get_hash(state, call, instance),
            (Of::InternetChecksum, _) => self.internet_checksum(state, call, id, method),
            (Of::Random, Method::Read) => {
                let number = self.unknown(64);
                self.store_result(state, call, number)
            }
            (other, method) => Err(unsupported(format!("a call of `{other}.{method}`"))),
        }
    }

    /// Executes a meter. The colour is unknown, so only packets that the meter marks green are
    /// followed, as a meter without configured rates does.
    fn execute_meter(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        color_at: usize,
        location: Option<Location>,
    ) -> Result<(), Stop> {
        let green = self.enumerator(&["PSA_MeterColor_t", "PNA_MeterColor_t"], "GREEN");
        let green = self.terms.number(32, green.into());
        let color = self.chosen(32);
        let mut other = self.terms.not_equal(color, green);
        if let Some(Argument::In(before)) = call.arguments.get(color_at)
            && matches!(self.program.types.get(before.type_id), Type::Enum(_))
        {
            let before = self.scalar(state, before)?;
            let not_green = self.terms.not_equal(before, green);
            other = self.terms.or(other, not_green);
        }
        let reached = self.terms.and(state.guard, other);
        self.cut(reached, "a packet that a meter does not mark green", location);
        self.store_result(state, call, color)
    }

    /// Executes `get_hash(data)` or `get_hash(base, data, max)`.
    fn get_hash(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        instance: &ExternInstance,
    ) -> Result<(), Stop> {
        let argument = instance.arguments.first();
        let name = argument.and_then(|argument| {
            let Value::Enum(member) = &argument.value else { return None };
            let Type::Enum(id) = self.program.types.get(argument.type_id) else { return None };
            self.program.types.enums.get(id.index())?.members.get(*member as usize).cloned()
        });
        let name = name.ok_or_else(|| unsupported("a hash by an algorithm that is no constant"))?;
        let in_range = call.arguments.len() >= 3;
        let holds = self.terms.truth(true);
        let inputs = self.inputs_of_argument(state, call, usize::from(in_range), holds)?;
        let mut hash: Option<Term> = None;
        for (condition, data) in inputs.unwrap_or_default().into_iter().rev() {
            // The bits are aligned to the right.
            let width = self.terms.width_of(data);
            let before = self.terms.zero(width.next_multiple_of(8) - width);
            let data = self.terms.concatenate(before, data);
            let one = self.hashed(&name, data);
            let one = one.ok_or_else(|| unsupported(format!("a hash by `{name}`")))?;
            hash = Some(match hash {
                None => one,
                Some(other) => self.terms.if_then_else(condition, one, other),
            });
        }
        let Some(hash) = hash else {
            let unknown = self.unknown(64);
            return self.store_result(state, call, unknown);
        };
        if !in_range {
            return self.store_result(state, call, hash);
        }
        let (base, max) = (self.input(state, call, 0)?, self.input(state, call, 2)?);
        if self.terms.width_of(max) > 64 || self.terms.width_of(base) > 64 {
            return Err(unsupported("a hash in a range of more than 64 bits"));
        }
        // The sum is computed without overflow, and the place keeps its low bits.
        let (base, max) = (self.terms.resize(base, 65), self.terms.resize(max, 64));
        let offset = self.remainder(hash, max);
        let zero = self.terms.zero(64);
        let no_range = self.terms.equal(max, zero);
        let offset = self.terms.if_then_else(no_range, zero, offset);
        let offset = self.terms.resize(offset, 65);
        let sum = self.terms.add(base, offset);
        self.store_result(state, call, sum)
    }

    /// Executes a method of an `InternetChecksum` (PSA specification, section 7.6.2).
    fn internet_checksum(
        &mut self,
        state: &mut State,
        call: &Call<'_>,
        id: ExternId,
        method: &ExternMethod,
    ) -> Result<(), Stop> {
        let at = self.sums.get(&id).copied();
        let at = at.ok_or_else(|| unsupported("a unit for checksums that does not exist"))?;
        let sum = state.leaf(at);
        let new = match method {
            ExternMethod::Clear => self.terms.zero(SUM_BITS),
            ExternMethod::Add | ExternMethod::Subtract => {
                let holds = self.terms.truth(true);
                let inputs = self.inputs_of_argument(state, call, 0, holds)?;
                let mut new: Option<Term> = None;
                for (condition, data) in inputs.unwrap_or_default().into_iter().rev() {
                    let terms = &mut self.terms;
                    let (algorithm, one) = match method {
                        ExternMethod::Add => ("sum", hash::ones_complement_sum(terms, sum, data)),
                        _ => ("difference", hash::ones_complement_difference(terms, sum, data)),
                    };
                    let data = terms.concatenate(sum, data);
                    let algorithm = algorithm.to_owned();
                    self.hashes.push(Hashed { algorithm, data, hash: one });
                    new = Some(match new {
                        None => one,
                        Some(other) => self.terms.if_then_else(condition, one, other),
                    });
                }
                new.unwrap_or_else(|| self.unknown(SUM_BITS))
            }
            ExternMethod::SetState => {
                let given = self.input(state, call, 0)?;
                self.terms.resize(given, SUM_BITS)
            }
            ExternMethod::Get => {
                let checksum = self.terms.not(sum);
                return self.store_result(state, call, checksum);
            }
            ExternMethod::GetState => return self.store_result(state, call, sum),
            other => return Err(unsupported(format!("a call of `InternetChecksum.{other}`"))),
        };
        state.set(at, new);
        Ok(())
    }

    /// Clears the sums of all `InternetChecksum` objects, which start anew in each parser and
    /// control.
    pub(super) fn clear_sums(&mut self, state: &mut State) {
        let zero = self.terms.zero(SUM_BITS);
        for at in self.sums.values() {
            state.set(*at, zero);
        }
    }
}
