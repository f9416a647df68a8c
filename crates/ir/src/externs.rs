//! The externs of the built-in architectures, by name once and by number ever after.
//!
//! A name that no architecture here declares stays a name: such a program is checked and written, and whoever runs
//! programs refuses it before the first packet. In JSON all of them are the names that the architecture gives them.

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
            /// One that the built-in architectures do not declare.
            Other(String),
        }

        impl $name {
            /// What the architecture's declarations call so.
            #[must_use]
            pub fn named(name: &str) -> Self {
                match name {
                    $($text => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }

            /// As the architecture's declarations have it.
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
    /// Whether v1model's asks for the packet, or a copy of it, to go through blocks of the program once more.
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
        /// Keeps data that are an argument, from the days before field lists.
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
        /// Of v1model with data as an argument, of PNA without.
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
    /// A type of extern objects as declared. v1model spells with small letters what PSA and PNA capitalise, and
    /// gives methods of the same name other parameters.
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
        /// Of ebpf_model.p4, for the property `implementation`.
        ArrayTable = "array_table",
        Checksum = "Checksum",
        Counter = "Counter",
        /// Of ebpf_model.p4.
        CounterArray = "CounterArray",
        CryptoAccelerator = "crypto_accelerator",
        Digest = "Digest",
        DirectCounter = "DirectCounter",
        DirectMeter = "DirectMeter",
        Hash = "Hash",
        /// Of ebpf_model.p4, for the property `implementation`.
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
    /// Whether only v1model declares it.
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

    /// Whether only the models for BPF declare it.
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
    fn names_are_what_they_stand_for() {
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
