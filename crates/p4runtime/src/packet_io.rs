//! The metadata of packet-ins and packet-outs, resolved by name and width for any pipeline.
//!
//! A P4 program declares the header that accompanies controller packets, and P4Info lists its
//! fields under `controller_packet_metadata` (specification 1.5, sections
//! "ControllerPacketMetadata" and "Packet I/O"). Names, ids and widths differ between programs, so
//! both layouts are resolved once per pipeline. After that, a packet costs one small allocation
//! (the list itself) and no lookup by name.

mod header;

pub use self::header::SplitError;

use bytes::Bytes;
use entities::Translations;
use entities::schema::{EGRESS_NAMES, INGRESS_NAMES, MetadataId, PacketHeader, TranslatedTypeId};
use thiserror::Error;

use crate::{
    p4info::Schema,
    proto::{config, v1},
};

/// The encoding of packet-in metadata values. Receivers must accept either form (section
/// "Bytestrings").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteString {
    /// The shortest byte string, which the specification requires of servers.
    #[default]
    Canonical,
    /// All bytes of the field's width, as ONOS and older servers write them.
    FullWidth,
}

/// The metadata fields that a packet-out may omit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingMetadata {
    /// Padding fields may be missing, because ONOS sends none.
    #[default]
    AcceptPadding,
    /// Every field must be present, as the specification requires.
    Refuse,
}

/// The reason why the metadata of a packet-out does not fit the pipeline. The status code is
/// `INVALID_ARGUMENT`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// The field is not part of the header.
    #[error("Unknown metadata field id {id}.")]
    Unknown {
        /// The id of the unknown field in the packet-out.
        id: u32,
    },
    /// The field occurs more than once.
    #[error("Metadata field id {id} occurs more than once.")]
    Repeated {
        /// The id of the repeated field in the packet-out.
        id: u32,
    },
    /// The field has no bytes; the number zero is one zero byte.
    #[error("Metadata field id {id} ({name}) is empty.")]
    Empty {
        /// The id of the empty field in the packet-out.
        id: u32,
        /// The name of the field in P4Info.
        name: String,
    },
    /// The number does not fit the field.
    #[error("Metadata field id {id} ({name}) does not fit its {bits} bits.")]
    TooWide {
        /// The id of the field in the packet-out.
        id: u32,
        /// The name of the field in P4Info.
        name: String,
        /// The largest number of bits of a value: the smaller of the field's widths in P4Info and
        /// in the program's header.
        bits: u32,
    },
    /// The field's values are strings for controllers, but P4Info does not name the type of these
    /// strings.
    #[error(
        "Metadata field id {id} ({name}) has a width of 0, which stands for a string, but no \
         type_name of a type that P4Info translates to strings."
    )]
    Untranslated {
        /// The id of the field in P4Info.
        id: u32,
        /// The name of the field in P4Info.
        name: String,
    },
    /// The string has no number, so the program cannot represent it.
    #[error("Metadata field id {id} ({name}): {reason}.")]
    NoNumber {
        /// The id of the field in P4Info.
        id: u32,
        /// The name of the field in P4Info.
        name: String,
        /// The description of the string.
        reason: String,
    },
    /// A required field is absent.
    #[error("Metadata field id {id} ({name}) is missing.")]
    Missing {
        /// The id of the missing field in P4Info.
        id: u32,
        /// The name of the missing field in P4Info.
        name: String,
    },
}

/// The name of the header of packet-ins in P4Info.
const PACKET_IN: &str = "packet_in";
/// The name of the header of packet-outs in P4Info.
const PACKET_OUT: &str = "packet_out";

/// One field of a controller packet header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    id: u32,
    name: String,
    kind: Kind,
    /// The width in bits that the field has in the program's header. If the type of the field is
    /// translated, this width differs from the one that the controller sees.
    header_bits: u32,
    /// The translated type of the field, if its values are strings and P4Info names the type.
    translated: Option<TranslatedTypeId>,
    padding: bool,
}

