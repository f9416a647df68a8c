//! The metadata fields that architectures read and write, by their names in the programs.

macro_rules! fields {
    ($($variant:ident = $text:literal,)*) => {
        /// A field of metadata that a target reads or writes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum MetadataField {
            $(
                #[doc = concat!("The field `", $text, "`.")]
                $variant,
            )*
        }

        impl MetadataField {
            /// The names of all fields, in the order of [`Self::ALL`].
            pub const NAMES: &[&str] = &[$($text,)*];
            /// All fields, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the name of the field in programs.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

fields! {
    ChecksumError = "checksum_error",
    ClassOfService = "class_of_service",
    Clone = "clone",
    ClonePort = "clone_port",
    CloneSessionId = "clone_session_id",
    DeqQdepth = "deq_qdepth",
    DeqTimedelta = "deq_timedelta",
    Direction = "direction",
    Drop = "drop",
    EgressGlobalTimestamp = "egress_global_timestamp",
    EgressPort = "egress_port",
    EgressRid = "egress_rid",
    EgressSpec = "egress_spec",
    EgressTimestamp = "egress_timestamp",
    EnqQdepth = "enq_qdepth",
    EnqTimestamp = "enq_timestamp",
    IngressGlobalTimestamp = "ingress_global_timestamp",
    IngressPort = "ingress_port",
    IngressTimestamp = "ingress_timestamp",
    InputPort = "input_port",
    Instance = "instance",
    InstanceType = "instance_type",
    McastGrp = "mcast_grp",
    MulticastGroup = "multicast_group",
    OutputAction = "output_action",
    OutputPort = "output_port",
    PacketLength = "packet_length",
    PacketPath = "packet_path",
    ParserError = "parser_error",
    Pass = "pass",
    Priority = "priority",
    Recirculated = "recirculated",
    Resubmit = "resubmit",
    Timestamp = "timestamp",
}
