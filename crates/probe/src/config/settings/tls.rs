//! The settings of TLS on the control channel.

use super::{BASE, Kind, Setting};

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "tls.ca",
        flag: "tls-ca",
        value_name: "FILE",
        example: "ca.pem",
        summary: "Authorities that the controller's certificate must chain to (PEM)",
        manual: "Any setting of this section but tls.server-name turns TLS on. OpenFlow switches, \
            which dial, verify the controller against these; P4Runtime switches, which listen, ask \
            the controller for a certificate that chains to them (mutual TLS).",
        slot: |draft| &mut draft.tls.ca,
        ..BASE
    },
    Setting {
        key: "tls.certificate",
        flag: "tls-certificate",
        value_name: "FILE",
        example: "switch.pem",
        summary: "Certificate chain of the switches (PEM)",
        manual: "P4Runtime switches need one; OpenFlow switches show it to a controller that asks \
            (mutual TLS). All switches use the same.",
        slot: |draft| &mut draft.tls.certificate,
        ..BASE
    },
    Setting {
        key: "tls.key",
        flag: "tls-key",
        value_name: "FILE",
        example: "switch.key",
        summary: "Private key that goes with the certificate (PEM)",
        manual: "Not encrypted: nobody is asked for a pass phrase.",
        slot: |draft| &mut draft.tls.key,
        ..BASE
    },
    Setting {
        key: "tls.server-name",
        flag: "tls-server-name",
        value_name: "NAME",
        example: "controller.example",
        summary: "Name expected in the controller's certificate",
        manual: "Without it the host of controller.address. For certificates that name another \
            host than the one that is dialled (OpenFlow only).",
        slot: |draft| &mut draft.tls.server_name,
        ..BASE
    },
    Setting {
        key: "tls.insecure",
        flag: "tls-insecure",
        value_name: "BOOLEAN",
        kind: Kind::Flag,
        default: "false",
        example: "true",
        summary: "Accept any certificate of the controller",
        manual: "Encrypts without verifying whom one talks to: for measurements in a laboratory \
            only (OpenFlow only).",
        slot: |draft| &mut draft.tls.insecure,
        ..BASE
    },
];