/// The form in which a controller sees the values of a metadata field: a number of this width in
/// bits, or a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bits(u32),
    /// A type that the controller sees as a string (`sdn_string`).
    Text,
}

impl Field {
    /// Returns the id of the field in P4Info.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns the name of the field in P4Info.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the width in bits that the field has for the controller, or `None` for a string.
    #[must_use]
    pub fn bits(&self) -> Option<u32> {
        match self.kind {
            Kind::Bits(bits) => Some(bits),
            Kind::Text => None,
        }
    }

    /// Returns whether the field only pads the header to a whole number of bytes.
    #[must_use]
    pub fn is_padding(&self) -> bool {
        self.padding
    }

    /// Returns the encoded value of this field for `number`. If the values of the field are
    /// strings, the value consists of the number's decimal digits. The number must fit the field.
    #[must_use]
    pub fn value(&self, number: u32, form: ByteString) -> Bytes {
        match (self.kind, form) {
            (Kind::Text, _) => Bytes::from(number.to_string()),
            (Kind::Bits(_), ByteString::Canonical) => {
                number_bytes(number, 4 - number.leading_zeros() as usize / 8)
            }
            (Kind::Bits(bits), ByteString::FullWidth) => number_bytes(number, bytes_for(bits)),
        }
    }

    fn new(metadata: &config::controller_packet_metadata::Metadata, kind: Kind) -> Self {
        Self {
            id: metadata.id,
            name: metadata.name.clone(),
            header_bits: match (metadata.bitwidth, kind) {
                (0, Kind::Bits(bits)) => bits,
                (bits, _) => bits.unsigned_abs(),
            },
            kind,
            translated: None,
            padding: is_padding(&metadata.name, &metadata.annotations),
        }
    }

    fn check(&self, value: &[u8]) -> Result<(), MetadataError> {
        let Kind::Bits(bits) = self.kind else { return Ok(()) };
        let bits = bits.min(self.header_bits);
        if value.is_empty() {
            return Err(MetadataError::Empty { id: self.id, name: self.name.clone() });
        }
        if significant_bits(value) > u64::from(bits) {
            return Err(MetadataError::TooWide { id: self.id, name: self.name.clone(), bits });
        }
        Ok(())
    }

    fn number(&self, value: &[u8]) -> Option<u32> {
        match self.kind {
            Kind::Text => std::str::from_utf8(value).ok()?.parse().ok(),
            Kind::Bits(_) if significant_bits(value) > 32 => None,
            Kind::Bits(_) => {
                let shift = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
                Some(value.iter().fold(0, shift))
            }
        }
    }
}

/// The layout of a controller header (of packet-ins or packet-outs), and the index of its port
/// field.
#[derive(Clone, Debug)]
struct Layout {
    fields: Vec<Field>,
    port: Option<usize>,
    form: ByteString,
    /// The metadata of a packet in which all fields are zero.
    zero: Vec<v1::PacketMetadata>,
}

impl Layout {
    fn of(p4info: &config::P4Info, header: &str, ports: &[&str], form: ByteString) -> Option<Self> {
        let fields = header_fields(p4info, header)?;
        let zero = |field: &Field| v1::PacketMetadata {
            metadata_id: field.id,
            value: field.value(0, form),
        };
        Some(Self {
            port: find(&fields, ports),
            zero: fields.iter().map(zero).collect(),
            fields,
            form,
        })
    }

    fn port(&self) -> Option<&Field> {
        self.port.map(|index| &self.fields[index])
    }

    /// Returns the layout with the translated types of its fields, which `header` declares.
    fn with_types(mut self, header: Option<&PacketHeader>) -> Self {
        for field in &mut self.fields {
            let declared = header.and_then(|header| header.field(MetadataId(field.id)));
            field.translated = declared.and_then(|declared| declared.translated);
        }
        self
    }

