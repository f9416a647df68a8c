//! The functions of v1model, which follow BMv2's simple_switch.

use super::Call;
use crate::error::RunError;
use crate::interpreter::{Interpreter, Preserved, Stop};
use crate::layout::MetadataField;
use crate::state::{Digest, SESSION_BITS};
use crate::value::Value;
use ir::bits::Bits;
use ir::{Argument, Expression, ExpressionKind, ExternFunction, Place};

impl Interpreter<'_> {
    /// Calls an extern function if it is one of v1model's. Returns whether it is.
    pub(super) fn call_v1model(
        &mut self,
        call: &Call<'_>,
        function: &ExternFunction,
    ) -> Result<bool, Stop> {
        use ExternFunction as Of;
        match function {
            Of::MarkToDrop => self.mark_to_drop(call)?,
            Of::Clone => self.effects.clone = Some((self.session(call)?, Preserved::Nothing)),
            Of::ClonePreservingFieldList => {
                let preserved = self.field_list(call, 2)?;
                self.effects.clone = Some((self.session(call)?, preserved));
            }
            // Before field lists existed, an argument named the data to preserve.
            Of::Clone3 => self.effects.clone = Some((self.session(call)?, data_places(call, 2))),
            Of::ResubmitPreservingFieldList => {
                self.effects.resubmit = Some(self.field_list(call, 0)?);
            }
            Of::Resubmit => self.effects.resubmit = Some(data_places(call, 0)),
            Of::RecirculatePreservingFieldList => {
                self.effects.recirculate = Some(self.field_list(call, 0)?);
            }
            Of::Recirculate => self.effects.recirculate = Some(data_places(call, 0)),
            Of::Truncate => {
                let length = self.input_number(call, 0)?;
                let before = self.effects.truncate.unwrap_or(u64::MAX);
                self.effects.truncate = Some(before.min(length));
            }
            Of::Digest => {
                let Some(Argument::In(data)) = call.arguments.get(1) else {
                    return Err(crate::interpreter::internal("argument of digest"));
                };
                self.effects.digest = Some((self.input_number(call, 0)?, data.clone()));
            }
            Of::VerifyChecksum | Of::VerifyChecksumWithPayload => {
                let payload = *function == Of::VerifyChecksumWithPayload;
                if let Some(computed) = self.checksum_of(call, payload)? {
                    // The numbers are compared in 64 bits, so a checksum that is wider than its
                    // field never matches.
                    let found = self.input(call, 2)?.to_pattern();
                    if found.and_then(|found| found.to_u64()) != Some(computed) {
                        self.effects.checksum_error = true;
                    }
                }
            }
            Of::UpdateChecksum | Of::UpdateChecksumWithPayload => {
                let payload = *function == Of::UpdateChecksumWithPayload;
                if let Some(computed) = self.checksum_of(call, payload)? {
                    let computed = Bits::unsigned(64, u128::from(computed));
                    self.output(call, 2, Value::Bits(computed))?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sends the message of the last `digest` call, if there was one, to the control plane.
    pub(crate) fn send_digest(&mut self) -> Result<(), RunError> {
        let Some((receiver, data)) = self.effects.digest.take() else { return Ok(()) };
        let value = match self.evaluate(&data) {
            Ok(value) => value,
            Err(Stop::Fault(fault)) => return Err(fault),
            Err(Stop::Reject(_)) => return Err(RunError::internal("message of a digest")),
        };
        let (receiver, type_id) = (Some(receiver), data.type_id);
        self.scratch.digests.push(Digest { instance: None, receiver, type_id, value });
        Ok(())
    }

    /// Runs `mark_to_drop`: sets `egress_spec` to the port for dropped packets, and `mcast_grp` to
    /// zero.
    fn mark_to_drop(&mut self, call: &Call<'_>) -> Result<(), Stop> {
        match call.arguments.first() {
            Some(Argument::InOut(place) | Argument::Out(place) | Argument::Saved { place, .. }) => {
                self.mark_place(place)
            }
            // The older form marks the packet's metadata, whatever parameters they were passed as.
            _ => {
                for variable in self.layout.standard_metadata() {
                    self.mark_place(&Place::variable(*variable))?;
                }
                Ok(())
            }
        }
    }

    fn mark_place(&mut self, place: &Place) -> Result<(), Stop> {
        let Some(type_id) = self.place_type(place) else { return Ok(()) };
        let place = self.resolve(place)?;
        let Some(mut metadata) = self.peek(&place).cloned() else { return Ok(()) };
        let drop_port = self.layout.drop_port.into();
        self.layout.set_field(&mut metadata, type_id, MetadataField::EgressSpec, drop_port);
        self.layout.set_field(&mut metadata, type_id, MetadataField::McastGrp, 0);
        self.write(&place, metadata)
    }

    fn session(&self, call: &Call<'_>) -> Result<u32, Stop> {
        Ok((self.input_number(call, 1)? & SESSION_BITS) as u32)
    }

    fn field_list(&self, call: &Call<'_>, position: usize) -> Result<Preserved, Stop> {
        let number = u32::try_from(self.input_number(call, position)?);
        Ok(number.map_or(Preserved::Nothing, Preserved::FieldList))
    }

    /// Computes the checksum that a call of `verify_checksum` or `update_checksum` describes.
    /// Returns `None` if the call's condition is false or the checksum's field is in an invalid
    /// header.
    fn checksum_of(&mut self, call: &Call<'_>, payload: bool) -> Result<Option<u64>, Stop> {
        if !self.input_bool(call, 0)? {
            return Ok(None);
        }
        let place = match call.arguments.get(2) {
            Some(Argument::In(expression)) => match &expression.kind {
                ExpressionKind::Read(place) => Some(place),
                _ => None,
            },
            Some(Argument::InOut(place) | Argument::Saved { place, .. }) => Some(place),
            _ => None,
        };
        if let Some(place) = place
            && self.is_in_invalid_header(place)?
        {
            return Ok(None);
        }
        let mut data = self.input_data(call, 1)?;
        if payload {
            data.extend_from_slice(self.payload());
        }
        let algorithm = self.input_member(call, 3)?.algorithm.clone();
        self.hash(&algorithm, &data).map(Some)
    }

    /// Returns the error for an extern function that no architecture of this crate has.
    pub(super) fn unknown(&self, call: &Call<'_>, function: &ExternFunction) -> Stop {
        let place = self.at(call.location);
        RunError::UnknownExtern { place, name: function.to_string() }.into()
    }
}

/// Returns the variables and fields that an argument names, whose values a clone must preserve.
fn data_places(call: &Call<'_>, position: usize) -> Preserved {
    fn collect(expression: &Expression, places: &mut Vec<Place>) {
        match &expression.kind {
            ExpressionKind::Read(place) => places.push(place.clone()),
            ExpressionKind::Composite(fields) => {
                fields.iter().for_each(|field| collect(field, places));
            }
            _ => {}
        }
    }
    let mut places = Vec::new();
    if let Some(Argument::In(expression)) = call.arguments.get(position) {
        collect(expression, &mut places);
    }
    Preserved::Places(places)
}
