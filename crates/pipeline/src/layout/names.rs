//! The names that architectures give to metadata, errors and enumeration members. They are looked
//! up once, when a program is loaded, and replaced by positions.

use architectures::MetadataField;
use ir::{Program, Type, TypeId};

use crate::externs::meter::Color;
use ir::hash::Algorithm;

macro_rules! known {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            $($variant,)*
        }

        impl $name {
            const NAMES: &[&str] = &[$($text,)*];
            /// All variants of the enumeration, in the order of their numbers.
            #[allow(dead_code, reason = "of some only the names are asked for")]
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];
        }
    };
}

known! {
    /// The path by which a PSA packet reaches a block (`PSA_PacketPath_t`).
    PacketPath {
        Normal = "NORMAL",
        NormalUnicast = "NORMAL_UNICAST",
        NormalMulticast = "NORMAL_MULTICAST",
        CloneI2e = "CLONE_I2E",
        CloneE2e = "CLONE_E2E",
        Resubmit = "RESUBMIT",
        Recirculate = "RECIRCULATE",
    }
}

known! {
    /// A parser error that parsers raise by themselves. The core library (core.p4) declares it.
    CoreError {
        NoError = "NoError",
        PacketTooShort = "PacketTooShort",
        NoMatch = "NoMatch",
        StackOutOfBounds = "StackOutOfBounds",
        HeaderTooShort = "HeaderTooShort",
        ParserTimeout = "ParserTimeout",
        ParserInvalidArgument = "ParserInvalidArgument",
    }
}

impl PacketPath {
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.get(self as usize).copied().unwrap_or("")
    }
}

/// The meaning of an enumeration's member to an architecture, which follows from the member's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// The hash algorithm that the name stands for.
    pub(crate) algorithm: Algorithm,
    /// The colour that the name stands for. Green if it is not the name of a colour.
    pub(crate) color: Color,
    /// Whether the name is `NET_TO_HOST`, which in PNA is the direction of packets from the
    /// network.
    pub(crate) is_from_network: bool,
}

impl Member {
    fn new(name: &str) -> Self {
        Self {
            algorithm: Algorithm::named(name),
            color: match name {
                "RED" => Color::Red,
                "YELLOW" => Color::Yellow,
                _ => Color::Green,
            },
            is_from_network: name == "NET_TO_HOST",
        }
    }
}

/// The position of each [`MetadataField`] in a struct, or `None` for a field that the struct lacks.
type Slots = [Option<u32>; MetadataField::NAMES.len()];

/// The names in a program that have a meaning to architectures, as positions.
#[derive(Debug)]
pub(crate) struct Names {
    /// The positions of the metadata fields in each type. `None` for a type without any such field.
    slots: Vec<Option<Box<Slots>>>,
    errors: [u32; CoreError::NAMES.len()],
    /// The meaning of each member of each enumeration.
    members: Vec<Vec<Member>>,
    packet_paths: [u32; PacketPath::NAMES.len()],
    /// The numbers of the members green, yellow and red in PSA's or PNA's enumeration of colours.
    colors: [u32; 3],
    host_to_net: u32,
    net_to_host: u32,
    crypto_success: u32,
    crypto_failure: u32,
}

impl Names {
    pub(crate) fn new(program: &Program) -> Self {
        let enums = &program.types.enums;
        let member = |of: &[&str], member: &str| {
            let known = enums.iter().find(|known| of.contains(&known.name.as_str()));
            let position = known.and_then(|known| known.members.iter().position(|m| m == member));
            position.and_then(|position| u32::try_from(position).ok()).unwrap_or(0)
        };
        let error = |name: &str| {
            let position = program.errors.iter().position(|known| known == name).unwrap_or(0);
            u32::try_from(position).unwrap_or(0)
        };
        let colors = ["PSA_MeterColor_t", "PNA_MeterColor_t"];
        Self {
            slots: program.types.iter().map(|(_, ty)| slots(program, ty)).collect(),
            errors: std::array::from_fn(|n| CoreError::NAMES.get(n).map_or(0, |name| error(name))),
            members: enums
                .iter()
                .map(|known| known.members.iter().map(|name| Member::new(name)).collect())
                .collect(),
            packet_paths: std::array::from_fn(|n| {
                PacketPath::NAMES.get(n).map_or(0, |name| member(&["PSA_PacketPath_t"], name))
            }),
            colors: ["GREEN", "YELLOW", "RED"].map(|name| member(&colors, name)),
            host_to_net: member(&["PNA_Direction_t"], "HOST_TO_NET"),
            net_to_host: member(&["PNA_Direction_t"], "NET_TO_HOST"),
            crypto_success: member(&["crypto_results_e"], "SUCCESS"),
            crypto_failure: member(&["crypto_results_e"], "HW_ERROR"),
        }
    }

    /// Returns the position of a field in a type, or `None` if the type has no field of this name.
    pub(crate) fn slot(&self, type_id: TypeId, field: MetadataField) -> Option<usize> {
        let slots = self.slots.get(type_id.index())?.as_ref()?;
        slots.get(field as usize).copied().flatten().map(|position| position as usize)
    }

    /// Returns the number of an error, or that of `NoError` if the program does not declare the
    /// error.
    pub(crate) fn error(&self, error: CoreError) -> u32 {
        self.errors.get(error as usize).copied().unwrap_or(0)
    }

    /// Returns the meaning of an enumeration's member to an architecture.
    pub(crate) fn member(&self, enumeration: ir::EnumId, position: u32) -> Option<&Member> {
        self.members.get(enumeration.index())?.get(position as usize)
    }

    pub(crate) fn packet_path(&self, path: PacketPath) -> u32 {
        self.packet_paths.get(path as usize).copied().unwrap_or(0)
    }

    /// Returns the colour that a member of PSA's or PNA's colour enumeration stands for.
    pub(crate) fn color_of(&self, member: u32) -> Color {
        let [_, yellow, red] = self.colors;
        match member {
            member if member == red => Color::Red,
            member if member == yellow => Color::Yellow,
            _ => Color::Green,
        }
    }

    /// Returns the number of the member that stands for a colour in PSA's or PNA's colour
    /// enumeration.
    pub(crate) fn color(&self, color: Color) -> u32 {
        let [green, yellow, red] = self.colors;
        match color {
            Color::Green => green,
            Color::Yellow => yellow,
            Color::Red => red,
        }
    }

    /// Returns the number of the member of `PNA_Direction_t` that stands for packets from the host,
    /// or for those from the network.
    pub(crate) fn direction(&self, from_host: bool) -> u32 {
        if from_host { self.host_to_net } else { self.net_to_host }
    }

    /// Returns the number of the member of `crypto_results_e` that stands for success, or for an
    /// error. DPDK's crypto accelerator returns it.
    pub(crate) fn crypto_result(&self, succeeded: bool) -> u32 {
        if succeeded { self.crypto_success } else { self.crypto_failure }
    }
}

fn slots(program: &Program, ty: Type) -> Option<Box<Slots>> {
    let Type::Composite(id) = ty else { return None };
    let fields = &program.types.composites.get(id.index())?.fields;
    let mut slots: Slots = [None; MetadataField::NAMES.len()];
    for (slot, name) in slots.iter_mut().zip(MetadataField::NAMES) {
        let position = fields.iter().position(|field| field.name == **name);
        *slot = position.and_then(|position| u32::try_from(position).ok());
    }
    slots.iter().any(Option::is_some).then(|| Box::new(slots))
}