    /// Returns the layout with the field widths of the program's header. `widths` returns these
    /// widths, given the names of the header and of its fields. If the program has no such header,
    /// `widths` returns `None`, and string fields get the widths of their types in `translations`.
    fn with_widths(
        &self,
        header: &str,
        translations: Option<&Translations>,
        widths: impl FnOnce(&str, &[&str]) -> Option<Vec<u32>>,
    ) -> Self {
        let names: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
        let mut layout = self.clone();
        if let Some(widths) = widths(header, &names).filter(|widths| widths.len() == names.len()) {
            for (field, bits) in layout.fields.iter_mut().zip(widths) {
                field.header_bits = bits;
            }
        } else if let Some(translations) = translations {
            for field in &mut layout.fields {
                let bits = field.translated.and_then(|of| translations.bits(of));
                field.header_bits = bits.unwrap_or(field.header_bits);
            }
        }
        layout
    }

    /// Returns an error that names the first string field whose type P4Info does not name, if there
    /// is one.
    fn check_types(&self) -> Result<(), MetadataError> {
        let is_unknown = |field: &&Field| field.kind == Kind::Text && field.translated.is_none();
        match self.fields.iter().find(is_unknown) {
            Some(Field { id, name, .. }) => {
                Err(MetadataError::Untranslated { id: *id, name: name.clone() })
            }
            None => Ok(()),
        }
    }

    fn metadata(&self, port: u32) -> Vec<v1::PacketMetadata> {
        let mut metadata = self.zero.clone();
        if let Some(index) = self.port {
            metadata[index].value = self.fields[index].value(port, self.form);
        }
        metadata
    }
}

/// The layout of the metadata of packet-ins.
#[derive(Clone, Debug)]
pub struct PacketInLayout(Layout);

impl PacketInLayout {
    /// Returns the layout of a pipeline's packet-ins, or `None` if its P4Info has no header named
    /// `packet_in`.
    #[must_use]
    pub fn from_schema(schema: &Schema, form: ByteString) -> Option<Self> {
        let layout = Self::from_p4info(schema.p4info(), form)?;
        Some(Self(layout.0.with_types(schema.packet_in())))
    }

    fn from_p4info(p4info: &config::P4Info, form: ByteString) -> Option<Self> {
        Layout::of(p4info, PACKET_IN, &INGRESS_NAMES, form).map(Self)
    }

    /// Returns the field with the ingress port of a packet-in, if the header has one.
    #[must_use]
    pub fn ingress_port(&self) -> Option<&Field> {
        self.0.port()
    }

    /// Returns this layout with the field widths of the program's header. `widths` returns these
    /// widths, given the names of the header and of its fields. If the program has no such header,
    /// `widths` returns `None`, and string fields get the widths of their types in `translations`.
    #[must_use]
    pub fn with_widths(
        &self,
        translations: Option<&Translations>,
        widths: impl FnOnce(&str, &[&str]) -> Option<Vec<u32>>,
    ) -> Self {
        Self(self.0.with_widths(PACKET_IN, translations, widths))
    }

    /// Checks that P4Info names the type of every field whose values are strings for controllers.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first field for which this is not so.
    pub fn check_types(&self) -> Result<(), MetadataError> {
        self.0.check_types()
    }

    /// Returns the metadata of a packet-in from a port, with all other fields zero.
    #[must_use]
    pub fn metadata(&self, ingress_port: u32) -> Vec<v1::PacketMetadata> {
        self.0.metadata(ingress_port)
    }

    /// Returns the ingress port of a packet-in. This is the inverse of
    /// [`PacketInLayout::metadata`], for controllers.
    #[must_use]
    pub fn read_ingress_port(&self, metadata: &[v1::PacketMetadata]) -> Option<u32> {
        read(self.ingress_port()?, metadata)
    }
}

/// The layout of the metadata of packet-outs.
#[derive(Clone, Debug)]
pub struct PacketOutLayout {
    layout: Layout,
    ingress: Option<usize>,
}

