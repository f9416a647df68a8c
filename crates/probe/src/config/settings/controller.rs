//! The settings of the controller under test.

use super::{BASE, Kind, Setting};

pub(in crate::config) static SETTINGS: &[Setting] = &[
    Setting {
        key: "controller.address",
        flag: "controller",
        short: Some('c'),
        value_name: "HOST[:PORT]",
        default: "127.0.0.1:6653",
        example: "192.0.2.7:6633",
        summary: "Address of the controller, which OpenFlow switches dial",
        manual: "Host name or address, with the port if it is not 6653, which IANA assigned to \
            OpenFlow. An IPv6 address with a port is written in brackets. P4Runtime switches \
            ignore it, since the controller connects to them.",
        slot: |draft| &mut draft.controller.address,
        ..BASE
    },
    Setting {
        key: "controller.process",
        flag: "process",
        value_name: "PROCESS",
        default: "auto",
        example: "ssh:me@192.0.2.7:name:karaf",
        summary: "The controller's process, whose CPU and memory are recorded",
        manual: "auto finds the process that holds the control channel, if it runs on this host; \
            without one, the run goes on and says so. pid:NUMBER names one process of this host, \
            and name:TEXT every process whose name or command line contains the text. \
            ssh:USER@HOST:pid:NUMBER and ssh:USER@HOST:name:TEXT name processes of another host, \
            which must be reachable by ssh without a password. none records nothing. CPU is in \
            percent of one core, threads included.",
        slot: |draft| &mut draft.controller.process,
        ..BASE
    },
    Setting {
        key: "controller.onos-rest",
        flag: "onos-rest",
        value_name: "URL",
        example: "http://127.0.0.1:8181",
        summary: "Post the netcfg of P4Runtime switches to this ONOS",
        manual: "Base address of ONOS's REST interface, with plain http only. When the switches \
            listen, the network configuration that names them is posted there, so that ONOS \
            connects to them. Other ways to tell a controller are controller.netcfg-file and \
            controller.list-file. With either protocol, ONOS is asked there which application is \
            missing when switches do not get ready.",
        slot: |draft| &mut draft.controller.onos_rest,
        ..BASE
    },
    Setting {
        key: "controller.onos-user",
        flag: "onos-user",
        value_name: "NAME",
        default: "onos",
        example: "karaf",
        summary: "User for the REST interface of ONOS",
        manual: "Used with controller.onos-rest. The default is the user of a new ONOS.",
        slot: |draft| &mut draft.controller.onos_user,
        ..BASE
    },
    Setting {
        key: "controller.onos-password",
        flag: "onos-password",
        value_name: "PASSWORD",
        default: "rocks",
        example: "env:ONOS_PASSWORD",
        summary: "Password for the REST interface of ONOS",
        manual: "Used with controller.onos-rest. env:NAME reads the password from an environment \
            variable, which keeps it out of files and process lists. Results never contain a \
            password: one that is given in clear text appears as env:PLANIMETER_ONOS_PASSWORD. The \
            default is the password of a new ONOS.",
        slot: |draft| &mut draft.controller.onos_password,
        ..BASE
    },
    Setting {
        key: "controller.onos-driver",
        flag: "onos-driver",
        value_name: "DRIVER",
        default: "bmv2",
        example: "stratum-bmv2",
        summary: "Driver that the netcfg names",
        manual: "ONOS chooses by this name how it controls the switches. bmv2 is the driver for P4 \
            switches that needs only P4Runtime, which the emulated switches support.",
        slot: |draft| &mut draft.controller.onos_driver,
        ..BASE
    },
    Setting {
        key: "controller.onos-pipeconf",
        flag: "onos-pipeconf",
        value_name: "PIPECONF",
        default: "org.onosproject.pipelines.basic",
        example: "p4-tutorial-pipeconf",
        summary: "Pipeconf that the netcfg names",
        manual: "The pipeline that ONOS pushes to every switch. The basic pipeline is part of ONOS \
            and supports reactive forwarding; applications that provide other pipeconfs must be \
            active in ONOS.",
        slot: |draft| &mut draft.controller.onos_pipeconf,
        ..BASE
    },
    Setting {
        key: "controller.onos-forget",
        flag: "onos-forget",
        value_name: "BOOLEAN",
        kind: Kind::Flag,
        default: "false",
        example: "true",
        summary: "Have ONOS forget the switches before and after every trial",
        manual: "ONOS keeps devices, hosts and network configuration after a run. This setting \
            removes the emulated switches, their network configuration and the hosts behind them \
            over controller.onos-rest, with either protocol. Rules and other state of applications \
            remain, and so does the pipeconf that a device had first. A restart by plan.between is \
            more thorough, and for the pipeconf the only way besides another switches.first-id.",
        slot: |draft| &mut draft.controller.onos_forget,
        ..BASE
    },
    Setting {
        key: "controller.netcfg-file",
        flag: "netcfg-file",
        value_name: "FILE",
        example: "netcfg.json",
        summary: "Write the ONOS netcfg of P4Runtime switches to this file",
        manual: "The same JSON that controller.onos-rest posts, for onos-netcfg or for an ONOS \
            that loads it at its start. It is written when the switches listen.",
        slot: |draft| &mut draft.controller.netcfg_file,
        ..BASE
    },
    Setting {
        key: "controller.faucet-file",
        flag: "faucet-file",
        value_name: "FILE",
        example: "faucet.yaml",
        summary: "Write a faucet.yaml for the OpenFlow switches to this file",
        manual: "A configuration for FAUCET_CONFIG, with one VLAN over all ports of each switch \
            and without Faucet's limits on learning. It is written before the switches connect, so \
            that Faucet can start then.",
        slot: |draft| &mut draft.controller.faucet_file,
        ..BASE
    },
    Setting {
        key: "controller.list-file",
        flag: "list-file",
        value_name: "FILE",
        example: "switches.txt",
        summary: "Write the id and address of every P4Runtime switch to this file",
        manual: "One line per switch, with the device id, a space, and HOST:PORT, for controllers \
            other than ONOS. It is written when the switches listen.",
        slot: |draft| &mut draft.controller.list_file,
        ..BASE
    },
];
