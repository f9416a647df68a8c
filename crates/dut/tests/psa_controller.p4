// A PSA program with both headers of the controller: a packet that matches no entry goes to the
// controller, and a packet of the controller leaves by the port that it names.

#include <core.p4>
#include <psa.p4>

@controller_header("packet_in")
header packet_in_t {
    bit<32> ingress_port;
}

@controller_header("packet_out")
header packet_out_t {
    bit<32> egress_port;
}

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
}

struct empty_t { }

parser SwitchIngressParser(packet_in packet, out headers_t headers, inout empty_t meta,
                     in psa_ingress_parser_input_metadata_t standard, in empty_t resubmitted, in empty_t recirculated) {
    state start {
        transition select((PortIdUint_t)standard.ingress_port) {
            (PortIdUint_t)PSA_PORT_CPU: from_controller;
            default: ethernet;
        }
    }

    state from_controller {
        packet.extract(headers.packet_out);
        transition ethernet;
    }

    state ethernet {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control SwitchIngress(inout headers_t headers, inout empty_t meta, in psa_ingress_input_metadata_t standard,
                inout psa_ingress_output_metadata_t decision) {
    action forward(PortId_t port) {
        send_to_port(decision, port);
    }

    action to_controller() {
        headers.packet_in.setValid();
        headers.packet_in.ingress_port = (bit<32>)(PortIdUint_t)standard.ingress_port;
        send_to_port(decision, PSA_PORT_CPU);
    }

    table stations {
        key = { headers.ethernet.destination : exact; }
        actions = { forward; to_controller; }
        const default_action = to_controller();
        size = 1024;
    }

    apply {
        if (headers.packet_out.isValid()) {
            send_to_port(decision, (PortId_t)(PortIdUint_t)headers.packet_out.egress_port);
            headers.packet_out.setInvalid();
        } else {
            stations.apply();
        }
    }
}

control SwitchIngressDeparser(packet_out packet, out empty_t cloned, out empty_t resubmitted, out empty_t normal,
                        inout headers_t headers, in empty_t meta, in psa_ingress_output_metadata_t decision) {
    apply {
        packet.emit(headers.packet_in);
        packet.emit(headers.ethernet);
    }
}

parser SwitchEgressParser(packet_in packet, out empty_t headers, inout empty_t meta,
                    in psa_egress_parser_input_metadata_t standard, in empty_t normal, in empty_t cloned_ingress, in empty_t cloned_egress) {
    state start {
        transition accept;
    }
}

control SwitchEgress(inout empty_t headers, inout empty_t meta, in psa_egress_input_metadata_t standard,
               inout psa_egress_output_metadata_t decision) {
    apply { }
}

control SwitchEgressDeparser(packet_out packet, out empty_t cloned, out empty_t recirculated, inout empty_t headers,
                       in empty_t meta, in psa_egress_output_metadata_t decision,
                       in psa_egress_deparser_input_metadata_t standard) {
    apply { }
}

IngressPipeline(SwitchIngressParser(), SwitchIngress(), SwitchIngressDeparser()) ingress;
EgressPipeline(SwitchEgressParser(), SwitchEgress(), SwitchEgressDeparser()) egress;

PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