impl PacketOutLayout {
    /// Returns the layout of a pipeline's packet-outs, or `None` if its P4Info has no header named
    /// `packet_out`.
    #[must_use]
    pub fn from_schema(schema: &Schema, form: ByteString) -> Option<Self> {
        let Self { layout, ingress } = Self::from_p4info(schema.p4info(), form)?;
        Some(Self { layout: layout.with_types(schema.packet_out()), ingress })
    }

    fn from_p4info(p4info: &config::P4Info, form: ByteString) -> Option<Self> {
        let layout = Layout::of(p4info, PACKET_OUT, &EGRESS_NAMES, form)?;
        Some(Self { ingress: find(&layout.fields, &INGRESS_NAMES), layout })
    }

    /// Returns the fields of a packet-out's header in the order of P4Info.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.layout.fields
    }

    /// Returns the field with the egress port of a packet-out, if the header has one.
    #[must_use]
    pub fn egress_port(&self) -> Option<&Field> {
        self.layout.port()
    }

    /// Returns the egress port of a packet-out, or `None` if the metadata lacks it.
    #[must_use]
    pub fn read_egress_port(&self, metadata: &[v1::PacketMetadata]) -> Option<u32> {
        read(self.egress_port()?, metadata)
    }

    /// Returns the ingress port that a packet-out requests for its packet, or `None` if the
    /// metadata lacks it.
    #[must_use]
    pub fn read_ingress_port(&self, metadata: &[v1::PacketMetadata]) -> Option<u32> {
        read(self.ingress.map(|index| &self.layout.fields[index])?, metadata)
    }

    /// Returns the metadata of a packet-out to a port, with all other fields zero. This is for
    /// controllers.
    #[must_use]
    pub fn metadata(&self, egress_port: u32) -> Vec<v1::PacketMetadata> {
        self.layout.metadata(egress_port)
    }

    /// Returns this layout with the field widths of the program's header. `widths` returns these
    /// widths, given the names of the header and of its fields. If the program has no such header,
    /// `widths` returns `None`, and string fields get the widths of their types in `translations`.
    #[must_use]
    pub fn with_widths(
        &self,
        translations: Option<&Translations>,
        widths: impl FnOnce(&str, &[&str]) -> Option<Vec<u32>>,
    ) -> Self {
        let layout = self.layout.with_widths(PACKET_OUT, translations, widths);
        Self { layout, ingress: self.ingress }
    }

    /// Checks that every string in the metadata of a packet-out has a number.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first field whose string has no number.
    pub fn check_translated(
        &self,
        metadata: &[v1::PacketMetadata],
        translations: &Translations,
    ) -> Result<(), MetadataError> {
        self.layout.check_types()?;
        for field in self.fields() {
            let value = metadata.iter().find(|one| one.metadata_id == field.id);
            if let (Some(of), Some(value)) = (field.translated, value)
                && translations.number(of, &value.value).is_none()
            {
                let reason = translations.unknown(of, &value.value).message().to_owned();
                return Err(MetadataError::NoNumber {
                    id: field.id,
                    name: field.name.clone(),
                    reason,
                });
            }
        }
        Ok(())
    }

    /// Checks that the metadata of a packet-out fits the pipeline.
    ///
    /// # Errors
    ///
    /// Returns an error if the metadata does not fit. The packet must then be dropped.
    pub fn check(
        &self,
        metadata: &[v1::PacketMetadata],
        missing: MissingMetadata,
    ) -> Result<(), MetadataError> {
        for (index, one) in metadata.iter().enumerate() {
            let id = one.metadata_id;
            let Some(field) = self.layout.fields.iter().find(|field| field.id == id) else {
                return Err(MetadataError::Unknown { id });
            };
            // The ids before this one are distinct and known, so `index` stays below the number of
            // fields.
            if metadata[..index].iter().any(|earlier| earlier.metadata_id == id) {
                return Err(MetadataError::Repeated { id });
            }
            field.check(&one.value)?;
        }
        if metadata.len() == self.layout.fields.len() {
            return Ok(());
        }
        let there = |field: &Field| metadata.iter().any(|one| one.metadata_id == field.id);
        let allowed = |field: &Field| field.padding && missing == MissingMetadata::AcceptPadding;
        match self.layout.fields.iter().find(|field| !there(field) && !allowed(field)) {
            Some(field) => Err(MetadataError::Missing { id: field.id, name: field.name.clone() }),
            None => Ok(()),
        }
    }
}

