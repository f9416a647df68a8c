//! The settings of TLS on the control channel.

use super::{BASE, Kind, Setting};

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "tls.ca",
        flag: "tls-ca",
        value_name: "FILE",
        example: "ca.pem",
        summary: "Authorities that the controller's certificate must chain to (PEM)",
        manual: "Any setting of this section except tls.server-name turns TLS on. OpenFlow \
            switches verify the controller's certificate against these authorities. P4Runtime \
            switches require a certificate from the controller that chains to them (mutual TLS).",
        slot: |draft| &mut draft.tls.ca,
        ..BASE
    },
    Setting {
        key: "tls.certificate",
        flag: "tls-certificate",
        value_name: "FILE",
        example: "switch.pem",
        summary: "Certificate chain of the switches (PEM)",
        manual: "P4Runtime switches need one. OpenFlow switches present it to a controller that \
            requests it (mutual TLS). All switches use the same certificate.",
        slot: |draft| &mut draft.tls.certificate,
        ..BASE
    },
    Setting {
        key: "tls.key",
        flag: "tls-key",
        value_name: "FILE",
        example: "switch.key",
        summary: "Private key that goes with the certificate (PEM)",
        manual: "The key must not be encrypted, since no pass phrase is requested.",
        slot: |draft| &mut draft.tls.key,
        ..BASE
    },
    Setting {
        key: "tls.server-name",
        flag: "tls-server-name",
        value_name: "NAME",
        example: "controller.example",
        summary: "Name expected in the controller's certificate",
        manual: "By default the host of controller.address. Set it if the certificate names \
            another host (OpenFlow only).",
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
        manual: "The connection is encrypted, but the controller is not authenticated. Use it in a \
            laboratory only (OpenFlow only).",
        slot: |draft| &mut draft.tls.insecure,
        ..BASE
    },
];
