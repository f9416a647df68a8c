//! Enumerations of the extern functions, types and methods of the built-in architectures, so that
//! code that reads the IR matches on variants instead of strings.
//!
//! A name that no built-in architecture declares is kept as `Other`. A program that uses such an
//! extern can be checked and printed, but backends refuse to run it. In JSON, an extern has the
//! name that it has in the architecture's declarations.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $(
                #[doc = concat!("`", $text, "`.")]
                $(#[$variant_doc])*
                $variant,
            )*
            /// A name that none of the built-in architectures declares.
            Other(String),
        }

        impl $name {
            /// The names of all variants except `Other`.
            pub const NAMES: &[&str] = &[$($text,)*];

            /// Returns the variant for a name that an architecture declares, or `Other` if no
            /// built-in architecture declares it.
            #[must_use]
            pub fn named(name: &str) -> Self {
                match name {
                    $($text => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }

            /// Returns the name of the extern in the architecture's declarations.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(name) => name,
                }
            }
        }

        impl From<String> for $name {
            fn from(name: String) -> Self {
                Self::named(&name)
            }
        }

        impl From<$name> for String {
            fn from(known: $name) -> Self {
                known.name().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

impl ExternFunction {
    /// Returns whether this is a function of v1model that clones, resubmits or recirculates the
    /// packet. The packet or its copy then passes through parts of the program a second time.
    #[must_use]
    pub fn asks_for_another_pass(&self) -> bool {
        matches!(
            self,
            Self::Clone
                | Self::Clone3
                | Self::ClonePreservingFieldList
                | Self::Resubmit
                | Self::ResubmitPreservingFieldList
                | Self::Recirculate
                | Self::RecirculatePreservingFieldList
        )
    }
}

names! {
    /// An extern function.
    ExternFunction {
        AddEntry = "add_entry",
        AddEntryIf = "add_entry_if",
        AllocateFlowId = "allocate_flow_id",
        Assert = "assert",
        Assume = "assume",
        BpfKtimeGetNs = "BPF_KTIME_GET_NS",
        BpfPerfEventOutput = "BPF_PERF_EVENT_OUTPUT",
        Clone = "clone",
        /// The function `clone3` of older versions of v1model, whose third argument is the data
        /// that the clone preserves. Newer versions name this data with field lists.
        Clone3 = "clone3",
        ClonePreservingFieldList = "clone_preserving_field_list",
        CsumReplace2 = "csum_replace2",
        CsumReplace4 = "csum_replace4",
        Digest = "digest",
        DropPacket = "drop_packet",
        EbpfIpv4Checksum = "ebpf_ipv4_checksum",
        Hash = "hash",
        IsHostPort = "is_host_port",
        IsNetPort = "is_net_port",
        LogMsg = "log_msg",
        MarkToDrop = "mark_to_drop",
        MarkToPass = "mark_to_pass",
        MirrorPacket = "mirror_packet",
        PsaCloneE2e = "psa_clone_e2e",
        PsaCloneI2e = "psa_clone_i2e",
        PsaNormal = "psa_normal",
        PsaRecirculate = "psa_recirculate",
        PsaResubmit = "psa_resubmit",
        Random = "random",
        /// The function `recirculate` of v1model and PNA. In v1model, its argument is the metadata
        /// that the packet keeps. In PNA, it has no argument.
        Recirculate = "recirculate",
        RecirculatePreservingFieldList = "recirculate_preserving_field_list",
        RestartExpireTimer = "restart_expire_timer",
        Resubmit = "resubmit",
        ResubmitPreservingFieldList = "resubmit_preserving_field_list",
        SelectByDirection = "SelectByDirection",
        SendToPort = "send_to_port",
        SetEntryExpireTime = "set_entry_expire_time",
        SetEntryExpireTimeIf = "set_entry_expire_time_if",
        StaticAssert = "static_assert",
        Truncate = "truncate",
        UbpfTimeGetNs = "ubpf_time_get_ns",
        UpdateChecksum = "update_checksum",
        UpdateChecksumWithPayload = "update_checksum_with_payload",
        UpdateExpireInfo = "update_expire_info",
        VerifyChecksum = "verify_checksum",
        VerifyChecksumWithPayload = "verify_checksum_with_payload",
    }
}

names! {
    /// A type of extern objects. The variants for types of v1model begin with `V1`, because PSA and
    /// PNA declare types of similar names, such as `register` and `Register`, whose methods have
    /// different parameters.
    ExternType {
        V1ActionProfile = "action_profile",
        V1ActionSelector = "action_selector",
        V1Counter = "counter",
        V1DirectCounter = "direct_counter",
        V1DirectMeter = "direct_meter",
        V1Meter = "meter",
        V1Register = "register",
        V1Checksum16 = "Checksum16",
        ActionProfile = "ActionProfile",
        ActionSelector = "ActionSelector",
        /// `array_table` of ebpf_model.p4, a value of the table property `implementation`.
        ArrayTable = "array_table",
        Checksum = "Checksum",
        Counter = "Counter",
        /// `CounterArray` of ebpf_model.p4.
        CounterArray = "CounterArray",
        CryptoAccelerator = "crypto_accelerator",
        Digest = "Digest",
        DirectCounter = "DirectCounter",
        DirectMeter = "DirectMeter",
        Hash = "Hash",
        /// `hash_table` of ebpf_model.p4, a value of the table property `implementation`.
        HashTable = "hash_table",
        InternetChecksum = "InternetChecksum",
        IpsecAccelerator = "ipsec_accelerator",
        Meter = "Meter",
        Random = "Random",
        Register = "Register",
        TcSkbMetadata = "tc_skb_metadata",
    }
}

impl ExternType {
    /// Returns whether only v1model declares this type.
    #[must_use]
    pub fn is_of_v1model(&self) -> bool {
        matches!(
            self,
            Self::V1ActionProfile
                | Self::V1ActionSelector
                | Self::V1Counter
                | Self::V1DirectCounter
                | Self::V1DirectMeter
                | Self::V1Meter
                | Self::V1Register
                | Self::V1Checksum16
        )
    }

    /// Returns whether only the architectures for BPF declare this type.
    #[must_use]
    pub fn is_of_bpf(&self) -> bool {
        matches!(self, Self::ArrayTable | Self::CounterArray | Self::HashTable)
    }
}

names! {
    /// A method of an extern object.
    ExternMethod {
        Add = "add",
        Clear = "clear",
        Count = "count",
        Disable = "disable",
        DpdkExecute = "dpdk_execute",
        Enable = "enable",
        EnableDecrypt = "enable_decrypt",
        EnableEncrypt = "enable_encrypt",
        Execute = "execute",
        ExecuteMeter = "execute_meter",
        FromIpsec = "from_ipsec",
        Get = "get",
        GetHash = "get_hash",
        GetResults = "get_results",
        GetState = "get_state",
        Increment = "increment",
        Pack = "pack",
        Read = "read",
        SetState = "set_state",
        Subtract = "subtract",
        Update = "update",
        Write = "write",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_convert_to_variants_and_back() {
        for name in ["register", "Register", "my_extern"] {
            assert_eq!(ExternType::named(name).name(), name);
        }
        assert_eq!(ExternFunction::named("clone"), ExternFunction::Clone);
        assert_eq!(ExternMethod::named("enable2"), ExternMethod::Other("enable2".to_owned()));
        assert_eq!(serde_json::to_string(&ExternMethod::GetHash).expect("JSON"), "\"get_hash\"");
        let read: ExternMethod = serde_json::from_str("\"get_hash\"").expect("a method");
        assert_eq!(read, ExternMethod::GetHash);
    }
}