fn header_fields(p4info: &config::P4Info, header: &str) -> Option<Vec<Field>> {
    let named = |metadata: &&config::ControllerPacketMetadata| {
        metadata.preamble.as_ref().is_some_and(|preamble| preamble.name == header)
    };
    let found = p4info.controller_packet_metadata.iter().find(named)?;
    let field = |metadata| Field::new(metadata, kind_of(p4info, metadata));
    Some(found.metadata.iter().map(field).collect())
}

fn kind_of(
    p4info: &config::P4Info,
    metadata: &config::controller_packet_metadata::Metadata,
) -> Kind {
    use config::{p4_new_type_spec::Representation, p4_new_type_translation::SdnType};

    let declared = Kind::Bits(metadata.bitwidth.unsigned_abs());
    let types = p4info.type_info.as_ref().zip(metadata.type_name.as_ref());
    let found = types.and_then(|(types, name)| types.new_types.get(&name.name));
    let Some(Representation::TranslatedType(translated)) =
        found.and_then(|found| found.representation.as_ref())
    else {
        return declared;
    };
    match translated.sdn_type {
        Some(SdnType::SdnBitwidth(bits)) => Kind::Bits(bits.unsigned_abs()),
        Some(SdnType::SdnString(_)) => Kind::Text,
        None => declared,
    }
}

fn is_padding(name: &str, annotations: &[String]) -> bool {
    let name = name.trim_start_matches('_');
    name.starts_with("pad")
        || name.ends_with("_pad")
        || name.ends_with("_padding")
        || annotations.iter().any(|annotation| annotation.starts_with("@padding"))
}

fn find(fields: &[Field], names: &[&str]) -> Option<usize> {
    names.iter().find_map(|name| fields.iter().position(|field| field.name == *name))
}

fn read(field: &Field, metadata: &[v1::PacketMetadata]) -> Option<u32> {
    let found = metadata.iter().find(|one| one.metadata_id == field.id)?;
    field.number(&found.value)
}

fn bytes_for(bits: u32) -> usize {
    bits.div_ceil(8).max(1) as usize
}

fn significant_bits(value: &[u8]) -> u64 {
    match value.iter().position(|byte| *byte != 0) {
        None => 0,
        Some(first) => (value.len() - first) as u64 * 8 - u64::from(value[first].leading_zeros()),
    }
}

/// The big-endian bytes of the smallest numbers, four for each, so that the port numbers of most
/// packets need no allocation.
static NUMBERS: [[u8; 4]; 512] = {
    let mut numbers = [[0; 4]; 512];
    let mut number = 0;
    while number < numbers.len() {
        numbers[number] = (number as u32).to_be_bytes();
        number += 1;
    }
    numbers
};

/// Returns a number in big-endian order: in `width` bytes, or in more if the number needs more. The
/// result has at least one byte.
fn number_bytes(number: u32, width: usize) -> Bytes {
    let needed = 4 - number.leading_zeros() as usize / 8;
    let width = width.max(needed).max(1);
    match NUMBERS.get(number as usize) {
        Some(bytes) if width <= 4 => Bytes::from_static(&bytes[4 - width..]),
        _ => {
            let mut bytes = vec![0; width.saturating_sub(4)];
            bytes.extend_from_slice(&number.to_be_bytes()[4_usize.saturating_sub(width)..]);
            bytes.into()
        }
    }
}

#[cfg(test)]
mod tests;
