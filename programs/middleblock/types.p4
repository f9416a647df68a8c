// The types of identifiers, and constants.

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;
typedef bit<128> ipv6_t;
typedef bit<12> vlan_id_t;
typedef bit<16> multicast_group_id_t;
typedef bit<16> clone_session_id_t;
typedef bit<6> route_metadata_t;

// The empty string is the VRF of packets to which no entry assigns a VRF. It has no routes.
@p4runtime_translation("", string)
@p4runtime_translation_mappings({ {"", 0} })
type bit<10> vrf_id_t;

@p4runtime_translation("", string)
type bit<10> nexthop_id_t;

@p4runtime_translation("", string)
type bit<10> tunnel_id_t;

@p4runtime_translation("", string)
type bit<12> wcmp_group_id_t;

@p4runtime_translation("", string)
type bit<10> router_interface_id_t;

@p4runtime_translation("", string)
type bit<10> mirror_session_id_t;

@p4runtime_translation("", string)
@p4runtime_translation_mappings({ {"best-effort", 0}, {"control", 7} })
type bit<6> queue_id_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_ARP = 0x0806;
const bit<16> TYPE_VLAN = 0x8100;
const bit<16> TYPE_IPV6 = 0x86dd;

const bit<8> PROTOCOL_ICMP = 1;
const bit<8> PROTOCOL_IPV4 = 4;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
const bit<8> PROTOCOL_IPV6 = 41;
const bit<8> PROTOCOL_GRE = 47;
const bit<8> PROTOCOL_ICMPV6 = 58;

// The VLAN id of packets without a VLAN.
const vlan_id_t NO_VLAN = 0;

// The field lists of the metadata that copies of packets, and packets of loopback ports, keep.
const bit<8> KEPT_BY_COPIES = 1;
const bit<8> KEPT_BY_LOOPBACK = 2;

// The instance of the replica of a clone session that is the copy for the controllers.
const bit<16> CONTROLLER_COPY = 1;

// Values of standard_metadata.instance_type.
const bit<32> INGRESS_CLONE = 1;
const bit<32> RECIRCULATED = 4;

// The colour of packets beyond the peak rate of a meter.
const bit<2> RED = 2;
