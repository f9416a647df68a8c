// An Ethernet switch for PSA (psa_switch), which forwards frames by their destination address. Frames of watched hosts are
// copied to the analyser unchanged, and frames to unknown addresses go to a multicast group. Egress decapsulates a frame in
// a tunnel, which then passes through the switch again.

#include <core.p4>
#include <bmv2/psa.p4>

const bit<16> TUNNEL = 0x88b5;

header Ethernet {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header Tunnel {
    bit<8> number;
}

struct Headers {
    Ethernet outer;
    Tunnel tunnel;
    Ethernet inner;
}

struct Metadata {
    bool unpack;
}

struct Nothing {
}

parser IngressStart(packet_in packet, out Headers headers, inout Metadata metadata,
                    in psa_ingress_parser_input_metadata_t standard, in Nothing resubmitted, in Nothing recirculated) {
    state start {
        packet.extract(headers.outer);
        transition select(headers.outer.type) {
            TUNNEL: tunnel;
            default: accept;
        }
    }
    state tunnel {
        packet.extract(headers.tunnel);
        transition accept;
    }
}

control IngressMain(inout Headers headers, inout Metadata metadata, in psa_ingress_input_metadata_t standard,
                inout psa_ingress_output_metadata_t decision) {
    Counter<bit<32>, bit<8>>(256, PSA_CounterType_t.PACKETS_AND_BYTES) unpacked;

    action forward(PortId_t port) {
        send_to_port(decision, port);
    }
    action flood(MulticastGroup_t group) {
        multicast(decision, group);
    }
    table addresses {
        key = { headers.outer.destination: exact; }
        actions = { forward; flood; }
        default_action = flood((MulticastGroup_t) 1);
        size = 1024;
    }

    action watch(CloneSessionId_t session) {
        decision.clone = true;
        decision.clone_session_id = session;
    }
    table watched {
        key = { headers.outer.source: exact; }
        actions = { watch; NoAction; }
        default_action = NoAction;
        size = 64;
    }

    apply {
        if (standard.parser_error != error.NoError) {
            ingress_drop(decision);
            exit;
        }
        watched.apply();
        if (headers.tunnel.isValid()) {
            unpacked.count(headers.tunnel.number);
            send_to_port(decision, PSA_PORT_RECIRCULATE);
        } else {
            addresses.apply();
        }
    }
}

control IngressEnd(packet_out packet, out Nothing clone, out Nothing resubmit, out Nothing normal, inout Headers headers,
                   in Metadata metadata, in psa_ingress_output_metadata_t decision) {
    apply {
        packet.emit(headers);
    }
}

parser EgressStart(packet_in packet, out Headers headers, inout Metadata metadata,
                   in psa_egress_parser_input_metadata_t standard, in Nothing normal, in Nothing clone_of_ingress,
                   in Nothing clone_of_egress) {
    state start {
        metadata.unpack = false;
        packet.extract(headers.outer);
        transition select((PortIdUint_t) standard.egress_port, headers.outer.type) {
            ((PortIdUint_t) PSA_PORT_RECIRCULATE, TUNNEL): unpack;
            default: accept;
        }
    }
    state unpack {
        packet.extract(headers.tunnel);
        packet.extract(headers.inner);
        metadata.unpack = true;
        transition accept;
    }
}

control EgressMain(inout Headers headers, inout Metadata metadata, in psa_egress_input_metadata_t standard,
               inout psa_egress_output_metadata_t decision) {
    apply {
        if (metadata.unpack) {
            headers.outer.setInvalid();
            headers.tunnel.setInvalid();
        }
    }
}

control EgressEnd(packet_out packet, out Nothing clone, out Nothing recirculate, inout Headers headers,
                  in Metadata metadata, in psa_egress_output_metadata_t decision,
                  in psa_egress_deparser_input_metadata_t standard) {
    apply {
        packet.emit(headers);
    }
}

IngressPipeline(IngressStart(), IngressMain(), IngressEnd()) ingress;
EgressPipeline(EgressStart(), EgressMain(), EgressEnd()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
